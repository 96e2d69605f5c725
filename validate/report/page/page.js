"use strict";
// The table of findings: filter, page, and the links that set the filter.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const rows = JSON.parse(document.getElementById("rows").textContent);
  const texts = rows.map((row) => row.map((x) => (x === null ? "" : String(x))).join(" ").toLowerCase());
  const body = document.querySelector("#found tbody");
  const right = new Set([4, 5, 7, 8]);
  const shapes = { violation: "✖", expected: "○", allowed: "·" };
  const which = document.getElementById("which");
  const words = document.getElementById("words");
  const choices = [...form.querySelectorAll("select")];
  const size = 25;
  let found = [];
  let page = 0;

  const cell = (value, column) => {
    const td = document.createElement("td");
    if (right.has(column)) td.className = "n";
    if (column === 0) {
      const mark = document.createElement("span");
      mark.className = "f " + value;
      mark.textContent = (shapes[value] || "") + " " + value;
      td.append(mark);
    } else {
      td.textContent = value === null ? "–" : String(value);
    }
    return td;
  };
  const show = () => {
    const last = Math.max(0, Math.ceil(found.length / size) - 1);
    page = Math.min(Math.max(0, page), last);
    const begin = page * size;
    const shown = found.slice(begin, begin + size);
    body.replaceChildren(...shown.map((i) => {
      const tr = document.createElement("tr");
      tr.append(...rows[i].map(cell));
      return tr;
    }));
    const n = (x) => x.toLocaleString("en-US");
    which.textContent = found.length ? `${n(begin + 1)} to ${n(begin + shown.length)} of ${n(found.length)}` : "none of them";
    for (const button of form.querySelectorAll("button")) {
      button.disabled = ["first", "-1"].includes(button.dataset.go) ? page === 0 : page === last;
    }
  };
  const filter = () => {
    const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = [];
    rows.forEach((row, i) => {
      const chosen = choices.every((x) => !x.value || String(row[x.dataset.column]) === x.value);
      if (chosen && asked.every((word) => texts[i].includes(word))) found.push(i);
    });
    page = 0;
    show();
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("click", (event) => {
    const go = event.target.dataset.go;
    if (!go) return;
    page = go === "first" ? 0 : go === "last" ? Infinity : page + Number(go);
    show();
  });
  for (const link of document.querySelectorAll("a[data-anomaly]")) {
    link.addEventListener("click", () => {
      words.value = "";
      const wanted = { 1: link.dataset.anomaly, 2: link.dataset.scenario };
      for (const x of choices) {
        const value = wanted[x.dataset.column] || "";
        // A kind of which the page lists none is still asked for: then none is shown, not all.
        if (![...x.options].some((option) => option.value === value)) x.append(new Option(value));
        x.value = value;
      }
      filter();
    });
  }
  form.hidden = false;
  filter();
})();
// The pictures: a pointer or the arrow keys read the values of one column.
for (const svg of document.querySelectorAll("svg.chart")) {
  const read = (name) => (svg.dataset[name] ? svg.dataset[name].split(" ").map(Number) : null);
  const values = { acked: read("acked"), refused: read("refused"), "no report": read("unknown") };
  const out = svg.closest("figure").querySelector("output");
  const from = Number(svg.dataset.from);
  const to = Number(svg.dataset.to);
  const line = document.createElementNS(svg.namespaceURI, "line");
  let at = -1;
  const show = (i) => {
    at = Math.min(Math.max(0, i), values.acked.length - 1);
    const x = from + ((to - from) * (at + 0.5)) / values.acked.length;
    const attributes = { x1: x, x2: x, y1: 0, y2: svg.viewBox.baseVal.height - 18, class: "cursor" };
    for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
    svg.append(line);
    const clock = new Date(Date.parse(svg.dataset.start) + at * Number(svg.dataset.step)).toISOString().slice(11, 23);
    const told = Object.entries(values).filter(([, v]) => v).map(([name, v]) => `${v[at].toLocaleString("en-US")} ${name}`);
    out.textContent = `${clock} UTC: ${told.join(", ")} per ${svg.dataset.per} ms`;
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    if (x >= from && x <= to) show(Math.floor(((x - from) / (to - from)) * values.acked.length));
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(at + step);
  });
}
// On paper everything is open.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((x) => { x.open = true; }));
