"""Faults that really happen.  Each ends with every job accounted for and every task counted once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.execution import work
from tests.execution.fake_server import is_alive

from dovetail.execution import Engine, EngineUnreachable, Job, JobCancelled, JobFailed, JobHandle
from dovetail.execution.errors import RequestRefused
from dovetail.execution.process_tree import children
from dovetail.execution.tasks import Command

PATIENCE_S = 120.0


def executors_of(engine: Engine) -> list[int]:
    return [pid for node in children(engine.pid) for pid in children(node)]


def wait_for(condition, what: str) -> None:  # type: ignore[no-untyped-def]
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"waited too long for: {what}"
        time.sleep(0.005)


def noting_job(path: Path, tasks: int, lasts_s: float) -> tuple[Job, list[int]]:
    job = Job("noting")
    noted = job.stage(work.note, tasks=[(str(path), n, lasts_s) for n in range(tasks)], name="note")
    job.stage(work.add_up, after=[noted], inputs=True, name="add up")
    return job, [sum(range(tasks))]


def finished(handle: JobHandle) -> int:
    return handle.status().stages[0].finished


def assert_complete(handle: JobHandle, path: Path, tasks: int, expected: list[int], at_most_again: int) -> None:
    assert handle.results("add up", PATIENCE_S) == expected
    status = handle.status()
    assert [stage.finished for stage in status.stages] == [stage.tasks for stage in status.stages]
    counts = Counter(work.runs(path))
    assert set(counts) == set(range(tasks))
    assert sum(counts.values()) - tasks <= at_most_again


def test_an_executor_is_killed(directory: Path) -> None:
    path = directory / "noted"
    job, expected = noting_job(path, 300, 0.005)
    with Engine(executors=3) as engine:
        handle = engine.submit(job)
        for step in (50, 120, 200):
            wait_for(lambda step=step: finished(handle) >= step, "progress")
            os.kill(executors_of(engine)[0], signal.SIGKILL)
        # What was killed between its note and its record runs again: one task for each kill, at most.
        assert_complete(handle, path, 300, expected, at_most_again=3)
        wait_for(lambda: engine.status().executors == 3, "replacements")


def test_a_node_is_killed_with_all_its_executors(directory: Path) -> None:
    path = directory / "noted"
    job, expected = noting_job(path, 300, 0.005)
    with Engine(executors=4, nodes=2) as engine:
        handle = engine.submit(job)
        wait_for(lambda: finished(handle) >= 60, "progress")
        node = children(engine.pid)[0]
        below = children(node)
        assert below
        os.kill(node, signal.SIGKILL)
        assert_complete(handle, path, 300, expected, at_most_again=len(below))
        assert not any(os.path.exists(f"/proc/{pid}/cwd") and os.access(f"/proc/{pid}/cwd", os.R_OK) for pid in below)
        wait_for(lambda: engine.status().executors == 4, "the node to come back")


def test_commands_of_a_killed_node_do_not_outlive_it(directory: Path) -> None:
    marker = f"31{os.getpid() % 10000:04d}"  # seconds to sleep, by which the command is found
    with Engine(executors=2, nodes=2) as engine:
        job = Job("commands")
        job.stage(Command(f"sleep {marker} & wait"), tasks=2, retries=0)
        handle = engine.submit(job)
        wait_for(lambda: len(sleeping(marker)) == 2, "the commands to run")
        before = set(sleeping(marker))
        os.kill(children(engine.pid)[0], signal.SIGKILL)
        wait_for(lambda: len(set(sleeping(marker)) & before) == 1, "the command of the lost node to end")
        handle.cancel()
        wait_for(lambda: not sleeping(marker), "all commands to end")


@pytest.mark.parametrize("nodes_too", [False, True])
def test_nothing_of_a_killed_server_is_left_beside_the_next(directory: Path, nodes_too: bool) -> None:
    """Children of commands neither: first the node managers see to that, and if they are killed, the next server."""
    marker = f"32{os.getpid() % 10000:04d}"
    with Engine(executors=2, nodes=2, directory=directory) as engine:
        job = Job("commands")
        job.stage(Command(f"(setsid sleep {marker}; true) & wait"), tasks=2)
        handle = engine.submit(job)
        wait_for(lambda: len(sleeping(marker)) == 2, "the commands to run")
        before, nodes = sleeping(marker), children(engine.pid)
        for node in nodes:
            os.kill(node, signal.SIGSTOP)  # so that they cannot do anything about it
        os.kill(engine.pid, signal.SIGKILL)
        for node in nodes:
            os.kill(node, signal.SIGKILL if nodes_too else signal.SIGCONT)
        if nodes_too:
            time.sleep(0.2)
            assert sleeping(marker) == before
        else:
            wait_for(lambda: not sleeping(marker), "the node managers to take everything along")
        engine.restart()
        wait_for(lambda: len(sleeping(marker)) == 2, "the commands to run again")
        assert not set(sleeping(marker)) & set(before)
        handle.cancel()
    assert not sleeping(marker)


def sleeping(seconds: str) -> list[int]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", seconds.encode()]:
            found.append(int(pid))
    return found


def test_the_controller_is_killed_at_any_moment_and_goes_on(directory: Path) -> None:
    path = directory / "noted"
    job, expected = noting_job(path, 400, 0.004)
    kills = 4
    with Engine(executors=3, directory=directory / "engine") as engine:
        handle = engine.submit(job)
        for kill in range(kills):
            wait_for(lambda kill=kill: finished(handle) >= 80 * (kill + 1), "progress")
            os.kill(engine.pid, signal.SIGKILL)
            wait_for(lambda: not executors_alive(engine), "executors to die with the server")
            engine.restart()
        assert_complete(handle, path, 400, expected, at_most_again=3 * kills)


def executors_alive(engine: Engine) -> bool:
    """Whether a process of this engine's is left; its socket is on their command line."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"node_manager" in command and str(engine.directory).encode() in command:
            return True
    return False


