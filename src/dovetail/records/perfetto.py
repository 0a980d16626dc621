"""Runs as a Chrome trace, which ui.perfetto.dev and chrome://tracing open: one process per run.

What a run's threads and events are is its family's to say (`Run.trace`; `perfetto_dag`, ...).
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from dovetail.records.files import replacing
from dovetail.records.run import Run

_MICROSECONDS = 1e6
Event = dict[str, Any]


def write_perfetto(runs: Iterable[tuple[str, Run]], path: Path) -> int:
    """Write (label, run) pairs and return the number of events; a name that ends in .gz is compressed."""
    written = 0
    with replacing(path) as part, _open(part, compressed=path.suffix == ".gz") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[')
        first_thread = 1000  # not a process number: a thread numbered like its process is its main thread
        for number, (label, run) in enumerate(runs, start=1):
            for event in run.trace(label, number, first_thread):
                file.write(",\n" if written else "\n")
                file.write(event)
                written += 1
            first_thread += run.trace_threads
        file.write("\n]}\n")
    return written


def as_json(event: Event) -> str:
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False)


def meta(kind: str, process: int, thread: int, **args: Any) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": args}


def ticks(time_s: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # Both ends of a task are rounded, not its length, so that tasks back to back never overlap.
    return np.rint(time_s * _MICROSECONDS).astype(np.int64)


@contextmanager
def _open(path: Path, *, compressed: bool) -> Iterator[IO[str]]:
    if not compressed:
        with path.open("w", encoding="utf-8") as plain:
            yield plain
        return
    # Neither the time nor the file's name goes into the header: equal runs, equal bytes.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as text,
    ):
        yield text
