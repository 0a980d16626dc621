// The line charts: axes that follow the curves still shown, and values under the pointer.

/** Marks at 1, 2 or 5 times a power of ten. */
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const out = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) out.push(n * step);
  return { out, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

function logTicks(low, high) {
  const out = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    out.push(...(high / low < 2e4 ? [1, 2, 5] : [1]).map((factor) => factor * 10 ** power).filter((tick) => tick >= low && tick <= high));
  }
  return out;
}

class Chart {
  constructor(name, facts) {
    this.facts = facts;
    this.svg = document.getElementById(name);
    this.tip = this.svg.parentElement.querySelector(".tip");
    this.cross = this.svg.querySelector(".cross");
    const [, , width, height] = this.svg.getAttribute("viewBox").split(" ").map(Number);
    const { left, right, top, bottom } = DATA.frame;
    this.width = width;
    this.box = { left, right: width - right, top, bottom: height - bottom };
    this.high = { x: facts.x[1], y: facts.y[1] };
    this.svg.addEventListener("pointermove", (event) => this.readOff(event));
    this.svg.addEventListener("pointerleave", () => this.hide());
  }

  shown() {
    return this.facts.curves.filter((curve) => !hidden.has(String(curve.place)));
  }

  /** 0 to 1 along the x axis, for an axis that ends at `high`. */
  share(x, high = this.high.x) {
    const low = this.facts.x[0];
    return this.facts.log ? Math.log(x / low) / Math.log(high / low) : (x - low) / (high - low);
  }

  /** Fit the axes to what is shown: the paths are stretched, the marks made anew. */
  rescale() {
    const curves = this.shown(), { left, right, top, bottom } = this.box;
    const most = (key) => Math.max(...curves.map((curve) => Math.max(...curve[key])));
    this.high = { x: this.facts.x[1], y: this.facts.y[1] };
    if (curves.length) {
      this.high.x = Math.min(this.high.x, most("x") * 1.02);
      if (!this.facts.percent) this.high.y = Math.min(this.high.y, Math.max(1, most("y")) * 1.06);
    }
    const wider = this.share(this.facts.x[1]), taller = this.facts.y[1] / this.high.y;
    this.svg.querySelector(".curves").setAttribute("transform",
      `translate(${left} ${bottom}) scale(${wider} ${taller}) translate(${-left} ${-bottom})`);
    const line = (kind, x1, x2, y1, y2) => `<line class="${kind}" x1="${x1}" x2="${x2}" y1="${y1}" y2="${y2}"/>`;
    let marks = "";
    const yTicks = this.facts.percent ? [0, 0.25, 0.5, 0.75, 1] : ticks(0, this.high.y, 6).out.filter(Number.isInteger);
    for (const tick of yTicks) {
      const y = bottom + (tick / this.high.y) * (top - bottom);
      const text = this.facts.percent ? `${100 * tick} %` : tick;
      marks += line("grid", left, right, y, y) + `<text x="${left - 7}" y="${y + 3.5}" text-anchor="end">${text}</text>`;
    }
    const xTicks = this.facts.log ? logTicks(this.facts.x[0], this.high.x) : ticks(this.facts.x[0], this.high.x, 6).out;
    for (const tick of xTicks) {
      const x = left + this.share(tick) * (right - left);
      const text = Number(tick.toPrecision(6));
      marks += line("mark", x, x, bottom, bottom + 4) + `<text x="${x}" y="${bottom + 17}" text-anchor="middle">${text}</text>`;
    }
    this.svg.querySelector(".ticks").innerHTML = marks;
    this.hide();
  }

  hide() {
    this.tip.hidden = true;
    this.cross.setAttribute("visibility", "hidden");
  }

  readOff(event) {
    const frame = this.svg.getBoundingClientRect(), { left, right } = this.box, low = this.facts.x[0];
    const at = ((event.clientX - frame.left) / frame.width) * this.width;
    if (at < left || at > right) return this.hide();
    const share = (at - left) / (right - left);
    const x = this.facts.log ? low * (this.high.x / low) ** share : low + share * (this.high.x - low);
    const lines = this.shown().map((curve) => {
      const index = lastNotAbove(curve.x, x);
      return { curve, y: index < 0 ? 0 : curve.y[index] };
    }).sort((a, b) => b.y - a.y || a.curve.place - b.curve.place);
    const rows = lines.map(({ curve, y }) => `<div class="row"><span><span class="chip s${curve.place}"></span>` +
      `${escapeHtml(curve.label)}</span><b>${this.facts.percent ? `${(100 * y).toFixed(0)} %` : y}</b></div>`);
    this.tip.innerHTML = `<div class="soft">${this.facts.read[0]} ${Number(x.toPrecision(4))}${this.facts.read[1]}</div>${rows.join("")}`;
    this.cross.setAttribute("x1", at);
    this.cross.setAttribute("x2", at);
    this.cross.setAttribute("visibility", "visible");
    const outer = this.svg.parentElement.getBoundingClientRect();
    placeTip(this.tip, event.clientX - outer.left, event.clientY - outer.top - 10);
  }
}

const charts = Object.fromEntries(Object.entries(DATA.charts).map(([name, facts]) => [name, new Chart(name, facts)]));
