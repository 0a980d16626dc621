"""The page and the figures of the elastic family."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.elastic_toys import Eager, EagerParams, Promising, Refuses, toy_run
from tests.evaluation.report.test_page import Page

from dovetail.evaluation.metrics_elastic import run_metrics
from dovetail.evaluation.report import allocation_elastic, render_page, write_figures
from dovetail.evaluation.report.charts_elastic import dominant_use, utility_gained, workers_standing
from dovetail.records import RecordWriter, read_records


@pytest.fixture
def records(tmp_path: Path) -> Path:
    writer = RecordWriter.open(
        tmp_path / "r",
        family="elastic",
        workload={"name": "toy", "slots": 6},
        options={"worker_hosts": 1},
        seeds=[0, 1],
    )
    eager, slow = Eager(), Eager(EagerParams(1))
    for name, scheduler in (("eager", eager), ("slow", slow), ("promising", Promising()), ("refuses", Refuses())):
        for seed in (0, 1):
            run = toy_run(scheduler, f"elastic/{name}", seed)
            writer.add(run.scheduler, seed, run_metrics(run))
            if seed == 0:
                writer.add_run(run)
    return tmp_path / "r"


def test_page(records: Path) -> None:
    text = render_page(read_records(records))
    page = Page(text)
    assert page.open == [] and text == render_page(read_records(records))
    head, first, *_, last = page.cells
    assert head[:3] == ["scheduler", "total utility", "vs best heuristic"] and "promises kept" not in head
    assert first[0].startswith("elastic/promising") and "best heuristic" in first
    assert last[0].startswith("elastic/refuses") and last[head.index("average JCT,\N{NO-BREAK SPACE}s")] == "–"
    assert "<b>elastic/promising</b> gains most: a total utility of 19.6 on average" in text
    assert 'aria-sort="descending"' in text and "diff worse" in text and "diff better" not in text
    data = json.loads(page.scripts[0])
    assert set(data["charts"]) == {"utility", "cdf", "use", "workers"}


def test_allocation(records: Path) -> None:
    text = render_page(read_records(records))
    sheets = re.findall(r'<div class="sheet".*?</svg></div>', text, flags=re.S)
    assert len(sheets) == 4
    eager = next(sheet for sheet in sheets if 'data-label="elastic/eager"' in sheet)
    assert "job 0 (a), slots 0 to 1: 2 workers, 1 parameter server; completed in slot 1, utility 5" in eager
    assert (
        "job 2 (&lt;c&gt;), slots 4 to 5: 2 workers, 1 parameter server; did not complete" in eager
        and "<c>" not in text
    )
    refuses = next(sheet for sheet in sheets if 'data-label="elastic/refuses"' in sheet)
    assert refuses.count('class="rejected"') == 3 and "rejected in slot 1" in refuses


def test_what_is_too_large_is_cut_and_said(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation_elastic, "MAX_ROWS", 2)
    monkeypatch.setattr(allocation_elastic, "MAX_BARS", 1)
    text = render_page(read_records(records))
    assert "the first 2 of 3 jobs are drawn; 1 bars of later jobs are left out" in text
    assert 'data-job="2"' not in text


def test_without_runs(tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="elastic", workload={}, options={}, seeds=[0])
    writer.add("elastic/eager", 0, run_metrics(toy_run()))
    text = render_page(read_records(tmp_path / "r"))
    assert "a workload of elastic jobs" in text and 'class="runs empty"' in text
    assert "<b>elastic/eager</b> gains a total utility of 15.0 on average." in text


def test_curves() -> None:
    run = toy_run()
    gained = utility_gained(run)
    assert gained.x.tolist() == [0.0, 1.0, 3.0, 6.0] and gained.y.tolist() == [0.0, 5.0, 15.0, 15.0]
    workers = workers_standing(run)
    assert workers.x.tolist() == [0.0, 6.0] and workers.y.tolist() == [2.0, 2.0]
    assert dominant_use(toy_run(Promising())).y.tolist() == [0.5, 1.0, 0.5, 0.0, 0.0]


def test_figures(records: Path, tmp_path: Path) -> None:
    paths = write_figures(read_records(records), tmp_path / "png")
    assert [path.stem for path in paths][:5] == ["table", "utility", "cdf", "use", "workers"]
    assert paths[-1].stem.startswith("allocation-elastic-") and len(paths) == 5 + 4
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
