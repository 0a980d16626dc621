"""Compiling what a comparison needs, once, before several processes want it at once.

The simulator and the networks do not need each other to be compiled.  So when it takes so long that there must be
something to compile, a second process (this file, run as a program) compiles what comes last, and the first finds it
in the cache on disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from dovetail.evaluation.contenders import OTHER, Contender
from dovetail.evaluation.family import family_named
from dovetail.evaluation.setting import OpenSetting

PATIENCE_S = 2.5  # loading compiled code takes less than this, compiling it takes more


def warm_up(opened: OpenSetting, contenders: Iterable[Contender], on_compile: Callable[[], None]) -> None:
    """Have what the contenders need compiled and cached on disk; `on_compile` is called if that takes long.

    Schedulers from outside are left alone: they are not ours to call more often than was asked for.
    """
    ours = {contender.name: contender for contender in contenders if contender.kind != OTHER}
    learned = [contender for contender in ours.values() if contender.kind == "learned"]
    others = [contender for contender in ours.values() if contender.kind != "learned"]
    ready: set[object] = set()
    aside = _Aside([contender.spec for contender in learned] if others else [])

    def announce() -> None:
        on_compile()
        aside.start()

    with after_patience(announce), aside:
        for contender in [*others, *learned]:
            if contender.kind == "learned":
                aside.wait()
            with suppress(Exception):  # whatever is wrong comes up again, and is reported, in its cell
                opened.rehearse(contender.create(), ready)


class _Aside:
    """A process that compiles some schedulers, if there is a processor for it."""

    def __init__(self, specs: Sequence[str]) -> None:
        self._specs = specs if (os.cpu_count() or 1) > 1 else []
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if self._specs and not self._closed:
                command = [sys.executable, "-m", __name__, *self._specs]
                self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self) -> None:
        """Until what was started is done; from now on nothing is."""
        with self._lock:
            self._closed = True
        if self._process is not None:
            self._process.wait()

    def __enter__(self) -> _Aside:
        return self

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._closed = True
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def compile_schedulers(specs: Sequence[str]) -> None:
    """What these schedulers need, as their family knows."""
    for spec in specs:
        contender = Contender.of(spec)
        family_named(contender.family).compile(contender.create())


@contextmanager
def after_patience(action: Callable[[], None]) -> Iterator[None]:
    """Do it if what happens inside takes longer than our patience."""
    timer = threading.Timer(PATIENCE_S, action)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


if __name__ == "__main__":
    compile_schedulers(sys.argv[1:])
