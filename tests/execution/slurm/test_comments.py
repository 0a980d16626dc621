"""What users say in the comments of their jobs: what cannot be followed is told, once for each thing that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.execution.slurm.paper_slurm import OWNER, a_job
from tests.execution.slurm.schedulers import FifoFirstFit
from tests.execution.slurm.test_controller import ACTING, paper, step

from dovetail.cluster.gpu_speed import default_speeds
from dovetail.execution.engines.slurm.cluster import Kinds
from dovetail.execution.engines.slurm.controller import SlurmController


@pytest.mark.parametrize("act", [True, False], ids=["acting", "shadow"])
def test_what_a_comment_says_in_vain_is_said_once_for_each_thing_that_is_wrong(act: bool) -> None:
    comments = ["dovetail:kind=nosuch,estimate_s=-5,foo", "dovetail:kind=nosuch", "dovetail:kind=lm-b20, estimate_s=60"]
    comments += ["dovetail:estimate=60", "foo", "dovetail", "dovetail:", "dovetail:foo"]
    slurm = paper(*(a_job(number, comment=text) for number, text in enumerate(comments, 1)))
    control = SlurmController(
        FifoFirstFit(), np.random.default_rng(0), replace(ACTING, act=act), OWNER, Kinds.of(default_speeds())
    )
    for _ in range(3):
        step(slurm, control)
    said = [note.text for note in slurm.events("comment")]
    assert [text.partition(";")[0] for text in said[1:]] == [
        "job 1: comment: estimate_s=-5: expected seconds above 0",
        "job 1: comment: 'foo' is no setting",
        "job 4: comment: 'estimate' is no setting that is known",
    ]
    assert said[0].startswith("job 1: comment: kind=nosuch: no such kind of training") and "`other`" in said[0]
