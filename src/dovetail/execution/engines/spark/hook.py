"""Spark's side of steering is compiled in the driver and tried there; what is missing is said before anything is done.

The self-test reads and writes what steering will: if a later Spark has renamed or moved any of it, the compiler or the
test says so, and nothing has been touched.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any
from uuid import uuid4

from dovetail.execution.engines.spark.errors import SparkError
from dovetail.execution.engines.spark.versions import TESTED

SOURCE = "SteeringHook.java"
PACKAGE, CLASS = "dovetail.spark", "SteeringHook"

_built: dict[tuple[int, str], Any] = {}  # by JVM and source: compiled once


def make_hook(context: Any, lease_s: float) -> Any:
    """The hook of a SparkContext, which hears nothing yet; a `SparkError` names what is missing."""
    from py4j.protocol import Py4JError

    source = (files(__package__) / SOURCE).read_text(encoding="utf-8")
    jvm, spark = context._jvm, context._jsc.sc()
    try:
        built = _built.get((id(context._gateway), source)) or _build(context, source)
        arguments = context._gateway.new_array(jvm.java.lang.Object, 3)
        arguments[0], arguments[1], arguments[2] = spark, spark.taskScheduler(), int(lease_s * 1000)
        hook = built.getConstructors()[0].newInstance(arguments)
        hook.look(0)
        if hook.steer("") != 0 or hook.restore() != 0:
            raise SparkError("task sets that nobody steers were changed")
    except (Py4JError, TypeError) as error:
        raise SparkError(
            f"this Spark lacks a hook that steering needs: {gist(error)}; "
            f"expected pyspark=={TESTED[-1]}, nothing was touched"
        ) from error
    return hook


def _build(context: Any, source: str) -> Any:
    """The class.  Its name is its own: Py4J remembers methods by the name of their class, whichever class that was."""
    name = f"{CLASS}_{uuid4().hex[:8]}"
    compiler = context._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(context._jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(source.replace(CLASS, name))
    built = _built[id(context._gateway), source] = compiler.getClassLoader().loadClass(f"{PACKAGE}.{name}")
    return built


def gist(error: BaseException) -> str:
    """The line of a Java error that says what was wrong."""
    java = getattr(error, "java_exception", None)
    lines = (str(error) if java is None else str(java.toString())).strip().splitlines() or [type(error).__name__]
    return lines[1] if lines[0].endswith("Trace:") and len(lines) > 1 else lines[0]
