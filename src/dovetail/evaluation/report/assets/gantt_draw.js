// Drawing the Gantt chart: executors as rows, time as columns.

const LEFT = 46, LANE = 34, AXIS = 24, RIGHT = 2; // pixels around the rows

const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
let theme = {};
const shades = DATA.colours.map((hex) => {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const light = [r, g, b].map((c) => Math.round(c + (255 - c) * 0.2));
  return { base: hex, alt: `rgb(${light})`, text: 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#10161f" : "#ffffff" };
});
function readTheme() {
  const names = ["--card", "--ink", "--soft", "--faint", "--line", "--line-soft", "--track", "--lost", "--accent"];
  theme = Object.fromEntries(names.map((name) => [name.slice(2), css(name)]));
  shades.forEach((shade) => { shade.hatch = null; });
}
function hatch(shade) {
  if (shade.hatch) return shade.hatch;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = shade.base;
  pen.lineWidth = 1.6;
  for (const shift of [-6, 0, 6]) { pen.moveTo(shift - 1, 7); pen.lineTo(shift + 7, -1); }
  pen.stroke();
  return (shade.hatch = ink.createPattern(tile, "repeat"));
}

// ---- geometry ------------------------------------------------------------------------------------------------
const plotWidth = () => now.wide - LEFT - RIGHT;
const plotHeight = () => now.high - LANE - AXIS;
const xOf = (time) => LEFT + ((time - view.from) / (view.to - view.from)) * plotWidth();
const timeAt = (x) => view.from + ((x - LEFT) / plotWidth()) * (view.to - view.from);
const rowHeight = () => plotHeight() / view.rows;
const yOf = (row) => LANE + (row - view.top) * rowHeight();
const rowAt = (y) => Math.floor(view.top + (y - LANE) / rowHeight());

function clampView() {
  const span = Math.min(total, Math.max(view.to - view.from, Math.min(total, Math.max(20 * DATA.tick_s, 0.05))));
  view.from = Math.min(Math.max(0, view.from), total - span);
  view.to = view.from + span;
  const rows = now.run ? now.run.facts.executors : 1;
  view.rows = Math.min(rows, Math.max(Math.min(4, rows), view.rows));
  view.top = Math.min(Math.max(0, view.top), rows - view.rows);
}
function zoom(factor, x = LEFT + plotWidth() / 2) {
  const time = timeAt(x);
  view.whole = null;
  view.from = time - (time - view.from) * factor;
  view.to = time + (view.to - time) * factor;
  redraw();
}
function zoomRows(factor, y = LANE + plotHeight() / 2) {
  const row = view.top + (y - LANE) / rowHeight();
  const share = (row - view.top) / view.rows;
  view.rows *= factor;
  clampView();
  view.top = row - share * view.rows;
  redraw();
}
function pan(share, rows = 0) {
  const shift = share * (view.to - view.from);
  view.whole = null;
  view.from += shift;
  view.to += shift;
  view.top += rows;
  redraw();
}
/** Show all of this run ("run"), or as much time as the longest run takes ("all"). */
function fit(whole = "run") {
  const to = whole === "all" ? total : Math.max(now.run.facts.makespan_s * 1.015, 1e-3);
  Object.assign(view, { from: 0, to, top: 0, rows: now.run.facts.executors, whole });
  redraw();
}

function resize() {
  const ratio = window.devicePixelRatio || 1;
  now.wide = canvas.parentElement.clientWidth;
  now.high = LANE + AXIS + Math.min(Math.max(now.run.facts.executors * 11, 132), 620);
  canvas.style.height = `${now.high}px`;
  canvas.width = Math.round(now.wide * ratio);
  canvas.height = Math.round(now.high * ratio);
  ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  redraw();
}

let pending = false;
function redraw() {
  clampView();
  if (!pending) { pending = true; requestAnimationFrame(() => { pending = false; draw(); }); }
}

// ---- drawing -------------------------------------------------------------------------------------------------
function draw() {
  if (!now.run) return;
  ink.clearRect(0, 0, now.wide, now.high);
  ink.font = "11px system-ui, sans-serif";
  ink.textBaseline = "middle";
  const height = rowHeight(), bottom = LANE + plotHeight();
  drawGround(height, bottom);
  ink.save();
  ink.beginPath();
  ink.rect(LEFT, LANE, plotWidth(), plotHeight());
  ink.clip();
  const first = Math.max(0, Math.floor(view.top)), last = Math.min(now.run.facts.executors, Math.ceil(view.top + view.rows));
  const step = Math.max(1, Math.floor(0.75 / height)); // rows thinner than a pixel: some of them stand for all
  let bars = 0;
  for (let row = first; row < last; row += step) bars += drawRow(row, height * step);
  drawPicked(bottom);
  ink.restore();
  drawMarkers();
  const shown = now.picked < 0 ? "" : ` · ${jobText(now.picked)}`;
  document.getElementById("status").textContent = `${view.from.toFixed(1)} – ${view.to.toFixed(1)} s${shown}`;
  canvas.dataset.view = `${view.from.toFixed(3)} ${view.to.toFixed(3)} ${view.top.toFixed(2)} ${view.rows.toFixed(2)}`;
  canvas.dataset.bars = bars;
  canvas.dataset.run = now.run.facts.label;
}

function drawGround(height, bottom) {
  ink.fillStyle = theme.track;
  const lit = Math.max(0, Math.min(xOf(now.run.facts.makespan_s) - LEFT, plotWidth())); // up to the last completion
  if (height >= 4) {
    for (let row = Math.floor(view.top); row < view.top + view.rows; row++) {
      const y = Math.max(LANE, yOf(row)), end = Math.min(bottom, yOf(row + 1) - 1);
      if (end > y) ink.fillRect(LEFT, y, lit, end - y);
    }
  } else {
    ink.fillRect(LEFT, LANE, lit, plotHeight());
  }
  const { out, digits } = ticks(view.from, view.to, Math.max(3, plotWidth() / 110));
  ink.textAlign = "center";
  for (const time of out) {
    const x = xOf(time);
    ink.fillStyle = theme.line;
    ink.fillRect(x - 0.5, LANE, 1, plotHeight() + 4);
    ink.fillStyle = theme.soft;
    const edge = ink.measureText(time.toFixed(digits)).width / 2;
    ink.fillText(time.toFixed(digits), Math.min(Math.max(x, LEFT + edge), now.wide - edge - 14), bottom + 13);
  }
  ink.textAlign = "right";
  ink.fillText("s", now.wide - RIGHT, bottom + 13);
  const every = Math.max(1, Math.ceil(15 / height)), nice = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000];
  const skip = nice.find((n) => n >= every) || every;
  for (let row = Math.ceil(view.top / skip) * skip; row < Math.min(view.top + view.rows, now.run.facts.executors); row += skip) {
    const y = yOf(row + 0.5);
    if (y > LANE + 4 && y < bottom - 2) ink.fillText(row, LEFT - 7, y);
  }
}

