"""The adaptive scheduler as a whole: it finds the better composition, sees changes, and is kept from harm."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import pytest

from dovetail.adaptation.adaptive import Adaptive, AdaptiveParams
from dovetail.core.config import build
from dovetail.core.dag import DagDecision, DagView, ExecutorClass
from dovetail.core.errors import ConfigError, DovetailError, InvalidDecision
from dovetail.core.observation import Observer
from dovetail.core.seeds import SeedTree
from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.messages import ExecutorUp
from dovetail.execution.controller.referee import Gift
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions, DagResult, DagWorld, run
from dovetail.testing.dag_views import JobSketch, StageSketch, make_view
from dovetail.workloads import Arrivals, open_source

CLASSES = (ExecutorClass(20, 1.0, 0.25), ExecutorClass(10, 1.0, 0.5), ExecutorClass(10, 1.0, 1.0))
OPTIONS = DagOptions(classes=CLASSES, moving_delay_s=0.5)
GOOD, BAD = "srtf+hesrpt+smallest-fit+local", "fifo+all+smallest-fit+sticky"
OTHER = "drf+equal-dominant+smallest-fit+local"


def play(scheduler: Adaptive, workload: str = "changing", jobs: int = 300, seed: int = 1) -> DagResult:
    sequence = open_source(workload).sequence(jobs, Arrivals("trace"), SeedTree(seed))
    return run(DagWorld(sequence, OPTIONS, SeedTree(seed)), scheduler, np.random.default_rng(seed))


def test_it_finds_the_better_of_two() -> None:
    params = AdaptiveParams(compositions=(BAD, GOOD), fallback=BAD)
    scheduler = Adaptive(params)
    play(scheduler, "changing:phases=[fine-wide-batched],dags=20", jobs=800)
    last = scheduler.events[-1]
    assert scheduler.names == (BAD, GOOD)
    assert last.beliefs[1].mean > last.beliefs[0].mean
    later = scheduler.events[len(scheduler.events) // 2 :]
    assert sum(event.composition == GOOD for event in later) > 0.8 * len(later)


def test_where_jobs_pile_up_windows_are_judged_and_the_better_is_found() -> None:
    """Half again as much work as the executors can do."""
    scheduler = Adaptive(AdaptiveParams(compositions=(BAD, GOOD), fallback=BAD))
    play(scheduler, "changing:phases=[fine-wide-batched],dags=20,executors=60,load=0.99", jobs=800)
    judged = [event for event in scheduler.events if event.cost is not None]
    assert len(judged) > 0.9 * len(scheduler.events) > 10
    assert judged[-1].beliefs[1].mean > judged[-1].beliefs[0].mean
    later = scheduler.events[len(scheduler.events) // 2 :]
    assert sum(event.composition == GOOD for event in later) > 0.8 * len(later)


def test_it_sees_the_work_change_and_come_back() -> None:
    scheduler = Adaptive()
    play(scheduler, jobs=900)
    changes = [(event.time_s, event.work) for event in scheduler.events if event.why.startswith("the work has changed")]
    assert len(changes) >= 4
    at_s = {time_s // 600: work for time_s, work in changes}
    assert at_s[1] == at_s[4] and at_s[2] == at_s[5] and len({at_s[1], at_s[2], at_s[3]}) == 3
    assert all(time_s % 600 < 120 for time_s, _ in changes), "a change is noticed within two minutes"


@pytest.mark.parametrize("learner", ["thompson", "ucb1", "discounted-ucb", "sliding-ucb", "exp3", "linear", "random"])
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_no_more_windows_explore_than_allowed(learner: str, share: float) -> None:
    scheduler = Adaptive(AdaptiveParams(learner=learner, explore_share=share, window_jobs=5))
    play(scheduler)
    explored = np.cumsum([event.explores for event in scheduler.events])
    assert len(explored) > 10
    assert (explored <= share * np.arange(1, len(explored) + 1)).all()


@pytest.mark.parametrize("objective", ["makespan", "utilisation", "overhead"])
def test_other_objectives_run_to_the_end(objective: str) -> None:
    scheduler = Adaptive(build(AdaptiveParams, {"objective": objective}))
    assert np.isfinite(play(scheduler).finish_s).all()
    judged = [event for event in scheduler.events if event.cost is not None]
    assert bool(judged) == (objective != "overhead"), "the simulator measures no overhead, so nothing is judged"


def test_the_same_seed_gives_the_same_run() -> None:
    first, again = Adaptive(), Adaptive()
    assert np.array_equal(play(first).finish_s, play(again).finish_s)
    assert first.events == again.events and first.assembly.swaps > 0


class Breaks:
    """Decides as asked until its time comes."""

    def __init__(self, inner: object, after: int, how: str) -> None:
        self.inner, self.left, self.how = inner, after, how

    def reset(self, info: object, rng: object) -> None:
        self.inner.reset(info, rng)  # type: ignore[attr-defined]

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        self.left -= 1
        decisions: Sequence[DagDecision] = self.inner.decide(view)  # type: ignore[attr-defined]
        if self.left > 0:
            return decisions
        if self.how == "raises":
            raise RuntimeError("out of ideas")
        if self.how == "stage":
            return (DagDecision(len(view.stage_id), 1),)
        if self.how == "twice":
            return (decisions[0], decisions[0])
        if self.how == "class":
            needs = view.stage_memory[decisions[0].stage]
            small = [c for c, kind in enumerate(CLASSES) if kind.memory < needs or not view.source_by_class[c]]
            return (decisions[0]._replace(executor_class=small[0]),) if small else decisions
        return (decisions[0]._replace(limit=10**6),)


@pytest.mark.parametrize("how", ["raises", "stage", "limit", "twice", "class"])
def test_a_composition_that_fails_is_replaced_at_once(how: str) -> None:
    scheduler = Adaptive(AdaptiveParams(compositions=(BAD, GOOD), fallback=OTHER))
    scheduler.assembly._schedulers[0] = Breaks(scheduler.assembly._schedulers[0], 50, how)  # type: ignore[call-overload]
    assert np.isfinite(play(scheduler).finish_s).all()
    (guard,) = [event for event in scheduler.events if event.kind == "guard"]
    assert guard.composition == OTHER and BAD in guard.why
    after = scheduler.events[scheduler.events.index(guard) + 1 :]
    assert after and all(event.composition != BAD for event in after)


def test_when_the_world_refuses_a_decision_the_fallback_takes_over() -> None:
    """Of what the guard rails cannot see."""
    scheduler = Adaptive(AdaptiveParams(compositions=(BAD, GOOD), fallback=OTHER))
    options = ControllerOptions((ExecutorClass(2, 1.0, 1.0),))
    controller = Controller(options, "dag/adaptive", scheduler, lambda: SCHEDULERS.create("dag/fifo"))
    controller.handle(ExecutorUp(0, 0, "node"), 0.0)
    refused: list[str] = []

    def check(decisions: Sequence[DagDecision]) -> list[Gift]:
        refused.append(scheduler.names[scheduler.assembly.active])
        if len(refused) == 1:
            raise InvalidDecision("not like this")
        return []

    scheduler._choose = lambda: (0, 0)  # type: ignore[method-assign]
    view = make_view([JobSketch([StageSketch(tasks=10, mean_s=2.0, left=10)])], time_s=0.0)
    assert controller.incumbent.ask(view, check) == []
    assert refused == [BAD, OTHER] and controller.incumbent.name == "dag/adaptive"
    assert "not like this" in scheduler.events[-1].why and scheduler.events[-1].kind == "guard"
    assert not scheduler.retreat(view, "the fallback is the last"), "then the engine's own fallback takes over"


def test_when_the_fallback_fails_too_it_says_so() -> None:
    scheduler = Adaptive(AdaptiveParams(compositions=(BAD,), fallback=BAD))
    scheduler.assembly._schedulers[0] = Breaks(scheduler.assembly._schedulers[0], 5, "limit")  # type: ignore[call-overload]
    with pytest.raises(DovetailError, match=r"the fallback .* failed"):
        play(scheduler)


def test_a_composition_that_thinks_too_long_is_replaced() -> None:
    def clock() -> Iterator[float]:
        """Two readings to a decision; the 40th decision takes 2 s."""
        now = 0.0
        for reading in count():
            now += 2.0 if reading == 79 else 0.001
            yield now

    readings = clock()
    params = AdaptiveParams(compositions=(BAD, GOOD), fallback=OTHER, decision_budget_s=1.0)
    scheduler = Adaptive(params, timer=lambda: next(readings))
    play(scheduler)
    (guard,) = [event for event in scheduler.events if event.kind == "guard"]
    assert "took 2e+03 ms for a decision" in guard.why and guard.composition == OTHER


def test_without_a_budget_the_clock_is_never_read() -> None:
    def no_clock() -> float:
        raise AssertionError("the clock was read")

    play(Adaptive(timer=no_clock), jobs=60)


def test_events_are_told_as_they_happen_and_can_be_written_down() -> None:
    told = []
    scheduler = Adaptive(on_event=told.append)
    play(scheduler, jobs=100)
    assert told == scheduler.events and isinstance(scheduler, Observer)
    document = told[-1].as_json()
    assert set(document) == {field.name for field in dataclasses.fields(told[-1])}
    assert scheduler.batch_s == 0.02


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"compositions": []}, "none given"),
        ({"compositions": ["nonsense"]}, "order/nonsense"),
        ({"learner": "guess"}, "learner/guess"),
        ({"explore_share": 1.5}, "share from 0 to 1"),
        ({"window_jobs": 0}, "window_jobs is 0"),
        ({"stop_loss": 0.5}, "stop_loss above 1"),
    ],
)
def test_bad_parameters_are_refused(values: dict[str, object], says: str) -> None:
    with pytest.raises(DovetailError, match=says):
        build(AdaptiveParams, values)


def test_a_composition_that_knows_the_future_is_refused() -> None:
    with pytest.raises(ConfigError, match="knows the future"):
        Adaptive(AdaptiveParams(compositions=("dag/oracle-search",)))
