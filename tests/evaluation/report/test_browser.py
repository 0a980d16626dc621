"""The page's script in a real browser: the chart is drawn, zooms, moves, and tells what is under the pointer."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dovetail.evaluation.report import render_page
from dovetail.records import read_records

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="install chromium to test the report's script in a browser"
)

STEPS = """
<script>
const log = [];
const errors = [];
addEventListener("error", (event) => errors.push(event.message));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
const settle = () => new Promise((done) => setTimeout(done, 60));
const range = () => document.getElementById("gantt").dataset.view;
async function steps() {
  const c = document.getElementById("gantt");
  for (let wait = 0; wait < 50 && !c.dataset.view; wait++) await settle();
  const box = c.getBoundingClientRect();
  const at = (type, x, y, more) => c.dispatchEvent(new PointerEvent(type, {
    clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true, pointerId: 1, ...more }));
  const note = async (name) => { await settle(); log.push(`${name}=${range()}`); };
  await note("start");
  c.dispatchEvent(new WheelEvent("wheel", { deltaY: -600, clientX: box.left + 46, clientY: box.top + 90, cancelable: true }));
  await note("wheel");
  at("pointerdown", 400, 90); at("pointermove", 300, 90); at("pointerup", 300, 90);
  await note("drag");
  document.querySelector("[data-do=fit]").click();
  await note("fit");
  c.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
  await note("plus");
  c.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
  await note("zero");
  const tip = document.getElementById("tip");
  let seen = "";
  for (let x = 50; x < box.width && !/back to back/.test(seen); x += 3) { at("pointermove", x, 60); seen = tip.innerText; }
  log.push(`tip=${seen.replaceAll("\\n", " | ")}`);
  document.querySelectorAll("#tabs button")[2].click();
  await settle(); await settle();
  log.push(`tab=${c.dataset.run}`);
  document.querySelectorAll("#table th button")[0].click();
  log.push(`sorted=${[...document.querySelectorAll("#table tbody .name")].map((cell) => cell.textContent).join(",")}`);
  document.querySelector(".key").click();
  log.push(`off=${document.querySelectorAll(".curve.off").length}`);
  document.getElementById("theme").click();
  log.push(`theme=${document.documentElement.dataset.theme}`);
  const svg = document.getElementById("cdf"), frame = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: frame.left + frame.width / 2, clientY: frame.top + 50 }));
  log.push(`read=${svg.parentElement.querySelector(".tip").innerText.replaceAll("\\n", " | ")}`);
  log.push(`errors=${errors.join(";")}`);
  document.title = log.join("\\n");
}
steps().catch((error) => { document.title = `failed: ${error}`; });
</script>
"""


def test_the_script_works(shared_records: Path, tmp_path: Path) -> None:
    assert BROWSER is not None
    page = tmp_path / "report.html"
    page.write_text(
        render_page(read_records(shared_records)).replace("</body>", f"{STEPS}</body>"), encoding="utf-8"
    )
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    flags += "--disable-component-update --disable-sync --disable-dev-shm-usage --virtual-time-budget=20000 --dump-dom"
    command = [BROWSER, *flags.split(), "--window-size=1300,1600", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    seen = dict(line.split("=", 1) for line in title[1].splitlines())
    start, wheel, drag = ([float(part) for part in seen[key].split()] for key in ("start", "wheel", "drag"))
    assert start[0] == 0 and start[3] == 12, "all executors are shown"
    assert wheel[0] == pytest.approx(0, abs=0.01) and wheel[1] < start[1] / 2, "zoomed at the left edge"
    assert drag[0] > 0 and drag[1] - drag[0] == pytest.approx(wheel[1] - wheel[0], rel=0.01), (
        "moved, same zoom"
    )
    assert seen["fit"] == seen["zero"] == seen["start"]
    assert float(seen["plus"].split()[1]) < start[1]
    assert re.match(
        r"job \d+ \(j\d+\).* \| stage \d .* back to back on executor \d+ \| [\d.]+ s → [\d.]+ s", seen["tip"]
    )
    assert seen["tab"].startswith("dag/")
    assert seen["sorted"] == "dag/fair,dag/fifo,dag/random,dag/sjf-cp,dag/srtf"
    assert seen["off"] == "2"
    assert seen["theme"] == "dark"
    assert seen["read"].startswith("within ") and seen["read"].count("%") == 4
    assert seen["errors"] == ""
