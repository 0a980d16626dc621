import pickle

import pytest

from dovetail.core import errors
from dovetail.core.errors import (
    DovetailError,
    Fault,
    InvalidDecision,
    InvalidWorkload,
    MissingExtra,
    UnknownName,
)

FAULT = Fault("jobs.parquet", 4, "arrival_s", "is negative (-1.0)", "a number of seconds >= 0")


def test_every_error_is_one_the_command_line_shows_without_traceback():
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)]
    assert len(classes) >= 9
    assert all(issubclass(c, DovetailError) for c in classes)


def test_fault_says_file_row_field_problem_and_what_would_be_right():
    assert str(FAULT) == (
        "jobs.parquet, row 4, field 'arrival_s': is negative (-1.0) (expected a number of seconds >= 0)"
    )


def test_fault_of_a_whole_file_has_no_row_or_field():
    assert str(Fault("jobs.csv", None, None, "is empty")) == "jobs.csv: is empty"


def test_fault_in_row_zero_shows_its_row():
    assert "row 0" in str(Fault("jobs.parquet", 0, None, "is short"))


def test_invalid_workload_keeps_all_faults_and_shows_one_on_one_line():
    error = InvalidWorkload([FAULT])
    assert error.faults == (FAULT,)
    assert str(error) == f"invalid workload: {FAULT}"


def test_invalid_workload_shows_the_count_and_cuts_a_long_list():
    faults = [Fault("a.csv", i, "x", "is NaN") for i in range(25)]
    lines = str(InvalidWorkload(faults)).splitlines()
    assert lines[0] == "invalid workload: 25 faults"
    assert lines[1] == "  a.csv, row 0, field 'x': is NaN"
    assert lines[-1] == "  ... and 5 more"
    assert len(lines) == 22


def test_invalid_workload_without_a_fault_is_a_bug():
    with pytest.raises(ValueError, match="at least one Fault"):
        InvalidWorkload([])


def test_missing_extra_says_what_to_type():
    assert "pip install 'dovetail[envs]'" in str(MissingExtra("envs", "the environment"))


@pytest.mark.parametrize(
    "error",
    [
        InvalidDecision("stage 3 is not runnable"),
        UnknownName("scheduler", "dag/fifi", ["dag/fifo"]),
        InvalidWorkload([FAULT]),
        MissingExtra("ray", "the engine"),
    ],
)
def test_errors_cross_process_borders(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
