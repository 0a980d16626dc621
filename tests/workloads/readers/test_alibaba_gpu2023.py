import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.readers.alibaba_gpu2023 import read_gpu2023
from dovetail.workloads.readers.gpu_rows import GpuReadOptions

HEAD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
PODS = (
    "p0,12000,16384,1,1000,,LS,Running,100,400,150\n"
    "p1,6000,12288,1,460,V100M16|V100M32,BE,Failed,120,120,120\n"
    "p2,88000,327680,8,1000,,LS,Running,130,630,130\n"
    "p3,8000,1024,0,0,,LS,Pending,140,900,\n"
    "p4,8000,1024,0,0,,LS,Succeeded,90,190,91\n"
)
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,8,V100M16\nn1,96000,393216,8,G2\n"


def folder(tmp_path, pods=PODS, nodes=NODES):
    (tmp_path / "openb_pod_list_default.csv").write_text(HEAD + pods)
    if nodes:
        (tmp_path / "openb_node_list_gpu_node.csv").write_text(nodes)
    return tmp_path


def faults_of(path):
    with pytest.raises(InvalidWorkload) as caught:
        read_gpu2023(path)
    return [(fault.row, fault.field) for fault in caught.value.faults]


def test_pods_are_jobs_of_one_worker(tmp_path):
    imported = read_gpu2023(folder(tmp_path))
    jobs = imported.source.recorded
    assert jobs.job_name == ("p4", "p0", "p1", "p2")  # in order of creation; p3 never ran
    assert jobs.arrival_s.tolist() == [0, 10, 30, 40]
    assert jobs.work_s.tolist() == [99, 250, 1, 500]
    assert jobs.gpus.tolist() == [0, 1, 0.46, 8]
    assert (jobs.cpus.tolist(), jobs.memory.tolist()) == ([8, 12, 6, 88], [1, 16, 12, 320])
    assert jobs.types.tolist() == [-1, -1, 1 << 0 | 1 << 6, -1]
    assert jobs.kind_name[jobs.kind[0]] == "cpu"
    assert imported.source.cluster.arrays().gpus.tolist() == [8, 8]
    notes = " ".join(imported.notes)
    assert "1 pods were never scheduled" in notes and "count as 1 s" in notes


def test_what_the_person_says_counts(tmp_path):
    options = GpuReadOptions(cluster="small", kind="lm-b5", longest_s=300, error_sigma=0)
    imported = read_gpu2023(folder(tmp_path), options)
    jobs = imported.source.recorded
    assert jobs.job_name == ("p4", "p0", "p1")
    assert {jobs.kind_name[kind] for kind in jobs.kind} == {"cpu", "lm-b5"}
    np.testing.assert_array_equal(jobs.work_s, jobs.estimate_s)
    assert len(imported.source.cluster.arrays().name) == 8
    assert any("ran longer than 300 s" in note for note in imported.notes)


def test_kinds_are_drawn_with_a_seed(tmp_path):
    path = folder(tmp_path, "".join(PODS.replace("p", f"x{i}") for i in range(20)))
    one, same, other = (read_gpu2023(path, GpuReadOptions(seed=seed)).source.recorded for seed in (1, 1, 2))
    names = [[jobs.kind_name[kind] for kind in jobs.kind] for jobs in (one, same, other)]
    assert names[0] == names[1] != names[2]


def test_jobs_that_fit_no_machine_are_left_out(tmp_path):
    imported = read_gpu2023(folder(tmp_path, nodes=NODES.replace(",8,", ",4,")))
    assert "p2" not in imported.source.recorded.job_name
    assert any("1 jobs that do not fit" in note for note in imported.notes)
    with pytest.raises(InvalidWorkload, match="none of the 4 jobs fits"):
        read_gpu2023(tmp_path, GpuReadOptions(cluster=str(_tiny(tmp_path))))


def _tiny(tmp_path):
    (tmp_path / "tiny.csv").write_text("type,gpus,cpus,memory\nV100,1,0.1,0.1\n")
    return tmp_path / "tiny.csv"


def test_a_list_of_pods_without_machines(tmp_path):
    imported = read_gpu2023(folder(tmp_path, nodes="") / "openb_pod_list_default.csv")
    assert len(imported.source.cluster.arrays().name) == 1213
    assert any("'cloud-2023'" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("pods", "faults"),
    [
        ("p0,x,16384,1,1000,,LS,Running,100,400,150\np1,1,1,1,nan,,LS,R,1,2,1\n", [(2, "cpu_milli"), (3, "gpu_milli")]),
        ("p0,1,1,1,1000,V99,LS,Running,100,400,150\n", [(2, "gpu_spec")]),
        ("p0,1,1,1,1000,,LS,Running,100,140,150\n", [(2, "deletion_time")]),
        ("p0,1,1,1,1000,,LS,Running\n", [(2, None)]),
        ("p0,1,1,1,1000,,LS,R,1,9,1\np0,1,1,1,1000,,LS,R,1,9,1\n", [(3, "job")]),
        ("p0,1,1,1.5,1000,,LS,R,1,9,1\np1,1,1,20,1000,,LS,R,1,9,1\n", [(2, "gpus"), (3, "gpus")]),
        ("p0,1,1,0,0,,LS,Pending,1,9,\n", [(None, None)]),
    ],
)
def test_every_fault_is_found(tmp_path, pods, faults):
    assert faults_of(folder(tmp_path, pods)) == faults


def test_files_that_are_not_it(tmp_path):
    assert faults_of(tmp_path) == [(None, None)]
    assert faults_of(tmp_path / "none.csv") == [(None, None)]
    (tmp_path / "openb_pod_list_x.csv").write_text("name,cpu_milli\np,1\n")
    assert faults_of(tmp_path) == [(1, None)]
    (tmp_path / "openb_pod_list_x.csv").write_bytes(HEAD.encode() + b"\xff")
    assert faults_of(tmp_path) == [(None, None)]


@needs_data("alibaba-gpu2023")
def test_the_whole_trace():
    imported = read_gpu2023(DATA / "alibaba-gpu2023")
    jobs = imported.source.recorded
    assert jobs.num_jobs == 8152 - 897
    assert (jobs.workers * jobs.gpus > 1).sum() <= 75
    assert np.median(jobs.work_s) == pytest.approx(616, abs=1)
    assert len(imported.source.cluster.arrays().name) == 1213
    assert not any("do not fit" in note for note in imported.notes)