def test_drain_and_swap_outlast_the_server(directory: Path) -> None:
    with Engine(executors=1, directory=directory) as engine:
        engine.swap("dag/fifo")
        engine.swap("dag/hesrpt")
        engine.client.drain()
        os.kill(engine.pid, signal.SIGKILL)
        engine.restart()
        status = engine.status()
        assert (status.scheduler, status.draining) == ("dag/hesrpt", True)
        with pytest.raises(RequestRefused, match="draining"):
            engine.submit(noting_job(directory / "noted", 1, 0.0)[0])
        engine.client.drain(False)
    with Engine(executors=1, directory=directory) as engine:  # ended in good order
        status = engine.status()
        assert (status.scheduler, status.draining) == ("dag/hesrpt", False)
    with Engine(executors=1, directory=directory, scheduler="dag/srtf") as engine:
        assert engine.status().scheduler == "dag/srtf"
    with Engine(executors=1, directory=directory) as engine:
        assert engine.status().scheduler == "dag/fair-spill"


def test_jobs_and_results_outlast_the_engine(directory: Path) -> None:
    with Engine(executors=1, directory=directory) as engine:
        job = Job("squares")
        stage = job.stage(work.square, tasks=range(20))
        number = engine.run(job, PATIENCE_S).job
    with Engine(executors=1, directory=directory) as engine:
        again = engine.job(number)
        assert again.results(stage.name) == [n * n for n in range(20)]
        again.forget()
        assert number not in [one.job for one in engine.status().jobs]
    assert not (directory / "jobs" / str(number)).exists()


def test_a_task_that_raises_fails_its_job_and_no_other() -> None:
    with Engine(executors=2) as engine:
        bad = Job("bad")
        bad.stage(work.fail, tasks=[5], retries=2)
        good = Job("good")
        stage = good.stage(work.square, tasks=range(50))
        bad_handle, good_handle = engine.submit(bad), engine.submit(good)
        with pytest.raises(JobFailed, match="number 5 is no good") as caught:
            bad_handle.wait(PATIENCE_S)
        assert "in fail" in caught.value.traceback
        assert isinstance(caught.value.__cause__, ValueError)
        assert bad_handle.status().stages[0].failed == 3
        assert good_handle.results(stage, PATIENCE_S) == [n * n for n in range(50)]


def test_a_task_that_raises_once_is_run_again(directory: Path) -> None:
    with Engine(executors=2) as engine:
        job = Job("flaky")
        stage = job.stage(work.fail_once, tasks=[(str(directory / "once"), n) for n in range(10)], retries=1)
        handle = engine.submit(job)
        assert handle.results(stage, PATIENCE_S) == list(range(10))
        assert handle.status().stages[0].failed == 10


