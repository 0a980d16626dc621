import numpy as np
import pytest

from dovetail.core.errors import ConfigError, InvalidWorkload
from dovetail.workloads.readers.gpu_csv import read_gpu_csv
from dovetail.workloads.readers.gpu_rows import GpuReadOptions

FULL = "\ufeffjob,arrival_s,user,kind,workers,gpus,cpus,memory,types,work_s,estimate_s\n"
ROWS = "b,30,ada,lm-b5,2,2,8,64,V100|A100,600,500\na,20,bob,,1,0.5,,,,60,\n\n,10,,,,0,,,,7,\n"


def write(tmp_path, text):
    (tmp_path / "j.csv").write_text(text)
    return tmp_path / "j.csv"


def test_everything_said_and_everything_left_out(tmp_path):
    imported = read_gpu_csv(write(tmp_path, FULL + ROWS), GpuReadOptions(kind="a3c"))
    jobs = imported.source.recorded
    assert jobs.job_name == ("job-3", "a", "b")
    assert jobs.arrival_s.tolist() == [0, 10, 20]
    assert [jobs.kind_name[kind] for kind in jobs.kind] == ["cpu", "a3c", "lm-b5"]
    assert [jobs.user_name[user] for user in jobs.user] == ["unknown", "bob", "ada"]
    assert jobs.gpus.tolist() == [0, 0.5, 2] and jobs.workers.tolist() == [1, 1, 2]
    assert (jobs.cpus.tolist(), jobs.memory.tolist()) == ([1, 2, 8], [4, 16, 64])
    assert jobs.types.tolist() == [-1, -1, 3]
    assert jobs.estimate_s[2] == 500
    assert imported.source.name == "j" and imported.source.arrivals.kind == "trace"


def test_work_is_enough(tmp_path):
    jobs = read_gpu_csv(write(tmp_path, "work_s\n5\n6\n")).source.recorded
    assert jobs.work_s.tolist() == [5, 6]
    np.testing.assert_array_equal(jobs.gpus, 1.0)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("work\n5\n", [(1, "work"), (1, "work_s")]),
        ("work_s,gpus,gpus\n5,1,1\n", [(1, "gpus")]),
        ("work_s\n", [(None, None)]),
        ("work_s,gpus\n5\n", [(2, None)]),
        ("work_s,gpus\n0,1\nx,1\n-1,1\n", [(2, "work_s"), (3, "work_s"), (4, "work_s")]),
        ("work_s,gpus\n5,1.5\n5,-1\n5,1\n5,17\n", [(2, "gpus"), (3, "gpus"), (5, "gpus")]),
        ("work_s,workers\n5,0\n5,1.5\n", [(2, "workers"), (3, "workers")]),
        ("work_s,types\n5,V99\n", [(2, "types")]),
        ("work_s,job\n5,a\n5,a\n", [(3, "job")]),
        ("work_s,estimate_s\n5,-1\n", [(2, "estimate_s")]),
    ],
)
def test_every_fault_is_found(tmp_path, text, faults):
    with pytest.raises(InvalidWorkload) as caught:
        read_gpu_csv(write(tmp_path, text))
    assert [(fault.row, fault.field) for fault in caught.value.faults] == faults


def test_what_is_wrong_with_a_number_is_said(tmp_path):
    with pytest.raises(InvalidWorkload) as caught:
        read_gpu_csv(write(tmp_path, "work_s,gpus,workers\n-5,x,0\n,-1,inf\n"))
    assert [(fault.problem, fault.expected) for fault in caught.value.faults] == [
        ("too small: -5", "a number above 0"),
        ("not a number: 'x'", "a number from 0 upwards"),
        ("too small: 0", "a number from 1 upwards"),
        ("missing", "a number above 0"),
        ("too small: -1", "a number from 0 upwards"),
        ("not finite", "a number from 1 upwards"),
    ]


def test_a_kind_without_speeds_is_refused_with_its_row(tmp_path):
    path = write(tmp_path, "work_s,kind,gpus\n5,lm-b5,1\n6,lm-b6,1\n7,,0\n8,our-net,1\n")
    with pytest.raises(InvalidWorkload) as caught:
        read_gpu_csv(path)
    first, second = caught.value.faults
    assert (first.row, first.field, second.row) == (3, "kind", 5)
    assert "no speeds are known of 'lm-b6'; did you mean 'lm-b5'" in first.problem and "--speeds" in first.expected


def test_kinds_of_speeds_of_ones_own(tmp_path):
    speeds = tmp_path / "speeds.csv"
    speeds.write_text("type,kind,speed\nV100,our-net,10\nA100,our-net,20\n")
    own = GpuReadOptions(speeds=speeds)
    path = write(tmp_path, "work_s,kind,gpus\n5,our-net,1\n7,,0\n")
    assert read_gpu_csv(path, own).source.recorded.kind_name == ("our-net", "cpu")
    with pytest.raises(InvalidWorkload, match=r"lm-b5.*a kind of .*speeds.csv"):
        read_gpu_csv(write(tmp_path, "work_s,kind\n5,lm-b5\n"), own)
    unsaid = write(tmp_path, "work_s\n5\n")
    with pytest.raises(ConfigError, match=r"j.csv:2: .* --kind names one"):
        read_gpu_csv(unsaid, own)
    assert read_gpu_csv(unsaid, GpuReadOptions(kind="our-net", speeds=speeds)).source.recorded.kind_name == ("our-net",)
    with pytest.raises(ConfigError, match="--kind 'our-net': unknown"):
        read_gpu_csv(unsaid, GpuReadOptions(kind="our-net"))


def test_options_that_cannot_be():
    for given in ({"error_sigma": -1.0}, {"longest_s": 0.0}, {"cpus_per_gpu": 0.0}, {"kind": " "}):
        with pytest.raises(ConfigError):
            GpuReadOptions(**given)
