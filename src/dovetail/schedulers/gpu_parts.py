"""The parts that schedulers of GPU jobs are put together from, one line each: verb/name, where it is, what it does.

    order   which waiting job is taken next
    place   on which machines its workers stand

Any order goes with any place: `gpu/drf+load-balance`.  Parts outside the project join through the entry-point group
`dovetail.gpu_parts`.
"""

from __future__ import annotations

from dovetail.core.registry import Registry

GPU_PARTS = Registry("gpu part", entry_point_group="dovetail.gpu_parts")
GPU_VERBS = ("order", "place")


def _add(name: str, target: str, summary: str) -> None:
    verb = name.partition("/")[0]
    GPU_PARTS.register(name, f"dovetail.schedulers.heuristic.gpu.{verb}s.{target}", summary)


_add("order/fifo", "fifo:Fifo", "first come, first served; a job that does not fit waits")
_add("order/sjf", "sjf:Sjf", "least estimated time first")
_add("order/srtf", "srtf:Srtf", "least GPU time left first; preemptive where that is allowed")
_add("order/smallest", "smallest:Smallest", "fewest GPUs first")
_add("order/drf", "drf:Drf", "lowest dominant share of its user first")
_add("order/las", "las:Las", "least GPU time received first, in two queues; preemptive")
_add("order/max-min", "max_min:MaxMin", "furthest below its fair share of speed first, by LP")
_add("order/easy-backfill", "easy_backfill:EasyBackfill", "first come; others only if they do not delay it")
_add("order/tetris", "tetris:Tetris", "best aligned with what is free first, short jobs favoured")
_add("order/random", "random:Random", "drawn anew at every decision")
_add("place/first-fit", "first_fit:FirstFit", "the first machines with room")
_add("place/best-fit", "best_fit:BestFit", "the machines where the least is left over")
_add("place/load-balance", "load_balance:LoadBalance", "the machines with the most free GPUs")
_add("place/pack", "pack:Pack", "the machines with the fewest free GPUs")
_add("place/least-allocated", "least_allocated:LeastAllocated", "the smallest part of all resources taken")
_add("place/most-allocated", "most_allocated:MostAllocated", "the largest part of all resources taken")
_add("place/fgd", "fgd:Fgd", "the least growth of fragmentation for the jobs that usually come")
_add("place/topology", "topology:Topology", "as few machines as possible, in as few racks as possible")
_add("place/fastest", "fastest:Fastest", "as topology, on the fastest type of GPU with room")
_add("place/alignment", "alignment:Alignment", "the machines whose free resources match its demands best")
_add("place/random", "random:Random", "drawn at random")
