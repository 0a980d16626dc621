"""The log of a run, from which the controller's every step can be replayed: JSON lines of (time, event).

    [12.25, "TasksEnded", {"executor": 3, "batch": 17, "ends": [[4, 1, 0.03, ""]]}]

The first line has the options.  A replay needs the same Dovetail; schedulers are made anew from their names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from dovetail.core.config import build, to_plain
from dovetail.core.errors import DovetailError
from dovetail.execution.controller import messages
from dovetail.execution.controller.controller import Controller
from dovetail.execution.controller.messages import AnyScheduler, Event, Instruction, SchedulerReplaced, TaskEnd
from dovetail.execution.controller.options import ControllerOptions
from dovetail.execution.spec import JobSpec


class TapeError(DovetailError):
    """The file is not the log of a run."""


class TapeWriter:
    """Writes events as they are handled; a killed process leaves whole lines and at most one torn one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def open(self, options: ControllerOptions, scheduler: str) -> None:
        if self._path.exists():  # of a server that failed, maybe: that is the one to look at
            os.replace(self._path, f"{self._path}.before")
        self._file = self._path.open("w", encoding="utf-8")
        self._write([0.0, "options", {"scheduler": scheduler, **to_plain(options)}])

    def add(self, now_s: float, event: Event) -> None:
        values = event._asdict()
        if isinstance(event, messages.JobSubmitted):
            values["spec"] = event.spec.to_json()
            values["finished"] = {str(stage): list(tasks) for stage, tasks in event.finished.items()}
            values["profiles"] = list(event.profiles)
        elif isinstance(event, SchedulerReplaced):
            del values["scheduler"]
        self._write([now_s, type(event).__name__, values])

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, line: list[Any]) -> None:
        assert self._file is not None, "the tape is not open"
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")


def read_tape(path: Path, make: Callable[[str], AnyScheduler]) -> tuple[Controller, Iterator[tuple[float, Event]]]:
    """A controller as it was at the start, and what it was told since.  `make` makes schedulers by name."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None or first[1] != "options":
        raise TapeError(f"{path}: its first line has no options; expected the log of a run")
    values = dict(first[2])
    name = values.pop("scheduler")
    options = build(ControllerOptions, values, str(path))
    controller = Controller(options, name, make(name), lambda: make(options.fallback))
    return controller, ((now_s, _event(kind, fields, make)) for now_s, kind, fields in lines)


def replay(path: Path, make: Callable[[str], AnyScheduler]) -> Iterator[tuple[float, Event, list[Instruction]]]:
    """Every event with what the controller answers to it."""
    controller, events = read_tape(path, make)
    for now_s, event in events:
        yield now_s, event, controller.handle(event, now_s)


def _lines(path: Path) -> Iterator[tuple[float, str, dict[str, Any]]]:
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                return  # the writer was killed in the middle of it
            try:
                now_s, kind, values = json.loads(line)
            except ValueError as error:
                raise TapeError(f"{path}, line {number}: {error}") from error
            yield now_s, kind, values


def _event(kind: str, values: dict[str, Any], make: Callable[[str], AnyScheduler]) -> Event:
    if kind == "JobSubmitted":
        values["spec"] = JobSpec.from_json(values["spec"])
        values["finished"] = {int(stage): tasks for stage, tasks in values["finished"].items()}
    elif kind == "TasksEnded":
        values["ends"] = [TaskEnd(*end) for end in values["ends"]]
    elif kind == "SchedulerReplaced":
        values["scheduler"] = make(values["name"])
    event: Event = getattr(messages, kind)(**values)
    return event
