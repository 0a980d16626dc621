"""Looks at a job in, instructions out: who decides, what of it passes the guards, and what became of it.

Pure: no I/O, and times are given.  A rescale is under way from being asked for until the job runs with another graph;
meanwhile nobody is asked.  Flink grants fewer instances where there are no slots and says
nothing, so what the job got is compared with what was asked for.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dovetail.core.errors import InvalidDecision
from dovetail.core.stream import REASON_TEXT, Ints, StreamDecision, StreamInfo, StreamView
from dovetail.execution.engines.flink.downtime import Downtime, Stop, is_down
from dovetail.execution.engines.flink.guards import Guards
from dovetail.execution.engines.flink.job import OVER
from dovetail.execution.engines.flink.messages import Ask, FlinkOptions, Glance, Instruction, Look, Note
from dovetail.execution.engines.flink.rescales import FROM_TEXT
from dovetail.execution.engines.flink.snapshot import Snapshot, measure
from dovetail.execution.engines.flink.view import RESTART_S, info_of, limits, unique_names, view_of

SLOTS_KEPT_S = 60.0  # slots that a job has given up are not free yet: Flink keeps them for it for 50 s


class StreamScheduler(Protocol):
    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None: ...
    def decide(self, view: StreamView) -> Sequence[StreamDecision]: ...


class UnderWay(NamedTuple):
    """A rescale that was asked for."""

    asked_s: float
    before: Ints
    wanted: Ints
    decisions: tuple[StreamDecision, ...]


class FlinkController:
    """`fallback` decides while metrics of an operator are missing; `rng` is what schedulers draw from."""

    def __init__(
        self,
        scheduler: StreamScheduler,
        fallback: StreamScheduler,
        names: tuple[str, str],
        options: FlinkOptions,
        rng: np.random.Generator,
    ) -> None:
        self._scheduler, self._fallback = scheduler, fallback
        self._names, self._options, self._rng = names, options, rng
        self.counts: Counter[str] = Counter()
        self.rows: deque[Snapshot] = deque(maxlen=options.history)
        self.fresh: list[Snapshot] = []  # rows that the last step added
        self.carried_out: list[UnderWay] = []  # by the last step
        self.down_s = 0.0  # of all rescales
        self.over = False
        self.uses_fallback = False
        self.info: StreamInfo | None = None
        self._under_way: UnderWay | None = None
        self._rescaled_s = -math.inf
        self._measured_s: list[float] = []  # what rescales took
        self._next_s = math.inf  # when it is decided next
        self._fewer_since_s = math.inf  # since when there have been fewer slots than it is thought

    # --- in ---

    def step(self, look: Look) -> list[Instruction]:
        self.fresh, self.carried_out = [], []
        if self.info is None:
            return self._begin(look)
        if look.job.state in OVER:
            self.over = True
            return [Note("ended", f"the job is {look.job.state}", {"state": look.job.state})]
        asked_s = math.nan if self._under_way is None else self._under_way.asked_s
        down_s, stop = self._downtime.since(look, asked_s)
        self._add(look, down_s)
        found: list[Instruction] = list(self._follow(look, stop))
        found += self._new_limits(look)
        if self._under_way is None and not is_down(look):
            found += self._judge(look)
        if look.now_s >= self._next_s - self._options.snapshot_s / 4:
            while self._next_s <= look.now_s + self._options.snapshot_s / 4:  # what an outage hid is not made up for
                self._next_s += self._options.interval_s
            found += self._decide(look)
        self._last = look
        return found

    def glance(self, glance: Glance) -> None:
        """A quick look while a rescale is under way."""
        if self.info is not None:
            self._downtime.glance(glance)

    def refused(self, why: str) -> Note:
        """Flink does not do what was asked for."""
        self._under_way = None
        self.counts["refused"] += 1
        return Note("refused", f"Flink refuses the rescale: {why}")

    @property
    def is_waiting(self) -> bool:
        return self._under_way is not None

    @property
    def parallelism(self) -> Ints:
        return np.array([vertex.parallelism for vertex in self._last.job.vertices], dtype=np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        assert self.info is not None
        return self.info.operator_name

    # --- within ---

    def _begin(self, look: Look) -> list[Instruction]:
        options = self._options
        self._least, self._most = limits(look.job, options.bounds)
        self._guards = Guards(options, self._least, self._most, look.job.edges)
        self._downtime = Downtime(look)
        self._last, self._origin_s = look, look.now_s
        self._next_s = look.now_s + options.interval_s
        self.info = self._told(look)
        self._reset()
        operators = [
            {"operator": name, "parallelism": vertex.parallelism, "least": int(low), "most": int(high)}
            for name, vertex, low, high in zip(
                unique_names(look.job), look.job.vertices, self._least, self.info.operator_max, strict=True
            )
        ]
        text = ", ".join(f"{one['operator']} {one['parallelism']} ({one['least']}–{one['most']})" for one in operators)
        facts = {"job": look.job.job_id, "name": look.job.name, "operators": operators, "slots": look.slots}
        return [Note("job", f"{look.job.name} ({look.job.job_id}): {text}; {look.free_slots} slots free", facts)]

    def _told(self, look: Look) -> StreamInfo:
        return info_of(look, self._least, self._most, self._options, self._restart_s)

    @property
    def _restart_s(self) -> float:
        if self._measured_s:
            return float(np.median(self._measured_s[-5:]))
        return RESTART_S if self._options.restart_s is None else self._options.restart_s

    def _reset(self) -> None:
        assert self.info is not None
        self._scheduler.reset(self.info, self._rng)
        self._fallback.reset(self.info, self._rng)

    def _new_limits(self, look: Look) -> list[Instruction]:
        """Task managers come and go, and with them what operators may have; schedulers then begin anew."""
        assert self.info is not None
        if is_down(look) or self._under_way is not None:
            return []  # slots are not where they will be
        told, known = self._told(look), self.info
        if np.array_equal(told.operator_max, known.operator_max) and told.slots == known.slots:
            self._fewer_since_s = math.inf
            return []
        if (told.operator_max <= known.operator_max).all():
            self._fewer_since_s = min(self._fewer_since_s, look.now_s)
            if look.now_s < self._fewer_since_s + SLOTS_KEPT_S:
                return []
        self._fewer_since_s = math.inf
        self.info = told
        self._reset()
        return [Note("slots", f"the cluster has {look.slots} slots, {look.free_slots} free: limits are set anew")]

    def _add(self, look: Look, down_s: float) -> None:
        """A row for each snapshot since the last look: several where Flink did not answer for a while."""
        last = self.rows[-1] if self.rows else None
        row = measure(self._last, look, down_s, last, self._options.latency)
        times = max(1, round((look.now_s - self._last.now_s) / self._options.snapshot_s))
        self.fresh = [row] * min(times, self._options.history)
        self.rows.extend(self.fresh)

    def _follow(self, look: Look, stop: Stop | None) -> list[Note]:
        under_way, found = self._under_way, []
        if stop is not None:
            self.down_s += stop.lasted_s
            self._rescaled_s = look.now_s
        if under_way is None:
            if stop is not None:
                self.counts["restarted"] += 1
                self._guards.forget_trial()
                text = f"the job was restarted by somebody else, or failed; it stood still for {stop.lasted_s:.3g} s"
                found.append(Note("restarted", text, {"down_s": stop.lasted_s, "down_from": stop.basis}))
            return found
        got = np.array([vertex.parallelism for vertex in look.job.vertices], dtype=np.int64)
        if stop is not None:
            self._under_way = None
            self._measured_s.append(stop.lasted_s)
            assert self.info is not None
            self.info.job_restart_s[:] = self._restart_s  # "as measured before"; the array is ours
            self.counts["rescaled"] += 1
            self._guards.came_up(under_way.before, list(self.rows), under_way.asked_s, stop.to_s)
            self.carried_out.append(under_way._replace(wanted=got))
            text = (
                f"rescaled, {under_way.before.sum()} → {got.sum()} instances: stood still for {stop.lasted_s:.3g} s "
                f"(by {FROM_TEXT[stop.basis]}), {stop.to_s - under_way.asked_s:.3g} s after it was asked for"
            )
            facts = {"down_s": stop.lasted_s, "down_from": stop.basis, "after_s": stop.to_s - under_way.asked_s}
            found.append(Note("rescaled", text, facts | {"parallelism": self._by_name(got)}))
            if (got != under_way.wanted).any():
                found.append(self._capped(got, under_way.wanted))
        elif not is_down(look) and look.now_s > under_way.asked_s + self._options.patience_s:
            self._under_way = None
            kept = (got == under_way.before).all()
            text = f"not rescaled within {self._options.patience_s:g} s, so it is decided anew"
            self.counts["stuck"] += 1
            found.append(Note("stuck", text if kept else f"{text}; the job has changed otherwise"))
        return found

    def _capped(self, got: Ints, wanted: Ints) -> Note:
        self.counts["capped"] += 1
        less = ", ".join(f"{self.names[i]} {got[i]} of {wanted[i]}" for i in np.flatnonzero(got != wanted).tolist())
        return Note("capped", f"Flink gave less than was asked for, as there are no slots: {less}")

    def _judge(self, look: Look) -> list[Instruction]:
        back = self._guards.rollback(look.now_s, list(self.rows))
        if back is None or (back[0] == self._now(look)).all():
            return []
        wanted, why = self._guards.bounded(back[0]), back[1]
        self.counts["rollback"] += 1
        facts = {"parallelism": self._by_name(wanted)}
        return [
            Note("rollback", f"back to {self._words(self._now(look), wanted)}: {why}", facts),
            *self._ask(look, wanted, ()),
        ]

    def _decide(self, look: Look) -> list[Instruction]:
        assert self.info is not None
        if is_down(look):
            return [Note("held", "the job stands still", {"why": "down"})]
        if self._under_way is not None:
            return [Note("held", "a rescale is under way", {"why": "under way"})]
        found = self._choose_who(look)
        now = self._now(look)
        view = view_of(list(self.rows), now, self._origin_s, False, self._rescaled_s)
        who = self._fallback if self.uses_fallback else self._scheduler
        decisions = self._checked(who.decide(view))
        wanted = now.copy()
        for one in decisions:
            wanted[one.operator] = one.parallelism
        if self.uses_fallback:
            wanted = np.where(self._never_measured(), now, wanted)
        wanted = self._guards.bounded(wanted)
        self.counts["decided"] += 1
        facts = self._facts(decisions, now, wanted)
        if (wanted == now).all():
            return [*found, Note("kept", f"nothing is changed: {self._state()}", facts)]
        why_not = self._guards.why_not(look.now_s) if self._options.act else ""
        reasons = "; ".join(dict.fromkeys(REASON_TEXT[one.reason] for one in decisions)) or "within its bounds"
        said = f"{self._words(now, wanted, decisions)} ({reasons}); {self._state()}"
        if why_not:
            self.counts["held"] += 1
            return [*found, Note("held", f"not now, {why_not}: {said}", facts | {"why": why_not})]
        if not self._options.act:
            return [*found, Note("would", f"would rescale: {said}", facts)]
        return [*found, Note("decided", f"rescale: {said}", facts), *self._ask(look, wanted, decisions)]

    def _ask(self, look: Look, wanted: Ints, decisions: tuple[StreamDecision, ...]) -> list[Instruction]:
        if not self._options.act:
            return []
        self._under_way = UnderWay(look.now_s, self._now(look), wanted, decisions)
        self._guards.asked(look.now_s)
        return [Ask({one.vertex_id: int(many) for one, many in zip(look.job.vertices, wanted, strict=True)})]

    def _choose_who(self, look: Look) -> list[Instruction]:
        """The fallback, while an operator was without metrics in each of the last snapshots."""
        recent = list(self.rows)[-self._options.missing :]
        gone = np.logical_and.reduce([row.missing for row in recent])
        use = bool(gone.any()) and len(recent) >= min(self._options.missing, 1)
        if use == self.uses_fallback:
            return []
        self.uses_fallback = use
        if not use:
            return [Note("metrics", f"metrics are there again: {self._names[0]} decides")]
        self.counts["fallback"] += 1
        lacks = {
            self.names[i]: list(look.readings[one.vertex_id].missing) if one.vertex_id in look.readings else ["all"]
            for i, one in enumerate(look.job.vertices)
            if gone[i]
        }
        text = "; ".join(f"{name} without {', '.join(what)}" for name, what in lacks.items())
        return [Note("fallback", f"metrics are missing ({text}): {self._names[1]} decides", {"missing": lacks})]

    def _never_measured(self) -> Any:
        """(O,) of which nothing is known, so nobody can say anything about them."""
        return np.isnan(self.rows[-1].busy)

    def _checked(self, decisions: Sequence[StreamDecision]) -> tuple[StreamDecision, ...]:
        assert self.info is not None
        for one in decisions:
            if not 0 <= one.operator < len(self.info.operator_max):
                raise InvalidDecision(f"operator {one.operator}; expected 0 to {len(self.info.operator_max) - 1}")
            most = self.info.operator_max[one.operator]
            if not 1 <= one.parallelism <= most:
                name = self.names[one.operator]
                raise InvalidDecision(f"{one.parallelism} instances for {name}; expected 1 to {most}")
        return tuple(decisions)

    # --- words ---

    def _now(self, look: Look) -> Ints:
        return np.array([vertex.parallelism for vertex in look.job.vertices], dtype=np.int64)

    def _by_name(self, many: Ints) -> dict[str, int]:
        return dict(zip(self.names, many.tolist(), strict=True))

    def _state(self) -> str:
        row = self.rows[-1]
        how = "markers" if row.by_markers else "queues"
        return f"{row.job_rate:.4g} records/s, latency {row.job_latency_s:.3g} s by {how}, lag {row.job_lag:.4g}"

    def _words(self, now: Ints, wanted: Ints, decisions: Sequence[StreamDecision] = ()) -> str:
        demand = {one.operator: one.demand for one in decisions}
        parts = []
        for i in np.flatnonzero(now != wanted).tolist():
            busy = demand.get(i, math.nan)
            parts.append(f"{self.names[i]} {now[i]} → {wanted[i]}" + ("" if math.isnan(busy) else f" for {busy:.3g}"))
        return ", ".join(parts) or "what it has"

    def _facts(self, decisions: Sequence[StreamDecision], now: Ints, wanted: Ints) -> dict[str, Any]:
        row = self.rows[-1]
        return {
            "by": self._names[1] if self.uses_fallback else self._names[0],
            "parallelism": self._by_name(now),
            "wanted": self._by_name(wanted),
            "demand": {self.names[one.operator]: one.demand for one in decisions if not math.isnan(one.demand)},
            "reasons": {self.names[one.operator]: REASON_TEXT[one.reason] for one in decisions},
            "rate": row.job_rate,
            "latency_s": row.job_latency_s,
            "latency_by": "markers" if row.by_markers else "queues",
            "lag": row.job_lag,
        }
