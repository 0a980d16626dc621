"""How every kernel is compiled: cached on disk, without the interpreter's lock, without reference counting.

Kernels never allocate; they work on arrays their caller holds.  Numba's reference counts (atomic, one pair for
almost every array access) would take 40 % of the time of the dag simulator, so they are left out.

Numba's cache looks at the file of a function, not at the files of those it calls: after an edit of one kernel file
the others would go on with the old code.  So the cached code of this folder is thrown away as a whole when any of
its files has changed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from numba import njit

OPTIONS = {"cache": True, "nogil": True, "_nrt": False}
entry = njit(**OPTIONS)
"""For functions that Python calls."""
kernel = njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For functions that only kernels call: without the wrappers for Python they compile in half the time."""


def forget_stale_code(folder: Path) -> None:
    """Delete numba's files in the folder's `__pycache__` unless all sources are as they were when they were made."""
    cache = folder / "__pycache__"
    sources = sorted(folder.glob("*.py"))
    now = "\n".join(f"{path.name} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in sources)
    stamp = cache / "kernels.stamp"
    with suppress(OSError):  # a read-only installation cannot have stale code of its own making
        if stamp.exists() and stamp.read_text(encoding="utf-8") == now:
            return
        cache.mkdir(exist_ok=True)
        for path in cache.glob("*.nb[ci]"):
            path.unlink(missing_ok=True)
        stamp.write_text(now, encoding="utf-8")


forget_stale_code(Path(__file__).parent)
