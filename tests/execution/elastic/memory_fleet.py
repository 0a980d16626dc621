"""A fleet in this process: roles are objects, and calls are carried out one at a time, in an order that a test chooses.

With `Unit`, a model whose gradient is 1 everywhere, and steps of 1, a parameter says how many gradients it was given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from dovetail.execution.elastic.fleet import Answer, Event, Kind, Lost, Up
from dovetail.execution.elastic.shard import Shard
from dovetail.execution.elastic.trainer import ServerLost, Trainer

PARAMETERS = 11


class Unit:
    """In place of `Network`."""

    def __init__(self) -> None:
        self.parameters = np.zeros(PARAMETERS, dtype=np.float32)
        self.gradients = np.ones(PARAMETERS, dtype=np.float32)

    @classmethod
    def open(cls, model: str, seed: int) -> Unit:
        return cls()

    def gradient(self, points: Any, classes: Any) -> float:
        return 1.0


class Died(Exception):
    """The worker was killed in the middle of something."""


class MemoryShard:
    """A way to a server that may be cut after so many requests of its worker."""

    def __init__(self, fleet: MemoryFleet, server: int) -> None:
        self._fleet = fleet
        self._server = server

    def ask(self, method: str, *arguments: Any) -> None:
        self._fleet.count_down()
        if self._server not in self._fleet.roles:
            raise ServerLost("gone")
        self._answer = self._fleet.roles[self._server][method](*arguments)

    def answer(self) -> Any:
        return self._answer

    def close(self) -> None: ...


class MemoryFleet:
    """Roles work at speeds of their own: with `seed`, whose next call is carried out, and whose news arrive, is drawn.

    Only what concerns one role keeps its order.
    """

    def __init__(self, seed: int = 0) -> None:
        self.roles: dict[int, dict[str, Callable[..., Any]]] = {}
        self.kinds: dict[int, Kind] = {}
        self.hosts: dict[int, int] = {}
        self.requests_left = -1  # after which the worker at work dies; -1: it lives
        self._random = Random(seed)
        self._calls: dict[int, deque[tuple[str, Sequence[Any]]]] = {}
        self._news: dict[int, deque[Event]] = {}

    def count_down(self) -> None:
        if self.requests_left == 0:
            self.requests_left = -1
            raise Died
        self.requests_left -= self.requests_left > 0

    def open(self) -> None: ...

    def start(self, kind: Kind, host: int) -> int:
        number = len(self.kinds)
        made: Trainer | Shard = Trainer(lambda server: MemoryShard(self, server)) if kind == "worker" else Shard()
        self.roles[number] = made.methods()
        self.kinds[number], self.hosts[number] = kind, host
        self._calls[number], self._news[number] = deque(), deque([Up(number)])
        return number

    def call(self, role: int, method: str, *arguments: Any) -> None:
        if role in self.roles:
            self._calls[role].append((method, arguments))

    def address(self, role: int) -> int:
        return role

    def stop(self, role: int) -> None:
        self.roles.pop(role, None)
        self._calls.pop(role, None)
        self._news.pop(role, None)

    def kill(self, role: int, why: str) -> None:
        if role in self.roles:
            del self.roles[role], self._calls[role]
            self._news[role].append(Lost(role, why))

    @property
    def has_losses(self) -> bool:
        """Somebody is dead, and it is not known yet."""
        return any(isinstance(event, Lost) for news in self._news.values() for event in news)

    def poll(self, timeout_s: float) -> list[Event]:
        """The next thing happens: a call is carried out, or news arrive."""
        working = [role for role, calls in self._calls.items() if calls]
        telling = [role for role, news in self._news.items() if news]
        if not working and not telling:
            return []
        place = self._random.randrange(len(working) + len(telling))
        if place >= len(working):
            return [self._news[telling[place - len(working)]].popleft()]
        role = working[place]
        method, arguments = self._calls[role].popleft()
        try:
            self._news[role].append(Answer(role, method, self.roles[role][method](*arguments)))
        except Died:
            self.kill(role, "died at work")
        return []

    def close(self) -> None: ...
