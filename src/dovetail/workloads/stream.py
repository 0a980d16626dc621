"""Streaming jobs as tables of numbers: what an operator does with a record, who feeds whom, and how many records come.

A record that arrives at a job enters every source of it `op_source` times (a share, or several records each).  An
operator that takes in x records sends out x * op_selectivity, and each edge carries `edge_share` of that to the next
one.  So for each record from outside, `gain` records come to an operator, which is what everything else follows from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.core.stream import Floats, Ints


@dataclass(frozen=True, eq=False)
class StreamWorkload:
    """J jobs of O operators in all, and what comes to them in `rate.shape[1] * bin_s` seconds.

    Operators are numbered job by job, each after those that feed it; edges are sorted by (`edge_to`, `edge_from`).
    """

    # jobs
    job_name: tuple[str, ...]  # (J,) unique
    job_slo_s: Floats  # (J,) above 0
    job_restart_s: Floats  # (J,) how long it stands still when it is rescaled, without its state
    job_checkpoint_s: Floats  # (J,) between two checkpoints
    # operators
    op_name: tuple[str, ...]  # (O,) unique in its job
    op_job: Ints  # (O,) non-decreasing, every job has one
    op_service_s: Floats  # (O,) time of one instance for one record, above 0
    op_selectivity: Floats  # (O,) records out for each record in; of sinks it means nothing
    op_source: Floats  # (O,) records that enter here for each record of the job; 0: not a source
    op_skew: Floats  # (O,) share of its records that all go to one instance, 0 .. 1
    op_variability: Floats  # (O,) mean squared variation of arrivals and services: 1 as in M/M/c, 0 like clockwork
    op_buffer: Floats  # (O,) records that wait at one instance before those who feed it are held up, above 0
    op_state_mb: Floats  # (O,) state that is read when the job restarts
    op_max: Ints  # (O,) instances at most
    op_start: Ints  # (O,) instances at the start
    # edges
    edge_from: Ints  # (E,)
    edge_to: Ints  # (E,)
    edge_share: Floats  # (E,) of what `edge_from` sends out; 1: everything
    # what comes
    bin_s: float  # length of a column of `rate`
    rate: Floats  # (J, T) records a second
    clock_s: float  # time of the week at the start, seconds since Monday 0:00
    slots: int  # instances of all operators together, at most

    @property
    def num_jobs(self) -> int:
        return len(self.job_name)

    @property
    def num_operators(self) -> int:
        return len(self.op_name)

    @property
    def duration_s(self) -> float:
        return float(self.rate.shape[1] * self.bin_s)

    @cached_property
    def edge_gain(self) -> Floats:
        """(E,) records on an edge for each record that arrives at the job."""
        return self._flow[1]

    @cached_property
    def gain(self) -> Floats:
        """(O,) records that come to an operator for each record that arrives at its job."""
        return self._flow[0]

    @cached_property
    def _flow(self) -> tuple[Floats, Floats]:
        gain = self.op_source.astype(np.float64).copy()
        edge_gain = np.zeros(len(self.edge_from))
        for edge in range(len(self.edge_from)):  # sorted by `edge_to`, so all that feeds `edge_from` has been added
            origin = self.edge_from[edge]
            edge_gain[edge] = gain[origin] * self.op_selectivity[origin] * self.edge_share[edge]
            gain[self.edge_to[edge]] += edge_gain[edge]
        return gain, edge_gain

    @cached_property
    def load_s(self) -> Floats:
        """(O,) instance-seconds of work for each record that arrives at the job, skew left out."""
        return self.gain * self.op_service_s
