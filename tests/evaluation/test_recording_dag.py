"""A simulated run becomes a record that says the same, reads back, and can be explained job by job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.evaluation.job_story_dag import JobStory
from dovetail.evaluation.metrics_dag import run_metrics
from dovetail.evaluation.recording_dag import record_dag_run
from dovetail.records import DagRun, read_run, write_run
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag.options import DagOptions
from dovetail.sim.dag.result import DagResult
from dovetail.sim.dag.run import run as simulate
from dovetail.sim.dag.world import DagWorld
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source


@pytest.fixture(scope="module")
def result() -> DagResult:
    seeds = SeedTree(3)
    workload = open_source("fork-joins").sequence(6, Arrivals("batch"), seeds.child("workload"))
    options = DagOptions(executors=10, mean_time_to_failure_s=200.0)
    world = DagWorld(workload, options, seeds, record=True)
    return simulate(world, SCHEDULERS.create("dag/fair"), seeds.child("actions").generator())


@pytest.fixture(scope="module")
def run(result: DagResult) -> DagRun:
    return record_dag_run(result, "dag/fair", 3)


def test_says_the_same(result: DagResult, run: DagRun) -> None:
    assert (run.run, run.executors, run.params) == ("dag-fair-s3", 10, {})
    assert run_metrics(run)["avg_jct_s"] == pytest.approx(result.avg_jct_s)
    assert len(run.decisions) == result.decisions
    assert np.all(np.diff(run.tasks.start_s) >= 0)
    done = np.zeros(len(run.stages), dtype=np.int64)
    first = np.searchsorted(run.stages.job, np.arange(len(run.jobs)))
    kept = ~run.tasks.lost
    np.add.at(done, first[run.tasks.job[kept]] + run.tasks.stage[kept], 1)
    assert np.array_equal(done, run.stages.tasks), "every task once, but for lost ones"


def test_reads_back(run: DagRun, tmp_path: Path) -> None:
    write_run(tmp_path / "run", run)  # reading checks all ranges
    assert np.array_equal(read_run(tmp_path / "run").tasks.end_s, run.tasks.end_s)


def test_stages_wait_for_their_parents(run: DagRun) -> None:
    for job in range(len(run.jobs)):
        story = JobStory(run, job)
        assert all(stage.first_start_s >= stage.ready_s for stage in story.stages)
        assert max(stage.complete_s for stage in story.stages) == story.finish_s
        jct_s = run.jobs.finish_s[job] - run.jobs.arrival_s[job]
        assert sum(story.shares_s.values()) == pytest.approx(jct_s)


def test_parameters_get_another_folder(result: DagResult) -> None:
    assert record_dag_run(result, "dag/fair", 3, {"x": 1}).run != "dag-fair-s3"
