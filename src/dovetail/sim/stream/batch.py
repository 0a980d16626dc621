"""Many stream worlds at once, for roll-outs: they differ in rates, chance and numbers, but not in shape, so they go in
lockstep and are seen in one set of arrays.

    batch = StreamBatch(workloads, options, [SeedTree(seed) for seed in range(len(workloads))], threads=2)
    while (view := batch.advance()) is not None:
        batch.apply(parallelism)  # (W, O)
    batch.results()

Each world goes exactly as it would alone.  An interval is compiled and holds no lock, so `threads` above 1 work on
several worlds at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Floats, Ints, Reason, StreamInfo, StreamView, reward
from dovetail.sim.kernels import stream_state as layout
from dovetail.sim.kernels.stream_entry import addresses, enter_advance, enter_begin, enter_rescale
from dovetail.sim.kernels.stream_state import StreamMemory
from dovetail.sim.stream.memory import Lens, allocate, load, tables
from dovetail.sim.stream.options import StreamOptions
from dovetail.sim.stream.prepare import check_times, check_workload, stream_info
from dovetail.sim.stream.refusal import check_array
from dovetail.sim.stream.result import DecisionRow, StreamResult
from dovetail.workloads.stream import StreamWorkload

SAME = ("op_job", "op_max", "edge_from", "edge_to")  # what worlds of a batch have in common, beside sizes and slots


class StreamBatch:
    """W worlds.  Views are like those of one, with one more axis in front: (W, H, O) and so on, `clock_s` (W,)."""

    def __init__(
        self,
        workloads: Sequence[StreamWorkload],
        options: StreamOptions,
        seeds: Sequence[SeedTree],
        *,
        threads: int = 1,
    ) -> None:
        _check_alike(workloads, seeds)
        self.workloads = tuple(workloads)
        self.options = options
        self.infos: tuple[StreamInfo, ...] = tuple(stream_info(workload, options) for workload in workloads)
        self._intervals = check_times(workloads[0], options)
        self._memory = allocate(workloads[0], options, len(workloads), keeps_all=False)
        self._worlds = [StreamMemory(*(table[w] for table in self._memory)) for w in range(len(workloads))]
        for memory, workload, tree in zip(self._worlds, workloads, seeds, strict=True):
            load(memory, workload, options, tree, keeps_all=False)
        self._at = addresses(self._worlds)
        self._slo_s = np.stack([workload.job_slo_s for workload in workloads])
        self._lens = Lens(self._memory, np.array([workload.clock_s for workload in workloads]), options)
        self._view: StreamView | None = None
        self._ended = 0  # intervals
        self._decision_rows: list[list[DecisionRow]] = [[] for _ in workloads]
        bounds = np.linspace(0, len(workloads), min(threads, len(workloads)) + 1).astype(int).tolist()
        self._shares = list(pairwise(bounds))
        self._pool = ThreadPoolExecutor(len(self._shares)) if len(self._shares) > 1 else None
        self._each_share(enter_begin)

    @property
    def time_s(self) -> float:
        return self._ended * self.options.interval_s

    def advance(self) -> StreamView | None:
        """Let the next interval pass in all worlds.  None: it was the last."""
        if self._view is None and self._ended < self._intervals:
            self._each_share(enter_advance)
            self._ended += 1
            if self._ended < self._intervals:
                self._view = self._lens.view(self.time_s)
        return self._view

    def apply(self, parallelism: Ints, reason: Reason = Reason.UNSTATED) -> None:
        """Give every operator of every world so many instances, (W, O).

        If what one world is asked for is refused, nothing has been carried out in any of them.
        """
        view = self._view
        if view is None:
            raise InvalidDecision("there is nothing to decide: call advance() first, and stop when it returns None")
        before = view.parallelism
        wanted = np.array(check_array(parallelism, self.infos, before, self.time_s), np.int64, order="C")
        for w, operator in np.argwhere(wanted != before).tolist():
            row = (self._ended - 1, operator, int(before[w, operator]), int(wanted[w, operator]), int(reason))
            self._decision_rows[w].append(DecisionRow(*row, demand=float("nan")))
        self._each_share(enter_rescale, wanted)
        self._view = None

    def last_interval(self) -> tuple[Floats, Floats, Floats]:
        """(reward, latency_s, utilisation) of the interval that ended last, (W, J) each; the first does not count."""
        if self._ended < 2:
            raise ConfigError("no interval that counts has ended yet: the first only measures")
        found = tables(self._memory.interval_jobs, layout.SPAN_JOBS)
        latency_s = found[layout.SPAN_LATENCY][:, self._ended - 2]
        utilisation = found[layout.SPAN_UTILISATION][:, self._ended - 2]
        return reward(latency_s, self._slo_s, utilisation, self.options.weight), latency_s.copy(), utilisation.copy()

    def results(self) -> list[StreamResult]:
        parts = zip(self.workloads, self._worlds, self._decision_rows, strict=True)
        return [StreamResult.of(workload, self.options, memory, rows, None) for workload, memory, rows in parts]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _each_share(self, kernel: Callable[..., None], *arguments: Any) -> None:
        if self._pool is None:
            kernel(self._at, 0, len(self._worlds), *arguments)
            return
        for done in [self._pool.submit(kernel, self._at, a, b, *arguments) for a, b in self._shares]:
            done.result()


def _check_alike(workloads: Sequence[StreamWorkload], seeds: Sequence[SeedTree]) -> None:
    if not workloads or len(workloads) != len(seeds):
        raise ConfigError(f"{len(workloads)} workloads and {len(seeds)} seeds; expected as many, and at least one")
    first = workloads[0]
    for number, workload in enumerate(workloads):
        check_workload(workload)
        same = all(np.array_equal(getattr(first, name), getattr(workload, name)) for name in SAME)
        same &= (first.rate.shape, first.bin_s, first.slots) == (workload.rate.shape, workload.bin_s, workload.slots)
        if not same:
            raise ConfigError(
                f"workload {number} has another shape than the first; expected the same operators and edges, as many "
                "slots, and rates of the same length"
            )
