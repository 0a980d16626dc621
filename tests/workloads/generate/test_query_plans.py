import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.workloads.generate.query_plans import RESULT, SCAN, SHUFFLE, draw_plans


@pytest.fixture(scope="module")
def plans():
    return draw_plans(200, SeedTree(0).generator())


def test_parents_come_before_children(plans):
    assert (plans.edge_parent < plans.edge_child).all()


def test_every_plan_scans_first_and_ends_in_one_result(plans):
    assert (plans.kind[plans.stage_ptr[:-1]] == SCAN).all()
    assert (plans.kind[plans.stage_ptr[1:] - 1] == RESULT).all()
    assert (plans.kind == RESULT).sum() == 200
    assert (plans.result_tasks > 0).tolist() == (plans.kind == RESULT).tolist()


def test_every_stage_but_the_result_feeds_another_and_only_scans_have_no_parents(plans):
    offset = np.repeat(plans.stage_ptr[:-1], np.diff(plans.edge_ptr))
    feeds = np.bincount(plans.edge_parent + offset, minlength=plans.kind.size)
    fed = np.bincount(plans.edge_child + offset, minlength=plans.kind.size)
    assert ((feeds == 0) == (plans.kind == RESULT)).all()
    assert ((fed == 0) == (plans.kind == SCAN)).all()


def test_names_are_unique_within_a_plan(plans):
    for start, stop in zip(plans.stage_ptr[:-1], plans.stage_ptr[1:], strict=True):
        names = plans.stage_name[start:stop]
        assert len(set(names)) == len(names)


def test_something_flows_through_every_stage_and_less_than_was_read(plans):
    assert (plans.volume > 0).all()
    assert plans.volume[plans.kind == SHUFFLE].max() < 0.6 * 8 * 5.93


def test_sizes_are_spread_evenly(plans):
    """The same share of small and large plans in any sample of them."""
    stages = np.diff(plans.stage_ptr)
    assert 2 in stages
    assert stages.max() >= 16
    few = [np.diff(draw_plans(22, SeedTree(seed).generator()).stage_ptr).mean() for seed in range(20)]
    assert np.std(few) < 0.5
