from __future__ import annotations

import base64
import zlib
from dataclasses import replace

import numpy as np
import pytest
from tests.records.synthetic import make_run

from dovetail.evaluation.report import bars as bars_module
from dovetail.evaluation.report.bars import Bars, cut, merge_tasks, pack, share_out, tick_for
from dovetail.records import DagRun


@pytest.fixture(scope="module")
def run() -> DagRun:
    return make_run("dag/fair", num_jobs=6, executors=9)


def unpack(text: str, executors: int, count: int) -> dict[str, np.ndarray]:
    """What the page's script does."""
    raw = zlib.decompress(base64.b64decode(text))
    words = np.frombuffer(raw[: 4 * (executors + 5 * count)], dtype="<u4").astype(np.int64)
    names = ("gap", "length", "job", "stage", "tasks")
    columns = dict(zip(names, np.split(words[executors:], 5), strict=True))
    columns["flags"] = np.frombuffer(raw[4 * (executors + 5 * count) :], dtype="u1")
    columns["executor"] = np.repeat(np.arange(executors), words[:executors])
    return columns


def test_merging_keeps_tasks_and_time(run: DagRun) -> None:
    bars = merge_tasks(run)
    assert len(bars) < len(run.tasks)
    assert bars.tasks.sum() == len(run.tasks)
    busy_s = (run.tasks.end_s - run.tasks.start_s).sum()
    assert (bars.end_s - bars.start_s).sum() == pytest.approx(busy_s)
    same = np.diff(bars.executor) == 0
    assert np.all(np.diff(bars.start_s)[same] > 0)
    assert np.all((bars.start_s[1:] - bars.end_s[:-1])[same] >= -1e-9)


def test_lost_tasks_stay_apart(run: DagRun) -> None:
    lost = np.zeros(len(run.tasks), dtype=np.bool_)
    lost[::10] = True
    bars = merge_tasks(replace(run, tasks=replace(run.tasks, lost=lost)))
    assert bars.lost.sum() == lost.sum()
    assert np.all(bars.tasks[bars.lost] == 1)


def test_no_tasks(run: DagRun) -> None:
    columns = {name: column[:0] for name, column in vars(run.tasks).items()}
    bars = merge_tasks(replace(run, tasks=replace(run.tasks, **columns)))
    assert len(bars) == 0
    assert cut(bars, 5) == (bars, None)
    assert unpack(pack(bars, 3, 1e-3), 3, 0)["executor"].size == 0


def test_packing_round_trip(run: DagRun) -> None:
    bars = merge_tasks(run)
    found = unpack(pack(bars, run.executors, 1e-3), run.executors, len(bars))
    for name in ("executor", "job", "stage", "tasks"):
        assert np.array_equal(found[name], getattr(bars, name)), name
    assert np.array_equal((found["flags"] & 3).astype(int) - 1, bars.wave)
    total = np.cumsum(found["gap"] + found["length"])
    first = np.searchsorted(found["executor"], np.arange(run.executors))
    offset = np.concatenate(([0], total))[first]
    end_s = (total - offset[found["executor"]]) * 1e-3
    assert np.abs(end_s - bars.end_s).max() < 1e-3


def test_cutting_says_until_when() -> None:
    start = np.array([0.0, 5.0, 1.0, 6.0, 2.0])
    zero = np.zeros(5, dtype=np.int64)
    bars = Bars(zero, zero, zero, zero, zero, zero > 0, start, start + 1.0)
    kept, until_s = cut(bars, 3)
    assert until_s == 5.0
    assert kept.start_s.tolist() == [0.0, 1.0, 2.0]
    assert cut(bars, 5) == (bars, None)


def test_ticks_fit_32_bits() -> None:
    assert tick_for(1000.0) == 1e-3
    assert 1e9 / tick_for(1e9) <= 2**31


def test_small_runs_leave_room_for_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars_module, "MAX_BARS_RUN", 60)
    monkeypatch.setattr(bars_module, "MAX_BARS_PAGE", 100)
    assert share_out([10, 10, 10]) == [33, 45, 60]
    limits = share_out([200, 10, 70])
    assert limits[0] == limits[2] == 45
    assert share_out([]) == []
