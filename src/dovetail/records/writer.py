"""Writing a record directory, a piece at a time.

After each call the directory is complete as far as it goes: every file takes its name only when it is whole,
and a run's folder only when all its files are.  A comparison that was interrupted is resumed by opening the
same directory again and asking which rows are `done`.  The order of adding does not change the bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dovetail.core.errors import RecordError
from dovetail.records.files import file_sha256
from dovetail.records.manifest import (
    MANIFEST,
    RUNS,
    SCHEMA,
    SUMMARY,
    TIMINGS,
    canonical_params,
    check_run_name,
    plain,
    read_json,
    read_manifest,
    require_records,
    write_json,
)
from dovetail.records.run import Run, write_run
from dovetail.records.summary import RowKey, read_summary, summary_keys, write_summary


class RecordWriter:
    """Use `RecordWriter.open`; then `add` a row per scheduler and seed, `add_run` the runs kept in full."""

    def __init__(self, directory: Path, facts: Mapping[str, Any]) -> None:
        self.directory = directory
        self._facts = dict(facts)
        self._rows: dict[RowKey, tuple[str, Mapping[str, float]]] = {}
        self._timings: dict[RowKey, dict[str, float]] = {}
        self._runs: dict[str, dict[str, Any]] = {}
        self._files: dict[str, str] = {}

    @classmethod
    def open(
        cls,
        directory: str | Path,
        *,
        family: str,
        workload: object,
        options: object,
        seeds: Sequence[int],
        command: str = "",
        replace: bool = False,
    ) -> RecordWriter:
        """Start a record directory, or go on with one made of the same workload and options.

        `replace` removes records that are there first, but nothing that is not a record's.

        `workload` and `options` describe what was run: plain values, or dataclasses of them; `options` holds
        the cluster.  `command` is what to type to make this again.
        """
        from dovetail import __version__

        facts = {
            "schema": SCHEMA,
            "family": family,
            "dovetail": __version__,
            "command": command,
            "workload": plain(workload),
            "options": plain(options),
            "seeds": [int(seed) for seed in seeds],
        }
        writer = cls(Path(directory), facts)
        if replace and (writer.directory / MANIFEST).is_file():
            writer._replace()
        else:
            writer._resume()
        return writer

    def done(self, scheduler: str, seed: int, params: Mapping[str, Any] | None = None) -> bool:
        """Is the row of this scheduler and seed there?"""
        return RowKey(scheduler, canonical_params(params or {}), seed) in self._rows

    def has_run(self, name: str) -> bool:
        """Is this run there in full?"""
        return name in self._runs

    def metrics(self, scheduler: str, seed: int, params: Mapping[str, Any] | None = None) -> Mapping[str, float]:
        """The metrics of a row that is `done`."""
        return self._rows[RowKey(scheduler, canonical_params(params or {}), seed)][1]

    def timings(self, scheduler: str, seed: int, params: Mapping[str, Any] | None = None) -> Mapping[str, float]:
        """The timings of a row; empty if none were taken."""
        return self._timings.get(RowKey(scheduler, canonical_params(params or {}), seed), {})

    def add(
        self,
        scheduler: str,
        seed: int,
        metrics: Mapping[str, float],
        *,
        params: Mapping[str, Any] | None = None,
        kind: str = "heuristic",
        timings: Mapping[str, float] | None = None,
        flush: bool = True,
    ) -> None:
        """Add a row, or replace it.  With `flush=False` it is on disk only after the next `flush`.

        `kind` is heuristic, optimise or learned; only a heuristic can be the yardstick of a report.
        `timings` are facts of this machine and hour, kept apart from what is hashed; reports show
        `decision_s`, the mean time per decision.
        """
        key = RowKey(scheduler, canonical_params(params or {}), int(seed))
        if not metrics:
            raise RecordError(f"{scheduler}, seed {seed}: a row needs at least one metric")
        for other, (_, known) in self._rows.items():
            if list(known) != list(metrics):
                raise RecordError(
                    f"{scheduler}, seed {seed}: metrics {', '.join(metrics)}; {other.scheduler} has "
                    f"{', '.join(known)}, and all rows must have the same"
                )
            break
        self._rows[key] = (kind, {name: float(value) for name, value in metrics.items()})
        if timings is not None:
            self._timings[key] = {name: float(value) for name, value in timings.items()}
        if flush:
            self.flush()

    def add_run(self, run: Run, *, flush: bool = True) -> None:
        """Keep a run in full, replacing an older one of the same name.  `flush` as in `add`."""
        name = check_run_name(run.run, "run name")
        if self._facts["family"] != run.FAMILY:
            raise RecordError(f"run {name}: of the family {run.FAMILY!r}; expected {self._facts['family']!r}")
        write_run(self.directory / RUNS / name, run)
        self._runs[name] = {
            "run": name,
            "scheduler": run.scheduler,
            "params": plain(run.params),
            "seed": int(run.seed),
        }
        self._hash_run(name)
        if flush:
            self.flush()

    def flush(self) -> None:
        """Write the summary, the timings and the manifest; `add` and `add_run` end with it."""
        if self._rows:
            write_summary(self.directory / SUMMARY, self._rows)
            self._files[SUMMARY] = file_sha256(self.directory / SUMMARY)
        if self._timings:
            rows = [
                {"scheduler": key.scheduler, "params": key.params, "seed": key.seed} | self._timings[key]
                for key in sorted(self._timings)
            ]
            write_json(self.directory / TIMINGS, {"schema": SCHEMA, "rows": rows})
        runs = [self._runs[name] for name in sorted(self._runs)]
        write_json(self.directory / MANIFEST, self._facts | {"runs": runs, "files": self._files})

    def abandon(self) -> None:
        """Take back what `open` began, if nothing has been recorded; the directory stays if it holds anything else."""
        if self._rows or self._runs:
            return
        (self.directory / MANIFEST).unlink(missing_ok=True)
        with suppress(OSError):
            self.directory.rmdir()

    def _hash_run(self, name: str) -> None:
        for path in sorted((self.directory / RUNS / name).iterdir()):
            self._files[f"{RUNS}/{name}/{path.name}"] = file_sha256(path)

    def _resume(self) -> None:
        directory = self.directory
        if directory.exists() and not directory.is_dir():
            raise RecordError(f"{directory}: a file; expected a directory to write records to")
        if not (directory / MANIFEST).exists():
            if directory.is_dir() and any(directory.iterdir()):
                raise RecordError(f"{directory}: not empty and holds no {MANIFEST}; give a new or an empty directory")
            directory.mkdir(parents=True, exist_ok=True)
            self.flush()
            return
        self._require_same(read_manifest(directory))
        for leftover in (*directory.glob("*.part"), *(directory / RUNS).glob(".*.part")):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        # The files count, not the manifest: an interruption may have come just before that was written.
        if (directory / SUMMARY).exists():
            summary = read_summary(directory / SUMMARY)
            for row, key in enumerate(summary_keys(summary)):
                values = {name: float(column[row]) for name, column in summary.metrics.items()}
                self._rows[key] = (summary.kind[row], values)
        if (directory / TIMINGS).exists():
            self._timings = read_timings(directory / TIMINGS)
        for folder in sorted(path for path in (directory / RUNS).glob("*") if path.is_dir()):
            facts = read_json(folder / "run.json")
            name = check_run_name(folder.name, str(directory / RUNS))
            self._runs[name] = {key: facts[key] for key in ("run", "scheduler", "params", "seed")}
            self._hash_run(name)
        self.flush()

    def _replace(self) -> None:
        require_records(self.directory, read_json(self.directory / MANIFEST))
        shutil.rmtree(self.directory / RUNS, ignore_errors=True)
        for name in (SUMMARY, TIMINGS):
            (self.directory / name).unlink(missing_ok=True)
        self.flush()

    def _require_same(self, manifest: Mapping[str, Any]) -> None:
        """Rows of different experiments must not meet in one table."""
        if manifest["family"] != self._facts["family"]:
            raise RecordError(
                f"{self.directory}: holds records of the family {manifest['family']!r}, these are of "
                f"{self._facts['family']!r}; give another directory or remove it"
            )
        for part in ("workload", "options"):
            was, now = manifest[part], self._facts[part]
            for key in sorted({*was, *now}):
                if was.get(key) != now.get(key):
                    raise RecordError(
                        f"{self.directory}: holds records of something else ({part} {key!r} is "
                        f"{was.get(key)!r} there, {now.get(key)!r} here); give another directory or remove it"
                    )
        if manifest.get("dovetail") != self._facts["dovetail"]:
            raise RecordError(
                f"{self.directory}: made by dovetail {manifest.get('dovetail')}, this is "
                f"{self._facts['dovetail']}; give another directory or remove it"
            )
        earlier = (seed for seed in manifest.get("seeds", []) if isinstance(seed, int))
        self._facts["seeds"] = sorted({*self._facts["seeds"], *earlier})


def can_be_replaced(directory: Path) -> bool:
    """Would `replace` help?  Not where there is something else than records."""
    try:
        require_records(directory, read_json(directory / MANIFEST))
    except RecordError:
        return False
    return True


def read_timings(path: Path) -> dict[RowKey, dict[str, float]]:
    """Timings by row; entries that are not understood are left out, as nothing depends on them."""
    timings: dict[RowKey, dict[str, float]] = {}
    rows = read_json(path).get("rows")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and {"scheduler", "params", "seed"} <= set(row):
            key = RowKey(str(row["scheduler"]), str(row["params"]), int(row["seed"]))
            timings[key] = {name: value for name, value in row.items() if isinstance(value, float)}
    return timings
