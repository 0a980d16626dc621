import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.workloads.samples import assert_same, diamond, recorded, sources

from dovetail.workloads.dag import block_rows, pointer


def test_derived_values_of_the_diamond():
    catalogue = diamond()
    assert catalogue.num_dags == 2
    assert catalogue.num_stages == 5
    assert catalogue.stage_dag.tolist() == [0, 0, 0, 0, 1]
    assert catalogue.stage_mean_s.tolist() == [1, 2, 5, 1, 1.5]
    assert catalogue.stage_level.tolist() == [0, 1, 1, 2, 0]
    assert catalogue.stage_critical_path_s.tolist() == [7, 3, 6, 1, 1.5]
    assert catalogue.dag_stages.tolist() == [4, 1]
    assert catalogue.dag_tasks.tolist() == [10, 10]
    assert catalogue.dag_work_s.tolist() == [2 + 8 + 5 + 3, 15]
    assert catalogue.dag_depth.tolist() == [3, 1]
    assert catalogue.dag_critical_path_s.tolist() == [7, 1.5]


def test_groups_are_sorted_by_stage_wave_and_executors():
    catalogue = diamond()
    groups = list(zip(catalogue.duration_stage, catalogue.duration_wave, catalogue.duration_executors, strict=True))
    assert groups == sorted(groups)


def test_single_dag_keeps_what_belongs_to_it():
    one = diamond().single(1)
    assert one.dag_name == ("lone",)
    assert one.edge_ptr.tolist() == [0, 0]
    assert one.duration_stage.tolist() == [0, 0]
    assert one.duration_s.tolist() == [1.5, 2.5, 0.5]
    assert one.dag_work_s.tolist() == [15]


@given(sources(), st.data())
def test_selecting_all_changes_nothing_and_any_order_keeps_each_dag(source, data):
    catalogue = source.catalogue
    assert_same(catalogue.select(range(catalogue.num_dags)), catalogue)
    order = data.draw(st.permutations(range(catalogue.num_dags)))
    shuffled = catalogue.select(order)
    for place, dag in enumerate(order):
        assert_same(shuffled.single(place), catalogue.single(dag))


def test_compact_drops_unused_dags():
    workload = recorded().recorded
    assert workload.compact().catalogue.num_dags == 2
    only = type(workload)(
        workload.catalogue, ("x",), np.array([1]), np.zeros(1), np.ones(1), np.full(1, np.inf)
    ).compact()
    assert only.catalogue.dag_name == ("lone",)
    assert only.job_dag.tolist() == [0]


def test_job_work():
    assert recorded().recorded.job_work_s.tolist() == [18, 15, 18]


@given(st.lists(st.integers(0, 4), min_size=1), st.data())
def test_block_rows(sizes, data):
    ptr = pointer(np.array(sizes))
    chosen = data.draw(st.lists(st.integers(0, len(sizes) - 1)))
    rows = block_rows(ptr, np.array(chosen, dtype=np.int64))
    assert rows.tolist() == [row for block in chosen for row in range(ptr[block], ptr[block + 1])]
