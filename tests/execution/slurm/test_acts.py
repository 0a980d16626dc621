"""In which order Slurm is told things, and what follows when it refuses one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from dovetail.execution.engines.slurm.acts import TOGETHER, carry_out
from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.messages import Lease, LetGo, Tell

NOW_S = 1000.0


class Listening(SlurmClient):
    """Writes down what it is asked to run, and refuses some of it."""

    def __init__(self, refuses: dict[tuple[int, str], str] | None = None) -> None:
        self.heard: list[tuple[list[int], dict[str, str]]] = []
        self.refuses = refuses or {}

    def update(self, jobs: Iterable[int], **settings: str) -> dict[int, str]:
        numbers = list(jobs)
        self.heard.append((numbers, settings))
        return {job: why for (job, name), why in self.refuses.items() if job in numbers and name in settings}

    def release(self, jobs: Iterable[int]) -> dict[int, str]:
        self.heard.append((list(jobs), {"release": ""}))
        return {}


def test_equal_leases_are_one_command() -> None:
    client = Listening()
    leases = [Lease(job, NOW_S + 119.2, "[x queued]") for job in (1, 2)]
    assert not carry_out(client, [*leases, Lease(3, NOW_S + 119.2, None)], NOW_S)
    assert client.heard == [
        ([1, 2], {"StartTime": "now+120", "AdminComment": "[x queued]"}),
        ([3], {"StartTime": "now+120"}),
    ]


def test_nodes_are_set_while_the_job_cannot_begin() -> None:
    client = Listening()
    tells = [Tell(1, ("n1", "n2"), (), "[x told]"), Tell(2, ("n3",), ("n1", "n2"), "[x told]", nice=-5)]
    assert not carry_out(client, tells, NOW_S)
    assert client.heard == [
        ([1, 2], {"StartTime": "now+60"}),
        ([1], {"ReqNodeList": "n[1-2]", "AdminComment": "[x told]"}),
        ([2], {"ReqNodeList": "n3", "ExcNodeList": "n[1-2]", "Nice": "-5", "AdminComment": "[x told]"}),
        ([1, 2], {"StartTime": "now"}),
    ]


def test_the_nodes_of_a_job_that_runs_are_not_changed() -> None:
    client = Listening({(1, "StartTime"): "Job is no longer pending execution"})
    tell, clear = Tell(1, ("n1",), (), "[x told]"), LetGo(1, "", clear=True)
    lease = Lease(1, NOW_S + 9, "[x queued]", clear=True)
    for act in (tell, clear, lease):
        client.heard.clear()
        assert carry_out(client, [act], NOW_S) == [(act, "Job is no longer pending execution")]
        assert not any("ReqNodeList" in settings for _, settings in client.heard)


def test_a_job_whose_nodes_are_refused_does_not_begin() -> None:
    client = Listening({(1, "ReqNodeList"): "Invalid node name specified"})
    tells = [Tell(1, ("n9",), (), "[x told]"), Tell(2, ("n1",), (), "[x told]")]
    assert carry_out(client, tells, NOW_S) == [(tells[0], "Invalid node name specified")]
    assert client.heard[-1] == ([2], {"StartTime": "now"})


def test_without_a_lease_nothing_is_told() -> None:
    client = Listening({(1, "AdminComment"): "busy"})
    lease, tell = Lease(1, NOW_S + 9, "[x queued]"), Tell(1, ("n1",), (), "[x told]")
    assert carry_out(client, [lease, tell], NOW_S) == [(lease, "busy"), (tell, "there is no lease")]
    assert len(client.heard) == 1


def test_a_hold_is_lifted_between_two_traces() -> None:
    client = Listening()
    assert not carry_out(client, [Lease(1, NOW_S + 9, "[dovetail x queued]", release=True)], NOW_S)
    assert client.heard == [
        ([1], {"AdminComment": "[dovetail x taking]", "StartTime": "now+9"}),
        ([1], {"release": ""}),
        ([1], {"AdminComment": "[dovetail x queued]"}),
    ]


@pytest.mark.parametrize("jobs", [TOGETHER, TOGETHER + 1])
def test_not_too_many_at_once(jobs: int) -> None:
    client = Listening()
    assert not carry_out(client, [Tell(job, ("n1",), (), "[x told]") for job in range(jobs)], NOW_S)
    assert max(len(numbers) for numbers, _ in client.heard) == TOGETHER
    assert len(client.heard) == jobs + (2 if jobs == TOGETHER else 4)
