"""Job files: a job of commands and `module:function` calls, as TOML.

    name = "count words"                # optional, as are weight and deadline_s; without it, the file's name
    [[stage]]
    name = "count"
    tasks = "texts/*.txt"               # a pattern for files beside the job file, a list, or N for 0 .. N-1
    command = ["wc", "-w", "{task}"]    # {task} is the task's argument; the result is what is printed
    [[stage]]
    name = "sum"
    after = ["count"]
    inputs = true
    call = "my_package.counting:total"  # called as total(argument), with `inputs` as total(argument, inputs)
    cpus = 1                            # of one task, as is all that follows
    memory = "200MB"
    retries = 2
    timeout = 60                        # seconds; `expected` also

Reading executes and imports nothing: a command is a list of words that no shell sees, and a call is a name until an
executor runs it.  Commands run in the folder of the job file, and modules are looked for there first: but for names
of modules that the executor itself uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from dovetail.core.config import Place, convert, field_types, read_toml
from dovetail.core.errors import ConfigError
from dovetail.core.suggest import did_you_mean
from dovetail.execution.errors import InvalidJob
from dovetail.execution.job import Job
from dovetail.execution.spec import MAX_TASKS
from dovetail.execution.tasks import PLACE, Call, Command

Table = TypeVar("Table")
_CALL = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class _StageTable:
    """The keys of a stage but for `tasks`, whose values are free."""

    name: str
    command: tuple[str, ...] | None = None
    call: str | None = None
    after: tuple[str, ...] = ()
    inputs: bool = False
    copies: bool = True
    cpus: float = 1.0
    memory: float | str = 0.0
    retries: int = 3
    timeout: float | None = None
    expected: float | None = None


@dataclass(frozen=True)
class _JobTable:
    name: str = ""
    weight: float = 1.0
    deadline_s: float | None = None


def load_job(path: str | Path) -> Job:
    """The job in the file, ready to be submitted; errors name the file and the key."""
    path = Path(path)
    values = read_toml(path)
    place = Place(str(path))
    top = _read(_JobTable, values, place, more=("stage",))
    tables = values.get("stage")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{path}: no stages; expected one or more [[stage]] tables")
    folder = str(path.parent.absolute())
    job = Job(top.name or path.stem, weight=top.weight, deadline_s=top.deadline_s, sys_path=[folder])
    try:
        for number, table in enumerate(tables):
            _add_stage(job, table, place.at("stage").item(number), Path(folder))
        job.spec()  # says now what is wrong with the whole
    except InvalidJob as error:
        raise InvalidJob(f"{path}: {error}") from error
    return job


def _add_stage(job: Job, values: Mapping[str, Any], place: Place, directory: Path) -> None:
    table = _read(_StageTable, values, place, more=("tasks",))
    job.stage(
        _function(table, place, directory),
        _tasks(values.get("tasks", 1), place.at("tasks"), directory),
        name=table.name,
        after=table.after,
        cpus=table.cpus,
        memory=table.memory,
        retries=table.retries,
        timeout_s=table.timeout,
        expected_s=table.expected,
        inputs=table.inputs,
        copies=table.copies,
    )


def _function(table: _StageTable, place: Place, directory: Path) -> Callable[..., Any]:
    if (table.command is None) == (table.call is None):
        raise ConfigError(f'{place}: expected either command = [...] or call = "module:function"')
    if table.command is not None:
        if table.inputs:
            raise ConfigError(f"{place.at('inputs')}: a command cannot be given inputs; expected call = ... with them")
        if not table.command or not table.command[0].strip():
            raise ConfigError(f'{place.at("command")}: empty; expected words such as ["sort", "{{task}}"]')
        if any("\0" in word for word in table.command):
            raise ConfigError(f"{place.at('command')}: a word with a NUL character, which no command can be given")
        return Command(tuple(word.replace("{task}", PLACE) for word in table.command), directory=str(directory))
    assert table.call is not None
    if _CALL.fullmatch(table.call) is None:
        raise ConfigError(f"{place.at('call')}: cannot read {table.call!r}; expected module:function")
    return Call(table.call)


def _tasks(value: object, place: Place, directory: Path) -> int | list[Any]:
    if isinstance(value, bool) or not isinstance(value, int | str | list):
        raise ConfigError(f"{place}: expected a number, a list of arguments, or a pattern for files, got {value!r}")
    if isinstance(value, int):
        if not 1 <= value <= MAX_TASKS:
            raise ConfigError(f"{place}: is {value}; expected 1 to {MAX_TASKS:,}")
        return value
    if isinstance(value, str):
        found = _matching(value, place, directory)
        if not found:
            raise ConfigError(f"{place}: no file matches {value!r} in {directory}")
        return found
    if not value:
        raise ConfigError(f"{place}: an empty list; expected one argument for each task")
    return value


def _matching(pattern: str, place: Place, directory: Path) -> list[str]:
    base, rest = (Path("/"), pattern.lstrip("/")) if pattern.startswith("/") else (directory, pattern)
    try:
        # Sorted, because the order of a directory is nobody's: a task has the same number every time.
        return sorted(str(path) for path in base.glob(rest) if path.is_file())
    except (ValueError, NotImplementedError, OSError) as error:
        raise ConfigError(f"{place}: cannot search for {pattern!r}: {error}") from error


def _read(cls: type[Table], values: Mapping[str, object], place: Place, *, more: tuple[str, ...]) -> Table:
    """The keys of `cls`; `more` are others that are read elsewhere."""
    known = (*field_types(cls), *more)
    for key in values:
        if key not in known:
            raise ConfigError(f"{place.at(key)}: unknown key{did_you_mean(key, known)}")
    return cast(Table, convert({key: value for key, value in values.items() if key not in more}, cls, place))
