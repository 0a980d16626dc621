"""Errors meant for the person who reads them: what was wrong, where, and what would be right.

Everything derived from `DovetailError` is shown by the command line as one message without a
traceback; any other exception is a bug and keeps its traceback. Comparisons run in several
processes, so every error survives pickling: `args` are always the constructor's arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dovetail.core.suggest import did_you_mean


class DovetailError(Exception):
    """Base of every error that the user can act on."""


class ConfigError(DovetailError):
    """A configuration value is missing, unknown or of the wrong type."""


class RegistryError(DovetailError):
    """A registered name is taken, malformed, or leads to nothing that can be imported."""


class UnknownName(DovetailError):
    """A name that nothing answers to. `kind` is what was looked for, such as "scheduler"."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        super().__init__(kind, name, self.known)

    def __str__(self) -> str:
        return f"unknown {self.kind} {self.name!r}{did_you_mean(self.name, self.known)}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a workload, precise enough to be found and mended by hand."""

    file: str
    row: int | None  # line of a text file counted from 1, row of a table counted from 0; None: whole file
    field: str | None  # column or key; None: the whole row
    problem: str
    expected: str = ""

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        field = "" if self.field is None else f", field {self.field!r}"
        expected = f" (expected {self.expected})" if self.expected else ""
        return f"{self.file}{row}{field}: {self.problem}{expected}"


class InvalidWorkload(DovetailError):
    """A workload with at least one fault; carries all that were found, not only the first."""

    SHOWN = 20  # a damaged file can have a fault in every row; the message stays readable

    def __init__(self, faults: Sequence[Fault]) -> None:
        if not faults:
            raise ValueError("InvalidWorkload needs at least one Fault")
        self.faults = tuple(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        if len(self.faults) == 1:
            return f"invalid workload: {self.faults[0]}"
        lines = [f"invalid workload: {len(self.faults)} faults"]
        lines += [f"  {fault}" for fault in self.faults[: self.SHOWN]]
        if len(self.faults) > self.SHOWN:
            lines.append(f"  ... and {len(self.faults) - self.SHOWN} more")
        return "\n".join(lines)


class InvalidDecision(DovetailError):
    """A scheduler asked for something the world cannot do. Worlds never repair a decision silently."""


class StalledWorld(DovetailError):
    """Work remains, but nothing is running, nothing will arrive, and the scheduler starts nothing."""


class RecordError(DovetailError):
    """A record directory is missing, incomplete, or of a version this code cannot read."""


class CheckpointError(DovetailError):
    """A trained model is missing, damaged, or does not fit this version."""


class MissingExtra(DovetailError):
    """A feature needs packages that the default install leaves out."""

    def __init__(self, extra: str, needed_by: str) -> None:
        self.extra = extra
        self.needed_by = needed_by
        super().__init__(extra, needed_by)

    def __str__(self) -> str:
        return (
            f"{self.needed_by} needs the extra {self.extra!r}, which is not installed: "
            f"pip install 'dovetail[{self.extra}]'"
        )
