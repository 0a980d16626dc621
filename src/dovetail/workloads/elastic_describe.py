"""What an elastic workload is like, in numbers: work, who could finish alone, utility, arrivals, and the load."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.elastic import RESOURCES, ElasticJobs, Floats, Ints, utility
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.workloads.describe import gini, short, spread
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_alone import alone_slots, mean_demand, most_workers
from dovetail.workloads.elastic_source import ElasticSource

CLASSES = ("insensitive", "sensitive", "critical")
"""Of utility, by decay per slot: 0, up to 1, above."""
SAMPLE = 2000  # jobs drawn to say what a distribution is like


def describe_elastic(
    source: ElasticSource,
    *,
    worker_capacity: Floats,
    server_capacity: Floats,
    jobs: int | None = None,
    slots: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Everything there is to say, as plain values.

    Jobs are the recorded ones, or 2,000 drawn ones.  Arrivals are those of the recorded jobs or of the sequence of
    `seed`, the load is that of `jobs` such jobs on these hosts for `slots` slots.
    """
    jobs, slots = source.jobs if jobs is None else jobs, source.slots if slots is None else slots
    if slots < 1 or jobs < 1:
        raise ConfigError(f"{jobs} jobs in {slots} slots; expected at least 1 of each")
    sample = sample_jobs(source, slots, seed)
    known = sample.jobs()
    alone = alone_slots(known, worker_capacity, server_capacity)
    feasible = alone <= slots
    best = np.where(feasible, utility(known.utility, np.where(feasible, alone - 1, 0.0)), 0.0)
    return {
        "schema": 1,
        "family": "elastic",
        "name": source.name,
        "setting": {
            "jobs": jobs,
            "slots": slots,
            "slot_s": source.slot_s,
            "worker_hosts": len(worker_capacity),
            "server_hosts": len(server_capacity),
            "arrivals": source.arrivals.kind,
        },
        "counts": {
            "recorded_jobs": None if source.recorded is None else source.recorded.num_jobs,
            "kinds": len(source.kinds),
            "described_jobs": sample.num_jobs,
        },
        "per_job": _per_job(sample, most_workers(known, worker_capacity, server_capacity)),
        "alone": {
            "feasible_share": float(feasible.mean()),
            "slots": spread(alone[feasible]) if feasible.any() else None,
            "mean_utility": float(best.mean()),
            "worth_share": float(best.sum() / known.utility[:, 0].sum()),
        },
        "skew": {"gini_of_work": gini(known.work.astype(np.float64))},
        "utility": _utility(known),
        "load": _load(known, jobs, slots, worker_capacity, server_capacity),
        "arrivals": _arrivals(arrival_slots(source, jobs, slots, seed), slots),
    }


def sample_jobs(source: ElasticSource, slots: int, seed: int = 0) -> ElasticWorkload:
    """All recorded jobs, or so many drawn ones that their distribution shows."""
    if source.recorded is not None:
        return source.recorded.workload(slots)
    return source.sequence(SAMPLE, source.arrivals, slots, SeedTree(seed))


def arrival_slots(source: ElasticSource, jobs: int, slots: int, seed: int = 0) -> Ints:
    """(J,) in which slots jobs arrive."""
    if source.recorded is not None:
        return source.recorded.arrival
    return source.sequence(jobs, source.arrivals, slots, SeedTree(seed)).arrival


def utility_class(decay: Floats) -> Ints:
    """Position in `CLASSES`."""
    return np.where(decay == 0, 0, np.where(decay <= 1, 1, 2))


def _per_job(jobs: ElasticWorkload, most: Ints) -> dict[str, Any]:
    columns: dict[str, Floats | Ints] = {
        "work_worker_slots": jobs.work,
        "chunks": jobs.chunks,
        "most_workers": most,
        "batch_s": jobs.batch_s,
        "gradient_mb": jobs.gradient_mb,
        "worker_gbps": jobs.worker_demand[:, -1],
        "server_gbps": jobs.server_demand[:, -1],
        "worker_gpu": jobs.worker_demand[:, 0],
        "worth": jobs.utility[:, 0],
        "due_slots": jobs.utility[:, 2],
    }
    return {name: spread(values) for name, values in columns.items()}


