"""The guard rails against the referee of real engines: what it refuses, they see coming."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.adaptation.guard import fault_of
from dovetail.core.dag import DagDecision, DagInfo, DagView, ExecutorClass
from dovetail.core.errors import InvalidDecision
from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.messages import FINISHED, ExecutorUp, JobSubmitted, Run, TaskEnd, TasksEnded
from dovetail.execution.spec import JobSpec, StageSpec
from dovetail.schedulers import SCHEDULERS

CLASSES = (ExecutorClass(2, 1.0, 1.0), ExecutorClass(2, 2.0, 4.0))
INFO = DagInfo(4, CLASSES, 0.0)
decision = st.builds(DagDecision, st.integers(-1, 6), st.integers(0, 5), st.integers(-2, 2))


@settings(max_examples=60, deadline=None)
@given(answers=st.lists(st.lists(decision, min_size=1, max_size=4), min_size=5, max_size=20))
def test_the_guard_rails_agree_with_the_referee(answers: list[list[DagDecision]]) -> None:
    fifo = SCHEDULERS.create("dag/fifo")
    controller = Controller(ControllerOptions(CLASSES), "dag/fifo", fifo, lambda: fifo)
    ask, seen = controller.incumbent.ask, 0

    def judged(view: DagView, check: Any) -> Any:
        nonlocal seen
        for answer in answers:
            try:
                check(answer)
                refused = False
            except InvalidDecision:
                refused = True
            if view.source_stage < 0 or len(answer) == 1:  # otherwise the view does not tell all
                assert (fault_of(answer, view, INFO) is not None) == refused, (answer, view)
                seen += 1
        return ask(view, check)

    controller.incumbent.ask = judged  # type: ignore[method-assign]
    runs: list[Run] = []

    def tell(event: Any, now_s: float) -> None:
        runs.extend(one for one in controller.handle(event, now_s) if isinstance(one, Run))

    for number, executor_class in enumerate((0, 0, 1, 1)):
        tell(ExecutorUp(number, executor_class, "node"), 0.0)
    for job in range(2):
        stages = (StageSpec("a", 3), StageSpec("b", 2, memory_gb=2.0), StageSpec("c", 2, (0,)))
        tell(JobSubmitted(job, JobSpec(f"job {job}", stages)), 0.0)
    for step in range(12):
        if runs:
            run = runs.pop(0)
            tell(TasksEnded(run.executor, run.batch, [TaskEnd(task, FINISHED, 1.0) for task in run.tasks]), 1.0 + step)
    assert seen
