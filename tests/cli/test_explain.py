from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.cli import main


def test_text(shared_records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(shared_records), "--job", "j3", "--scheduler", "dag/fifo"]) == 0
    by_name = capsys.readouterr().out
    assert by_name.startswith("job 3 (j3) of kind")
    assert "the job arrived first of those with work to hand out" in by_name
    assert main(["explain", str(shared_records), "--job", "3", "--run", "dag-fifo-s0"]) == 0
    assert capsys.readouterr().out == by_name


def test_json(shared_records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(shared_records), "--job", "3", "--scheduler", "srtf", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"] == "dag-srtf-s0" and document["job"] == 3
    assert document["timeline"][0]["kind"] == "arrived"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--job", "99", "--run", "dag-fifo-s0"], "no job '99'; jobs are numbered 0 to 7"),
        (["--job", "j77", "--run", "dag-fifo-s0"], "did you mean 'j7'?"),
        (["--job", "3", "--run", "dag-fif-s0"], "did you mean 'dag-fifo-s0'?"),
        (["--job", "3", "--scheduler", "dag/fifoo"], "did you mean 'dag/fifo'?"),
        (["--job", "3"], "5 runs; name one of them with --run"),
        (["--job", "x"], "no job 'x'; jobs are numbered 0 to 7"),
        (["--job", "99"], "no job '99'; jobs are numbered 0 to 7"),
    ],
)
def test_errors(shared_records: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(shared_records), *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert message in found.err
