"""Schedulers as they take part in a comparison: a name with the parameters that differ from its defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.core.config import build, to_plain
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_spec, read_overrides, split_specs
from dovetail.records.manifest import canonical_params
from dovetail.records.summary import Entry
from dovetail.schedulers import SCHEDULERS

_LAYER = "dovetail.schedulers."
OTHER = "other"  # kind of a scheduler from outside; it is never the yardstick


@dataclass(frozen=True)
class Contender:
    """One line of the table to be.  Workers get this and make the scheduler themselves."""

    spec: str  # as it was asked for
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)  # what differs from the defaults, plain values
    kind: str = "heuristic"  # heuristic, optimise, learned or other

    @classmethod
    def of(cls, spec: str, family: str | None = None) -> Contender:
        """Read a spec such as `dag/weighted-fair:alpha=1`; errors come up here, not in a worker.

        With `family`, schedulers of others are refused.
        """
        name, overrides = parse_spec(spec)
        entry = SCHEDULERS.entry(name)
        if family is not None and entry.family != family:
            raise UnknownName(f"{family} scheduler", name, SCHEDULERS.names(family))
        SCHEDULERS.create(spec)
        return cls(spec, name, _changed(name, overrides), _kind(entry.target, SCHEDULERS.resolve(name)))

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def entry(self) -> Entry:
        return Entry(self.name, canonical_params(self.params))

    def create(self) -> Any:
        return SCHEDULERS.create(self.spec)


@dataclass(frozen=True)
class Chosen:
    """The schedulers of a comparison, and what the person who asked should know about the choice."""

    contenders: tuple[Contender, ...]
    notes: tuple[str, ...] = ()


GROUPS = ("all", "heuristics")


def choose(specs: str | Sequence[str], *, jobs: int, family: str) -> Chosen:
    """Specs, as a list, or as text between commas; `all` and `heuristics` may stand among them.

    A scheduler that takes long for a decision says so with `ALL_UP_TO_JOBS`; `all` leaves it out beyond.
    """
    asked = split_specs(specs) if isinstance(specs, str) else list(specs)
    if not asked:
        raise ConfigError(f"schedulers: none given; expected `all`, or names of {family}/...")
    contenders: dict[Entry, Contender] = {}
    notes: list[str] = []
    for spec in asked:
        if spec not in GROUPS:
            one = Contender.of(spec, family)
            if one.entry in contenders and spec not in contenders[one.entry].spec:
                notes.append(f"{spec} is the same as {contenders[one.entry].spec}, so it runs once")
            contenders.setdefault(one.entry, one)
            continue
        for name in SCHEDULERS.names(family):
            bound = getattr(SCHEDULERS.resolve(name), "ALL_UP_TO_JOBS", None)
            if bound is not None and jobs > bound and spec == "all":
                above = f", above {bound} jobs" if bound else ""
                notes.append(f"`all` leaves out {name}, which is slow{above}; name it to run it")
                continue
            one = Contender.of(name, family)
            if spec == "all" or one.kind == "heuristic":
                contenders.setdefault(one.entry, one)
    return Chosen(tuple(contenders.values()), tuple(notes))


def _changed(name: str, overrides: Mapping[str, str]) -> dict[str, Any]:
    """The parameters in force that differ from the defaults, so that `x:alpha=0` and `x` can be equal."""
    params_type = SCHEDULERS.params_type(name)
    if params_type is None or not overrides:
        return {}
    given = to_plain(build(params_type, read_overrides(params_type, overrides, name), name))
    try:
        default = to_plain(build(params_type, {}, name))
    except ConfigError:  # some must be given: then all of them count
        return dict(given)
    return {key: value for key, value in given.items() if value != default[key]}


def _kind(target: str, scheduler: Any) -> str:
    """The folder it lives in; a scheduler from outside may say so itself with `KIND`."""
    if target.startswith(_LAYER):
        return target.removeprefix(_LAYER).partition(".")[0]
    return str(getattr(scheduler, "KIND", OTHER))
