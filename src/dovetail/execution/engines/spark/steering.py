"""Steering a Spark application from its own driver: a thread looks, asks a scheduler, and tells Spark.

    with dovetail.steer_spark(spark, scheduler="dag/fair-spill", act=True, out="runs/spark") as steering:
        ...  # the application, as it is

The thread never does the application harm: whatever goes wrong in it, priorities are restored, it is said, and Spark
goes on alone.  Should the thread hang, Spark's side gives everything back by itself (`SparkOptions.lease_s`).
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dovetail.core import extras
from dovetail.core.errors import UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.spec import parse_spec
from dovetail.execution.engines.spark.client import SparkClient
from dovetail.execution.engines.spark.controller import SparkController
from dovetail.execution.engines.spark.known import Known
from dovetail.execution.engines.spark.messages import Note, Resize, SparkOptions, Steer
from dovetail.execution.engines.spark.notes import Notes, Tell, say_nothing
from dovetail.execution.engines.spark.rehearsal import rehearse
from dovetail.schedulers import SCHEDULERS

if TYPE_CHECKING:
    from dovetail.execution.engines.spark.controller import DagScheduler

DEFAULT_SCHEDULER = "dag/fair-spill"
FALLBACK = "dag/fair-spill"
END_S = 10.0  # for the thread to end


@dataclass
class Cost:
    """Seconds of the driver that steering took: talking to Spark, and deciding."""

    looks: int = 0
    spark_s: float = 0.0
    decide_s: float = 0.0
    longest_s: float = 0.0
    by_step_s: list[float] = field(default_factory=list)  # of steps with decisions: from the look to Spark told


class Steering:
    """`attach()` and `detach()`, or `with`.  `error`: why it ended before its time, if it did."""

    def __init__(self, client: SparkClient, controller: SparkController, options: SparkOptions, notes: Notes) -> None:
        self.cost = Cost()
        self.error: BaseException | None = None
        self.notes = notes
        self._client = client
        self._controller = controller
        self._options = options
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Steering:
        return self.attach()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()

    def attach(self) -> Steering:
        """From now on; an error, and nothing touched, if this application cannot be steered."""
        self.notes.open()
        try:
            sizes = self._options.executors is not None and self._options.act
            warnings = self._client.attach(self._options.act, self._options.lease_s, sizes)
        except BaseException:
            self.notes.close()
            raise
        for warning in warnings:
            self._say("warning", warning)
        doing = "acting" if self._options.act else "shadow mode, nothing is touched"
        self._say("attached", f"{self._controller.name}: {doing}", scheduler=self._controller.name)
        self._thread = threading.Thread(target=self._run, name="dovetail-steering", daemon=True)
        self._thread.start()
        return self

    def detach(self) -> None:
        """Everything is as it was before.  May be called twice."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stop.set()
        thread.join(END_S)
        if thread.is_alive():  # it hangs in a call: restored from here, and by Spark's side if that fails too
            self._restore()
        self._say("summary", self._summary(), **self._facts())
        self.notes.close()

    @property
    def is_attached(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    # --- the thread ---

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._step()
        except BaseException as error:
            if not self._stop.is_set():
                self._fail(error)
        finally:
            self._restore()

    def _step(self) -> None:
        look = self._client.look(self._options.interval_s)
        began_s = time.perf_counter()
        decided = self._controller.decisions
        instructions = self._controller.step(look)
        thought_s = time.perf_counter()
        for one in instructions:
            if isinstance(one, Steer):
                self._client.steer(one)
            elif isinstance(one, Resize) and self._options.act:
                self._client.resize(one)
        done_s = time.perf_counter()
        if look.expired:
            self._say("expired", f"nobody looked for {self._options.lease_s:g} s, so Spark's side had restored all")
        for one in instructions:
            if isinstance(one, Note):
                self.notes.add(one, look.time_s)
        self.cost.looks += 1
        self.cost.decide_s += thought_s - began_s
        self.cost.spark_s += done_s - thought_s
        self.cost.longest_s = max(self.cost.longest_s, done_s - began_s)
        if self._controller.decisions > decided:
            self.cost.by_step_s.append(done_s - began_s)

    def _fail(self, error: BaseException) -> None:
        with suppress(Exception):
            if self._client.is_stopped:
                self._say("stopped", "the application ended")
                return
        self.error = error
        text = f"steering ended, and the application goes on alone: {type(error).__name__}: {error}"
        self._say("failed", text, error=type(error).__name__)
        print(f"dovetail: {text}", file=sys.stderr)

    def _restore(self) -> None:
        try:
            restored = self._client.detach()
            self._say("detached", f"{restored} task sets got the priority back that Spark gave them", restored=restored)
        except Exception as error:
            self._say("detached", f"nothing could be restored, the application does not answer: {error}")

    # --- what is said ---

    def _say(self, event: str, text: str, **facts: Any) -> None:
        self.notes.add(Note(event, text, facts=facts), time.time())

    def _facts(self) -> dict[str, Any]:
        steps = sorted(self.cost.by_step_s)
        return {
            "looks": self.cost.looks,
            "decisions": self._controller.decisions,
            "scheduler": self._controller.name,
            "decide_s": round(self.cost.decide_s, 4),
            "spark_s": round(self.cost.spark_s, 4),
            "step_p50_us": round(1e6 * steps[len(steps) // 2]) if steps else None,
            "step_p95_us": round(1e6 * steps[int(0.95 * len(steps))]) if steps else None,
            "counts": dict(sorted(self.notes.counts.items())),
        }

    def _summary(self) -> str:
        facts = self._facts()
        each = "" if facts["step_p50_us"] is None else f", {facts['step_p50_us'] / 1e3:.1f} ms each (median)"
        return f"{facts['decisions']} decisions in {len(self.cost.by_step_s)} of {facts['looks']} looks{each}"


def steer_spark(
    spark: Any,
    scheduler: str = DEFAULT_SCHEDULER,
    *,
    act: bool = False,
    out: str | Path | None = None,
    workload: str | Path | None = None,
    jobs: str = "auto",
    every: str = "stage",
    interval_s: float = 0.05,
    executors: tuple[int, int] | None = None,
    seed: int = 0,
    tell: Tell = say_nothing,
) -> Steering:
    """Steer a Spark application; `spark` is its SparkSession or SparkContext.  Use it with `with`.

    Without `act` it only records what it would do, in `out`/decisions.jsonl and to `tell`.  `workload`: kinds of job
    that are known, such as an import of the application's event logs.  docs/spark-live.md says the rest.
    """
    extras.require("pyspark", "steering Spark")
    options = SparkOptions(act=act, jobs=jobs, every=every, interval_s=interval_s, executors=executors)
    name, _ = parse_spec(scheduler)
    if SCHEDULERS.entry(name).family != "dag":
        raise UnknownName("dag scheduler", name, SCHEDULERS.names("dag"))
    rehearse(SCHEDULERS.create(scheduler))
    seeds = SeedTree(seed).child("scheduler", name)

    def fallback() -> tuple[str, DagScheduler]:
        return FALLBACK, SCHEDULERS.create(FALLBACK)

    controller = SparkController(
        scheduler, SCHEDULERS.create(scheduler), fallback, seeds.generator, options, _known(workload)
    )
    return Steering(SparkClient(spark), controller, options, Notes(tell, None if out is None else Path(out)))


def _known(workload: str | Path | None) -> Known:
    if workload is None:
        return Known()
    from dovetail.workloads.source import open_source

    return Known.of(open_source(workload).catalogue)
