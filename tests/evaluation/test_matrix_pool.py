from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.evaluation.matrices import register_odd, small

from dovetail.core.errors import DovetailError
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix import Matrix
from dovetail.evaluation.matrix_cell import Failure, Row
from dovetail.evaluation.matrix_pool import run_in_processes
from dovetail.evaluation.matrix_worker import Chunk
from dovetail.evaluation.setting_dag import DagSetting

PLUGIN = """\
from tests.evaluation.odd_schedulers import Dies as Dies, Raises as Raises
"""
ENTRY_POINTS = """\
[dovetail.schedulers]
dag/dies = odd_plugin:Dies
dag/raises = odd_plugin:Raises
"""


def install_plugin(folder: Path) -> None:
    """A package with entry points, as pip would leave it: worker processes find it by themselves."""
    (folder / "odd_plugin.py").write_text(PLUGIN)
    info = folder / "odd_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)


def test_a_worker_that_dies_costs_one_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    register_odd(monkeypatch, "Dies")
    all_three = tuple(map(Contender.of, ("dag/fair", "dag/dies", "dag/fifo")))
    chunks = Matrix(all_three, (0, 1)).chunks()
    outcomes = list(run_in_processes(small().setting, chunks, 2, lambda: None))
    failures = [one for one in outcomes if isinstance(one, Failure)]
    assert sorted(one.seed for one in failures) == [0, 1]
    assert all(one.contender.spec == "dag/dies" and "exit code 7" in one.error for one in failures)
    done = {(one.contender.spec, one.seed) for one in outcomes if isinstance(one, Row)}
    assert done == {("dag/fair", 0), ("dag/fair", 1), ("dag/fifo", 0), ("dag/fifo", 1)}


def test_workers_that_cannot_start(capfd: pytest.CaptureFixture[str]) -> None:
    setting = DagSetting("no-such-workload")
    with pytest.raises(DovetailError, match="before it could do anything"):
        list(run_in_processes(setting, [Chunk(0, (Contender.of("dag/fair"),))], 1, lambda: None))
    assert "no-such-workload" in capfd.readouterr().err


def test_closing_ends_the_workers_and_restores_everything() -> None:
    handler, threads = signal.getsignal(signal.SIGINT), os.environ.get("OMP_NUM_THREADS")
    chunks = Matrix((Contender.of("dag/fair"),), tuple(range(50))).chunks()
    outcomes = run_in_processes(small().setting, chunks, 2, lambda: None)
    assert isinstance(next(outcomes), Row)
    outcomes.close()
    import multiprocessing

    assert not multiprocessing.active_children()
    assert signal.getsignal(signal.SIGINT) is handler
    assert os.environ.get("OMP_NUM_THREADS") == threads
