"""Reading a record directory: the manifest and summary at once, full runs when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.errors import RecordError, UnknownName
from dovetail.core.suggest import did_you_mean
from dovetail.records.files import file_sha256
from dovetail.records.manifest import RUNS, SUMMARY, TIMINGS, canonical_params, read_manifest
from dovetail.records.run import Run, read_run
from dovetail.records.summary import Entry, RowKey, Summary, read_summary
from dovetail.records.writer import read_timings


class RunEntry(NamedTuple):
    """A run kept in full, as the manifest lists it."""

    run: str
    scheduler: str
    params: Mapping[str, Any]
    seed: int

    @property
    def entry(self) -> Entry:
        return Entry(self.scheduler, canonical_params(self.params))


@dataclass(frozen=True, eq=False)
class Records:
    """A run set: what was compared, the summary of all runs, and which runs are there in full."""

    directory: Path
    manifest: Mapping[str, Any]
    summary: Summary
    timings: Mapping[RowKey, Mapping[str, float]]
    runs: tuple[RunEntry, ...]

    @property
    def family(self) -> str:
        return str(self.manifest["family"])

    @property
    def workload(self) -> Mapping[str, Any]:
        workload: Mapping[str, Any] = self.manifest["workload"]
        return workload

    @property
    def options(self) -> Mapping[str, Any]:
        options: Mapping[str, Any] = self.manifest["options"]
        return options

    def timing(self, entry: Entry, name: str) -> float:
        """Mean of a timing over the seeds of this entry; nan if it was not measured."""
        found = [row[name] for key, row in self.timings.items() if Entry(*key[:2]) == entry and name in row]
        return float(np.mean(found)) if found else float("nan")

    def run(self, name: str) -> Run:
        """A run in full, its files checked against the manifest's hashes."""
        if name not in {run.run for run in self.runs}:
            raise UnknownName("run", name, [run.run for run in self.runs])
        prefix = f"{RUNS}/{name}/"
        for file, digest in self.manifest["files"].items():
            if file.startswith(prefix):
                _verify(self.directory, file, digest)
        return read_run(self.directory / RUNS / name)

    def find(self, *, run: str | None = None, scheduler: str | None = None) -> RunEntry:
        """The run of that name or of that scheduler; without either, the only one there is."""
        chosen = self.matching(run=run, scheduler=scheduler)
        if len(chosen) > 1:
            names = ", ".join(entry.run for entry in chosen)
            raise RecordError(f"{self.directory}: {len(chosen)} runs; name one of them with --run: {names}")
        return chosen[0]

    def matching(self, *, run: str | None = None, scheduler: str | None = None) -> tuple[RunEntry, ...]:
        """The run of that name, or those of that scheduler; without either, all.  There is at least one."""
        if not self.runs:
            raise RecordError(f"{self.directory}: no run was kept in full, only the summary")
        if run is not None:
            for entry in self.runs:
                if entry.run == run:
                    return (entry,)
            raise UnknownName("run", run, [entry.run for entry in self.runs])
        chosen = self.runs
        if scheduler is not None:
            wanted = {scheduler, f"{self.family}/{scheduler}"}
            chosen = tuple(entry for entry in self.runs if entry.scheduler in wanted)
            if not chosen:
                there = sorted({entry.scheduler for entry in self.runs})
                # a few names are all in the hint
                hint = did_you_mean(scheduler, there) or f", only of {', '.join(there)}"
                raise RecordError(f"{self.directory}: no run of {scheduler!r} was kept in full{hint}")
        return chosen

    def find_with_job(self, job: str, *, run: str | None = None, scheduler: str | None = None) -> tuple[Run, int]:
        """As `find`, and the job in it; a job that no run has is told first, before anybody looks for the right run."""
        chosen = self.matching(run=run, scheduler=scheduler)
        if len(chosen) > 1:
            one_of_each = {entry.seed: entry.run for entry in chosen}.values()  # runs of a seed have the same jobs
            if all(_position(self.run(name), job) < 0 for name in one_of_each):
                raise _no_job(self.run(chosen[0].run), job)
        found = self.run(self.find(run=run, scheduler=scheduler).run)
        return found, find_job(found, job)


def read_records(directory: str | Path) -> Records:
    """Open a record directory.  Missing, damaged or foreign files are a `RecordError` that names the file."""
    directory = Path(directory)
    manifest = read_manifest(directory)
    if SUMMARY not in manifest["files"]:
        raise RecordError(f"{directory}: no run was completed yet; run the command that makes it again")
    _verify(directory, SUMMARY, manifest["files"][SUMMARY])
    timings = directory / TIMINGS
    return Records(
        directory=directory,
        manifest=manifest,
        summary=read_summary(directory / SUMMARY),
        timings=read_timings(timings) if timings.exists() else {},
        runs=tuple(RunEntry(*(run[field] for field in RunEntry._fields)) for run in manifest["runs"]),
    )


def find_job(run: Run, job: str) -> int:
    """A job by its number, or by its name; a name that is a number is found only if the number is not."""
    found = _position(run, job)
    if found < 0:
        raise _no_job(run, job)
    return found


def _position(run: Run, job: str) -> int:
    """-1 = there is no such job."""
    if job.isascii() and job.isdigit() and int(job) < len(run.job_names):
        return int(job)
    return run.job_names.index(job) if job in run.job_names else -1


def _no_job(run: Run, job: str) -> RecordError:
    hint = did_you_mean(job, run.job_names)
    return RecordError(f"run {run.run}: no job {job!r}; jobs are numbered 0 to {len(run.job_names) - 1}{hint}")


def _verify(directory: Path, file: str, digest: str) -> None:
    path = directory / file
    if not path.is_file():
        raise RecordError(f"{path}: no such file, but the manifest lists it; make the records again")
    if file_sha256(path) != digest:
        raise RecordError(
            f"{path}: not the file the manifest describes (its SHA-256 differs): it was changed, or "
            f"writing was interrupted; run the command that made it again"
        )
