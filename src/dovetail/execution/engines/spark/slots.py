"""Who is to have which slot: the books of docs/dag-model.md, for an engine that moves slots itself.

A stage that has tasks to launch keeps its *claim*, whatever runs at the moment.  One that has none, a *dry* one, leaves
its slots as its tasks end: those it *promised* are in the claims of others already, the rest are its *own* and can be
promised.  What nobody claims is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail.execution.engines.spark.jobs import DONE, TO_COME, Job, Stage


def own(stage: Stage) -> int:
    """Slots that a dry stage leaves and has not promised."""
    return max(0, stage.running - stage.promised) if stage.is_dry else 0


def held(job: Job) -> int:
    """Slots that a job has, or is to have."""
    return sum(own(stage) if stage.is_dry else stage.claim for stage in job.stages)


def unclaimed(stage: Stage) -> int:
    """Tasks that no claim covers; what runs beyond a claim runs only because nobody else wanted the slot."""
    if stage.state == DONE or stage.is_dry:
        return 0
    if stage.state == TO_COME:
        return stage.tasks
    return max(0, stage.running + stage.waiting - stage.claim)


def free(slots: int, jobs: Iterable[Job]) -> int:
    return slots - sum(held(job) for job in jobs)


def follow(jobs: Iterable[Job], is_real: bool) -> None:
    """What tasks that ended and stages that ran dry change.  Not `is_real`: claims are what runs, decided by others."""
    for job in jobs:
        for stage in job.stages:
            if stage.state == DONE:
                stage.claim = stage.promised = 0
            elif not is_real:
                stage.claim, stage.promised = stage.running, 0
            elif stage.is_dry:
                stage.promised = max(0, stage.promised - max(0, stage.was_running - stage.running))
                stage.claim = 0
            else:
                stage.claim = min(stage.claim, stage.running + stage.waiting)


def trim(slots: int, jobs: Sequence[Job]) -> None:
    """Slots were lost: claims that came last are the first to go."""
    missing = -free(slots, jobs)
    stages = [stage for job in jobs for stage in job.stages if stage.claim > 0 and not stage.is_dry]
    for stage in sorted(stages, key=lambda stage: -stage.rank):
        taken = min(missing, stage.claim)
        if taken <= 0:
            return
        stage.claim -= taken
        missing -= taken


def release(jobs: Iterable[Job]) -> None:
    """All claims are open again, but what runs last tasks goes on until these end."""
    for job in jobs:
        for stage in job.stages:
            stage.claim = stage.promised = 0
