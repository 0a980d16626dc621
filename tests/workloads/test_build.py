import numpy as np

from dovetail.workloads.build import CatalogueBuilder


def test_groups_come_out_sorted_and_empty_ones_are_left_out():
    builder = CatalogueBuilder("b")
    builder.start_dag("d")
    builder.add_stage("s", tasks=1)
    builder.add_durations(2, 10, np.array([3.0]))
    builder.add_durations(0, 5, np.array([]))
    builder.add_durations(1, 20, np.array([1.0, 2.0]))
    catalogue = builder.build()
    assert catalogue.duration_wave.tolist() == [1, 2]
    assert catalogue.duration_ptr.tolist() == [0, 2, 3]
    assert catalogue.duration_s.tolist() == [1, 2, 3]


def test_no_dags_is_an_empty_catalogue():
    catalogue = CatalogueBuilder("b").build()
    assert catalogue.num_dags == 0
    assert catalogue.edge_parent.dtype == np.int64
    assert catalogue.dag_tasks.size == 0
