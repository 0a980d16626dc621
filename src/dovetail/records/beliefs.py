"""What a scheduler has learned, in a small JSON file, from one run to the next.  What it means is the scheduler's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail.core.errors import RecordError
from dovetail.records.manifest import write_json


class BeliefsFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Any | None:
        """None if there is no such file yet."""
        try:
            return json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RecordError(f"{self.path}: cannot be read as JSON ({error})") from error

    def save(self, beliefs: object) -> None:
        write_json(self.path, beliefs)
