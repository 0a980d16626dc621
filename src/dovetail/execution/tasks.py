"""Ready-made functions for stages: run a command, call a function by name, or use up a known amount of something."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.core.errors import ConfigError, DovetailError
from dovetail.execution import process_tree
from dovetail.execution.interrupts import postponed
from dovetail.execution.job_modules import hidden_in

PLACE = "{argument}"
SHOWN_CHARACTERS = 2000  # of what a failed command said


class CommandFailed(DovetailError):
    """A command could not be run, or ended with another status than 0."""


@dataclass(frozen=True)
class Command:
    """A program to run; the result is what it printed.  `{argument}` stands for the task's argument.

    A tuple is run as it is, a string by the shell (the argument is quoted for it).  A status other than 0 fails the
    task, with the end of what the program said on stderr.
    """

    command: tuple[str, ...] | str
    environment: Mapping[str, str] | None = None  # on top of the executor's own
    directory: str | None = None

    def __call__(self, argument: Any, inputs: Any = None) -> str:
        text = str(argument)
        if isinstance(self.command, str):
            command: str | list[str] = self.command.replace(PLACE, shlex.quote(text))
        else:
            command = [part.replace(PLACE, text) for part in self.command]
        process: subprocess.Popen[str] | None = None
        try:
            with postponed():  # an exception inside Popen would leave a process that nobody knows of
                process = self._start(command)
            output, complaint = process.communicate()
        except BaseException:  # cancelled: the whole pipeline goes
            if process is not None:
                with process, contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            raise
        if process.returncode != 0:
            said = complaint.strip()[-SHOWN_CHARACTERS:]
            raise CommandFailed(
                f"{_shown(command)}: {_status(process.returncode)}" + (f"; it said: {said}" if said else "")
            )
        return output

    def _start(self, command: str | list[str]) -> subprocess.Popen[str]:
        try:
            return subprocess.Popen(
                command,
                shell=isinstance(command, str),
                cwd=self.directory,
                env=None if self.environment is None else {**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                process_group=0,
                preexec_fn=functools.partial(process_tree.die_with_parent, os.getpid()),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise CommandFailed(f"{_shown(command)}: cannot be run: {error}") from error


def _shown(command: str | list[str]) -> str:
    return command if isinstance(command, str) else shlex.join(command)


def _status(status: int) -> str:
    return f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"


@dataclass(frozen=True)
class Call:
    """A function by its name, `package.module:function`; it is looked up where the task runs."""

    target: str

    def __post_init__(self) -> None:
        module, colon, name = self.target.partition(":")
        if not (module and colon and name):
            raise ConfigError(f"{self.target!r} does not name a function, expected 'package.module:function'")

    def __call__(self, argument: Any, *inputs: Any) -> Any:
        return _function(self.target)(argument, *inputs)


def _function(target: str) -> Callable[..., Any]:
    """Looked up for every task: what a name means differs from job to job (`job_modules`)."""
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        folder = hidden_in(module, sys.path)
        if not folder:
            raise
        raise ConfigError(
            f"{target!r}: the module {module!r} in {folder} is not used, for the executor itself needs another one of "
            "that name; give it a name of its own"
        ) from error
    if not callable(found):
        raise ConfigError(f"{target!r} is of type {type(found).__name__}, expected a function")
    function: Callable[..., Any] = found
    return function


@dataclass(frozen=True)
class Busy:
    """Uses a CPU for so many seconds of CPU time; without a number, the argument is the number."""

    cpu_s: float | None = None

    def __call__(self, argument: Any, inputs: Any = None) -> None:
        until_s = time.thread_time() + (float(argument) if self.cpu_s is None else self.cpu_s)
        while time.thread_time() < until_s:
            for _ in range(200):
                pass


@dataclass(frozen=True)
class Sleep:
    """Waits for so many seconds; without a number, the argument is the number."""

    seconds: float | None = None

    def __call__(self, argument: Any, inputs: Any = None) -> None:
        time.sleep(float(argument) if self.seconds is None else self.seconds)


@dataclass(frozen=True)
class Memory:
    """Takes so many bytes, writes to every page of them, and keeps them for `hold_s`."""

    size_bytes: int | None = None
    hold_s: float = 0.0

    def __call__(self, argument: Any, inputs: Any = None) -> int:
        size = int(argument) if self.size_bytes is None else self.size_bytes
        block = bytearray(size)
        for page in range(0, size, 4096):
            block[page] = 1
        time.sleep(self.hold_s)
        return len(block)


@dataclass(frozen=True)
class Io:
    """Writes so many bytes to a temporary file, has them on the disk, and reads them again."""

    size_bytes: int | None = None
    directory: str | None = None

    def __call__(self, argument: Any, inputs: Any = None) -> int:
        left = int(argument) if self.size_bytes is None else self.size_bytes
        chunk = os.urandom(min(max(left, 1), 1 << 20))
        read = 0
        with tempfile.TemporaryFile(dir=self.directory, buffering=0) as file:
            while left > 0:
                left -= file.write(chunk[:left])
            os.fsync(file.fileno())
            file.seek(0)
            while data := file.read(1 << 20):
                read += len(data)
        return read
