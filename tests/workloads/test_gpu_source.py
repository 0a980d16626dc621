import numpy as np
import pytest
from tests.workloads.gpu_samples import recorded
from tests.workloads.samples import assert_same

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.errors import DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_source import GPU, capacity, open_gpu

MIXED = GpuCluster(4, ("v100x4", "t4x4"))


def sequence(source, seed=0, jobs=None, arrivals=None, cluster=None):
    return source.sequence(jobs or source.jobs, arrivals or source.arrivals, cluster or source.cluster, SeedTree(seed))


def test_equal_seeds_give_equal_sequences_and_streams_are_apart():
    source = open_gpu("small")
    assert_same(sequence(source, 3), sequence(source, 3))
    other = sequence(source, 3, arrivals=GpuArrivals("batch"))
    np.testing.assert_array_equal(other.work_s, sequence(source, 3).work_s)
    longer = sequence(source, 3, jobs=400)
    np.testing.assert_array_equal(longer.work_s[:300], sequence(source, 3).work_s)
    assert not np.array_equal(sequence(source, 4).work_s, sequence(source, 3).work_s)


@pytest.mark.parametrize("name", ["small", "medium-mixed"])
def test_the_load_is_that_of_the_sequence(name):
    source = open_gpu(f"{name}:load=0.7,arrivals=poisson")
    loads = []
    for seed in range(5):
        jobs = sequence(source, seed)
        loads.append(jobs.gpu_seconds.sum() / (jobs.arrival_s[-1] * capacity(source.cluster, jobs.kind_name)))
    assert np.mean(loads) == pytest.approx(0.7, rel=0.1)


def test_a_load_of_a_larger_cluster_brings_more_jobs():
    source = open_gpu("small")
    near, far = (sequence(source, cluster=GpuCluster(machines)).arrival_s[-1] for machines in (8, 16))
    assert near > 1.5 * far


def test_capacity_counts_gpus_by_speed():
    kinds = open_gpu("small").kind_name
    assert capacity(GpuCluster(2), kinds) == 8
    assert 8 < capacity(MIXED, kinds) < 16
    assert capacity(MIXED, ("a kind of ones own",)) == pytest.approx(8 + 8 * 320 / 900)


def test_windows_of_a_record():
    source = recorded((0.0, 5.0, 7.0, 20.0, 30.0))
    jobs = sequence(source, jobs=3)
    start = int(jobs.job_name[0][1:])
    assert jobs.job_name == tuple(f"r{start + i}" for i in range(3))
    np.testing.assert_array_equal(
        jobs.arrival_s, source.recorded.arrival_s[start : start + 3] - source.recorded.arrival_s[start]
    )


def test_windows_that_lie_apart_share_no_job():
    source = recorded((0.0, 5.0, 7.0, 20.0, 30.0))
    apart = GpuArrivals("trace", apart=True)
    windows = [sequence(source, seed, jobs=2, arrivals=apart) for seed in range(2)]
    assert [window.job_name for window in windows] == [("r0", "r1"), ("r2", "r3")]
    assert windows[1].arrival_s.tolist() == [0, 13]
    with pytest.raises(
        DovetailError, match="make 2 windows of 2 that share none, seeds 0 to 1; there is none for seed 2"
    ):
        sequence(source, 2, jobs=2, arrivals=apart)


def test_gaps_are_stretched_to_a_load():
    source = recorded((0.0, 5.0, 7.0, 20.0))
    jobs = sequence(source, arrivals=GpuArrivals("trace", load=0.5))
    assert jobs.arrival_s[-1] == pytest.approx(jobs.gpu_seconds.sum() / (8 * 0.5))
    np.testing.assert_allclose(jobs.arrival_s / jobs.arrival_s[-1], np.array([0, 5, 7, 20]) / 20)
    jobs = sequence(source, arrivals=GpuArrivals("trace", interval_s=10.0))
    assert jobs.arrival_s[-1] == pytest.approx(40.0)


def test_recorded_jobs_that_do_not_fit_are_left_out():
    source = recorded((0.0, 5.0, 7.0, 20.0), cluster=GpuCluster(1, ("v100x1",)))
    assert source.left_out(source.cluster) == 1  # two workers of two GPUs
    assert sequence(source, jobs=3).job_name == ("r0", "r1", "r3")
    drawn = sequence(source, jobs=50, arrivals=GpuArrivals("batch"))
    assert drawn.workers.max() == 1
    with pytest.raises(DovetailError, match=r"3 were recorded that fit the cluster \(1 do not\)"):
        sequence(source, jobs=4)


def test_drawn_from_a_record():
    jobs = sequence(recorded(), jobs=200, arrivals=GpuArrivals("poisson", interval_s=1.0))
    assert set(jobs.work_s) == {100.0, 200.0, 300.0, 400.0}
    assert len(set(jobs.job_name)) == 200


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: open_gpu("smal"), "did you mean 'small'"),
        (lambda: open_gpu("small:lod=1"), "did you mean 'load'"),
        (lambda: open_gpu("no/such"), "no such directory"),
        (lambda: sequence(open_gpu("small"), arrivals=GpuArrivals("trace")), "no recorded jobs"),
        (lambda: sequence(open_gpu("small"), jobs=10**8), "1 to 10,000,000"),
        (lambda: sequence(recorded(), jobs=9), "9 jobs in a row asked for, 4 were recorded; --arrivals poisson draws"),
        (lambda: sequence(recorded((0.0, 0.0)), arrivals=GpuArrivals("trace", load=1.0)), "all at once"),
        (lambda: sequence(open_gpu("small:cpu_share=1,shared_share=0,gang_share=0")), "jobs without GPUs"),
    ],
)
def test_what_cannot_be_is_refused(make, says):
    with pytest.raises(DovetailError, match=says):
        make()


def test_unknown_names_are_told_apart():
    with pytest.raises(UnknownName):
        open_gpu("tiny")
    assert all(open_gpu(name).cluster for name in GPU)
