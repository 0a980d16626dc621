"""The registry of schedulers, one line each: name, target below this package, what it does.

Listing, command line, contract tests and comparisons all start from here. Schedulers outside the
project join through the entry-point group `dovetail.schedulers`.
"""

from __future__ import annotations

from dovetail.core.registry import Registry
from dovetail.schedulers.gpu_parts import GPU_PARTS, GPU_VERBS

SCHEDULERS = Registry("scheduler", entry_point_group="dovetail.schedulers")


def _add(name: str, target: str, summary: str) -> None:
    SCHEDULERS.register(name, f"{__name__}.{target}", summary)


_add("dag/fifo", "heuristic.dag.fifo:Fifo", "jobs in order of arrival, all executors to the first")
_add("dag/sjf-cp", "heuristic.dag.sjf_cp:SjfCp", "job with the least total work first, critical path first")
_add("dag/srtf", "heuristic.dag.srtf:Srtf", "job with the least remaining work first")
_add("dag/fair", "heuristic.dag.fair:Fair", "an equal share of the executors for every job")
_add("dag/fair-spill", "heuristic.dag.fair_spill:FairSpill", "fair, and what a job cannot use goes to others")
_add("dag/drf", "heuristic.dag.drf:Drf", "the job with the lowest dominant share of threads or memory first")
_add("dag/fair-threads", "heuristic.dag.fair_threads:FairThreads", "equally many threads for every job")
_add("dag/fair-memory", "heuristic.dag.fair_memory:FairMemory", "equally much memory for every job")
_add("dag/weighted-fair", "heuristic.dag.weighted_fair:WeightedFair", "shares in proportion to work ** alpha")
_add("dag/hesrpt", "heuristic.dag.hesrpt:HeSrpt", "larger shares for jobs with less work left, by rank")
_add("dag/critical-path", "heuristic.dag.critical_path:CriticalPath", "stage with the longest path of work first")
_add("dag/tetris", "heuristic.dag.tetris:Tetris", "best fit of demands to free resources, short jobs favoured")
_add("dag/graphene", "heuristic.dag.graphene:Graphene", "troublesome stages first, the rest packed around them")
_add("dag/random", "heuristic.dag.random:Random", "any runnable stage, any limit: the floor to beat")
_add("dag/rollout", "optimise.dag.rollout:Rollout", "one-step look-ahead, completed by a fast heuristic")
_add("dag/oracle-search", "optimise.dag.oracle_search:OracleSearch", "knows the future: no real scheduler")
_add("dag/decima", "learned.decima.scheduler:Decima", "a graph network, trained on job sequences of this kind")
_add("dag/decima-search", "learned.decima.decima_search:DecimaSearch", "dag/decima, weighed by look-ahead")

_add("elastic/fifo", "heuristic.elastic.fifo:Fifo", "jobs in order of arrival, a fixed number of workers each")
_add("elastic/drf", "heuristic.elastic.drf:Drf", "one more worker to the job with the lowest dominant share")
_add("elastic/rrh", "heuristic.elastic.rrh:Rrh", "risk and reward: jobs with enough slack, best balance first")
_add(
    "elastic/dorm",
    "heuristic.elastic.dorm:Dorm",
    "most utilisation, change and unfairness bounded: LP, then MILP",
)
_add("elastic/edf", "heuristic.elastic.edf:Edf", "the job that is due first, as many workers as fit")
_add("elastic/srtf", "heuristic.elastic.srtf:Srtf", "the job with the least work left, as many workers as fit")
_add("elastic/offline", "optimise.elastic.offline:Offline", "the optimum in hindsight: no real scheduler")
_add("elastic/oasis", "optimise.elastic.oasis:Oasis", "admits and schedules by prices that grow with what is taken")
_add(
    "elastic/oasis-replan",
    "optimise.elastic.oasis_replan:OasisReplan",
    "oasis that may move what it admitted",
)
_add("elastic/learned", "learned.elastic.learned:Learned", "oasis-replan at prices that a network scales")

