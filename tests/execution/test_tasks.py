import pickle
import time

import pytest
from tests.execution.fake_server import FakeServer, is_alive, stage_of, wait_for

from dovetail.core.errors import ConfigError
from dovetail.execution import process_tree
from dovetail.execution.tasks import Busy, Call, Command, CommandFailed, Io, Memory, Sleep


@pytest.mark.parametrize(
    "function",
    [Command("true"), Command(("true",)), Call("math:sqrt"), Busy(1), Sleep(), Memory(5), Io(5, "/tmp")],
)
def test_all_can_be_pickled(function):
    assert pickle.loads(pickle.dumps(function)) == function


def test_a_command_gives_what_it_printed(tmp_path):
    assert Command(("echo", "-n", "<{argument}>"))("a; b") == "<a; b>"
    assert Command("echo -n {argument} | tr a-z A-Z")("it's; rm") == "IT'S; RM"
    assert Command("echo $COLOUR; pwd", {"COLOUR": "red"}, str(tmp_path))(0) == f"red\n{tmp_path}\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo no luck >&2; exit 3", r"ended with status 3; it said: no luck"),
        ("kill -9 $$", r"was ended by SIGKILL"),
        (("no-such-program",), r"no-such-program: cannot be run: .*No such file"),
    ],
)
def test_a_command_that_fails_says_how(command, message):
    with pytest.raises(CommandFailed, match=message):
        Command(command)(0)


def test_a_cancelled_command_leaves_nothing_running(tmp_path):
    file = tmp_path / "pids"
    with FakeServer() as server:
        peer = server.start_executor(server.start_manager())
        job, settings = server.write_job(
            stage_of(Command("(sleep 3600 & echo $! >> {argument}; wait) | cat"), 1, [file])
        )
        peer.send("stage", job, 0, settings)
        batch = server.send_batch(peer, job, 0, [0])
        pid = int(wait_for(lambda: file.exists() and file.read_text()))
        server.cancel(peer, batch, server.pids[0])
        assert [entry[1] for entry in server.done(batch, 1)] == [2]
        wait_for(lambda: not is_alive(pid))


def test_a_command_cancelled_while_it_is_being_started_leaves_nothing_running():
    with FakeServer() as server:
        peer = server.start_executor(server.start_manager())
        for attempt in range(60):
            job, settings = server.write_job(stage_of(Command(("sleep", "7654.5"))))
            peer.send("stage", job, 0, settings)
            batch = server.send_batch(peer, job, 0, [0])
            time.sleep(0.0002 * (attempt % 40))
            server.cancel(peer, batch, server.pids[0])
            assert [entry[1] for entry in server.done(batch, 1)] == [2]
            assert process_tree.children(server.pids[0]) == []


def test_a_call_looks_its_function_up():
    assert Call("math:sqrt")(9) == 3
    assert Call("os:path.basename")("/a/b") == "b"
    with pytest.raises(ConfigError, match=r"expected 'package\.module:function'"):
        Call("math.sqrt")
    with pytest.raises(ConfigError, match="of type float, expected a function"):
        Call("math:pi")(0)
    with pytest.raises(ModuleNotFoundError):
        Call("no_such_module:function")(0)


def test_busy_uses_cpu_and_sleep_does_not():
    before_s = time.thread_time()
    Busy(0.05)(0)
    Busy()(0.05)
    assert 0.1 <= time.thread_time() - before_s < 0.5
    before_s, started_s = time.thread_time(), time.monotonic()
    Sleep(0.05)(0)
    Sleep()(0.05)
    assert time.monotonic() - started_s >= 0.1
    assert time.thread_time() - before_s < 0.05


def test_memory_and_io_take_what_they_say(tmp_path):
    assert Memory(1_000_000)(0) == Memory()(1_000_000) == 1_000_000
    assert Io(3_000_000, str(tmp_path))(0) == Io()(3_000_000) == 3_000_000
    assert Io(0)(0) == 0
    assert list(tmp_path.iterdir()) == []
