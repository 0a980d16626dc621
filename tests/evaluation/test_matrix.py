from __future__ import annotations

import numpy as np
import pytest
from tests.evaluation.matrices import WORKLOAD, contenders, register_odd, small

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix import Matrix, run_matrix
from dovetail.evaluation.matrix_cell import Failure, Row
from dovetail.evaluation.setting import OpenSetting
from dovetail.evaluation.setting_dag import DagSetting
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import DagWorld, run


def rows_of(opened: OpenSetting, matrix: Matrix, workers: int) -> dict[tuple[str, int], Row]:
    found = {}
    for outcome in run_matrix(opened, matrix.chunks(), workers=workers):
        assert isinstance(outcome, Row), outcome
        found[outcome.contender.spec, outcome.seed] = outcome
    return found


def test_a_cell_is_what_its_seed_says() -> None:
    opened = small()
    rows = rows_of(opened, Matrix(contenders("dag/fair", "dag/random"), (4, 5)), workers=1)
    seeds = SeedTree(5)
    sequence = opened.source.sequence(3, opened.setting.arrivals, seeds)
    rng = seeds.child("scheduler", "dag/random").generator()
    result = run(DagWorld(sequence, opened.setting.options, seeds), SCHEDULERS.create("dag/random"), rng)
    row = rows["dag/random", 5]
    assert row.metrics["avg_jct_s"] == result.avg_jct_s
    assert (row.events, row.decisions) == (result.events, result.decisions)


def test_the_first_seed_is_kept_and_timed() -> None:
    opened = small()
    rows = rows_of(opened, Matrix(contenders("dag/fair"), (0, 1), keep=True), workers=1)
    first, second = rows["dag/fair", 0], rows["dag/fair", 1]
    assert first.run is not None and second.run is None
    assert first.timings["decision_s"] > 0 and "decision_s" not in second.timings
    tasks = first.run.tasks
    busy_s = float((tasks.end_s - tasks.start_s).sum())
    assert first.metrics["utilisation"] == pytest.approx(busy_s / (8 * first.metrics["makespan_s"]))


def test_recording_does_not_change_the_numbers() -> None:
    matrices = [Matrix(contenders("dag/fair", "dag/tetris"), (0,), keep=keep) for keep in (False, True)]
    plain, kept = (rows_of(small(), matrix, workers=1) for matrix in matrices)
    assert all(plain[key].metrics == kept[key].metrics for key in plain)


def test_processes_give_the_same_numbers() -> None:
    opened, matrix = small(), Matrix(contenders("dag/fair", "dag/random"), (0, 1, 2), keep=True)
    alone, together = rows_of(opened, matrix, workers=1), rows_of(opened, matrix, workers=2)
    assert {key: row.metrics for key, row in alone.items()} == {key: row.metrics for key, row in together.items()}
    ours, theirs = alone["dag/fair", 0].run, together["dag/fair", 0].run
    assert ours is not None and theirs is not None
    assert np.array_equal(ours.tasks.start_s, theirs.tasks.start_s)


def test_one_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    register_odd(monkeypatch, "Raises", "Invalid", "Declines", "Sound")
    specs = ("dag/raises", "dag/invalid", "dag/declines", "dag/sound", "dag/fair")
    outcomes = list(run_matrix(small(), Matrix(contenders(*specs), (0, 1)).chunks(), workers=1))
    failures = {(one.contender.spec, one.seed): one.error for one in outcomes if isinstance(one, Failure)}
    assert len(failures) == 6 and len(outcomes) == 10
    assert failures["dag/raises", 1].startswith("ZeroDivisionError: by design")
    assert "odd_schedulers.py, line" in failures["dag/raises", 1]
    assert failures["dag/invalid", 0].startswith("InvalidDecision: ")
    assert failures["dag/declines", 0].startswith("StalledWorld: ")
    assert "seed 1" in str(Failure(Contender.of("dag/fair"), 1, "x"))


def test_what_fails_for_all_is_found_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*args: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("dovetail.evaluation.setting_dag.DagWorld", no_room)
        with pytest.raises(ConfigError, match="do not fit into memory"):
            small().check(0)
    with pytest.raises(ConfigError, match="jobs is 0"):
        DagSetting(jobs=0)
    with pytest.raises(ConfigError, match="workers is 0"):
        next(run_matrix(small(), Matrix(contenders("dag/fair"), (0,)).chunks(), workers=0))
    with pytest.raises(ConfigError, match="at least one"):
        Matrix((), (0,))


def test_content_follows_the_workload() -> None:
    facts = small().facts()
    assert facts["interval_s"] == 5.0 and "load" not in facts
    other = DagSetting(f"{WORKLOAD},seed=1").open().facts()
    assert facts["content"] == small().facts()["content"] != other["content"]
