"""`dovetail train` and `dovetail evaluate`, on a run that takes seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from dovetail.cli import main

SMALL = [
    "train", "dag", "--workload", "chains:dags=6,length=[2,3]", "--jobs", "3", "--executors", "4", "--workers", "1",
    "--set", "sequences=2", "--set", "copies=2", "--set", "validation=2", "--set", "lessons=1",
    "--set", "validate_every=1", "--set", "search.share=0.3",
]  # fmt: skip


def train(out: Path, *more: str) -> int:
    return main([*SMALL, "--out", str(out), *more])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("train") / "run"
    assert train(out, "--iterations", "1") == 0
    return out


def test_what_a_run_leaves_behind(trained: Path) -> None:
    assert {file.name for file in trained.iterdir()} >= {
        "checkpoint.json",
        "checkpoint.safetensors",
        "state.pt",
        "progress.jsonl",
    }
    card = json.loads((trained / "checkpoint.json").read_text())
    assert card["kind"] == "decima" and card["objective"] == "average-jct"
    assert card["arguments"]["jobs"] == 3 and card["arguments"]["workload"].startswith("chains")
    assert card["validation"]["best_heuristic"].startswith("dag/")
    assert card["command"].startswith("dovetail ")
    lines = [json.loads(line) for line in (trained / "progress.jsonl").read_text().splitlines()]
    assert [(line["phase"], line["number"]) for line in lines] == [("imitation", 1), ("learning", 1)]


def test_a_run_goes_on(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(trained, "--iterations", "2", "--resume", "--json") == 0
    found = capsys.readouterr()
    assert "going on after lesson 1 and iteration 1" in found.err
    assert json.loads(found.out)["iterations"] == 2


@pytest.mark.parametrize("algorithm", ["ppo", "reinforce"])
def test_policy_gradients(tmp_path: Path, algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--iterations", "1", "--algorithm", algorithm, "--shape", "paper", "--teacher", "none"]
    assert train(tmp_path / "run", *words) == 0
    assert "compare it on fresh sequences:  dovetail compare dag --workload" in capsys.readouterr().out


def test_the_card_says_where_it_started_from(trained: Path, tmp_path: Path) -> None:
    assert train(tmp_path / "on", "--from", str(trained / "checkpoint"), "--iterations", "1") == 0
    card = json.loads((tmp_path / "on" / "checkpoint.json").read_text())
    assert card["from"]["command"] == json.loads((trained / "checkpoint.json").read_text())["command"]
    assert card["from"]["from"] is None and card["curve"][0]["iteration"] == 0


def test_evaluate(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = str(trained / "checkpoint")
    words = ["evaluate", network, "--seeds", "3", "--schedulers", "dag/fair,dag/fifo", "--workers", "1", "--json"]
    assert main([*words, "--write"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["scheduler"] for row in document["rows"]} == {"dag/fair", "dag/fifo", "dag/decima"}
    held_out = json.loads((trained / "checkpoint.json").read_text())["held_out"]
    assert held_out["seeds"] == [0, 2]
    assert held_out["avg_jct_s"].keys() == {"dag/fair", "dag/fifo", "dag/decima"}
    assert main([*words, "--write", "--jobs", "5"]) == 2
    assert "leave out --jobs" in capsys.readouterr().err
    assert main([*words, "--write", "--seed", "999"]) == 2
    assert "seeds below 1000, but 999 to 1001 were asked for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--profile", "slow"], "unknown profile 'slow'"),
        (["--shape", "wide"], "unknown shape 'wide'"),
        (["--objective", "jct"], "unknown objective 'jct'"),
        (["--algorithm", "dqn"], "expected search or ppo or reinforce"),
        (["--teacher", "dag/nope"], "unknown scheduler 'dag/nope'"),
        (["--set", "sequences"], "expected KEY=VALUE"),
        (["--set", "search.base=dag/rollout"], "dag/rollout: it cannot run compiled"),
        (["--teacher", "dag/rollout"], "dag/rollout: it cannot run compiled"),
        (["--set", "search.share=2"], "expected 0 to 1"),
        (["--set", "jobs=3"], "use --jobs 3"),
        (["--set", "seed=3"], "use --seed 3"),
        (["--set", "learning_rate=3e-4,3e-5"], "expected [float, float]"),
        (["--objective", "deadline"], "no deadlines"),
        (["--objective", "weighted-jct"], "all weigh the same"),
        (["--set", "sequense=2"], "did you mean 'sequences'?"),
        (["--workers", "0"], "workers is 0"),
        (["--rollouts", "rya"], "unknown kind of --rollouts 'rya'; did you mean 'ray'?"),
        (["--address", "127.0.0.1:6379"], "it needs --rollouts ray"),
        (["--minutes", "0"], "minutes is 0"),
        (["--resume"], "no run to go on with"),
        (["--from", "nowhere/net"], "no such file"),
    ],
)
def test_bad_input(tmp_path: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path / "run", *words) == 2
    found = capsys.readouterr()
    assert says in found.err and found.out == ""
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("family", "words"),
    [("gpu", ("communicate", "width", "rules")), ("stream", ("sampler", "width", "lessons")), ("elastic", ("width",))],
)
def test_an_unknown_key_is_told_all_that_are_known(
    tmp_path: Path, family: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the plan and those of the network's shape, which are set by the same option."""
    assert main(["train", family, "--set", "nonsense=3", "--out", str(tmp_path / "run")]) == 2
    found = capsys.readouterr().err
    assert all(f"{word}," in found or f"{word})" in found for word in words) and "more)" not in found
    assert main(["train", family, "--set", "widht=3", "--out", str(tmp_path / "run")]) == 2
    assert "did you mean 'width'?" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        assert train(place) == 2
        assert "is a file; expected a directory" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_state_of_something_else(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    for number, state in enumerate(({"x": 1}, [1, 2], b"cut short")):
        run = tmp_path / str(number)
        run.mkdir()
        if isinstance(state, bytes):
            (run / "state.pt").write_bytes(state)
        else:
            torch.save(state, run / "state.pt")
        assert train(run, "--resume") == 2
        assert "start again in another directory" in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_loses_nothing_and_says_so_quietly(tmp_path: Path, workers: str) -> None:
    words = [*SMALL, "--iterations", "500", "--workers", workers, "--out", str(tmp_path / "run")]
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail", *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored where the tests run
    ) as process:
        assert process.stderr is not None
        said = ""
        while "learning 2 of 500" not in said:
            said += process.stderr.readline()
            assert process.poll() is None, said
        os.killpg(process.pid, signal.SIGINT)
        said += process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "Traceback" not in said and "--resume goes on" in said
    assert train(tmp_path / "run", "--resume", "--iterations", "2") == 0


def test_another_run_is_not_overwritten(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(trained) == 2
    assert "a run is there already" in capsys.readouterr().err
    assert train(trained, "--resume", "--set", "parts=3") == 2
    assert "another plan.parts" in capsys.readouterr().err
