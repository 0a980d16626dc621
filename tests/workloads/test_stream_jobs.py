import numpy as np
import pytest
from tests.workloads.stream_samples import diamond

from dovetail.core.errors import DovetailError
from dovetail.workloads.stream_alone import steady_latency_s, with_slo
from dovetail.workloads.stream_jobs import StreamBuilder, instances_for, jobs_of, most_skew


def test_records_and_work_of_each_operator():
    jobs = diamond(2)
    work = jobs.at_mean_rate()
    np.testing.assert_allclose(work.gain, [1, 1, 0.25, 0.75] * 2)
    np.testing.assert_allclose(jobs.demand(), [0.5, 2, 1, 0.75] * 2)
    assert jobs.level().tolist() == [0, 1, 1, 2] * 2
    assert jobs.parents().tolist() == [0, 1, 1, 2] * 2
    assert jobs.op_job.tolist() == [0] * 4 + [1] * 4
    assert jobs.op_buffer.tolist() == [200, 50, 25, 200] * 2
    assert list(zip(jobs.edge_from[:4], jobs.edge_to[:4], strict=True)) == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_instances_at_the_start():
    assert diamond().op_start.tolist() == [1, 3, 2, 2]  # the last one: 0.75 <= 0.7 / (0.1 + 0.9 / 2)
    assert instances_for(2.0, 0.0, 10) == 3
    assert instances_for(2.0, 0.0, 10, utilisation=1.0) == 2
    assert instances_for(2.0, 0.6, 10) == 10  # never enough: one instance has more than it can do
    assert instances_for(0.0, 0.0, 1) == 1


def test_few_slots_take_instances_from_the_least_busy():
    assert diamond(slots=7).op_start.tolist() == [1, 3, 2, 1]
    assert diamond(slots=4).op_start.tolist() == [1, 1, 1, 1]
    with pytest.raises(DovetailError, match="4 operators and 3 slots"):
        diamond(slots=3)


@pytest.mark.parametrize(("demand", "most"), [(0.5, 10), (2.0, 10), (4.5, 10), (8.0, 10), (1.0, 1)])
def test_skew_leaves_room_for_peaks(demand, most):
    skew = most_skew(demand, most, 2.0)
    assert 0 <= skew <= 1
    if skew > 0:
        assert 1 / (skew + (1 - skew) / most) == pytest.approx(2.0 * demand)


def test_latency_of_a_queue_and_of_a_chain():
    builder = StreamBuilder()
    builder.job("one", rate=10.0, restart_s=0.3, slo_s=1.0, checkpoint_s=10.0)
    first = builder.operator("a", service_s=0.01, buffer_s=1.0, source=1.0)
    builder.operator("b", first, service_s=0.03, buffer_s=1.0)
    jobs = builder.build(2)
    assert jobs.op_start.tolist() == [1, 1]
    # M/M/1: a record spends S / (1 - r).
    assert steady_latency_s(jobs, 0.7)[0] == pytest.approx(0.04 / 0.3)


def test_slos():
    assert with_slo(diamond()).job_slo_s.tolist() == [2.0]  # three levels of 0.2 s are less than 2 s in all
    assert with_slo(diamond(2), 7.5).job_slo_s.tolist() == [7.5, 7.5]
    builder = StreamBuilder()
    builder.job("slow", rate=0.1, restart_s=0.3, slo_s=1.0, checkpoint_s=10.0)
    builder.operator("a", service_s=3.0, buffer_s=10.0, source=1.0)
    assert with_slo(builder.build(1)).job_slo_s[0] == pytest.approx(30.0)


def test_jobs_of_a_sequence():
    jobs = diamond(2)
    rate = np.array([[1.0, 3.0], [5.0, 6.0]])
    again = jobs_of(jobs.workload(60.0, rate, 0.0))
    assert again.job_rate.tolist() == [2.0, 5.5]
    assert again.op_name == jobs.op_name and again.slots == jobs.slots
