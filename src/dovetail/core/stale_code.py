"""Numba's cache looks at the file of a function, not at the files of those it calls: after an edit of one file the
others would go on with the old code.  So the cached code of a folder is thrown away as a whole when any file that it
depends on has changed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def forget_stale_code(folder: Path, *depends_on: Path) -> None:
    """Delete numba's files in the folder's `__pycache__` unless all sources are as they were when they were made.

    The sources are those of the folder and of the other folders it `depends_on`.
    """
    cache = folder / "__pycache__"
    sources = sorted(path for one in (folder, *depends_on) for path in one.glob("*.py"))
    now = "\n".join(f"{path.name} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in sources)
    stamp = cache / "kernels.stamp"
    with suppress(OSError):  # a read-only installation cannot have stale code of its own making
        if stamp.exists() and stamp.read_text(encoding="utf-8") == now:
            return
        cache.mkdir(exist_ok=True)
        for path in cache.glob("*.nb[ci]"):
            path.unlink(missing_ok=True)
        stamp.write_text(now, encoding="utf-8")
