"""Which family a workload belongs to, seen from its name or its directory."""

from __future__ import annotations

from pathlib import Path

from dovetail.core.errors import UnknownName
from dovetail.workloads.elastic_source import ELASTIC
from dovetail.workloads.gpu_source import GPU
from dovetail.workloads.source import BUNDLED, MEASURED
from dovetail.workloads.stream_source import STREAM


def workload_family(name_or_path: str | Path) -> str:
    """`dag`, `elastic`, `gpu` or `stream`.  What says nothing is taken for `dag`, whose reader says what is wrong."""
    text = str(name_or_path)
    name = text.partition(":")[0].strip()
    if name in ELASTIC:
        return "elastic"
    if name in GPU:
        return "gpu"
    if name in STREAM:
        return "stream"
    if name in BUNDLED or name in MEASURED:
        return "dag"
    if Path(text).is_dir():
        from dovetail.workloads.readers.directory import family_of

        family = family_of(Path(text))
        return family if family in ("elastic", "gpu", "stream") else "dag"
    if "/" not in name and not Path(text).exists():
        raise UnknownName("workload", name, (*BUNDLED, *MEASURED, *ELASTIC, *GPU, *STREAM))
    return "dag"


def is_bundled(name: str) -> bool:
    """Is this the name of a bundled workload, with or without parameters?"""
    return name.partition(":")[0].strip() in (*BUNDLED, *MEASURED, *ELASTIC, *GPU, *STREAM)
