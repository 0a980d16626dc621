import time

import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.check import check_source
from dovetail.workloads.readers.alibaba2018 import Alibaba2018Options, read_alibaba2018

SAMPLE = """\
10,j_1,M1,5,100.0,0.2,3
10,j_1,R2_1,7,50.0,0.3,1
10,j_1,J3_1_2,0,100.0,2.5,2
5,j_2,task_Nzg3ODE=,9,100.0,0.1,4
5,j_2,MergeTask,9,100.0,0.1,1
"""
ORIGINAL = """\
R2_1,2,j_1,1,Terminated,20,26,50,0.3
M1,3,j_1,1,Terminated,10,15,100,0.2
M1,1,j_2,1,Failed,10,15,100,0.2
M1,1,j_3,1,Terminated,10,,100,0.2
M1,1,j_4,1,Terminated,4,5,,
M2_7,1,j_4,1,Terminated,4,9,100,0.1
"""


def write(folder, text, name="trace.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults_of(path, **options):
    with pytest.raises(InvalidWorkload) as caught:
        read_alibaba2018(path, Alibaba2018Options(**options))
    return caught.value.faults


def test_the_hour_sample(tmp_path):
    imported = read_alibaba2018(write(tmp_path, SAMPLE))
    workload = imported.source.recorded
    catalogue = workload.catalogue
    check_source(imported.source)
    assert workload.job_name == ("j_2", "j_1")  # by arrival
    assert workload.arrival_s.tolist() == [0, 5]
    assert catalogue.stage_name == ("task_Nzg3ODE=", "MergeTask", "M1", "R2_1", "J3_1_2")
    assert catalogue.num_tasks.tolist() == [4, 1, 3, 1, 2]
    assert catalogue.cpu.tolist() == [1, 1, 1, 0.5, 1]
    assert catalogue.memory.tolist() == [0.1, 0.1, 0.2, 0.3, 1]
    assert catalogue.duration_s.tolist() == [9, 9, 5, 7, 0.5]
    assert set(catalogue.duration_wave) == {2}
    assert catalogue.edge_ptr.tolist() == [0, 0, 3]
    edges = set(zip(catalogue.edge_parent.tolist(), catalogue.edge_child.tolist(), strict=True))
    assert edges == {(0, 1), (0, 2), (1, 2)}
    assert len(imported.notes) == 2  # the duration of 0, the memory above 1


def test_the_published_file(tmp_path):
    imported = read_alibaba2018(write(tmp_path, ORIGINAL))
    workload = imported.source.recorded
    assert workload.job_name == ("j_4", "j_1")
    assert workload.arrival_s.tolist() == [0, 6]
    assert workload.catalogue.stage_name == ("M1", "M2_7", "R2_1", "M1")
    assert workload.catalogue.duration_s.tolist() == [1, 5, 6, 5]
    assert workload.catalogue.cpu.tolist() == [1, 1, 0.5, 1]
    assert workload.catalogue.memory.tolist() == [0, 0.1, 0.3, 0.2]
    assert (workload.catalogue.edge_parent.tolist(), workload.catalogue.edge_child.tolist()) == ([1], [0])
    assert any("1 dependencies" in note for note in imported.notes)
    assert any("2 jobs that did not finish" in note for note in imported.notes)


def test_strict_turns_oddities_into_faults(tmp_path):
    faults = faults_of(write(tmp_path, ORIGINAL), strict=True)
    assert [fault.row for fault in faults] == [3, 4, 6]
    assert "not in the file" in faults[2].problem


def test_one_core(tmp_path):
    path = write(tmp_path, SAMPLE)
    assert set(read_alibaba2018(path, Alibaba2018Options(one_core=True)).source.catalogue.cpu) == {1}


@pytest.mark.parametrize(
    ("row", "column", "value", "says"),
    [
        (2, 2, "R2_x", "malformed task name"),
        (2, 2, "2_1", "malformed task name"),
        (2, 2, "R", "malformed task name"),
        (2, 2, "", "malformed task name"),
        (2, 2, "R2_2", "waits for itself"),
        (2, 2, "R1", "number used twice"),
        (1, 2, "M1_3", "cycle in job j_1"),
        (5, 2, "task_Nzg3ODE=", "name used twice"),
        (2, 3, "-7", "below 0"),
        (2, 3, "nan", "not a number"),
        (2, 3, "", "not a number"),
        (2, 3, "1e999", "not a number"),
        (2, 0, "soon", "not a number"),
        (2, 4, "0", "no cores"),
        (2, 4, "x", "not a number"),
        (2, 5, "-1", "below 0"),
        (2, 6, "0", "below 1"),
        (2, 6, "1.5", "not a whole number"),
    ],
)
def test_faults_are_placed(tmp_path, row, column, value, says):
    lines = SAMPLE.splitlines()
    fields = lines[row - 1].split(",")
    fields[column] = value
    lines[row - 1] = ",".join(fields)
    path = write(tmp_path, "\n".join(lines))
    faults = faults_of(path)
    assert len(faults) == 1
    assert says in faults[0].problem
    assert faults[0].file == str(path)
    assert faults[0].row in ({1, 2, 3} if "cycle" in says else {row})
    kept = read_alibaba2018(path, Alibaba2018Options(skip_faulty=True))
    assert kept.source.recorded.job_name == (("j_1",) if row == 5 else ("j_2",))
    assert any("1 faults" in note for note in kept.notes)


def test_a_task_without_a_job(tmp_path):
    path = write(tmp_path, SAMPLE.replace("j_1,R2_1", ",R2_1"))
    [fault] = faults_of(path)
    assert (fault.row, fault.field) == (2, "job_name")
    kept = read_alibaba2018(path, Alibaba2018Options(skip_faulty=True))
    assert kept.source.recorded.job_name == ("j_2", "j_1")


def test_rows_of_another_length_keep_line_numbers_right(tmp_path):
    text = "0,a,M1,1,100,0.1,1\n0,a,M2\n\n0,a,R3_x,1,100,0.1,1\n0,b,M1,1,100,0.1,1,9\n"
    faults = faults_of(write(tmp_path, text))
    assert [(fault.row, fault.field) for fault in faults] == [(2, None), (4, "task_name"), (5, None)]


def test_a_truncated_last_line_is_a_fault(tmp_path):
    [fault] = faults_of(write(tmp_path, SAMPLE[:-12]))
    assert fault.row == 5


@pytest.mark.parametrize(
    ("content", "row", "says"),
    [
        (b"", None, "empty file"),
        (b"\n\n", None, "empty file"),
        (SAMPLE.encode() + b"5,j_3,M\xe9,9,100,0.1,4\n", 6, "wrong encoding"),
        (SAMPLE.encode("utf-16"), 1, "wrong encoding"),
        (b"a,b,c\n", 1, "3 columns"),
    ],
)
def test_files_that_are_no_traces(tmp_path, content, row, says):
    [fault] = faults_of(write(tmp_path, content))
    assert says in fault.problem
    assert fault.row == row


def test_folders(tmp_path):
    assert "no trace found" in faults_of(tmp_path)[0].problem
    write(tmp_path, SAMPLE, "sample_tasks.csv")
    assert read_alibaba2018(tmp_path).source.recorded.num_jobs == 2


def test_no_jobs_left(tmp_path):
    [fault] = faults_of(write(tmp_path, "M1,1,j_2,1,Failed,10,15,100,0.2\n"))
    assert "no jobs" in fault.problem


@needs_data("alibaba2018")
def test_the_public_hour():
    start = time.perf_counter()
    imported = read_alibaba2018(DATA / "alibaba2018")
    assert time.perf_counter() - start < 5
    workload = imported.source.recorded
    check_source(imported.source)
    assert workload.num_jobs == 16_749
    assert workload.catalogue.num_stages == 67_634
    assert workload.catalogue.dag_depth.max() == 20
