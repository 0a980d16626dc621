"""Spark's side of steering is compiled in the driver and tried there; what is missing is said before anything is done.

The self-test reads and writes what steering will: if a later Spark has renamed or moved any of it, the compiler or the
test says so, and nothing has been touched.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from dovetail.execution.engines.spark.errors import SparkError
from dovetail.execution.engines.spark.versions import TESTED

SOURCE = "SteeringHook.java"
CLASS = "dovetail.spark.SteeringHook"


def make_hook(context: Any, lease_s: float) -> Any:
    """The hook of a SparkContext, which hears nothing yet; a `SparkError` names what is missing."""
    from py4j.protocol import Py4JError

    source = (files(__package__) / SOURCE).read_text(encoding="utf-8")
    jvm, spark = context._jvm, context._jsc.sc()
    try:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook(source)
        built = compiler.getClassLoader().loadClass(CLASS)
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


def gist(error: BaseException) -> str:
    """The line of a Java error that says what was wrong."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__
