import marshal
import os
import socket
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.execution import wire
from dovetail.execution.wire import Frames, WireError, connect, encode, listen, send

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
messages = st.lists(st.tuples(st.text(), plain), max_size=8)


@given(messages, st.lists(st.integers(1, 40), min_size=1))
def test_messages_survive_any_way_of_cutting_the_stream(sent, cuts):
    stream = b"".join(encode(message) for message in sent)
    frames, received, position, turn = Frames(), [], 0, 0
    while position < len(stream):
        size = cuts[turn % len(cuts)]
        received += frames.feed(stream[position : position + size])
        position, turn = position + size, turn + 1
    assert received == sent


@given(messages)
def test_queue_and_flush_through_a_real_socket(sent):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        out, back, received = Frames(), Frames(), []
        for message in sent:
            out.queue(message)
        while not out.flush(ours) or len(received) < len(sent):
            received += back.receive(theirs)
    assert received == sent
    assert out.unsent_bytes == 0


def test_flush_stops_when_the_socket_is_full_and_goes_on_later():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        out, back = Frames(), Frames()
        out.queue(("big", b"x" * 4_000_000))
        assert not out.flush(ours)
        assert 0 < out.unsent_bytes < 4_000_100
        received = []
        while not received:
            out.flush(ours)
            received += back.receive(theirs)
    assert received == [("big", b"x" * 4_000_000)]


def test_a_closed_peer_is_noticed_in_both_directions():
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        frames = Frames()
        frames.queue(("hello",))
        assert frames.flush(ours)
        assert frames.closed
        other = Frames()
        assert other.receive(ours) == []
        assert other.closed


@pytest.mark.parametrize("value", [1, "text", (), (1, "name second"), ["list"]])
def test_what_is_no_message_is_refused(value):
    body = marshal.dumps(value)
    with pytest.raises(WireError, match="expected a tuple"):
        Frames().feed(wire.LENGTH.pack(len(body)) + body)


@pytest.mark.parametrize("body", [b"", b"?", marshal.dumps(("name", "value"))[:-3]])
def test_a_malformed_frame_is_refused(body):
    with pytest.raises(WireError, match="not a marshalled message"):
        Frames().feed(wire.LENGTH.pack(len(body)) + body)


def test_too_large_frames_are_refused_by_both_ends():
    with pytest.raises(WireError, match="announces"):
        Frames().feed(wire.LENGTH.pack(wire.MAX_FRAME_BYTES + 1))
    with pytest.raises(WireError, match="largest frame"):
        encode(("big", bytes(wire.MAX_FRAME_BYTES)))


@pytest.mark.parametrize("depth", [0, 1])
def test_sockets_work_at_paths_of_any_length(tmp_path, depth):
    folder = tmp_path.joinpath(*["d" * 100] * depth)
    folder.mkdir(exist_ok=True)
    path = os.fspath(folder / "workers.sock")
    with listen(path) as listener:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with connect(path) as client:
            send(client, ("hello", 1))
            server = listener.accept()[0]
            with server:
                assert Frames().feed(server.recv(100)) == [("hello", 1)]


def test_connecting_to_nothing_fails_and_leaves_nothing_open(tmp_path):
    with pytest.raises(FileNotFoundError):
        connect(os.fspath(tmp_path / "none.sock"))
