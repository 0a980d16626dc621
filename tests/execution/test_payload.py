import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.execution.payload import HEADER, STAGE, Payload, PayloadError, StagePayload, encode

blobs = st.binary(max_size=30)


@st.composite
def stages(draw):
    tasks = draw(st.integers(1, 6))
    arguments = draw(st.none() | st.lists(blobs, min_size=tasks, max_size=tasks) | blobs.map(lambda b: [b] * tasks))
    return StagePayload(draw(blobs), tasks, arguments)


@given(st.lists(stages(), max_size=6))
def test_everything_comes_back(written):
    payload = Payload.from_bytes(encode(written))
    assert payload.stages == len(written)
    assert Payload.from_bytes(payload.to_bytes()).to_bytes() == payload.to_bytes()
    for number, stage in enumerate(written):
        assert payload.function(number) == stage.function
        assert payload.tasks(number) == stage.tasks
        for task in range(stage.tasks):
            blob = payload.argument_blob(number, task)
            assert blob is None if stage.arguments is None else bytes(blob) == stage.arguments[task]


def test_a_file_is_mapped_and_arguments_are_unpickled(tmp_path):
    written = [StagePayload(b"f", 3, [pickle.dumps(each) for each in ("a", "b", "c")]), StagePayload(b"g", 5)]
    Payload.from_bytes(encode(written)).write(tmp_path / "payload")
    assert [path.name for path in tmp_path.iterdir()] == ["payload"]
    payload = Payload.open(tmp_path / "payload")
    argument = payload.argument_reader(0)
    assert [argument(task) for task in range(3)] == ["a", "b", "c"]
    assert payload.argument_reader(1) is None
    with pytest.raises(PayloadError, match="has 3 tasks"):
        argument(3)
    with pytest.raises(PayloadError, match="has 2 stages"):
        payload.function(2)
    payload.close()


def test_equal_arguments_share_one_blob():
    blob = bytes(1000)
    assert len(encode([StagePayload(b"f", 1000, [blob] * 1000)])) < 2000


def test_numpy_can_read_the_argument_table():
    data = encode([StagePayload(b"odd", 2, [b"x", b"yz"]), StagePayload(b"f", 3, [b"a", b"bb", b"ccc"])])
    at = STAGE.unpack_from(data, HEADER.size + STAGE.size)[4]
    assert at % 8 == 0
    assert np.diff(np.frombuffer(data, "<u8", 4, at)).tolist() == [1, 2, 3]


@given(st.lists(stages(), min_size=1, max_size=3), st.data())
def test_a_payload_cut_anywhere_is_refused(written, data):
    whole = encode(written)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(PayloadError):
        Payload.from_bytes(whole[:cut])


@given(st.lists(stages(), min_size=1, max_size=3), st.data())
def test_a_flipped_byte_is_refused_or_stays_within_the_file(written, data):
    damaged = bytearray(encode(written))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        payload = Payload.from_bytes(damaged)
        for stage in range(payload.stages):
            payload.function(stage)
            for task in range(min(payload.tasks(stage), 10)):
                payload.argument_blob(stage, task)
    except PayloadError:
        pass


def test_foreign_files_are_named(tmp_path):
    path = tmp_path / "payload"
    for content, message in ((b"", "is empty"), (b"PK\x03\x04" * 20, "not a payload")):
        path.write_bytes(content)
        with pytest.raises(PayloadError, match=rf"payload: .*{message}"):
            Payload.open(path)
    with pytest.raises(PayloadError, match="cannot be opened: No such file"):
        Payload.open(tmp_path / "none")
    data = bytearray(encode([]))
    data[8] = 9
    with pytest.raises(PayloadError, match="version 9"):
        Payload.from_bytes(data)


def test_a_stage_has_as_many_arguments_as_tasks():
    with pytest.raises(PayloadError, match="2 tasks has 1 arguments"):
        StagePayload(b"", 2, [b""])
    with pytest.raises(PayloadError, match="0 tasks"):
        StagePayload(b"", 0)