function drawRow(row, height) {
  const { ptr, start, end, job, stage, flags } = now.run;
  const y = yOf(row), tall = Math.max(height >= 4 ? height - 1 : height, 0.8);
  let bar = lastNotAbove(start, view.from, ptr[row], ptr[row + 1]);
  if (bar < 0) bar = ptr[row];
  let last = -1, drawn = 0;
  for (; bar < ptr[row + 1]; bar++) {
    const fresh = (flags[bar] & 3) === 1;
    if ((fresh ? start[bar] - DATA.moving_delay_s : start[bar]) > view.to) break;
    const from = xOf(start[bar]), to = xOf(end[bar]);
    if (to - last < 0.35 || to < LEFT) continue; // hidden by what is already there
    const shade = shades[job[bar] % shades.length];
    const dim = now.picked >= 0 && job[bar] !== now.picked;
    if (fresh && DATA.moving_delay_s > 0) {
      const before = bar > ptr[row] ? end[bar - 1] : 0;
      const moving = xOf(Math.max(before, start[bar] - DATA.moving_delay_s));
      if (from - moving > 0.5) {
        ink.globalAlpha = dim ? 0.12 : from - moving > 6 ? 0.75 : 0.35;
        ink.fillStyle = from - moving > 6 ? hatch(shade) : shade.base;
        ink.fillRect(moving, y, from - moving, tall);
        ink.globalAlpha = 1;
      }
    }
    const gap = to - from > 4 ? 0.75 : 0;
    ink.fillStyle = dim ? theme.line : stage[bar] % 2 ? shade.alt : shade.base;
    ink.fillRect(from, y, Math.max(to - from - gap, 0.7), tall);
    if (flags[bar] & 4) {
      ink.strokeStyle = theme.lost;
      ink.lineWidth = 2;
      ink.strokeRect(from + 1, y + 1, Math.max(to - from - 2, 1), Math.max(tall - 2, 1));
    }
    const [a, b] = [Math.max(from, LEFT), Math.min(to, now.wide)];
    if (tall >= 9 && b - a > 84 && !dim) {
      const text = `${now.jobs.name[job[bar]]} · ${now.jobs.stages[job[bar]][stage[bar]]}`;
      ink.font = tall >= 13 ? "11px system-ui, sans-serif" : "9.5px system-ui, sans-serif";
      if (ink.measureText(text).width < b - a - 8) {
        ink.fillStyle = shade.text;
        ink.textAlign = "left";
        ink.fillText(text, a + 4, y + tall / 2 + 0.5);
      }
    }
    last = Math.max(to, from + 0.7);
    drawn++;
  }
  return drawn;
}

