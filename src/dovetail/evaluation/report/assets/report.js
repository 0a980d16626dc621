"use strict";
// The page without its Gantt chart: theme, sortable table, legend, and values under the pointer.

const DATA = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const listeners = []; // called after the theme has changed

function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function remember(theme) {
  // Browsers may forbid storage to pages opened from disk; then the choice lasts until the page is closed.
  try { localStorage.setItem("dovetail-theme", theme); } catch { /* forbidden */ }
}

(function theme() {
  try {
    const saved = localStorage.getItem("dovetail-theme");
    if (saved === "dark" || saved === "light") root.dataset.theme = saved;
  } catch { /* forbidden */ }
  const wanted = new URLSearchParams(location.hash.slice(1)).get("theme");
  if (wanted === "dark" || wanted === "light") root.dataset.theme = wanted;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    listeners.forEach((listen) => listen());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => listeners.forEach((listen) => listen()));
})();

(function sortableTable() {
  const table = document.getElementById("table");
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    const text = head.dataset.kind === "text";
    const key = (row) => row.cells[column].dataset.sort;
    const order = (a, b) => (text ? key(a).localeCompare(key(b)) : number(key(a)) - number(key(b)));
    const rows = [...table.tBodies[0].rows].sort(order);
    if (down) rows.reverse();
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  }));
  function number(text) {
    const value = text === "inf" ? Infinity : parseFloat(text);
    return Number.isNaN(value) ? Number.MAX_VALUE : Math.min(value, Number.MAX_VALUE);
  }
})();

const hidden = new Set(); // places of schedulers switched off in the legend

(function legend() {
  const keys = [...document.querySelectorAll(".key")];
  const places = keys.map((key) => key.dataset.place);
  const toggle = (place, alone) => {
    if (!alone) {
      if (!hidden.delete(place)) hidden.add(place);
    } else if (!hidden.has(place) && hidden.size === places.length - 1) {
      hidden.clear();
    } else {
      places.forEach((other) => (other === place ? hidden.delete(other) : hidden.add(other)));
    }
    for (const key of keys) key.setAttribute("aria-pressed", String(!hidden.has(key.dataset.place)));
    for (const curve of document.querySelectorAll(".curve")) {
      curve.classList.toggle("off", places.some((other) => hidden.has(other) && curve.classList.contains(`s${other}`)));
    }
    Object.values(charts).forEach((chart) => chart.rescale());
  };
  for (const key of keys) {
    const place = key.dataset.place;
    const stress = (on) => document.querySelectorAll(".curve").forEach((curve) => {
      const own = curve.classList.contains(`s${place}`);
      curve.classList.toggle("dim", on && !own);
      curve.classList.toggle("strong", on && own);
    });
    key.title = "Click to hide or show; shift + click to show this one alone";
    key.addEventListener("click", (event) => toggle(place, event.shiftKey || event.altKey));
    key.addEventListener("pointerenter", () => stress(true));
    key.addEventListener("pointerleave", () => stress(false));
    key.addEventListener("focus", () => stress(key.matches(":focus-visible")));
    key.addEventListener("blur", () => stress(false));
  }
})();

/** Put a tooltip beside a point of its offset parent, on the side where there is room. */
function placeTip(tip, x, y) {
  tip.hidden = false;
  const room = tip.offsetParent.clientWidth;
  const left = x + 16 + tip.offsetWidth > room ? x - 14 - tip.offsetWidth : x + 16;
  tip.style.transform = `translate(${Math.round(Math.max(2, left))}px, ${Math.round(Math.max(0, y))}px)`;
}

/** Index of the last element that is not above the value, -1 if all are. */
function lastNotAbove(sorted, value, low = 0, high = sorted.length) {
  const start = low;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1 < start ? -1 : low - 1;
}

