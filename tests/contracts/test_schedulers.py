"""What every registered scheduler must do.  A new entry of the registry is tested without a new test."""

from __future__ import annotations

import dataclasses

import pytest

from dovetail.core.dag import HasKernel
from dovetail.schedulers import SCHEDULERS
from dovetail.testing import check_scheduler

NAMES = SCHEDULERS.names()
DAG = SCHEDULERS.names("dag")


@pytest.mark.parametrize("name", NAMES)
def test_conformance(name: str) -> None:
    check_scheduler(lambda: SCHEDULERS.create(name), family=SCHEDULERS.entry(name).family)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_frozen_and_have_defaults(name: str) -> None:
    scheduler = SCHEDULERS.create(name)
    params = type(scheduler).Params()
    assert dataclasses.is_dataclass(params)
    for field in dataclasses.fields(params):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(params, field.name, None)


@pytest.mark.parametrize("name", DAG)
def test_dag_schedulers_can_be_compiled(name: str) -> None:
    assert isinstance(SCHEDULERS.create(name), HasKernel)


def test_there_are_enough_of_them() -> None:
    assert len(DAG) >= 11
