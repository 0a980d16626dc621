"""Reading an answer: the parallelism it asks for, or what is wrong with it, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np

from dovetail.core.errors import InvalidDecision
from dovetail.core.stream import REASON_TEXT, Ints, StreamDecision, StreamInfo


def read_answer(decisions: object, info: StreamInfo, parallelism: Ints, time_s: float) -> Ints:
    """(O,) the parallelism of every operator after these decisions, or `InvalidDecision`."""
    where = f"at {time_s:g} s: "
    if not isinstance(decisions, Sequence):
        text = f"given {decisions!r}; expected a sequence of StreamDecision, empty to change nothing"
        raise InvalidDecision(where + text)
    wanted = parallelism.copy()
    named: set[int] = set()
    for number, decision in enumerate(decisions):
        at = f"{where}decision {number}: "
        if not (isinstance(decision, tuple) and len(decision) == len(StreamDecision._fields)):
            raise InvalidDecision(f"{at}given {decision!r}; expected a StreamDecision")
        operator, count, reason, demand = decision
        if not (_is_whole(operator) and 0 <= operator < len(wanted)):
            raise InvalidDecision(f"{at}no operator {operator!r}; there are 0 to {len(wanted) - 1}")
        at += f"operator {named_operator(info, operator)}: "
        if operator in named:
            raise InvalidDecision(f"{at}named twice in one answer; expected once at the most")
        most = int(info.operator_max[operator])
        if not (_is_whole(count) and 1 <= count <= most):
            raise InvalidDecision(f"{at}parallelism {count!r}; expected a whole number, 1 to {most}")
        if reason not in REASON_TEXT:
            raise InvalidDecision(f"{at}{reason!r} is not a Reason")
        if not (isinstance(demand, float | int | np.floating | np.integer) and (isnan(demand) or demand >= 0)):
            raise InvalidDecision(f"{at}demand {demand!r}; expected a number of 0 or more, nan for none")
        named.add(int(operator))
        wanted[operator] = count
    check_total(wanted, info, parallelism, where)
    return wanted


def check_total(wanted: Ints, info: StreamInfo, parallelism: Ints, where: str) -> None:
    """There are only so many slots."""
    total = int(wanted.sum())
    if total > info.slots:
        grown = [named_operator(info, i) for i in np.flatnonzero(wanted > parallelism).tolist()]
        raise InvalidDecision(
            f"{where}{total} instances in all, {int(parallelism.sum())} before, but there are {info.slots} slots; "
            f"expected {total - info.slots} fewer (more are asked for: {', '.join(grown)})"
        )


def named_operator(info: StreamInfo, operator: int) -> str:
    """As users know it: its number, its name and that of its job."""
    job = info.job_name[int(info.operator_job[operator])]
    return f"{int(operator)} ({info.operator_name[operator]!r} of job {job!r})"


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_array(wanted: Any, infos: Sequence[StreamInfo], parallelism: Ints, time_s: float) -> Ints:
    """(W, O) what all operators of several worlds are to have, or `InvalidDecision`."""
    numbers = np.asarray(wanted)
    if numbers.shape != parallelism.shape or numbers.dtype.kind not in "iu":
        raise InvalidDecision(
            f"at {time_s:g} s: given {numbers.dtype} of the shape {numbers.shape}; expected whole numbers of the shape "
            f"{parallelism.shape}"
        )
    bad = (numbers < 1) | (numbers > np.stack([info.operator_max for info in infos]))
    if bad.any():
        world, operator = np.argwhere(bad)[0].tolist()
        where = f"at {time_s:g} s: world {world}: operator {named_operator(infos[world], operator)}: "
        text = f"parallelism {numbers[world, operator]}; expected 1 to {infos[world].operator_max[operator]}"
        raise InvalidDecision(where + text)
    for world, info in enumerate(infos):
        check_total(numbers[world], info, parallelism[world], f"at {time_s:g} s: world {world}: ")
    return numbers
