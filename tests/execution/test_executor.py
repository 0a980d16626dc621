import contextlib
import itertools
import os
import pickle
import signal
import sys
import threading
import time

import pytest
from tests.execution.fake_server import FakeServer, stage_of, wait_for

from dovetail.execution.failure import Failure
from dovetail.execution.outfile import out_path, scan
from dovetail.execution.tasks import Call, Command, Memory, Sleep

FAILED, FINISHED, CANCELLED = 0, 1, 2


@pytest.fixture(scope="module")
def world():
    """A server with one executor that all tests share: whatever they did to it, it must go on."""
    with FakeServer() as server:
        yield server, server.start_executor(server.start_manager())


@pytest.fixture
def server(world):
    return world[0]


@pytest.fixture
def peer(world):
    server, peer = world
    yield peer
    pid = server.pids[0]
    assert [pickle.loads(server.payload(entry)) for entry in server.run(peer, lambda _: os.getpid())] == [pid]
    assert server.log == []


def failure(server, entry) -> Failure:
    assert entry[1] == FAILED
    assert "\n" not in entry[6]
    return Failure.from_bytes(server.payload(entry))


def test_tasks_run_in_order_and_their_results_are_recorded(server, peer):
    entries = server.run(peer, lambda number: number * 2, tasks=1000)
    assert [entry[:2] for entry in entries] == [(task, FINISHED) for task in range(1000)]
    assert [pickle.loads(server.payload(entry)) for entry in entries] == list(range(0, 2000, 2))
    assert all(started_s <= ended_s for *_, started_s, ended_s, _ in entries)
    assert all(one[5] <= other[4] for one, other in itertools.pairwise(entries))
    recorded = list(scan(out_path(os.path.join(server.directory, "jobs", str(server.job)), 0, 0)))
    assert [(r.task, r.ok, r.offset, r.length, r.started_s, r.ended_s) for r in recorded] == [e[:6] for e in entries]


def test_arguments_and_classes_of_a_script_travel(server, peer):
    namespace = {"__name__": "__main__"}
    exec("class Point:\n    def __init__(self, x): self.x = x\ndef make(x): return Point(x)", namespace)
    entries = server.run(peer, namespace["make"], 2, arguments=["left", "right"])
    assert [pickle.loads(server.payload(entry)).x for entry in entries] == ["left", "right"]


def test_inputs_are_lazy_results_of_parents(server, peer):
    def total(argument, inputs):
        return argument, sum(inputs["first"]), list(inputs["second"][-2:])

    job, settings = server.write_job(
        stage_of(lambda n: n, 10), stage_of(lambda n: str(n), 4), stage_of(total, 1, ["argument"])
    )
    places = {}
    for stage, name, tasks in ((0, "first", 10), (1, "second", 4)):
        peer.send("stage", job, stage, settings)
        entries = server.done(server.send_batch(peer, job, stage, range(tasks)), tasks)
        places[name] = [(out_path(settings["directory"], 0, 0), entry[2], entry[3]) for entry in entries]
    peer.send("stage", job, 2, settings | {"inputs": places})
    (entry,) = server.done(server.send_batch(peer, job, 2, [0]), 1)
    assert pickle.loads(server.payload(entry)) == ("argument", 45, ["2", "3"])


class Unpicklable(Exception):
    def __init__(self, lock):
        super().__init__("holds a lock")
        self.lock = lock


def recurse(n):
    return recurse(n + 1)


def nested(_):
    value: list = []
    for _ in range(100_000):
        value = [value]
    return value


def raising(error):
    def function(_):
        raise error()

    return function


@pytest.mark.parametrize(
    ("function", "line", "is_pickled"),
    [
        (raising(lambda: ValueError("bad\nvalue")), "ValueError: bad value", True),
        (raising(lambda: SystemExit(3)), "SystemExit: 3", True),
        (raising(KeyboardInterrupt), "KeyboardInterrupt", True),
        (raising(lambda: Unpicklable(threading.Lock())), "Unpicklable: holds a lock", False),
        (recurse, "RecursionError: maximum recursion depth", True),
        (nested, "ResultError: the result, of type list, cannot be pickled", True),
        (lambda _: threading.Lock(), "ResultError: the result, of type lock, cannot be pickled", True),
    ],
)
def test_whatever_a_task_raises_is_a_failed_task(server, peer, function, line, is_pickled):
    (entry,) = server.run(peer, function)
    found = failure(server, entry)
    assert entry[6].startswith(line)
    assert entry[6] == found.line
    assert "Traceback (most recent call last)" in found.traceback
    assert "_run_tasks" not in found.traceback or "ResultError" in found.traceback
    assert (found.exception() is not None) == is_pickled


