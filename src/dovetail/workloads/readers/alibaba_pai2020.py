"""Reader of the Alibaba PAI trace of 2020: a folder with `pai_job_table.csv` and `pai_task_table.csv`.

    pai_job_table       job_name, inst_id, user, status, start_time (of submission), end_time
    pai_task_table      job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem, plan_gpu,
                        gpu_type
    pai_instance_table  job_name, task_name, inst_name, worker_name, inst_id, status, start_time, end_time, machine
    pai_machine_spec    machine, gpu_type, cap_cpu, cap_mem, cap_gpu

without a header line, as published, or with one.  The last two tables may be missing: with instances, a task runs from
the first start of one to the last end of one; without machines, the cluster is one of ours.  100 of plan_cpu and of
plan_gpu are a processor and a GPU, plan_mem is GB.

A job here is a gang of equal workers: those of its task with the most GPUs in all (or, without GPUs, with the most
processors).  What its other tasks ask for, parameter servers for instance, is shared out among these workers.  Jobs
that did not terminate, or without times or a task, are left out and counted; a share above one GPU is rounded up to
whole ones.  The type that a task got is not a restriction and is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dovetail.cluster.gpu import GPU_TYPES, MAX_DEVICES, RACK, GpuCluster, Machine, cluster_of, gpu_type
from dovetail.core.delimited import refusal
from dovetail.core.errors import Fault, InvalidWorkload, UnknownName
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.readers.gpu_rows import (
    GpuReadOptions,
    GpuRow,
    Numbers,
    counted,
    finish,
    table_rows,
    whole_gpus,
)
from dovetail.workloads.readers.imported import Imported

JOB = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
TASK = (
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
)
INSTANCE = (
    "job_name",
    "task_name",
    "inst_name",
    "worker_name",
    "inst_id",
    "status",
    "start_time",
    "end_time",
    "machine",
)
MACHINE = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")
DONE = "Terminated"
OLD = {"MISC": "K80"}  # "miscellaneous": K40m, K80 and M60

Span = tuple[float, float]
Task = tuple[str, float, float, float, float, Span | None]  # name, instances, GPUs, processors, memory, times


def read_pai2020(path: Path, options: GpuReadOptions = GpuReadOptions()) -> Imported[GpuSource]:
    """The jobs that terminated as recorded jobs."""
    if not path.is_dir():
        raise refusal(path, None, "not a folder", "a folder with pai_job_table.csv and pai_task_table.csv")
    faults: list[Fault] = []
    spans = _instances(path / "pai_instance_table.csv", faults)
    tasks = _tasks(path / "pai_task_table.csv", spans, faults)
    rows, unfinished, without, rounded = [], 0, 0, 0
    numbers = Numbers(str(path / "pai_job_table.csv"), faults)
    for line, row in table_rows(path / "pai_job_table.csv", JOB):
        if "short" in row:
            numbers.refuse(line, None, row["short"], "as many values as columns")
        elif row["status"] != DONE:
            unfinished += 1
        else:
            arrival_s = numbers.get(line, row, "start_time")
            found = tasks.get(row["job_name"])
            job = None if found is None or arrival_s is None else _job(line, row, arrival_s, found, numbers)
            if job is None:
                without += arrival_s is not None
                continue
            rounded += job.gpus != whole_gpus(job.gpus)
            rows.append(GpuRow(**{**vars(job), "gpus": whole_gpus(job.gpus)}))
    notes = [
        *counted(unfinished, "jobs did not terminate and were left out"),
        *counted(without, "jobs have no task that ran and were left out"),
        *counted(rounded, "jobs ask for more than one GPU but not for whole ones; they were rounded up"),
    ]
    cluster = _machines(path / "pai_machine_spec.csv", faults)
    return finish("alibaba-pai2020", rows, faults, options, cluster=cluster, otherwise="cloud-2023", notes=notes)


def _instances(file: Path, faults: list[Fault]) -> dict[tuple[str, str], Span]:
    """From the first start to the last end of the instances of each task."""
    spans: dict[tuple[str, str], Span] = {}
    if not file.is_file():
        return spans
    numbers = Numbers(str(file), faults)
    for line, row in table_rows(file, INSTANCE):
        if "short" in row:
            numbers.refuse(line, None, row["short"], "as many values as columns")
        elif row["start_time"] and row["end_time"]:
            start, end = (numbers.get(line, row, name) for name in ("start_time", "end_time"))
            if start is not None and end is not None:
                before = spans.get((row["job_name"], row["task_name"]), (start, end))
                spans[row["job_name"], row["task_name"]] = (min(before[0], start), max(before[1], end))
    return spans


def _tasks(file: Path, spans: dict[tuple[str, str], Span], faults: list[Fault]) -> dict[str, list[Task]]:
    tasks: dict[str, list[Task]] = {}
    numbers = Numbers(str(file), faults)
    for line, row in table_rows(file, TASK):
        if "short" in row:
            numbers.refuse(line, None, row["short"], "as many values as columns")
            continue
        plan = [numbers.get(line, row, name, 0.0) for name in ("inst_num", "plan_gpu", "plan_cpu", "plan_mem")]
        if any(value is None for value in plan):
            continue
        instances, gpus, cpus, memory = (value or 0.0 for value in plan)
        span = spans.get((row["job_name"], row["task_name"]))
        if span is None and row["start_time"] and row["end_time"]:
            start, end = (numbers.get(line, row, name) for name in ("start_time", "end_time"))
            span = None if start is None or end is None else (start, end)
        task = (row["task_name"], instances, gpus / 100, cpus / 100, memory, span)
        tasks.setdefault(row["job_name"], []).append(task)
    return tasks


def _job(line: int, row: dict[str, str], arrival_s: float, tasks: Sequence[Task], numbers: Numbers) -> GpuRow | None:
    main = max(tasks, key=lambda task: (task[1] * task[2], task[1] * task[3]))
    _, instances, gpus, cpus, memory, span = main
    if instances < 1 or span is None or span[1] <= span[0]:
        return None
    workers = int(instances)
    others = [task for task in tasks if task is not main]
    return GpuRow(
        file=numbers.file,
        line=line,
        name=row["job_name"],
        arrival_s=arrival_s,
        work_s=span[1] - span[0],
        workers=workers,
        gpus=gpus,
        cpus=cpus + sum(task[1] * task[3] for task in others) / workers,
        memory=memory + sum(task[1] * task[4] for task in others) / workers,
        user=row["user"] or "unknown",
    )


def _machines(file: Path, faults: list[Fault]) -> GpuCluster | None:
    if not file.is_file():
        return None
    numbers = Numbers(str(file), faults)
    machines: list[Machine] = []
    for line, row in table_rows(file, MACHINE):
        cpus, memory = (numbers.get(line, row, name, least=1e-9) for name in ("cap_cpu", "cap_mem"))
        gpus = numbers.get(line, row, "cap_gpu", 0.0)
        kind = OLD.get(row.get("gpu_type", ""), row.get("gpu_type", ""))
        try:
            name = GPU_TYPES[gpu_type(kind) if gpus and kind else 0].name
        except UnknownName as error:
            numbers.refuse(line, "gpu_type", str(error), "a type of GPU")
            continue
        if gpus is not None and gpus > MAX_DEVICES:
            numbers.refuse(line, "cap_gpu", f"{gpus:g} GPUs", f"{MAX_DEVICES} at most")
        elif cpus and memory and gpus is not None:
            machines.append(Machine(row["machine"], name, int(gpus), cpus, memory, len(machines) // RACK))
    if faults:
        raise InvalidWorkload(faults)
    return cluster_of(tuple(machines)) if machines else None
