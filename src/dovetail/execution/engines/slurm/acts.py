"""Instructions carried out with Slurm's commands, in an order in which nothing can go wrong half-way.

A job whose begin has come may begin at any moment, and changing the nodes of one that runs would cut it short.  So its
begin is moved away first, which Slurm refuses for a job that runs; only then nodes are set or cleared; and only with
the last command it may begin.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.hostlist import fold
from dovetail.execution.engines.slurm.messages import Act, Lease, LetGo, Retrace, Tell
from dovetail.execution.engines.slurm.trace import QUEUED, TAKING

ASIDE = "now+60"  # out of the way for as long as the next command takes, and Slurm's again if none follows

UNTIED = {"ReqNodeList": "", "ExcNodeList": ""}


def carry_out(client: SlurmClient, acts: Sequence[Act], now_s: float) -> list[tuple[Act, str]]:
    """All of them, in order; what Slurm said to those that it refused."""
    refused: list[tuple[Act, str]] = []
    renewals: dict[int, list[Lease]] = defaultdict(list)  # by seconds: one command renews them all
    for act in acts:
        if isinstance(act, Lease) and act.comment is None and not act.clear:
            renewals[math.ceil(act.until_s - now_s)].append(act)
    for seconds, leases in renewals.items():
        answer = client.update([lease.job for lease in leases], StartTime=f"now+{seconds}")
        refused += [(lease, answer[lease.job]) for lease in leases if lease.job in answer]
    for act in acts:
        if isinstance(act, Lease) and act.comment is None and not act.clear:
            continue
        why = _one(client, act, now_s)
        if why is not None:
            refused.append((act, why))
    return refused


def _one(client: SlurmClient, act: Act, now_s: float) -> str | None:
    if isinstance(act, Lease):
        return _lease(client, act, now_s)
    if isinstance(act, Tell):
        return _tell(client, act)
    if isinstance(act, LetGo):
        return let_go(client, act)
    assert isinstance(act, Retrace)
    return client.update([act.job], AdminComment=act.comment).get(act.job)


def _lease(client: SlurmClient, act: Lease, now_s: float) -> str | None:
    until = {"StartTime": f"now+{max(1, math.ceil(act.until_s - now_s))}"}
    comment = {} if act.comment is None else {"AdminComment": act.comment}
    if act.release:  # a trace first that says so: whoever finds it still held lifts the hold
        taking = (act.comment or "").replace(f" {QUEUED}]", f" {TAKING}]")
        why = client.update([act.job], AdminComment=taking, **until).get(act.job)
        why = why or client.release([act.job]).get(act.job)
        return why or client.update([act.job], **comment).get(act.job)
    why = client.update([act.job], **until).get(act.job)
    more = {**(UNTIED if act.clear else {}), **_nice(act.nice), **comment}
    return why or (client.update([act.job], **more).get(act.job) if more else None)


def _tell(client: SlurmClient, act: Tell) -> str | None:
    why = client.update([act.job], StartTime=ASIDE).get(act.job)
    nodes = {"ReqNodeList": fold(act.nodes), **({"ExcNodeList": fold(act.not_on)} if act.not_on else {})}
    settings = {**nodes, "AdminComment": act.comment, **_nice(act.nice)}
    why = why or client.update([act.job], **settings).get(act.job)
    return why or client.update([act.job], StartTime="now").get(act.job)


def let_go(client: SlurmClient, act: LetGo) -> str | None:
    """It is Slurm's, and not tied to nodes by us."""
    why = client.update([act.job], StartTime=ASIDE).get(act.job) if act.clear else None
    settings = {**(UNTIED if act.clear else {}), **_nice(act.nice), "AdminComment": act.comment}
    why = why or client.update([act.job], **settings).get(act.job)
    return why or client.update([act.job], StartTime="now").get(act.job)


def _nice(value: int | None) -> dict[str, str]:
    return {} if value is None else {"Nice": str(value)}
