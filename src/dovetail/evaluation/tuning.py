"""Finding good values for a scheduler's parameters: which values to try, and which of them is best.

A scheduler says what is worth trying with `TUNE`, a mapping from parameter to values.  A small grid is
searched in full; a large one a parameter at a time, the others staying at the best values found, until a
whole round changes nothing.  A value replaces the present one only if it is better, so a parameter without
effect stays as it is.  All candidates meet the same job sequences.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.config import describe
from dovetail.core.dag import Floats
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.spec import parse_spec
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.family import Family, family_named
from dovetail.evaluation.statistics import Interval, bootstrap_mean, paired_difference, paired_difference_pct
from dovetail.records.summary import Entry
from dovetail.schedulers import SCHEDULERS

FULL_GRID = 200  # candidates up to which all combinations are tried
MAX_ROUNDS = 4

Values = dict[str, Any]  # parameter -> value
Measure = Callable[[Sequence[Contender]], Mapping[Entry, Floats]]
"""Runs candidates and returns a metric by seed; a candidate that failed is left out."""


@dataclass(frozen=True)
class Space:
    """What may be tried: values of each parameter, around a start; `fixed` parameters stay as given."""

    name: str
    fixed: Mapping[str, str]
    grid: Mapping[str, tuple[Any, ...]]
    start: Mapping[str, Any]

    @classmethod
    def of(cls, spec: str) -> Space:
        """The space of a scheduler; parameters that the spec gives are held fixed."""
        name, fixed = parse_spec(spec)
        Contender.of(spec)
        declared: Mapping[str, tuple[Any, ...]] = getattr(SCHEDULERS.resolve(name), "TUNE", {})
        if not declared:
            raise ConfigError(
                f"{name} declares nothing to tune; these do: {', '.join(tunable(name.partition('/')[0]))}"
            )
        grid = {key: tuple(values) for key, values in declared.items() if key not in fixed}
        if not grid:
            raise ConfigError(f"{spec}: every parameter that can be tuned is given already")
        params_type = SCHEDULERS.params_type(name)
        assert params_type is not None, f"{name} has TUNE but no Params"
        defaults = {field.name: field.default for field in describe(params_type)}
        return cls(name, fixed, grid, {key: defaults[key] for key in grid})

    @property
    def family(self) -> Family:
        return family_named(self.name.partition("/")[0])

    @property
    def size(self) -> int:
        return int(np.prod([len(values) for values in self.grid.values()]))

    def contender(self, values: Mapping[str, Any]) -> Contender:
        """The candidate; its spec leaves out what is at its default."""
        given = {key: str(value) for key, value in values.items() if value != self.start[key]}
        overrides = ",".join(f"{key}={value}" for key, value in {**self.fixed, **given}.items())
        return Contender.of(f"{self.name}:{overrides}" if overrides else self.name)

    def all_points(self) -> Iterator[Values]:
        for combination in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, combination, strict=True))


@dataclass(frozen=True, eq=False)
class Point:
    """A candidate and what it came to."""

    values: Mapping[str, Any]
    contender: Contender
    by_seed: Floats  # (n,)
    interval: Interval


@dataclass(frozen=True, eq=False)
class Tuned:
    """The search's result; `points` are all candidates that were tried, in the order of the grid."""

    space: Space
    metric: str
    points: tuple[Point, ...]
    best: Point
    start: Point

    @property
    def gain(self) -> Interval:
        """The best against the start, paired; on training seeds, so somewhat flattering.

        In percent, unless the metric asks for its own unit (`Metric.signed`).
        """
        difference = paired_difference if self.space.family.metrics[self.metric].signed else paired_difference_pct
        return difference(self.best.by_seed, self.start.by_seed)

    def at_edge(self) -> list[str]:
        """Parameters whose best value is the first or last tried: there may be better ones beyond."""
        grid, best = self.space.grid, self.best.values
        return [
            key
            for key, values in grid.items()
            if best[key] != self.space.start[key] and best[key] in (values[0], values[-1])
        ]


def search(space: Space, metric: str, measure: Measure) -> Tuned:
    """Try what is worth trying, and find the best."""
    trials = _Trials(space, metric, measure)
    start = dict(space.start)
    present = start
    if space.size <= FULL_GRID:
        present = trials.best_of(present, list(space.all_points()))
    else:
        for _ in range(MAX_ROUNDS):
            before = present
            for key, values in space.grid.items():
                present = trials.best_of(present, [{**present, key: value} for value in values])
            if present == before:
                break
    points = trials.points
    ordered = tuple(points[key] for key in sorted(points))
    return Tuned(space, metric, ordered, points[_key(present)], points[_key(start)])


class _Trials:
    """Everything measured so far; nothing is run twice."""

    def __init__(self, space: Space, metric: str, measure: Measure) -> None:
        self.points: dict[tuple[Any, ...], Point] = {}
        self._space = space
        self._measure = measure
        self._sign = -1.0 if space.family.metrics[metric].higher_is_better else 1.0

    def best_of(self, present: Values, candidates: Sequence[Values]) -> Values:
        """The best candidate if it is better than the present values, else those."""
        self._run([present, *candidates])
        if _key(present) not in self.points:
            raise DovetailError(f"{self._space.contender(present).spec} failed, so nothing can be tuned")
        known = [self.points[_key(values)] for values in (present, *candidates) if _key(values) in self.points]

        def rank(point: Point) -> tuple[float, int]:  # of equals, the one that changes least
            changed = sum(point.values[key] != value for key, value in present.items())
            return self._sign * point.interval.mean, changed

        return dict(min(known, key=rank).values)

    def _run(self, candidates: Sequence[Values]) -> None:
        new = {_key(values): values for values in candidates if _key(values) not in self.points}
        contenders = {key: self._space.contender(values) for key, values in new.items()}
        measured = self._measure(list(contenders.values())) if contenders else {}
        for key, contender in contenders.items():
            by_seed = measured.get(contender.entry)
            if by_seed is not None:
                self.points[key] = Point(new[key], contender, by_seed, bootstrap_mean(by_seed))


def _key(values: Values) -> tuple[Any, ...]:
    return tuple(values.values())


def tunable(family: str | None = None) -> list[str]:
    """Schedulers that declare something to tune."""
    return [name for name in SCHEDULERS.names(family) if getattr(SCHEDULERS.resolve(name), "TUNE", None)]
