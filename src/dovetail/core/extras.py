"""Which optional packages belong to which extra, so that a missing one is explained, not traced."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from dovetail.core.errors import MissingExtra

EXTRA_OF = {
    "torch": "learn",
    "tensorboard": "learn",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "ray": "ray",
    "gymnasium": "envs",
    "pettingzoo": "envs",
    "stable_baselines3": "sb3",
    "sb3_contrib": "sb3",
    "duckdb": "examples",
    "pyspark": "spark",
    "py4j": "spark",
}


def explain(error: ModuleNotFoundError, needed_by: str) -> MissingExtra | None:
    """The message for the user when the module that is missing belongs to an extra."""
    extra = EXTRA_OF.get((error.name or "").partition(".")[0])
    return None if extra is None else MissingExtra(extra, needed_by)


def require(module: str, needed_by: str) -> ModuleType:
    """Import `module`, or say which extra brings it: `require("gymnasium", "the environment")`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = explain(error, needed_by)
        if missing is None:
            raise
        raise missing from error
