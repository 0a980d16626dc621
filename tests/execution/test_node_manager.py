import os
import pickle
import signal
import subprocess
import sys
import time

import pytest
from tests.execution.fake_server import FakeServer, is_alive, stage_of, wait_for

from dovetail.execution import process_tree
from dovetail.execution.outfile import out_path, scan
from dovetail.execution.tasks import Command, Memory, Sleep


@pytest.fixture
def server():
    with FakeServer() as server:
        yield server


def start_task(server, peer, function, tasks=1, **more) -> int:
    job, settings = server.write_job(stage_of(function, tasks))
    peer.send("stage", job, 0, settings | more)
    return server.send_batch(peer, job, 0, range(tasks))


def test_executors_of_several_incarnations_are_told_apart(server):
    manager = server.start_manager()
    first = server.start_executor(manager, 0, 0)
    server.start_executor(manager, 1, 0)
    first.send("stop")
    assert server.expect("exit")[1] == ("exit", 0, 0, "exit", "exit status 0")
    manager.send("kill", 0, 0, "too late: it is gone")
    server.start_executor(manager, 0, 1)
    manager.send("kill", 0, 1, "no longer wanted")
    assert server.expect("exit")[1] == ("exit", 0, 1, "killed", "no longer wanted")
    assert server.log == []


@pytest.mark.parametrize(
    ("function", "why", "detail"),
    [
        (lambda _: os._exit(3), "exit", "exit status 3"),
        (lambda _: os.kill(os.getpid(), signal.SIGKILL), "signal", "SIGKILL"),
        (lambda _: os.kill(os.getpid(), signal.SIGSEGV), "signal", "SIGSEGV"),
    ],
)
def test_tasks_that_end_the_process(server, function, why, detail):
    peer = server.start_executor(server.start_manager())
    start_task(server, peer, function)
    assert server.expect("exit")[1] == ("exit", 0, 0, why, detail)


def test_what_finished_before_a_kill_is_in_the_out_file(server):
    def function(task):
        if task == 2:
            time.sleep(3600)
        time.sleep(0.005)
        return task

    manager = server.start_manager()
    peer = server.start_executor(manager)
    start_task(server, peer, function, tasks=4)
    path = out_path(os.path.join(server.directory, "jobs", "1"), 0, 0)
    wait_for(lambda: len(list(scan(path))) == 2)
    os.kill(server.pids[0], signal.SIGKILL)
    server.expect("exit")
    assert [(record.task, record.ok) for record in scan(path)] == [(0, 1), (1, 1)]


def test_an_executor_beyond_its_memory_is_killed(server):
    peer = server.start_executor(server.start_manager(), memory_bytes=50_000_000)
    assert [entry[1] for entry in server.run(peer, Memory(10_000_000))] == [1]
    start_task(server, peer, Memory(200_000_000, hold_s=3600))
    _, executor, _, why, detail = server.expect("exit")[1]
    assert (executor, why) == (0, "memory")
    assert "more than its limit of" in detail


def grandchildren(server, peer) -> list[int]:
    """Processes started by a task: one in the executor's session, one that has left it, one in the background."""

    def function(_):
        import subprocess

        plain = subprocess.Popen(["sleep", "3600"])
        apart = subprocess.Popen(["sleep", "3600"], start_new_session=True)
        shell = subprocess.run("sleep 3600 >/dev/null 2>&1 & echo $!", shell=True, capture_output=True, check=True)
        return [plain.pid, apart.pid, int(shell.stdout)]

    (entry,) = server.run(peer, function)
    pids = pickle.loads(server.payload(entry))
    assert all(is_alive(pid) for pid in pids)
    return pids


def test_a_dead_executor_leaves_nothing_of_its_session(server):
    manager = server.start_manager()
    plain, apart, background = grandchildren(server, server.start_executor(manager))
    other = server.start_executor(manager, 1)
    os.kill(server.pids[0], signal.SIGKILL)
    server.expect("exit")
    wait_for(lambda: not is_alive(plain) and not is_alive(background))
    assert is_alive(apart)  # it has gone its own way; it ends with the node manager
    assert [entry[1] for entry in server.run(other, lambda n: n, directory=server.directory)] == [1]
    manager.send("stop")
    wait_for(lambda: not is_alive(apart))


@pytest.mark.parametrize("end", ["stop", "close", "SIGTERM"])
def test_the_node_manager_takes_everything_along(server, end):
    manager = server.start_manager()
    peer = server.start_executor(manager)
    pids = grandchildren(server, peer)
    busy = server.start_executor(manager, 1)
    start_task(server, busy, Sleep(3600))
    if end == "stop":
        manager.send("stop")
    elif end == "close":
        server.selector.unregister(manager.sock)
        manager.sock.close()
    else:
        server.managers[0].send_signal(signal.SIGTERM)
    assert server.managers[0].wait(60) == 0
    assert not any(is_alive(pid) for pid in [*pids, *server.pids])


def test_a_killed_node_manager_takes_executors_and_their_commands_along(server):
    manager = server.start_manager()
    idle, busy = server.start_executor(manager, 0), server.start_executor(manager, 1)
    start_task(server, busy, Command(("sleep", "3600")))
    (command,) = wait_for(lambda: process_tree.children(server.pids[1]))
    start_task(server, idle, Sleep(3600))
    server.managers[0].kill()
    server.managers[0].wait(60)
    wait_for(lambda: not any(is_alive(pid) for pid in [*server.pids, command]))


def test_a_killed_server_takes_the_node_manager_along(server):
    """The server here is a process of its own that starts a node manager and does nothing more."""
    code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-m', 'dovetail.execution.node_manager', *sys.argv[1:]])\n"
        "time.sleep(3600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, "--socket", server.socket_path, "--node", "x"]) as parent:
        manager, message = server.expect("node")
        server.start_executor(manager)
        parent.kill()
    wait_for(lambda: not is_alive(message[2]) and not is_alive(server.pids[0]))


def test_an_idle_node_manager_uses_no_cpu(server):
    manager = server.start_manager()
    server.start_executor(manager)

    def switches() -> int:
        with open(f"/proc/{server.managers[0].pid}/status") as file:
            return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)

    before = switches()
    time.sleep(1.0)
    assert switches() - before < 5  # looking ten times a second would be ten


def test_no_server_is_an_error_in_one_line(tmp_path):
    command = [
        sys.executable,
        "-m",
        "dovetail.execution.node_manager",
        "--socket",
        str(tmp_path / "none"),
        "--node",
        "x",
    ]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr == "node manager x: [Errno 2] No such file or directory\n"


def test_garbage_from_the_server_ends_the_node_manager(server):
    manager = server.start_manager()
    server.start_executor(manager)
    manager.sock.send(b"\xff" * 8)
    assert server.managers[0].wait(60) == 1


def test_the_node_manager_loads_no_heavy_library():
    code = "import sys, dovetail.execution.node_manager; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pyarrow", "cloudpickle", "asyncio", "multiprocessing"} & set(loaded)
