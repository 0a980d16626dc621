"""Pickles are programs.  These ones try, and nothing happens."""

import contextlib
import io
import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.workloads.readers.safe_npy import UnsafeFile, read_npy


def save(path, value):
    np.save(path, np.array(value, dtype=object) if isinstance(value, dict) else value, allow_pickle=True)
    return path


def save_pickle(path, payload: bytes):
    """An object array's file whose pickle is this one."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": ()})
    path.write_bytes(header.getvalue() + payload)
    return path


class Runs:
    """Runs a function when it is unpickled."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {0: {"first_wave": {2: x}}}, lambda x: [x, x]])
def test_a_malicious_pickle_never_runs(tmp_path, protocol, wrap):
    victim = tmp_path / "created"
    payload = pickle.dumps(wrap(Runs(os.mkdir, str(victim))), protocol)
    pickle.loads(payload)  # it does work
    assert victim.exists()
    victim.rmdir()
    with pytest.raises(UnsafeFile, match="mkdir"):
        read_npy(save_pickle(tmp_path / "evil.npy", payload))
    assert not victim.exists()


@pytest.mark.parametrize(
    "function",
    [eval, exec, os.system, getattr, __import__, np.load, np.fromfile, pickle.loads, bytearray, open],
)
def test_nothing_but_the_four_names_is_looked_up(tmp_path, function):
    with pytest.raises(UnsafeFile, match="asks for"):
        read_npy(save_pickle(tmp_path / "evil.npy", pickle.dumps(Runs(function, "x"))))


def test_attributes_reached_through_dots_are_refused(tmp_path):
    payload = b"\x80\x04\x8c\x05numpy\x8c\x12ndarray.__reduce__\x93."
    with pytest.raises(UnsafeFile, match="asks for"):
        read_npy(save_pickle(tmp_path / "evil.npy", payload))


def _forged(dtype_state: bytes, array_type: bytes = b"cnumpy\nndarray\n") -> bytes:
    """An array of 8 raw bytes whose dtype is given a state that does not fit it."""
    return (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n"
        + array_type
        + b"K\x00\x85U\x01b\x87R(K\x01K\x01\x85cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R"
        + dtype_state
        + b"b\x89U\x08AAAAAAAAtb."
    )


@pytest.mark.parametrize(
    "payload",
    [
        _forged(b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"),  # flags say: no objects inside
        _forged(b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?t"),
        _forged(b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?t", b"cnumpy\ndtype\n"),
        b"\x80\x02cnumpy\ndtype\nU\x03V99\x85R.",
        b"\x80\x02cnumpy\nndarray\nJ\x00\x00\x00\x7f\x85R.",  # a huge array
        b"\x80\x02cnumpy\nndarray\n}U\x01xK\x01sb.",  # set an attribute
        b"\x80\x02cnumpy\nndarray\n.",
        b"\x80\x02cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\x02O8\x85RU\x01x\x86R.",
        b"\x80\x02U\x04nameQ.",  # persistent id
        b"\x80\x02\x82\x01.",  # extension registry
        b"\x80\x02",
        b"",
        b"garbage",
    ],
)
def test_forged_and_damaged_pickles_are_errors(tmp_path, payload):
    with pytest.raises(UnsafeFile):
        read_npy(save_pickle(tmp_path / "forged.npy", payload))


def test_claims_of_huge_sizes_cost_nothing(tmp_path):
    for payload in (
        b"\x80\x04K\x01r\xff\xff\xff\xff.",  # a place in the memo far beyond its end
        b"\x80\x04\x8e" + b"\xff\xff\xff\xff\xff\xff\xff\x0f" + b"xx.",  # bytes that are not there
    ):
        with contextlib.suppress(UnsafeFile):
            assert read_npy(save_pickle(tmp_path / "big.npy", payload)) == 1


@pytest.mark.parametrize("wrap", [lambda x: (x, x), lambda x: [x, x], lambda x: {0: x, 1: x}])
def test_shared_parts_are_not_copied_again_and_again(tmp_path, wrap):
    value = [1]
    for _ in range(60):  # 2^60 parts if each were a copy
        value = wrap(value)
    assert read_npy(save_pickle(tmp_path / "laughs.npy", pickle.dumps(value)))


@given(st.data())
def test_damage_anywhere_gives_data_or_an_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.npy"
    good = save(path, {0: {"w": {2: [1, 2]}}, 1: np.arange(3.0), 2: np.float64(1)}).read_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    path.write_bytes(good[:place] + data.draw(st.binary(max_size=4)) + good[place + 1 :])
    with contextlib.suppress(UnsafeFile):
        read_npy(path)


def test_deep_nesting_and_circles_end(tmp_path):
    payload = b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b"."
    with pytest.raises(UnsafeFile):
        read_npy(save_pickle(tmp_path / "deep.npy", payload))
    circle = {0: []}
    circle[0].append(circle)
    read = read_npy(save_pickle(tmp_path / "circle.npy", pickle.dumps(circle)))
    assert read[0][0] is read


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<i4", "|b1", "<U3", "<c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_plain_arrays_are_read(tmp_path, dtype, order):
    array = np.asarray(np.arange(6).reshape(2, 3).astype(dtype), order=order)
    read = read_npy(save(tmp_path / "a.npy", array))
    np.testing.assert_array_equal(read, array)


def test_arrays_and_numbers_inside_objects_are_read(tmp_path):
    value = {
        0: {"wave": {np.int64(2): np.arange(3), 5: [1, 2.5, np.float32(0.5)]}},
        "grid": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "mixed": np.array([1, "x", None], dtype=object),
    }
    read = read_npy(save(tmp_path / "a.npy", value))
    assert read[0]["wave"][2].tolist() == [0, 1, 2]
    assert read[0]["wave"][5] == [1, 2.5, 0.5]
    np.testing.assert_array_equal(read["grid"], value["grid"])
    assert read["mixed"].tolist() == [1, "x", None]


@pytest.mark.parametrize("protocol", range(5))
def test_every_protocol_is_read(tmp_path, protocol):
    value = np.array({0: [1, 2], "a": np.arange(2.0)}, dtype=object)
    if protocol < 3:  # then Python 3 writes bytes as a call of codecs.encode; only Python 2 wrote them plainly
        value = np.array({0: [1, 2]}, dtype=object)
        value = value.item()
    read = read_npy(save_pickle(tmp_path / "a.npy", pickle.dumps(value, protocol)))
    assert read[0] == [1, 2]


def test_damaged_plain_files(tmp_path):
    path = save(tmp_path / "a.npy", np.arange(10.0))
    data = path.read_bytes()
    for cut in (0, 5, 30, len(data) - 3):
        path.write_bytes(data[:cut])
        with pytest.raises(UnsafeFile):
            read_npy(path)
    path.write_bytes(data.replace(b"(10,)", b"(10000000000000,)"[: len(b"(10,)")]))
    with pytest.raises(UnsafeFile):
        read_npy(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_npy(tmp_path / "none.npy")
