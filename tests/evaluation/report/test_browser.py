"""The page's script in a real browser: the chart is drawn, zooms, moves, tells what is under the pointer."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.elastic_toys import Eager, Promising, toy_run
from tests.gpu_toys import toy_run as gpu_toy_run
from tests.stream_toys import SCRIPT
from tests.stream_toys import toy_run as stream_toy_run

from dovetail.evaluation.metrics_elastic import run_metrics as elastic_metrics
from dovetail.evaluation.metrics_gpu import run_metrics as gpu_metrics
from dovetail.evaluation.metrics_stream import run_metrics as stream_metrics
from dovetail.evaluation.report import render_page
from dovetail.records import RecordWriter, read_records

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="install chromium to test the report's script in a browser")

# Without a screen, a browser calls nobody back for the next frame.
FRAMES = "<script>window.requestAnimationFrame = (draw) => setTimeout(draw, 5);</script>"
START = """
<script>
const log = [];
const errors = [];
addEventListener("error", (event) => errors.push(event.message));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
const settle = () => new Promise((done) => setTimeout(done, 60));
async function steps() {
"""
STEPS = """
  const c = document.getElementById("gantt");
  for (let wait = 0; wait < 50 && !c.dataset.view; wait++) await settle();
  const box = c.getBoundingClientRect();
  const place = (x, y) => ({ clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true });
  const point = (type, x, y) => c.dispatchEvent(new PointerEvent(type, { ...place(x, y), pointerId: 1 }));
  const note = async (name) => { await settle(); log.push(`${name}=${c.dataset.view}`); };
  await note("start");
  c.dispatchEvent(new WheelEvent("wheel", { ...place(46, 90), deltaY: -600 }));
  await note("wheel");
  point("pointerdown", 400, 90);
  point("pointermove", 300, 90);
  point("pointerup", 300, 90);
  await note("drag");
  document.querySelector("[data-do=fit]").click();
  await note("fit");
  c.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
  await note("plus");
  c.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
  await note("zero");
  const tip = document.getElementById("tip");
  let seen = "";
  for (let x = 50; x < box.width && !/back to back/.test(seen); x += 3) {
    point("pointermove", x, 60);
    seen = tip.innerText;
  }
  log.push(`tip=${seen.replaceAll("\\n", " | ")}`);
  document.querySelectorAll("#tabs button")[2].click();
  await settle();
  await settle();
  log.push(`tab=${c.dataset.run}`);
  document.querySelectorAll("#table th button")[0].click();
  const names = [...document.querySelectorAll("#table tbody .name")];
  log.push(`sorted=${names.map((cell) => cell.textContent).join(",")}`);
  document.querySelector(".key").click();
  log.push(`off=${document.querySelectorAll(".curve.off").length}`);
  document.getElementById("theme").click();
  log.push(`theme=${document.documentElement.dataset.theme}`);
  const svg = document.getElementById("cdf"), frame = svg.getBoundingClientRect();
  const middle = { clientX: frame.left + frame.width / 2, clientY: frame.top + 50 };
  svg.dispatchEvent(new PointerEvent("pointermove", middle));
  log.push(`read=${svg.parentElement.querySelector(".tip").innerText.replaceAll("\\n", " | ")}`);
"""
END = """
  log.push(`errors=${errors.join(";")}`);
  document.title = log.join("\\n");
}
steps().catch((error) => { document.title = `failed=${error}`; });
</script>
"""
FLAGS = """--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync
    --disable-component-update --disable-dev-shm-usage --virtual-time-budget=20000 --window-size=1300,1600"""


def seen_by(text: str, steps: str, tmp_path: Path) -> dict[str, str]:
    """What the steps wrote down while the page was open."""
    assert BROWSER is not None
    page = tmp_path / "report.html"
    page.write_text(text.replace("</head>", f"{FRAMES}</head>").replace("</body>", f"{START}{steps}{END}</body>"))
    command = [
        BROWSER,
        *FLAGS.split(),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    seen = dict(line.split("=", 1) for line in title[1].splitlines())
    assert "failed" not in seen, seen["failed"]
    return seen


def test_the_script_works(shared_records: Path, tmp_path: Path) -> None:
    seen = seen_by(render_page(read_records(shared_records)), STEPS, tmp_path)
    start, wheel, drag = ([float(part) for part in seen[key].split()] for key in ("start", "wheel", "drag"))
    assert start[0] == 0 and start[3] == 12, "all executors are shown"
    assert wheel[0] == pytest.approx(0, abs=0.01) and wheel[1] < start[1] / 2, "zoomed at the left edge"
    assert drag[0] > 0 and drag[1] - drag[0] == pytest.approx(wheel[1] - wheel[0], rel=0.01), "moved, same zoom"
    assert seen["fit"] == seen["zero"] == seen["start"]
    assert float(seen["plus"].split()[1]) < start[1]
    tip = r"job \d+ \(j\d+\).* \| stage \d .* back to back on executor \d+ \| [\d.]+ s → [\d.]+ s"
    assert re.match(tip, seen["tip"])
    assert seen["tab"].startswith("dag/")
    assert seen["sorted"] == "dag/fair,dag/fifo,dag/random,dag/sjf-cp,dag/srtf"
    assert seen["off"] == "2"
    assert seen["theme"] == "dark"
    assert seen["read"].startswith("within ") and seen["read"].count("%") == 4
    assert seen["errors"] == ""


ELASTIC = """
  const sheets = [...document.querySelectorAll(".sheet")];
  const shown = () => sheets.filter((sheet) => !sheet.hidden).map((sheet) => sheet.dataset.label).join(",");
  log.push(`start=${shown()}`);
  document.querySelectorAll("#tabs button")[1].click();
  log.push(`tab=${shown()}`);
  const row = (job) => sheets[1].querySelector(`[data-job="${job}"] .hit`);
  row(1).dispatchEvent(new MouseEvent("click", { bubbles: true }));
  log.push(`dim=${document.querySelectorAll(".job.dim").length}`);
  log.push(`status=${document.getElementById("status").textContent}`);
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  log.push(`undim=${document.querySelectorAll(".job.dim").length}`);
  const svg = document.getElementById("use"), frame = svg.getBoundingClientRect();
  const left = { clientX: frame.left + 0.2 * frame.width, clientY: frame.top + 50 };
  svg.dispatchEvent(new PointerEvent("pointermove", left));
  log.push(`read=${svg.parentElement.querySelector(".tip").innerText.replaceAll("\\n", " | ")}`);
