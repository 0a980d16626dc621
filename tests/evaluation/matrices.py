"""A small setting that the tests of the matrix share, and schedulers put into the registry for a while."""

from __future__ import annotations

import pytest

from dovetail.core.registry import Entry
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.setting_dag import DagSetting, OpenDagSetting
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagOptions
from dovetail.workloads.arrivals import Arrivals

WORKLOAD = "layered:dags=6"


def small(jobs: int = 3) -> OpenDagSetting:
    arrivals = Arrivals("poisson", interval_s=5.0)
    return DagSetting(WORKLOAD, jobs, arrivals, DagOptions(executors=8)).open()


def contenders(*specs: str) -> tuple[Contender, ...]:
    return tuple(map(Contender.of, specs))


def register_odd(monkeypatch: pytest.MonkeyPatch, *classes: str) -> None:
    """`Raises` becomes `dag/raises`, and so on, until the test ends."""
    for name in classes:
        entry = Entry(f"dag/{name.lower()}", f"tests.evaluation.odd_schedulers:{name}", "odd", "a test")
        monkeypatch.setitem(SCHEDULERS._entries, entry.name, entry)
