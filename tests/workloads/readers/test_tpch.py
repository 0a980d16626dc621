import os
import pickle

import numpy as np
import pytest
from tests.workloads.samples import DATA, TPCH, needs_data, tpch_stage, write_tpch

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.check import check_source
from dovetail.workloads.readers.tpch import read_tpch, true_first_wave


def faults_of(root):
    with pytest.raises(InvalidWorkload) as caught:
        read_tpch(root)
    return caught.value.faults


def test_a_small_folder(tmp_path):
    catalogue = read_tpch(write_tpch(tmp_path)).source.catalogue
    assert catalogue.dag_name == ("tpch-2g-q1",)
    assert catalogue.num_tasks.tolist() == [5, 1]
    assert (catalogue.edge_parent.tolist(), catalogue.edge_child.tolist()) == ([0], [1])
    groups = {
        (s, w, e): catalogue.duration_s[a:b].tolist()
        for s, w, e, a, b in zip(
            catalogue.duration_stage,
            catalogue.duration_wave,
            catalogue.duration_executors,
            catalogue.duration_ptr[:-1],
            catalogue.duration_ptr[1:],
            strict=True,
        )
    }
    assert groups == {
        (0, 0, 5): [0.6],
        (0, 1, 5): [0.7],  # 600 was a fresh one
        (0, 2, 5): [0.05] * 3,
        (1, 0, 5): [0.4],
        (1, 1, 5): [0.3],  # none left at 5 executors: that of 2 stands in
    }


def test_first_waves_lose_their_fresh_samples_one_for_one():
    first = {5: [1, 1, 2], 10: [3], 20: [4]}
    fresh = {5: [1], 10: [3], 20: []}
    assert true_first_wave(first, fresh) == {5: [1, 2], 10: [1, 2], 20: [4]}
    assert true_first_wave({5: [1]}, {5: [1]}) == {5: []}


def test_sizes_and_queries_in_their_order(tmp_path):
    for size in ("10g", "2g"):
        for query in (10, 2):
            write_tpch(tmp_path, size=size, query=query)
    (tmp_path / "notes").mkdir()
    imported = read_tpch(tmp_path)
    names = ("tpch-2g-q2", "tpch-2g-q10", "tpch-10g-q2", "tpch-10g-q10")
    assert imported.source.catalogue.dag_name == names
    assert imported.notes == ("read input sizes 2 GB, 10 GB",)


def test_memory_demands_are_drawn_when_asked_for(tmp_path):
    write_tpch(tmp_path)
    assert read_tpch(tmp_path).source.catalogue.memory.tolist() == [0, 0]
    memory = read_tpch(tmp_path, memory_seed=3).source.catalogue.memory
    assert ((memory > 0) & (memory <= 1)).all()
    assert memory.tolist() == read_tpch(tmp_path, memory_seed=3).source.catalogue.memory.tolist()


def test_uneven_numbers_of_tasks_are_noted(tmp_path):
    uneven = {0: tpch_stage({2: [1, 2], 5: [1]}, {2: [], 5: []}, {2: [], 5: []})}
    imported = read_tpch(write_tpch(tmp_path, uneven, np.zeros((1, 1))))
    assert imported.source.catalogue.num_tasks.tolist() == [2]
    assert "1 stages have different numbers of tasks" in imported.notes[1]


class Creates:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_malicious_file_is_an_error_and_does_nothing(tmp_path):
    write_tpch(tmp_path)
    victim = tmp_path / "created"
    evil = np.array({0: Creates(str(victim))}, dtype=object)
    with (tmp_path / "2g" / "task_duration_1.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": ()})
        pickle.dump(evil, file)
    [fault] = faults_of(tmp_path)
    assert fault.file.endswith("task_duration_1.npy")
    assert "nothing was run" in fault.problem
    assert not victim.exists()


@pytest.mark.parametrize(
    ("stages", "says"),
    [
        ({1: TPCH[0], 2: TPCH[1]}, "keys are not stage numbers"),
        ([1, 2], "keys are not stage numbers"),
        ({0: TPCH[0]}, "1 stages"),
        ({0: TPCH[0], 1: {"first_wave": {}}}, "waves are missing"),
        ({0: TPCH[0], 1: tpch_stage({2: []}, {2: []}, {2: []})}, "no tasks"),
        ({0: TPCH[0], 1: tpch_stage({2: [5], 5: []}, {2: [], 5: []}, {2: [5], 5: []})}, "no durations"),
        ({0: TPCH[0], 1: tpch_stage({2: [-1]}, {2: []}, {2: []})}, "not a list of durations"),
        ({0: TPCH[0], 1: tpch_stage({2: [float("nan")]}, {2: []}, {2: []})}, "not a list of durations"),
        ({0: TPCH[0], 1: tpch_stage({2: ["x"]}, {2: []}, {2: []})}, "not a list of durations"),
        ({0: TPCH[0], 1: tpch_stage({"two": [1]}, {2: []}, {2: []})}, "not a list of durations"),
    ],
)
def test_wrong_durations(tmp_path, stages, says):
    [fault] = faults_of(write_tpch(tmp_path, stages))
    assert says in fault.problem
    assert fault.file.endswith("task_duration_1.npy")


@pytest.mark.parametrize(
    ("adjacency", "says"),
    [
        (np.array([[0.0, 1.0], [1.0, 0.0]]), "form a cycle"),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), "form a cycle"),
        (np.array([[0.0, 2.0], [0.0, 0.0]]), "not an adjacency matrix"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), "not an adjacency matrix"),
        (np.zeros((2, 3)), "not an adjacency matrix"),
        (np.zeros(2), "not an adjacency matrix"),
    ],
)
def test_wrong_graphs(tmp_path, adjacency, says):
    [fault] = faults_of(write_tpch(tmp_path, adjacency=adjacency))
    assert says in fault.problem
    assert fault.file.endswith("adj_mat_1.npy")


def test_all_files_with_faults_are_named(tmp_path):
    for query in (1, 2, 3):
        write_tpch(tmp_path, query=query)
    (tmp_path / "2g" / "adj_mat_1.npy").unlink()
    (tmp_path / "2g" / "task_duration_3.npy").write_bytes(b"")
    faults = faults_of(tmp_path)
    assert [fault.file.rpartition("/")[2] for fault in faults] == ["adj_mat_1.npy", "task_duration_3.npy"]
    assert faults[0].problem == "no such file"


def test_folders_without_data(tmp_path):
    assert "no input sizes" in faults_of(tmp_path)[0].problem
    assert "no input sizes" in faults_of(tmp_path / "none")[0].problem
    (tmp_path / "2g").mkdir()
    assert "no queries" in faults_of(tmp_path)[0].problem


@needs_data("tpch")
def test_the_published_data():
    imported = read_tpch(DATA / "tpch")
    catalogue = imported.source.catalogue
    check_source(imported.source)
    assert catalogue.num_dags == 132
    assert catalogue.num_stages == 1212
    assert catalogue.dag_stages.min() == 2
    assert catalogue.dag_stages.max() == 18
    assert 2 not in catalogue.duration_executors
    assert catalogue.dag_work_s.mean() == pytest.approx(787, rel=0.01)
