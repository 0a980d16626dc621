"""The only code that talks to Spark while it is steered.  Nothing here decides anything."""

from __future__ import annotations

from typing import Any

from dovetail.execution.engines.spark.errors import SparkError
from dovetail.execution.engines.spark.hook import gist, make_hook
from dovetail.execution.engines.spark.messages import Executors, Look, Resize, Steer
from dovetail.execution.engines.spark.parsing import parse_look
from dovetail.execution.engines.spark.versions import check_mode, check_version


class SparkClient:
    """`spark`: a SparkSession or a SparkContext."""

    def __init__(self, spark: Any) -> None:
        self._context = getattr(spark, "sparkContext", spark)
        self._hook: Any = None
        self._listens = False
        self._asks_for_executors = False
        self._executors_before: int | None = None

    def attach(self, act: bool, lease_s: float, sizes: bool = False) -> list[str]:
        """Put the hook in place; what is worth saying.  A `SparkError` if it cannot be, and nothing was touched."""
        if not hasattr(self._context, "_jsc") or self._context._jsc is None:
            raise SparkError(
                "this is not the session of a Spark driver in this process (or it is stopped); expected a SparkSession "
                "or SparkContext with a JVM, not Spark Connect"
            )
        mode = str(self._spark().taskScheduler().rootPool().schedulingMode().toString())
        warnings = [check_version(str(self._context.version), act), check_mode(mode, act)]
        if sizes and not self._can_ask():
            raise SparkError(
                f"executors cannot be asked for with master {self._context.master}; expected a standalone, YARN or "
                "Kubernetes cluster, without spark.dynamicAllocation.enabled"
            )
        self._hook = make_hook(self._context, lease_s)
        self._asks_for_executors = sizes
        self._spark().addSparkListener(self._hook)
        self._listens = True
        return [warning for warning in warnings if warning is not None]

    def look(self, wait_s: float) -> Look:
        """What happened since the last look; waits so long at most, less if something happens that matters."""
        look = parse_look(self._call(lambda: self._hook.look(int(wait_s * 1000))))
        return look._replace(executors=self._executors()) if self._asks_for_executors else look

    def steer(self, steer: Steer) -> int:
        """How many task sets changed their priority."""
        text = "\n".join(f"{claim.stage} {claim.slots} {claim.rank}" for claim in steer.claims)
        return int(self._call(lambda: self._hook.steer(text)))

    def resize(self, resize: Resize) -> None:
        """Ask for more executors, or give some back."""
        if self._executors_before is None:
            self._executors_before = len(self._executors().running)
        if resize.kill:
            self._call(lambda: self._hook.kill(",".join(resize.kill)))
        else:
            self._request(self._hook, resize.total)

    def detach(self) -> int:
        """Everything as it was; how many task sets got their priority back.  May be called twice."""
        hook, self._hook = self._hook, None
        if hook is None or self._context._jsc is None:
            return 0  # a stopped application has nothing to restore
        try:
            restored = int(self._call(hook.restore))
            before, self._executors_before = self._executors_before, None
            if before is not None:
                self._request(hook, before)
            return restored
        finally:
            if self._listens:
                self._listens = False
                self._call(lambda: self._spark().removeSparkListener(hook))

    @property
    def is_stopped(self) -> bool:
        """Whether the application has ended, with the context or without a word."""
        return self._context._jsc is None or bool(self._call(lambda: self._spark().isStopped()))

    # --- executors ---

    def _can_ask(self) -> bool:
        conf = self._spark().conf()
        has_client = self._spark().schedulerBackend().getClass().getSimpleName() not in ("LocalSchedulerBackend",)
        return has_client and not conf.getBoolean("spark.dynamicAllocation.enabled", False)

    def _executors(self) -> Executors:
        lines = [line.split("\t") for line in self._call(lambda: self._hook.executors()).splitlines()]
        cores = int(self._spark().conf().getInt("spark.executor.cores", 1))
        return Executors(cores, tuple((name, int(running)) for name, running in lines))

    def _request(self, hook: Any, total: int) -> None:
        if not self._call(lambda: hook.request(total)):
            raise SparkError(f"the cluster manager does not hear of {total} executors")

    # --- calls ---

    def _spark(self) -> Any:
        return self._context._jsc.sc()

    def _call(self, what: Any) -> Any:
        from py4j.protocol import Py4JError

        try:
            return what()
        except (Py4JError, OSError, AttributeError) as error:
            raise SparkError(f"Spark does not answer: {gist(error)}") from error
