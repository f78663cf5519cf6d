"use strict";
// Filters of the front page, copy buttons, and maps that fit the window.  Without scripts every claim is listed and every snippet can be selected.

// An address of the front page that meant its table of claims leads to the page that has it now.
if (document.getElementById("lookup") && location.hash.startsWith("#claims")) location.replace(`claims.html${location.hash}`);

const GREEK = {
  α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", ϵ: "epsilon", ζ: "zeta", η: "eta", θ: "theta", κ: "kappa",
  λ: "lambda", μ: "mu", ν: "nu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", ϕ: "phi", χ: "chi", ψ: "psi", ω: "omega",
};
// As `searchable` in content.py writes the words of claims: one kind of dash, Greek letters and LaTeX by name, no braces.
const searchable = (text) => [...text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "")]
  .map((letter) => GREEK[letter] ?? letter).join("")
  .replace(/[\u2010-\u2015\u2212]/g, "-").replace(/_\{?\\/g, "_").replace(/[{}]/g, "").replace(/[\\$,;:()[\]“”"']+/g, " ");

const lookup = document.getElementById("lookup");
if (lookup) {
  lookup.hidden = false;
  lookup.addEventListener("submit", (event) => {
    event.preventDefault();
    location.href = `claims.html#claims?${new URLSearchParams({ q: lookup.elements.q.value })}`;
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, select, textarea")) {
    const field = document.querySelector("input[name=q]");
    if (field) { event.preventDefault(); field.focus(); }
  }
});

const form = document.getElementById("filters");
if (form) {
  const rows = [...document.querySelectorAll("#table tbody tr")];
  const found = document.getElementById("found");
  const known = window.claims;  // row by row
  const words = rows.map((row, place) => `${searchable(row.textContent)} ${known[place].words}`);
  const names = [...form.elements].map((field) => field.name).filter((name) => name && name !== "q");

  // Behind each option stands how many claims it would leave, given the search and the other filters.
  const count = (hits) => {
    for (const name of names) {
      const others = names.filter((other) => other !== name);
      const left = known.filter((claim, place) => hits[place] && fits(claim, others));
      for (const option of form.elements[name].options) {
        if (!option.value) continue;
        const number = left.filter((claim) => claim[name] === option.value).length;
        option.textContent = `${option.dataset.words} (${number})`;
      }
    }
  };
  const fits = (claim, chosen) => chosen.every((name) => !form.elements[name].value || claim[name] === form.elements[name].value);

  const apply = () => {
    const wanted = searchable(form.elements.q.value).split(/\s+/).filter(Boolean);
    const hits = words.map((text) => wanted.every((word) => text.includes(word)));
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !(hits[place] && fits(known[place], names));
      shown += !row.hidden;
    });
    count(hits);
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
