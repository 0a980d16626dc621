"""Jobs as the engine sees them: what is valid, what is said about the rest, and the way through JSON."""

from __future__ import annotations

import json
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.execution.errors import InvalidJob
from dovetail.execution.spec import MAX_STAGES, MAX_TASKS, JobSpec, StageSpec, find_cycle

names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
sizes = st.floats(0.001, 1e6)


@st.composite
def specs(draw: st.DrawFn) -> JobSpec:
    stages = []
    for at, name in enumerate(draw(st.lists(names, min_size=1, max_size=8, unique=True))):
        after = tuple(draw(st.lists(st.integers(0, at - 1), unique=True, max_size=at))) if at else ()
        stage = StageSpec(
            name,
            draw(st.integers(1, 1000)),
            after,
            cpus=draw(sizes),
            memory_gb=draw(sizes | st.just(0.0)),
            retries=draw(st.integers(0, 10)),
            timeout_s=draw(st.none() | sizes),
            expected_s=draw(st.none() | sizes),
            inputs=bool(after) and draw(st.booleans()),
        )
        stages.append(stage)
    return JobSpec(draw(names), tuple(stages), draw(sizes), draw(st.none() | sizes))


@given(specs())
def test_json_and_back_is_the_same(spec):
    assert JobSpec.from_json(json.loads(spec.dumps())) == spec
    assert JobSpec.from_json(spec.to_json()) == spec


@given(specs())
def test_children_are_the_parents_turned_round(spec):
    pairs = {(parent, at) for at, stage in enumerate(spec.stages) for parent in stage.after}
    assert pairs == {(at, child) for at, children in enumerate(spec.children) for child in children}
    assert spec.num_tasks == sum(stage.tasks for stage in spec.stages)


def test_what_is_at_its_default_is_not_written():
    assert JobSpec("a", (StageSpec("s", 2),)).to_json() == {"name": "a", "stages": [{"name": "s", "tasks": 2}]}


def one(**changed) -> JobSpec:
    return JobSpec("job", (StageSpec(**{"name": "s", "tasks": 1, **changed}),))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": ""}, "stage name ''; expected 1 to 200 printable"),
        ({"name": "  "}, "printable"),
        ({"name": "a\nb"}, "printable"),
        ({"name": "x" * 201}, r"stage name 'x{39}\.\.\.; expected"),
        ({"name": 3}, "stage name 3"),
        ({"tasks": 0}, "stage 's': tasks is 0; expected a whole number from 1 to 10,000,000"),
        ({"tasks": 2.0}, "tasks is 2.0"),
        ({"tasks": True}, "tasks is True"),
        ({"tasks": MAX_TASKS + 1}, "tasks is 10000001"),
        ({"cpus": 0}, "cpus is 0; expected more than 0"),
        ({"cpus": float("nan")}, "cpus is nan; expected a finite number"),
        ({"cpus": float("inf")}, "cpus is inf"),
        ({"cpus": 10**400}, r"at most"),
        ({"cpus": "two"}, "cpus is 'two'"),
        ({"memory_gb": -1}, "memory_gb is -1; expected 0 or more"),
        ({"retries": -1}, "retries is -1"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"expected_s": -0.5}, "expected_s is -0.5"),
        ({"after": (1,)}, "stage 's': comes after stage number 1; expected positions 0 to 0"),
        ({"after": (-1,)}, "comes after stage number -1"),
        ({"after": (False,)}, "comes after stage number False"),
        ({"after": (0,)}, "wait for each other in a circle: 's' -> 's'"),
        ({"after": (0, 0)}, "named twice"),
        ({"inputs": True}, "inputs=True without parents"),
    ],
)
def test_a_stage_that_cannot_be_is_refused(changed, message):
    with pytest.raises(InvalidJob, match=message):
        one(**changed)


def test_a_job_that_cannot_be_is_refused():
    stage = StageSpec("s", 1)
    with pytest.raises(InvalidJob, match="0 stages; expected 1 to 10,000"):
        JobSpec("j", ())
    with pytest.raises(InvalidJob, match="two stages are named 's'"):
        JobSpec("j", (stage, stage))
    with pytest.raises(InvalidJob, match="weight is 0"):
        JobSpec("j", (stage,), weight=0)
    with pytest.raises(InvalidJob, match="deadline_s is inf"):
        JobSpec("j", (stage,), deadline_s=float("inf"))
    with pytest.raises(InvalidJob, match="job name ''"):
        JobSpec("", (stage,))
    with pytest.raises(InvalidJob, match="12,000,000 tasks in all stages together"):
        JobSpec("j", (StageSpec("a", 6_000_000), StageSpec("b", 6_000_000)))
    with pytest.raises(InvalidJob, match="10,001 stages"):
        JobSpec("j", tuple(StageSpec(str(i), 1) for i in range(MAX_STAGES + 1)))


def test_the_circle_is_named_in_its_order():
    stages = (StageSpec("in", 1), StageSpec("a", 1, (0, 3)), StageSpec("b", 1, (1,)), StageSpec("c", 1, (2,)))
    with pytest.raises(InvalidJob, match=r"circle: ('a' -> 'b' -> 'c'|'b' -> 'c' -> 'a'|'c' -> 'a' -> 'b')"):
        JobSpec("j", stages)


def test_a_cycle_is_found_where_there_is_one():
    assert find_cycle([(), (0,), (1, 0)]) == []
    cycle = find_cycle([(), (2,), (1, 0), (2,)])
    assert sorted(cycle) == [1, 2]


def test_the_largest_graph_is_checked_quickly():
    start = time.perf_counter()
    JobSpec("j", tuple(StageSpec(str(i), 1, (i - 1,) if i else ()) for i in range(MAX_STAGES)))
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "a job is NoneType; expected a JSON object"),
        ([], "a job is list"),
        ({}, "job: missing 'name', 'stages'"),
        ({"name": "a", "stages": [], "wieght": 1}, "wieght: unknown key; did you mean 'weight'"),
        ({"name": "a", "stages": [{"name": "s"}]}, r"job: stages\[0\]: missing 'tasks'"),
        ({"name": "a", "stages": [{"name": "s", "tasks": "1"}]}, r"stages\[0\].tasks: expected int, got '1'"),
        ({"name": "a", "stages": [{"name": "s", "tasks": 1, "task": 1}]}, r"stages\[0\].task: unknown key"),
        ({"name": "a", "stages": {}}, "stages: expected"),
    ],
)
def test_json_that_is_no_job_is_refused(values, message):
    with pytest.raises(InvalidJob, match=message):
        JobSpec.from_json(values)


def test_errors_survive_pickling():
    error = InvalidJob("wrong")
    assert str(pickle.loads(pickle.dumps(error))) == "wrong"
