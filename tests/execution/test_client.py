"""A client over a real socket: what it asks for, what it survives, and what its errors carry."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.execution.service import FakeService, serving

from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.execution.addresses import TcpAddress, control_socket, default_directory, make_token, read_token
from dovetail.execution.client import Client
from dovetail.execution.errors import (
    EngineUnreachable,
    InvalidJob,
    JobCancelled,
    JobFailed,
    ProtocolError,
    RequestRefused,
    WaitTimeout,
)
from dovetail.execution.spec import JobSpec, StageSpec

SPEC = JobSpec("count", (StageSpec("map", 7), StageSpec("sum", 1, (0,), inputs=True)))


@pytest.fixture
def path() -> Iterator[Path]:
    """Of a socket: the temporary directories of pytest may be too long for one."""
    directory = tempfile.mkdtemp(prefix="dv")
    yield Path(directory) / "control.sock"
    shutil.rmtree(directory)


@pytest.fixture
def service() -> FakeService:
    return FakeService()


def test_requests_and_replies(path, service):
    with serving(service, path), Client(path) as client:
        client.ping()
        job = client.submit(SPEC, b"payload" * 1000)
        assert service.specs[job] == SPEC and service.payloads[job] == b"payload" * 1000
        assert client.job(job).stages[0].tasks == 7
        assert client.status().jobs[0].name == "count"
        client.drain()
        client.forget(job)
        assert service.calls == [("drain", True), ("forget", job)]
        assert client.events(3) == {"events": [3]}
        client.cancel(job)
        assert client.job(job).state == "cancelled"
        with pytest.raises(RequestRefused, match="no job has number 9"):
            client.job(9)
        with pytest.raises(RequestRefused, match="the engine failed at 'swap'"):
            client.swap("dag/fair")


def test_only_the_owner_may_open_the_socket(path, service):
    with serving(service, path):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_large_payload_goes_through(path, service):
    payload = os.urandom(1 << 16) * 300
    with serving(service, path), Client(path) as client:
        assert service.payloads[client.submit(SPEC, payload)] == payload


def test_waiting_ends_when_the_job_does(path, service):
    with serving(service, path) as server, Client(path) as client:
        job = client.submit(SPEC, b"")
        assert client.wait(job, 0.0).state == "running"
        assert client.wait(job, 0.05).state == "running"
        timer = threading.Timer(0.1, server.end, (job,))
        timer.start()
        assert client.wait(job, 30.0).state == "succeeded"
        timer.join()


def test_threads_share_a_client(path, service):
    with serving(service, path) as server, Client(path) as client:
        job = client.submit(SPEC, b"")
        states: list[str] = []
        waiting = [threading.Thread(target=lambda: states.append(client.wait(job, 30.0).state)) for _ in range(4)]
        for thread in waiting:
            thread.start()
        client.ping()
        server.end(job)
        for thread in waiting:
            thread.join()
        assert states == ["succeeded"] * 4


def test_a_job_that_ends_while_the_engine_restarts(path, service):
    with Client(path, patience_s=30.0) as client:
        with serving(service, path):
            job = client.submit(SPEC, b"")
        found: list[str] = []
        waiting = threading.Thread(target=lambda: found.append(client.wait(job, 60.0).state))
        waiting.start()
        time.sleep(0.1)
        assert path.is_socket()  # left behind, as by a killed engine
        with serving(service, path) as server:
            server.end(job)
            waiting.join()
        assert found == ["succeeded"]


def test_a_submission_whose_reply_was_lost_is_not_a_second_job(path, service):
    """The first server accepts the job and dies before it answers."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def die_after_accepting() -> None:
        connection, _ = listening.accept()
        data = connection.recv(1 << 20)
        key = data.split(b'"key":"')[1].split(b'"')[0].decode()
        service.submit(SPEC, b"", key)
        connection.close()
        listening.close()

    dying = threading.Thread(target=die_after_accepting)
    dying.start()
    jobs: list[int] = []
    with Client(path, patience_s=30.0) as client:
        submitting = threading.Thread(target=lambda: jobs.append(client.submit(SPEC, b"")))
        submitting.start()
        dying.join()
        with serving(service, path):
            submitting.join()
    assert jobs == [0] and len(service.specs) == 1


def test_nobody_there_is_said_at_once(path):
    start = time.monotonic()
    with pytest.raises(EngineUnreachable, match=r"no engine answered at .*; `dovetail up` starts one"):
        Client(path).ping()
    assert time.monotonic() - start < 5
    with pytest.raises(EngineUnreachable, match=r"for 0.1 s"):
        Client(path, first_patience_s=0.1).ping()


