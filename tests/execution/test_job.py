"""Jobs as people write them: what is made of them, and what is said when that cannot be done."""

from __future__ import annotations

import pickle
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.service import FakeService, serving

from dovetail.execution import job as job_module
from dovetail.execution.client import Client
from dovetail.execution.errors import InvalidJob, JobCancelled, JobFailed
from dovetail.execution.failure import Failure
from dovetail.execution.handle import submit
from dovetail.execution.job import Job
from dovetail.execution.payload import Payload
from dovetail.execution.sizes import memory_gb, shown_bytes
from dovetail.execution.status import TaskFailure


def double(x: int) -> int:
    return 2 * x


def total(_: int, inputs: dict[str, list[int]]) -> int:
    return sum(inputs["double"])


def test_spec_and_payload_say_the_same():
    job = Job("sum", weight=2.0, deadline_s=60)
    doubled = job.stage(double, tasks=[5, "a", None], cpus=2, memory="200MB", retries=1, timeout_s=9, expected_s=0.5)
    job.stage(total, after=[doubled], inputs=True)
    job.stage(double, tasks=4, after=["total"])
    spec = job.spec()
    assert [stage.name for stage in spec.stages] == ["double", "total", "double-2"]
    assert [stage.after for stage in spec.stages] == [(), (0,), (1,)]
    assert [stage.tasks for stage in spec.stages] == [3, 1, 4]
    first = spec.stages[0]
    assert (first.cpus, first.memory_gb, first.retries, first.timeout_s, first.expected_s) == (2, 0.2, 1, 9, 0.5)
    assert (spec.weight, spec.deadline_s, spec.stages[1].inputs) == (2.0, 60, True)
    payload = Payload.from_bytes(job.payload())
    assert [payload.tasks(stage) for stage in range(3)] == [3, 1, 4]
    assert pickle.loads(payload.function(0))(4) == 8
    assert [pickle.loads(payload.argument_blob(0, task)) for task in range(3)] == [5, "a", None]
    assert payload.argument_blob(2, 0) is None  # the task's number


def test_lambdas_closures_and_names():
    job, factor = Job("j"), 7
    job.stage(lambda x: x * factor, tasks=2)
    assert job.stages[0].name == "lambda"
    assert pickle.loads(Payload.from_bytes(job.payload()).function(0))(3) == 21


def test_modules_are_looked_for_beside_the_script_or_where_it_is_said():
    job = Job("j")
    job.stage(double)
    assert job.spec().sys_path == (str(Path(sys.path[0]).absolute()),)
    other = Job("j", sys_path=["/somewhere"])
    other.stage(double)
    assert other.spec().sys_path == ("/somewhere",)


def test_stages_may_be_named_before_they_are_added_but_not_in_a_circle():
    job = Job("j")
    job.stage(double, name="a", after=["b"])
    job.stage(double, name="b")
    assert job.spec().stages[0].after == (1,)
    job.stage(double, name="c", after=["d"])
    job.stage(double, name="d", after=["c"])
    with pytest.raises(InvalidJob, match=r"circle: '[cd]' -> '[cd]'"):
        job.spec()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"function": 3}, "a stage of 3; expected a function"),
        ({"tasks": "abc"}, "tasks='abc'; expected a number, or a list"),
        ({"tasks": 2.5}, "tasks is 2.5; expected a number, or a list"),
        ({"tasks": []}, "0 arguments; expected 1 to"),
        ({"tasks": 0}, "tasks is 0"),
        ({"tasks": -1}, "tasks is -1"),
        ({"tasks": 10**8}, "tasks is 100000000"),
        ({"after": "a"}, "after='a'; expected a list"),
        ({"after": ["doubel"]}, r"comes after 'doubel', which does not exist; did you mean 'double'\?"),
        ({"after": [None]}, "comes after None; expected what `job.stage` handed back"),
        ({"memory": "lots"}, "memory is 'lots'; expected text such as"),
        ({"memory": 2}, "memory is 2; expected"),
        ({"memory": "-1GB"}, "memory is '-1GB'"),
        ({"cpus": 0}, "cpus is 0"),
        ({"name": ""}, "stage name ''"),
        ({"inputs": True}, "inputs=True without parents"),
    ],
)
def test_stages_that_cannot_be(given, message):
    job = Job("j")
    job.stage(double, name="double")
    with pytest.raises(InvalidJob, match=message):
        job.stage(**{"function": double, "name": "s", **given})
        job.spec()


def test_stages_of_another_job():
    other = Job("other").stage(double)
    job = Job("j")
    with pytest.raises(InvalidJob, match="stage 'double': comes after stage 'double' of another job, 'other'"):
        job.stage(double, after=[other])
    with pytest.raises(InvalidJob, match="job name 3"):
        Job(3)


class Stubborn:
    def __reduce__(self):
        raise ZeroDivisionError("no")


