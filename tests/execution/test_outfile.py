import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.execution import outfile
from dovetail.execution.outfile import HEADER_BYTES, OutFile, OutFileError, out_path, read, scan

records = st.lists(
    st.tuples(
        st.integers(0, 2**32 - 1),
        st.integers(0, 2**64 - 1),
        st.integers(0, 1),
        st.binary(max_size=60),
        st.floats(allow_nan=False),
        st.floats(allow_nan=False),
        st.booleans(),
    ),
    max_size=8,
)


def write(path, written) -> list[int]:
    out = OutFile(str(path))
    offsets = []
    for *fields, flush in written:
        offsets.append(out.add(*fields))
        if flush:
            out.flush()
    out.flush()
    out.close()
    return offsets


@given(written=records)
def test_everything_comes_back(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("out") / "out-0-0"
    offsets = write(path, written)
    found = list(scan(str(path)))
    assert [record.offset for record in found] == offsets
    for (stage, task, ok, payload, started_s, ended_s, _), record in zip(written, found, strict=True):
        assert record == (stage, task, ok, record.offset, len(payload), started_s, ended_s)
        assert read(str(path), record.offset, record.length) == payload
    for first, offset in enumerate(offsets):
        assert list(scan(str(path), offset)) == found[first:]
    if found:
        assert list(scan(str(path), found[-1].end)) == []


def test_a_tail_torn_at_any_byte_costs_the_last_record_only(tmp_path):
    path = str(tmp_path / "out-0-0")
    offsets = write(path, [(0, task, 1, b"result %d" % task, 1.0, 2.0, True) for task in range(3)])
    whole = os.path.getsize(path)
    for size in range(whole - 1, offsets[-1] - 1, -1):
        os.truncate(path, size)
        assert [record.task for record in scan(path)] == [0, 1]
    with pytest.raises(OutFileError, match="ends after 0 of"):
        read(path, offsets[-1], 8)


def test_damage_anywhere_in_a_record_ends_the_scan_and_fails_the_read(tmp_path):
    path = tmp_path / "out-0-0"
    first, second = write(path, [(0, 7, 1, b"one", 1.0, 2.0, True), (0, 8, 1, b"two", 2.0, 3.0, True)])
    whole = path.read_bytes()
    for position in range(second, len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        path.write_bytes(damaged)
        assert [record.task for record in scan(str(path))] == [7]
        with pytest.raises(OutFileError):
            read(str(path), second, 3)
        assert read(str(path), first, 3) == b"one"


def test_zeros_after_the_last_record_are_no_record(tmp_path):
    path = tmp_path / "out-0-0"
    write(path, [(0, 7, 1, b"one", 1.0, 2.0, True)])
    with open(path, "ab") as file:
        file.write(bytes(1000))
    assert [record.task for record in scan(str(path))] == [7]


def test_a_wrong_place_is_named(tmp_path):
    path = str(tmp_path / "out-0-0")
    write(path, [(0, 0, 1, b"payload", 1.0, 2.0, True)])
    with pytest.raises(OutFileError, match="no record of 3 bytes starts at 0"):
        read(path, 0, 3)
    with pytest.raises(OutFileError, match="cannot be opened"):
        read(path + "-none", 0, 3)
    assert list(scan(path + "-none")) == []


def test_large_payloads_and_many_records_are_written_whole(tmp_path):
    path = out_path(str(tmp_path), 3, 4)
    assert path.endswith("out-3-4")
    large = os.urandom(3 * outfile.GROUP_BYTES)
    write(path, [(0, task, 1, b"small", 1.0, 2.0, False) for task in range(6000)] + [(0, 6000, 1, large, 1, 2, False)])
    found = list(scan(path))
    assert [record.task for record in found] == list(range(6001))
    assert read(path, found[-1].offset, found[-1].length) == large


def test_a_file_that_exists_is_continued(tmp_path):
    path = str(tmp_path / "out-0-0")
    for task in range(2):
        write(path, [(0, task, 1, b"x", 1.0, 2.0, True)])
    assert [record.task for record in scan(path)] == [0, 1]


def test_what_the_kernel_takes_in_pieces_is_whole(tmp_path, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: real(fd, data[:7], position))
    path = str(tmp_path / "out-0-0")
    write(path, [(0, task, 1, b"x" * 20, 1.0, 2.0, True) for task in range(3)])
    assert [record.task for record in scan(path)] == [0, 1, 2]


def test_what_cannot_be_written_leaves_no_trace(tmp_path, monkeypatch):
    path = str(tmp_path / "out-0-0")
    out = OutFile(path)
    out.add(0, 0, 1, b"kept", 1.0, 2.0)
    out.flush()
    real = os.pwrite

    def half(fd, data, position):
        if position == kept:
            return real(fd, data[:10], position)
        raise OSError(28, "No space left on device")

    kept = os.path.getsize(path)
    monkeypatch.setattr(os, "pwrite", half)
    out.add(0, 1, 1, b"lost", 1.0, 2.0)
    with pytest.raises(OSError, match="No space"):
        out.flush()
    monkeypatch.undo()
    assert os.path.getsize(path) == kept
    assert out.unflushed_bytes == HEADER_BYTES + 4  # for another try
    out.drop()
    assert out.unflushed_bytes == 0
    assert out.add(0, 2, 1, b"later", 1.0, 2.0) == kept
    out.flush()
    out.close()
    assert [record.task for record in scan(path)] == [0, 2]
    assert os.path.getsize(path) == kept + HEADER_BYTES + 5


def test_what_found_no_room_is_written_at_the_next_try(tmp_path):
    path = str(tmp_path / "out-0-0")
    os.symlink("/dev/full", path)
    out = OutFile(path)
    offsets = [out.add(0, 0, 1, b"first", 1.0, 2.0)]
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            out.flush()
    offsets.append(out.add(0, 1, 1, b"second", 1.0, 2.0))
    os.unlink(path)
    out.flush()
    out.close()
    assert [(record.task, record.offset) for record in scan(path)] == list(enumerate(offsets))
