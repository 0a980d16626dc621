from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.matrices import register_odd

from dovetail.cli import main
from dovetail.cli.matrix_progress import COMPILING
from dovetail.evaluation import matrix
from dovetail.records import read_records
from dovetail.records.summary import read_summary

SMALL = [
    *("compare", "dag", "--workload", "layered:dags=6", "--jobs", "3", "--executors", "8"),
    *("--seeds", "3", "--schedulers", "dag/fair,dag/fifo,dag/weighted-fair:alpha=1", "--workers", "1"),
]

# A shell starts what runs in the background with SIGINT ignored, which everything below would inherit.
MINDS_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

Captured = pytest.CaptureFixture[str]


def compared(capsys: Captured, *more: str, code: int = 0) -> tuple[dict[str, Any], str]:
    """The JSON on standard output, and what stands on standard error."""
    assert main([*SMALL, "--json", *more]) == code
    found = capsys.readouterr()
    return json.loads(found.out), found.err


def hashes(directory: Path) -> dict[str, str]:
    """Every file but the timings."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file() and path.name != "timings.json")
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_json(capsys: Captured) -> None:
    document, err = compared(capsys, "--interval", "5")
    assert err.replace(f"dovetail: {COMPILING}\n", "") == ""
    assert (document["schema"], document["family"]) == (1, "dag")
    assert document["workload"]["name"] == "layered:dags=6"
    assert document["workload"] | {"interval_s": 5.0, "arrivals": "poisson"} == document["workload"]
    assert document["seeds"] == [0, 1, 2] and document["complete"] and document["failures"] == []
    rows = document["rows"]
    assert {row["scheduler"] for row in rows} == {"dag/fair", "dag/fifo", "dag/weighted-fair"}
    assert document["best_heuristic"] == rows[0]["scheduler"] and rows[0]["vs_best_heuristic_pct"] == 0.0
    for row in rows:
        mean, (low, high) = row["metrics"]["avg_jct_s"]["mean"], row["metrics"]["avg_jct_s"]["ci95"]
        assert low <= mean <= high
        assert row["vs_best_heuristic_pct"] >= 0 and row["decision_s"] > 0
        assert {"p50_jct_s", "p95_jct_s", "makespan_s", "utilisation", "slowdown", "fairness"} <= {*row["metrics"]}


def test_by_another_metric(capsys: Captured) -> None:
    document, _ = compared(capsys, "--by", "makespan_s")
    assert document["yardstick"] == "makespan_s"
    means = [row["metrics"]["makespan_s"]["mean"] for row in document["rows"]]
    assert means == sorted(means) and document["rows"][0]["vs_best_heuristic_pct"] == 0.0
    assert main([*SMALL, "--by", "makespan_s"]) == 0
    titles = [title.strip() for title in capsys.readouterr().out.splitlines()[0].split("  ") if title.strip()]
    assert titles[titles.index("makespan, s") + 1 :][:2] == ["95 % interval", "vs best heuristic"]


def test_plain_table_in_a_pipe(capsys: Captured) -> None:
    assert main(SMALL) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("scheduler ") and "average JCT, s" in head and "per decision" in head
    assert len(rows) == 3 and "best heuristic" in rows[0] and "\x1b" not in rows[0]


@pytest.mark.parametrize("columns", [80, 200])
def test_tables_on_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(SMALL) == 0
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "…" not in out and all(len(line) <= columns for line in out.splitlines())
    assert out.count("dag/fair ") == (2 if columns == 80 else 1)


def test_one_seed_has_no_interval(capsys: Captured) -> None:
    document, _ = compared(capsys, "--seeds", "1")
    assert document["rows"][0]["metrics"]["avg_jct_s"]["ci95"] == [None, None]
    assert main([*SMALL, "--seeds", "1"]) == 0


def test_same_manifest_same_bytes(tmp_path: Path, capsys: Captured) -> None:
    for name, workers in (("a", "1"), ("b", "2")):
        assert main([*SMALL, "--out", str(tmp_path / name), "--workers", workers]) == 0
    capsys.readouterr()
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b") and len(hashes(tmp_path / "a")) == 2 + 3 * 6
    records = read_records(tmp_path / "a")
    assert [run.seed for run in records.runs] == [0, 0, 0]
    command = records.manifest["command"]
    assert main([*command.split()[1:], "--out", str(tmp_path / "c")]) == 0
    assert hashes(tmp_path / "c") == hashes(tmp_path / "a")


def test_resumes(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = compared(capsys, "--out", str(tmp_path / "whole"))
    out = str(tmp_path / "parts")
    run_cell, calls = matrix.run_cell, 0

    def interrupted(*args: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return run_cell(*args, **named)

    monkeypatch.setattr(matrix, "run_cell", interrupted)
    partial, err = compared(capsys, "--out", out, code=130)
    assert partial["seeds"] == [0] and not partial["complete"] and len(partial["rows"]) == 3
    assert "interrupted after 4 of 9 runs" in err and "the same command goes on" in err
    calls = 5
    resumed, err = compared(capsys, "--out", out)
    assert calls == 10 and "4 of 9 runs are there already" in err
    assert [row["metrics"] for row in resumed["rows"]] == [row["metrics"] for row in whole["rows"]]
    assert hashes(tmp_path / "parts") == hashes(tmp_path / "whole")
    calls = 5
    compared(capsys, "--out", out)
    assert calls == 5


def test_interrupted_without_out(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(matrix, "run_cell", interrupted)
    assert main(SMALL) == 130
    found = capsys.readouterr()
    assert found.out == "" and "--out DIR keeps them" in found.err


def test_ctrl_c(tmp_path: Path) -> None:
    """The real thing: a signal to the whole process group, worker processes included."""
    out = tmp_path / "out"
    words = [*SMALL, "--seeds", "100000", "--workers", "2", "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, "-c", MINDS_CTRL_C, "-m", "dovetail", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            for _ in range(1200):
                summary = out / "summary.parquet"
                if process.poll() is not None or (summary.exists() and len(read_summary(summary)) > 10):
                    break
                time.sleep(0.1)
            os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):  # nobody is left: it went as it should
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, stderr
    assert "interrupted after" in stderr and "Traceback" not in stderr
    assert stdout.startswith("scheduler ") and len(stdout.splitlines()) == 4
    assert len(read_records(out).summary) > 0


def test_other_settings_are_an_error_unless_forced(tmp_path: Path, capsys: Captured) -> None:
    out = ["--out", str(tmp_path / "x")]
    compared(capsys, *out)
    before = hashes(tmp_path / "x")
    assert main([*SMALL, *out, "--jobs", "4"]) == 2
    err = capsys.readouterr().err
    assert "'jobs' is 3 there, 4 here" in err and "--force" in err
    assert main([*SMALL, *out, "--moving-delay", "1"]) == 2
    assert "'moving_delay_s' is 2.0 there, 1.0 here" in capsys.readouterr().err
    assert hashes(tmp_path / "x") == before
    (tmp_path / "x" / "mine.txt").write_text("kept")
    compared(capsys, *out, "--jobs", "4", "--seeds", "1", "--force")
    assert len(read_records(tmp_path / "x").summary) == 3
    assert (tmp_path / "x" / "mine.txt").read_text() == "kept"


def test_force_removes_nothing_foreign(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    assert main([*SMALL, "--out", str(tmp_path), "--force"]) == 2
    assert "holds no manifest.json" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    workload = tmp_path / "workload"
    assert main(["workload", "generate", "layered:dags=6", "--out", str(workload)]) == 0
    before = hashes(workload)
    for more in ([], ["--force"]):  # it is not told to try what is refused as well
        assert main([*SMALL, "--out", str(workload), *more]) == 2
        said = capsys.readouterr().err
        assert "holds a workload, not records; give another directory" in said and "--force" not in said
        assert hashes(workload) == before


def test_more_seeds_and_schedulers_join_what_is_there(tmp_path: Path, capsys: Captured) -> None:
    out = ["--out", str(tmp_path / "x")]
    compared(capsys, *out)
    document, err = compared(capsys, *out, "--seeds", "4", "--schedulers", "dag/fair,dag/srtf")
    assert "3 of 8 runs are there already" in err
    assert {row["scheduler"] for row in document["rows"]} == {"dag/fair", "dag/srtf"}
    assert len(read_records(tmp_path / "x").summary) == 9 + 5


def test_a_scheduler_that_fails(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    register_odd(monkeypatch, "Raises", "Sound")
    specs = "dag/fair,dag/raises,dag/sound"
    document, err = compared(capsys, "--schedulers", specs, "--out", str(tmp_path / "x"), code=1)
    assert [row["scheduler"] for row in document["rows"]] == ["dag/fair", "dag/sound"]
    assert not document["complete"] and document["best_heuristic"] == "dag/fair"
    assert [one["seed"] for one in document["failures"]] == [0, 1, 2]
    assert "error: dag/raises, seed 0: ZeroDivisionError: by design" in err and "on 2 more seeds" in err
    assert main([*SMALL, "--schedulers", "dag/raises"]) == 1
    assert capsys.readouterr().out == ""


def test_config_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        """
        workload = "layered:dags=6"
        jobs = 3
        interval = 5
        seeds = 2
        schedulers = ["dag/fair"]
        compat = ["pool_forgets"]
        classes = [{count = 4, cpu = 64, memory = 1}, {count = 2, cpu = 128}]
        stragglers = {probability = 0.1, factor = 3}
        failures = {mean_time_s = 500}
        """
    )
    base = ["compare", "dag", "--json", "--config", str(file)]
    assert main(base) == 0
    document = json.loads(capsys.readouterr().out)
    options = document["options"]
    assert options["executors"] == 6 and [one["count"] for one in options["classes"]] == [4, 2]
    assert options["straggler_factor"] == 3.0 and options["mean_time_to_failure_s"] == 500.0
    assert options["compat"]["pool_forgets"] and document["workload"]["interval_s"] == 5.0
    assert main([*base, "--load", "0.5", "--executors", "7", "--seeds", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"]["executors"] == 7 and document["options"]["classes"] == []
    assert document["workload"]["load"] == 0.5 and document["seeds"] == [0]
    file.write_text("job = 3")
    assert main(base) == 2
    assert f"{file}: job: unknown key; did you mean 'jobs'?" in capsys.readouterr().err


def test_the_command_makes_it_again(tmp_path: Path, capsys: Captured) -> None:
    words = ["--classes", "4:64:1,2:128:0.5", "--stragglers", "0.1:3", "--failures", "900:5", "--load", "0.5"]
    words += ["--moving-delay", "1.5", "--compat", "pool-forgets,inverted_levels", "--seed", "7"]
    without = SMALL.index("--executors")
    small = [*SMALL[:without], *SMALL[without + 2 :]]
    assert main([*small, *words, "--out", str(tmp_path / "a")]) == 0
    command = read_records(tmp_path / "a").manifest["command"]
    assert main([*command.split()[1:], "--out", str(tmp_path / "b")]) == 0
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")


def test_notes_go_to_standard_error(capsys: Captured) -> None:
    document, err = compared(capsys, "--compat", "all", "--seed", "999", "--seeds", "2")
    assert "unseeded durations" in err and "for tuning and training" in err
    assert document["seeds"] == [999, 1000]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--schedulers", "dag/fifoo"], "did you mean 'dag/fifo'?"),
        (["--schedulers", "dag/weighted-fair:alhpa=1"], "did you mean 'alpha'?"),
        (["--schedulers", ""], "none given"),
        (["--jobs", "-3"], "jobs is -3"),
        (["--jobs", "0"], "jobs is 0"),
        (["--seeds", "0"], "seeds is 0"),
        (["--seed", "-1"], "seed is -1"),
        (["--workers", "0"], "workers is 0"),
        (["--executors", "0"], "executors is 0"),
        (["--executors", "1000001"], "at most 1,000,000"),
        (["--interval", "5", "--load", "0.5"], "and not both"),
        (["--arrivals", "batch", "--load", "0.5"], "batch takes neither"),
        (["--arrivals", "poisson"], "poisson needs either"),
        (["--arrivals", "burst"], "no kind 'burst'"),
        (["--arrivals", "trace"], "no recorded arrivals"),
        (["--load", "nan"], "load must be above 0"),
        (["--load", "1e-300"], "a load of 1e-300 on 8 executors means"),
        (["--interval", "1e300"], "1e+09 at most, not 1e+300"),
        (["--workload", "no/such/dir"], "no such directory"),
        (["--workload", "layerd"], "did you mean 'layered'?"),
        (["--classes", "3:x:1"], "cannot read '3:x:1'"),
        (["--classes", "3:1"], "COUNT:CPU:MEMORY"),
        (["--classes", "1.5:1:1"], "whole number"),
        (["--classes", "inf:1:1"], "a count of inf in 'inf:1:1'; expected a whole number"),
        (["--classes", "1e300:1:1"], "1,000,000 at most"),
        (["--classes", "8:nan:1"], "cannot read '8:nan:1'"),
        (["--classes", "9:64:1"], "the classes have 9"),
        (["--classes", "8:0.001:1"], "fit no executor class"),
        (["--moving-delay", "-1"], "moving_delay_s is -1"),
        (["--moving-delay", "inf"], "moving_delay_s is inf"),
        (["--moving-delay", "1e308"], "moving_delay_s is 1e+308"),
        (["--stragglers", "2:2"], "straggler_probability is 2"),
        (["--stragglers", "0.5:inf"], "straggler_factor is inf"),
        (["--stragglers", "0.5:1e308"], "straggler_factor is 1e+308"),
        (["--failures", "inf"], "mean_time_to_failure_s is inf"),
        (["--failures", "3600:inf"], "repair_s is inf"),
        (["--stragglers", "0.1"], "P:FACTOR"),
        (["--failures", "x"], "MTTF"),
        (["--compat", "pool"], "unknown compat option 'pool'"),
        (["--config", "no-such.toml"], "no-such.toml: cannot be read"),
        (["--by", "makespan"], "unknown metric to compare by 'makespan'; did you mean 'makespan_s'?"),
    ],
)
def test_bad_input(words: list[str], message: str, tmp_path: Path, capsys: Captured) -> None:
    assert main([*SMALL, "--out", str(tmp_path / "x"), *words]) == 2
    found = capsys.readouterr()
    assert message in found.err and found.out == "" and "Traceback" not in found.err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("count = 99999999999999999999999, cpu = 1, memory = 1", "the executor classes have 99,999,999,999"),
        ("count = 9, cpu = nan, memory = 1", "cpu=nan, memory=1.0); expected count >= 1, cpu > 0"),
        ("count = 9, cpu = 1, memory = nan", "memory=nan); expected"),
    ],
)
def test_bad_classes_in_a_file(kind: str, message: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "bad.toml").write_text(f"classes = [{{{kind}}}]\n")
    assert main(["compare", "dag", "--config", str(tmp_path / "bad.toml")]) == 2
    assert message in capsys.readouterr().err


def test_bad_family_and_place(tmp_path: Path, capsys: Captured) -> None:
    assert main(["compare", "dagg"]) == 2
    assert "did you mean 'dag'?" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "x"):
        assert main([*SMALL, "--out", str(place)]) == 2
        assert str(place) in capsys.readouterr().err
