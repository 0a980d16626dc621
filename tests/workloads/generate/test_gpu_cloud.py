import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.cluster.gpu_speed import default_speeds
from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.workloads.gpu_alone import fits
from dovetail.workloads.gpu_describe import gpu_shares, quantiles
from dovetail.workloads.gpu_source import GPU, open_gpu
from dovetail.workloads.readers.alibaba_gpu2023 import read_gpu2023


def drawn(name, jobs=4000, seed=0):
    source = open_gpu(name)
    return source.sequence(jobs, source.arrivals, source.cluster, SeedTree(seed))


@pytest.mark.parametrize("name", GPU)
def test_every_job_fits_the_cluster_of_its_preset(name):
    source = open_gpu(name)
    for seed in range(3):
        jobs = source.sequence(3000, source.arrivals, source.cluster, SeedTree(seed))
        assert fits(jobs, source.cluster).all()
    restricted = open_gpu(f"{name}:restricted_share=0.5")
    jobs = restricted.sequence(2000, restricted.arrivals, restricted.cluster, SeedTree(1))
    assert fits(jobs, restricted.cluster).all()
    assert 0.3 < (jobs.types >= 0).mean() < 0.5


def test_demands_are_what_a_worker_can_have():
    jobs = drawn("large")
    part = (jobs.gpus > 0) & (jobs.gpus < 1)
    assert ((jobs.gpus == np.floor(jobs.gpus)) | part).all()
    assert (jobs.workers[part] == 1).all()
    assert (jobs.gpus <= 4).all() and (jobs.cpus > 0).all() and (jobs.memory > 0).all()
    assert (jobs.workers * jobs.gpus).max() == 64
    cpu = jobs.kind_name.index("cpu")
    np.testing.assert_array_equal(jobs.kind == cpu, jobs.gpus == 0)
    assert set(jobs.kind_name) <= set(default_speeds().kind_name)


def test_most_jobs_need_one_gpu_or_less_and_most_work_is_of_gangs():
    jobs = drawn("medium")
    total = jobs.workers * jobs.gpus
    assert 0.6 < (total <= 1).mean() < 0.7
    assert jobs.gpu_seconds[total > 1].sum() > 0.7 * jobs.gpu_seconds.sum()
    assert 60 < np.median(jobs.work_s) < 3600 and jobs.work_s.max() <= 86_400 and jobs.work_s.min() >= 30


def test_users_and_estimates():
    jobs = drawn("large")
    counts = np.sort(np.bincount(jobs.user))[::-1]
    assert counts[0] == pytest.approx(2 * counts[1], rel=0.25)
    error = np.log(jobs.estimate_s / jobs.work_s)
    assert error.mean() == pytest.approx(0, abs=0.03) and error.std() == pytest.approx(0.5, rel=0.05)
    exact = drawn("small:error_sigma=0", jobs=10)
    np.testing.assert_array_equal(exact.work_s, exact.estimate_s)


def test_parameters_do_what_they_say():
    assert (drawn("small:gang_share=0,largest_gang=2").workers == 1).all()
    jobs = drawn("small:gang_share=1,cpu_share=0,shared_share=0,whole_share=0,largest_gang=4")
    assert set(jobs.workers) == {2, 4} and (jobs.gpus == 1).all()
    kinds = drawn("small:kinds=[lm-b5,mine]")
    assert kinds.kind_name == ("lm-b5", "mine", "cpu")
    assert set(kinds.kind) == {0, 1, 2}
    longer = drawn("small:gang_stretch=4")
    total = longer.workers * longer.gpus > 1
    assert np.median(longer.work_s[total]) > 2.5 * np.median(longer.work_s[~total])


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ("gang_share=2", "share from 0 to 1"),
        ("cpu_share=0.5,shared_share=0.5,gang_share=0.5", "more than 1"),
        ("gang_sizes=[2,4]", "one number for each"),
        ("largest_gang=2,gang_sizes=[4],gang_weights=[1]", "no size up to largest_gang"),
        ("worker_gpus=3", "multiple"),
        ("longest_s=10", "above shortest_s"),
        ("durations=[[1,0,1]]", "median and a sigma above 0"),
        ("durations=[[0,10,1]]", "all weights are 0"),
        ("load=0", "above 0"),
        ("jobs=0", "1 to"),
        ("error_sigma=-1", "0 to 10"),
    ],
)
def test_what_cannot_be_is_refused(params, says):
    with pytest.raises(DovetailError, match=says):
        open_gpu(f"small:{params}")


@needs_data("alibaba-gpu2023")
def test_the_look_alike_is_close_to_the_trace():
    trace = read_gpu2023(DATA / "alibaba-gpu2023").source.recorded
    ours = drawn("cloud-2023", jobs=20_000)
    for name, share in gpu_shares(trace).items():
        assert gpu_shares(ours)[name] == pytest.approx(share, abs=0.03), name
    measured, made = quantiles(trace), quantiles(ours)
    np.testing.assert_allclose(made["work_s"][:-1], measured["work_s"][:-1], rtol=0.1)
    assert made["work_s"][-1] == pytest.approx(measured["work_s"][-1], rel=0.3)
    np.testing.assert_allclose(made["cpus_per_gpu"][:-1], measured["cpus_per_gpu"][:-1], rtol=0.15)
    np.testing.assert_allclose(made["memory_gb_per_gpu"][3:5], measured["memory_gb_per_gpu"][3:5], rtol=0.1)
