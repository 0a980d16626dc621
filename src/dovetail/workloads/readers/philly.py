"""Reader of the job log of the Philly trace: `cluster_job_log`, a JSON list of

    {"jobid": ..., "user": ..., "vc": ..., "status": "Pass", "submitted_time": "2017-10-07 01:11:39",
     "attempts": [{"start_time": ..., "end_time": ..., "detail": [{"ip": "m47", "gpus": ["gpu0", ...]}]}]}

A job has a worker on each machine of its last attempt that says where it was; where these have unequal numbers of GPUs,
it has workers of one GPU instead.  Its work is the time of all attempts together.  Jobs without a submission time, or
without an attempt that has two times and GPUs, are left out and counted.  The log says nothing of processors and
memory: 4 processors and 32 GB for each GPU (`--cpus-per-gpu`, `--memory-per-gpu`).  Times are taken as they are; where
clocks change, an hour may be missing or double.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from dovetail.core.delimited import read_text, refusal
from dovetail.core.errors import Fault
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.readers.gpu_rows import GpuReadOptions, GpuRow, counted, finish
from dovetail.workloads.readers.imported import Imported

FILE = "cluster_job_log"
_EPOCH = datetime(1970, 1, 1)


def read_philly(path: Path, options: GpuReadOptions = GpuReadOptions()) -> Imported[GpuSource]:
    """The jobs that ran as recorded jobs; rows are positions in the list, counted from 1."""
    file = path / FILE if path.is_dir() else path
    text = read_text(file, "a JSON list of jobs")
    try:
        jobs = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refusal(file, None, f"not JSON: {str(error)[:120]}", "a JSON list of jobs") from None
    if not isinstance(jobs, list):
        raise refusal(file, None, "not a JSON list", "a list of jobs")
    faults: list[Fault] = []
    rows, without = [], 0
    for number, job in enumerate(jobs, 1):
        if not isinstance(job, dict) or not isinstance(job.get("jobid"), str):
            faults.append(Fault(str(file), number, "jobid", "not a job with a name", "an object with jobid"))
            continue
        row = _job(str(file), number, job, options, faults)
        if row is None:
            without += 1
        else:
            rows.append(row)
    notes = [
        *counted(without, "jobs have no attempt with two times and GPUs, or no submission; they were left out"),
        f"processors and memory are not in the log: {options.cpus_per_gpu:g} and {options.memory_per_gpu:g} GB a GPU",
    ]
    return finish("philly", rows, faults, options, cluster=None, otherwise="large", notes=notes)


def _job(file: str, number: int, job: Mapping[str, Any], options: GpuReadOptions, faults: list[Fault]) -> GpuRow | None:
    arrival_s = _time(file, number, "submitted_time", job.get("submitted_time"), faults)
    attempts = job.get("attempts")
    if not isinstance(attempts, list):
        faults.append(Fault(file, number, "attempts", f"{attempts!r}"[:60], "a list"))
        return None
    work_s, workers, gpus = 0.0, 0, 0
    for attempt in attempts:
        if not isinstance(attempt, dict):
            faults.append(Fault(file, number, "attempts", f"{attempt!r}"[:60], "an object"))
            continue
        start_s, end_s = (_time(file, number, name, attempt.get(name), faults) for name in ("start_time", "end_time"))
        devices = _devices(attempt.get("detail"))
        if start_s is None or end_s is None or not devices:
            continue
        if end_s < start_s:
            faults.append(Fault(file, number, "end_time", "an attempt ends before it starts", "not before"))
            continue
        work_s += end_s - start_s
        even = len(set(devices)) == 1
        workers, gpus = (len(devices), devices[0]) if even else (sum(devices), 1)
    if arrival_s is None or workers == 0 or work_s <= 0:
        return None
    return GpuRow(
        file=file,
        line=number,
        name=str(job["jobid"]),
        arrival_s=arrival_s,
        work_s=work_s,
        workers=workers,
        gpus=float(gpus),
        cpus=options.cpus_per_gpu * gpus,
        memory=options.memory_per_gpu * gpus,
        user=str(job.get("user") or "unknown"),
    )


def _devices(detail: Any) -> list[int]:
    """GPUs on each machine, machines without any left out."""
    if not isinstance(detail, list):
        return []
    found = [len(each["gpus"]) for each in detail if isinstance(each, dict) and isinstance(each.get("gpus"), list)]
    return [count for count in found if count]


def _time(file: str, number: int, field: str, text: Any, faults: list[Fault]) -> float | None:
    if text in (None, "", "None"):
        return None
    try:
        return (datetime.fromisoformat(str(text).removesuffix(" PDT").removesuffix(" PST")) - _EPOCH).total_seconds()
    except (ValueError, TypeError):
        faults.append(Fault(file, number, field, f"not a time: {text!r}"[:80], "2017-10-07 01:11:39"))
        return None
