"""`dovetail train gpu` on recorded jobs: what it says about the record, and what the card says about the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.cli import main

pytest.importorskip("torch", reason="training needs torch: pip install 'dovetail[learn]'")

Captured = pytest.CaptureFixture[str]
JOBS = """arrival_s,user,kind,workers,gpus,cpus,memory,work_s,estimate_s
0,ann,resnet-50-b64,1,1,8,40,540,720
60,bob,transformer-b128,2,4,32,200,3600,4000
90,ann,lm-b20,1,0.5,4,20,180,180
120,ann,lm-b20,1,1,4,20,180,180
"""
PLAN = ("rules=2", "pairs=2", "iterations=1", "sequences=2", "episodes=2", "neighbours=2", "warm_up=1", "validation=1")
SMALL = ("width=4", "heads=2", "hidden=4", "rank=2", "history=4", "every=1")


@pytest.fixture
def record(tmp_path: Path, capsys: Captured) -> Path:
    (tmp_path / "jobs.csv").write_text(JOBS)
    where = tmp_path / "mine"
    words = ["workload", "import", "gpu-csv", str(tmp_path / "jobs.csv"), "--cluster", "small:machines=2"]
    assert main([*words, "--out", str(where)]) == 0
    capsys.readouterr()
    return where


def train(record: Path, *words: str) -> int:
    plan = [word for each in (*PLAN, *SMALL) for word in ("--set", each)]
    return main(["train", "gpu", "--workload", str(record), *words, *plan, "--workers", "1"])


@pytest.mark.parametrize(
    ("words", "warns"),
    [((), True), (("--arrivals", "poisson", "--jobs", "6", "--load", "0.8"), False), (("--jobs", "3"), False)],
    ids=["as it came", "others drawn", "windows"],
)
def test_a_record_that_is_one_sequence_is_said(
    words: tuple[str, ...], warns: bool, record: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert train(record, *words, "--out", str(tmp_path / "run"), "--json") == 0
    said = capsys.readouterr().err
    assert ("the whole record is one sequence of 4 jobs" in said) == warns
    assert ("--arrivals poisson" in said) == warns


def test_the_card_names_the_iteration_that_was_kept_and_the_workers(record: Path, tmp_path: Path) -> None:
    assert train(record, "--arrivals", "poisson", "--jobs", "6", "--load", "0.8", "--out", str(tmp_path / "run")) == 0
    card = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    costs = {point["iteration"]: point["validation"] for point in card["curve"]}
    assert list(costs) == [-1, 0, 1]
    kept = card["validation"]["best_iteration"]
    assert card["validation"]["of_untrained"] == costs.get(kept, 1.0) == min(1.0, *costs.values())
    assert card["command"].endswith("--workers 1")


def test_going_on_from_a_network_takes_other_parts_but_no_other_sizes(
    record: Path, tmp_path: Path, capsys: Captured
) -> None:
    where = tmp_path / "run"
    line = ["train", "gpu", "--workload", str(record), "--start", "cloud", "--out", str(where)]
    assert main([*line, "--set", "width=8"]) == 2 and not where.exists()
    expected = "--start: the network has its shape, but for communicate, aware, random_walk; leave out --set width"
    assert expected in capsys.readouterr().err
    assert main([*line, "--set", "neighbours=5"]) == 2 and not where.exists()
    assert "the network knows its neighbours; leave out --set neighbours" in capsys.readouterr().err
    nameless = [word if word != "cloud" else "" for word in line]
    assert main(nameless) == 2 and "--start is empty; expected the name" in capsys.readouterr().err
    plan = ("aware=false", "random_walk=false", "rules=0", "iterations=0", "warm_up=1", "sequences=1", "validation=1")
    words = [word for each in plan for word in ("--set", each)]
    assert main([*line, *words, "--workers", "1"]) == 0
    assert "what machines say of starts" in capsys.readouterr().err
    shape = json.loads((where / "checkpoint.json").read_text())["shape"]
    assert (shape["aware"], shape["random_walk"], shape["communicate"]) == (False, False, True)
