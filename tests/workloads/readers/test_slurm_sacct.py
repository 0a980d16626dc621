import json

import pytest

from dovetail.cluster.gpu import TYPE_INDEX
from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.readers.gpu_rows import GpuReadOptions
from dovetail.workloads.readers.slurm_fields import Tres, elapsed_s, memory_gb, read_time, read_tres, types_of
from dovetail.workloads.readers.slurm_sacct import read_sacct

HEAD = "JobID|User|State|Submit|Elapsed|Timelimit|NNodes|ReqTRES|AllocTRES\n"
LINES = (
    "17|ada|COMPLETED|2024-05-01T08:00:10|00:10:00|01:00:00|1|billing=4,cpu=4,gres/gpu=2,mem=16G,node=1|\n"
    "17.batch||COMPLETED|2024-05-01T08:00:10|00:10:00||1||cpu=4\n"
    "17.0||COMPLETED|2024-05-01T08:00:10|00:10:00||1||cpu=4\n"
    "18_3|bob|CANCELLED by 1000|2024-05-01T08:00:00|1-00:00:01|UNLIMITED|2||cpu=8,gres/gpu:a100=4,mem=64000M,node=2\n"
    "19_[4-9%2]|bob|PENDING|2024-05-01T08:00:00|00:00:00|01:00:00|1|cpu=1,mem=1G,node=1|\n"
    "20|bob|RUNNING|2024-05-01T08:00:00|00:05:00|01:00:00|1|cpu=1,mem=1G,node=1|\n"
    "21|bob|CANCELLED|2024-05-01T08:00:00|00:00:00|01:00:00|1|cpu=1,mem=1G,node=1|\n"
    "22+1|eve|TIMEOUT|2024-05-01T08:00:20|01:00:00|60|1|cpu=2,gres/gpu:strange=1,node=1|\n"
    "23|eve|FAILED|2024-05-01T08:00:30|00:01:00|00:30:00|2|cpu=6,gres/gpu=3,mem=6G,node=2|\n"
)


def write(tmp_path, text):
    (tmp_path / "jobs.txt").write_text(text if isinstance(text, str) else json.dumps(text))
    return tmp_path / "jobs.txt"


def faults_of(path):
    with pytest.raises(InvalidWorkload) as caught:
        read_sacct(path)
    return [(fault.row, fault.field) for fault in caught.value.faults]


def test_jobs_between_bars(tmp_path):
    (tmp_path / "m.csv").write_text("kind,count\na100x4,4\n")
    imported = read_sacct(write(tmp_path, HEAD + LINES), GpuReadOptions(cluster=str(tmp_path / "m.csv")))
    jobs = imported.source.recorded
    assert jobs.job_name == ("18_3", "17", "22+1", "23")
    assert jobs.arrival_s.tolist() == [0, 10, 20, 30]
    assert jobs.work_s.tolist() == [86_401, 600, 3600, 60]
    assert jobs.workers.tolist() == [2, 1, 1, 3]
    assert jobs.gpus.tolist() == [2, 2, 1, 1]
    assert jobs.cpus.tolist() == [4, 4, 2, 2]
    assert jobs.memory.tolist() == [31.25, 16, 8, 2]
    assert jobs.types.tolist() == [1 << TYPE_INDEX["A100"], -1, -1, -1]
    assert jobs.estimate_s[1:].tolist() == [3600, 3600, 1800]
    assert [jobs.user_name[user] for user in jobs.user] == ["bob", "ada", "eve", "eve"]
    notes = " ".join(imported.notes)
    assert (
        "2 jobs were waiting or running" in notes and "1 jobs never ran" in notes and "type of GPU that is not" in notes
    )


def test_trailing_bars_of_the_other_option(tmp_path):
    text = "".join(f"{line}|\n" for line in (HEAD + LINES).splitlines()[:2])
    assert read_sacct(write(tmp_path, text)).source.recorded.job_name == ("17",)


