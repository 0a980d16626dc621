"""The control protocol: frames, and an engine's side that nothing from outside can upset."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.service import FakeService

from dovetail.execution.control import MAX_HEADER_BYTES, Frame, FrameReader, encode
from dovetail.execution.control_hub import HELLO_S, MAX_CONNECTIONS, Connection, ControlHub
from dovetail.execution.errors import ProtocolError
from dovetail.execution.spec import JobSpec, StageSpec

plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
plain |= st.text(max_size=10)
headers = st.dictionaries(st.text(max_size=8), plain | st.lists(plain, max_size=4), max_size=5)
frames = st.builds(Frame, headers, st.binary(max_size=40))


@given(st.lists(frames, max_size=4), st.data())
def test_frames_come_out_as_they_went_in_however_the_bytes_are_cut(sent, data):
    stream = b"".join(piece for frame in sent for piece in encode(frame))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reader = FrameReader()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == sent
    assert reader.is_between_frames


@given(st.binary(max_size=200))
def test_garbage_is_an_error_of_the_protocol_or_a_frame(garbage):
    try:
        for frame in FrameReader().feed(garbage):
            assert isinstance(frame.header, dict)
    except ProtocolError:
        pass


def raw(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<IQ", len(header), len(body)) + header + body


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (raw(b"[1]"), "a header that is list; expected a JSON object"),
        (raw(b"{"), "no JSON"),
        (raw(b'{"a": NaN}'), "NaN is no JSON number"),
        (raw(b"\xff\xfe"), "no JSON"),
        (raw(b"[" * 100_000), "no JSON"),
        (raw(b'{"a": ' + b"1" * 5000 + b"}"), "no JSON"),
        (struct.pack("<IQ", MAX_HEADER_BYTES + 1, 0), "a header of 16,777,217 bytes is announced"),
        (struct.pack("<IQ", 2, 2**60), "a body of 1,152,921,504,606,846,976 bytes is announced"),
    ],
)
def test_what_is_no_frame_is_refused(stream, message):
    with pytest.raises(ProtocolError, match=message):
        FrameReader().feed(stream)


def test_too_much_is_not_sent_either():
    with pytest.raises(ProtocolError, match="a header of"):
        encode(Frame({"a": "x" * MAX_HEADER_BYTES}))


def ask(connection: Connection, header: dict, body: bytes = b"", now_s: float = 0.0) -> dict | None:
    """The reply, or None if there is none yet."""
    connection.feed(b"".join(encode(Frame(header, body))), now_s)
    return reply(connection)


def reply(connection: Connection) -> dict | None:
    stream = b"".join(bytes(piece) for piece in connection.output)
    connection.output.clear()
    found = FrameReader().feed(stream)
    return {**found[0].header, "body": found[0].body} if found else None


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def hub(service: FakeService) -> ControlHub:
    return ControlHub(service, token="a token of some length")


@pytest.fixture
def client(hub: ControlHub) -> Connection:
    return hub.open(0.0, trusted=True)


SPEC = JobSpec("count", (StageSpec("map", 5), StageSpec("sum", 1, (0,), inputs=True)))


def submit(client: Connection, key: str = "") -> dict | None:
    return ask(client, {"op": "submit", "spec": SPEC.to_json(), "key": key}, b"payload")


def test_a_job_is_submitted_once_for_a_key(client, service):
    assert submit(client, "k") == {"ok": True, "job": 0, "body": b""}
    assert submit(client, "k")["job"] == 0
    assert submit(client, "l")["job"] == 1
    assert service.specs == {0: SPEC, 1: SPEC} and service.payloads[0] == b"payload"


def test_a_job_that_cannot_be_is_refused_and_the_connection_lives(client, service):
    circle = {"name": "j", "stages": [{"name": "a", "tasks": 1, "after": [0]}]}
    found = ask(client, {"op": "submit", "spec": circle})
    assert found["ok"] is False and found["kind"] == "InvalidJob" and "circle: 'a' -> 'a'" in found["error"]
    assert ask(client, {"op": "ping"})["ok"] and not service.specs and not client.is_over


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"op": "sumbit"}, "unknown request 'sumbit'; did you mean 'submit'"),
        ({}, "unknown request None"),
        ({"op": ["ping"]}, "unknown request"),
        ({"op": "job"}, "job is None; expected a whole number"),
        ({"op": "job", "job": True}, "job is True"),
        ({"op": "job", "job": -1}, "job is -1"),
        ({"op": "job", "job": 2**80}, "expected a whole number"),
        ({"op": "job", "job": 7}, "no job has number 7"),
        ({"op": "drain", "on": 1}, "on is 1; expected true or false"),
        ({"op": "wait", "job": 0, "timeout_s": "x"}, "timeout_s is 'x'"),
        ({"op": "results", "job": 0, "stage": 0, "start": 0.5, "count": 1}, "start is 0.5"),
        ({"op": "submit"}, "a job is NoneType"),
        ({"op": "submit", "spec": SPEC.to_json(), "key": "k" * 201}, "expected text of 200"),
    ],
)
def test_requests_that_make_no_sense(client, header, message):
    submit(client)
    found = ask(client, header)
    assert found["ok"] is False and message in found["error"]
    assert ask(client, {"op": "ping"})["ok"]


def test_a_bug_in_the_engine_is_told_and_survived(client, caplog):
    found = ask(client, {"op": "swap", "scheduler": "dag/fair"})
    assert found["error"] == "the engine failed at 'swap': ZeroDivisionError: a bug"
    assert "a bug" in caplog.text
    assert ask(client, {"op": "ping"})["ok"]


def test_results_are_cut_out_of_the_body(client):
    submit(client)
    found = ask(client, {"op": "results", "job": 0, "stage": 0, "start": 1, "count": 5})
    assert found["ok_flags"] == [1, 1, 1] and sum(found["lengths"]) == len(found["body"])


def test_a_body_where_none_belongs(client):
    assert "expected none" in ask(client, {"op": "ping"}, b"x")["error"]


def test_waiting_ends_with_the_job_or_at_the_timeout(client, hub, service):
    submit(client)
    assert hub.next_timer_s() == float("inf")
    assert ask(client, {"op": "wait", "job": 0, "timeout_s": 5}, now_s=1.0) is None
    assert hub.next_timer_s() == 6.0
    hub.on_time(5.9)
    assert reply(client) is None
    hub.on_time(6.0)
    assert reply(client)["state"] == "running"
    assert ask(client, {"op": "wait", "job": 0, "timeout_s": 5}, now_s=7.0) is None
    hub.job_ended(1)
    assert reply(client) is None
    service.states[0] = "succeeded"
    hub.job_ended(0)
    assert reply(client)["state"] == "succeeded"
    assert hub.next_timer_s() == float("inf")
    assert ask(client, {"op": "wait", "job": 0, "timeout_s": 5}, now_s=8.0)["state"] == "succeeded"


def test_a_cancel_is_acknowledged_when_it_is_kept(client, hub, service, monkeypatch):
    submit(client)
    reply(client)
    acknowledged = ask(client, {"op": "cancel", "job": 0})
    assert acknowledged is not None and acknowledged["ok"]
    monkeypatch.setattr(service, "cancel", lambda job: False)
    assert ask(client, {"op": "cancel", "job": 0}) is None
    hub.job_ended(0)
    assert reply(client)["ok"]


def test_sending_on_while_waiting_ends_the_connection(client, hub):
    submit(client)
    assert ask(client, {"op": "wait", "job": 0, "timeout_s": 5}) is None
    found = ask(client, {"op": "ping"})
    assert "expected one at a time" in found["error"] and client.is_over
    hub.job_ended(0)
    assert reply(client) is None


def test_two_requests_at_once_end_the_connection(client):
    client.feed(b"".join(encode(Frame({"op": "ping"}))) * 2, 0.0)
    assert "one at a time" in reply(client)["error"] and client.is_over


def test_nothing_is_read_while_a_reply_is_on_its_way(client):
    client.feed(b"".join(encode(Frame({"op": "ping"}))), 0.0)
    assert not client.wants_input
    reply(client)
    assert client.wants_input


def test_garbage_ends_the_connection_with_a_word(client, hub):
    client.feed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 0.0)
    assert "is announced" in reply(client)["error"] and client.is_over
    other = hub.open(0.0, trusted=True)
    assert ask(other, {"op": "ping"})["ok"]


@pytest.mark.parametrize(
    "first",
    [
        {"op": "ping"},
        {"op": "hello"},
        {"op": "hello", "token": ""},
        {"op": "hello", "token": "another"},
        {"op": "hello", "token": ["a token of some length"]},
        {"op": "hello", "token": "\ud800"},
        {"op": "down", "token": "a token of some length"},
    ],
)
def test_strangers_are_turned_away(hub, service, first):
    stranger = hub.open(0.0, trusted=False)
    found = ask(stranger, first)
    assert found["ok"] is False and "token" in found["error"] and stranger.is_over
    assert ask(stranger, {"op": "hello", "token": "a token of some length"}) is None
    assert not service.is_down


def test_no_token_lets_nobody_in(service):
    assert not ask(ControlHub(service).open(0.0, trusted=False), {"op": "hello", "token": ""})["ok"]


def test_the_token_opens_everything(hub):
    connection = hub.open(0.0, trusted=False)
    assert ask(connection, {"op": "hello", "token": "a token of some length"})["ok"]
    assert submit(connection)["job"] == 0
    hub.on_time(1000.0)
    assert not connection.is_over


def test_a_stranger_may_neither_send_much_nor_stay(hub):
    big = hub.open(0.0, trusted=False)
    big.feed(raw(json.dumps({"op": "hello", "token": "x" * 5000}).encode()), 0.0)
    assert big.is_over
    slow = hub.open(100.0, trusted=False)
    slow.feed(b"\x10", 100.0)
    assert hub.next_timer_s() <= 100.0 + HELLO_S
    hub.on_time(100.0 + HELLO_S)
    assert slow.is_over and "no token within" in reply(slow)["error"]


def test_there_is_an_end_to_connections(hub):
    taken = [hub.open(0.0, trusted=True) for _ in range(MAX_CONNECTIONS)]
    extra = hub.open(0.0, trusted=True)
    assert extra.is_over and "clients are connected" in reply(extra)["error"]
    hub.close(taken[0])
    assert not hub.open(0.0, trusted=True).is_over
