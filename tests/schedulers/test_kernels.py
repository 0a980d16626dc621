"""Every heuristic decides the same in Python, as its kernel run in Python, and as its kernel compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.core.dag import DagDecision, DagKernel, DagView, ExecutorClass, Reason
from dovetail.schedulers import SCHEDULERS
from dovetail.testing.dag_views import (
    ANY_SIZE,
    FOUR_SIZES,
    dag_views,
    info_for,
    random_view,
    without_saturated_jobs,
)

COMPILED = [
    "dag/fifo",
    "dag/sjf-cp",
    "dag/srtf",
    "dag/fair",
    "dag/fair-spill",
    "dag/fair-spill:keep=false,ready_first=false,total_work=true",
    "dag/drf",
    "dag/fair-threads",
    "dag/fair-memory",
    "dag/weighted-fair",
    "dag/weighted-fair:alpha=1",
    "dag/weighted-fair:alpha=-0.3",
    "dag/hesrpt",
    "dag/hesrpt:speedup=0.85",
    "dag/critical-path",
    "dag/tetris",
    "dag/tetris:short_jobs=0,remote_penalty=0",
    "dag/graphene",
    "dag/graphene:long_threshold=0.3,fit_threshold=0.7",
    "dag/random",
]
CLUSTERS = {"one size": ANY_SIZE, "four sizes": FOUR_SIZES}


def test_every_heuristic_is_in_the_list() -> None:
    names = {entry.name for entry in SCHEDULERS.entries("dag") if ".heuristic." in entry.target}
    assert names == {spec.partition(":")[0] for spec in COMPILED}


@cache
def compiled(function: Callable[..., int]) -> Any:
    """As the simulator does it: without numba's memory management, so a kernel that allocates is refused."""
    return numba.njit(_nrt=False)(function)


def answer(function: Callable[..., int], kernel: DagKernel, view: DagView) -> list[DagDecision]:
    out = np.full(4, -99, np.int64)
    with np.errstate(over="ignore"):  # compiled integers wrap without a word
        if not function(view, kernel.params, kernel.state, out):
            return []
    return [DagDecision(int(out[0]), int(out[1]), int(out[2]), Reason(int(out[3])))]


def check_valid(view: DagView, decisions: Sequence[DagDecision], classes: Sequence[ExecutorClass]) -> None:
    """What a world demands of a decision."""
    for stage, limit, kind, reason in decisions:
        assert view.stage_valid[stage]
        assert view.job_executors[view.stage_job[stage]] < limit <= sum(c.count for c in classes)
        assert reason != Reason.UNSTATED
        assert type(stage) is int and type(limit) is int and type(kind) is int and type(reason) is Reason
        if kind != -1:
            assert view.source_by_class[kind] > 0
            assert classes[kind].cpu >= view.stage_cpu[stage]
            assert classes[kind].memory >= view.stage_memory[stage]


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("spec", COMPILED)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_three_ways_agree(spec: str, cluster: str, data: st.DataObject, seed: int) -> None:
    classes = CLUSTERS[cluster]
    views = data.draw(st.lists(dag_views(classes), min_size=1, max_size=4))
    scheduler = SCHEDULERS.create(spec)
    scheduler.reset(info_for(classes), np.random.default_rng(seed))
    plain, fast = scheduler.kernel(), scheduler.kernel()
    for view in views:
        decisions = list(scheduler.decide(view))
        check_valid(view, decisions, classes)
        lean, stage_before = without_saturated_jobs(view)
        if len(lean.job_id) == 0:
            assert decisions == []
            continue
        expected = [d._replace(stage=stage_before.tolist().index(d.stage)) for d in decisions]
        assert answer(plain.function, plain, lean) == expected
        assert answer(compiled(fast.function), fast, lean) == expected
        assert plain.state.tolist() == fast.state.tolist()


@pytest.mark.parametrize("spec", COMPILED)
def test_reset_forgets(spec: str) -> None:
    views = [random_view(np.random.default_rng(seed)) for seed in range(20)]
    scheduler = SCHEDULERS.create(spec)
    runs = []
    for _ in range(2):
        scheduler.reset(info_for(), np.random.default_rng(7))
        runs.append([tuple(scheduler.decide(view)) for view in views])
    assert runs[0] == runs[1]
    assert any(runs[0])


@pytest.mark.parametrize("spec", COMPILED)
def test_nothing_valid_nothing_decided(spec: str) -> None:
    view = random_view(np.random.default_rng(0))
    view = view._replace(stage_valid=np.zeros_like(view.stage_valid))
    scheduler = SCHEDULERS.create(spec)
    scheduler.reset(info_for(), np.random.default_rng(0))
    assert list(scheduler.decide(view)) == []
    kernel = scheduler.kernel()
    assert answer(kernel.function, kernel, view) == []