@pytest.mark.parametrize("argument", [threading.Lock(), (x for x in "a"), Stubborn()], ids=["lock", "generator", "own"])
def test_what_cannot_be_pickled_is_named(argument):
    job = Job("j")
    job.stage(double, tasks=[1, argument], name="s")
    with pytest.raises(
        InvalidJob, match=r"job 'j', stage 's', task 1: its argument cannot be pickled: .*expected plain"
    ):
        job.payload()


def test_a_function_that_cannot_be_pickled():
    lock = threading.Lock()
    job = Job("j")
    job.stage(lambda x: lock, name="s")
    with pytest.raises(InvalidJob, match="job 'j', stage 's': its function cannot be pickled: TypeError"):
        job.payload()


def test_arguments_and_jobs_that_are_too_large(monkeypatch):
    monkeypatch.setattr(job_module, "MAX_ARGUMENT_BYTES", 1000)
    job = Job("j")
    job.stage(double, tasks=[1, b"x" * 1001], name="s")
    with pytest.raises(InvalidJob, match=r"task 1: its argument takes 1019 bytes pickled; .*write large data to files"):
        job.payload()
    monkeypatch.setattr(job_module, "MAX_PAYLOAD_BYTES", 5000)
    job = Job("j")
    job.stage(double, tasks=[b"x" * 900] * 6, name="s")
    with pytest.raises(InvalidJob, match=r"job 'j': functions and arguments take more than 4\.9 KiB together"):
        job.payload()


@given(st.integers(1, 999), st.sampled_from(["kB", "MB", "GB", "KiB", "MiB", "GiB", "TB"]))
def test_sizes_as_text(number, unit):
    scale = {"k": 1, "M": 2, "G": 3, "T": 4, "K": 1}[unit[0]]
    size_bytes = number * (1024 if "i" in unit else 1000) ** scale
    if size_bytes < 10**6:
        with pytest.raises(InvalidJob):
            memory_gb(f"{number}{unit}", "x")
    else:
        assert memory_gb(f"{number}{unit}", "x") == memory_gb(f" {number} {unit.lower()} ", "x") == size_bytes / 1e9
        assert memory_gb(size_bytes, "x") == size_bytes / 1e9


def test_sizes_otherwise():
    assert memory_gb(0, "x") == 0.0 and memory_gb("1.5GB", "x") == 1.5
    for wrong in (True, None, "", "GB", "1 XB", "1e9", float("nan"), float("inf"), 10**400, -5):
        with pytest.raises(InvalidJob, match="x: memory is"):
            memory_gb(wrong, "x")
    assert [shown_bytes(size) for size in (5, 2048, 2**31)] == ["5 bytes", "2.0 KiB", "2.0 GiB"]


@pytest.fixture
def path() -> Iterator[Path]:
    directory = tempfile.mkdtemp(prefix="dv")
    yield Path(directory) / "control.sock"
    shutil.rmtree(directory)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def failed_job(path: Path, record: bytes) -> JobFailed:
    service = FakeService()
    job = Job("j")
    job.stage(double, tasks=3)
    with serving(service, path) as server, Client(path) as client:
        handle = submit(client, job)
        service.failures[0] = (TaskFailure(0, 2, "ValueError: too small"), record)
        server.end(0, "failed")
        with pytest.raises(JobFailed) as found:
            handle.results("double", timeout_s=30)
    return found.value


def test_a_failed_job_brings_back_exception_and_traceback(path):
    error = failed_job(path, Failure.of(raised(ValueError("too small"))).to_bytes())
    assert (error.job, error.stage, error.task) == (0, "double", 2)
    assert "stage 'double', task 2: ValueError: too small" in str(error) and "in raised" in error.traceback
    assert isinstance(error.__cause__, ValueError) and error.__cause__.args == ("too small",)


def test_a_failed_job_without_a_record_of_it(path):
    error = failed_job(path, b"")
    assert error.traceback == "" and error.__cause__ is None
    assert str(error) == "job 0 ('j') failed: stage 'double', task 2: ValueError: too small"


def test_a_cancelled_job(path):
    service, job = FakeService(), Job("j")
    job.stage(double)
    with serving(service, path), Client(path) as client:
        handle = submit(client, job)
        handle.cancel()
        assert handle.status().state == "cancelled"
        with pytest.raises(JobCancelled, match=r"job 0 \('j'\) was cancelled"):
            handle.wait()
        handle.forget()
        with pytest.raises(InvalidJob, match=r"expected a dovetail.execution.Job"):
            submit(client, "job")


def test_an_invalid_job_is_refused_before_anything_is_pickled(path):
    job = Job("j")
    job.stage(double, tasks=[threading.Lock()], after=["none"])
    with pytest.raises(InvalidJob, match="does not exist"):
        submit(Client(path), job)


def test_plain_arguments_are_what_cloudpickle_would_make_of_them():
    for value in ("a", 1, 2.5, None, b"x", True):
        assert pickle.loads(job_module._pickle(value, "x")) == pickle.loads(cloudpickle.dumps(value))
