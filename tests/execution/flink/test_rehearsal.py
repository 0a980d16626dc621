"""Every rule that can steer a live job decides about the made-up one."""

from __future__ import annotations

import pytest

from dovetail import SCHEDULERS
from dovetail.execution.engines.flink.rehearsal import rehearse

RULES = ("ds2", "hpa", "quantile", "flink", "dhalion", "fixed")


@pytest.mark.parametrize("name", [*RULES, "sure"])
def test_it_can_be_rehearsed(name: str) -> None:
    rehearse(SCHEDULERS.create(f"stream/{name}"))
