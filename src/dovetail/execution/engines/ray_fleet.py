"""Workers and parameter servers as Ray actors.  Hosts are the nodes of the cluster, in turn.

An actor takes seconds to start and to load torch.  So one that is stopped is not ended, but given another role later.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.execution.elastic.fleet import Answer, Event, Kind, Lost, Up
from dovetail.execution.elastic.shard import Shard
from dovetail.execution.elastic.trainer import ServerLost, Trainer
from dovetail.execution.engines.ray_cluster import connect

NEEDED_BY = "the engine `ray`"
OBJECT_STORE_BYTES = 200_000_000  # of a Ray that is started here; next to nothing goes through it
BE = "be"


class ActorShard:
    """A worker's way to a parameter server (`trainer.ShardClient`)."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def ask(self, method: str, *arguments: Any) -> None:
        self._answer = self._actor.call.remote(method, arguments)

    def answer(self) -> Any:
        import ray

        try:
            return ray.get(self._answer)
        except ray.exceptions.RayActorError as error:
            raise ServerLost(str(error)) from error

    def close(self) -> None:
        """Nothing is held but the handle."""


class RoleActor:
    """What runs in the cluster: whatever it was told last to be."""

    def __init__(self) -> None:
        self._methods: dict[str, Callable[..., Any]] = {BE: self._be}

    def _be(self, kind: Kind) -> int:
        """The process."""
        made: Trainer | Shard = Trainer(ActorShard) if kind == "worker" else Shard()
        self._methods = {**made.methods(), BE: self._be}
        return os.getpid()

    def call(self, method: str, arguments: Sequence[Any]) -> Any:
        return self._methods[method](*arguments)


@dataclass
class _Role:
    actor: Any
    node: str
    pid: int = 0


class RayFleet:
    """`address` of a cluster; empty: a Ray is started here, and ends with this fleet."""

    def __init__(self, address: str = "") -> None:
        self._address = address
        self._roles: dict[int, _Role] = {}
        self._pending: dict[Any, tuple[int, str]] = {}  # reference -> role, method
        self._idle: dict[str, list[Any]] = {}  # node -> actors without a role
        self._next = 0
        self._events: list[Event] = []
        self._ray: Any = None
        self._is_ours = False

    def open(self) -> None:
        self._ray, self._is_ours = connect(self._address or None, None, OBJECT_STORE_BYTES, NEEDED_BY)
        self._nodes = [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]
        self._kind = self._ray.remote(num_cpus=0, max_restarts=0)(RoleActor)

    def start(self, kind: Kind, host: int) -> int:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        number, self._next = self._next, self._next + 1
        node = self._nodes[host % len(self._nodes)]
        idle = self._idle.setdefault(node, [])
        if idle:
            actor = idle.pop()
        else:
            there = NodeAffinitySchedulingStrategy(node, soft=True)
            actor = self._kind.options(scheduling_strategy=there).remote()
        self._roles[number] = _Role(actor, node)
        self.call(number, BE, kind)
        return number

    def call(self, role: int, method: str, *arguments: Any) -> None:
        if role in self._roles:
            self._pending[self._roles[role].actor.call.remote(method, arguments)] = (role, method)

    def address(self, role: int) -> Any:
        return self._roles[role].actor

    def pid(self, role: int) -> int:
        """Of a role that is up, on its own machine."""
        return self._roles[role].pid

    def stop(self, role: int) -> None:
        gone = self._forget(role)
        if gone is not None:
            self._idle[gone.node].append(gone.actor)

    def kill(self, role: int, why: str) -> None:
        gone = self._forget(role)
        if gone is not None:
            self._ray.kill(gone.actor)
            self._events.append(Lost(role, why))

    def _forget(self, role: int) -> _Role | None:
        self._pending = {ref: call for ref, call in self._pending.items() if call[0] != role}
        return self._roles.pop(role, None)

    def poll(self, timeout_s: float) -> Sequence[Event]:
        if not self._events:
            self._look(max(0.0, timeout_s))
        events, self._events = self._events, []
        return events

    def _look(self, timeout_s: float) -> None:
        if not self._pending:
            time.sleep(timeout_s)
            return
        references = list(self._pending)
        ready, _ = self._ray.wait(references, num_returns=1, timeout=timeout_s)
        if ready:
            ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        for reference in ready:
            if reference in self._pending:  # else its role was lost just now
                self._answered(reference, *self._pending.pop(reference))

    def _answered(self, reference: Any, role: int, method: str) -> None:
        errors = self._ray.exceptions
        try:
            value = self._ray.get(reference)
        except errors.RayActorError as error:
            self.kill(role, f"{method}: {str(error).splitlines()[0]}")
        except errors.RayTaskError as error:
            self.kill(role, f"{method}: {error.cause!r}")
        else:
            if method == BE:
                self._roles[role].pid = value
                self._events.append(Up(role))
            else:
                self._events.append(Answer(role, method, value))

    def close(self) -> None:
        if self._ray is None:
            return
        idle = [actor for actors in self._idle.values() for actor in actors]
        for actor in (*idle, *(role.actor for role in self._roles.values())):
            self._ray.kill(actor)
        self._roles, self._idle = {}, {}
        if self._is_ours:
            self._ray.shutdown()
        self._ray = None
