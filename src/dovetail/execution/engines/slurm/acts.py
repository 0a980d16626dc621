"""Instructions carried out with Slurm's commands, in an order in which nothing can go wrong half-way.

A job whose begin has come may begin at any moment, and changing the nodes of one that runs would cut it short.  So its
begin is moved away first, which Slurm refuses for a job that runs; only then nodes are set or cleared; and only with
the last command it may begin.  What is the same for many jobs is one command for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.hostlist import fold
from dovetail.execution.engines.slurm.messages import Act, Lease, LetGo, Retrace, Tell
from dovetail.execution.engines.slurm.trace import QUEUED, TAKING

ASIDE = "now+60"  # out of the way for as long as the next commands take, and Slurm's again if none follows
TOGETHER = 100  # jobs in one command, or set aside at once
UNTIED = {"ReqNodeList": "", "ExcNodeList": ""}

Refused = list[tuple[Act, str]]


def carry_out(client: SlurmClient, acts: Sequence[Act], now_s: float) -> Refused:
    """Leases first, then all else in order; what Slurm said to those that it refused."""
    refused: Refused = []
    leases = [act for act in acts if isinstance(act, Lease)]
    groups: dict[tuple[int, str | None], list[Lease]] = {}
    for lease in leases:
        if lease.clear or lease.release:
            why = _lease(client, lease, now_s)
            refused += [] if why is None else [(lease, why)]
        else:
            groups.setdefault((_seconds(lease, now_s), lease.comment), []).append(lease)
    for (seconds, comment), group in groups.items():
        settings = {"StartTime": f"now+{seconds}", **({} if comment is None else {"AdminComment": comment})}
        for some in _chunks(group):
            answer = client.update([one.job for one in some], **settings)
            refused += [(one, answer[one.job]) for one in some if one.job in answer]
    leased = {act.job for act, _ in refused}
    tells = [act for act in acts if isinstance(act, Tell) and act.job not in leased]
    for chunk in _chunks(tells):
        refused += _tell(client, chunk)
    refused += [(act, "there is no lease") for act in acts if isinstance(act, Tell) and act.job in leased]
    for act in acts:
        if isinstance(act, LetGo | Retrace):
            why = let_go(client, act) if isinstance(act, LetGo) else _retrace(client, act)
            refused += [] if why is None else [(act, why)]
    return refused


def _chunks(items: Sequence[Act]) -> Iterator[list[Act]]:
    rest = iter(items)
    while chunk := list(islice(rest, TOGETHER)):
        yield chunk


def _seconds(lease: Lease, now_s: float) -> int:
    return max(1, math.ceil(lease.until_s - now_s))


def _lease(client: SlurmClient, act: Lease, now_s: float) -> str | None:
    until = {"StartTime": f"now+{_seconds(act, now_s)}"}
    comment = {} if act.comment is None else {"AdminComment": act.comment}
    if act.release:  # a trace first that says so: whoever finds it still held lifts the hold
        taking = (act.comment or "").replace(f" {QUEUED}]", f" {TAKING}]")
        why = client.update([act.job], AdminComment=taking, **until).get(act.job)
        why = why or client.release([act.job]).get(act.job)
        return why or client.update([act.job], **comment).get(act.job)
    why = client.update([act.job], **until).get(act.job)
    return why or client.update([act.job], **UNTIED, **_nice(act.nice), **comment).get(act.job)


def _tell(client: SlurmClient, acts: Sequence[Act]) -> Refused:
    refused: dict[int, str] = client.update([act.job for act in acts], StartTime=ASIDE)
    for act in acts:
        if not isinstance(act, Tell) or act.job in refused:
            continue
        nodes = {"ReqNodeList": fold(act.nodes), **({"ExcNodeList": fold(act.not_on)} if act.not_on else {})}
        refused |= client.update([act.job], **nodes, **_nice(act.nice), AdminComment=act.comment)
    ready = [act.job for act in acts if act.job not in refused]
    if ready:
        refused |= client.update(ready, StartTime="now")
    return [(act, refused[act.job]) for act in acts if act.job in refused]


def let_go(client: SlurmClient, act: LetGo) -> str | None:
    """It is Slurm's, and not tied to nodes by us."""
    why = client.update([act.job], StartTime=ASIDE).get(act.job) if act.clear else None
    settings = {**(UNTIED if act.clear else {}), **_nice(act.nice), "AdminComment": act.comment}
    why = why or client.update([act.job], **settings).get(act.job)
    return why or client.update([act.job], StartTime="now").get(act.job)


def _retrace(client: SlurmClient, act: Retrace) -> str | None:
    return client.update([act.job], AdminComment=act.comment).get(act.job)


def _nice(value: int | None) -> dict[str, str]:
    return {} if value is None else {"Nice": str(value)}
