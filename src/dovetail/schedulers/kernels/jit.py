"""How the loops of schedulers are compiled: cached on disk, without the interpreter's lock."""

from __future__ import annotations

from pathlib import Path

from numba import njit

import dovetail.core
from dovetail.core.stale_code import forget_stale_code

OPTIONS = {"cache": True, "nogil": True}
entry = njit(**OPTIONS)
"""For functions that Python calls."""
kernel = njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For functions that only compiled ones call."""
bare = njit(**OPTIONS, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""The same for those that make no arrays: numba's reference counts would take most of the time of a short one."""


forget_stale_code(Path(__file__).parent, Path(dovetail.core.__file__).parent)
