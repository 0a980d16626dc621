"""Leaving out jobs that there is no room for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.errors import ConfigError
from dovetail.features import cut_to_size, feature_set, flatten, select_jobs
from dovetail.testing.dag_views import (
    JobSketch,
    StageSketch,
    dag_views,
    make_view,
    without_saturated_jobs,
)

OPEN = StageSketch(tasks=2)
TAKEN = StageSketch(tasks=2, unclaimed=0)


def test_a_view_that_fits_is_left_alone():
    view = make_view([JobSketch([OPEN, OPEN])])
    same, stages = cut_to_size(view, 2)
    assert same is view
    assert stages.tolist() == [0, 1]


def test_jobs_with_choices_come_first_then_in_order_of_arrival():
    jobs = [[TAKEN], [TAKEN, TAKEN], [OPEN], [OPEN, OPEN], [TAKEN], [OPEN]]
    view = make_view([JobSketch(stages) for stages in jobs])
    kept = {room: cut_to_size(view, room)[0].job_id.tolist() for room in range(2, 8)}
    assert kept == {2: [2], 3: [2, 3], 4: [2, 3, 5], 5: [0, 2, 3, 5], 6: [0, 2, 3, 5], 7: [0, 1, 2, 3, 5]}


def test_a_source_that_is_left_out_looks_like_none():
    view = make_view([JobSketch([TAKEN]), JobSketch([OPEN])], source_job=0, source_stage=0)
    left, _ = cut_to_size(view, 1)
    assert (left.source_job, left.source_stage) == (-1, -1)
    assert left.source_executors == 1


def test_no_room_for_any_job_is_an_error():
    with pytest.raises(ConfigError, match="room for 1 stages, but job 0 alone has 2"):
        cut_to_size(make_view([JobSketch([OPEN, OPEN])]), 1)


@given(view=dag_views(), room=st.integers(12, 60))
def test_what_is_left_is_a_consistent_part(view, room):
    left, stages = cut_to_size(view, room)
    assert len(left.stage_id) == len(stages) <= room
    assert left.stage_valid.any() == view.stage_valid.any(), "a choice is never hidden altogether"
    assert (np.diff(left.job_id) > 0).all() and (np.diff(stages) > 0).all()
    assert np.array_equal(left.job_id[left.stage_job], view.job_id[view.stage_job[stages]])
    for parent, child in zip(left.edge_parent, left.edge_child, strict=True):
        assert left.stage_job[parent] == left.stage_job[child]
    features = feature_set("decima-1")
    whole, part = features.write(flatten(view)), features.write(flatten(left))
    if view.source_job == -1 or left.source_job != -1:
        assert np.array_equal(part, whole[stages])


@given(view=dag_views())
def test_selecting_agrees_with_another_way_to_do_it(view):
    expected, expected_stages = without_saturated_jobs(view)
    left, stages = select_jobs(view, view.job_unclaimed > 0)
    assert np.array_equal(stages, expected_stages)
    for name, ours, theirs in zip(left._fields, left, expected, strict=True):
        assert np.array_equal(ours, theirs), name
