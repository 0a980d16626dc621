"""`tpch-like`: analytic queries on a cluster, with the stages, tasks and seconds that TPC-H on Spark has.

Nothing here is measured data.  Random plans over a made-up warehouse (`query_plans`) are run on a model of
task durations (`durations`); both are fitted to the shape of the measurements that Decima (SIGCOMM 2019)
published, and `docs/workloads.md` compares the two.  A query has the same plan at every input size.  A scan
has tasks in proportion to its table, a shuffle always the same number: that is why work grows less than in
proportion to the input, and why jobs differ in how many executors they can use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.core.seeds import SeedTree
from dovetail.workloads.dag import DagCatalogue, pointer
from dovetail.workloads.demands import memory_demands
from dovetail.workloads.generate.durations import LEVELS, StageTimes, draw_samples, normal
from dovetail.workloads.generate.query_plans import SCAN, SHUFFLE, Plans, draw_plans

SHUFFLE_TASKS = 200


@dataclass(frozen=True)
class TpchLike:
    """What to generate.  The defaults are the bundled workload; its seed is part of its identity."""

    queries: int = 22
    sizes_gb: tuple[float, ...] = (2, 5, 10, 20, 50, 100)
    samples: int = 48  # duration samples per stage and executor count, about
    memory: bool = False  # memory demands, for clusters with several classes of executor
    seed: int = 326  # chosen for its closeness to the measurements, see docs/workloads.md

    def __post_init__(self) -> None:
        if self.queries < 1 or self.samples < 1:
            raise ValueError("queries and samples must be at least 1")
        if not self.sizes_gb or not all(0 < size < float("inf") for size in self.sizes_gb):
            raise ValueError("sizes_gb must be one or more sizes above 0")

    def catalogue(self) -> DagCatalogue:
        return generate(self)


def generate(params: TpchLike) -> DagCatalogue:
    seeds = SeedTree(params.seed).child("tpch-like")
    plans = draw_plans(params.queries, seeds.child("plans").generator())
    size_gb = np.array(params.sizes_gb, dtype=np.float64)[:, None]  # (Z, 1), against (P,) stages of all plans
    tasks = _num_tasks(plans, size_gb)
    times = _stage_times(plans, size_gb, tasks, seeds.child("stages").generator())
    num_tasks = tasks.ravel()
    samples = draw_samples(times, num_tasks, params.samples, seeds.child("durations").generator())
    repeat = len(params.sizes_gb)
    return DagCatalogue(
        name="tpch-like",
        dag_name=tuple(f"tpch-like-{gb:g}g-q{q + 1}" for gb in params.sizes_gb for q in range(params.queries)),
        stage_ptr=pointer(np.tile(np.diff(plans.stage_ptr), repeat)),
        stage_name=plans.stage_name * repeat,
        num_tasks=num_tasks,
        cpu=np.ones(num_tasks.size),
        memory=memory_demands(num_tasks.size, seeds if params.memory else None),
        edge_ptr=pointer(np.tile(np.diff(plans.edge_ptr), repeat)),
        edge_parent=np.tile(plans.edge_parent, repeat),
        edge_child=np.tile(plans.edge_child, repeat),
        duration_stage=samples.stage,
        duration_wave=samples.wave,
        duration_executors=samples.executors,
        duration_ptr=samples.ptr,
        duration_s=samples.seconds,
    )


def _num_tasks(plans: Plans, size_gb: Floats) -> Ints:
    """(Z, P): a scan has a task per block and at least two, a shuffle a fixed number."""
    scan = np.maximum(np.round(plans.volume * size_gb), 2)
    kind = np.broadcast_to(plans.kind, scan.shape)
    return np.select(
        [kind == SCAN, kind == SHUFFLE], [scan, np.full_like(scan, SHUFFLE_TASKS)], plans.result_tasks
    ).astype(np.int64)


def _stage_times(plans: Plans, size_gb: Floats, tasks: Ints, rng: np.random.Generator) -> StageTimes:
    """Every stage of a plan has its own character, which it keeps at all input sizes."""

    def around(median: float, sigma: float) -> Floats:
        """(P,)"""
        return median * np.exp(sigma * normal(rng, plans.volume.shape))

    scan, shuffle = plans.kind == SCAN, plans.kind == SHUFFLE
    block = np.minimum(plans.volume * size_gb / tasks, 1.0)  # share of a full block that a task of a scan reads
    scan_s = 0.04 + around(1.9, 0.14) * block
    shuffle_s = around(0.017, 0.6) + around(2.4, 0.25) * plans.volume * size_gb / SHUFFLE_TASKS
    result_s = np.broadcast_to(around(0.026, 0.3), scan_s.shape)
    small = block < 0.8
    first_s = np.where(scan, np.where(small, around(0.9, 0.5), around(0.27, 0.5)), around(0.14, 0.45))
    fresh_s = np.where(scan, np.where(small, around(1.6, 0.15), around(1.85, 0.15)), around(0.22, 0.4))
    inflation = np.select([scan, shuffle], [around(1.4, 0.15), 1 + around(2.25, 0.4)], around(1.5, 0.2))
    seen = rng.random(plans.volume.shape)[:, None]  # which waves of a stage were met when it was measured
    level = np.array(LEVELS) / LEVELS[-1]
    has_fresh = np.where(scan[:, None], seen < 0.4 + 0.2 * level, seen < 0.05 + 0.12 * level)
    has_first = np.where(scan[:, None], seen > 0.27, np.full_like(has_fresh, True)) | ~has_fresh
    per_size = (len(size_gb), 1)
    spread = np.where(
        scan[:, None], (0.08, 0.1, 0.1), np.where(shuffle[:, None], (0.15, 0.17, 0.27), (0.1, 0.12, 0.15))
    )
    stragglers = np.where(scan[:, None], (0.01, 0.02, 0.012), np.where(shuffle[:, None], (0.0, 0.02, 0.05), 0.0))
    return StageTimes(
        steady_s=np.where(scan, scan_s, np.where(shuffle, shuffle_s, result_s)).ravel(),
        inflation=np.tile(inflation, len(size_gb)),
        first_s=np.broadcast_to(first_s, scan_s.shape).ravel(),
        fresh_s=np.broadcast_to(fresh_s, scan_s.shape).ravel(),
        fresh_growth=np.tile(np.where(scan, 0.4, 4.0), len(size_gb)),
        spread=np.tile(spread, per_size),
        stragglers=np.tile(stragglers, per_size),
        has_fresh=np.tile(has_fresh, per_size),
        has_first=np.tile(has_first, per_size),
    )
