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
        const number = left.filter((claim) => meant(claim[name], option.value)).length;
        option.textContent = `${option.dataset.words} (${number})`;
      }
    }
  };
  // "refuted" means "refuted (error)" and "refuted (slip)", as on the command line.
  const meant = (value, wanted) => value === wanted || value.startsWith(`${wanted} (`);
  const fits = (claim, chosen) => chosen.every((name) => !form.elements[name].value || meant(claim[name], form.elements[name].value));

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

// A formula that is wider than its box is set smaller, as long as it can be read; beyond that the box scrolls.
const SMALLEST = 0.75;
const fit = (box) => {
  let size = 1;
  box.style.setProperty("--fit", size);
  while (box.scrollWidth > box.clientWidth && size > SMALLEST) box.style.setProperty("--fit", size -= 0.08);
};
const fitAll = () => document.querySelectorAll(".formula").forEach((box) => { if (box.clientWidth) fit(box); });
fitAll();
window.addEventListener("resize", fitAll);
document.addEventListener("toggle", fitAll, true);  // what was folded has no width

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

// A map: zoom by buttons, keys and wheel, a search, and what the claim under the pointer or the focus states.
for (const box of document.querySelectorAll(".mapped")) {
  const [map, svg, tools, told] = [".map", "svg", ".tools", ".told"].map((name) => box.querySelector(name));
  const [width, height] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
  const nodes = [...svg.querySelectorAll("a")];
  let scale = 1;

  // What stands at (x, y) of the window stays there.
  const zoom = (wanted, x = map.clientWidth / 2, y = map.clientHeight / 2) => {
    const next = Math.min(2.5, Math.max(0.1, wanted));
    const [left, top] = [((map.scrollLeft + x) * next) / scale - x, ((map.scrollTop + y) * next) / scale - y];
    scale = next;
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
    map.scrollTo(left, top);
  };
  const zooms = {
    in: () => zoom(scale * 1.25),
    out: () => zoom(scale / 1.25),
    fit: () => zoom((map.clientWidth - 2) / width),
    full: () => zoom(1),
  };
  for (const button of tools.querySelectorAll("[data-zoom]")) button.addEventListener("click", zooms[button.dataset.zoom]);
  map.addEventListener("keydown", (event) => {
    const action = { "+": "in", "=": "in", "-": "out", 0: "fit" }[event.key];
    if (action && !event.ctrlKey && !event.metaKey) { event.preventDefault(); zooms[action](); }
  });
  map.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = map.getBoundingClientRect();
    zoom(scale * (event.deltaY < 0 ? 1.15 : 1 / 1.15), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });

  // A map opens on its leftmost claims, from which all arrows start; they need not be at its top.
  const first = nodes.map((node) => node.getBoundingClientRect())
    .reduce((a, b) => (b.left < a.left - 1 || (b.left < a.left + 1 && b.top < a.top) ? b : a));
  map.scrollTop = Math.max(0, first.top - map.getBoundingClientRect().top - 60);

  // Statements come from a script of their own, which is asked for when the first of them is wanted.
  let asked;
  const stated = () => (asked ??= new Promise((done) => {
    document.head.append(Object.assign(document.createElement("script"), { src: box.dataset.stated, onload: done }));
  }));
  let chosen;
  const tell = async (node) => {
    if (chosen === node) return;
    chosen = node;
    await stated();
    if (chosen !== node) return;
    told.innerHTML = window.stated[node.dataset.id];
    told.scrollTop = 0;
  };
  for (const node of nodes) {
    node.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") tell(node); });
    node.addEventListener("focus", () => tell(node));
    // a finger has no way to point: its first tap shows the statement, the second opens the page
    node.addEventListener("pointerdown", (event) => { node.known = event.pointerType === "mouse" || chosen === node; });
    node.addEventListener("click", (event) => {
      if (node.known === false) { event.preventDefault(); tell(node); }
    });
  }

  // An address such as #steps?claim=osa.thm-2.1 leads to that claim in its picture.
  const [section, asking] = location.hash.slice(1).split("?");
  const wanted = asking && box.closest("section").querySelector(`[id="${section}"]`) && new URLSearchParams(asking).get("claim");
  const target = nodes.find((node) => node.dataset.id === wanted);
  if (target) {
    box.scrollIntoView();
    const [frame, shown] = [map, target].map((item) => item.getBoundingClientRect());
    map.scrollBy(shown.left - frame.left - (frame.width - shown.width) / 2, shown.top - frame.top - (frame.height - shown.height) / 2);
    target.classList.add("chosen");
    tell(target);
  }

  const field = tools.querySelector("input");
  const status = tools.querySelector("[role=status]");
  const names = nodes.map((node) => searchable(`${node.getAttribute("aria-label")} ${node.dataset.id}`));
  let hits = [];
  const show = (place) => {
    if (!hits.length) return;
    const node = hits[place % hits.length];
    const [frame, shown] = [map, node].map((item) => item.getBoundingClientRect());
    map.scrollBy(shown.left - frame.left - (frame.width - shown.width) / 2, shown.top - frame.top - (frame.height - shown.height) / 2);
    tell(node);
  };
  let place = 0;
  field.addEventListener("input", () => {
    const wanted = searchable(field.value).split(/\s+/).filter(Boolean);
    hits = wanted.length ? nodes.filter((_, index) => wanted.every((word) => names[index].includes(word))) : [];
    for (const node of nodes) node.classList.toggle("other", wanted.length > 0 && !hits.includes(node));
    status.textContent = wanted.length ? `${hits.length} found${hits.length > 1 ? ", Enter for the next" : ""}` : "";
    show(place = 0);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); show(place += 1); }
  });
  tools.hidden = told.hidden = false;
}
