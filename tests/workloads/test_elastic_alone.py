import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workloads.elastic_samples import record

from dovetail.core.elastic import ElasticInfo, ElasticJobs
from dovetail.schedulers.heuristic.elastic.placing import most_workers as room_of_schedulers
from dovetail.workloads.elastic_alone import alone_slots, mean_demand, most_workers

ONE_HOST = np.array([[3.0, 10.0, 100.0, 100.0, 10.0]])


def jobs(work=12, most=100, worker=(1, 1, 1, 1, 1), server=(0, 1, 1, 1, 1)):
    return ElasticJobs(
        arrival=np.zeros(1, dtype=np.int64),
        work=np.array([work]),
        max_workers=np.array([most]),
        worker_demand=np.array([worker], dtype=np.float64),
        server_demand=np.array([server], dtype=np.float64),
        utility=np.ones((1, 3)),
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (jobs(), 3),  # devices
        (jobs(most=2), 2),  # chunks
        (jobs(worker=(0, 5, 1, 1, 1)), 2),  # processors
        (jobs(worker=(0, 1, 1, 1, 1)), 10),  # as many servers as workers, of 1 Gbit/s each
        (jobs(worker=(0, 1, 1, 1, 1), server=(0, 5, 1, 1, 3)), 6),  # two servers of 3 Gbit/s
        (jobs(worker=(4, 1, 1, 1, 1)), 0),
        (jobs(server=(1, 1, 1, 1, 11)), 0),
    ],
)
def test_most_workers_by_hand(found, expected):
    assert most_workers(found, ONE_HOST, ONE_HOST).tolist() == [expected]


def test_workers_do_not_straddle_hosts():
    assert most_workers(jobs(worker=(2, 1, 1, 1, 1)), np.repeat(ONE_HOST, 4, axis=0), ONE_HOST).tolist() == [4]


@given(
    st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, 8.0])] * 5), min_size=1, max_size=3),
    st.tuples(*[st.sampled_from([0.0, 0.1, 0.3, 1.0, 1 / 3, 2.0])] * 4, st.sampled_from([0.1, 0.7, 1.0])),
    st.tuples(*[st.sampled_from([0.0, 0.1, 1.0])] * 4, st.sampled_from([0.1, 0.7, 1.0])),
)
def test_schedulers_find_the_same_room(hosts, worker, server):
    capacity, found = np.array(hosts), jobs(most=10**9, worker=worker, server=server)
    info = ElasticInfo(1, 1.0, worker_capacity=capacity, server_capacity=capacity, history=found, expected_jobs=1.0)
    expected = room_of_schedulers(info, found.worker_demand, found.server_demand)
    assert most_workers(found, capacity, capacity).tolist() == np.minimum(expected, 10**9).tolist()


def test_slots_alone():
    assert alone_slots(jobs(work=12), ONE_HOST, ONE_HOST).tolist() == [4]
    assert alone_slots(jobs(work=13), ONE_HOST, ONE_HOST).tolist() == [5]
    assert alone_slots(jobs(worker=(4, 1, 1, 1, 1)), ONE_HOST, ONE_HOST).tolist() == [np.inf]


def test_mean_demand_by_hand():
    known = record((0, 0)).workload(10).jobs()  # 1 and 2 worker-slots; a server's bandwidth is twice a worker's
    worker, server = mean_demand(known)
    assert worker.tolist() == [1.5, 3, 6, 12, 1.5]
    assert server.tolist() == [0, 1.5, 3, 6, 1.5]
