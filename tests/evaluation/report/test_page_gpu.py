"""The page and the figures of the gpu family."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.report.test_page import Page
from tests.gpu_toys import TROUBLES, toy_run

from dovetail.evaluation.metrics_gpu import run_metrics
from dovetail.evaluation.report import placement_gpu, render_page, write_figures
from dovetail.evaluation.report.charts_gpu import fee_paid, gpus_busy, jobs_running, jobs_waiting, relative_speed
from dovetail.records import RecordWriter, read_records

NAMES = ("gpu/fifo+first-fit", "gpu/fifo+load-balance", "gpu/srtf+pack")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    options = {"cluster": {"machines": 2, "listed": [{"type": "V100", "gpus": 2}, {"type": "T4", "gpus": 2}]}}
    writer = RecordWriter.open(
        tmp_path / "r", family="gpu", workload={"name": "toy"}, options={**options, **TROUBLES}, seeds=[0, 1]
    )
    for name in NAMES:
        for seed in (0, 1):
            run = toy_run(name, seed, **(TROUBLES if name == NAMES[2] else {}))
            writer.add(run.scheduler, seed, run_metrics(run))
            if seed == 0:
                writer.add_run(run)
    return tmp_path / "r"


def test_the_page(records: Path) -> None:
    text = render_page(read_records(records))
    page = Page(text)
    assert page.open == [] and text == render_page(read_records(records))
    assert "stops" in page.cells[0] and page.cells[0][0] == "scheduler"
    assert "3 schedulers on <em>toy</em>" in text and "completes jobs soonest: in" in text
    for title in ("How long jobs take", "Jobs waiting", "Jobs running", "GPUs in use", "Speed of running jobs", "Fees"):
        assert title in text
    assert "average fee,\N{NO-BREAK SPACE}USD" in text and "1 of V100 × 2, 1 of T4 × 2" in text
    assert "quantum" not in text and "mean time to failure" in text  # what has no effect is not shown
    data = json.loads(page.scripts[0])
    assert set(data["charts"]) == {"cdf", "waiting", "running", "busy", "speed", "fee"}
    assert all(len(chart["curves"]) == 3 for chart in data["charts"].values())
    assert "&lt;c&gt;" in text and "(<c>)" not in text


def test_the_picture(records: Path) -> None:
    text = render_page(read_records(records))
    sheets = dict(re.findall(r'<div class="sheet" data-label="([^"]*)"(.*?)</div>', text, re.DOTALL))
    assert set(sheets) == set(NAMES)
    first = sheets[NAMES[0]]
    assert len(re.findall(r'<g class="job"', first)) == 5
    assert (
        "job 3 (d), net, 0.5 GPUs; arrived at 20 s; waited 80 s; ran 62 s at 80 % of its speed alone; completed at "
        "162 s; 0.03 USD" in first
    )
    assert "job 1 (b), net, 2 × 1 GPU; arrived at 0 s; waited 0 s; " in first and "m0 · V100" in first
    own = re.search(r'data-job="0".*?</g>', first, re.DOTALL)[0]
    assert own.count("M") == 2  # two devices, one path
    assert 'fill-opacity="1.00"' in own and 'fill-opacity="0.74"' in first  # 0.35 + 0.65 * 0.6
    assert 'class="down"' not in first and 'class="down"' in sheets[NAMES[2]] and "m0 was down" in sheets[NAMES[2]]
    assert "lost a machine" in sheets[NAMES[2]] and "stopped" in sheets[NAMES[2]]


def test_what_is_too_large_is_cut_and_said(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_gpu, "MAX_LANES", 4)
    monkeypatch.setattr(placement_gpu, "MAX_BARS", 3)
    text = render_page(read_records(records))
    assert "the first 1 of 2 machines are drawn; " in text and "bars that begin later are left out" in text
    assert "m1 · T4" not in text


def test_without_runs(tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="gpu", workload={}, options={}, seeds=[0])
    writer.add("gpu/fifo+first-fit", 0, run_metrics(toy_run()))
    text = render_page(read_records(tmp_path / "r"))
    assert "a workload of gpu jobs" in text and 'class="runs empty"' in text
    assert "<b>gpu/fifo+first-fit</b> completes a job in 127.0 s on average." in text


def test_curves() -> None:
    run = toy_run()
    running = jobs_running(run)
    assert running.x.tolist() == [0, 30, 70, 100, 162.5, 200] and running.y.tolist() == [2, 3, 2, 3, 1, 0]
    waiting = jobs_waiting(run)
    assert dict(zip(waiting.x, waiting.y, strict=True)) == {0: 0, 10: 1, 20: 2, 30: 2, 70: 2, 100: 0, 162.5: 0, 200: 0}
    busy = gpus_busy(run)
    assert dict(zip(busy.x, busy.y, strict=True)) == {0: 1, 30: 1, 70: 1, 100: 0.75, 162.5: 0.5, 200: 0}
    speed = relative_speed(run)
    assert speed.x.tolist() == [0, 30, 70, 100, 162.5] and speed.y.tolist() == pytest.approx([1, 1, 1, 2.6 / 3, 1])
    paid = fee_paid(run)
    assert paid.y[-1] == pytest.approx(run.jobs.fee.sum()) and (np.diff(paid.y) >= 0).all() and paid.y[0] == 0


@pytest.mark.parametrize("options", [{}, TROUBLES])
def test_fees_add_up(options: dict[str, float]) -> None:
    run = toy_run(**options)
    assert fee_paid(run).y[-1] == pytest.approx(run.jobs.fee.sum())
    assert jobs_running(run).y[-1] == jobs_waiting(run).y[-1] == 0


def test_figures(records: Path, tmp_path: Path) -> None:
    paths = write_figures(read_records(records), tmp_path / "png")
    assert [path.stem for path in paths][:7] == ["table", "cdf", "waiting", "running", "busy", "speed", "fee"]
    assert paths[-1].stem.startswith("placement-gpu-") and len(paths) == 7 + 3
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
