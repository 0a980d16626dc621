"""What a probe found."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any


@dataclass(frozen=True)
class Finding:
    """`missing`: a sentence for each thing that has to be mended, with how; none: the engine can be used."""

    engine: str
    there: tuple[str, ...] = ()  # what was found, with versions
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what else is worth knowing
    use: str = ""  # the command that uses it

    @property
    def is_usable(self) -> bool:
        return not self.missing

    def to_json(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "usable": self.is_usable,
            "found": list(self.there),
            "missing": list(self.missing),
            "notes": list(self.notes),
            "use": self.use,
        }


def package_version(*names: str) -> str | None:
    """`name version` of the first of these packages that is installed, without importing it."""
    for name in names:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return None
