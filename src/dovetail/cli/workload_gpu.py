"""`dovetail workload` for GPU training jobs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.workloads.gpu_arrivals import GpuArrivals
    from dovetail.workloads.gpu_source import GpuSource
    from dovetail.workloads.readers.imported import Imported

DESCRIBE = {"cluster": None, "jobs": None, "seed": 0, "beside": None, "speeds": None}
GENERATE = {"cluster": None, "load": None, "interval": None}
_FILLED_IN = ("cluster", "longest", "from", "to", "kind", "speeds", "kinds_seed", "error_sigma")
IMPORT = {
    "alibaba-gpu2023": _FILLED_IN,
    "alibaba-pai2020": _FILLED_IN,
    "philly": (*_FILLED_IN, "cpus_per_gpu", "memory_per_gpu"),
    "helios": (*_FILLED_IN, "memory_per_gpu"),
    "slurm-sacct": _FILLED_IN,
    "gpu-csv": (*_FILLED_IN, "cpus_per_gpu", "memory_per_gpu"),
}
"""Options that mean something here only: of `describe` and `generate` with their defaults, of `import` by reader."""

READ = {
    "alibaba-gpu2023": "alibaba_gpu2023:read_gpu2023",
    "alibaba-pai2020": "alibaba_pai2020:read_pai2020",
    "philly": "philly:read_philly",
    "helios": "helios:read_helios",
    "slurm-sacct": "slurm_sacct:read_sacct",
    "gpu-csv": "gpu_csv:read_gpu_csv",
}
"""Source -> module of `workloads.readers`, and its function."""


def describe(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The summary, as plain values and as text; draws the picture that is asked for."""
    from dovetail.cluster.gpu_clusters import read_cluster
    from dovetail.cluster.gpu_speed_file import read_speeds
    from dovetail.workloads.gpu_describe import beside, describe_gpu, gpu_as_text
    from dovetail.workloads.gpu_source import open_gpu

    source = open_gpu(args.workload)
    cluster = None if args.cluster is None else read_cluster(args.cluster)
    speeds = None if args.speeds is None else read_speeds(args.speeds)
    summary = describe_gpu(source, cluster=cluster, jobs=args.jobs, seed=args.seed, speeds=speeds)
    text = gpu_as_text(summary)
    other = None if args.beside is None else _beside(args.beside)
    if other is not None:
        summary["beside"] = describe_gpu(other, seed=args.seed)
        text += "\n\n" + beside(summary, summary["beside"])
    if args.plot is not None:
        from dovetail.workloads.gpu_plot import save_gpu_plot

        save_gpu_plot(source, args.plot, cluster=cluster, seed=args.seed, other=other)
    return summary, text


def generate(args: argparse.Namespace) -> tuple[GpuSource, dict[str, Any]]:
    """A sequence as a recorded source, and how it was made."""
    from dovetail.cluster.gpu_clusters import read_cluster
    from dovetail.core.config import to_plain
    from dovetail.core.seeds import SeedTree
    from dovetail.workloads.gpu_arrivals import GpuArrivals, read_arrivals
    from dovetail.workloads.gpu_source import GpuSource, open_gpu

    source = open_gpu(args.workload)
    jobs = source.jobs if args.jobs is None else args.jobs
    cluster = source.cluster if args.cluster is None else read_cluster(args.cluster)
    arrivals = source.arrivals if args.arrivals is None else read_arrivals(args.arrivals)
    arrivals = _at_rate(arrivals, args.load, args.interval)
    record = source.sequence(jobs, arrivals, cluster, SeedTree(args.seed))
    made = GpuSource(name=source.name, jobs=jobs, cluster=cluster, arrivals=GpuArrivals("trace"), recorded=record)
    how = {"jobs": jobs, "seed": args.seed, "arrivals": to_plain(arrivals), "cluster": args.cluster}
    return made, {"command": "generate", "source": source.name, **how}


def read_foreign(args: argparse.Namespace) -> Imported[GpuSource]:
    if args.source not in READ:
        from dovetail.workloads.readers.gpu_native import read_edited_gpu

        return read_edited_gpu(args.path)
    from importlib import import_module

    from dovetail.workloads.readers.gpu_rows import GpuReadOptions

    module, function = READ[args.source].split(":")
    names = {"kinds_seed": "seed", "longest": "longest_s", "from": "start", "to": "end"}
    given = {name: getattr(args, name) for name in IMPORT[args.source] if getattr(args, name) is not None}
    options = GpuReadOptions(**{names.get(name, name): value for name, value in given.items()})
    imported: Imported[GpuSource] = getattr(import_module(f"dovetail.workloads.readers.{module}"), function)(
        args.path, options
    )
    return imported


def _at_rate(arrivals: GpuArrivals, load: float | None, interval_s: float | None) -> GpuArrivals:
    """The same with the load or the interval that is said instead."""
    if load is None and interval_s is None:
        return arrivals
    return replace(arrivals, load=load, interval_s=interval_s)


def _beside(text: str) -> GpuSource:
    """A workload by name or directory, or the folder of a public trace as it was downloaded."""
    from dovetail.workloads.gpu_source import open_gpu
    from dovetail.workloads.readers.alibaba_gpu2023 import PODS, read_gpu2023
    from dovetail.workloads.schema import MANIFEST

    path = Path(text)
    if path.is_dir() and not (path / MANIFEST).is_file() and any(path.glob(PODS)):
        return read_gpu2023(path).source
    return open_gpu(text)
