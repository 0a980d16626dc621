"""Workers with Ray, on this machine and in a cluster of two nodes: the same answers, and a run that outlives a node."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")
pytest.importorskip("ray", reason="ray is not installed: pip install 'dovetail[ray]'")

import ray
from ray.cluster_utils import Cluster

from dovetail.cli import main
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.schedulers.learned.decima.shape import DecimaShape
from dovetail.sim.dag import DagOptions
from dovetail.training.dag_run import MakeDagWorker
from dovetail.training.dag_search import SearchPlan
from dovetail.training.dag_trainer import Progress, Trainer, TrainPlan, fresh_state
from dovetail.training.dag_worker import Credit, DagWorker, Setting, Task, Update
from dovetail.training.ray_workers import RayWorkers

pytestmark = pytest.mark.xdist_group("ray")  # one cluster at a time

SHAPE = DecimaShape("wide-1", embedding=4, hidden=(8,), head=(8,))
SETTING = Setting("chains:dags=6,length=[2,3]", options=DagOptions(executors=4))
MAKE = MakeDagWorker(SETTING, SHAPE)
WEIGHTS = fresh_state(SHAPE, 0).weights
PLAN = TrainPlan(
    algorithm="ppo", iterations=2, sequences=3, copies=2, jobs=3, parts=2, teacher=None, validate_every=1, validation=3
)
STORE = {"object_store_memory": 80_000_000}


def test_the_command_line_starts_ray_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "train", "dag", "--workload", SETTING.workload, "--jobs", "3", "--executors", "4", "--algorithm", "ppo",
        "--set", "sequences=2", "--set", "validation=2", "--teacher", "none", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    assert main([*words, "--iterations", "1", "--rollouts", "ray", "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["iterations"], found["workers_lost"]) == (1, 0)
    assert not ray.is_initialized()
    assert main([*words, "--iterations", "2", "--workers", "1", "--resume"]) == 0
    assert "going on after lesson 0 and iteration 1" in capsys.readouterr().err
    assert main([*words, "--iterations", "3", "--resume", "--rollouts", "ray", "--address", "nowhere"]) == 2
    assert "expected HOST:PORT" in capsys.readouterr().err


def test_wrong_addresses() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        port = nobody_listens.getsockname()[1]
        with pytest.raises(ConfigError, match="no Ray cluster answers there"):
            RayWorkers(MAKE, 1, f"127.0.0.1:{port}")
    for address in ("here", "ray://head:10001", "head:port"):
        with pytest.raises(ConfigError, match="expected HOST:PORT"):
            RayWorkers(MAKE, 1, address)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two processors on the head, one on another node."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, **STORE})
    cluster.add_node(num_cpus=1, **STORE)
    yield cluster
    cluster.shutdown()


def test_actors_answer_as_workers_here_do(cluster: Cluster) -> None:
    tasks = [Task((seed,), 2, 3, draws=7) for seed in range(2)]
    asked: list[tuple[str, list[tuple[Any, ...]]]] = [
        ("watch", [("dag/fifo", task) for task in tasks]),
        ("gradient", [(WEIGHTS, Update("imitation"), 0, 1)] * 2),
        ("collect", [(WEIGHTS, task, Credit()) for task in tasks]),
        ("gradient", [(WEIGHTS, Update("ppo"), 0, 2)] * 2),
        ("search", [(WEIGHTS, task, SearchPlan(share=0.5, base="dag/fifo", span_s=math.inf)) for task in tasks]),
        ("gradient", [(WEIGHTS, Update("search"), 0, 1)] * 2),
        ("evaluate", [(WEIGHTS, task.seeds, task.jobs) for task in tasks]),
    ]
    here = [MAKE(0), MAKE(1)]
    with closing(RayWorkers(MAKE, 2, cluster.address)) as workers:
        for method, arguments in asked:
            expected = [getattr(one, method)(*given) for one, given in zip(here, arguments, strict=True)]
            for answer, ours in zip(workers.call(method, arguments), expected, strict=True):
                np.testing.assert_equal(as_values(answer), as_values(ours))
        with pytest.raises(DovetailError, match=r"worker 0 failed\nTraceback[\s\S]*unknown scheduler 'dag/nope'"):
            workers.call("watch", [("dag/nope", task) for task in tasks])
        assert (workers.count, workers.lost) == (2, 0)
    assert not ray.is_initialized()


def test_an_error_while_a_worker_is_made_is_told(cluster: Cluster) -> None:
    nowhere = MakeDagWorker(replace(SETTING, workload="nowhere"), SHAPE)
    with pytest.raises(DovetailError, match=r"worker 0 failed\nTraceback[\s\S]*nowhere"):
        RayWorkers(nowhere, 1, cluster.address)
    assert not ray.is_initialized()


def test_a_run_outlives_a_node(cluster: Cluster) -> None:
    state = fresh_state(SHAPE, 0)
    with closing(RayWorkers(MAKE, 3, cluster.address)) as workers:
        assert workers.count == 3
        endless = Trainer(replace(PLAN, iterations=100_000), workers, state).run()
        next(endless)
        (node,) = cluster.worker_nodes
        cluster.remove_node(node, allow_graceful=False)
        until(lambda: learned(next(endless)) and workers.lost > 0)  # it takes a moment to die
        assert workers.count == 2
        cluster.add_node(num_cpus=1, **STORE)
        until(lambda: learned(next(endless)) and workers.count == 3)
        rest = list(Trainer(replace(PLAN, iterations=state.iteration + 2), workers, state).run())
        assert len(rest) == 2 and all(map(learned, rest))


def test_a_run_outlives_all_its_workers(cluster: Cluster, tmp_path: Path) -> None:
    with closing(RayWorkers(mortal(tmp_path / "died"), 1, cluster.address)) as workers:
        seen = [one for one in Trainer(PLAN, workers, fresh_state(SHAPE, 0)).run() if one.phase == "learning"]
        assert [*map(learned, seen)] == [False, True]
        assert (workers.count, workers.lost) == (1, 1)


def test_if_no_worker_can_be_had_it_says_so(cluster: Cluster) -> None:
    with pytest.raises(DovetailError, match="no Ray worker could be had within 0 s: there was no room"):
        RayWorkers(MAKE, 1, cluster.address, patience_s=0.0)


def as_values(answer: Any) -> Any:
    """Without the time it took."""
    values = vars(answer) if hasattr(answer, "__dict__") else answer
    return {**values, "collect_s": 0.0} if isinstance(values, dict) else values


def learned(progress: Progress) -> bool:
    return progress.figures["decisions"] > 0


def until(done: Callable[[], bool], limit_s: float = 60.0) -> None:
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def mortal(died: Path) -> Callable[[int], DagWorker]:
    """Workers the first of which dies when it is to collect.  Made here, so that other processes need no import."""

    class Mortal(DagWorker):
        def collect(self, *arguments: Any) -> dict[str, float]:
            if not died.exists():
                died.touch()
                os._exit(1)
            return super().collect(*arguments)

    return lambda number: Mortal(SETTING, SHAPE, number)
