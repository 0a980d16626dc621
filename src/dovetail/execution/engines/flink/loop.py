"""The loop beside a Flink job: look, ask, act, again.  Without `act` it only says what it would do."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.flink.client import FlinkClient
from dovetail.execution.engines.flink.controller import FlinkController
from dovetail.execution.engines.flink.errors import FlinkRefused, FlinkUnreachable
from dovetail.execution.engines.flink.looking import Looking
from dovetail.execution.engines.flink.messages import Ask, FlinkOptions, Glance, Instruction, Note
from dovetail.execution.engines.flink.prometheus import MetricsServer, metrics_of, text_of
from dovetail.execution.engines.flink.record import Recorder

EVENTS = "flink.jsonl"
GLANCE_S = 0.1  # between two glances at the timeline of a job that is being rescaled


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
        line = {"time_s": round(now_s, 3), "event": note.event, **note.facts, "text": note.text}
        line = {key: None if value != value else value for key, value in line.items()}
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        self._tell(line, note.text)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class FlinkLoop:
    """`scheduler` is the name that goes to the metrics."""

    def __init__(
        self,
        client: FlinkClient,
        job_id: str,
        controller: FlinkController,
        options: FlinkOptions,
        notes: Notes,
        scheduler: str,
        metrics: MetricsServer | None = None,
        checkpoint_s: float = 0.0,
    ) -> None:
        self._client, self._job_id = client, job_id
        self._controller, self._options = controller, options
        self._notes, self._metrics, self._scheduler = notes, metrics, scheduler
        self._checkpoint_s = checkpoint_s
        self._is_reachable = True
        self._looking = Looking(client, job_id)
        self.recorder: Recorder | None = None

    def run(self, until_s: float = float("inf"), once: bool = False) -> None:
        """Until then, by the monotonic clock; `once`: until the first decision."""
        began_s, ticks = time.monotonic(), 0
        while not self._controller.over:
            decided = self._step()
            ticks += 1
            next_s = began_s + ticks * self._options.snapshot_s
            if (once and decided) or next_s > until_s or self._controller.over:
                return
            if next_s < time.monotonic():  # an outage: looks that were missed are not made up for
                ticks = int((time.monotonic() - began_s) / self._options.snapshot_s) + 1
                next_s = began_s + ticks * self._options.snapshot_s
            self._wait(next_s)

    def _wait(self, until_s: float) -> None:
        """While a rescale is under way, with glances at when the job goes down."""
        while self._controller.is_waiting and time.monotonic() + GLANCE_S < until_s:
            time.sleep(GLANCE_S)
            try:
                job = self._client.job(self._job_id)
            except (FlinkUnreachable, FlinkRefused):
                continue  # the next look says so
            self._controller.glance(Glance(time.time(), job.state, job.stopped_ms / 1000.0))
        time.sleep(max(0.0, until_s - time.monotonic()))

    def _step(self) -> bool:
        """Whether it was decided."""
        try:
            look = self._looking.look(with_rescale=self._controller.is_waiting)
            if not self._is_reachable:
                self._is_reachable = True
                self._note("flink", "Flink answers again")
            instructions = self._controller.step(look)
            self._keep()
            for one in instructions:
                if isinstance(one, Note):
                    self._notes.add(one, look.now_s)
            self._carry_out(instructions)
            self._show()
            return any(isinstance(one, Note) and one.event in DECIDED for one in instructions)
        except FlinkUnreachable as error:
            if self._is_reachable:
                self._is_reachable = False
                self._note("flink", f"Flink does not answer, which is tried again: {error}")
            self._show()
            return False

    def _carry_out(self, instructions: Sequence[Instruction]) -> None:
        for one in instructions:
            if not isinstance(one, Ask):
                continue
            try:  # whether it was heard if nobody answers, the next looks will tell
                self._client.ask(self._job_id, one.wanted)
            except FlinkRefused as error:
                self._notes.add(self._controller.refused(str(error)), time.time())

    def _keep(self) -> None:
        controller = self._controller
        if self.recorder is None and controller.info is not None:
            self.recorder = Recorder(controller.info, self._checkpoint_s)
        if self.recorder is not None:
            self.recorder.carried_out(controller.carried_out)
            self.recorder.add(controller.fresh)

    def _show(self) -> None:
        if self._metrics is not None:
            metrics = metrics_of(self._controller, self._job_id, self._scheduler, self._is_reachable)
            self._metrics.show(text_of(metrics))

    def _note(self, event: str, text: str) -> None:
        self._notes.add(Note(event, text), time.time())


DECIDED = ("kept", "would", "decided", "held")
