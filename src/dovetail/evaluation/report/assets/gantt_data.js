// Data of the Gantt chart: unpacking runs, and the state that drawing and controls share.

const canvas = document.getElementById("gantt");
const ink = canvas.getContext("2d");
const tip = document.getElementById("tip");
const picker = document.getElementById("job");
const total = Math.max(DATA.makespan_s * 1.015, 1e-3); // seconds the time axis is long
// What is shown: seconds, rows from the top, and whether that is all of the run or of the longest one.
const view = { from: 0, to: total, top: 0, rows: 1, whole: "run" };
const now = { run: null, jobs: null, picked: -1, wide: 0, high: 0 }; // the run shown, its jobs, the job picked
const decoded = new Map(); // place in DATA.runs -> columns
const workloads = new Map(); // place in DATA.workloads -> names and arrivals

async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

async function decode(index) {
  if (decoded.has(index)) return decoded.get(index);
  const facts = DATA.runs[index];
  const [bytes, ends] = await Promise.all([inflate(facts.data), inflate(facts.finish)]);
  let offset = 0;
  const column = (length) => { offset += 4 * length; return new Uint32Array(bytes, offset - 4 * length, length); };
  const counts = column(facts.executors);
  const n = facts.bars;
  const [gap, length, job, stage, tasks] = [column(n), column(n), column(n), column(n), column(n)];
  const flags = new Uint8Array(bytes, offset, n);
  const ptr = new Uint32Array(facts.executors + 1);
  const start = new Float64Array(n), end = new Float64Array(n);
  for (let row = 0; row < facts.executors; row++) {
    ptr[row + 1] = ptr[row] + counts[row];
    let at = 0;
    for (let bar = ptr[row]; bar < ptr[row + 1]; bar++) {
      start[bar] = (at += gap[bar]) * DATA.tick_s;
      end[bar] = (at += length[bar]) * DATA.tick_s;
    }
  }
  const finish = Float64Array.from(new Int32Array(ends), (ticks) => (ticks < 0 ? NaN : ticks * DATA.tick_s));
  const result = { facts, ptr, start, end, job, stage, tasks, flags, finish };
  decoded.set(index, result);
  return result;
}

async function jobTable(index) {
  if (!workloads.has(index)) {
    workloads.set(index, JSON.parse(new TextDecoder().decode(await inflate(DATA.workloads[index]))));
  }
  return workloads.get(index);
}
