"""The parts that compositions are made of, one line each: verb/name, where it is, what it does.

    order     which job first
    size      how many executors a job may hold
    place     which class of executor a stage gets
    dispatch  who is asked: all jobs from one place, those the executors are at, or a split by length

Parts outside the project join through the entry-point group `dovetail.parts`.
"""

from __future__ import annotations

from dovetail.core.registry import Registry

PARTS = Registry("part", entry_point_group="dovetail.parts")
VERBS = ("order", "size", "place", "dispatch")


def _add(name: str, target: str, summary: str) -> None:
    PARTS.register(name, f"{__name__}.{target}", summary)


_add("order/fifo", "order:Fifo", "first come, first served")
_add("order/drf", "order:Drf", "lowest dominant share of threads or memory first")
_add("order/fair-threads", "order:FairThreads", "fewest threads in use first")
_add("order/fair-memory", "order:FairMemory", "least memory in use first")
_add("order/las", "order:LeastAttained", "least service received so far first; needs no estimates")
_add("order/sjf", "order:Sjf", "least total work first")
_add("order/srtf", "order:Srtf", "least work left first")
_add("order/critical-path", "order:CriticalPath", "longest chain of stages first, whatever the job")
_add("size/all", "size:All", "as many executors as it can use")
_add("size/fair-share", "size:FairShare", "an equal share of the executors")
_add("size/equal-threads", "size:EqualThreads", "as many as give all jobs equally many threads")
_add("size/equal-memory", "size:EqualMemory", "as many as give all jobs equally much memory")
_add("size/equal-dominant", "size:EqualDominant", "as many as give all jobs equal dominant shares")
_add("size/hesrpt", "size:HeSrpt", "a larger share the less work is left, by rank")
_add("size/weighted", "size:Weighted", "a share in proportion to work ** alpha")
_add("place/smallest-fit", "place:SmallestFit", "the smallest executors that fit")
_add("place/largest-fit", "place:LargestFit", "the largest executors on offer")
_add("place/most-free", "place:MostFree", "the class most executors of which are on offer")
_add("dispatch/central", "dispatch:Central", "all jobs compete for every executor")
_add("dispatch/local", "dispatch:Local", "executors stay with their job up to its share")
_add("dispatch/sticky", "dispatch:Sticky", "executors stay with their job while it can use them")
_add("dispatch/hawk", "dispatch:Hawk", "long jobs centrally, short ones by probing, a part kept for them")
_add("dispatch/mercury", "dispatch:Mercury", "a guaranteed part for long jobs, the rest first come, first served")
