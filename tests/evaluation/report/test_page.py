"""The page: self-contained, safe with any name, the same every time, and true to the records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.records.synthetic import make_run

from dovetail.evaluation.metrics_dag import run_metrics
from dovetail.evaluation.report import bars as bars_module
from dovetail.evaluation.report import render_page, write_page
from dovetail.evaluation.report.charts_dag import jct_distribution, jobs_in_system
from dovetail.evaluation.report.curves import MAX_POINTS
from dovetail.evaluation.report.svg import nice_axis
from dovetail.records import RecordWriter, read_records


class Page(HTMLParser):
    """Elements, their attributes and the text of the table, and whether every element was closed."""

    VOID = frozenset({"meta", "link", "br", "img", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[list[str]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.cells[-1][-1] += data
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def text(shared_records: Path) -> str:
    return render_page(read_records(shared_records))


def data_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Page(text).scripts[0])
    return found


def test_is_one_complete_document(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert len(page.scripts) == 2
    assert "{{" not in text.split("<script")[0]
    assert [tag for tag, _ in page.attributes].count("canvas") == 1


def test_loads_nothing(text: str) -> None:
    for tag, attributes in Page(text).attributes:
        assert tag not in ("link", "img", "iframe", "object", "embed"), tag
        assert not {"src", "href", "srcset", "action"} & set(attributes), (tag, attributes)
    assert "@import" not in text and "url(" not in text
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert "fetch(" not in text and "XMLHttpRequest" not in text


def test_says_what_was_compared(text: str) -> None:
    for words in (
        "dovetail compare dag --workload toy",
        "poisson",
        "moving delay",
        "0 – 1 (2)",
        "seed 0, 8 jobs",
    ):
        assert words in text


def test_table(text: str, shared_records: Path) -> None:
    records = read_records(shared_records)
    head, *rows = Page(text).cells
    assert [cell.strip() for cell in head][:3] == [
        "scheduler",
        "average JCT,\N{NO-BREAK SPACE}s",
        "vs best heuristic",
    ]
    assert len(rows) == 5
    entry = next(entry for entry in records.summary.entries if entry.scheduler == rows[0][0])
    assert rows[0][1].startswith(f"{records.summary.values(entry, 'avg_jct_s').mean():.1f}")
    assert rows[0][2] == "best heuristic"
    assert all(re.match(r"\+\d+\.\d %\[[+-]", row[2]) for row in rows[1:])
    assert rows[0][-1].endswith("µs")


def test_charts_have_a_curve_for_each_scheduler(text: str) -> None:
    assert len(re.findall(r'<path class="curve s\d"', text)) == 10
    charts = data_of(text)["charts"]
    assert set(charts) == {"cdf", "jobs"}
    for curve in charts["cdf"]["curves"]:
        assert curve["y"][-1] == 1.0 and curve["y"] == sorted(curve["y"])
    for curve in charts["jobs"]["curves"]:
        assert curve["y"][-1] == 0.0


def test_same_records_same_page(text: str, shared_records: Path, tmp_path: Path) -> None:
    write_page(read_records(shared_records), tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def one_run(directory: Path, run: Any = None, **facts: Any) -> str:
    run = make_run(num_jobs=4, executors=5) if run is None else run
    given = {"family": "dag", "workload": {"name": "toy"}, "options": {"executors": 5}, "seeds": [0]} | facts
    writer = RecordWriter.open(directory, **given)
    writer.add_run(run)
    writer.add(run.scheduler, run.seed, run_metrics(run))
    return render_page(read_records(directory))


def test_names_cannot_break_out(tmp_path: Path) -> None:
    run = make_run(num_jobs=4, executors=5)
    evil = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'
    jobs = replace(run.jobs, name=(evil, *run.jobs.name[1:]))
    text = one_run(
        tmp_path / "a",
        replace(run, jobs=jobs, scheduler=evil, run="evil"),
        workload={"name": evil},
        command=evil,
        options={"executors": 5, evil: evil},
    )
    page = Page(text)
    assert len(page.scripts) == 2
    assert all(tag != "img" and "onerror" not in attributes for tag, attributes in page.attributes)


def test_single_scheduler_and_seed(tmp_path: Path) -> None:
    text = one_run(tmp_path / "a")
    assert "1 scheduler on <em>toy</em>" in text
    assert "nan" not in text.split("<script")[0].lower()


def test_without_full_runs(tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "a", family="dag", workload={}, options={}, seeds=[0])
    writer.add("dag/fifo", 0, run_metrics(make_run(num_jobs=3, executors=4)))
    text = render_page(read_records(tmp_path / "a"))
    assert 'class="runs empty"' in text
    assert data_of(text)["runs"] == []


def test_large_runs_are_cut_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars_module, "MAX_BARS_RUN", 20)
    run = data_of(one_run(tmp_path / "a"))["runs"][0]
    assert 0 < run["bars"] <= 20
    assert 0 < run["until_s"] < run["makespan_s"]
    assert "too large to draw in full" in render_page(read_records(tmp_path / "a"))


def test_unfinished_jobs(tmp_path: Path) -> None:
    run = make_run(num_jobs=4, executors=5)
    metrics = run_metrics(run)
    finish_s = run.jobs.finish_s.copy()
    finish_s[2] = np.inf
    run = replace(run, jobs=replace(run.jobs, finish_s=finish_s))
    writer = RecordWriter.open(tmp_path / "a", family="dag", workload={}, options={}, seeds=[0])
    writer.add_run(run)
    writer.add(run.scheduler, 0, metrics)
    charts = data_of(render_page(read_records(tmp_path / "a")))["charts"]
    assert charts["cdf"]["curves"][0]["y"][-1] == 0.75
    assert charts["jobs"]["curves"][0]["y"][-1] == 1.0


def test_curves_are_thinned() -> None:
    run = make_run(num_jobs=4, executors=5)
    many = 5000
    jobs = replace(
        run.jobs,
        name=("x",) * many,
        arrival_s=np.arange(many, dtype=np.float64),
        finish_s=np.arange(many, dtype=np.float64) + np.linspace(1, 50, many),
    )
    run = replace(run, jobs=jobs)
    cdf, count = jct_distribution(run), jobs_in_system(run)
    assert len(cdf.x) <= MAX_POINTS + 1 and cdf.y[-1] == 1.0
    assert len(count.x) <= MAX_POINTS and count.y[-1] == 0.0


@pytest.mark.parametrize(("high", "ticks"), [(10.0, [0, 2, 4, 6, 8, 10]), (0.0, [0, 1]), (347.0, [0, 100, 200, 300])])
def test_axis_ticks(high: float, ticks: list[float]) -> None:
    assert list(nice_axis(high).ticks) == ticks
