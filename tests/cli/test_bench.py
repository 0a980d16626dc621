from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.evaluation import bench_dag
from dovetail.evaluation.bench_dag import BenchOptions, bench_sim, speed_table

SMALL = ["bench", "sim", "--jobs", "3", "--worlds", "4", "--seconds", "0.05"]


def test_json_has_rates_and_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    for rate, reference in (
        ("events", "reference_events_per_s"),
        ("python_decisions", "reference_decisions_per_s"),
        ("batched_decisions", "reference_decisions_per_s"),
    ):
        assert figures[f"{rate}_per_s"] > 0
        assert figures[f"{rate}_ratio"] == pytest.approx(figures[f"{rate}_per_s"] / figures[reference])
    assert figures["reference_jobs"] == figures["jobs"] == 3
    assert min(figures["repeats"].values()) >= 3
    assert 0 < figures["load_and_reset_5000_jobs_s"] < 60


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    assert "task events per CPU-second, compiled scheduler" in out
    assert "x reference" in out and "x 3 jobs" in out and "on the same sequences" in out


def test_a_shorter_reference_is_said() -> None:
    figures = bench_sim(BenchOptions(jobs=4, reference_jobs=2, worlds=2, seconds=0.01))
    assert "on shorter sequences of the same kind" in speed_table(figures)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (["--jobs", "0"], "jobs is 0; expected at least 1"),
        (["--seconds", "-1"], "seconds is -1"),
        (["--seconds", "inf"], "seconds is inf"),
        (["--workload", "nix"], "nix"),
        (["--worlds", "10000000"], "worlds is 10000000; expected at least 1, 100,000 at most"),
        (["--worlds", "100000", "--executors", "1000000"], "do not fit into memory"),
        (["--executors", "10000000000"], "at most 1,000,000"),
        (["--threads", "100000"], "threads is 100000"),
        (["--interval", "1e300"], "not 1e+300"),
    ],
)
def test_bad_options(option: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *option]) == 2
    assert text in capsys.readouterr().err


def test_too_little_memory(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*args: object, **named: object) -> None:
        raise MemoryError

    monkeypatch.setattr(bench_dag, "DagBatch", no_room)
    assert main(SMALL) == 2
    assert "do not fit into memory" in capsys.readouterr().err


@pytest.mark.parametrize("script", ["dag_speed.py", "dag_scale.py", "dag_published.py", "elastic_speed.py"])
def test_the_scripts_say_what_they_do(script: str) -> None:
    path = Path(__file__).parents[2] / "benchmarks" / script
    done = subprocess.run([sys.executable, str(path), "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--json" in done.stdout, done.stderr


def test_bad_options_of_a_script() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "dag_speed.py"
    done = subprocess.run([sys.executable, str(path), "--worlds", "0"], capture_output=True, text=True)
    assert done.returncode == 2 and "error: worlds is 0" in done.stderr and "Traceback" not in done.stderr
