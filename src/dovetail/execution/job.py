"""Jobs as people write them in Python: functions, arguments, and what comes after what.

    job = Job("word count")
    counts = job.stage(count_words, tasks=paths, memory="200MB")
    total = job.stage(merge, after=[counts], inputs=True)

Nothing runs and nothing is pickled before the job is submitted.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dovetail.core.suggest import did_you_mean
from dovetail.execution.errors import InvalidJob
from dovetail.execution.payload import StagePayload, encode
from dovetail.execution.sizes import memory_gb, shown_bytes
from dovetail.execution.spec import MAX_TASKS, JobSpec, StageSpec, check_name

MAX_ARGUMENT_BYTES = 64 * 2**20
MAX_PAYLOAD_BYTES = 2 * 2**30


@dataclass(frozen=True, eq=False)
class Stage:
    """What `Job.stage` hands back: name it in `after`, and ask for its results with it."""

    job: Job = field(repr=False)
    spec: StageSpec  # but for `after`, which is known when all stages are
    function: Callable[..., Any]
    arguments: Sequence[Any] | None  # None: the task's number
    after: tuple[Stage | str, ...] = field(repr=False)
    inputs: bool

    @property
    def name(self) -> str:
        return self.spec.name


class Job:
    """A graph of stages to be submitted."""

    def __init__(
        self,
        name: str,
        *,
        weight: float = 1.0,
        deadline_s: float | None = None,
        sys_path: Sequence[str] | None = None,
    ) -> None:
        """`sys_path`: where modules of the functions lie that are not installed; None: beside the running script."""
        check_name("job", name)
        self.name = name
        self.sys_path = sys_path
        self.weight = weight
        self.deadline_s = deadline_s
        self.stages: list[Stage] = []

    def stage(
        self,
        function: Callable[..., Any],
        tasks: int | Iterable[Any] = 1,
        *,
        name: str | None = None,
        after: Sequence[Stage | str] = (),
        cpus: float = 1.0,
        memory: float | str = 0,
        retries: int = 3,
        timeout_s: float | None = None,
        expected_s: float | None = None,
        inputs: bool = False,
        copies: bool = True,
    ) -> Stage:
        """Add a stage of tasks: `function(argument)` for each argument, or for 0 .. N-1 if `tasks` is a number.

        With `inputs`, the call is `function(argument, inputs)`, where `inputs[stage name]` is the sequence of that
        parent's results.  `after` may also name stages that are added later.  Without `copies`, a task that takes far
        longer than the others is not run a second time beside itself.
        """
        if not callable(function):
            raise InvalidJob(f"job {self.name!r}: a stage of {function!r}; expected a function")
        if name is None:
            name = self._free_name(str(getattr(function, "__name__", type(function).__name__)).strip("<>"))
        place = f"job {self.name!r}, stage {name!r}"
        arguments = None if isinstance(tasks, int) else _listed(tasks, place)
        spec = StageSpec(
            name,
            tasks if isinstance(tasks, int) else len(arguments or ()),
            (),
            cpus,
            memory_gb(memory, place),
            retries,
            timeout_s,
            expected_s,
            copies=copies,
        )
        if isinstance(after, Stage | str):
            raise InvalidJob(f"{place}: after={after!r}; expected a list, such as after=[counts]")
        for parent in after:
            if isinstance(parent, Stage) and parent.job is not self:
                raise InvalidJob(
                    f"{place}: comes after stage {parent.name!r} of another job, {parent.job.name!r}; "
                    "expected stages of this one"
                )
        stage = Stage(self, spec, function, arguments, tuple(after), inputs)
        self.stages.append(stage)
        return stage

    def spec(self) -> JobSpec:
        """The job without functions and arguments, checked."""
        position = {stage.name: at for at, stage in enumerate(self.stages)}
        return JobSpec(
            self.name,
            tuple(
                replace(
                    stage.spec,
                    after=tuple(self._position(stage, parent, position) for parent in stage.after),
                    inputs=stage.inputs,
                )
                for stage in self.stages
            ),
            self.weight,
            self.deadline_s,
            tuple(map(os.path.abspath, sys.path[:1] if self.sys_path is None else self.sys_path)),
        )

    def payload(self) -> bytes:
        """Functions and arguments, pickled."""
        left_bytes = MAX_PAYLOAD_BYTES
        stages = []
        for stage in self.stages:
            packed = _pack(stage)
            left_bytes -= len(packed.function) + sum(map(len, packed.arguments or ()))
            if left_bytes < 0:
                raise InvalidJob(
                    f"job {self.name!r}: functions and arguments take more than {shown_bytes(MAX_PAYLOAD_BYTES)} "
                    f"together; {_INSTEAD}, or submit several jobs"
                )
            stages.append(packed)
        return encode(stages)

    def _position(self, stage: Stage, parent: Stage | str, position: dict[str, int]) -> int:
        place = f"job {self.name!r}, stage {stage.name!r}"
        if isinstance(parent, Stage):
            parent = parent.name
        if not isinstance(parent, str):
            raise InvalidJob(f"{place}: comes after {parent!r}; expected what `job.stage` handed back, or a name")
        if parent not in position:
            raise InvalidJob(f"{place}: comes after {parent!r}, which does not exist{did_you_mean(parent, position)}")
        return position[parent]

    def _free_name(self, wanted: str) -> str:
        taken = {stage.name for stage in self.stages}
        name, count = wanted, 1
        while name in taken:
            count += 1
            name = f"{wanted}-{count}"
        return name


_INSTEAD = "write large data to files and pass their paths, or let an earlier stage make it and use inputs=True"


def _listed(tasks: Iterable[Any], place: str) -> list[Any]:
    if isinstance(tasks, str | bytes):
        raise InvalidJob(f"{place}: tasks={tasks!r:.60}; expected a number, or a list with one argument for each task")
    try:
        arguments = list(tasks)
    except TypeError as error:
        raise InvalidJob(
            f"{place}: tasks is {tasks!r:.60}; expected a number, or a list with one argument for each task"
        ) from error
    if not 1 <= len(arguments) <= MAX_TASKS:
        raise InvalidJob(f"{place}: {len(arguments):,} arguments; expected 1 to {MAX_TASKS:,}, one for each task")
    return arguments


def _pack(stage: Stage) -> StagePayload:
    place = f"job {stage.job.name!r}, stage {stage.name!r}"
    function = _pickle(stage.function, f"{place}: its function", by_value=True)
    if stage.arguments is None:
        return StagePayload(function, stage.spec.tasks, None)
    arguments = [_pickle(one, f"{place}, task {at}: its argument") for at, one in enumerate(stage.arguments)]
    return StagePayload(function, stage.spec.tasks, arguments)


def _pickle(value: object, what: str, *, by_value: bool = False) -> bytes:
    import cloudpickle  # here, because most of what imports this file never submits

    try:
        # The plain pickler is ten times as fast for plain arguments, and there may be millions of them.
        blob: bytes = _plain_or_cloud(value, cloudpickle, by_value)
    except Exception as error:  # whatever __reduce__ and __getstate__ of the value may raise
        raise InvalidJob(
            f"{what} cannot be pickled: {type(error).__name__}: {error}; expected plain data and functions, "
            "nothing that belongs to this process, such as open files, locks, sockets and generators"
        ) from error
    if len(blob) > MAX_ARGUMENT_BYTES:
        raise InvalidJob(
            f"{what} takes {shown_bytes(len(blob))} pickled; expected {shown_bytes(MAX_ARGUMENT_BYTES)} at most: "
            f"{_INSTEAD}"
        )
    return blob


_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})


def _plain_or_cloud(value: object, cloudpickle: Any, by_value: bool) -> Any:
    # Only for types that cannot hold anything of __main__, which an executor could not import.
    if not by_value and type(value) in _PLAIN:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return cloudpickle.dumps(value)
