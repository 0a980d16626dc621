from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.records import RecordWriter


def test_all_runs(shared_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.json.gz"
    assert main(["export", str(shared_records), "--perfetto", str(path)]) == 0
    found = capsys.readouterr()
    assert found.out == f"{path}\n"
    assert "ui.perfetto.dev" in found.err
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert names == [f"dag/{name}, seed 0" for name in ("fair", "fifo", "random", "sjf-cp", "srtf")]


def test_chosen_runs(shared_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.json"
    runs = ["--run", "dag-srtf-s0", "--run", "dag-fifo-s0"]
    assert main(["export", str(shared_records), "--perfetto", str(path), *runs]) == 0
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2}
    assert main(["export", str(shared_records), "--perfetto", str(path), "--run", "dag-fifo"]) == 2
    assert "did you mean 'dag-fifo-s0'?" in capsys.readouterr().err


def test_nothing_kept_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="dag", workload={}, options={}, seeds=[0])
    writer.add("dag/fifo", 0, {"avg_jct_s": 1.0})
    assert main(["export", str(tmp_path / "r"), "--perfetto", str(tmp_path / "t.json")]) == 2
    assert "no run was kept in full" in capsys.readouterr().err
