"""A worker process of the matrix: takes the cells of one seed at a time, sends each row as soon as it is there.

This module imports nothing heavy at the top: a process that is interrupted while it starts should be able to
go quietly, and numpy must not be loaded before the number of threads is set.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.matrix_cell import DagSetting

# Cells run next to each other, so each keeps to one thread.
ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}


class Chunk(NamedTuple):
    """The cells of one seed, which share a job sequence."""

    seed: int
    contenders: Sequence[Contender]
    keep: bool  # record these runs in full


def work(pipe: Connection, setting: DagSetting) -> None:
    """Until None comes: receive a chunk, send its rows or failures in order."""
    # The parent alone answers Ctrl-C; it then closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from dovetail.evaluation.matrix_cell import OpenSetting, run_cell

    opened = OpenSetting.of(setting)
    try:
        while (chunk := pipe.recv()) is not None:
            sequence = opened.sequence(chunk.seed)
            for contender in chunk.contenders:
                pipe.send(run_cell(opened, sequence, contender, chunk.seed, keep=chunk.keep))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone
