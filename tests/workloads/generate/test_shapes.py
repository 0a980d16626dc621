import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workloads.samples import assert_same

from dovetail.workloads.check import check_source
from dovetail.workloads.generate.shapes import Chains, ForkJoins, Layered, TaskShape
from dovetail.workloads.source import DagSource

_range = st.tuples(st.integers(1, 5), st.integers(0, 4)).map(lambda pair: (pair[0], sum(pair)))
_tasks = st.builds(TaskShape, tasks=_range, spread=st.floats(0, 1), samples=st.integers(1, 8))
_common = {"dags": st.integers(1, 5), "tasks": _tasks, "seed": st.integers(0, 2**40)}
_params = st.one_of(
    st.builds(Layered, layers=_range, width=_range, edge_chance=st.floats(0, 1), **_common),
    st.builds(Chains, length=_range, **_common),
    st.builds(ForkJoins, phases=_range, branches=_range, **_common),
)


@given(_params)
def test_any_parameters_give_a_valid_catalogue_and_always_the_same(params):
    catalogue = params.catalogue()
    check_source(DagSource("w", catalogue))
    assert catalogue.num_dags == params.dags
    low, high = params.tasks.tasks
    assert ((catalogue.num_tasks >= low) & (catalogue.num_tasks <= high)).all()
    assert_same(catalogue, params.catalogue())


def test_chains_are_chains():
    catalogue = Chains(dags=20, length=(3, 5)).catalogue()
    assert (catalogue.dag_depth == catalogue.dag_stages).all()
    assert set(catalogue.dag_stages) == {3, 4, 5}


def test_fork_joins_join():
    catalogue = ForkJoins(dags=20, phases=(2, 2), branches=(3, 3)).catalogue()
    assert set(catalogue.dag_stages) == {9}
    assert set(catalogue.dag_depth) == {5}
    assert np.bincount(catalogue.single(0).edge_child).tolist() == [0, 1, 1, 1, 3, 1, 1, 1, 3]


def test_layered_graphs_are_as_deep_as_their_layers():
    catalogue = Layered(dags=20, layers=(4, 4), width=(2, 3)).catalogue()
    assert set(catalogue.dag_depth) == {4}
    assert catalogue.dag_stages.min() >= 8
    assert catalogue.dag_stages.max() <= 12


def test_seeds_differ():
    one, other = Chains(seed=1).catalogue(), Chains(seed=2).catalogue()
    assert one.num_tasks.tolist() != other.num_tasks.tolist()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Chains(dags=0), "dags"),
        (lambda: Chains(length=(0, 1)), "length"),
        (lambda: Layered(width=(3, 2)), "width"),
        (lambda: Layered(edge_chance=1.5), "edge_chance"),
        (lambda: ForkJoins(branches=(0, 0)), "branches"),
        (lambda: TaskShape(task_s=(0.0, 1.0)), "task_s"),
        (lambda: TaskShape(inflation=(0.5, 1.0)), "inflation"),
        (lambda: TaskShape(spread=-1.0), "spread"),
    ],
)
def test_impossible_parameters(make, says):
    with pytest.raises(ValueError, match=says):
        make()
