"""What makes an elastic workload valid.  Every fault is found and placed: file, row (from 0), field."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from dovetail.core.errors import ConfigError, DovetailError, Fault
from dovetail.workloads.column_check import column_faults, duplicates, each_row
from dovetail.workloads.elastic import BITS_OF_A_MEGABYTE, MAX_WORK
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_schema import COUNTS, ELASTIC_LAYOUT, HISTORY, KINDS, SERVER_DEMAND, WORKER_DEMAND
from dovetail.workloads.elastic_setting import ElasticSetting
from dovetail.workloads.elastic_source import open_bundled
from dovetail.workloads.schema import JOBS, MANIFEST
from dovetail.workloads.tables import Tables, numbers

MAX_VALUE = 1e9  # of a worth, a decay or a due slot; beyond, prices lose their meaning
MIN_GBPS = 1e-6


def elastic_faults(setting: ElasticSetting, tables: Tables, *, unread: Collection[str] = ()) -> list[Fault]:
    """Faults in the values of tables whose columns are complete and of the right types.

    `unread` are files that are there and could not be read, which was told already.
    """
    faults = list(_setting_faults(setting, {*tables, *unread}))
    for file, table in tables.items():
        faults += column_faults(file, ELASTIC_LAYOUT.tables[file], table)
        if table.num_rows == 0:
            faults.append(Fault(file, None, None, "the table is empty", "at least one row, or no file"))
        elif file in (JOBS, HISTORY):
            faults += job_faults(file, table, setting.slot_s)
    if KINDS in tables:
        kinds = tables[KINDS]
        faults += _time_faults(KINDS, numbers(kinds["batch_s"]))
        faults += each_row(KINDS, "gradient_mb", numbers(kinds["gradient_mb"]) < 0, "negative size", "0 or more")
        faults += duplicates(KINDS, "kind", (kinds["kind"],))
    if COUNTS in tables:
        counts = numbers(tables[COUNTS]["count"])
        faults += each_row(COUNTS, "count", counts < 0, "negative count", "0 or more")
        if counts.size and not (counts > 0).any():
            faults.append(Fault(COUNTS, None, "count", "no arrivals at all", "at least one count above 0"))
    return faults


def _setting_faults(setting: ElasticSetting, tables: Collection[str]) -> Iterator[Fault]:
    if setting.generator is None and JOBS not in tables:
        yield Fault(MANIFEST, None, "setting.generator", "neither jobs nor a generator", f"{JOBS}, or a bundled name")
    if setting.generator is not None:
        try:
            open_bundled(setting.generator)
        except DovetailError as error:
            yield Fault(MANIFEST, None, "setting.generator", str(error), "a bundled elastic workload")
    try:
        ElasticArrivals(setting.arrivals, setting.span, (1.0,) if setting.arrivals == "counts" else ())
    except ConfigError as error:
        yield Fault(MANIFEST, None, "setting.arrivals", str(error), "arrivals that this version knows")
    for kind, file in (("trace", JOBS), ("counts", COUNTS)):
        if setting.arrivals == kind and file not in tables:
            yield Fault(
                MANIFEST, None, "setting.arrivals", f"{kind}, but there is no {file}", f"{file}, or other arrivals"
            )


def job_faults(file: str, jobs: pa.Table, slot_s: float) -> Iterator[Fault]:
    """Values of jobs that cannot be."""
    number = {name: numbers(jobs[name]) for name in jobs.column_names if name != "job"}
    arrival = number["arrival"]
    yield from each_row(file, "arrival", arrival < 0, "negative arrival", "slot 0 or later")
    earlier = np.r_[False, np.diff(arrival) < 0]
    yield from each_row(file, "arrival", earlier, "earlier than the job before", "jobs in order of arrival")
    for name in ("epochs", "chunks", "batches"):
        yield from each_row(file, name, number[name] < 1, "less than 1", "1 or more")
    yield from _time_faults(file, number["batch_s"])
    for name in ("gradient_mb", *WORKER_DEMAND[:-1], *SERVER_DEMAND[:-1], "decay"):
        yield from each_row(file, name, number[name] < 0, "negative", "0 or more")
    yield from each_row(file, "worth", number["worth"] <= 0, "worth nothing", "above 0")
    for name in ("worth", "decay", "due"):
        too_much = np.abs(number[name]) > MAX_VALUE
        yield from each_row(file, name, too_much, "out of all proportion", f"{MAX_VALUE:.0e} at most")
    yield from _work_faults(file, number, slot_s)
    yield from duplicates(file, "job", (jobs["job"],))


def _time_faults(file: str, batch_s: np.ndarray) -> Iterator[Fault]:
    for bad, problem in ((batch_s < 0, "negative time"), (batch_s == 0, "takes no time")):
        yield from each_row(file, "batch_s", bad, problem, "above 0 seconds")


def _work_faults(file: str, number: dict[str, np.ndarray], slot_s: float) -> Iterator[Fault]:
    worker, server = number[WORKER_DEMAND[-1]], number[SERVER_DEMAND[-1]]
    yield from each_row(file, WORKER_DEMAND[-1], worker < MIN_GBPS, "no bandwidth", f"{MIN_GBPS:g} Gbit/s or more")
    slower = (server < worker) & (worker >= MIN_GBPS)
    expected = "at least that of a worker, for there may not be more servers than workers"
    yield from each_row(file, SERVER_DEMAND[-1], slower, "less bandwidth than a worker", expected)
    with np.errstate(all="ignore"):
        batches = number["epochs"] * number["chunks"] * number["batches"]
        gradient_s = BITS_OF_A_MEGABYTE * number["gradient_mb"] / worker
        slots = batches * (number["batch_s"] + 2.0 * gradient_s) / slot_s
    expected = f"{MAX_WORK:.0e} at most (epochs x chunks x batches x time of a batch)"
    too_many = (slots > MAX_WORK) & (worker >= MIN_GBPS)
    yield from each_row(file, "epochs", too_many, "too many worker-slots of work", expected)
