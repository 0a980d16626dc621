from __future__ import annotations

import numpy as np
import pytest

from dovetail.adaptation.composed import Composed
from dovetail.adaptation.composition import parse_composition
from dovetail.adaptation.parts import PARTS
from dovetail.core.dag import DagDecision, ExecutorClass, Reason
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagWorld, run
from dovetail.testing import check_scheduler
from dovetail.testing.conformance_dag import small_workloads
from dovetail.testing.dag_views import JobSketch, StageSketch, ask, info_for, make_view

SIZES = (ExecutorClass(10, cpu=1.0, memory=0.25), ExecutorClass(10, cpu=1.0, memory=1.0))


def composed(text: str) -> Composed:
    return Composed.of(parse_composition(text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dag/fifo", "fifo+all+smallest-fit+sticky"),
        ("dag/drf", "drf+equal-dominant+smallest-fit+local"),
        ("dag/fair-threads", "fair-threads+equal-threads+smallest-fit+local"),
        ("dag/fair-memory", "fair-memory+equal-memory+smallest-fit+local"),
        ("dag/hesrpt", "srtf+hesrpt+smallest-fit+local"),
    ],
)
def test_known_schedulers_are_compositions(name: str, text: str) -> None:
    for workload, options in small_workloads():
        ours, theirs = (
            run(DagWorld(workload, options, SeedTree(1)), scheduler, np.random.default_rng(0)).finish_s
            for scheduler in (composed(text), SCHEDULERS.create(name))
        )
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", PARTS.names())
def test_every_part_makes_a_conforming_scheduler(name: str) -> None:
    verb, _, part = name.partition("/")
    check_scheduler(lambda: SCHEDULERS.create("dag/composed", {verb: part}))


def test_place() -> None:
    view = make_view([JobSketch([StageSketch(tasks=9, memory=0.2)])], offered=[4, 3], classes=SIZES)
    for place, executor_class in (("smallest-fit", -1), ("largest-fit", 1), ("most-free", 0)):
        decision = ask(composed(f"fifo+all+{place}+central"), view, SIZES)
        assert decision is not None and decision.executor_class == executor_class


def test_the_least_served_job_goes_first() -> None:
    las = composed("las+all+smallest-fit+central")
    las.reset(info_for(), np.random.default_rng(0))
    jobs = [JobSketch([StageSketch(tasks=90, running=1)], executors=1), JobSketch([StageSketch(tasks=90)])]
    assert las.decide(make_view(jobs, time_s=0.0))[0].stage == 0  # nobody has received anything: by arrival
    assert las.decide(make_view(jobs, time_s=5.0)) == (DagDecision(1, 1, -1, Reason.LEAST_SERVICE),)


def test_hawk_keeps_a_part_for_short_jobs() -> None:
    hawk = composed("fifo+all+smallest-fit+hawk:reserved=0.2")
    long = JobSketch([StageSketch(tasks=90, mean_s=10.0, running=38)], executors=38)
    short = JobSketch([StageSketch(tasks=90, mean_s=0.1)])
    assert ask(hawk, make_view([long, short], offered=12)) == DagDecision(0, 40, -1, Reason.FIRST_ARRIVED)
    full = JobSketch([StageSketch(tasks=90, mean_s=10.0, running=40)], executors=40)
    assert ask(hawk, make_view([full, short], offered=10)) == DagDecision(1, 10, -1, Reason.FIRST_ARRIVED)
    alone = ask(hawk, make_view([full], offered=10))
    assert alone == DagDecision(0, 41, -1, Reason.FIRST_ARRIVED), "singly, while no short job wants them"


def test_mercury_serves_the_guaranteed_part_first() -> None:
    mercury = composed("srtf+all+smallest-fit+mercury:guaranteed=0.5")
    short = JobSketch([StageSketch(tasks=90, mean_s=0.1)])
    waiting = JobSketch([StageSketch(tasks=90, mean_s=10.0, running=20)], executors=20)
    decision = ask(mercury, make_view([short, waiting], offered=30))
    assert decision is not None and (decision.stage, decision.limit) == (1, 25)
    served = JobSketch([StageSketch(tasks=90, mean_s=10.0, running=25)], executors=25)
    decision = ask(mercury, make_view([short, served], offered=25))
    assert decision is not None and (decision.stage, decision.limit) == (0, 25)
