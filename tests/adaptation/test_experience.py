"""What was learned survives: in another scheduler, for another learner, in a file; and nothing wrong is believed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from dovetail.adaptation.adaptive import Adaptive, AdaptiveParams
from dovetail.adaptation.experience import Experience, checked
from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError
from dovetail.core.handover import BELIEFS, HasState
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.workloads import Arrivals, open_source

CLASSES = (ExecutorClass(20, 1.0, 0.25), ExecutorClass(10, 1.0, 0.5), ExecutorClass(10, 1.0, 1.0))
GOOD, BAD = "srtf+hesrpt+smallest-fit+local", "fifo+all+smallest-fit+sticky"


def play(scheduler: Adaptive, jobs: int, seed: int) -> Adaptive:
    source = open_source("changing:phases=[fine-wide-batched,coarse-wide-batched],dags=20")
    world = DagWorld(
        source.sequence(jobs, Arrivals("trace"), SeedTree(seed)),
        DagOptions(classes=CLASSES, moving_delay_s=0.5),
        SeedTree(seed),
    )
    run(world, scheduler, np.random.default_rng(seed))
    return scheduler


@pytest.fixture(scope="module")
def learned() -> Any:
    """Of two compositions over two kinds of work, as it would be read from a file."""
    first = play(Adaptive(AdaptiveParams(compositions=(BAD, GOOD), fallback=BAD)), jobs=1200, seed=1)
    assert isinstance(first, HasState)
    return json.loads(json.dumps(first.export_state()[BELIEFS]))


@pytest.mark.parametrize("learner", ["thompson", "ucb1", "sliding-ucb", "linear", "exp3"])
def test_another_learner_begins_with_what_was_learned(learned: Any, learner: str) -> None:
    params = AdaptiveParams(compositions=("las+all", GOOD, BAD), fallback=BAD, learner=learner)
    again = play(Adaptive(params, beliefs=learned), jobs=100, seed=2)
    first = again.events[0]
    assert first.why == f"the first window; {len(learned['classes'])} classes of work are known"
    assert again.names.index(GOOD) == 1 and first.beliefs[1].pulls > 0 and first.beliefs[0].pulls == 0
    assert first.beliefs[1].mean > first.beliefs[2].mean
    assert {event.work for event in again.events} <= {0, 1}, "no class of work is founded twice"


def test_every_reset_begins_with_it(learned: Any) -> None:
    params = AdaptiveParams(compositions=(BAD, GOOD), fallback=BAD)
    scheduler = Adaptive(params, beliefs=learned)
    first = play(scheduler, jobs=100, seed=2).events
    assert play(scheduler, jobs=100, seed=2).events == first


def test_what_is_exported_is_what_was_imported(learned: Any) -> None:
    experience = Experience("completion", 0.75)
    experience.read(learned)
    assert json.loads(json.dumps(experience.as_json())) == learned
    assert len(list(experience.told(0))) > 5


def test_a_composition_that_failed_is_not_chosen_by_the_next_either() -> None:
    state = {"barred": [BAD, "las+all+smallest-fit+central"], "else": 1}
    scheduler = Adaptive(AdaptiveParams(compositions=(BAD, GOOD), fallback=GOOD))
    play(scheduler, jobs=40, seed=1)
    assert scheduler.import_state(state) == ()
    assert scheduler.export_state()["barred"] == [BAD]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: [], "expected an object with schema 1"),
        (lambda d: {**d, "schema": 2}, "expected an object with schema 1"),
        (lambda d: {**d, "features": ["width"]}, r"features are \['width'\]"),
        (lambda d: {**d, "objective": "makespan"}, "learned for 'makespan'; expected the objective 'completion'"),
        (lambda d: {**d, "classes": d["classes"] * 20}, "at most 16 classes"),
        (lambda d: {**d, "classes": [{}]}, "class 0: expected an object with centre"),
        (lambda d: with_class(d, centre=[1.0]), "class 0: centre is"),
        (lambda d: with_class(d, centre=[float("nan")] * 5), "expected 5 numbers"),
        (lambda d: with_class(d, seen=-1), "seen is -1"),
        (lambda d: with_class(d, cost=0.0), "cost is 0.0; expected a number above 0"),
        (lambda d: with_class(d, crowded_cost="much"), "crowded_cost is 'much'"),
        (lambda d: with_class(d, rewards=3), "rewards: expected a list"),
        (lambda d: with_class(d, rewards=[["fifo", 1.5]]), "a number from 0 to 1"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_of_it_taken(learned: Any, change: Any, says: str) -> None:
    experience = Experience("completion", 0.75)
    with pytest.raises(ConfigError, match=says):
        experience.read(change(learned))
    assert not experience.classes.centres
    checked(learned, "completion")


def with_class(document: Any, **fields: Any) -> Any:
    first, *rest = document["classes"]
    return {**document, "classes": [first | fields, *rest]}
