"""Reader of the Alibaba GPU cluster trace of 2023: `openb_pod_list_*.csv`, and `openb_node_list_*.csv` beside it.

A pod is a job of one worker.  Columns: name, cpu_milli, memory_mib, num_gpu, gpu_milli (of one GPU where num_gpu is 1),
gpu_spec (types between bars, empty for any), qos, pod_phase, creation_time, deletion_time, scheduled_time (seconds).

A folder is read with its list of pods (`openb_pod_list_default.csv`, or the only one there) and its list of machines
(those with GPUs, or all).  Pods that were never scheduled have no duration and are left out; a pod that was deleted
within the second it was scheduled counts as 1 s.  The trace has no users: all are of one.  Pods whose GPUs are of types
that we do not know are faults.
"""

from __future__ import annotations

from pathlib import Path

from dovetail.cluster.gpu import GpuCluster
from dovetail.cluster.gpu_file import read_machines
from dovetail.core.delimited import refusal
from dovetail.core.errors import Fault, UnknownName
from dovetail.workloads.gpu_schema import ANY_TYPE
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.gpu_tables import text_mask
from dovetail.workloads.readers.gpu_rows import GpuReadOptions, GpuRow, Numbers, counted, finish, table_rows
from dovetail.workloads.readers.imported import Imported

PODS, DEFAULT_PODS = "openb_pod_list_*.csv", "openb_pod_list_default.csv"
NODES = ("openb_node_list_gpu_node.csv", "openb_node_list_all_node.csv")
COLUMNS = (
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)


def read_gpu2023(path: Path, options: GpuReadOptions = GpuReadOptions()) -> Imported[GpuSource]:
    """The pods that ran as recorded jobs, on the machines of the trace."""
    file, cluster = _files(path)
    faults: list[Fault] = []
    numbers = Numbers(str(file), faults)
    rows, never, instant = [], 0, 0
    for line, row in table_rows(file, COLUMNS):
        if "short" in row:
            numbers.refuse(line, None, row["short"], "as many values as columns")
            continue
        if not row["scheduled_time"]:
            never += 1
            continue
        found = _pod(line, row, numbers)
        if found is not None:
            instant += found.work_s <= 0
            rows.append(GpuRow(**{**vars(found), "work_s": max(found.work_s, 1.0)}))
    notes = [
        *counted(never, "pods were never scheduled and were left out"),
        *counted(instant, "pods were deleted in the second they were scheduled; they count as 1 s"),
    ]
    return finish("alibaba-gpu2023", rows, faults, options, cluster=cluster, otherwise="cloud-2023", notes=notes)


def _files(path: Path) -> tuple[Path, GpuCluster | None]:
    """The list of pods, and the cluster of the list of machines, if there is one."""
    if not path.is_dir():
        return path, None
    found = sorted(path.glob(PODS))
    default = path / DEFAULT_PODS
    if default not in found and len(found) != 1:
        names = ", ".join(each.name for each in found) or "none"
        raise refusal(path, None, f"lists of pods: {names}", f"{DEFAULT_PODS}, or one {PODS}; or name the file")
    nodes = next((path / name for name in NODES if (path / name).is_file()), None)
    return default if default in found else found[0], None if nodes is None else read_machines(nodes)


def _pod(line: int, row: dict[str, str], numbers: Numbers) -> GpuRow | None:
    names = ("cpu_milli", "memory_mib", "num_gpu", "creation_time", "deletion_time", "scheduled_time")
    values = [numbers.get(line, row, name) for name in names]
    share = numbers.get(line, row, "gpu_milli", 1000.0)
    types = _types(line, row["gpu_spec"], numbers)
    if share is None or types is None or any(value is None for value in values):
        return None
    cpus, memory, gpus, created, deleted, scheduled = (value or 0.0 for value in values)
    if deleted < scheduled:
        numbers.refuse(line, "deletion_time", f"{deleted:g}, before it was scheduled at {scheduled:g}", "not before")
        return None
    return GpuRow(
        file=numbers.file,
        line=line,
        name=row["name"],
        arrival_s=created,
        work_s=deleted - scheduled,
        gpus=share / 1000 if gpus == 1 else gpus,
        cpus=cpus / 1000,
        memory=memory / 1024,
        types=types,
    )


def _types(line: int, text: str, numbers: Numbers) -> str | None:
    if text in ("", "nan"):
        return ANY_TYPE
    try:
        text_mask(text)
    except UnknownName as error:
        numbers.refuse(line, "gpu_spec", str(error), "types between bars: V100M16|V100M32")
        return None
    return text
