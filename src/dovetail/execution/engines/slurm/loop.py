"""The loop in front of Slurm: look, ask, act, again.  Without `act` it only says what it would do."""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.slurm.acts import carry_out
from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.controller import SlurmController
from dovetail.execution.engines.slurm.errors import SlurmError, SlurmUnreachable
from dovetail.execution.engines.slurm.guardian import Guardian
from dovetail.execution.engines.slurm.messages import Note, Observation, SlurmOptions
from dovetail.execution.engines.slurm.trace import is_dead, trace_of

RACKS_EVERY_S = 300.0
FAREWELL_S = 60.0  # for giving back what is ours, while Slurm does not answer
SETTLE_S = 10.0
EVENTS = "slurm.jsonl"
GUARDIAN_LOG = "guardian.log"


class Notes:
    """Everything that is said: to a person, and as JSON lines in a file."""

    def __init__(self, tell: Callable[[dict[str, Any], str], None], directory: Path | None) -> None:
        self.counts: Counter[str] = Counter()
        self._tell = tell
        self._directory = directory
        self._file: IO[str] | None = None

    def open(self) -> None:
        if self._directory is None:
            return
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = (self._directory / EVENTS).open("a", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{self._directory}: cannot be written ({error.strerror or error})") from error

    def add(self, note: Note, now_s: float) -> None:
        self.counts[note.event] += 1
        facts = {"time_s": round(now_s, 3), "event": note.event, "job": note.job, **note.facts, "text": note.text}
        line = {key: None if value != value else value for key, value in facts.items() if key != "job" or value >= 0}
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        self._tell(line, note.text)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class SlurmLoop:
    """`owner` signs the traces on jobs, and names this process."""

    def __init__(
        self,
        client: SlurmClient,
        controller: SlurmController,
        options: SlurmOptions,
        owner: str,
        notes: Notes,
        log: Path | None = None,
    ) -> None:
        self._client = client
        self._controller = controller
        self._options = options
        self._notes = notes
        self._guardian = Guardian(owner, options, log)
        self._racks: dict[str, int] = {}
        self._racks_at_s = float("-inf")
        self._is_reachable = True

    def run(self, interval_s: float, until_s: float = float("inf"), once: bool = False) -> None:
        """Until then, by the monotonic clock.  However it ends, what waits is given back to Slurm."""
        self._observe()  # what is wrong from the start is said before anything is touched
        if self._options.act:
            self._guardian.start()
        try:
            while True:
                began_s = time.monotonic()
                self._step()
                if once or began_s + interval_s > until_s:
                    self._settle()
                    return
                time.sleep(max(0.0, began_s + interval_s - time.monotonic()))
        finally:
            if self._options.act:
                self._say_farewell()

    def _settle(self) -> None:
        """What was told to begin is left a moment to do so."""
        give_up_s = time.monotonic() + SETTLE_S
        while self._controller.counts["told"] and time.monotonic() < give_up_s:
            time.sleep(0.5)
            self._step(asks=False)

    def _step(self, asks: bool = True) -> None:
        if self._options.act and not self._guardian.is_there:
            self._note("guardian", "the guardian was gone and is started again")
            self._guardian.start()
        try:
            seen = self._observe()
            if not self._is_reachable:
                self._is_reachable = True
                self._note("slurm", "Slurm answers again")
            instructions = self._controller.step(seen, asks)
            acts = [one for one in instructions if not isinstance(one, Note)] if self._options.act else []
            try:
                refused = carry_out(self._client, acts, time.time())
            except SlurmUnreachable:  # who knows which were carried out: the next look will tell
                for act in acts:
                    self._controller.refused(act, "no answer")
                raise
            for one in instructions:
                if isinstance(one, Note):
                    self._notes.add(one, seen.now_s)
            for act, why in refused:
                self._notes.add(self._controller.refused(act, why), time.time())
        except SlurmUnreachable as error:
            if self._is_reachable:
                self._is_reachable = False
                self._note("slurm", f"Slurm does not answer, which is tried again: {error}")

    def _observe(self) -> Observation:
        if time.monotonic() >= self._racks_at_s + RACKS_EVERY_S:
            self._racks = self._client.racks()
            self._racks_at_s = time.monotonic()
        jobs = self._client.jobs()
        nodes = self._client.nodes()
        host = socket.gethostname()
        owners = {trace.owner for job in jobs if (trace := trace_of(job)) is not None}
        return Observation(
            time.time(), jobs, nodes, self._racks, frozenset(owner for owner in owners if is_dead(owner, host))
        )

    def _say_farewell(self) -> None:
        """What fails here is left to the guardian, which sees us go."""
        give_up_s = time.monotonic() + FAREWELL_S
        gone = False
        while not gone and time.monotonic() < give_up_s:
            try:
                acts = self._controller.farewell()
                refused = carry_out(self._client, acts, time.time())
                self._note("farewell", f"{len(acts) - len(refused)} waiting jobs are given back to Slurm")
                gone = True
            except SlurmUnreachable:
                time.sleep(1.0)
            except SlurmError as error:
                self._note("farewell", f"giving back failed, the guardian will do it: {error}")
                gone = True
        if self._guardian.end():
            self._note(
                "guardian",
                f"the guardian (process {self._guardian.pid}) stays until the jobs that were placed have ended: "
                "one that Slurm requeues must not stay tied to its nodes",
            )

    def _note(self, event: str, text: str) -> None:
        self._notes.add(Note(event, text), time.time())
