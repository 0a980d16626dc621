"""The one lazy registry: `family/name` leads to a string target, imported when it is first wanted.

Because targets are strings, listing every scheduler imports none of them. Packages outside the
project join through an entry-point group; their names are read from package metadata, again
without importing anything. A name claimed twice belongs to nobody: using it is an error that names
both claimants, for a silent winner would change results.

The names of a family may also be put together from parts, `gpu/drf+load-balance`: every combination is a name, those
that are registered are the ones listed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dovetail.core import extras
from dovetail.core.config import build
from dovetail.core.errors import ConfigError, RegistryError, UnknownName
from dovetail.core.spec import parse_spec, read_overrides

_NAME = re.compile(r"[a-z][a-z0-9]*/[a-z0-9]+(-[a-z0-9]+)*")
_COMPOSED = re.compile(_NAME.pattern + r"(\+[a-z0-9]+(-[a-z0-9]+)*)+")
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name; `origin` says who registered it."""

    name: str
    target: str  # "module:attribute"
    summary: str
    origin: str = "dovetail"
    parts: tuple[str, ...] = ()  # names in the registry of the family's parts; then the target puts them together

    def __post_init__(self) -> None:
        if not (_COMPOSED if self.parts else _NAME).fullmatch(self.name):
            raise RegistryError(
                f"malformed name {self.name!r} from {self.origin}: expected family/name in small letters, "
                "such as 'dag/weighted-fair'"
            )
        if not _TARGET.fullmatch(self.target):
            raise RegistryError(
                f"malformed target {self.target!r} of {self.name!r} from {self.origin}: "
                "expected 'module:attribute', such as 'my_package.mine:Mine'"
            )

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Composition:
    """How the names of a family are put together."""

    parts: Registry
    verbs: tuple[str, ...]  # families of `parts`, in the order of a name
    target: str  # of a function from the parts' classes to the class of the whole


