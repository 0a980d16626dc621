"""Files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dovetail.core.errors import RecordError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the path this yields; afterwards it takes the name `path`, unless something went wrong."""
    part = path.with_name(path.name + ".part")
    try:
        if not path.parent.is_dir():
            raise RecordError(f"{path}: no such directory as {path.parent} to write to; make it first")
        yield part
        os.replace(part, path)
    except OSError as error:
        raise RecordError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
