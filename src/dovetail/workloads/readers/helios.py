"""Reader of a Helios trace: `cluster_log.csv` with a header line and the columns

    job_id, user, gpu_num, cpu_num, node_num, state, submit_time, start_time, end_time, duration

A job has a worker on each node; where its GPUs cannot be divided evenly among them, it has workers of one GPU instead.
Processors are divided among the workers.  Every job that ran counts, however it ended; those that did not (no duration,
or 0 s) are left out and counted.  The trace says nothing of memory: 32 GB for each GPU (`--memory-per-gpu`), 4 GB for
each processor of jobs without GPUs.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from dovetail.core.errors import Fault
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.readers.gpu_rows import GpuReadOptions, GpuRow, Numbers, counted, finish, table_rows
from dovetail.workloads.readers.imported import Imported

FILE = "cluster_log.csv"
COLUMNS = ("job_id", "user", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "duration")
GB_PER_CPU = 4.0
_EPOCH = datetime(1970, 1, 1)


def read_helios(path: Path, options: GpuReadOptions = GpuReadOptions()) -> Imported[GpuSource]:
    """The jobs that ran as recorded jobs."""
    file = path / FILE if path.is_dir() else path
    faults: list[Fault] = []
    numbers = Numbers(str(file), faults)
    rows, idle = [], 0
    for line, row in table_rows(file, COLUMNS):
        if "short" in row:
            numbers.refuse(line, None, row["short"], "as many values as columns")
            continue
        found = [numbers.get(line, row, name) for name in ("gpu_num", "cpu_num")]
        nodes = numbers.get(line, row, "node_num", 1.0)
        work_s = numbers.get(line, row, "duration", 0.0)
        arrival_s = _time(line, row["submit_time"], numbers)
        if nodes is None or work_s is None or arrival_s is None or any(value is None for value in found):
            continue
        if work_s == 0:
            idle += 1
            continue
        gpus, cpus = (value or 0.0 for value in found)
        if gpus != int(gpus):
            numbers.refuse(line, "gpu_num", f"{gpus:g}", "a whole number")
            continue
        workers, each = shared_out(int(gpus), int(nodes))
        memory = options.memory_per_gpu * each if gpus else GB_PER_CPU * cpus / workers
        rows.append(
            GpuRow(
                file=str(file),
                line=line,
                name=row["job_id"],
                arrival_s=arrival_s,
                work_s=work_s,
                workers=workers,
                gpus=float(each),
                cpus=cpus / workers,
                memory=memory,
                user=row["user"] or "unknown",
            )
        )
    notes = [
        *counted(idle, "jobs did not run and were left out"),
        f"memory is not in the trace: {options.memory_per_gpu:g} GB a GPU, {GB_PER_CPU:g} GB a processor without GPUs",
    ]
    return finish("helios", rows, faults, options, cluster=None, otherwise="large", notes=notes)


def shared_out(gpus: int, nodes: int) -> tuple[int, int]:
    """Workers, and GPUs of each: one on each node if that divides evenly, or else one for each GPU."""
    nodes = max(nodes, 1)
    if gpus == 0 or gpus % nodes == 0:
        return nodes, gpus // nodes
    return gpus, 1


def _time(line: int, text: str, numbers: Numbers) -> float | None:
    try:
        return (datetime.fromisoformat(text).replace(tzinfo=None) - _EPOCH).total_seconds()
    except ValueError:
        numbers.refuse(line, "submit_time", f"not a time: {text!r}" if text else "missing", "2020-06-09 18:41:01")
        return None