def test_one_failure_does_not_stop_the_batch(server, peer):
    entries = server.run(peer, lambda n: 1 // (n - 2), tasks=5)
    assert [entry[1] for entry in entries] == [1, 1, 0, 1, 1]
    assert entries[2][6] == "ZeroDivisionError: integer division or modulo by zero"


@pytest.mark.parametrize("blob", [b"cno_such_module\nfunction\n.", b"", b"garbage", pickle.dumps(7)])
def test_a_function_that_cannot_be_loaded_fails_every_task(server, peer, blob):
    for entry in server.run(peer, blob, tasks=2):
        assert "cannot be loaded" in failure(server, entry).line or "not callable" in entry[6]


def test_a_stage_that_nobody_introduced(server, peer):
    (entry,) = server.done(server.send_batch(peer, 999_999, 0, [0]), 1)
    assert entry[1:4] == (FAILED, -1, 0)
    assert "the server did not introduce the stage" in entry[6]


def test_modules_are_found_where_the_job_says_and_threads_follow_its_cpus(server, peer, tmp_path):
    (tmp_path / "beside_the_script.py").write_text("import os\ndef threads(_): return os.environ['OMP_NUM_THREADS']\n")
    entries = server.run(peer, Call("beside_the_script:threads"), sys_path=[str(tmp_path)], cpus=3)
    assert [pickle.loads(server.payload(entry)) for entry in entries] == ["3"]


def test_a_result_of_100_mb(server, peer):
    (entry,) = server.run(peer, lambda _: bytes(100_000_000))
    assert entry[3] > 100_000_000
    assert len(pickle.loads(server.payload(entry))) == 100_000_000


def test_on_a_full_disk_results_wait_for_room(server, peer):
    job, settings = server.write_job(stage_of(lambda n: n, 2))
    path = out_path(settings["directory"], 0, 0)
    os.symlink("/dev/full", path)
    peer.send("stage", job, 0, settings)
    batch = server.send_batch(peer, job, 0, range(2))
    assert server.expect("full")[1][1].startswith(f"disk full: a result cannot be written to {path}")
    os.unlink(path)
    server.expect("room")
    entries = server.done(batch, 2)
    assert [(entry[1], pickle.loads(server.payload(entry))) for entry in entries] == [(FINISHED, 0), (FINISHED, 1)]
    peer.send("forget", job)


def test_a_batch_that_waits_for_room_can_be_cancelled(server, peer):
    job, settings = server.write_job(stage_of(lambda n: n, 2))
    os.symlink("/dev/full", out_path(settings["directory"], 0, 0))
    peer.send("stage", job, 0, settings)
    batch = server.send_batch(peer, job, 0, range(2))
    server.expect("full")
    server.cancel(peer, batch, server.pids[0])
    server.expect("room")
    assert [entry[1:4] for entry in server.done(batch, 2)] == [(CANCELLED, -1, 0)] * 2
    peer.send("forget", job)


def test_a_result_that_cannot_be_written_for_another_reason_fails_its_task(server, peer):
    job, settings = server.write_job(stage_of(lambda n: n, 2))
    os.mkdir(out_path(settings["directory"], 0, 0))
    peer.send("stage", job, 0, settings)
    for entry in server.done(server.send_batch(peer, job, 0, range(2)), 2):
        assert entry[1:4] == (FAILED, -1, 0)
        assert entry[6].endswith("Is a directory")
    peer.send("forget", job)


@pytest.mark.parametrize("harm", [lambda out: out.close(), lambda out: setattr(sys, "stdout", None)])
def test_a_task_that_closes_its_output_harms_no_other(server, peer, harm):
    assert [entry[1] for entry in server.run(peer, lambda _: harm(sys.stdout))] == [FINISHED]
    assert [entry[1] for entry in server.run(peer, lambda _: print("said after that"))] == [FINISHED]
    with open(os.path.join(server.directory, "logs", "executor-0.log")) as log:
        assert "said after that" in log.read()


def test_a_command_that_fails_within_a_memory_limit_names_it(server, peer):
    eater = Command((sys.executable, "-c", "bytearray(900_000_000)"))
    (entry,) = server.run(peer, eater, memory_bytes=300_000_000)
    assert entry[1] == FAILED and "MemoryError" in entry[6] + failure(server, entry).message
    assert "each of its processes may take 300 MB" in failure(server, entry).message


def test_a_full_disk_for_the_log_is_not_the_task_s_fault(server, peer):
    def prints(_):
        log = os.dup(1)
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        print("said in vain")
        os.dup2(log, 1)

    (entry,) = server.run(peer, prints)
    assert entry[1] == FINISHED


def test_memory_beyond_the_limit_fails_the_task_and_the_limit_is_lifted(server, peer):
    entries = server.run(peer, Memory(), 3, [10_000_000, 500_000_000, 20_000_000], memory_bytes=100_000_000)
    assert [entry[1] for entry in entries] == [1, 0, 1]
    assert entries[1][6] == "MemoryLimitError: task used more than its limit of 100 MB"
    (entry,) = server.run(peer, Memory(500_000_000))
    assert entry[1] == FINISHED


def test_cancel_ends_the_running_task_and_the_rest_of_its_batch_only(server, peer, tmp_path):
    started = tmp_path / "started"

    def function(task):
        if task == 1:
            started.touch()
            time.sleep(3600)

    job, settings = server.write_job(stage_of(function, 4), stage_of(lambda n: n, 3))
    for stage in range(2):
        peer.send("stage", job, stage, settings)
    first = server.send_batch(peer, job, 0, range(4))
    second = server.send_batch(peer, job, 1, range(3))
    wait_for(started.exists)
    server.cancel(peer, first, server.pids[0])
    assert [entry[:2] for entry in server.done(first, 4)] == [(0, FINISHED), (1, CANCELLED), (2, CANCELLED), (3, 2)]
    assert [entry[1] for entry in server.done(second, 3)] == [FINISHED] * 3


def test_cancelling_a_waiting_batch_runs_none_of_it(server, peer):
    job, settings = server.write_job(stage_of(Sleep(0.2)), stage_of(lambda n: n, 3))
    for stage in range(2):
        peer.send("stage", job, stage, settings)
    first, second = server.send_batch(peer, job, 0, [0]), server.send_batch(peer, job, 1, range(3))
    server.cancel(peer, second, server.pids[0])
    assert [entry[1] for entry in server.done(first, 1)] == [FINISHED]
    assert [entry[1] for entry in server.done(second, 3)] == [CANCELLED] * 3


def test_a_task_that_swallows_the_cancel_is_the_last_of_its_batch(server, peer, tmp_path):
    started = tmp_path / "started"

    def stubborn(_):
        try:
            started.touch()
            time.sleep(3600)
        except BaseException:
            return "never mind"

    job, settings = server.write_job(stage_of(stubborn, 2))
    peer.send("stage", job, 0, settings)
    batch = server.send_batch(peer, job, 0, range(2))
    wait_for(started.exists)
    server.cancel(peer, batch, server.pids[0])
    assert [entry[1] for entry in server.done(batch, 2)] == [FINISHED, CANCELLED]


def test_signals_at_any_moment_hit_no_task_that_was_not_meant(server, peer):
    """Two batches at a time, of which every third is cancelled, and signals without a reason in between."""
    job, settings = server.write_job(stage_of(lambda n: n, 400))
    peer.send("stage", job, 0, settings)
    pid = server.pids[0]
    for round_ in range(150):
        victim, bystander = (server.send_batch(peer, job, 0, range(200 * part, 200 * part + 200)) for part in (0, 1))
        time.sleep(0.0001 * (round_ % 12))
        if round_ % 3 == 0:
            server.cancel(peer, victim, pid)
        os.kill(pid, signal.SIGUSR1)
        assert {entry[1] for entry in server.done(victim, 200)} <= {FINISHED, CANCELLED}
        assert {entry[1] for entry in server.done(bystander, 200)} == {FINISHED}


def test_long_batches_are_reported_in_parts(server, peer):
    job, settings = server.write_job(stage_of(Sleep(0.03), 4))
    peer.send("stage", job, 0, settings)
    batch = server.send_batch(peer, job, 0, range(4))
    assert len(server.expect("done")[1][2]) < 4
    path = out_path(settings["directory"], 0, 0)
    wait_for(lambda: len(list(scan(path))) == 4)
    rest = 0
    while rest < 3:
        message = server.expect("done")[1]
        assert message[1] == batch
        rest += len(message[2])


def test_a_task_that_forks_and_returns_twice_is_counted_once(server, peer):
    entries = server.run(peer, lambda _: os.fork(), tasks=3)
    assert [entry[1] for entry in entries] == [FINISHED] * 3
    assert all(pickle.loads(server.payload(entry)) > 0 for entry in entries)


def test_what_tasks_print_is_in_the_log(server, peer):
    server.run(peer, lambda n: print(f"said by task {n}", chr(0xDC80)), tasks=2)
    with open(os.path.join(server.directory, "logs", "executor-0.log")) as log:
        text = log.read()
    assert "said by task 0" in text and "said by task 1" in text


def test_an_empty_batch_is_answered(server, peer):
    job, settings = server.write_job(stage_of(lambda n: n))
    peer.send("stage", job, 0, settings)
    peer.send("run", 10_000, job, 0, [])
    assert server.expect("done")[1] == ("done", 10_000, [])


def test_forgetting_a_job_closes_its_files(server, peer):
    def open_files():
        folder, found = f"/proc/{server.pids[0]}/fd", []
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed while we look
                found.append(os.readlink(f"{folder}/{fd}"))
        return found

    server.run(peer, lambda n: n, memory_bytes=10**9)
    folder = os.path.join(server.directory, "jobs", str(server.job))
    assert any(path.startswith(folder) for path in open_files())
    for job in range(1, server.job + 1):
        peer.send("forget", job)
    wait_for(lambda: not any("/jobs/" in path or path.endswith("statm") for path in open_files()))
