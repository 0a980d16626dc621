"""Parts of a trace by time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.core.errors import ConfigError, InvalidWorkload
from dovetail.workloads.readers.alibaba_gpu2023 import read_gpu2023
from dovetail.workloads.readers.gpu_csv import read_gpu_csv
from dovetail.workloads.readers.gpu_rows import GpuReadOptions
from dovetail.workloads.readers.time_slice import Moment, read_moment, time_slice

TIMES = np.array([100.0, 100.0, 160.0, 200.0, 1100.0])


def csv_of(tmp_path, arrivals=TIMES):
    file = tmp_path / "jobs.csv"
    file.write_text("job,arrival_s,work_s\n" + "".join(f"j{i},{at},{60 + i}\n" for i, at in enumerate(arrivals)))
    return file


@pytest.mark.parametrize(
    ("start", "end", "jobs"),
    [
        (None, None, [0, 1, 2, 3, 4]),
        ("60", None, [2, 3, 4]),  # seconds after the first; who comes at that very moment is in
        (None, "60", [0, 1]),
        ("0", "100.5", [0, 1, 2, 3]),
        ("40%", None, [2, 3, 4]),
        ("40%", "80%", [2, 3]),
        ("60", "80%", [2, 3]),
        ("80%", "40%", []),
        ("2000", None, []),
    ],
)
def test_parts(start, end, jobs):
    assert np.arange(len(TIMES))[time_slice(TIMES, start, end)].tolist() == jobs


def test_parts_that_meet_share_no_job_and_leave_none_out():
    times = np.sort(np.random.default_rng(0).exponential(1000.0, 137))
    for cuts in (("33%", "67.5%"), ("100", "1e3")):
        parts = [time_slice(times, a, b) for a, b in ((None, cuts[0]), cuts, (cuts[1], None))]
        assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
        assert parts[0].start == 0 and parts[-1].stop == len(times)


def test_moments_as_a_person_writes_them():
    assert read_moment("--from", "60%") == Moment(share=0.6)
    assert read_moment("--from", "1e6") == Moment(seconds=1e6)
    for text in ("", "%", "-1", "101%", "nan", "1_000", "noon"):
        with pytest.raises(ConfigError, match=r"--from.*expected seconds after the first job"):
            read_moment("--from", text)
    with pytest.raises(ConfigError, match="--to soon"):
        GpuReadOptions(end="soon")


def test_a_job_is_the_same_whichever_part_it_is_read_with(tmp_path):
    """Kinds and estimates are drawn for the whole trace; times begin anew."""
    file = csv_of(tmp_path)
    whole = read_gpu_csv(file).source.recorded
    imported = read_gpu_csv(file, GpuReadOptions(start="40%"))
    part = imported.source.recorded
    assert part.job_name == ("j2", "j3", "j4") and part.arrival_s.tolist() == [0, 40, 940]
    assert [part.kind_name[kind] for kind in part.kind] == [whole.kind_name[kind] for kind in whole.kind[2:]]
    np.testing.assert_array_equal(part.estimate_s, whole.estimate_s[2:])
    assert "3 of 5 jobs are of this part: those that came 60 to 1,000 s after the first" in imported.notes


def test_a_part_without_jobs_is_refused(tmp_path):
    with pytest.raises(InvalidWorkload, match="no jobs came from 2000 to the end, of 1,000 s in all"):
        read_gpu_csv(csv_of(tmp_path), GpuReadOptions(start="2000"))


@needs_data("alibaba-gpu2023")
def test_parts_of_the_public_trace():
    parts = [
        read_gpu2023(DATA / "alibaba-gpu2023", GpuReadOptions(start=start, end=end, longest_s=86_400.0)).source.recorded
        for start, end in ((None, "60%"), ("60%", "70%"), ("70%", None))
    ]
    names = [set(part.job_name) for part in parts]
    assert sum(map(len, names)) == len(set.union(*names)) == 7169
    assert all(part.arrival_s[0] == 0 for part in parts)