function drawPicked(bottom) {
  const line = (time, colour, dash) => {
    ink.strokeStyle = colour;
    ink.lineWidth = 1.5;
    ink.setLineDash(dash);
    ink.beginPath();
    ink.moveTo(xOf(time), LANE);
    ink.lineTo(xOf(time), bottom);
    ink.stroke();
    ink.setLineDash([]);
  };
  line(now.run.facts.makespan_s, theme.faint, [2, 3]);
  if (now.run.facts.until_s !== null) {
    ink.fillStyle = theme.card;
    ink.globalAlpha = 0.7;
    ink.fillRect(xOf(now.run.facts.until_s), LANE, now.wide, plotHeight());
    ink.globalAlpha = 1;
    line(now.run.facts.until_s, theme.lost, [6, 4]);
  }
  if (now.picked < 0) return;
  line(now.jobs.arrival_s[now.picked], theme.ink, [5, 4]);
  if (Number.isFinite(now.run.finish[now.picked])) line(now.run.finish[now.picked], theme.ink, [5, 4]);
}

function eachMarker(visit) {
  for (let job = 0; job < now.jobs.name.length; job++) {
    visit(job, now.jobs.arrival_s[job], 9, true);
    if (Number.isFinite(now.run.finish[job])) visit(job, now.run.finish[job], 24, false);
  }
}

function drawMarkers() {
  ink.textAlign = "right";
  ink.fillStyle = theme.soft;
  ink.font = "10.5px system-ui, sans-serif";
  ink.fillText("arrive", LEFT - 7, 9);
  ink.fillText("done", LEFT - 7, 24);
  ink.save();
  ink.beginPath();
  ink.rect(LEFT - 5, 0, plotWidth() + 7, LANE);
  ink.clip();
  eachMarker((job, time, y, down) => {
    const x = xOf(time);
    if (x < LEFT - 5 || x > now.wide) return;
    const dim = now.picked >= 0 && job !== now.picked, size = job === now.picked ? 6 : 4.5;
    ink.fillStyle = dim ? theme.line : shades[job % shades.length].base;
    ink.beginPath();
    const tipY = down ? y + size : y - size, flat = down ? y - size * 0.7 : y + size * 0.7;
    ink.moveTo(x, tipY);
    ink.lineTo(x - size, flat);
    ink.lineTo(x + size, flat);
    ink.fill();
  });
  const over = xOf(now.run.facts.makespan_s) + 10;
  const text = `all done at ${now.run.facts.makespan_s.toFixed(1)} s`;
  if (over > LEFT && over + ink.measureText(text).width < now.wide) {
    ink.fillStyle = theme.soft;
    ink.textAlign = "left";
    ink.fillText(text, over, 24);
  }
  ink.restore();
}
