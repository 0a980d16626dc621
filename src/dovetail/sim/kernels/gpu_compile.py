"""Compiling a gpu scheduler's kernel, and the loop that takes any kernel as an argument; see `dag_compile`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba import njit, types
from numba.core.errors import NumbaExperimentalFeatureWarning

from dovetail.core.gpu import GpuKernel, GpuView
from dovetail.sim.kernels.gpu_entry import enter_run
from dovetail.sim.kernels.jit import OPTIONS

TABLES = ("device_free", "user_used")
FLOATS = (
    "job_gpus",
    "job_cpus",
    "job_memory",
    "run_gpus",
    "run_cpus",
    "run_memory",
    "run_speed",
    "machine_gpus_free",
    "machine_cpus_free",
    "machine_memory_free",
)


def _field_type(name: str) -> Any:
    if name == "time_s":
        return types.float64
    if name == "machine_up":
        return types.boolean[::1]
    if name in TABLES:
        return types.float64[:, ::1]
    return types.float64[::1] if name.endswith("_s") or name in FLOATS else types.int64[::1]


@cache
def kernel_signature() -> Any:
    view = types.NamedTuple([_field_type(name) for name in GpuView._fields], GpuView)
    starts, scores = types.int64[:, ::1], types.float64[:, ::1]
    return types.int64(view, types.float64[::1], types.int64[::1], starts, types.int64[::1], scores)


def compile_kernel(kernel: GpuKernel) -> Any:
    """The scheduler's kernel as native code; with the JIT switched off, as it is."""
    return _compiled(kernel.function)


@cache
def _compiled(function: Callable[..., int]) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    # Reference counts stay on, unlike in the world's own kernels: a scheduler may make arrays of its own.
    dispatcher = njit(kernel_signature(), **{**OPTIONS, "_nrt": True})(function)
    result = dispatcher.get_compile_result(kernel_signature())
    dispatcher.get_compile_result = lambda _: result  # numba looks it up at each call, in half a millisecond
    return dispatcher


@cache
def episode_loop() -> Any:
    """`enter_run` for any kernel."""
    if numba.config.DISABLE_JIT:
        return enter_run
    ints = types.int64[::1]
    signature = types.int64(types.FunctionType(kernel_signature()), types.float64[::1], ints, types.boolean, ints, ints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
        dispatcher = njit(signature, **OPTIONS)(enter_run.py_func)
    return dispatcher.overloads[signature.args].entry_point  # what calls it would find anew each time, slowly
