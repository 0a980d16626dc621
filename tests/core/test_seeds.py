import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.seeds import SeedTree

NAMES = st.lists(st.text(max_size=4), max_size=4)

GOLDEN_ROOT_KEY = 11931053746591313429
GOLDEN_ARRIVALS_KEY = 6157026684673693989
GOLDEN_ARRIVALS_RAW = [1439562997537872782, 14246114535813220989, 15810576724803660604]


def test_golden_streams_stay_the_same_for_ever():
    """Published numbers depend on these: a change here needs a new major version."""
    arrivals = SeedTree(0).child("workload", 3, "arrivals")
    assert SeedTree(0).key() == GOLDEN_ROOT_KEY
    assert arrivals.key() == GOLDEN_ARRIVALS_KEY
    assert arrivals.generator().bit_generator.random_raw(3).tolist() == GOLDEN_ARRIVALS_RAW


def test_generator_starts_afresh_each_time():
    node = SeedTree(1).child("actions")
    assert np.array_equal(node.generator().random(5), node.generator().random(5))


def test_streams_differ_by_seed_name_and_depth():
    nodes = [SeedTree(0), SeedTree(1), SeedTree(-1), SeedTree(0).child("a"), SeedTree(0).child("a", "a")]
    assert len({node.key() for node in nodes}) == len(nodes)
    assert len({node.generator().bit_generator.random_raw() for node in nodes}) == len(nodes)


def test_asking_for_a_sibling_does_not_disturb_a_stream():
    root = SeedTree(5)
    before = root.child("arrivals").generator().random(4)
    root.child("failures").generator().random(100)
    assert np.array_equal(before, root.child("arrivals").generator().random(4))


def test_numbers_name_the_same_stream_as_their_text():
    assert SeedTree(0).child(3) == SeedTree(0).child("3")


def test_numpy_integer_is_the_same_seed():
    assert SeedTree(np.int64(7)).key() == SeedTree(7).key()


def test_the_seed_is_not_part_of_the_path():
    assert SeedTree(1, ("2",)).key() != SeedTree(12).key()


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SeedTree(0).seed = 1  # type: ignore[misc]


@given(NAMES, NAMES)
def test_different_paths_never_share_a_stream(one, other):
    same = SeedTree(0).child(*one).key() == SeedTree(0).child(*other).key()
    assert same == (one == other)


@given(st.integers(), NAMES)
def test_child_by_child_is_the_same_as_at_once(seed, names):
    step_by_step = SeedTree(seed)
    for name in names:
        step_by_step = step_by_step.child(name)
    assert step_by_step == SeedTree(seed).child(*names)
    assert 0 <= step_by_step.key() < 2**64