def test_an_engine_that_does_not_come_back(path, service):
    with Client(path, patience_s=0.2) as client:
        with serving(service, path):
            client.ping()
        with pytest.raises(EngineUnreachable, match=r"no engine answered at .* for 0.2 s"):
            client.ping()


def test_two_engines_in_one_directory(path, service):
    running = pytest.raises(ConfigError, match="an engine is running there already")
    with serving(service, path), running, serving(FakeService(), path):
        pass
    path.unlink()
    path.write_text("mine")
    with pytest.raises(ConfigError, match="is no socket"), serving(service, path):
        pass


def test_down(path, service):
    with Client(path) as client:
        with serving(service, path):
            client.down()
        assert service.is_down
    with pytest.raises(EngineUnreachable):
        Client(path).down()


def test_over_tcp_with_the_token_only(service):
    with serving(service, token="a token of some length") as server:
        assert server.address is not None
        with Client(server.address, token="a token of some length") as client:
            assert client.submit(SPEC, b"x" * 100_000) == 0
            client.ping()
        with Client(server.address, token="another") as client, pytest.raises(RequestRefused, match="token"):
            client.submit(SPEC, b"")
        with Client(server.address) as client, pytest.raises(RequestRefused, match="token"):
            client.down()
    assert len(service.specs) == 1 and not service.is_down


def test_an_engine_of_another_kind(path):
    """Whatever answers there, it is told and not guessed at."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def answer() -> None:
        connection, _ = listening.accept()
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.close()

    other = threading.Thread(target=answer)
    other.start()
    with pytest.raises(ProtocolError, match="is announced"):
        Client(path).ping()
    other.join()
    listening.close()


def test_garbage_from_one_client_leaves_the_others_alone(path, service):
    with serving(service, path), Client(path) as client:
        with socket.socket(socket.AF_UNIX) as bad:
            bad.connect(str(path))
            bad.sendall(b"\xff" * 1000)
            client.ping()
            assert b"is announced" in bad.recv(1000)
        with socket.socket(socket.AF_UNIX) as half:
            half.connect(str(path))
            half.sendall(b"\x10")
            client.ping()
        client.ping()


def test_errors_survive_pickling():
    for error in (JobFailed(1, "j", "s", 2, "m", "t"), JobCancelled(1, "j"), WaitTimeout("x"), InvalidJob("y")):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy)) == (type(error), str(error))
    assert isinstance(WaitTimeout("x"), TimeoutError) and issubclass(JobFailed, DovetailError)


def test_where_engines_are(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "dovetail" / "default"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_directory() == Path("/home/somebody/.local/state/dovetail/default")
    assert control_socket("/run/x") == Path("/run/x/control.sock")
    with pytest.raises(ConfigError, match="choose a shorter --directory"):
        control_socket("/run/" + "x" * 100)


def test_tcp_addresses():
    assert TcpAddress.parse("127.0.0.1:7700") == TcpAddress("127.0.0.1", 7700)
    assert str(TcpAddress.parse("[::1]:80")) == "[::1]:80"
    for text in ("7700", ":7700", "a:b", "a:70000", "a:-1", "", "a:²"):
        with pytest.raises(ConfigError, match="expected HOST:PORT"):
            TcpAddress.parse(text)


def test_tokens(tmp_path):
    token = make_token(tmp_path / "token")
    assert len(token) > 30 and read_token(tmp_path / "token") == make_token(tmp_path / "token") == token
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    (tmp_path / "short").write_text("abc\n")
    with pytest.raises(ConfigError, match="a token of 3 characters"):
        read_token(tmp_path / "short")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_token(tmp_path / "none")


def test_stages_by_name_only(path, service):
    from dovetail.execution.handle import JobHandle

    with serving(service, path) as server, Client(path) as client:
        handle = JobHandle(client, client.submit(SPEC, b""))
        with pytest.raises(WaitTimeout, match=r"job 0 \('count'\) has not ended after 0.01 s"):
            handle.wait(0.01)
        server.end(0)
        assert handle.results("map") == [(0, task) for task in range(7)]
        assert handle.results(1) == [(1, 0)]
        for wrong in ("mpa", 2, -1):
            with pytest.raises(UnknownName, match="unknown stage"):
                handle.results(wrong)
