"""List scheduling of DAG jobs, described: a rule for the order, one for the size.  Most heuristics are that.

A decision takes the first valid stage under a lexicographic order:

1. tier: 0 the executors may stay with the job they are at (`Keep`); 1 the job holds fewer executors than its
   cap; 2 no job may have more under the caps, and executors spill over.  Stages in none of these are not
   taken;
2. the job's key (`Order`), smallest first;
3. stages whose parents are complete before those that must still wait (`ready_first`);
4. the rule for stages (`StageRule`); then the lowest stage index, that is, arrival and stage id.

The cap of job j is ceil(executors * w_j / sum of w), w = total work ** alpha, over the unsaturated jobs
(alpha 0: equal caps).  With `speedup` q above 0 shares go by rank instead: of m unsaturated jobs the one with
the i-th most work left gets (i/m)^e - ((i-1)/m)^e of the executors, e = 1 / (1 - q).  In tiers 0 and 1 the limit
is the cap; without caps, when executors are kept regardless of the cap, and in tier 2 the job gets all that is on
offer.  With `equal` the weight is 1 / (what one of the job's unclaimed tasks needs of that resource, on average), so
that jobs at their caps use equally much of it; of the dominant resource, this is dominant resource fairness.

A rule is data, not code: `list_scheduling` interprets it in Python and `list_kernel` compiled.  So all list
schedulers share one compilation, and order or size can be exchanged while work is running.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from dovetail.core.dag import Reason

ALPHA_GRID = tuple(tenths / 10 for tenths in range(-20, 21))
"""What `dovetail tune` tries for the exponent of the shares: -2 to 2 in steps of 0.1."""


class Order(IntEnum):
    """Which job first."""

    NONE = 0  # jobs are not told apart: the rule for stages decides over all of them
    ARRIVAL = 1
    TOTAL_WORK = 2
    WORK_LEFT = 3
    THREADS_USED = 4  # by its running tasks, as a share of the cluster's
    MEMORY_USED = 5
    DOMINANT_SHARE = 6  # the larger of the two


class Equal(IntEnum):
    """Of what jobs at their caps use equally much."""

    EXECUTORS = 0
    THREADS = 1
    MEMORY = 2
    DOMINANT = 3  # of the resource that the job needs the larger share of


class StageRule(IntEnum):
    """Which stage of the job first."""

    LOWEST_ID = 0
    CRITICAL_PATH = 1  # longest chain of stages from here to the end of the job
    TROUBLESOME = 2  # troublesome ones and what leads to them (see `troublesome`), then longest chain
    SCARCE = 3  # fewest executors of the cluster that a task fits on, then longest chain


class Keep(IntEnum):
    """Whether executors stay with the job they are at, before the order of jobs is looked at."""

    NEVER = 0
    BELOW_CAP = 1  # while the job holds fewer than its cap
    ALWAYS = 2  # while the job has a valid stage


@dataclass(frozen=True)
class OrderRule:
    """The order part of a list scheduler."""

    jobs: Order
    stages: StageRule = StageRule.CRITICAL_PATH
    ready_first: bool = True
    long_threshold: float = 1.0  # only for StageRule.TROUBLESOME
    fit_threshold: float = 0.0


@dataclass(frozen=True)
class SizeRule:
    """The size part: how many executors a job may hold."""

    capped: bool = False  # False: as many as it can use
    alpha: float = 0.0  # weight in the sharing-out is total work ** alpha
    speedup: float = 0.0  # above 0: shares by rank of work left, for jobs that speed up as executors ** speedup
    equal: Equal = Equal.EXECUTORS  # instead of weights by work
    keep: Keep = Keep.NEVER
    spill: bool = False  # executors that no job may take under the caps go to whoever can use them


def check_alpha(alpha: float) -> None:
    """For the parameters of schedulers: far outside, work ** alpha leaves the range of floats."""
    if not -5.0 <= alpha <= 5.0:
        raise ValueError(f"alpha is {alpha}; expected an exponent from -5 to 5")


@dataclass(frozen=True)
class ListRule:
    """A list scheduler, described."""

    order: OrderRule
    reason: Reason  # given for decisions in tier 1
    size: SizeRule = field(default_factory=SizeRule)
