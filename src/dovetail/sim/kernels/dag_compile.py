"""Compiling a scheduler's kernel, and the episode loop that takes any kernel as an argument.

A kernel is a plain function in `schedulers/`; numba turns it into a function pointer of one fixed signature, so the
episode loop is compiled once for all schedulers, and both are cached on disk.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba import njit, types
from numba.core.errors import NumbaExperimentalFeatureWarning

from dovetail.core.dag import DagKernel, DagView
from dovetail.sim.kernels.dag_entry import enter_run
from dovetail.sim.kernels.jit import OPTIONS

SCALARS = {
    "time_s": types.float64,
    "source_job": types.int64,
    "source_stage": types.int64,
    "source_executors": types.int64,
}
FLOATS = ("job_weight", "stage_cpu", "stage_memory")
FLAGS = ("stage_ready", "stage_valid")


def _field_type(name: str) -> Any:
    if name in SCALARS:
        return SCALARS[name]
    if name in FLAGS:
        return types.boolean[::1]
    return types.float64[::1] if name.endswith("_s") or name in FLOATS else types.int64[::1]


@cache
def kernel_signature() -> Any:
    view = types.NamedTuple([_field_type(name) for name in DagView._fields], DagView)
    return types.int64(view, types.float64[::1], types.int64[::1], types.int64[::1])


def compile_kernel(kernel: DagKernel) -> Any:
    """The scheduler's kernel as native code; with the JIT switched off, as it is."""
    return _compiled(kernel.function, kernel.allocates)


@cache
def _compiled(function: Callable[..., int], allocates: bool) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = njit(kernel_signature(), **{**OPTIONS, "_nrt": allocates})(function)
    result = dispatcher.get_compile_result(kernel_signature())
    dispatcher.get_compile_result = lambda _: result  # numba looks it up at each call, in half a millisecond
    return dispatcher


@cache
def episode_loop() -> Any:
    """`enter_run` for any kernel."""
    if numba.config.DISABLE_JIT:
        return enter_run
    ints = types.int64[::1]
    signature = types.int64(types.FunctionType(kernel_signature()), types.float64[::1], ints, ints, ints, ints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
        dispatcher = njit(signature, **OPTIONS)(enter_run.py_func)
    return dispatcher.overloads[signature.args].entry_point  # what calls it would find anew each time, slowly
