import pytest

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.readers.helios import read_helios, shared_out

HEAD = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
ROW = "{0},u,v,{1},{2},{3},COMPLETED,2020-06-09 18:4{4}:00,,,{5},0\n"
GOOD = ROW.format(1, 16, 64, 2, 1, 600) + ROW.format(2, 1, 4, 1, 0, 30) + ROW.format(3, 0, 8, 1, 2, 40)


def write(tmp_path, text):
    (tmp_path / "cluster_log.csv").write_text(text)
    return tmp_path


def test_a_worker_on_each_node(tmp_path):
    imported = read_helios(write(tmp_path, HEAD + GOOD + ROW.format(4, 1, 1, 1, 3, 0) + ROW.format(5, 3, 6, 2, 4, 9)))
    jobs = imported.source.recorded
    assert jobs.job_name == ("2", "3", "5") and jobs.workers.tolist() == [1, 1, 3]  # 8 GPUs of a worker are too many
    assert any("1 jobs that do not fit" in note for note in imported.notes)
    assert jobs.gpus.tolist() == [1, 0, 1]
    assert jobs.cpus.tolist() == [4, 8, 2]
    assert jobs.memory.tolist() == [32, 32, 32]
    assert jobs.work_s.tolist() == [30, 40, 9]
    assert any("1 jobs did not run" in note for note in imported.notes)


def test_gpus_on_nodes():
    assert shared_out(16, 2) == (2, 8)
    assert shared_out(3, 2) == (3, 1)
    assert shared_out(0, 2) == (2, 0)
    assert shared_out(4, 0) == (1, 4)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (ROW.format(1, "x", 1, 1, 1, 5), "gpu_num"),
        (ROW.format(1, 1.5, 1, 1, 1, 5), "gpu_num"),
        (ROW.format(1, 1, "", 1, 1, 5), "cpu_num"),
        (ROW.format(1, 1, 1, 1, 1, "nan"), "duration"),
        (ROW.format(1, 1, 1, 1, 1, 5).replace("2020", "MMXX"), "submit_time"),
        ("1,u\n", None),
    ],
)
def test_every_fault_is_found(tmp_path, row, field):
    with pytest.raises(InvalidWorkload) as caught:
        read_helios(write(tmp_path, HEAD + row))
    assert (caught.value.faults[0].row, caught.value.faults[0].field) == (2, field)
