"""Spark event logs on the command line."""

import json

import pytest
from tests.workloads.spark_logs import SparkLog, stage, two_stages

from dovetail.cli import main


def folder_of(tmp_path):
    (tmp_path / "logs").mkdir()
    for number in range(3):
        log = two_stages(f"app-{number}", start=number * 10_000)
        (tmp_path / "logs" / f"app-{number}").write_bytes(log.text())
    return str(tmp_path / "logs")


def test_from_a_log_to_a_comparison(tmp_path, capsys):
    out = str(tmp_path / "w")
    assert main(["workload", "import", "spark-eventlog", folder_of(tmp_path), "--out", out]) == 0
    shown = capsys.readouterr()
    assert "3 jobs" in shown.out and "note: 3 applications with 3 jobs" in shown.err
    assert main(["workload", "validate", out]) == 0
    words = ["--workload", out, "--arrivals", "trace", "--jobs", "3", "--seeds", "1", "--executors", "2", "--json"]
    capsys.readouterr()
    assert main(["compare", "dag", *words, "--schedulers", "dag/fifo"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    # 1.2 s or 1 s and a task of 0.5 s, then 0.4 s or 0.3 s, after moves of executors of 2 s.
    assert 1.0 < row["metrics"]["avg_jct_s"]["mean"] < 6.0


def test_options(tmp_path):
    out = str(tmp_path / "w")
    words = ["--merge-runs", "--samples", "2", "--jobs-are", "application", "--application", "app-1", "--name", "mine"]
    assert main(["workload", "import", "spark-eventlog", folder_of(tmp_path), "--out", out, *words]) == 0
    manifest = json.loads((tmp_path / "w" / "manifest.json").read_text())
    assert manifest["name"] == "mine" and manifest["counts"]["jobs"] == 1
    made = manifest["provenance"]
    assert made["source"] == "spark-eventlog" and made["application"] == "app-1" and made["merge_runs"] is True


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--jobs-are", "stages"), "unknown kind of job"),
        (("--application", "app-7"), "unknown application"),
        (("--samples", "0"), "--samples is 0"),
        (("--strict",), "--strict means nothing to spark-eventlog"),
    ],
)
def test_wrong_options(tmp_path, capsys, words, says):
    out = str(tmp_path / "w")
    assert main(["workload", "import", "spark-eventlog", folder_of(tmp_path), "--out", out, *words]) == 2
    assert says in capsys.readouterr().err


def test_faults_are_shown_with_their_lines(tmp_path, capsys):
    log = SparkLog()
    log.job(0, 0, stage(0, 1))
    log.lines.append("{")
    log.task(0, 0, 1)
    (tmp_path / "log").write_bytes(log.text())
    assert main(["workload", "import", "spark-eventlog", str(tmp_path / "log"), "--out", str(tmp_path / "w")]) == 2
    assert f"row {len(log.lines) - 1}" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()
