"""The page and the figures of the stream family."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.report.test_page import Page
from tests.stream_toys import SCRIPT, toy_run

from dovetail.evaluation.metrics_stream import run_metrics
from dovetail.evaluation.report import instances_stream, render_page, write_figures
from dovetail.evaluation.report.charts_stream import delays, lateness, rescaled, standing
from dovetail.evaluation.report.palette import REFERENCE, series
from dovetail.records import RecordWriter, read_records

SCRIPTS = {"stream/ds2": SCRIPT, "stream/fixed": {}, "stream/hpa": {180.0: {1: 4}}}


@pytest.fixture
def records(tmp_path: Path) -> Path:
    writer = RecordWriter.open(
        tmp_path / "r", family="stream", workload={"name": "toy"}, options={"interval_s": 60.0}, seeds=[0, 1]
    )
    for name, script in SCRIPTS.items():
        for seed in (0, 1):
            run = toy_run(script, name, seed)
            writer.add(run.scheduler, seed, run_metrics(run))
            if seed == 0:
                writer.add_run(run)
    return tmp_path / "r"


def test_the_page(records: Path) -> None:
    text = render_page(read_records(records))
    page = Page(text)
    assert page.open == [] and text == render_page(read_records(records))
    assert page.cells[0][:2] == ["scheduler", "reward"] and "rescales" in page.cells[0]
    assert "3 schedulers on <em>toy</em>" in text and "gains most: a reward of" in text
    for title in ("Records delivered", "Instances", "Latency", "Rescales", "Instances busy", "How long records take"):
        assert title in text
    data = json.loads(page.scripts[0])
    assert list(data["charts"]) == ["rate", "instances", "latency", "rescales", "use", "delays"]
    assert [len(chart["curves"]) for chart in data["charts"].values()] == [4, 3, 4, 3, 3, 3]
    assert data["charts"]["latency"]["curves"][-1] | {"x": []} == {"place": -1, "label": "SLO", "x": [], "y": [1, 1]}
    assert "&lt;map&gt;" in text and "<map>" not in text


def test_differences_are_in_units_of_the_reward(records: Path) -> None:
    """Rewards lie on both sides of 0, so percent would mean nothing."""
    text = render_page(read_records(records))
    assert re.search(r"Next is <b>stream/\w+</b>, -\d\.\d{3}", text)
    assert "%" not in re.search(r'<p class="verdict">(.*?)</p>', text)[1]


def test_the_picture(records: Path) -> None:
    text = render_page(read_records(records))
    sheets = dict(re.findall(r'<div class="sheet" data-label="([^"]*)"(.*?)</div>', text, re.DOTALL))
    assert set(sheets) == set(SCRIPTS)
    first = sheets["stream/ds2"]
    assert len(re.findall(r'<g class="job"', first)) == 4
    assert "operator 1 (&lt;map&gt; of a): 1.83 instances on average, 1 to 3; 68% busy; changed 2 times" in first
    assert "&lt;map&gt;, 0.0666667 to 0.1 h: 3 instances, 50% busy" in first
    assert first.count('class="late"') == 1 and first.count('class="rescale"') == 1  # of job a alone
    assert re.search(r'class="rescale" d="([^"]*)"', first)[1].count("M") == 2
    assert 'class="rescale"' not in sheets["stream/fixed"] and 'class="late"' not in sheets["stream/hpa"]


def test_what_is_too_large_is_cut_and_said(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances_stream, "MAX_ROWS", 3)
    monkeypatch.setattr(instances_stream, "MAX_COLUMNS", 2)
    text = render_page(read_records(records))
    assert "the first 3 of 4 operators are drawn" in text and ">only</text>" not in text


def test_intervals_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances_stream, "MAX_COLUMNS", 4)
    columns = instances_stream.Columns.of(toy_run())
    assert columns.edges_s.tolist() == [60, 120, 240, 300, 420] and columns.parallelism[:, 1].tolist() == [1, 1, 3, 2.5]
    assert columns.late[:, 0].tolist() == [False, True, True, False]
    assert columns.rescaled[:, 0].tolist() == [False, False, True, True]


def test_without_runs(tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="stream", workload={}, options={}, seeds=[0])
    writer.add("stream/ds2", 0, run_metrics(toy_run()))
    text = render_page(read_records(tmp_path / "r"))
    assert "a workload of stream jobs" in text and 'class="runs empty"' in text
    assert "<b>stream/ds2</b> gains a reward of -0.553 on average." in text


def test_curves() -> None:
    run = toy_run()
    assert standing(run).tolist() == [4, 4, 4, 6, 6, 5] and rescaled(run).tolist() == [0, 0, 0, 1, 1, 2]
    assert lateness(run)[0] == pytest.approx((0.11 + 0.02) / 2)
    found = delays(run)
    assert (np.diff(found.x) >= 0).all() and (np.diff(found.y) >= 0).all() and found.y[-1] == pytest.approx(1.0)


def test_a_reference_is_no_schedulers_colour() -> None:
    assert series(REFERENCE)[0] not in {series(place)[0] for place in range(24)}


def test_figures(records: Path, tmp_path: Path) -> None:
    paths = write_figures(read_records(records), tmp_path / "png")
    assert [path.stem for path in paths][:7] == ["table", "rate", "instances", "latency", "rescales", "use", "delays"]
    assert paths[-1].stem.startswith("instances-stream-") and len(paths) == 7 + 3
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
