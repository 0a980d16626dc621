"""The searches over order and places: toys with a known best, and the evaluation they rest on."""

from __future__ import annotations

import numpy as np
import pytest
from tests.schedulers.gpu_views import check_valid, cluster, random_info, random_view, view_of

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import GpuInfo, GpuView, Place, Reason
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.kernels.gpu_lookahead import evaluate, open_scene
from dovetail.schedulers.kernels.jit import entry
from dovetail.schedulers.optimise.gpu.mosa import Mosa

SEARCHES = ["gpu/mosa", "gpu/malo"]


@entry
def worth(view, params, state, jobs, types, price, keys, genes):  # type: ignore[no-untyped-def]
    scene = open_scene(view, params, state, jobs, types, price)
    return evaluate(view, params, state, scene, keys, genes)


def value(info: GpuInfo, view: GpuView, keys: list[float], genes: list[float] | None = None) -> tuple[float, float]:
    """Mean completion time and mean fee of a schedule."""
    search = Mosa()
    search.reset(info, np.random.default_rng(0))
    params, state, types, price = search.facts()
    rule = np.zeros(len(keys)) if genes is None else np.array(genes)
    found = worth(view, params, state, np.arange(len(keys)), types, price, np.array(keys), rule)
    return float(found[0]), float(found[1])


FOUR = cluster(machines=1)


def test_a_queue_on_one_machine() -> None:
    """Four GPUs; jobs of 100 s and 10 s that need them all: (100 + 110) / 2 or (10 + 110) / 2 seconds.

    A V100 is 3.06 USD an hour, so the fees are 4 * 3.06 * (100 + 10) / 3600 / 2 in either order.
    """
    view = view_of(FOUR, [{"gpus": 4.0, "left_s": 100.0}, {"gpus": 4.0, "left_s": 10.0}])
    assert value(FOUR, view, [0.1, 0.2]) == pytest.approx((105.0, 4 * 3.06 * 110 / 7200))
    assert value(FOUR, view, [0.2, 0.1]) == pytest.approx((60.0, 4 * 3.06 * 110 / 7200))


def test_running_jobs_end_when_they_are_expected_to() -> None:
    """Three of four GPUs are free after 50 s (100 s left at speed 2), the fourth is free now; both have waited 30 s."""
    running = [({"gpus": 3.0, "left_s": 100.0, "speed": 2.0}, [0])]
    view = view_of(FOUR, [{"gpus": 2.0, "left_s": 10.0}, {"gpus": 1.0, "left_s": 500.0}], running, time_s=30.0)
    assert value(FOUR, view, [0.1, 0.2])[0] == pytest.approx(((30 + 50 + 10) + (30 + 500)) / 2)


def test_those_that_do_not_fit_are_passed_and_shares_count() -> None:
    """Two devices.  A half runs on one of them for 20 s; a whole pair must wait, two halves need not."""
    info = cluster(machines=1, gpus=2)
    running = [({"gpus": 0.5, "left_s": 20.0}, [0])]
    jobs = [{"gpus": 2.0, "left_s": 10.0}, {"gpus": 0.5, "left_s": 5.0}, {"gpus": 0.5, "left_s": 7.0}]
    assert value(info, view_of(info, jobs, running), [0.1, 0.2, 0.3])[0] == pytest.approx((30 + 5 + 7) / 3)


def test_genes_choose_rule_and_types() -> None:
    """Machine 0 has V100s, machine 1 A100s: kind 1 takes a third of the time there."""
    info = cluster(machines=2, types=(0, 1))
    view = view_of(info, [{"kind": 1, "left_s": 300.0}])
    choices = [value(info, view, [0.5], [(c + 0.5) / 9])[0] for c in range(9)]  # rules within masks: any, V100, A100
    assert choices == pytest.approx([300.0] * 6 + [100.0] * 3)


def test_workers_apart_are_slower() -> None:
    """Kind 0 loses a fifth of a machine hop: 1 + 0.2 * (1 - 1/2) with two machines of a rack.  Rule 2 spreads."""
    info = cluster(machines=2)
    view = view_of(info, [{"workers": 2, "left_s": 100.0}])
    assert value(info, view, [0.5], [0.1])[0] == pytest.approx(100.0)
    assert value(info, view, [0.5], [0.9])[0] == pytest.approx(110.0)


@pytest.mark.parametrize("name", SEARCHES)
def test_finds_the_order_of_a_toy(name: str) -> None:
    """Eight jobs that need the whole machine: shortest first is best, and only its first can start."""
    jobs = [{"gpus": 4.0, "left_s": float(s)} for s in (80, 30, 60, 10, 70, 20, 50, 40)]
    search = SCHEDULERS.create(f"{name}:evaluations=2000,weight=1")
    search.reset(FOUR, np.random.default_rng(1))
    (found,) = search.decide(view_of(FOUR, jobs))
    assert (found.job, found.reason, found.place) == (3, Reason.SEARCHED, Place.SEARCHED)


@pytest.mark.parametrize("name", SEARCHES)
def test_finds_the_types_of_a_toy(name: str) -> None:
    """One A100 and one V100: kind 1 gains most from the A100."""
    info = cluster(machines=2, gpus=1, types=(1, 0))
    search = SCHEDULERS.create(f"{name}:weight=1")
    search.reset(info, np.random.default_rng(1))
    found = search.decide(view_of(info, [{"kind": 2, "left_s": 100.0}, {"kind": 1, "left_s": 100.0}]))
    assert {one.job: one.machines.tolist() for one in found} == {0: [1], 1: [0]}


@pytest.mark.parametrize("name", SEARCHES)
def test_valid_on_anything_and_the_same_again(name: str) -> None:
    for seed in range(15):
        rng = np.random.default_rng(seed)
        info = random_info(rng)
        views = [random_view(rng, info, most=60) for _ in range(2)]
        runs = []
        search = SCHEDULERS.create(f"{name}:evaluations=40,window=8")
        for _ in range(2):
            search.reset(info, np.random.default_rng(seed))
            answers = [search.decide(view) for view in views]
            for view, answer in zip(views, answers, strict=True):
                check_valid(view, info, answer)
            runs.append([[(one.job, one.machines.tolist(), one.affinity) for one in answer] for answer in answers])
        assert runs[0] == runs[1]


@pytest.mark.parametrize("name", SEARCHES)
def test_nobody_waits_nobody_starts(name: str) -> None:
    search = SCHEDULERS.create(name)
    search.reset(FOUR, np.random.default_rng(0))
    assert list(search.decide(view_of(FOUR, []))) == []
    assert list(search.decide(view_of(FOUR, [{"gpus": 2.0}], [({"gpus": 3.0}, [0])]))) == []


@pytest.mark.parametrize(
    "spec",
    ["gpu/mosa:evaluations=0", "gpu/mosa:weight=2", "gpu/mosa:cold=1", "gpu/malo:population=1", "gpu/malo:crossover=2"],
)
def test_parameters_out_of_range(spec: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        SCHEDULERS.create(spec)


def test_nobody_waits_for_types_that_will_never_do() -> None:
    """Two machines of two types, a gang that needs both: were it set on one of them, nothing would ever run."""
    info = cluster(machines=2, types=(0, 1))
    for seed in range(20):
        search = SCHEDULERS.create("gpu/mosa:evaluations=1")
        search.reset(info, np.random.default_rng(seed))
        search._known = {0: (0.5, 0.9)}  # where the last search ended: only A100s
        (found,) = search.decide(view_of(info, [{"workers": 8}]))
        assert sorted(found.machines.tolist()) == [0] * 4 + [1] * 4
