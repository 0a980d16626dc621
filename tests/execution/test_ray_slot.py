"""The server's side of a Ray executor, without Ray."""

import os

import pytest

from dovetail.execution.controller.messages import Run
from dovetail.execution.engines.ray_slot import Sent, Slot
from dovetail.execution.outfile import CANCELLED, FAILED, FINISHED, out_path, scan


def ended(task, how=FINISHED):
    return (task, how, b"result", -0.2, -0.1, "" if how == FINISHED else "why")


@pytest.fixture
def slot():
    return Slot(0)


def keep(slot, directory, batch, ends, job=1):
    slot.keep(Sent(Run(0, batch, job, 0, [task for task, *_ in ends], 0, 0, 1)), ends, 10.0, lambda _: str(directory))


def test_results_are_told_when_they_are_written(slot, tmp_path):
    keep(slot, tmp_path, 5, [ended(0), ended(1, FAILED), ended(2, CANCELLED)])
    ((batch, entries),) = slot.written()
    assert batch == 5
    assert [(entry[0], entry[1], entry[6]) for entry in entries] == [(0, 1, ""), (1, 0, "why"), (2, 2, "")]
    assert [(record.task, record.offset) for record in scan(out_path(str(tmp_path), 0, 0))] == [
        (entry[0], entry[2]) for entry in entries[:2]
    ]


def test_on_a_full_disk_results_wait_for_room(slot, tmp_path):
    path = out_path(str(tmp_path), 0, 0)
    os.symlink("/dev/full", path)
    for batch in range(2):
        keep(slot, tmp_path, batch, [ended(batch)])
        with pytest.raises(OSError, match="disk full: a result cannot be written"):
            list(slot.written())
    os.unlink(path)
    assert [(batch, [entry[1] for entry in entries]) for batch, entries in slot.written()] == [(0, [1]), (1, [1])]
    assert [record.task for record in scan(path)] == [0, 1]
    assert not slot.kept


def test_what_waits_for_room_is_cancelled_when_its_job_is_forgotten(slot, tmp_path):
    os.symlink("/dev/full", out_path(str(tmp_path), 0, 0))
    keep(slot, tmp_path, 0, [ended(0)])
    with pytest.raises(OSError, match="disk full"):
        list(slot.written())
    slot.forget(1)
    ((_, entries),) = slot.written()
    assert [entry[1:4] for entry in entries] == [(CANCELLED, -1, 0)]


def test_other_errors_fail_everything_that_was_to_be_written(slot, tmp_path):
    os.mkdir(out_path(str(tmp_path), 0, 0))
    for batch in range(2):
        keep(slot, tmp_path, batch, [ended(batch)])
    assert [entry[1:4] for _, entries in slot.written() for entry in entries] == [(FAILED, -1, 0)] * 2
