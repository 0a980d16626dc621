// The Gantt chart answers: pointer, wheel, keys, buttons, tabs.

// ---- what is under the pointer -------------------------------------------------------------------------------
const seconds = (time) => `${time.toFixed(time >= 1000 ? 1 : 2)} s`;
const jobText = (job) => {
  const number = `job ${job}`, name = now.jobs.name[job];
  return name === String(job) || name === number ? number : `${number} (${name})`;
};
const WAVES = ["", "fresh: came from elsewhere", "first of this stage here", "rest: same stage before"];

function findAt(x, y) {
  if (y < LANE) {
    let best = null, near = 8;
    eachMarker((job, time, at, down) => {
      const away = Math.hypot(xOf(time) - x, at - y);
      if (away < near) { near = away; best = { kind: "marker", job, time, down }; }
    });
    return best;
  }
  const row = rowAt(y), time = timeAt(x);
  if (x < LEFT || row < 0 || row >= now.run.facts.executors || y > LANE + plotHeight()) return null;
  const { ptr, start, end, flags, job } = now.run;
  const slack = (0.8 * (view.to - view.from)) / plotWidth();
  const bar = lastNotAbove(start, time, ptr[row], ptr[row + 1]);
  if (bar >= 0 && time <= end[bar] + slack) return { kind: "bar", row, bar, job: job[bar] };
  const next = bar < 0 ? ptr[row] : bar + 1;
  const more = next < ptr[row + 1];
  const from = bar < 0 ? 0 : end[bar], to = more ? start[next] : now.run.facts.makespan_s;
  const moving = more && (flags[next] & 3) === 1 && time >= to - DATA.moving_delay_s;
  if (!more && (time > to || now.run.facts.until_s !== null)) return null;
  return { kind: "gap", row, from, to, moving, job: moving ? job[next] : -1, more };
}

function describe(found) {
  const chip = (job) => `<span class="chip" style="background:${shades[job % shades.length].base}"></span>`;
  const title = (job) => `<div>${chip(job)}<b>${escapeHtml(jobText(job))}</b> <span class="soft">${escapeHtml(now.jobs.dag[job])}</span></div>`;
  if (found.kind === "marker") {
    return `${title(found.job)}<div>${found.down ? "arrives" : "completes"} at ${seconds(found.time)}</div>` +
      (Number.isFinite(now.run.finish[found.job]) ? `<div class="soft">${seconds(now.run.finish[found.job] - now.jobs.arrival_s[found.job])} in the system</div>` : "");
  }
  if (found.kind === "gap") {
    const what = found.moving ? `moving to ${escapeHtml(jobText(found.job))}` : found.more ? "idle" : "idle until the end";
    const from = found.moving ? Math.max(found.from, found.to - DATA.moving_delay_s) : found.from;
    const to = found.more && !found.moving && (now.run.flags[lastNotAbove(now.run.start, found.to, now.run.ptr[found.row], now.run.ptr[found.row + 1])] & 3) === 1
      ? Math.max(found.from, found.to - DATA.moving_delay_s) : found.to;
    return `<div><b>executor ${found.row}</b></div><div>${what}</div><div class="soft">${seconds(from)} → ${seconds(to)} (${seconds(to - from)})</div>`;
  }
  const { start, end, stage, tasks, flags } = now.run, bar = found.bar;
  const wave = WAVES[flags[bar] & 3];
  return `${title(found.job)}<div>stage ${stage[bar]} <span class="soft">${escapeHtml(now.jobs.stages[found.job][stage[bar]])}</span></div>` +
    `<div>${flags[bar] & 4 ? "a task lost to a failure" : tasks[bar] > 1 ? `${tasks[bar]} tasks back to back` : "1 task"} on executor ${found.row}</div>` +
    `<div>${seconds(start[bar])} → ${seconds(end[bar])} (${seconds(end[bar] - start[bar])})</div>${wave ? `<div class="soft">${wave}</div>` : ""}`;
}

function point(event) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const found = findAt(x, y);
  if (!found) { tip.hidden = true; return; }
  tip.innerHTML = describe(found);
  placeTip(tip, x, y + 14);
}

function pick(job) {
  now.picked = job;
  picker.value = String(job);
  redraw();
}

