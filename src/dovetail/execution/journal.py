"""What must outlast the server: jobs, finished tasks, and where their results are.  SQLite, write-ahead log.

Out files are written by executors before anything is reported, so the journal may lag behind by a moment: after a
kill, what it does not know yet is read from them.  A commit is not synced to the disk (`synchronous=NORMAL`): it
survives the death of the process, not the loss of power in the same second.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dovetail.core.errors import DovetailError
from dovetail.execution.spec import JobSpec

VERSION = 1
SCHEMA = """
CREATE TABLE jobs (
    job INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT UNIQUE,            -- chosen by the client; a repeated submission finds its job by it
    spec TEXT NOT NULL,         -- JSON
    submitted_s REAL NOT NULL,  -- since 1970
    state TEXT NOT NULL,        -- running, succeeded, failed, cancelled
    ended_s REAL,
    failure TEXT                -- JSON: stage, task, message
);
CREATE TABLE completions (
    job INTEGER NOT NULL, stage INTEGER NOT NULL, task INTEGER NOT NULL,
    executor INTEGER NOT NULL, incarnation INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
    PRIMARY KEY (job, stage, task)
) WITHOUT ROWID;
"""

Completion = tuple[int, int, int, int, int, int, int]
"""job, stage, task, executor, incarnation, offset, length"""


class JournalError(DovetailError):
    """The journal cannot be written or read."""


class JournalDamaged(DovetailError):
    """What the journal says makes no sense; waiting does not help."""


@dataclass(frozen=True)
class JournalledJob:
    job: int
    key: str
    spec: JobSpec
    submitted_s: float
    state: str
    ended_s: float | None
    failure: dict[str, object] | None


class Journal:
    """`open` it; `add` gathers completions, `commit` writes them.  A failed commit loses nothing: try again later."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._db = connection
        self._gathered: list[Completion] = []

    @classmethod
    def open(cls, path: Path) -> Journal:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))  # what SQLite adds has the same mode
            db = sqlite3.connect(path, isolation_level=None, timeout=5.0)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version={VERSION}; COMMIT;")
            elif version != VERSION:
                raise JournalError(f"{path}: has version {version}; this Dovetail writes version {VERSION}")
            db.execute("CREATE TABLE IF NOT EXISTS starts (start INTEGER PRIMARY KEY AUTOINCREMENT)")  # of the server
            db.execute("CREATE TABLE IF NOT EXISTS orders (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        except (sqlite3.Error, OSError) as error:
            raise JournalError(f"{path}: cannot be used as a journal: {error}") from error
        return cls(path, db)

    def close(self) -> None:
        self._db.close()

    def count_start(self) -> int:
        """How often a server was started on this journal, now included."""
        try:
            number = self._db.execute("INSERT INTO starts DEFAULT VALUES").lastrowid
        except sqlite3.Error as error:
            raise self._error(error) from error
        assert number is not None
        return number

    # --- what people have ordered, and holds until they order something else ---

    def order(self, name: str) -> str | None:
        with self._reading():
            row = self._db.execute("SELECT value FROM orders WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set_order(self, name: str, value: str | None) -> None:
        if value is None:
            self._do("DELETE FROM orders WHERE name = ?", (name,))
        else:
            self._do("INSERT OR REPLACE INTO orders VALUES (?, ?)", (name, value))

    # --- jobs ---

    def find(self, key: str) -> int | None:
        with self._reading():
            row = self._db.execute("SELECT job FROM jobs WHERE key = ?", (key,)).fetchone()
        return None if row is None else int(row[0])

    def begin_job(self, spec: JobSpec, key: str, submitted_s: float) -> int:
        """The number of a new job, which is there only after `commit_job`."""
        self._do("BEGIN IMMEDIATE")
        try:
            text = json.dumps(spec.to_json(), separators=(",", ":"))
            row = self._db.execute(
                "INSERT INTO jobs (key, spec, submitted_s, state) VALUES (?, ?, ?, 'running')",
                (key or None, text, submitted_s),
            )
        except sqlite3.Error as error:
            self.drop_job()
            raise self._error(error) from error
        assert row.lastrowid is not None
        return row.lastrowid

    def commit_job(self) -> None:
        try:
            self._do("COMMIT")
        except JournalError:
            self.drop_job()
            raise

    def drop_job(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def end_job(self, job: int, state: str, ended_s: float, failure: dict[str, object] | None) -> None:
        text = None if failure is None else json.dumps(failure)
        self._do("UPDATE jobs SET state = ?, ended_s = ?, failure = ? WHERE job = ?", (state, ended_s, text, job))

    def latest(self) -> int:
        """The highest number that a job ever had here; 0: there was none."""
        with self._reading():
            row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").fetchone()
        return 0 if row is None else int(row[0])

    def forget(self, job: int) -> None:
        self._do("DELETE FROM completions WHERE job = ?", (job,))
        self._do("DELETE FROM jobs WHERE job = ?", (job,))

    def jobs(self) -> Iterator[JournalledJob]:
        columns = "job, key, spec, submitted_s, state, ended_s, failure"
        with self._reading():
            rows = self._db.execute(f"SELECT {columns} FROM jobs ORDER BY job").fetchall()
        for job, key, spec, submitted_s, state, ended_s, failure in rows:
            with self._reading(f"job {job}"):
                read = JobSpec.from_json(json.loads(spec))
                why = None if failure is None else json.loads(failure)
            yield JournalledJob(job, key or "", read, submitted_s, state, ended_s, why)

    # --- completions ---

    def add(self, completions: Iterable[Completion]) -> None:
        self._gathered.extend(completions)

    @property
    def lag(self) -> int:
        """Completions that are not committed yet."""
        return len(self._gathered)

    def commit(self) -> None:
        if not self._gathered:
            return
        try:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR IGNORE INTO completions VALUES (?, ?, ?, ?, ?, ?, ?)", self._gathered)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self.drop_job()
            raise self._error(error) from error
        self._gathered.clear()

    def completions(self, job: int) -> list[Completion]:
        columns = "job, stage, task, executor, incarnation, offset, length"
        with self._reading(f"job {job}"):
            rows = self._db.execute(f"SELECT {columns} FROM completions WHERE job = ?", (job,))
            return [tuple(row) for row in rows]

    def counts(self, job: int) -> list[tuple[int, int]]:
        """(stage, finished tasks)"""
        with self._reading(f"job {job}"):
            return self._db.execute(
                "SELECT stage, count(*) FROM completions WHERE job = ? GROUP BY stage", (job,)
            ).fetchall()

    def _do(self, statement: str, values: tuple[object, ...] = ()) -> None:
        try:
            self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise self._error(error) from error

    @contextmanager
    def _reading(self, what: str = "") -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError, DovetailError) as error:
            where = f", {what}" if what else ""
            raise JournalDamaged(
                f"{self._path}{where}: the journal cannot be read: {error}; if it is damaged, move it away, or restore "
                "an earlier copy of the directory"
            ) from error

    def _error(self, error: sqlite3.Error) -> JournalError:
        return JournalError(f"{self._path}: the journal cannot be written: {error}")
