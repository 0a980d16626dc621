"""Which Spark was tested.  Steering uses internals, which no version promises to keep."""

from __future__ import annotations

from dovetail.execution.engines.spark.errors import SparkError

TESTED = ("4.3.0",)
FIFO = "FIFO"


def check_version(version: str, act: bool) -> str | None:
    """Refuse to act on a version that was not tested; in shadow mode only a warning, for nothing is touched."""
    if version in TESTED:
        return None
    tested = " or ".join(TESTED)
    if act:
        raise SparkError(
            f"this is Spark {version}; acting changes internals of Spark, which was tested with {tested} only: "
            f"expected pyspark=={TESTED[-1]}, or shadow mode (act=False, without --act)"
        )
    return f"Spark {version} was not tested, {tested} was; in shadow mode nothing of it is touched"


def check_mode(mode: str, act: bool) -> str | None:
    """Between pools of FAIR, Spark never looks at priorities; moving task sets between pools corrupts its counts."""
    if mode == FIFO:
        return None
    if act:
        raise SparkError(
            f"the application runs with spark.scheduler.mode={mode}, where priorities do not decide what is launched; "
            "expected FIFO, which is Spark's default (remove the setting), or shadow mode"
        )
    return f"spark.scheduler.mode is {mode}: this can be watched, but not steered"
