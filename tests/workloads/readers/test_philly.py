import json

import pytest

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.readers.gpu_rows import GpuReadOptions
from dovetail.workloads.readers.philly import read_philly


def attempt(start, end, *gpus):
    return {
        "start_time": start,
        "end_time": end,
        "detail": [{"ip": f"m{i}", "gpus": [f"gpu{g}" for g in range(n)]} for i, n in enumerate(gpus)],
    }


DAY = "2017-10-07 "
GOOD = {
    "status": "Pass",
    "vc": "v",
    "jobid": "a",
    "user": "ada",
    "submitted_time": DAY + "01:00:00",
    "attempts": [attempt(DAY + "01:01:00", DAY + "01:02:00", 8), attempt(DAY + "01:05:00", DAY + "01:15:00", 4, 4)],
}
UNEVEN = {
    **GOOD,
    "jobid": "b",
    "submitted_time": DAY + "00:59:00",
    "attempts": [attempt(DAY + "01:00:00", DAY + "01:00:30", 3, 1)],
}


def write(tmp_path, jobs):
    (tmp_path / "cluster_job_log").write_text(jobs if isinstance(jobs, str) else json.dumps(jobs))
    return tmp_path


def test_attempts_add_up_and_the_last_one_says_where(tmp_path):
    unrun = [{**GOOD, "jobid": "c", "attempts": []}, {**GOOD, "jobid": "d", "attempts": [attempt("None", None, 1)]}]
    imported = read_philly(write(tmp_path, [GOOD, UNEVEN, *unrun]), GpuReadOptions(cpus_per_gpu=3, memory_per_gpu=10))
    jobs = imported.source.recorded
    assert jobs.job_name == ("b", "a")
    assert jobs.arrival_s.tolist() == [0, 60]
    assert jobs.work_s.tolist() == [30, 660]
    assert (jobs.workers.tolist(), jobs.gpus.tolist()) == ([4, 2], [1, 4])  # unequal numbers: one GPU each
    assert (jobs.cpus.tolist(), jobs.memory.tolist()) == ([3, 12], [10, 40])
    assert any("2 jobs have no attempt" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("jobs", "row", "field"),
    [
        ("[", None, None),
        ("{}", None, None),
        ([3], 1, "jobid"),
        ([GOOD, {**GOOD, "submitted_time": "yesterday"}], 2, "submitted_time"),
        ([{**GOOD, "attempts": 3}], 1, "attempts"),
        ([{**GOOD, "attempts": [3]}], 1, "attempts"),
        ([{**GOOD, "attempts": [attempt(DAY + "02:00:00", DAY + "01:00:00", 1)]}], 1, "end_time"),
        ([GOOD, GOOD], 2, "job"),
    ],
)
def test_every_fault_is_found(tmp_path, jobs, row, field):
    with pytest.raises(InvalidWorkload) as caught:
        read_philly(write(tmp_path, jobs))
    assert (caught.value.faults[0].row, caught.value.faults[0].field) == (row, field)