// ---- controls ------------------------------------------------------------------------------------------------
const actions = {
  in: () => zoom(1 / 1.6), out: () => zoom(1.6), left: () => pan(-0.25), right: () => pan(0.25),
  fit: () => fit("run"), all: () => fit("all"),
};
document.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", actions[button.dataset.do]));
const keys = {
  "+": actions.in, "=": actions.in, "-": actions.out, ArrowLeft: actions.left, ArrowRight: actions.right,
  0: actions.fit, Home: actions.fit, ArrowUp: () => pan(0, -view.rows / 4), ArrowDown: () => pan(0, view.rows / 4),
  Escape: () => pick(-1),
};
canvas.addEventListener("keydown", (event) => {
  const act = event.ctrlKey || event.metaKey ? null : keys[event.key];
  const still = (event.key === "ArrowUp" || event.key === "ArrowDown") && view.rows >= now.run.facts.executors;
  if (act && !still) { event.preventDefault(); act(); }
});
canvas.addEventListener("wheel", (event) => {
  const [dx, dy] = event.deltaMode === 1 ? [event.deltaX * 18, event.deltaY * 18] : [event.deltaX, event.deltaY];
  const box = canvas.getBoundingClientRect();
  const whole = view.to - view.from >= total * 0.9999;
  if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
    event.preventDefault();
    pan((Math.abs(dx) > Math.abs(dy) ? dx : dy) / plotWidth());
  } else if (event.altKey) {
    event.preventDefault();
    zoomRows(1.0018 ** dy, event.clientY - box.top);
  } else if (dy < 0 || !whole) { // all is shown and the wheel goes on outward: let the page scroll
    event.preventDefault();
    zoom(1.0018 ** dy, event.clientX - box.left);
  }
  tip.hidden = true;
}, { passive: false });

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  drag = { x: event.clientX, y: event.clientY, moved: false };
  try { canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that has gone */ }
});
canvas.addEventListener("pointermove", (event) => {
  if (!drag) return point(event);
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
  canvas.classList.add("dragging");
  tip.hidden = true;
  pan(-dx / plotWidth(), -dy / rowHeight());
});
const release = (event) => {
  if (drag && !drag.moved && event.type === "pointerup") {
    const box = canvas.getBoundingClientRect();
    const found = findAt(event.clientX - box.left, event.clientY - box.top);
    pick(found && found.job >= 0 && found.job !== now.picked ? found.job : -1);
  }
  drag = null;
  canvas.classList.remove("dragging");
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
picker.addEventListener("change", () => pick(Number(picker.value)));

// ---- tabs ----------------------------------------------------------------------------------------------------
const tabs = DATA.runs.map((facts, index) => {
  const tab = document.createElement("button");
  tab.type = "button";
  tab.id = `tab-${index}`;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", "panel");
  tab.innerHTML = `<span class="chip s${facts.place}"></span>${escapeHtml(facts.label)}`;
  tab.addEventListener("click", () => show(index));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : index + (step ?? NaN);
    if (!tabs[to]) return;
    event.preventDefault();
    tabs[to].focus();
    show(to);
  });
  return tab;
});
document.getElementById("tabs").append(...tabs);

let chosen = 0;
async function show(index) {
  chosen = index;
  tabs.forEach((tab, at) => {
    tab.setAttribute("aria-selected", String(at === index));
    tab.tabIndex = at === index ? 0 : -1;
  });
  document.getElementById("panel").setAttribute("aria-labelledby", tabs[index].id);
  let next, table;
  try {
    next = await decode(index);
    table = await jobTable(next.facts.jobs);
  } catch (error) {
    note(`This browser cannot show the chart (${error}). A browser of 2023 or later can.`);
    return;
  }
  if (chosen !== index) return; // another tab was chosen meanwhile
  const sameRows = now.run && now.run.facts.executors === next.facts.executors;
  const sameJobs = table === now.jobs;
  now.run = next;
  now.jobs = table;
  if (!sameJobs) fillPicker();
  if (view.whole) fit(view.whole);
  else if (!sameRows) Object.assign(view, { top: 0, rows: now.run.facts.executors });
  const until = now.run.facts.until_s;
  note(until === null ? "" : `This run is too large to draw in full: the chart shows the ${now.run.facts.bars.toLocaleString("en")} ` +
    `bars that start before ${until.toFixed(1)} s of ${now.run.facts.makespan_s.toFixed(1)} s. The table and the curves count everything; ` +
    "for all tasks use “dovetail export … --perfetto”.");
  resize();
}

function note(text) {
  const element = document.getElementById("note");
  element.hidden = !text;
  element.textContent = text;
}

function fillPicker() {
  picker.replaceChildren(new Option("all", "-1"));
  const most = Math.min(now.jobs.name.length, 3000);
  for (let job = 0; job < most; job++) picker.add(new Option(jobText(job), String(job)));
  if (now.picked >= now.jobs.name.length) now.picked = -1;
  picker.value = String(now.picked);
}

// ---- start ---------------------------------------------------------------------------------------------------
if (DATA.runs.length) {
  listeners.push(() => { readTheme(); redraw(); });
  readTheme();
  const wanted = new URLSearchParams(location.hash.slice(1)); // #run=2&from=10&to=40&job=3 opens the page there
  if (wanted.has("from") && wanted.has("to")) {
    Object.assign(view, { from: Number(wanted.get("from")) || 0, to: Number(wanted.get("to")) || total, whole: null });
  }
  if (wanted.has("job")) now.picked = Number(wanted.get("job"));
  show(Math.min(Math.max(0, Number(wanted.get("run")) || 0), DATA.runs.length - 1));
  new ResizeObserver(() => { if (now.run && canvas.parentElement.clientWidth !== now.wide) resize(); })
    .observe(canvas.parentElement);
}