SCHEDULERS.compose("gpu", GPU_PARTS, GPU_VERBS, f"{__name__}.heuristic.gpu.pairing:pair")
for _name, _summary in (
    ("fifo+first-fit", "first come, first served, on the first machines with room"),
    ("fifo+load-balance", "first come, first served, on the machines with the most free GPUs"),
    ("drf+first-fit", "the user with the lowest dominant share, first machines with room"),
    ("drf+load-balance", "the user with the lowest dominant share, most free GPUs"),
):
    SCHEDULERS.register_composed(f"gpu/{_name}", _summary)
_add("gpu/tetris", "heuristic.gpu.tetris:Tetris", "job and machine that match best, short jobs favoured")
for _name, _summary in (
    ("sjf+topology", "least estimated time first, on as few machines and racks as possible"),
    ("srtf+pack", "least GPU time left first, on the fullest machines"),
    ("srtf+topology", "least GPU time left first, on as few machines and racks as possible"),
    ("tetris+topology", "best aligned first, on as few machines and racks as possible"),
    ("tetris+fastest", "best aligned first, on the fastest type with room, close together"),
    ("las+topology", "least GPU time received first, machines close together"),
    ("max-min+topology", "fair speeds over types of GPUs by LP, machines close together"),
    ("easy-backfill+topology", "first come, gaps filled with what delays nobody, close together"),
    ("fifo+least-allocated", "first come, first served, as Kubernetes spreads"),
    ("fifo+most-allocated", "first come, first served, as Kubernetes packs"),
    ("fifo+fgd", "first come, first served, least growth of fragmentation"),
):
    SCHEDULERS.register_composed(f"gpu/{_name}", _summary)
_add("gpu/mosa", "optimise.gpu.mosa:Mosa", "order and places by multi-objective simulated annealing")
_add("gpu/malo", "optimise.gpu.malo:Malo", "order and places by ant lions with differential evolution")
_add("gpu/rifling", "learned.gpu_baselines.rifling:Rifling", "first come, machines by Q-learning over coarse states")
_add("gpu/dl2", "learned.gpu_baselines.dl2:Dl2", "one job after another until stop, by a policy network")
_add("gpu/das", "learned.das.scheduler:Das", "two learned agents, order and place, that know of each other")
_add("gpu/random", "heuristic.gpu.random:Random", "any job, any machine with room: the floor to beat")

_add("stream/fixed", "heuristic.stream.fixed:Fixed", "never changes: as at the start, or a number for all")
_add("stream/hpa", "heuristic.stream.hpa:Hpa", "Kubernetes: as many as bring the busy share to a target")
_add("stream/ds2", "heuristic.stream.ds2:Ds2", "as many as true rates call for, in one pass from the sources")
_add("stream/flink", "heuristic.stream.flink:Flink", "Flink's own: true rates, a band of utilisation, catching up")
_add("stream/dhalion", "heuristic.stream.dhalion:Dhalion", "finds who holds the others up; reduces who is idle")
_add("stream/quantile", "heuristic.stream.quantile:Quantile", "enough for nearly all of the coming hour, by true rates")
_add("stream/static", "optimise.stream.static:Static", "the best that never changes; knows the future")
_add("stream/oracle", "optimise.stream.oracle:Oracle", "knows the rates to come: no real scheduler")
_add("stream/sure", "learned.stream.scheduler:Sure", "learned: samples what matters of the history's graph")
_add("stream/deepwave", "learned.stream.scheduler:DeepWave", "learned: one action for a whole job")
_add("stream/dream", "learned.stream.scheduler:Dream", "learned: the graph as it is now, no history")
_add("stream/tvw-rl", "learned.stream.scheduler:TvwRl", "learned: windows of history, no graph")
_add("stream/astgcn", "learned.stream.scheduler:Astgcn", "learned: attention over the full graph of the history")
_add("stream/ccrnn", "learned.stream.scheduler:Ccrnn", "learned: recurrent over the full graph of the history")
_add("stream/random", "heuristic.stream.random:Random", "any parallelism, any time: the floor to beat")

# Schedulers made of schedulers live above this layer.  They are lines here all the same, and not an entry point of our
# own: that would be read from the installed metadata, and a checkout would lack them until it is installed again.
_ABOVE = "dovetail.adaptation"
SCHEDULERS.register("dag/composed", f"{_ABOVE}.composed:Composed", "four parts: order, size, place, dispatch")
SCHEDULERS.register("dag/adaptive", f"{_ABOVE}.adaptive:Adaptive", "changes among compositions as the work changes")
