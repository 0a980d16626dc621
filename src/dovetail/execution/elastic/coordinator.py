"""The coordinator of one job: brings its workers and parameter servers to the numbers asked for, and hands out work.

Between slots a job is *halted*: no worker is at work, all state is in a `Snapshot` here (and in a checkpoint, if
wanted).  `stand` then says who should stand where.  When the servers change, the snapshot is cut anew and every server
gets its slice; so parameters, state of the optimiser and counts are the same bits before and after.

Nothing here waits.  `stand`, `train`, `halt` and everything that a fleet tells end in `_go_on`, which starts whatever
is missing and possible; `is_standing`, `is_halted` and `is_trained` say how far it is.

A lost worker is replaced: servers know which mini-batches they applied, so its chunk is taken up where it was.  It may
have died between one server and the next; then its mini-batch is trained again before the job halts (`_torn`), and
servers that have it already ignore it.  After the loss of a server all servers go back to the last snapshot, and so
does the count of mini-batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.core.errors import DovetailError
from dovetail.execution.elastic.fleet import Answer, Event, Fleet, Kind, Lost, Up
from dovetail.execution.elastic.leases import LEASE_S, Leases
from dovetail.execution.elastic.shard import from_plain, to_plain
from dovetail.execution.elastic.snapshot import Part, Snapshot
from dovetail.execution.elastic.trainer import Trained
from dovetail.execution.elastic.training_job import TrainingJob

MAX_LOSSES = 20  # of roles of one job within one slot
SILENCE_S = 30.0  # beyond what a call should take: then the role hangs


class TrainingFailed(DovetailError):
    """Workers or parameter servers of a job die again and again."""


@dataclass
class _Role:
    number: int
    kind: Kind
    host: int
    is_up: bool = False
    is_ready: bool = False  # a server has its slice, a worker knows the servers
    generation: int = -1  # of the slices it was last told of
    calls: int = 0  # not answered
    due_s: float = float("inf")  # by then the calls should have been answered
    chunk: int = -1  # leased


@dataclass
class Tally:
    """What happened in a slot, or in all of them."""

    batches: int = 0  # trained by workers, some of them perhaps for nothing
    loss: float = 0.0  # sum over them
    undone: int = 0  # mini-batches that were counted and have to be trained again
    lost_workers: int = 0
    lost_servers: int = 0
    pushes: int = 0  # at the servers
    stale: int = 0  # sum over pushes: versions by which their parameters were old

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Coordinator:
    """`keep` is called with every new snapshot, before it is relied upon."""

    def __init__(
        self,
        job: TrainingJob,
        snapshot: Snapshot,
        fleet: Fleet,
        keep: Callable[[Snapshot], None] = lambda snapshot: None,
    ) -> None:
        self.job = job
        self.snapshot = snapshot
        self.last = Tally()  # of the slot that ended last, with what came before it began
        self.total = Tally()
        self._now = Tally()
        self._fleet = fleet
        self._keep = keep
        self._leases = Leases(job, snapshot.done)
        self._want: dict[Kind, tuple[int, ...]] = {"worker": (), "server": ()}
        self._workers: dict[int, _Role] = {}
        self._servers: dict[int, _Role] = {}  # in the order of their slices
        self._generation = 0  # grows whenever slices are given out anew
        self._parts: list[Part] = []  # exported so far
        self._torn: set[int] = set()  # chunks of which some servers may have one mini-batch more than others
        self._is_training = False
        self._is_halting = False
        self._until_s = 0.0

    # --- what is asked for ---

    def stand(self, workers: Sequence[int], servers: Sequence[int], now_s: float) -> None:
        """One worker and one server for each entry, on that host.  Only while halted."""
        assert self.is_halted, "halt comes first"
        changed = Counter(servers) != Counter(self._want["server"])
        self._want = {"worker": tuple(workers), "server": tuple(servers)}
        self._trim(self._workers, workers)
        self._trim(self._servers, servers)
        if changed:
            self._reload()
        self._go_on(now_s)

    def train(self, now_s: float, until_s: float) -> None:
        self._is_training = True
        self._until_s = until_s
        self._go_on(now_s)

    def halt(self, now_s: float) -> None:
        if self._is_training:
            self._is_training, self._is_halting, self._parts = False, True, []
            self._go_on(now_s)

    def end(self) -> None:
        """Everything stops; what is not in the snapshot is gone."""
        self._is_training = self._is_halting = False
        self._want = {"worker": (), "server": ()}
        for role in (*self._workers, *self._servers):
            self._fleet.stop(role)
        self._workers, self._servers = {}, {}

    # --- how far it is ---

    @property
    def is_standing(self) -> bool:
        return all(
            len(roles) == len(self._want[kind]) and all(role.is_ready for role in roles.values())
            for kind, roles in self._groups()
        )

    @property
    def is_halted(self) -> bool:
        return not (self._is_training or self._is_halting)

    @property
    def is_trained(self) -> bool:
        """Every mini-batch is done."""
        return self._leases.left == 0

    @property
    def batches_known(self) -> int:
        """Mini-batches that are known to be done."""
        return self.job.total_batches - self._leases.left

    @property
    def roles(self) -> tuple[int, ...]:
        return (*self._workers, *self._servers)

    @property
    def worker_roles(self) -> tuple[int, ...]:
        return tuple(self._workers)

    @property
    def server_roles(self) -> tuple[int, ...]:
        return tuple(self._servers)

    def owns(self, role: int) -> bool:
        return role in self._workers or role in self._servers

    # --- what a fleet tells ---

    def handle(self, event: Event, now_s: float) -> None:
        role = self._workers.get(event.role) or self._servers.get(event.role)
        if role is None:
            return  # it was stopped meanwhile
        if isinstance(event, Up):
            role.is_up = True
        elif isinstance(event, Lost):
            self._lost(role, event.why, now_s)
        else:
            role.calls -= 1
            role.due_s = float("inf") if not role.calls else now_s + SILENCE_S
            self._answered(role, event, now_s)
        self._go_on(now_s)

    def on_time(self, now_s: float) -> None:
        """End what does not answer."""
        for role in (*self._workers.values(), *self._servers.values()):
            if now_s > role.due_s:
                role.due_s = float("inf")
                self._fleet.kill(role.number, f"no answer within {SILENCE_S:g} s")

    def _answered(self, role: _Role, answer: Answer, now_s: float) -> None:
        if answer.method == "load":
            role.is_ready = role.generation == self._generation
        elif answer.method == "join":
            role.is_ready = bool(answer.value) and role.generation == self._generation
            if not answer.value:
                self._ping(now_s)
        elif answer.method == "train":
            self._trained(role, Trained(*answer.value), now_s)
        elif answer.method == "export" and self._is_halting:
            part, pushes, stale = answer.value
            self._parts.append(from_plain(part))
            self._now.pushes += pushes
            self._now.stale += stale

    def _trained(self, role: _Role, trained: Trained, now_s: float) -> None:
        role.chunk = -1
        done = trained.done if role.is_ready else -1  # not ready: servers went back to the snapshot meanwhile
        self._leases.give_back(trained.chunk, done, trained.batches, trained.elapsed_s)
        if trained.done >= 0:
            self._torn.discard(trained.chunk)
        self._now.batches += trained.batches
        self._now.loss += trained.loss
        if trained.broken:
            role.is_ready = False  # it joins again once all servers are known to live
            self._ping(now_s)

    def _ping(self, now_s: float) -> None:
        for server in self._servers.values():
            if server.is_up:
                self._call(server, "ping", now_s=now_s)

    def _lost(self, role: _Role, why: str, now_s: float) -> None:
        if role.kind == "worker":
            self._now.lost_workers += 1
            del self._workers[role.number]
            self._leases.lose(role.number)
            if role.chunk >= 0 and role.is_ready:
                self._torn.add(role.chunk)
            self._ping(now_s)  # it may have hung because a server does
        else:
            self._now.lost_servers += 1
            del self._servers[role.number]
            self._reload()
        if self._now.lost_workers + self._now.lost_servers > MAX_LOSSES:
            raise TrainingFailed(
                f"a job of {self.job.model}: more than {MAX_LOSSES} workers and servers were lost, the last: {why}"
            )

    # --- getting there ---

    def _go_on(self, now_s: float) -> None:
        if self._is_halting and not self._torn:
            self._finish_halting(now_s)
            if self._is_halting:
                return
        self._fill(self._servers, "server")
        self._fill(self._workers, "worker")
        if not self._leases.is_out:
            self._load(now_s)
        if self._servers_ready:
            self._join(now_s)
            if self._is_training:
                self._hand_out(now_s)
            elif self._is_halting:
                self._mend(now_s)

    def _trim(self, roles: dict[int, _Role], hosts: Sequence[int]) -> None:
        """Stop those that are not wanted any more, the youngest first."""
        spare = Counter(role.host for role in roles.values())
        spare.subtract(Counter(hosts))
        for role in sorted(roles.values(), key=lambda role: -role.number):
            if spare[role.host] > 0:
                spare[role.host] -= 1
                self._fleet.stop(role.number)
                del roles[role.number]

    def _fill(self, roles: dict[int, _Role], kind: Kind) -> None:
        missing = Counter(self._want[kind])
        missing.subtract(Counter(role.host for role in roles.values()))
        for host in missing.elements():
            number = self._fleet.start(kind, host)
            roles[number] = _Role(number, kind, host)

    def _reload(self) -> None:
        """All servers will be given their slices of the snapshot."""
        self._now.undone += max(0, self.batches_known - self.snapshot.batches_done)
        self._leases.restart(self.snapshot.done)
        self._generation += 1
        self._torn.clear()
        for role in (*self._servers.values(), *self._workers.values()):
            role.is_ready = False

    @property
    def _servers_ready(self) -> bool:
        servers = self._servers.values()
        return len(servers) == len(self._want["server"]) and all(s.is_ready for s in servers)

    def _load(self, now_s: float) -> None:
        """Once all servers are up, and nobody sends them gradients of another time."""
        servers = list(self._servers.values())
        if len(servers) < len(self._want["server"]) or not all(server.is_up for server in servers):
            return
        if all(server.is_ready for server in servers) or any(server.calls for server in servers):
            return
        for server, part in zip(servers, self.snapshot.split(len(servers)), strict=True):
            server.is_ready, server.generation = False, self._generation
            self._call(server, "load", to_plain(part), self.job.learning_rate, self.job.momentum, now_s=now_s)

    def _join(self, now_s: float) -> None:
        if not self._servers or any(server.calls for server in self._servers.values()):
            return  # not known yet whether all of them live
        table: list[tuple[int, int, Any]] = [
            (part.low, part.low + len(part.parameters), self._fleet.address(server))
            for server, part in zip(self._servers, self.snapshot.split(len(self._servers)), strict=True)
        ]
        for worker in self._workers.values():
            if worker.is_up and not worker.is_ready and not worker.calls:
                worker.generation = self._generation
                self._call(worker, "join", self.job.to_plain(), table, now_s=now_s)

    def _hand_out(self, now_s: float) -> None:
        for worker in self._workers.values():
            if worker.is_ready and worker.chunk < 0 and now_s < self._until_s:
                lease = self._leases.take(worker.number, len(self._workers))
                if lease is None:
                    return
                worker.chunk = lease[0]
                self._call(worker, "train", *lease, self._until_s - now_s, now_s=now_s)

    def _mend(self, now_s: float) -> None:
        """One mini-batch of each torn chunk."""
        for worker in self._workers.values():
            torn = self._torn - self._leases.taken
            if worker.is_ready and worker.chunk < 0 and torn:
                worker.chunk = min(torn)
                self._leases.take_again(worker.number, worker.chunk)
                self._call(worker, "train", worker.chunk, 1, 0.0, now_s=now_s)

    def _finish_halting(self, now_s: float) -> None:
        if self._leases.is_out:
            return
        if self._servers_ready and self._servers:
            if not self._parts and not any(server.calls for server in self._servers.values()):
                for server in self._servers.values():
                    self._call(server, "export", now_s=now_s)
            if len(self._parts) < len(self._servers):
                return
            self.snapshot = Snapshot.merge(self._parts)
            self._leases.restart(self.snapshot.done)
            self._keep(self.snapshot)
        # otherwise a server was lost, and the snapshot of the last time holds
        self._is_halting = False
        self.last, self._now = self._now, Tally()
        self.total.add(self.last)

    def _call(self, role: _Role, method: str, *arguments: Any, now_s: float) -> None:
        role.calls += 1
        extra_s = LEASE_S + 10.0 * self.job.pad_s if method == "train" else 0.0
        role.due_s = min(role.due_s, now_s + SILENCE_S + extra_s)
        self._fleet.call(role.number, method, *arguments)

    def _groups(self) -> tuple[tuple[Kind, dict[int, _Role]], ...]:
        return ("worker", self._workers), ("server", self._servers)
