"""Run somebody's PySpark script as it is, with steering attached to whatever SparkContext it makes."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dovetail.core import extras
from dovetail.core.errors import ConfigError
from dovetail.execution.engines.spark.steering import Steering


def run_script(file: Path, arguments: Sequence[str], steer: Callable[[Any], Steering]) -> None:
    """As `python FILE ARGUMENTS` would; its exceptions and its `sys.exit` are its own."""
    if not file.is_file():
        raise ConfigError(f"{file}: there is no such file; expected a PySpark script, followed by its arguments")
    extras.require("pyspark", "`dovetail run spark`")
    argv, path = sys.argv, sys.path[:]
    sys.argv, sys.path[0:0] = [str(file), *arguments], [os.path.dirname(os.path.abspath(file))]
    try:
        with every_context(steer):
            runpy.run_path(str(file), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, path


@contextmanager
def every_context(steer: Callable[[Any], Steering]) -> Iterator[None]:
    """Attach to each SparkContext that is made inside, and detach before it stops."""
    from pyspark import SparkContext

    kind: Any = SparkContext
    do_init, stop = kind._do_init, kind.stop
    attached: dict[int, Steering] = {}

    def made(self: Any, *words: Any, **named: Any) -> None:
        do_init(self, *words, **named)
        attached[id(self)] = steer(self).attach()

    def stopped(self: Any) -> None:
        steering = attached.pop(id(self), None)
        if steering is not None:
            steering.detach()
        stop(self)

    kind._do_init, kind.stop = made, stopped
    try:
        yield
    finally:
        kind._do_init, kind.stop = do_init, stop
        for steering in attached.values():
            steering.detach()
