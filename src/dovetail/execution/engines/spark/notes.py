"""Everything that is said while Spark is steered: to a person, and as JSON lines in a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.spark.messages import Note

DECISIONS = "decisions.jsonl"

Tell = Callable[[dict[str, Any], str], None]


def say_nothing(line: dict[str, Any], text: str) -> None:
    """For those who read the file."""


class Notes:
    def __init__(self, tell: Tell, directory: Path | None) -> None:
        self.counts: Counter[str] = Counter()
        self._tell = tell
        self._directory = directory
        self._file: IO[str] | None = None

    def open(self) -> None:
        if self._directory is None:
            return
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = (self._directory / DECISIONS).open("a", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{self._directory}: cannot be written ({error.strerror or error})") from error

    def add(self, note: Note, now_s: float) -> None:
        self.counts[note.event] += 1
        facts = {"time_s": round(now_s, 3), "event": note.event, "job": note.job, **note.facts, "text": note.text}
        line = {key: value for key, value in facts.items() if key != "job" or note.job >= 0}
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        self._tell(line, note.text)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
