import pytest

from dovetail.cluster.elastic_speed import SpeedPoint
from dovetail.cluster.elastic_speed_file import read_speeds
from dovetail.core.errors import InvalidWorkload

GOOD = "('net', 'dist_sync', 32, 2, 3, [8.0, 8.0, 16.0], [1.9, 1.1], [0.6, 0.6, 0.6])"


def write(folder, text):
    (folder / "s.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "s.txt"


def faults_of(path):
    with pytest.raises(InvalidWorkload) as caught:
        read_speeds(path)
    return caught.value.faults


def test_points_by_model_mode_and_batch(tmp_path):
    text = f"\ufeff# measured\n{GOOD}\n\n('net', 'async', 16, 1, 1, [8]),\n{GOOD.replace('8.0, 8.0', '0.0, 8.0')}\n"
    found = read_speeds(write(tmp_path, text))
    assert found.points == {
        ("net", "sync", 32): (SpeedPoint(3, 2, 1.0),),
        ("net", "async", 16): (SpeedPoint(1, 1, 0.5),),
    }
    assert found.left_out == 1  # a worker of the last row did nothing


@pytest.mark.parametrize(
    ("line", "field", "says"),
    [
        ("__import__('os').getcwd()", None, "not a tuple"),
        ("(" * 3000, None, "not a tuple"),
        ("('net', 'sync', 32", None, "not a tuple"),
        ("('net', 'sync')", None, "not a row"),
        ("17", None, "not a row"),
        (GOOD.replace("'net'", "7"), "model", "not a name"),
        (GOOD.replace("dist_sync", "dist"), "mode", "unknown mode"),
        (GOOD.replace("'dist_sync'", "[]"), "mode", "unknown mode"),
        (GOOD.replace("32", "0"), "batch", "whole number"),
        (GOOD.replace("32, 2", "32, 2.5"), "servers", "whole number"),
        (GOOD.replace("2, 3", "2, True"), "workers", "whole number"),
        (GOOD.replace("8.0, 8.0, 16.0", "8.0"), "speeds", "1 speeds for 3 workers"),
        (GOOD.replace("[8.0, 8.0, 16.0]", "8.0"), "speeds", "no list of"),
        (GOOD.replace("16.0", "-1"), "speeds", "not a speed"),
        (GOOD.replace("16.0", "1e999"), "speeds", "not a speed"),
        (GOOD.replace("16.0", "'x'"), "speeds", "not a speed"),
        ("'" + "x" * 200_000, None, "characters"),
    ],
)
def test_every_fault_is_named_with_its_line(tmp_path, line, field, says):
    faults = faults_of(write(tmp_path, f"{GOOD}\n{line}\n{GOOD}\n17\n"))
    assert [fault.row for fault in faults] == [2, 4]
    assert faults[0].field == field
    assert says in faults[0].problem


def test_files_that_hold_nothing(tmp_path):
    assert "no measured speeds" in faults_of(write(tmp_path, "\n# nothing\n"))[0].problem
    assert "UTF-8" in faults_of(write(tmp_path, b"\xff\xfe"))[0].problem
    assert "cannot be read" in faults_of(tmp_path / "none.txt")[0].problem
