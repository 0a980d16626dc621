import numpy as np
from tests.workloads.elastic_samples import record, table


def test_rows_are_taken_in_the_order_asked_for():
    taken = table(4).take(np.array([3, 1, 1]))
    assert taken.epochs.tolist() == [4, 2, 2]
    assert taken.utility[:, 0].tolist() == [40, 20, 20]
    assert len(taken) == 3


def test_a_record_as_a_sequence():
    workload = record().workload(10, history=record((0, 1)))
    assert workload.slots == 10
    assert workload.work.tolist() == [1, 2, 3, 4]
    assert workload.arrival.tolist() == [0, 2, 2, 7]
    assert workload.history.work.tolist() == [1, 2]
    assert len(record().workload(10).history) == 0