def test_a_task_that_hangs_is_cut_off_and_run_again(directory: Path) -> None:
    with Engine(executors=2) as engine:
        job = Job("hanging")
        tasks = [(str(directory / "deaf"), n) for n in range(3)]
        stage = job.stage(work.hang_deaf, tasks=tasks, timeout_s=0.3, retries=1)
        handle = engine.submit(job)
        assert handle.results(stage, PATIENCE_S) == [0, 1, 2]
        wait_for(lambda: engine.status().executors == 2, "replacements")


def test_a_task_that_hangs_too_often_fails_its_job() -> None:
    with Engine(executors=1) as engine:
        job = Job("hanging")
        job.stage(time.sleep, tasks=[600.0], timeout_s=0.2, retries=1)
        with pytest.raises(JobFailed, match=r"TimeoutError.*0.2 s"):
            engine.run(job, PATIENCE_S)


def test_a_task_that_eats_memory_gets_a_clear_message() -> None:
    with Engine(executors=1) as engine:
        job = Job("hungry")
        job.stage(work.eat, tasks=[300], memory="100MB", retries=0)
        with pytest.raises(JobFailed, match="limit of 100 MB"):
            engine.run(job, PATIENCE_S)
        fine = Job("modest")
        stage = fine.stage(work.eat, tasks=[10], memory="100MB", retries=0)
        assert engine.run(fine, PATIENCE_S).results(stage) == [10 * 10**6]


def test_a_task_that_kills_its_executor_fails_its_job_in_the_end(directory: Path) -> None:
    with Engine(executors=2) as engine:
        job = Job("poison")
        job.stage(work.kill_executor, tasks=1)
        with pytest.raises(JobFailed, match=r"executors were lost.*SIGKILL"):
            engine.run(job, PATIENCE_S)
        once = Job("poison once")
        stage = once.stage(work.kill_executor_once, tasks=[(str(directory / "kill"), n) for n in range(4)])
        assert engine.run(once, PATIENCE_S).results(stage) == [0, 1, 2, 3]


def test_a_straggler_is_copied_and_counted_once(directory: Path) -> None:
    with Engine(executors=4, nodes=2) as engine:
        job = Job("straggling")
        stage = job.stage(work.hang_once, tasks=[(str(directory / "slow"), n) for n in range(12)])
        handle = engine.submit(job)
        assert handle.results(stage, PATIENCE_S) == list(range(12))
        status = handle.status()
        assert status.stages[0].finished == 12
        assert any(event["kind"] == "copy" for event in engine.client.events(0)["events"])
        wait_for(lambda: engine.status().busy == 0, "the slow one to be stopped")


def test_a_job_can_be_cancelled_while_it_runs(directory: Path) -> None:
    with Engine(executors=2) as engine:
        job = Job("endless")
        job.stage(time.sleep, tasks=[600.0] * 4)
        handle = engine.submit(job)
        wait_for(lambda: engine.status().busy == 2, "work to begin")
        handle.cancel()
        with pytest.raises(JobCancelled):
            handle.wait(PATIENCE_S)
        after = Job("after")
        stage = after.stage(work.square, tasks=range(10))
        assert engine.run(after, PATIENCE_S).results(stage) == [n * n for n in range(10)]


def poison(number: int) -> int:
    if number == 700:
        os._exit(1)
    return number


def test_one_poisoned_task_among_many_short_ones_is_found() -> None:
    with Engine(executors=2) as engine:
        warm_up = Job("many")
        warm_up.stage(work.square, tasks=2000, name="short")
        engine.run(warm_up, PATIENCE_S)
        job = Job("many")
        job.stage(poison, tasks=2000, name="short")
        with pytest.raises(JobFailed, match=r"task 700: .* executors were lost"):
            engine.run(job, PATIENCE_S)


def test_an_ended_job_can_be_forgotten_while_its_last_tasks_still_stop() -> None:
    with Engine(executors=2) as engine:
        job = Job("endless")
        job.stage(work.deaf, tasks=2, retries=0)
        handle = engine.submit(job)
        wait_for(lambda: engine.status().busy == 2, "work to begin")
        handle.cancel()
        handle.forget()
        after = Job("after")
        stage = after.stage(work.square, tasks=range(10))
        assert engine.run(after, PATIENCE_S).results(stage) == [n * n for n in range(10)]
        assert [one.job for one in engine.status().jobs] == [handle.job + 1]


