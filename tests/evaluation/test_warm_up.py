"""What is compiled before a comparison starts, and by whom."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from tests.evaluation.matrices import contenders, small

from dovetail.evaluation import warm_up as module
from dovetail.evaluation.matrix import Matrix, run_matrix
from dovetail.evaluation.warm_up import compile_schedulers, warm_up


class Process:
    """Stands in for the process that compiles."""

    started: list[list[str]]

    def __init__(self, command: list[str], **_: Any) -> None:
        self.started.append(command)

    def wait(self) -> int:
        return 0

    def poll(self) -> int:
        return 0


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    Process.started = []
    monkeypatch.setattr(subprocess, "Popen", Process)
    return Process.started


def test_it_says_when_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    chunks = Matrix(contenders("dag/fair"), (0,)).chunks()
    list(run_matrix(small(), chunks, workers=1, on_compile=lambda: said.append("compiling")))
    assert said == ["compiling"]


def test_when_it_takes_long_the_networks_are_compiled_aside(
    monkeypatch: pytest.MonkeyPatch, processes: list[list[str]]
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    warm_up(small(), contenders("dag/fair", "dag/decima"), lambda: None)
    assert [command[-1] for command in processes] == ["dag/decima"]


@pytest.mark.parametrize(("patience_s", "processors"), [(60.0, 2), (0.0, 1)])
def test_not_if_it_does_not_or_there_is_no_processor_for_it(
    patience_s: float, processors: int, monkeypatch: pytest.MonkeyPatch, processes: list[list[str]]
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", patience_s)
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    warm_up(small(), contenders("dag/fair", "dag/decima"), lambda: None)
    assert processes == []


def test_what_is_done_aside() -> None:
    compile_schedulers(["dag/decima", "dag/fair"])
