"use strict";
// Filters of the front page, copy buttons, and maps that fit the window.  Without scripts every claim is listed and every snippet can be selected.

const form = document.getElementById("filters");
if (form) {
  const rows = [...document.querySelectorAll("#table tbody tr")];
  const found = document.getElementById("found");
  const words = rows.map((row) => `${row.textContent} ${row.dataset.text}`.toLowerCase());
  const names = [...form.elements].map((field) => field.name).filter((name) => name && name !== "q");

  const apply = () => {
    const wanted = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      const chosen = names.every((name) => !form.elements[name].value || row.dataset[name] === form.elements[name].value);
      row.hidden = !(chosen && wanted.every((word) => words[place].includes(word)));
      shown += !row.hidden;
    });
    found.textContent = shown === rows.length ? `${shown} claims` : `${shown} of ${rows.length} claims`;
  };

  // The state lives in the address, as #claims?paper=osa&q=rank, so that a view can be linked to and the back button works.
  const remember = () => {
    const state = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `#claims${state.size ? `?${state}` : ""}`);
  };
  const recall = () => {
    const [place, state] = location.hash.slice(1).split("?");
    if (place !== "claims" || state === undefined) return;
    form.reset();
    new URLSearchParams(state).forEach((value, name) => {
      if (form.elements[name]) form.elements[name].value = value;
    });
    apply();
    document.getElementById("claims").scrollIntoView();
  };

  form.hidden = false;
  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("reset", () => setTimeout(() => { apply(); remember(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", recall);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select, textarea")) {
      event.preventDefault();
      form.elements.q.focus();
    }
  });
  recall();
  apply();
}

const copy = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
};
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await copy(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// A map opens on its leftmost claims, from which all arrows start; they need not be at its top.
for (const map of document.querySelectorAll(".map")) {
  const nodes = [...map.querySelectorAll(".node")].map((node) => node.getBoundingClientRect());
  const first = nodes.reduce((a, b) => (b.left < a.left - 1 || (b.left < a.left + 1 && b.top < a.top) ? b : a));
  map.scrollTop = Math.max(0, first.top - map.getBoundingClientRect().top - 60);
}

for (const button of document.querySelectorAll("button.fit")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const fitted = document.getElementById(button.getAttribute("aria-controls")).classList.toggle("fitted");
    button.setAttribute("aria-pressed", String(fitted));
  });
}
