"""Replays: durations as the simulator draws them, jobs as the workload has them, and the summary of both."""

from __future__ import annotations

import pickle
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.test_dag_reference_invariants import workloads

from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.execution.overheads import Overheads
from dovetail.execution.payload import Payload
from dovetail.execution.replay import Replay
from dovetail.execution.replay_durations import ReplayDurations
from dovetail.execution.replay_summary import ReplaySummary
from dovetail.execution.spec import JobSpec
from dovetail.execution.status import JobStatus, StageStatus
from dovetail.execution.synthetic import KINDS, Synthetic
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import Compat, DagOptions, DagWorld, run
from dovetail.sim.dag.world import duration_key
from dovetail.testing.dag_reference_chance import Chance
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source


@settings(max_examples=40)
@given(
    workloads(),
    st.integers(0, 2**64 - 1),
    st.booleans(),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 2**32),
)
def test_durations_are_those_of_the_reference_bit_for_bit(workload, key, inverted, straggling, seed):
    options = DagOptions(
        executors=200,
        warm_up_s=0.7,
        straggler_probability=straggling,
        straggler_factor=2.5,
        compat=Compat(inverted_levels=inverted),
    )
    chance = Chance(workload.catalogue, options, key, 0)
    durations = ReplayDurations(workload, key, options)
    rng = np.random.default_rng(seed)
    number = 0
    for job, dag in enumerate(workload.job_dag.tolist()):
        first, end = workload.catalogue.stage_ptr[dag : dag + 2].tolist()
        for row in range(first, end):
            for _ in range(5):
                starts, wave, executors = (int(rng.integers(top)) for top in (10_000, 3, 200))
                stage = SimpleNamespace(number=number, row=row, starts=starts)
                expected_s = chance.duration_s(stage, wave, executors)
                assert durations.duration_s(job, row - first, starts, wave, executors) == expected_s
            number += 1


def small_replay(**changed) -> Replay:
    workload = open_source("layered:dags=4").sequence(3, Arrivals("poisson", 5.0), SeedTree(3))
    options = DagOptions(executors=1)
    return Replay(
        **{"workload": workload, "duration_key": duration_key(options, SeedTree(3)), "options": options, **changed}
    )


def test_durations_are_those_of_the_simulator_bit_for_bit():
    """With one executor, how many are at home is known: so the recorded waves are all that is needed."""
    replay = small_replay()
    world = DagWorld(replay.workload, replay.options, SeedTree(3), record=True)
    result = run(world, SCHEDULERS.create("dag/fifo"), np.random.default_rng(0))
    starts: dict[tuple[int, int], int] = {}
    for task in result.tasks[np.argsort(result.tasks["start_s"], kind="stable")]:
        place = (int(task["job"]), int(task["stage"]))
        lasts_s = replay.durations.duration_s(*place, starts.get(place, 0), int(task["wave"]), 1)
        starts[place] = starts.get(place, 0) + 1
        assert task["start_s"] + lasts_s == task["end_s"]
    assert len(result.tasks) == replay.workload.catalogue.dag_tasks[replay.workload.job_dag].sum()


def test_jobs_have_the_stages_of_the_workload():
    replay = small_replay(time_scale=0.01, kind="busy")
    assert replay.submit_s == [arrival_s * 0.01 for arrival_s in replay.workload.arrival_s]
    catalogue = replay.workload.catalogue
    for job, dag in enumerate(replay.workload.job_dag.tolist()):
        spec = replay.spec(job)
        assert JobSpec.from_json(spec.to_json()) == spec
        assert len(spec.stages) == catalogue.dag_stages[dag] and spec.num_tasks == catalogue.dag_tasks[dag]
        edges = slice(*catalogue.edge_ptr[dag : dag + 2])
        pairs = set(zip(catalogue.edge_parent[edges].tolist(), catalogue.edge_child[edges].tolist(), strict=True))
        assert {(parent, at) for at, stage in enumerate(spec.stages) for parent in stage.after} == pairs
        row = int(catalogue.stage_ptr[dag])
        assert spec.stages[0].expected_s == catalogue.stage_mean_s[row]
        payload = Payload.from_bytes(replay.payload(job))
        assert [payload.tasks(at) for at in range(payload.stages)] == [stage.tasks for stage in spec.stages]
        assert pickle.loads(payload.function(0)).kind == "busy"


def test_deadlines_count_from_arrival():
    replay = small_replay()
    workload = replay.workload
    object.__setattr__(workload, "deadline_s", np.array([workload.arrival_s[0] + 50.0, np.inf, 0.0]))
    assert replay.spec(0).deadline_s == pytest.approx(50.0)
    assert replay.spec(1).deadline_s is None
    assert replay.spec(2).deadline_s > 0  # missed before it could begin


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"time_scale": 0.0}, "time scale 0.0; expected"),
        ({"time_scale": float("nan")}, "time scale nan"),
        ({"options": DagOptions(mean_time_to_failure_s=1e6)}, "leave the failures out"),
        ({"options": DagOptions(compat=Compat(pool_forgets=True))}, "leave `compat` out"),
    ],
)
def test_what_cannot_be_replayed(changed, message):
    with pytest.raises(ConfigError, match=message):
        small_replay(**changed)


@pytest.mark.parametrize("kind", KINDS)
def test_synthetic_tasks_last_as_long_as_they_are_told(kind):
    task = pickle.loads(pickle.dumps(Synthetic(kind, memory_bytes=10_000)))
    clock = time.thread_time if kind == "busy" else time.monotonic
    start_s = clock()
    task(0.02)
    assert clock() - start_s >= 0.02
    with pytest.raises(UnknownName, match="unknown kind of synthetic task 'slep'; did you mean 'sleep'"):
        Synthetic("slep")


def test_overheads():
    overheads = Overheads()
    assert overheads.status() == ()
    for spent_us in range(1, 101):
        overheads.add("decide", spent_us / 1e6)
    (decide,) = overheads.status()
    assert (decide.name, decide.count) == ("decide", 100)
    assert decide.p50_us == pytest.approx(50.5) and decide.p95_us == pytest.approx(95.05)


def ended(job: int, state: str, took_s: float, finished: int) -> JobStatus:
    return JobStatus(job, "j", state, 100.0, 100.0 + took_s, (StageStatus("s", 9, finished),))


def test_the_summary_compares_completed_jobs_on_both_sides():
    jobs = [ended(0, "succeeded", 0.5, 9), ended(1, "failed", 0.1, 4), ended(2, "succeeded", 1.5, 9)]
    overheads = Overheads()
    overheads.add("decide", 1e-4)
    found = ReplaySummary(jobs, 0.01, np.array([40.0, 7.0, 140.0]), overheads.status()).to_json()
    assert found["jobs_completed"] == 2 and found["jobs_failed"] == 1 and found["tasks_completed"] == 22
    assert found["avg_jct_s"] == pytest.approx(100.0) and found["simulated_avg_jct_s"] == 90.0
    assert found["ratio"] == pytest.approx(100 / 90)
    assert found["overheads"] == {"decide": {"count": 1, "p50_us": 100.0, "p95_us": 100.0}}
    nothing = ReplaySummary([ended(0, "failed", 1.0, 0)], 0.01, np.array([1.0])).to_json()
    assert nothing["avg_jct_s"] is nothing["ratio"] is None
