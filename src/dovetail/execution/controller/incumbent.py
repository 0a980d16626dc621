"""Who decides: the scheduler in charge, those who take over from it, and what it is told besides views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.core.dag import DagInfo, DagView
from dovetail.core.errors import ConfigError
from dovetail.core.handover import BELIEFS, HasState
from dovetail.core.observation import Observation, Observer, Retreats
from dovetail.execution.controller.manager import Check
from dovetail.execution.controller.messages import AnyScheduler, Notice
from dovetail.execution.controller.options import ControllerOptions
from dovetail.execution.controller.referee import Gift

TRIES = 2  # of a scheduler that can do without the part of it that failed
LATEST = 200  # events of an adaptive scheduler that are told


class Incumbent:
    def __init__(
        self,
        options: ControllerOptions,
        info: DagInfo,
        name: str,
        scheduler: AnyScheduler,
        fallback: Callable[[], AnyScheduler],
        tell: Callable[[Notice], None],
    ) -> None:
        """`fallback` makes the scheduler that takes over from one that fails; `tell` has people know of it."""
        self.name = name
        self.took_over = ""  # from whom, and with what
        self.decisions = 0
        self._options = options
        self._info = info
        self._scheduler = scheduler
        self._fallback = fallback
        self._tell = tell

    def start(self, rng: np.random.Generator | None) -> None:
        self._scheduler.reset(self._info, rng or self._fresh_rng())

    def ask(self, view: DagView, check: Check) -> list[Gift]:
        self.decisions += 1
        for _ in range(TRIES):
            try:
                return check(self._scheduler.decide(view))
            except Exception as error:  # whatever a scheduler does, the jobs go on
                why = f"{type(error).__name__}: {error}"
                if not self._retreats(view, why):
                    break
        self._fall_back(why)
        return check(self._scheduler.decide(view))

    def _retreats(self, view: DagView, why: str) -> bool:
        """Whether it is worth asking the same scheduler again."""
        try:
            return isinstance(self._scheduler, Retreats) and self._scheduler.retreat(view, why)
        except Exception:
            return False

    @property
    def batch_s(self) -> float:
        """Seconds of work to hand to an executor at a time; 0: it does not mind."""
        return float(getattr(self._scheduler, "batch_s", 0.0))

    def replace(self, name: str, scheduler: AnyScheduler) -> None:
        """Pause, drain, transfer state, rewire, resume: nobody is asked meanwhile, for there is one thread."""
        before = self.name
        scheduler.reset(self._info, self._fresh_rng())
        how = self._hand_over(scheduler)
        self._scheduler, self.name = scheduler, name
        self.took_over = f"{name} takes over from {before}{how}"
        self._tell(Notice("scheduler", self.took_over))

    def _hand_over(self, to: AnyScheduler) -> str:
        """What the next scheduler makes of what this one remembers, in words; empty if neither remembers anything."""
        if not isinstance(to, HasState):
            return ", and what that remembered is lost" if isinstance(self._scheduler, HasState) else ""
        try:
            state = self._scheduler.export_state() if isinstance(self._scheduler, HasState) else {}
            names = to.import_state(state)
        except Exception as error:  # whatever a scheduler does, the jobs go on
            to.reset(self._info, self._fresh_rng())
            return f" and starts afresh: {error}"
        return f" and goes on with its {', '.join(names)}" if names else " and starts afresh"

    def learn(self, beliefs: object) -> None:
        """From an earlier run; `ConfigError` if the scheduler cannot."""
        if not isinstance(self._scheduler, HasState) or not self._scheduler.import_state({BELIEFS: beliefs}):
            raise ConfigError(f"{self.name} has no use for beliefs; expected dag/adaptive")

    def beliefs(self) -> object | None:
        """What it has learned that would be of use in another run."""
        return self._scheduler.export_state().get(BELIEFS) if isinstance(self._scheduler, HasState) else None

    def observe(self, observation: Observation) -> None:
        """Tell the scheduler what no view shows, if it wants to know."""
        if isinstance(self._scheduler, Observer):
            self._scheduler.observe(observation)

    def adaptation(self) -> dict[str, Any] | None:
        """What an adaptive scheduler did last, and why; None if the scheduler does not adapt."""
        events = getattr(self._scheduler, "events", None)
        if events is None:
            return None
        told = [event.as_json() for event in events[-LATEST:]]
        first = getattr(self._scheduler, "forgotten", 0) + len(events) - len(told)
        return {"compositions": list(getattr(self._scheduler, "names", ())), "first": first, "events": told}

    def _fall_back(self, why: str) -> None:
        name = self._options.fallback
        self._tell(Notice("scheduler", f"{self.name} failed with {why}; {name} takes over"))
        self.name, self._scheduler = name, self._fallback()
        self._scheduler.reset(self._info, self._fresh_rng())

    def _fresh_rng(self) -> np.random.Generator:
        return np.random.default_rng(self._options.seed)