class Registry:
    """Names of one kind of thing, such as schedulers, and where each of them is implemented."""

    def __init__(self, kind: str, entry_point_group: str | None = None) -> None:
        self.kind = kind
        self._group = entry_point_group
        self._group_is_read = entry_point_group is None
        self._entries: dict[str, Entry] = {}
        self._contested: dict[str, str] = {}  # name -> why nobody may use it
        self._problems: list[str] = []
        self._compositions: dict[str, Composition] = {}

    def register(self, name: str, target: str, summary: str) -> None:
        """Add one of the project's own; a taken name or a malformed target is an error at once."""
        entry = Entry(name, target, summary)
        if name in self._entries:
            raise RegistryError(self._clash(self._entries[name], entry))
        self._entries[name] = entry

    def compose(self, family: str, parts: Registry, verbs: tuple[str, ...], target: str) -> None:
        """From now on a part of each verb makes a name of the family: `family/first+second`.

        `target` leads to a function that takes the parts' classes and returns the class of the whole; the same one for
        the same parts.
        """
        self._compositions[family] = Composition(parts, verbs, target)

    def register_composed(self, name: str, summary: str) -> None:
        """List a name that is put together from parts, under a summary of its own."""
        composition, parts = self._taken_apart(name)
        entry = Entry(name, composition.target, summary, parts=parts)
        if name in self._entries:
            raise RegistryError(self._clash(self._entries[name], entry))
        self._entries[name] = entry

    def names(self, family: str | None = None) -> list[str]:
        """All usable names, or those of one family, in order of registration."""
        return [entry.name for entry in self.entries(family)]

    def families(self) -> list[str]:
        return list(dict.fromkeys(entry.family for entry in self.entries()))

    def entries(self, family: str | None = None) -> list[Entry]:
        self._read_group()
        usable = [entry for entry in self._entries.values() if entry.name not in self._contested]
        if family is None:
            return usable
        found = [entry for entry in usable if entry.family == family]
        if not found:
            raise UnknownName("family", family, {entry.family for entry in usable})
        return found

    def entry(self, name: str) -> Entry:
        self._read_group()
        if name in self._contested:
            raise RegistryError(self._contested[name])
        if name in self._entries:
            return self._entries[name]
        if "+" in name and name.partition("/")[0] in self._compositions:
            return self._put_together(name)
        raise UnknownName(self.kind, name, self._entries)

    def problems(self) -> list[str]:
        """What is wrong with installed plug-ins; shown to the user, but no reason to stop."""
        self._read_group()
        return list(self._problems)

    def resolve(self, name: str) -> Any:
        """The thing itself, imported now."""
        entry = self.entry(name)
        made = self._import(entry)
        if not entry.parts:
            return made
        parts = self._compositions[entry.family].parts
        return made(*(parts.resolve(part) for part in entry.parts))

    def _import(self, entry: Entry) -> Any:
        module_name, _, attribute = entry.target.partition(":")
        what = f"{self.kind} {entry.name!r}"
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            missing_extra = extras.explain(error, what)
            if missing_extra is not None:
                raise missing_extra from error
            raise RegistryError(f"{what} from {entry.origin} cannot be imported: {error}") from error
        if not hasattr(module, attribute):
            raise RegistryError(f"{what} from {entry.origin}: {module_name!r} has no {attribute!r}")
        return getattr(module, attribute)

    def params_type(self, name: str) -> type[Any] | None:
        """The frozen dataclass that configures the named thing; None when it takes no parameters."""
        params = getattr(self.resolve(name), "Params", None)
        if params is None:
            return None
        if not (isinstance(params, type) and dataclasses.is_dataclass(params)):
            raise RegistryError(f"{self.kind} {name!r}: Params must be a frozen dataclass, got {params!r}")
        return params

    def create(self, spec: str, params: Mapping[str, object] | None = None) -> Any:
        """Build the thing that `spec` names: `dag/fair`, or with overrides `dag/x:alpha=1,n=3`.

        `params` are further overrides. A text among them is read as its field's type, because this
        is how the command line passes values on; every other value must have that type already.
        """
        name, written = parse_spec(spec)
        both = sorted(set(written) & set(params or {}))
        if both:
            raise ConfigError(f"{self.kind} {spec!r}: {both[0]!r} is given twice")
        overrides = {**written, **(params or {})}
        target, params_type = self.resolve(name), self.params_type(name)
        if params_type is None:
            if overrides:
                raise ConfigError(f"{self.kind} {name!r} takes no parameters, got {sorted(overrides)}")
            return target()
        return target(build(params_type, read_overrides(params_type, overrides, name), name))

    def _taken_apart(self, name: str) -> tuple[Composition, tuple[str, ...]]:
        """The parts of a composed name, whether they exist or not: listing must not look for plug-ins."""
        family, _, rest = name.partition("/")
        composition, words = self._compositions[family], rest.split("+")
        if len(words) != len(composition.verbs) or not all(words):
            raise ConfigError(f"{self.kind} {name!r}: expected {family}/{'+'.join(composition.verbs)}")
        return composition, tuple(f"{verb}/{word}" for verb, word in zip(composition.verbs, words, strict=True))

    def _put_together(self, name: str) -> Entry:
        """The entry of a name that is registered only in its parts."""
        composition, parts = self._taken_apart(name)
        for part in parts:
            verb, _, word = part.partition("/")
            known = [one.partition("/")[2] for one in composition.parts.names(verb)]
            if word not in known:
                raise UnknownName(f"{verb} in {self.kind} {name!r}:", word, known)
        found = [composition.parts.entry(part) for part in parts]
        return Entry(name, composition.target, "; ".join(part.summary for part in found), parts=parts)

    def _read_group(self) -> None:
        """Read the entry-point group once, on the first question about names."""
        if self._group_is_read or self._group is None:
            return
        self._group_is_read = True
        from importlib.metadata import entry_points

        for point in sorted(entry_points(group=self._group), key=lambda point: (point.name, point.value)):
            origin = f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed package"
            try:
                entry = Entry(point.name, point.value.replace(" ", ""), f"plug-in from {origin}", origin)
            except RegistryError as error:
                self._problems.append(str(error))
                continue
            held = self._entries.setdefault(entry.name, entry)
            if held.target != entry.target:
                self._contested[entry.name] = self._clash(held, entry)
                self._problems.append(self._contested[entry.name])

    def _clash(self, held: Entry, entry: Entry) -> str:
        return (
            f"{self.kind} name {entry.name!r} is taken: {held.origin} registers it as {held.target!r}, "
            f"{entry.origin} as {entry.target!r}; one of them must be renamed or removed"
        )
