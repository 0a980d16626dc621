"""The commands that talk to a running engine, against a small one without executors; and what they refuse."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.execution.service import FakeServer, FakeService, serving

from dovetail.cli import main
from dovetail.cli.status import engine_text, job_text
from dovetail.execution.status import EngineStatus, JobStatus, JobSummary, StageStatus, TaskFailure

JOB = '[[stage]]\nname = "s"\ncommand = ["true"]\ntasks = 4\n'
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, for a socket lies in it."""
    path = tempfile.mkdtemp(prefix="dv")
    yield Path(path)
    shutil.rmtree(path)


@pytest.fixture
def server(directory: Path) -> Iterator[FakeServer]:
    with serving(FakeService(), directory / "control.sock") as running:
        yield running


@pytest.fixture
def job_file(tmp_path: Path) -> str:
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return str(path)


def test_submit_status_cancel_drain_down(directory: Path, server: FakeServer, job_file: str, capsys: Capture) -> None:
    where = ["--directory", str(directory)]
    assert main(["submit", job_file, *where]) == 0
    assert capsys.readouterr().out == "0\n"
    assert main(["submit", job_file, "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out) == {"job": 1}
    assert main(["status", *where]) == 0
    assert "0 of 4 executors busy" in capsys.readouterr().out
    assert main(["status", "1", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "running"
    assert main(["cancel", "0", "1", *where]) == 0
    assert server.service.states == {0: "cancelled", 1: "cancelled"}
    assert main(["status", "1", "--watch", *where]) == 0
    assert "job 1 (job): cancelled" in capsys.readouterr().out
    assert main(["drain", "--wait", *where]) == 0
    assert main(["drain", "--off", *where]) == 0
    assert server.service.calls == [("drain", True), ("drain", False)]
    assert main(["down", *where]) == 0
    assert server.service.is_down


def test_waiting_for_a_job_and_its_results(directory: Path, server: FakeServer, job_file: str, capsys: Capture) -> None:
    where = ["--directory", str(directory)]
    timer = threading.Timer(0.2, server.end, (0,))
    timer.start()
    assert main(["submit", job_file, "--results", "s", *where]) == 0
    assert capsys.readouterr().out.splitlines() == [f"(0, {task})" for task in range(4)]
    timer.join()
    timer = threading.Timer(0.2, server.end, (1, "cancelled"))
    timer.start()
    assert main(["submit", job_file, "--wait", *where]) == 1
    found = capsys.readouterr()
    assert found.out == "" and "job 1 ('job') was cancelled" in found.err
    timer.join()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status"], "no engine answered at"),
        (["cancel", "1"], "`dovetail up` starts one"),
        (["status", "--connect", "somewhere"], "--token-file"),
        (["down", "--token-file", "x"], "only an engine reached by --connect"),
        (["drain", "--connect", "h:1", "--directory", "d"], "expected one of them"),
        (["submit", "none.toml"], "none.toml: cannot be read"),
        (["up", "--executors", "0"], "--executors is 0; expected 1 to"),
        (["up", "--nodes", "0"], "--nodes is 0"),
        (["run", "tpch-like", "--scheduler", "dag/fifo", "--nodes", "0"], "--nodes is 0"),
        (["run", "tpch-like", "--scheduler", "dag/fifo", "--nodes", "99"], "no more than the 10 executors"),
        (["up", "--scheduler", "dag/fir"], "did you mean"),
        (["up", "--listen", "7700"], "expected HOST:PORT"),
        (["up", "--directory", "/" + "x" * 120], "choose a shorter --directory"),
        (["run", "layered", "--scheduler", "dag/fir"], "did you mean"),
        (["run", "layerd", "--scheduler", "dag/fair"], "did you mean 'layered'"),
        (["run", "layered", "--scheduler", "dag/fair", "--engine", "rya"], "unknown engine 'rya'; did you mean 'ray'"),
        (["run", "layered", "--scheduler", "dag/fair", "--kind", "slep"], "did you mean 'sleep'"),
        (["run", "layered", "--scheduler", "dag/fair", "--time-scale", "0"], "time scale 0.0; expected"),
        (["run", "layered", "--scheduler", "dag/fair", "--jobs", "0"], "jobs is 0"),
        (["run", "layered", "--scheduler", "dag/fair", "--failures", "100000"], "leave the failures out"),
        (
            ["run", "layered", "--scheduler", "dag/fair", "--classes", "2:1:1", "--engine", "ray"],
            "leave the classes out",
        ),
    ],
)
def test_bad_input(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/nowhere")
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    found = capsys.readouterr()
    assert found.out == "" and message in found.err
    assert not list(tmp_path.iterdir())


def test_a_wrong_token(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "token").write_text("x" * 20)
    with serving(FakeService(), token="y" * 20) as server:
        words = ["--connect", str(server.address), "--token-file", str(tmp_path / "token")]
        assert main(["status", *words]) == 2
    assert "a wrong token" in capsys.readouterr().err


def test_a_stage_that_the_job_does_not_have(job_file: str, capsys: Capture) -> None:
    assert main(["submit", job_file, "--results", "t"]) == 2
    assert "unknown stage 't'" in capsys.readouterr().err


def test_tables() -> None:
    failure = TaskFailure(1, 3, "ValueError: no")
    job = JobStatus(
        7, "x", "failed", 0.0, 2.0, (StageStatus("map", 10, 10), StageStatus("sum", 4, 1, 0, 2, 1)), failure
    )
    assert job_text(job).splitlines() == [
        "job 7 (x): failed",
        "stage  finished  running  failed  lost",
        "map    10/10     0        0       0",
        "sum    1/4       0        2       1",
        "stage 'sum', task 3: ValueError: no",
    ]
    jobs = tuple(JobSummary(number, "x", "running", 10.0, None, 5, 2, 1) for number in range(40))
    lines = engine_text(EngineStatus("dag/fair", 4, 3, 1, True, 1.0, jobs), 12.5).splitlines()
    assert lines[:2] == ["dag/fair: 3 of 4 executors busy, 1 nodes, draining", "(10 earlier jobs are not shown)"]
    assert lines[-1] == "39   running  2/5    1        2.5 s  x"
    assert "no jobs" in engine_text(EngineStatus("dag/fair", 4, 3, 1, False, 1.0), 0.0)