"""


def test_the_allocation_of_elastic_jobs(tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="elastic", workload={}, options={}, seeds=[0])
    for scheduler in (Eager(), Promising()):
        run = toy_run(scheduler, f"elastic/{type(scheduler).__name__.lower()}")
        writer.add(run.scheduler, 0, elastic_metrics(run))
        writer.add_run(run)
    seen = seen_by(render_page(read_records(tmp_path / "r")), ELASTIC, tmp_path)
    assert seen["start"] == "elastic/promising" and seen["tab"] == "elastic/eager"
    assert seen["dim"] == "4" and seen["undim"] == "0", "the two other jobs of both schedulers"
    assert seen["status"] == "job 1 (b): arrived in slot 1, completed in slot 3, utility 10"
    assert seen["read"].startswith("in slot 0.") and "100 %" in seen["read"] and "50 %" in seen["read"]
    assert seen["errors"] == ""


GPU = """
  const sheets = [...document.querySelectorAll(".sheet")];
  const shown = () => sheets.filter((sheet) => !sheet.hidden).map((sheet) => sheet.dataset.label).join(",");
  log.push(`start=${shown()}`);
  document.querySelectorAll("#tabs button")[1].click();
  log.push(`tab=${shown()}`);
  sheets[1].querySelector('[data-job="3"] path').dispatchEvent(new MouseEvent("click", { bubbles: true }));
  log.push(`dim=${document.querySelectorAll(".job.dim").length}`);
  log.push(`status=${document.getElementById("status").textContent}`);
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  log.push(`undim=${document.querySelectorAll(".job.dim").length}`);
  const box = sheets[1].querySelector('[data-job="1"] path').getBBox();
  log.push(`box=${box.width > 100 && box.height > 10}`);
"""


def test_the_placement_of_gpu_jobs(tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="gpu", workload={}, options={}, seeds=[0])
    for name in ("gpu/fifo+first-fit", "gpu/fifo+load-balance"):
        run = gpu_toy_run(name)
        writer.add(run.scheduler, 0, gpu_metrics(run))
        writer.add_run(run)
    seen = seen_by(render_page(read_records(tmp_path / "r")), GPU, tmp_path)
    assert {seen["start"], seen["tab"]} == {"gpu/fifo+first-fit", "gpu/fifo+load-balance"}
    assert seen["dim"] == "8" and seen["undim"] == "0", "the four other jobs of both schedulers"
    assert seen["status"].startswith("job 3 (d), net, 0.5 GPUs; arrived at 20 s; waited")
    assert seen["box"] == "true" and seen["errors"] == ""


STREAM = """
  const sheets = [...document.querySelectorAll(".sheet")];
  const shown = () => sheets.filter((sheet) => !sheet.hidden).map((sheet) => sheet.dataset.label).join(",");
  log.push(`start=${shown()}`);
  document.querySelectorAll("#tabs button")[1].click();
  log.push(`tab=${shown()}`);
  sheets[0].querySelector('[data-job="1"] .hit').dispatchEvent(new MouseEvent("click", { bubbles: true }));
  log.push(`dim=${document.querySelectorAll(".job.dim").length}`);
  document.querySelectorAll("#tabs button")[0].click();
  log.push(`status=${document.getElementById("status").textContent}`);
  const svg = document.getElementById("latency"), frame = svg.getBoundingClientRect();
  const left = { clientX: frame.left + 0.2 * frame.width, clientY: frame.top + 50 };
  svg.dispatchEvent(new PointerEvent("pointermove", left));
  log.push(`read=${svg.parentElement.querySelector(".tip").innerText.replaceAll("\\n", " | ")}`);
  document.querySelectorAll(".key").forEach((key) => key.click());
  log.push(`off=${document.querySelectorAll("#latency .curve:not(.off)").length}`);
  log.push(`dash=${getComputedStyle(document.querySelector("#latency .s-1")).strokeDasharray}`);
"""


def test_the_instances_of_streaming_jobs(tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="stream", workload={}, options={}, seeds=[0])
    for name, script in (("stream/ds2", SCRIPT), ("stream/fixed", {})):
        run = stream_toy_run(script, name)
        writer.add(run.scheduler, 0, stream_metrics(run))
        writer.add_run(run)
    seen = seen_by(render_page(read_records(tmp_path / "r")), STREAM, tmp_path)
    assert (seen["start"], seen["tab"]) == ("stream/ds2", "stream/fixed")
    assert seen["dim"] == "6", "the three other operators of both schedulers"
    assert (
        seen["status"].startswith("operator 1 (<map> of a): 1.83 instances on average") or "&lt;map" in seen["status"]
    )
    assert "SLO" in seen["read"] and "stream/fixed" in seen["read"]
    assert seen["off"] == "1" and seen["dash"].startswith("5"), "the SLO is nobody's, so nobody switches it off"
    assert seen["errors"] == ""