def _utility(jobs: ElasticJobs) -> dict[str, Any]:
    kind = utility_class(jobs.utility[:, 1])
    worth = jobs.utility[:, 0]
    return {
        name: {"share": float((kind == code).mean()), "worth": float(worth[kind == code].mean())}
        if (kind == code).any()
        else {"share": 0.0, "worth": None}
        for code, name in enumerate(CLASSES)
    }


def _load(
    known: ElasticJobs, jobs: int, slots: int, worker_capacity: Floats, server_capacity: Floats
) -> dict[str, Any]:
    """What is asked for as a share of what there is, by resource; None where there is none and none is asked for."""
    load: dict[str, Any] = {}
    for role, demand, capacity in zip(
        ("workers", "servers"), mean_demand(known), (worker_capacity, server_capacity), strict=True
    ):
        there = capacity.sum(axis=0) * slots
        load[role] = {
            name: float(demand[r] * jobs / there[r]) if there[r] > 0 else None for r, name in enumerate(RESOURCES)
        }
    load["highest"] = max(
        value for role in ("workers", "servers") for value in load[role].values() if value is not None
    )
    return load


def _arrivals(slot: Ints, slots: int) -> dict[str, Any]:
    counts = np.bincount(slot, minlength=min(slots, int(slot.max()) + 1))
    return {
        "first_slot": int(slot.min()),
        "last_slot": int(slot.max()),
        "per_slot": float(slot.size / max(slots, counts.size)),
        "busiest_slot": int(counts.argmax()),
        "most_in_a_slot": int(counts.max()),
        "variance_over_mean": float(counts.var() / counts.mean()),
    }


def elastic_as_text(summary: dict[str, Any]) -> str:
    """The summary for a person."""
    setting, alone, load, arrivals = (summary[part] for part in ("setting", "alone", "load", "arrivals"))
    recorded, kinds = summary["counts"]["recorded_jobs"], summary["counts"]["kinds"]
    jobs = f"{recorded:,} recorded jobs" if recorded is not None else "jobs drawn from a distribution"
    head = ("mean", "min", "p50", "p95", "max", "cv")
    lines = [
        f"{summary['name']}: {jobs}{f', {kinds} kinds' if kinds else ''}; {setting['slots']:,} slots of "
        f"{setting['slot_s']:g} s, {setting['worker_hosts']} + {setting['server_hosts']} hosts, arrivals "
        f"{setting['arrivals']}",
        "",
        f"{'':22}" + "".join(f"{name:>11}" for name in head),
    ]
    rows = dict(summary["per_job"])
    if alone["slots"] is not None:
        rows["alone_slots"] = alone["slots"]
    lines += [f"{name:22}" + "".join(f"{short(row[key]):>11}" for key in head) for name, row in rows.items()]
    lines += ["", f"{'load':22}" + "".join(f"{name:>11}" for name in RESOURCES)]
    for role in ("workers", "servers"):
        values = (load[role][name] for name in RESOURCES)
        lines.append(f"  {role:20}" + "".join(f"{'-' if v is None else format(v, ',.0%'):>11}" for v in values))
    classes = "; ".join(f"{name} {row['share']:.0%}" for name, row in summary["utility"].items())
    lines += [
        "",
        f"load: {setting['jobs']:,} jobs ask for up to {load['highest']:,.2f} times what there is in "
        f"{setting['slots']:,} slots",
        f"alone: {alone['feasible_share']:.1%} of the jobs could finish within {setting['slots']:,} slots if they had "
        f"the cluster for themselves, and all would then get {alone['worth_share']:.0%} of their worth",
        f"utility: {classes}",
        f"arrivals: {short(arrivals['per_slot'])} per slot, {arrivals['most_in_a_slot']} in the busiest one (slot "
        f"{arrivals['busiest_slot']}), the last in slot {arrivals['last_slot']:,}; variance over mean "
        f"{short(arrivals['variance_over_mean'])}",
    ]
    return "\n".join(lines)
