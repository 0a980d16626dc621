"""The experiment with tiny instances: what it draws, that it goes on where it stopped, and what it reports."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from experiments.tiny_optimum import Instance, Optima, compare, main, summarise, tiny_jobs

from dovetail import SeedTree
from dovetail.core.errors import DovetailError
from dovetail.testing.dag_optimum import Optimum, find_optimum
from experiments import tiny_optimum

SPECS = ["dag/fifo", "dag/fair", "dag/oracle-search"]


@pytest.mark.parametrize("workload", tiny_optimum.WORKLOADS)
def test_jobs_are_small_and_without_luck(workload):
    jobs = tiny_jobs(workload)
    assert jobs.num_dags >= 10
    assert set(jobs.dag_stages.tolist()) == {2, 3, 4}
    assert jobs.num_tasks.max() <= 3
    assert len(jobs.duration_s) == 3 * jobs.num_stages  # one for each wave
    assert np.array_equal(jobs.duration_s % tiny_optimum.TICK_S, np.zeros(len(jobs.duration_s)))


def test_instances_differ_in_size_and_kind():
    first = [Instance.numbered(number) for number in range(12)]
    assert len({(one.workload, one.jobs, one.executors) for one in first}) == 12


@pytest.mark.parametrize("number", [24, 36, 60])  # the smallest of the first hundred
def test_nothing_is_lost_by_cutting_off(number):
    instance = Instance.numbered(number)
    asked = instance.draw(), instance.options, SeedTree(number)
    cut, whole = find_optimum(*asked), find_optimum(*asked, prune=False)
    assert cut.avg_jct_s == whole.avg_jct_s
    assert whole.states > 10 * cut.states


def test_solved_instances_are_not_solved_again_and_unsolved_ones_are(tmp_path, monkeypatch):
    (found,) = compare(1, SPECS, Optima(tmp_path), 20.0)
    assert found["proven"]
    asked = []
    monkeypatch.setattr(tiny_optimum, "find_optimum", lambda *_, **__: asked.append(1) or Optimum(9.0, False, (), 5))
    assert list(compare(1, SPECS, Optima(tmp_path), 20.0)) == [found]
    assert not asked
    for _ in range(2):
        *_, second = compare(2, SPECS, Optima(tmp_path), 20.0)
        assert not second["proven"]
    assert len(asked) == 2
    assert [row["scheduler"] for row in summarise([found, second])] == [row["scheduler"] for row in summarise([found])]


def test_a_scheduler_better_than_the_optimum_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(tiny_optimum, "find_optimum", lambda *_, **__: Optimum(1000.0, True, (), 1))
    with pytest.raises(DovetailError, match="dag/fifo beats the optimum"):
        list(compare(1, SPECS, Optima(tmp_path), 20.0))


def test_it_reports_and_records(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tiny_optimum, "RESULTS", tmp_path / "results" / "tiny_optimum.md")
    options = ["--instances", "3", "--out", str(tmp_path), "--schedulers", *SPECS]
    monkeypatch.setattr(sys, "argv", ["tiny_optimum.py", *options, "--json"])
    assert main() == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["instances"]) == 3
    assert report["unsolved"] == 0
    for row in report["schedulers"]:
        assert 1 <= row["low"] <= row["mean"] <= row["high"] <= row["worst"]
    monkeypatch.setattr(sys, "argv", ["tiny_optimum.py", *options, "--write"])
    assert main() == 0
    printed = capsys.readouterr().out.splitlines()
    written = (tmp_path / "results" / "tiny_optimum.md").read_text()
    assert all(line in written for line in printed if line.startswith("|"))
    assert "3 instances, 0 of them not solved" in written
