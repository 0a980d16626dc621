"""No task is lost or done twice, however often the composition is changed; what parts remember survives."""

from __future__ import annotations

import threading

import numpy as np

from dovetail.adaptation.composition import parse_composition
from dovetail.adaptation.hot_swap import Assembly
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.testing.dag_views import JobSketch, StageSketch, info_for, make_view
from dovetail.workloads import Arrivals, open_source

TEXTS = (
    "fifo+all+smallest-fit+sticky",
    "las+equal-threads+most-free+central",
    "srtf+hesrpt+largest-fit+hawk",
    "las+fair-share+smallest-fit+mercury",
    "dag/tetris",
)


def test_a_thousand_swaps_under_load_lose_nothing() -> None:
    workload = open_source("granularity").sequence(120, Arrivals("poisson", interval_s=4.0), SeedTree(3))
    world = DagWorld(workload, DagOptions(executors=40), SeedTree(3), record=True)
    assembly = Assembly([parse_composition(text) for text in TEXTS])
    assembly.reset(world.info, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    while (view := world.advance()) is not None:
        for _ in range(3):  # several times between two decisions, too
            assembly.swap(int(rng.integers(len(TEXTS))))
        world.apply(assembly.decide(view))
    assert assembly.swaps > 1000
    result = world.result()
    assert np.isfinite(result.finish_s).all()
    catalogue = workload.catalogue
    for job, dag in enumerate(workload.job_dag):
        stages = slice(catalogue.stage_ptr[dag], catalogue.stage_ptr[dag + 1])
        done = np.bincount(result.tasks["stage"][result.tasks["job"] == job], minlength=catalogue.dag_stages[dag])
        assert np.array_equal(done, catalogue.num_tasks[stages])


def test_what_a_part_remembers_is_carried_over() -> None:
    """The first job has been served for 5 s; the part that comes in later must know, for nothing is finished yet."""
    jobs = [JobSketch([StageSketch(tasks=90, running=1)], executors=1), JobSketch([StageSketch(tasks=90)])]
    assembly = Assembly([parse_composition(text) for text in (TEXTS[1], TEXTS[0], "las+all+smallest-fit+central")])
    assembly.reset(info_for(), np.random.default_rng(0))
    assembly.decide(make_view(jobs, time_s=0.0))
    assembly.decide(make_view(jobs, time_s=5.0))
    assembly.swap(1)
    assert assembly.decide(make_view(jobs, time_s=5.0))[0].stage == 0
    assembly.swap(2)
    assert assembly.decide(make_view(jobs, time_s=5.0))[0].stage == 1


def test_a_swap_waits_for_the_call_in_progress() -> None:
    assembly = Assembly([parse_composition(text) for text in TEXTS[:2]])
    assembly.reset(info_for(), np.random.default_rng(0))
    inside, leave, seen = threading.Event(), threading.Event(), []

    class Slow:
        def decide(self, view: object) -> tuple[()]:
            inside.set()
            leave.wait(5.0)
            seen.append(assembly.active)
            return ()

    assembly._schedulers[0] = Slow()  # type: ignore[call-overload] # stands in for a scheduler
    view = make_view([JobSketch([StageSketch()])])
    deciding = threading.Thread(target=assembly.decide, args=(view,))
    swapping = threading.Thread(target=assembly.swap, args=(1,))
    deciding.start()
    assert inside.wait(5.0)
    swapping.start()
    swapping.join(0.05)
    assert swapping.is_alive() and assembly.active == 0
    leave.set()
    deciding.join(5.0)
    swapping.join(5.0)
    assert seen == [0] and assembly.active == 1
