"""A worker process of the matrix: takes the cells of one seed at a time, sends each outcome at once.

This module imports nothing heavy at the top, so that numpy is not loaded before the number of threads is set.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.setting import Setting

READY = "ready"


class Chunk(NamedTuple):
    """The cells of one seed, which share a job sequence."""

    seed: int
    contenders: Sequence[Contender]
    keep: bool = False  # return the records of these runs
    timed: bool = False  # measure how long decisions take


def work(pipe: Connection, setting: Setting) -> None:
    """Say `READY`; then, until None comes, receive chunks and send their outcomes in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent alone answers Ctrl-C, and ends its workers
    from dovetail.evaluation.matrix_cell import run_cell

    opened = setting.open()
    try:
        pipe.send(READY)
        while (chunk := pipe.recv()) is not None:
            sequence = opened.sequence(chunk.seed)
            for contender in chunk.contenders:
                pipe.send(run_cell(opened, sequence, contender, chunk.seed, keep=chunk.keep, timed=chunk.timed))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone
