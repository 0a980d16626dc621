"""Mean durations and work by wave and executor count, by hand."""

import numpy as np
import pytest
from tests.testing.dag_toys import ToyJob, ToyStage, toy_workload

from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import FIRST, FRESH, REST, DagWorkload
from dovetail.workloads.durations import dag_work_at_s, fill_samples, ideal_s
from dovetail.workloads.source import open_source


def catalogue_of(tasks, samples):
    return toy_workload(ToyJob([ToyStage(tasks, samples)])).catalogue


def test_holes_are_filled_from_other_waves_then_from_the_nearest_level():
    table = fill_samples(catalogue_of(4, {("first", 2): [3.0, 5.0], ("rest", 8): [2.0]}), 1.0)
    assert table.levels.tolist() == [2, 8]
    assert table.mean_s[0, FIRST].tolist() == [4, 2]
    assert table.mean_s[0, REST].tolist() == [4, 2]
    assert table.mean_s[0, FRESH].tolist() == [5, 3]


def test_between_two_levels_the_mean_is_interpolated_and_beyond_them_it_stays():
    table = fill_samples(catalogue_of(1, {("rest", 2): [4.0], ("rest", 8): [10.0]}), 1.0)
    assert [table.mean_at_s(n)[0, REST] for n in (0, 2, 5, 8, 99)] == [4, 4, 7, 10, 10]


def test_work_has_one_first_wave_task_per_executor():
    catalogue = catalogue_of(10, {("first", 4): [3.0], ("rest", 4): [1.0]})
    assert dag_work_at_s(catalogue, 4).tolist() == [4 * 3 + 6 * 1]
    assert dag_work_at_s(catalogue, 0).tolist() == [1 * 3 + 9 * 1]
    assert dag_work_at_s(catalogue, 40).tolist() == [10 * 3]


@pytest.mark.parametrize("load", [0.5, 0.85])
def test_a_load_is_the_share_of_time_that_executors_are_busy(load):
    busy_s = span_s = 0.0
    for seed in range(4):
        workload = open_source("tpch-like").sequence(600, Arrivals("poisson", load=load, executors=50), SeedTree(seed))
        world = DagWorld(workload, DagOptions(executors=50), SeedTree(seed), horizon_s=workload.arrival_s[-1])
        busy_s += run(world, SCHEDULERS.create("dag/fair-spill"), SeedTree(seed).generator()).busy_s
        span_s += workload.arrival_s[-1]
    assert busy_s / (50 * span_s) == pytest.approx(load, rel=0.07)


@pytest.mark.parametrize("executors", [5, 50])
def test_no_job_is_faster_alone_than_the_ideal(executors):
    catalogue = open_source("tpch-like").catalogue
    least = ideal_s(catalogue, executors)
    for dag in range(0, catalogue.num_dags, 12):
        alone = DagWorkload(catalogue, ("j",), np.array([dag]), np.zeros(1), np.ones(1), np.array([np.inf]))
        took_s = []
        for seed in range(5):
            world = DagWorld(alone, DagOptions(executors=executors), SeedTree(seed))
            took_s.append(run(world, SCHEDULERS.create("dag/fair-spill"), SeedTree(0).generator()).finish_s[0])
        assert np.mean(took_s) > 0.98 * least[dag], catalogue.dag_name[dag]
