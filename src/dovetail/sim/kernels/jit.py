"""How every kernel is compiled: cached on disk, without the interpreter's lock, without reference counting.

Kernels never allocate; they work on arrays their caller holds.  Numba's reference counts (atomic, one pair for
almost every array access) would take 40 % of the time of the dag simulator, so they are left out.
"""

from __future__ import annotations

from pathlib import Path

from numba import njit

from dovetail.core.stale_code import forget_stale_code

OPTIONS = {"cache": True, "nogil": True, "_nrt": False}
entry = njit(**OPTIONS)
"""For functions that Python calls."""
kernel = njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For functions that only kernels call: without the wrappers for Python they compile in half the time."""


forget_stale_code(Path(__file__).parent)
