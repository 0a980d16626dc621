"""Workloads replayed on real processes: every task once, after its parents, with a record like a simulation's."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dovetail.cli import main
from dovetail.core.seeds import SeedTree
from dovetail.execution.replay import Replay
from dovetail.execution.replay_run import Replayed, run_replay
from dovetail.records import read_records
from dovetail.records.dag import DagRun
from dovetail.sim.dag import DagOptions
from dovetail.sim.dag.world import duration_key
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import open_source

OPTIONS = DagOptions(executors=4)


def played(scheduler: str, arrivals: Arrivals, jobs: int = 4) -> tuple[DagWorkload, Replayed]:
    workload = open_source("fork-joins").sequence(jobs, arrivals, SeedTree(1))
    replay = Replay(workload, duration_key(OPTIONS, SeedTree(1)), OPTIONS, time_scale=0.002)
    return workload, run_replay(replay, scheduler, seed=1, nodes=2)


def assert_complete(workload: DagWorkload, run: DagRun) -> None:
    dag = workload.job_dag
    catalogue = workload.catalogue
    done = Counter(zip(run.tasks.job.tolist(), run.tasks.stage.tolist(), strict=True))
    for job in range(workload.num_jobs):
        rows = range(catalogue.stage_ptr[dag[job]], catalogue.stage_ptr[dag[job] + 1])
        assert [done[job, at] for at in range(len(rows))] == [int(catalogue.num_tasks[row]) for row in rows]
    assert not run.tasks.lost.any()
    for job, parent, child in zip(run.edges.job, run.edges.parent, run.edges.child, strict=True):
        of_job = run.tasks.job == job
        last = run.tasks.end_s[of_job & (run.tasks.stage == parent)].max()
        assert run.tasks.start_s[of_job & (run.tasks.stage == child)].min() >= last
    for executor in range(run.executors):
        own = run.tasks.executor == executor
        order = np.argsort(run.tasks.start_s[own])
        assert (run.tasks.end_s[own][order][:-1] <= run.tasks.start_s[own][order][1:] + 1e-9).all()


@pytest.mark.parametrize("scheduler", ["dag/fair-spill", "dag/decima"])
def test_every_task_runs_once_after_its_parents(scheduler: str) -> None:
    workload, found = played(scheduler, Arrivals("batch"))
    assert [job.state for job in found.jobs] == ["succeeded"] * 4
    assert not found.notices
    assert_complete(workload, found.run)
    assert found.run.decisions.given.sum() >= 4
    assert found.decisions <= len(found.run.decisions)


def test_jobs_arrive_when_the_workload_says() -> None:
    workload, found = played("dag/fifo", Arrivals("poisson", interval_s=200.0), jobs=3)
    assert_complete(workload, found.run)
    since_s = workload.arrival_s - workload.arrival_s[0]
    late_s = 50.0  # a tenth of a second, by which the first may have been late itself on a busy machine
    assert since_s[-1] > 2 * late_s and (found.run.jobs.arrival_s >= since_s - late_s).all()


def test_the_command_prints_both_worlds_and_keeps_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "record"
    words = ["run", "fork-joins", "--jobs", "3", "--executors", "3", "--scheduler", "dag/fair", "--time-scale", "0.002"]
    assert main([*words, "--json", "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["jobs_completed"] == 3
    assert found["tasks_completed"] == len(read_records(out).run("dag-fair-s0").tasks)
    # The engine only adds to what tasks take, and nobody promises how much on a busy machine.
    assert found["avg_jct_s"] > 0.9 * found["simulated_avg_jct_s"] > 0.0
    assert found["overheads"]["free to start"]["count"] > 0
    again = shlex.split(str(json.loads((out / "manifest.json").read_text())["command"]))
    assert again[:3] == ["dovetail", "run", "fork-joins"]
    assert main([*again[1:], "--out", str(out)]) == 0  # the command recorded makes the same record
    assert main(["report", str(out)]) == 0
    assert main(["explain", str(out), "--job", "1"]) == 0
    assert main([*words, "--out", str(out)]) == 0  # the same command may write there again
