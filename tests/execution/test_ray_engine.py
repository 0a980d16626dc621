"""Executors as Ray actors: several nodes, and what can go wrong with them.  Every task is counted once in the end."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="ray is not installed: pip install 'dovetail[ray]'")

import ray
from ray.cluster_utils import Cluster
from tests.execution import work
from tests.execution.in_process import finish, results, step_until, submit

from dovetail.cli import main
from dovetail.core.errors import ConfigError, MissingExtra
from dovetail.execution import Engine, Job, JobFailed
from dovetail.execution.controller.messages import JobCancelled
from dovetail.execution.engines.ray import RayOptions, RayWorkers
from dovetail.execution.failure import Failure
from dovetail.execution.journal import Journal
from dovetail.execution.serve import ServerOptions, make_controller, make_workers, prepare
from dovetail.execution.server import Server
from dovetail.execution.service import ServerService

pytestmark = pytest.mark.xdist_group("ray")  # one cluster at a time

PATIENCE_S = 120.0
STORE = {"object_store_memory": 300_000_000}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two processors on the head, two on another node."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, **STORE})
    cluster.add_node(num_cpus=2, **STORE)
    yield cluster
    cluster.shutdown()


@contextmanager
def server_in(directory: Path, cluster: Cluster, executors: int = 4) -> Iterator[Server]:
    prepare(directory)
    options = ServerOptions(engine="ray", ray=RayOptions(cluster.address, executors))
    workers = make_workers(directory, options)
    controller = make_controller(options, workers.classes())
    server = Server(directory, controller, workers, Journal.open(directory / "journal.sqlite"))
    server.start()
    try:
        step_until(server, lambda: len(server.executors_up) == executors, "executors to come up")
        yield server
    finally:
        server.close()


def noting(path: Path, tasks: int, lasts_s: float) -> Job:
    job = Job("noting")
    noted = job.stage(work.note, tasks=[(str(path), n, lasts_s) for n in range(tasks)], name="note")
    job.stage(work.add_up, after=[noted], inputs=True, name="add up")
    return job


def pids(server: Server) -> dict[int, int]:
    assert isinstance(server.workers, RayWorkers)
    return server.workers.pids


def unpickled(server: Server, job: int, stage: int = 0) -> list[Any]:
    return [pickle.loads(one) for one in results(server, job, stage)]


def assert_complete(server: Server, job: int, path: Path, tasks: int, at_most_again: int) -> None:
    assert server.jobs[job].state == "succeeded"
    assert unpickled(server, job, 1) == [sum(range(tasks))]
    assert [stage.finished for stage in server.jobs[job].stages] == [tasks, 1]
    counts = Counter(work.runs(path))
    assert set(counts) == set(range(tasks))
    assert sum(counts.values()) - tasks <= at_most_again


def test_results_and_inputs_across_nodes(directory: Path, cluster: Cluster) -> None:
    def where(number: int) -> tuple[int, str]:
        time.sleep(0.01)
        return number, ray.get_runtime_context().get_node_id()

    def look(_: int, inputs: Any) -> tuple[list[int], int, str]:
        found = list(inputs["where"])
        return [number for number, _ in found], len({node for _, node in found}), inputs["where"][-1][1]

    with server_in(directory, cluster) as server:
        assert len(set(server.executors_up.values())) == 2
        job = Job("across")
        first = job.stage(where, tasks=range(100), name="where")
        job.stage(look, tasks=3, after=[first], inputs=True)
        job.stage(sum, tasks=[(1, 2, 3)] * 50)
        number = submit(server, job)
        finish(server, number)
        assert [one for one, _ in unpickled(server, number)] == list(range(100))
        for numbers, nodes, _ in unpickled(server, number, 1):
            assert (numbers, nodes) == (list(range(100)), 2)
        assert unpickled(server, number, 2) == [6] * 50
        large = Job("large")
        parts = large.stage(lambda n: bytes([n]) * (10**8 + n), tasks=2, name="parts", retries=0)
        large.stage(lambda _, inputs: [(len(one), one[-1]) for one in inputs["parts"]], after=[parts], inputs=True)
        number = submit(server, large)
        finish(server, number)
        assert unpickled(server, number, 1) == [[(10**8, 0), (10**8 + 1, 1)]]
        ServerService(server).forget(number)
    assert not ray.is_initialized()


def test_an_executor_is_killed(directory: Path, cluster: Cluster) -> None:
    path = directory / "noted"
    with server_in(directory, cluster) as server:
        job = submit(server, noting(path, 300, 0.005))
        for step in (50, 150):
            step_until(server, lambda step=step: server.jobs[job].stages[0].finished >= step, "progress")
            os.kill(next(iter(pids(server).values())), signal.SIGKILL)
        finish(server, job)
        # Of every kill, what that executor had been sent and had not answered.
        assert_complete(server, job, path, 300, at_most_again=20)
        step_until(server, lambda: len(server.executors_up) == 4, "replacements")
        assert any("its process died" in text for _, _, kind, text in server.notices if kind == "executor")
        idle = next(iter(pids(server)))
        os.kill(pids(server)[idle], signal.SIGKILL)
        step_until(server, lambda: idle not in server.executors_up, "the loss of an idle one to be noticed")
        step_until(server, lambda: idle in server.executors_up, "its replacement")


def test_a_task_that_kills_its_executor_is_found_out(directory: Path, cluster: Cluster) -> None:
    def poison(number: int) -> int:
        if number == 700:
            os._exit(3)
        return number

    with server_in(directory, cluster) as server:
        once = Job("poison once")
        once.stage(work.kill_executor_once, tasks=[(str(directory / "kill"), n) for n in range(3)])
        number = submit(server, once)
        finish(server, number)
        assert unpickled(server, number) == [0, 1, 2]
        job = Job("poison")
        job.stage(poison, tasks=range(1000))
        number = submit(server, job)
        finish(server, number)
        failure = server.jobs[number].failure
        assert failure is not None and failure.task == 700 and "executors were lost" in str(failure)


def test_tasks_that_raise_eat_memory_hang_or_are_cancelled(directory: Path, cluster: Cluster) -> None:
    with server_in(directory, cluster, executors=2) as server:
        bad, good, hungry = Job("bad"), Job("good"), Job("hungry")
        bad.stage(work.fail, tasks=[5], retries=1)
        good.stage(work.square, tasks=range(50))
        hungry.stage(work.eat, tasks=[300], memory="100MB", retries=0)
        numbers = [submit(server, job) for job in (bad, good, hungry)]
        finish(server, *numbers)
        assert [server.jobs[number].state for number in numbers] == ["failed", "succeeded", "failed"]
        failure = Failure.from_bytes(results(server, numbers[0])[0])
        assert "in fail" in failure.traceback and "number 5 is no good" in failure.line
        assert isinstance(failure.exception(), ValueError)
        assert unpickled(server, numbers[1]) == [n * n for n in range(50)]
        assert "limit of 100 MB" in str(server.jobs[numbers[2]].failure)

        endless = Job("endless")
        endless.stage(time.sleep, tasks=[600.0] * 4)
        number = submit(server, endless)
        before = pids(server)
        step_until(server, lambda: len(server.controller.busy_executors()) == 2, "work to begin")
        started_s = time.monotonic()
        step_until(server, lambda: time.monotonic() > started_s + 0.3, "a moment")
        server.handle(JobCancelled(number))
        step_until(server, lambda: not server.controller.busy_executors(), "executors to be free again")
        assert pids(server) == before  # interrupted, not killed

        hanging = Job("hanging")
        hanging.stage(work.hang_deaf, tasks=[(str(directory / "deaf"), n) for n in range(2)], timeout_s=0.5, retries=1)
        number = submit(server, hanging)
        finish(server, number)
        assert unpickled(server, number) == [0, 1]


def test_the_server_ends_and_another_goes_on(directory: Path, cluster: Cluster) -> None:
    path = directory / "noted"
    with server_in(directory, cluster) as server:
        job = submit(server, noting(path, 200, 0.01))
        step_until(server, lambda: server.jobs[job].stages[0].finished >= 80, "progress")
    with server_in(directory, cluster) as server:
        assert server.jobs[job].stages[0].finished >= 80
        finish(server, job)
        # of each of the four executors: what it finished within 20 ms, what is on its way, and what it is at
        assert_complete(server, job, path, 200, at_most_again=4 * 4)


def test_a_node_is_lost_with_its_executors(directory: Path, cluster: Cluster) -> None:
    path = directory / "noted"
    with server_in(directory, cluster) as server:
        job = submit(server, noting(path, 400, 0.01))
        step_until(server, lambda: server.jobs[job].stages[0].finished >= 60, "progress")
        (node,) = cluster.worker_nodes
        cluster.remove_node(node, allow_graceful=False)
        finish(server, job)
        assert_complete(server, job, path, 400, at_most_again=8)
        step_until(server, lambda: len(server.executors_up) == 2, "the loss to be noticed")
        cluster.add_node(num_cpus=2, **STORE)
        step_until(server, lambda: len(server.executors_up) == 4, "executors on the new node")
        assert len(set(server.executors_up.values())) == 2


def test_an_engine_and_a_replay_in_a_cluster(
    directory: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    with Engine(executors=2, engine="ray", address=cluster.address, directory=directory) as engine:
        path = directory / "noted"
        handle = engine.submit(noting(path, 100, 0.01))
        while handle.status().stages[0].finished < 20:
            time.sleep(0.01)
        os.kill(engine.pid, signal.SIGKILL)
        engine.restart()
        assert handle.results("add up", PATIENCE_S) == [sum(range(100))]
        bad = Job("bad")
        bad.stage(work.fail, tasks=[5], retries=0)
        with pytest.raises(JobFailed, match="number 5 is no good") as caught:
            engine.run(bad, PATIENCE_S)
        assert "in fail" in caught.value.traceback
    words = ["run", "chains:dags=6,length=[2,3]", "--jobs", "3", "--executors", "3", "--time-scale", "0.001"]
    assert main([*words, "--scheduler", "dag/fifo", "--engine", "ray", "--address", cluster.address, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["engine"], found["jobs_completed"], found["jobs_failed"]) == ("ray", 3, 0)


def test_what_is_wrong_is_said(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        port = nobody_listens.getsockname()[1]
        with pytest.raises(ConfigError, match="no Ray cluster answers there"):
            RayWorkers(RayOptions(f"127.0.0.1:{port}", 1)).connect()
        with pytest.raises(ConfigError, match="no Ray cluster answers there"):
            Engine(1, engine="ray", address=f"127.0.0.1:{port}", directory=directory).start()
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        RayWorkers(RayOptions("here", 1)).connect()
    with pytest.raises(ConfigError, match="cpus above 0"):
        RayOptions(cpus=0.0)
    assert main(["up", "--directory", str(directory), "--address", "auto"]) == 2
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match="ray"):
        RayWorkers(RayOptions(executors=1)).connect()