def test_raw_numbers_of_jobs(tmp_path):
    raw = HEAD.replace("JobID", "JobIDRaw") + LINES
    assert read_sacct(write(tmp_path, raw)).source.recorded.job_name == ("17", "22+1", "23")
    both = "JobID|JobIDRaw|State|Submit|ElapsedRaw|ReqTRES\n17_3|99|COMPLETED|10|60|cpu=1,gres/gpu=1,node=1\n"
    assert read_sacct(write(tmp_path, both)).source.recorded.job_name == ("17_3",)


def number(value):
    return {"set": True, "infinite": False, "number": value}


def job(**changes):
    return {
        "job_id": 17,
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
        "user": "ada",
        "state": {"current": ["COMPLETED"]},
        "time": {"submission": 1714550410, "elapsed": 600, "limit": number(60)},
        "allocation_nodes": 1,
        "tres": {
            "requested": [
                {"type": "cpu", "name": "", "count": 4},
                {"type": "mem", "name": "", "count": 16384},
                {"type": "node", "name": "", "count": 1},
                {"type": "gres", "name": "gpu", "count": 2},
                {"type": "gres", "name": "gpu:v100", "count": 2},
            ]
        },
        **changes,
    }


def test_jobs_in_json(tmp_path):
    array = job(job_id=19, array={"job_id": 18, "task_id": number(3)}, state={"current": "FAILED"})
    waiting = job(job_id=20, state={"current": ["PENDING"]})
    jobs = read_sacct(write(tmp_path, {"jobs": [job(), array, waiting]})).source.recorded
    assert jobs.job_name == ("17", "18_3")
    assert (jobs.gpus.tolist(), jobs.memory.tolist()) == ([2, 2], [16, 16])
    assert jobs.types.tolist() == [1, 1]
    assert jobs.estimate_s.tolist() == [3600, 3600]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("JobID|State\n1|COMPLETED\n", [(1, "submit"), (1, "elapsedraw"), (1, "reqtres")]),
        (HEAD, [(None, None)]),
        (HEAD + "17|ada\n", [(2, None)]),
        (HEAD + "17|a|COMPLETED|Unknown|x|01:00:00|1|cpu|\n", [(2, "submit"), (2, "elapsed"), (2, "reqtres")]),
        (HEAD + "17|a|COMPLETED|2024-05-01T08:00:00|00:01:00||1|mem=4Q|\n", [(2, "reqtres")]),
        (HEAD + "17|a|COMPLETED|2024-05-01T08:00:00|00:01:00||1||\n", [(2, "reqtres")]),
        (HEAD + 2 * LINES.splitlines(True)[0], [(3, "job")]),
        ("{", [(None, None)]),
        ({"jobs": 3}, [(None, None)]),
        ({"jobs": [3]}, [(1, "jobs")]),
        ({"jobs": [job(job_id=None, time={}, tres={})]}, [(1, "job_id"), (1, "time"), (1, "tres")]),
    ],
)
def test_every_fault_is_found(tmp_path, text, faults):
    assert faults_of(write(tmp_path, text)) == faults


def test_values_as_slurm_writes_them():
    assert read_tres("billing=4,cpu=4,gres/gpu=2,gres/gpu:a100=2,mem=16G,node=1") == Tres(4, 16, 1, 2, ("a100",))
    assert read_tres("cpu=2,gres/gpu:a100=1,gres/gpu:v100=2") == Tres(2, 0, 0, 3, ("a100", "v100"))
    assert read_tres("cpu=x") is read_tres("") is None
    assert types_of(Tres(types=("nvidia_a100", "tesla-v100"))) == ("V100|A100", False)
    assert types_of(Tres(types=("shoe",))) == ("any", True)
    assert (memory_gb("4000M"), memory_gb("1.5T"), memory_gb("16Gn"), memory_gb("x")) == (3.90625, 1536, 16, None)
    assert (elapsed_s("03:04"), elapsed_s("1-02:03:04"), elapsed_s("90"), elapsed_s("UNLIMITED")) == (
        184,
        93784,
        90,
        None,
    )
    assert read_time("1970-01-01T00:01:00") == read_time("60") == 60
    assert read_time("Unknown") is None
