"""How the compiled files of this folder are compiled: cached on disk, without the interpreter's lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dovetail import features
from dovetail.core.stale_code import forget_stale_code

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True}

forget_stale_code(Path(__file__).parent, Path(features.__file__).parent)
