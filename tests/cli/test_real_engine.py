"""The commands against a real engine that `dovetail up` started: what a person would type, from start to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.cli import main

Capture = pytest.CaptureFixture[str]

JOB = """
name = "count"

[[stage]]
name = "count"
tasks = "*.txt"
command = ["wc", "-w", "{task}"]

[[stage]]
name = "length"
after = ["count"]
call = "builtins:len"
tasks = [["a", "b"], ["c"]]
"""


@pytest.fixture
def engine() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dvt-") as name:
        directory = Path(name)
        command = [sys.executable, "-m", "dovetail", "up", "--directory", name, "--executors", "2"]
        process = subprocess.Popen([*command, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        said = process.stderr.readline() + process.stderr.readline()
        assert "2 executors" in said and "clients over TCP" in said, said
        (directory / "address").write_text(said.rsplit("--connect ", 1)[1].split()[0])
        yield directory
        if (directory / "control.sock").exists():
            process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        process.stderr.close()


def test_a_job_file_from_submission_to_results(engine: Path, tmp_path: Path, capsys: Capture) -> None:
    for name, words in (("one", "a b c"), ("two", "d e")):
        (tmp_path / f"{name}.txt").write_text(words)
    (tmp_path / "job.toml").write_text(JOB)
    where = ["--directory", str(engine)]
    assert main(["submit", str(tmp_path / "job.toml"), "--results", "length", *where]) == 0
    assert capsys.readouterr().out.split() == ["2", "1"]
    assert main(["forget", "99", *where]) == 2
    assert "there is no job 99" in capsys.readouterr().err
    over_tcp = ["--connect", (engine / "address").read_text(), "--token-file", str(engine / "token")]
    assert main(["status", "--json", *over_tcp]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [job["state"] for job in status["jobs"]] == ["succeeded"] and status["executors"] >= 1
    assert main(["forget", "1", *where]) == 0 and not (engine / "jobs" / "1").exists()
    (engine / "wrong").write_text("not the right token at all\n")
    assert main(["status", *over_tcp[:3], str(engine / "wrong")]) == 2
    assert "token" in capsys.readouterr().err


def test_swap_and_adapt(engine: Path, tmp_path: Path, capsys: Capture) -> None:
    where = ["--directory", str(engine)]
    assert main(["adapt", *where]) == 2
    assert "dag/fair-spill, which does not adapt" in capsys.readouterr().err
    assert main(["swap", "dag/no-such", *where]) == 2
    assert "dag/no-such" in capsys.readouterr().err
    assert main(["swap", "dag/oracle-search", *where]) == 2  # nobody knows the future here
    assert "needs a world that tells the future" in capsys.readouterr().err
    assert main(["swap", "dag/adaptive:window_jobs=2", *where]) == 0
    assert "takes over from dag/fair-spill and starts afresh" in capsys.readouterr().err
    job = '[[stage]]\nname = "s"\ncommand = ["true"]\ntasks = 3\n'
    (tmp_path / "job.toml").write_text(job)
    for _ in range(6):
        assert main(["submit", str(tmp_path / "job.toml"), "--wait", *where]) == 0
    capsys.readouterr()
    assert main(["adapt", "--json", *where]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["compositions"] and told["events"][0]["kind"] == "start"
    assert main(["swap", "dag/adaptive:window_jobs=3", *where]) == 0
    assert "and goes on with its beliefs" in capsys.readouterr().err


def test_down_and_a_second_engine_in_the_same_place(engine: Path, capsys: Capture) -> None:
    assert main(["up", "--directory", str(engine)]) == 2
    assert "an engine is running there already" in capsys.readouterr().err
    assert main(["down", "--directory", str(engine)]) == 0
    deadline_s = time.monotonic() + 30.0
    while (engine / "control.sock").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    assert main(["status", "--directory", str(engine)]) == 2


def test_what_is_no_text_can_be_printed(engine: Path, tmp_path: Path) -> None:
    """Names of files are bytes, and tasks may return what no encoding has."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).write_text("a b")
    (tmp_path / "same.py").write_text("def same(x): return x")
    stage = '[[stage]]\nname = "s"\ntasks = "*.txt"\nretries = 0\n'
    (tmp_path / "job.toml").write_text(stage + 'call = "same:same"\n')
    (tmp_path / "bad.toml").write_text(stage + 'command = ["cat", "{task}", "/no/such/file"]\n')
    runs = {}
    for words in (["submit", "job.toml", "--results", "s"], ["submit", "bad.toml", "--wait"], ["status", "2"]):
        command = [sys.executable, "-m", "dovetail", *words, "--directory", str(engine)]
        runs[words[-1]] = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True
        )
    assert (runs["s"].returncode, runs["s"].stdout) == (0, f"{tmp_path}/\\udcff.txt\n")
    assert runs["--wait"].returncode == 1 and "udcff.txt" in runs["--wait"].stderr
    assert runs["2"].returncode == 0 and "udcff.txt" in runs["2"].stdout
