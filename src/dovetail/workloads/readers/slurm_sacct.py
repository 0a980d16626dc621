"""Reader of what Slurm remembers: output of `sacct`, with bars between values or as JSON.

    sacct -a -P -o JobID,User,State,Submit,ElapsedRaw,Timelimit,NNodes,ReqTRES,AllocTRES > jobs.txt
    sacct -a --json > jobs.json

Needed are JobID or JobIDRaw, State, Submit, Elapsed or ElapsedRaw, and ReqTRES or AllocTRES, such as
`billing=4,cpu=4,gres/gpu:a100=2,mem=16G,node=1`; others are ignored.  What was asked for counts, or else what was
given.

A job is a line; its steps (`17.batch`, `17.0`) are skipped.  Tasks of an array (`17_3`) and parts of a heterogeneous
job (`17+1`) are jobs of their own.  A job has a worker on each node; where its GPUs cannot be divided evenly among
them, it has workers of one GPU instead.  A type that is named with the GPUs is a restriction if we know it, and is
ignored and counted if we do not.  Jobs that still wait or run, or never ran (0 s), are left out and counted; all others
count, however they ended.  The time limit, where there is one, is the estimate.  Without memory: 4 GB for each
processor.
"""

from __future__ import annotations

from pathlib import Path

from dovetail.core.delimited import read_text, refusal
from dovetail.core.errors import Fault, InvalidWorkload
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.readers.gpu_rows import GpuReadOptions, GpuRow, counted, finish
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.readers.slurm_fields import Accounted, Tres, elapsed_s, read_time, read_tres, types_of
from dovetail.workloads.readers.slurm_json import read_jobs

NEEDED = ("jobid", "state", "submit")
OTHER_NAMES = {"jobidraw": "jobid"}  # the same job, array tasks and parts by numbers of their own
UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING", "REQUEUE_HOLD")
GB_PER_CPU = 4.0


def read_sacct(path: Path, options: GpuReadOptions = GpuReadOptions()) -> Imported[GpuSource]:
    """The jobs that ran as recorded jobs."""
    text = read_text(path, "output of sacct -P, or of sacct --json")
    faults: list[Fault] = []
    jobs = read_jobs(path, text, faults) if text.lstrip().startswith("{") else _lines(path, text, faults)
    rows, open_ones, idle, strange = [], 0, 0, 0
    for job in jobs:
        if job.state.split(" ")[0] in UNFINISHED:
            open_ones += 1
        elif job.elapsed_s <= 0:
            idle += 1
        else:
            types, unknown = types_of(job.tres)
            strange += unknown
            row = _row(str(path), job, types, faults)
            if row is not None:
                rows.append(row)
    notes = [
        *counted(open_ones, "jobs were waiting or running still and were left out"),
        *counted(idle, "jobs never ran and were left out"),
        *counted(strange, "jobs name a type of GPU that is not known here; they may run on any"),
    ]
    return finish(path.stem or "slurm", rows, faults, options, cluster=None, otherwise="large", notes=notes)


def _row(file: str, job: Accounted, types: str, faults: list[Fault]) -> GpuRow | None:
    tres = job.tres
    gpus, nodes = tres.gpus, max(int(tres.nodes or job.nodes), 1)
    if gpus != int(gpus):
        faults.append(Fault(file, job.line, "tres", f"{gpus:g} GPUs", "a whole number"))
        return None
    workers, each = (nodes, int(gpus) // nodes) if gpus % nodes == 0 else (int(gpus), 1)
    memory = tres.memory if tres.memory > 0 else GB_PER_CPU * tres.cpus
    return GpuRow(
        file=file,
        line=job.line,
        name=job.name,
        arrival_s=job.submit_s,
        work_s=job.elapsed_s,
        workers=workers,
        gpus=float(each),
        cpus=tres.cpus / workers,
        memory=memory / workers,
        user=job.user or "unknown",
        types=types,
        estimate_s=job.limit_s,
    )


def _lines(path: Path, text: str, faults: list[Fault]) -> list[Accounted]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    header = [name.strip().lower() for name in lines[0][1].split("|")]
    header = [name if OTHER_NAMES.get(name, name) in header else OTHER_NAMES.get(name, name) for name in header]
    for name in NEEDED:
        if name not in header:
            faults.append(Fault(str(path), lines[0][0], name, "missing column", f"{', '.join(NEEDED)} (sacct -P -o)"))
    if not {"elapsed", "elapsedraw"} & set(header):
        faults.append(Fault(str(path), lines[0][0], "elapsedraw", "missing column", "ElapsedRaw or Elapsed"))
    if not {"reqtres", "alloctres"} & set(header):
        faults.append(Fault(str(path), lines[0][0], "reqtres", "missing column", "ReqTRES or AllocTRES"))
    if faults:
        raise InvalidWorkload(faults)
    if len(lines) == 1:
        raise refusal(path, None, "no jobs: there is a header line only", "at least one job")
    jobs = []
    for number, line in lines[1:]:
        values = [value.strip() for value in line.split("|")]
        if len(values) == len(header) + 1 and not values[-1]:
            values.pop()  # `sacct -p` ends every line with a bar, the header included, `-P` none
        if len(values) != len(header):
            faults.append(Fault(str(path), number, None, f"{len(values)} values", f"{len(header)}, as in the header"))
            continue
        row = dict(zip(header, values, strict=True))
        if "." not in row["jobid"]:
            job = _line(str(path), number, row, faults)
            if job is not None:
                jobs.append(job)
    return jobs


def _line(file: str, number: int, row: dict[str, str], faults: list[Fault]) -> Accounted | None:
    state = row["state"].upper()
    if state.split(" ")[0] in UNFINISHED:
        return Accounted(number, row["jobid"], "", state, 0.0, 0.0, None, Tres(), 1)
    before = len(faults)

    def refuse(field: str, text: str, expected: str) -> None:
        problem = f"cannot be read: {text!r}" if text else "missing"
        faults.append(Fault(file, number, field, problem[:100], expected))

    if not row["jobid"]:
        refuse("jobid", "", "a number")
    submit_s = read_time(row["submit"])
    if submit_s is None:
        refuse("submit", row["submit"], "2024-05-01T08:00:00")
    name = "elapsedraw" if row.get("elapsedraw") else "elapsed"
    ran_s = elapsed_s(row.get(name, ""))
    if ran_s is None:
        refuse(name, row.get(name, ""), "seconds, or 1-02:03:04")
    asked = row.get("reqtres") or row.get("alloctres") or ""
    tres = read_tres(asked)
    if tres is None:
        refuse("reqtres", asked, "cpu=4,gres/gpu=2,mem=16G,node=1")
    limit = row.get("timelimitraw") or row.get("timelimit") or ""
    limit_s = elapsed_s(limit) if not limit.isdigit() else 60.0 * int(limit)  # raw limits are in minutes
    nodes = row.get("nnodes", "")
    if len(faults) > before or submit_s is None or ran_s is None or tres is None:
        return None
    count = int(nodes) if nodes.isdigit() else 1
    return Accounted(number, row["jobid"], row.get("user", ""), state, submit_s, ran_s, limit_s or None, tres, count)
