import time

import numpy as np
import pytest
from tests.workloads.samples import assert_same, diamond, recorded

from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.workloads.arrivals import Arrivals, Deadlines
from dovetail.workloads.check import check_source
from dovetail.workloads.durations import ideal_s
from dovetail.workloads.source import BUNDLED, DagSource, open_source

BATCH = Arrivals("batch")
POISSON = Arrivals("poisson", interval_s=25)


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_workload_is_valid_and_always_the_same(name):
    source = open_source(name)
    check_source(source)
    assert source.name == name
    assert source.recorded is None
    assert_same(source.catalogue, open_source(name).catalogue)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_workloads_open_at_once(name):
    times_s = []
    for _ in range(3):
        start = time.perf_counter()
        open_source(name)
        times_s.append(time.perf_counter() - start)
    assert min(times_s) < 0.3


def test_parameters_after_the_name():
    catalogue = open_source("chains:dags=3,length=[4,4],tasks.tasks=[2,2]").catalogue
    assert catalogue.num_dags == 3
    assert set(catalogue.dag_stages) == {4}
    assert set(catalogue.num_tasks) == {2}


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("tpchlike", UnknownName, "did you mean 'tpch-like'"),
        ("chains:lenght=[1,2]", ConfigError, "did you mean 'length'"),
        ("chains:length=[0,2]", ConfigError, "at least 1"),
        ("some/where", DovetailError, "no such directory"),
        (__file__, DovetailError, "not a directory"),
    ],
)
def test_unknown_workloads_say_what_is_known(name, error, says):
    with pytest.raises(error, match=says):
        open_source(name)


def test_a_sequence_depends_on_its_seed_only():
    source = open_source("tpch-like")
    one = source.sequence(50, POISSON, SeedTree(7))
    assert_same(one, source.sequence(50, POISSON, SeedTree(7)))
    other = source.sequence(50, POISSON, SeedTree(8))
    assert one.job_dag.tolist() != other.job_dag.tolist()
    assert one.arrival_s.tolist() != other.arrival_s.tolist()


def test_jobs_and_arrivals_are_separate_streams():
    source = open_source("tpch-like")
    one = source.sequence(50, BATCH, SeedTree(7))
    other = source.sequence(50, POISSON, SeedTree(7))
    assert one.job_dag.tolist() == other.job_dag.tolist()


def test_5000_jobs_take_milliseconds():
    source = open_source("tpch-like")
    source.sequence(1, POISSON, SeedTree(0))
    times_s = []
    for seed in range(5):
        start = time.perf_counter()
        source.sequence(5000, POISSON, SeedTree(seed))
        times_s.append(time.perf_counter() - start)
    assert min(times_s) < 0.05


def test_all_dags_are_equally_likely():
    source = open_source("tpch-like")
    drawn = np.bincount(source.sequence(132 * 400, BATCH, SeedTree(0)).job_dag, minlength=132)
    assert drawn.min() > 400 - 5 * 20
    assert drawn.max() < 400 + 5 * 20


def test_sequences_are_valid_workloads():
    source = open_source("fork-joins")
    workload = source.sequence(30, POISSON, SeedTree(1), weights=(1, 5), deadlines=Deadlines(2, 3, 50))
    check_source(DagSource("w", workload.catalogue, workload))


def test_weights_are_drawn_from_the_list():
    workload = open_source("chains").sequence(200, BATCH, SeedTree(0), weights=(1, 5))
    assert set(workload.weight) == {1, 5}
    with pytest.raises(DovetailError, match="above 0"):
        open_source("chains").sequence(2, BATCH, SeedTree(0), weights=(0,))


def test_deadlines_follow_from_the_ideal_time():
    assert ideal_s(diamond(), 2).tolist() == [9, 2.5]  # work / 2 executors, at the durations of few executors
    assert ideal_s(diamond(), 10).tolist() == [7, 1]  # the longest chain; two waves on 5 executors, not one on 10
    workload = DagSource("toy", diamond()).sequence(9, POISSON, SeedTree(0), deadlines=Deadlines(2, 2, 10))
    expected = workload.arrival_s + 2 * np.array([7, 1])[workload.job_dag]
    np.testing.assert_allclose(workload.deadline_s, expected)


def test_a_window_of_the_record_starts_at_0():
    starts = set()
    for seed in range(30):
        window = recorded().sequence(2, Arrivals("trace"), SeedTree(seed))
        assert window.arrival_s[0] == 0
        starts.add(window.job_name)
        if window.job_name == ("y", "z"):
            assert window.deadline_s.tolist() == [30, np.inf]
            assert window.weight.tolist() == [2, 0.5]
    assert starts == {("x", "y"), ("y", "z")}


def test_recorded_jobs_are_drawn_with_their_weights():
    workload = recorded().sequence(300, BATCH, SeedTree(0))
    assert set(workload.weight) == {1, 2, 0.5}
    assert set(workload.weight[workload.job_dag == 1]) == {2}


@pytest.mark.parametrize(
    ("source", "jobs", "arrivals", "says"),
    [
        (recorded(), 4, Arrivals("trace"), "3 were recorded"),
        (DagSource("toy", diamond()), 1, Arrivals("trace"), "no recorded arrivals"),
        (recorded(), 0, BATCH, "at least 1 job"),
    ],
)
def test_impossible_sequences(source, jobs, arrivals, says):
    with pytest.raises(DovetailError, match=says):
        source.sequence(jobs, arrivals, SeedTree(0))