def test_many_executors_die_at_the_same_moment_again_and_again(directory: Path) -> None:
    path = directory / "noted"
    job, expected = noting_job(path, 600, 0.004)
    with Engine(executors=4, nodes=2, crashes=1000) as engine:
        server = engine.pid
        handle = engine.submit(job)
        kills = 0
        while not handle.status().has_ended and kills < 60:
            for pid in executors_of(engine)[: 1 + kills % 4]:
                os.kill(pid, signal.SIGKILL)
                kills += 1
            time.sleep(0.02)
        assert_complete(handle, path, 600, expected, at_most_again=kills)
        assert engine.pid == server and kills >= 10
        assert "the server failed" not in (engine.directory / "server.log").read_text()


def test_the_failure_told_is_that_of_the_task_named() -> None:
    with Engine(executors=2) as engine:
        warm_up = Job("failing")
        warm_up.stage(work.square, tasks=2000, name="short")
        engine.run(warm_up, PATIENCE_S)
        for number in range(40):
            job = Job("failing")
            job.stage(work.fail_every_seventh, tasks=10 + 3 * number, name="short", retries=number % 2)
            with pytest.raises(JobFailed) as caught:
                engine.run(job, PATIENCE_S)
            assert str(caught.value.__cause__) == str(caught.value.task)
            assert f"ValueError: {caught.value.task}" in caught.value.message


def test_a_timeout_after_an_exception_is_told_as_a_timeout(directory: Path) -> None:
    with Engine(executors=1) as engine:
        job = Job("first one, then the other")
        job.stage(work.fail_then_hang, tasks=[(str(directory / "once"), 0)], timeout_s=0.3, retries=1)
        with pytest.raises(JobFailed, match="TimeoutError") as caught:
            engine.run(job, PATIENCE_S)
        assert caught.value.__cause__ is None and not caught.value.traceback


def test_no_out_file_is_written_by_two_servers(directory: Path) -> None:
    """A torn record at the end of one hides nothing that comes later, for later things go elsewhere."""
    path = directory / "noted"
    job, expected = noting_job(path, 300, 0.004)
    with Engine(executors=2, directory=directory / "engine") as engine:
        handle = engine.submit(job)
        for kill in range(3):
            wait_for(lambda kill=kill: finished(handle) >= 70 * (kill + 1), "progress")
            os.kill(engine.pid, signal.SIGKILL)
            wait_for(lambda: not executors_alive(engine), "executors to die with the server")
            for out in engine.directory.glob("jobs/*/out-*"):
                with out.open("ab") as file:
                    file.write(b"DVR1 and then the process was killed")
            engine.restart()
        assert_complete(handle, path, 300, expected, at_most_again=2 * 3)
        starts = {out.name.split("-")[2][:-6] for out in engine.directory.glob("jobs/*/out-*")}
        assert len(starts) == 4


def test_an_engine_outlives_the_thread_that_started_it(directory: Path) -> None:
    engine = Engine(executors=1)
    starter = threading.Thread(target=engine.start)
    starter.start()
    starter.join()
    try:
        time.sleep(0.3)  # the kernel would have told it by now
        job = Job("after the thread")
        stage = job.stage(work.square, tasks=range(5))
        assert engine.run(job, PATIENCE_S).results(stage) == [0, 1, 4, 9, 16]
    finally:
        engine.close()


def test_an_engine_dies_with_the_process_that_started_it(directory: Path) -> None:
    code = (
        "import sys, time\n"
        "from dovetail.execution import Engine\n"
        "engine = Engine(executors=1, directory=sys.argv[1])\n"
        "engine.start()\n"
        "print(engine.pid, flush=True)\n"
        "time.sleep(3600)"
    )
    command = [sys.executable, "-c", code, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        wait_for(lambda: any(children(node) for node in children(server)), "an executor")
        family = [server, *children(server), *(pid for node in children(server) for pid in children(node))]
        owner.kill()
    wait_for(lambda: not any(is_alive(pid) for pid in family), "the engine to die")


def test_the_own_engine_s_death_is_told_soon(directory: Path) -> None:
    with Engine(executors=1, directory=directory / "engine") as engine:
        os.kill(engine.pid, signal.SIGKILL)
        start_s = time.monotonic()
        with pytest.raises(EngineUnreachable, match="server has ended with -9"):
            engine.status()
        assert time.monotonic() - start_s < 20.0
        engine.restart()
        wait_for(lambda: engine.status().executors == 1, "the executor of the next server")
