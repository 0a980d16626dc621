"""The experiment on the public trace of 2023: how it is split, and that the whole script runs on a made-up trace."""

from __future__ import annotations

import json
import sys

import commands
import gpu_settings
import gpu_trace
import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.workloads.gpu_source import open_gpu

PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"


def made_up(folder, pods=120):
    rng = np.random.default_rng(0)
    (folder / gpu_trace.TRACE).mkdir(parents=True)
    lines = [
        f"p{i},4000,8192,1,{rng.choice([500, 1000])},,LS,Running,{60 * i},{60 * i + work},{60 * i}\n"
        for i, work in enumerate(rng.integers(60, 30_000, pods))
    ]
    (folder / gpu_trace.TRACE / "openb_pod_list_default.csv").write_text(PODS + "".join(lines))
    return folder


def start(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["experiments/gpu_trace.py", *map(str, words)])
    gpu_trace.main()


def test_it_runs_keeps_and_records(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(gpu_settings, "PUBLISHED", ("gpu/fifo+first-fit", "gpu/tetris"))
    monkeypatch.setattr(gpu_settings, "MODERN", ("gpu/srtf+topology",))
    words = ("--data", made_up(tmp_path / "data"), "--out", tmp_path / "runs", "--das", "--jobs", 5, "--load", 2)
    start(monkeypatch, *words, "--write")
    written = (tmp_path / "results" / "gpu_trace.md").read_text()
    jobs = {name: open_gpu(tmp_path / "runs" / "parts" / name).recorded for name in gpu_trace.PARTS}
    assert f"{jobs['test'].num_jobs // 5} windows of 5 jobs that share none" in written and "## Load 2" in written
    names = [name for record in jobs.values() for name in record.job_name]
    assert len(names) == len(set(names)) < 120  # services are left out
    assert all(record.work_s.max() <= gpu_trace.LONGEST_S for record in jobs.values())
    start(monkeypatch, *words, "--part", "validation")
    assert "The validation part" in capsys.readouterr().out
    assert not (tmp_path / "results" / "gpu_trace_validation.md").exists()


def test_it_trains_on_the_first_part(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="training needs torch: pip install 'dovetail[learn]'")
    monkeypatch.setattr(gpu_settings, "PUBLISHED", ("gpu/fifo+first-fit",))
    monkeypatch.setattr(gpu_settings, "MODERN", ())
    plan = ("rules=1", "pairs=2", "iterations=0", "neighbours=2", "warm_up=0", "sequences=2", "validation=1")
    words = [word for each in plan for word in ("--set", each)]
    words += ["--data", made_up(tmp_path / "data"), "--out", tmp_path / "runs", "--jobs", 5, "--load", 2]
    start(monkeypatch, *words)
    shown = capsys.readouterr().out
    assert "**`gpu/das` (trained)**" in shown and "**`gpu/das` (bundled)**" in shown
    card = json.loads((tmp_path / "runs" / "network" / "checkpoint.json").read_text())
    (setting,) = card["settings"]
    assert setting["workload"] == str(tmp_path / "runs" / "parts" / "train") and setting["jobs"] == 5
    assert "--profile quick" in card["command"]


def test_what_cannot_be_is_refused(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="no such folder; --data names"):
        start(monkeypatch, "--data", tmp_path)
    data = made_up(tmp_path / "data")
    with pytest.raises(SystemExit, match="more than the part has"):
        start(monkeypatch, "--data", data, "--out", tmp_path / "runs", "--das", "--jobs", 1000)


@needs_data("alibaba-gpu2023")
def test_parts_of_the_public_trace(tmp_path):
    """Twenty windows to judge by, none of whose jobs came before the last that may be learned from."""
    parts = {name: open_gpu(gpu_trace.part_of(name, DATA, tmp_path)) for name in gpu_trace.PARTS}
    assert parts["test"].jobs // gpu_trace.JOBS == 20
    assert sum(part.jobs for part in parts.values()) == 6952
    assert len({name for part in parts.values() for name in part.recorded.job_name}) == 6952
    assert {part.cluster.machines for part in parts.values()} == {4}
