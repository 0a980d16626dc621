"""What operators can do and what comes to them, from the newest snapshots of a view.

The *true rate* of an instance is what it processes in a second of being busy, waiting left out:

    true_i = records processed / instance-seconds busy            both summed over the snapshots

and if `x` records a second come to the job from outside, those that come to an operator follow from source to sink:

    target_i = records that came from outside                     for sources
    target_i = factor_i * sum over parents p of target_p          for others; with
    factor_i = records that came / records its parents processed

which holds while a bottleneck lets less through, as true rates and factors do not depend on how much flows.  Factors
are those of operators and not of edges: what came by which edge cannot be seen in a view.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.stream import Bools, Floats, StreamInfo, StreamView


class Measured(NamedTuple):
    """Nan where nothing was measured yet: the operator was never busy, or got no record."""

    true_rate: Floats  # (O,) records a second of one instance that is busy
    target_rate: Floats  # (O,) records a second that come, if nobody holds them up
    demand: Floats  # (O,) instances that would be busy all the time with these
    factor: Floats  # (O,) see above; of sources 1


class Meter:
    """Measures jobs of one topology."""

    def __init__(self, info: StreamInfo) -> None:
        self._info = info
        count = len(info.operator_name)
        self._parents: list[list[int]] = [[] for _ in range(count)]
        for origin, target in zip(info.edge_from.tolist(), info.edge_to.tolist(), strict=True):
            self._parents[target].append(origin)
        self.is_source: Bools = np.array([not parents for parents in self._parents], dtype=np.bool_)

    def rows(self, view: StreamView, window_s: float) -> int:
        """Snapshots in the newest `window_s` seconds, or since the last decision if that is 0; as many as there are."""
        info = self._info
        wanted = int(np.ceil(window_s / info.snapshot_s - 1e-9)) if window_s > 0.0 else info.snapshots
        return min(max(wanted, 1), len(view.op_rate))

    def measure(self, view: StreamView, rows: int) -> Measured:
        processed = view.op_rate[-rows:].sum(axis=0)
        busy = (view.op_parallelism[-rows:] * view.op_busy[-rows:]).sum(axis=0)
        came = view.op_input_rate[-rows:].sum(axis=0)
        true_rate = np.full(len(busy), np.nan)
        np.divide(processed, busy, out=true_rate, where=(busy > 0.0) & (processed > 0.0))
        factor = self._factors(processed, came)
        target = self.flow(np.where(self.is_source, came / rows, 0.0), factor)
        return Measured(true_rate, target, target / true_rate, factor)

    def flow(self, entering: Floats, factor: Floats) -> Floats:
        """(O,) what comes to each operator if so much enters at the sources."""
        found, share = entering.tolist(), factor.tolist()
        for i, parents in enumerate(self._parents):
            if parents:
                found[i] = share[i] * sum([found[p] for p in parents])
        return np.array(found)

    def _factors(self, processed: Floats, came: Floats) -> Floats:
        fed = np.bincount(self._info.edge_to, weights=processed[self._info.edge_from], minlength=len(came))
        factor = np.full(len(came), np.nan)
        np.divide(came, fed, out=factor, where=fed > 0.0)
        factor[self.is_source] = 1.0
        return factor
