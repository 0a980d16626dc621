"""What is compiled is compiled before the first job is looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.execution.slurm.paper_slurm import OWNER, START_S, PaperSlurm, a_job, a_node
from tests.execution.slurm.schedulers import FifoFirstFit

from dovetail.cluster.gpu_speed import default_speeds
from dovetail.core.gpu import GpuDecision, GpuView
from dovetail.execution.engines.slurm.cluster import Kinds
from dovetail.execution.engines.slurm.controller import SlurmController
from dovetail.execution.engines.slurm.messages import SlurmOptions
from dovetail.execution.engines.slurm.rehearsal import rehearse
from dovetail.schedulers import SCHEDULERS


class Noting(FifoFirstFit):
    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []
        self.started: list[int] = []

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        answer = super().decide(view)
        self.seen.append((len(view.job_id), len(view.run_id)))
        self.started += [decision.job for decision in answer]
        return answer


def test_it_decides_once_about_jobs_that_wait_beside_one_that_runs() -> None:
    scheduler = Noting()
    rehearse(scheduler)
    assert scheduler.seen == [(2, 1)] and scheduler.started == [0, 1]


@pytest.mark.parametrize("name", SCHEDULERS.names("gpu"))
def test_every_scheduler_can(name: str) -> None:
    rehearse(SCHEDULERS.create(name))


def test_das_compiles_nothing_in_front_of_slurm_that_it_has_not_before() -> None:
    from dovetail.schedulers.learned.das.kernel import choose

    rehearse(SCHEDULERS.create("gpu/das"))
    compiled = list(choose.signatures)
    nodes = [a_node("n1"), a_node("n2", gpu_type="A100")]
    others = a_job(9, state="RUNNING", nodes=("n2",), start_s=START_S)
    slurm = PaperSlurm([a_job(1), a_job(2, "gres:shard:2"), others], nodes)
    options, speeds = SlurmOptions(partition="gpu", act=True), Kinds.of(default_speeds())
    control = SlurmController(SCHEDULERS.create("gpu/das"), np.random.default_rng(0), options, OWNER, speeds)
    control.step(slurm.seen())
    assert compiled and list(choose.signatures) == compiled
