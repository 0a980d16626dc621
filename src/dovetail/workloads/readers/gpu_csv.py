"""Reader of a plain table of GPU training jobs: a CSV file with a header line, a job in each further line.

Columns in any order, blank lines and a byte-order mark are fine.  Needed is

    work_s       seconds at speed 1: alone on one machine of the reference type (V100)

and these may be missing, as a column or in single rows:

    job          name, unique (job-1, job-2, ...)
    arrival_s    seconds (0); they are counted from the first
    user         (unknown)
    kind         what is trained, as the shipped speeds, or those of a file, call it (drawn; `cpu` without GPUs)
    workers      1 or more, all at once (1)
    gpus         of one worker: 0, a share of one, or whole ones (1)
    cpus         of one worker (4 for each GPU, 1 without)
    memory       GB of one worker (32 for each GPU, 4 without)
    types        any, or types of GPU between bars: V100|A100 (any)
    estimate_s   what is known of `work_s` before (work x lognormal error)

Other columns are faults.
"""

from __future__ import annotations

from pathlib import Path

from dovetail.core.delimited import read_text, refusal, split_rows
from dovetail.core.errors import Fault, InvalidWorkload
from dovetail.core.suggest import did_you_mean
from dovetail.workloads.gpu_schema import ANY_TYPE
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.readers.gpu_rows import GpuReadOptions, GpuRow, Numbers, finish
from dovetail.workloads.readers.imported import Imported

NEEDED = "work_s"
COLUMNS = ("job", "arrival_s", "user", "kind", "workers", "gpus", "cpus", "memory", "types", NEEDED, "estimate_s")


def read_gpu_csv(path: Path, options: GpuReadOptions = GpuReadOptions()) -> Imported[GpuSource]:
    """The jobs in this file as recorded jobs."""
    lines = split_rows(path, read_text(path, "a CSV file with a header line and a job in each further line"))
    (first, header), body = lines[0], lines[1:]
    header = [name.lower() for name in header]
    faults = []
    for name in dict.fromkeys(header):
        if name not in COLUMNS:
            faults.append(Fault(str(path), first, name, f"unknown column{did_you_mean(name, COLUMNS)}", ""))
        elif header.count(name) > 1:
            faults.append(Fault(str(path), first, name, f"{header.count(name)} columns of this name", "one"))
    if NEEDED not in header:
        faults.append(Fault(str(path), first, NEEDED, f"missing column; there are {', '.join(header)}", NEEDED))
    if faults:
        raise InvalidWorkload(faults)
    if not body:
        raise refusal(path, None, "no jobs: there is a header line only", "at least one job")
    numbers = Numbers(str(path), faults)
    rows = []
    for place, (line, values) in enumerate(body, 1):
        if len(values) != len(header):
            numbers.refuse(line, None, f"{len(values)} values", f"{len(header)}, as in the header")
            continue
        row = _job(line, place, dict(zip(header, values, strict=True)), options, numbers)
        if row is not None:
            rows.append(row)
    return finish(path.stem or "gpu-csv", rows, faults, options, cluster=None, otherwise="small")


def _job(line: int, place: int, row: dict[str, str], options: GpuReadOptions, numbers: Numbers) -> GpuRow | None:
    work_s = numbers.get(line, row, NEEDED, least=1e-9)
    arrival_s = numbers.get(line, row, "arrival_s", 0.0)
    gpus = numbers.get(line, row, "gpus", 1.0)
    workers = numbers.get(line, row, "workers", 1.0, least=1.0)
    cpus = numbers.get(line, row, "cpus", options.cpus_per_gpu * gpus if gpus else 1.0)
    memory = numbers.get(line, row, "memory", options.memory_per_gpu * gpus if gpus else 4.0)
    estimate_s = numbers.get(line, row, "estimate_s", 0.0)
    if workers is not None and workers != int(workers):
        numbers.refuse(line, "workers", f"{row['workers']!r}", "a whole number from 1")
        return None
    if None in (work_s, arrival_s, gpus, workers, cpus, memory, estimate_s):
        return None
    assert work_s is not None and arrival_s is not None and gpus is not None and workers is not None
    return GpuRow(
        file=numbers.file,
        line=line,
        name=row.get("job") or f"job-{place}",
        arrival_s=arrival_s,
        work_s=work_s,
        workers=int(workers),
        gpus=gpus,
        cpus=cpus or 0.0,
        memory=memory or 0.0,
        user=row.get("user") or "unknown",
        types=row.get("types") or ANY_TYPE,
        estimate_s=estimate_s or None,
        kind=row.get("kind") or None,
    )
