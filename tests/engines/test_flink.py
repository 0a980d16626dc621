"""A real Flink, steered: a job whose rate triples and falls, on slots of one machine.

`enrich` takes 10 ms for a record and `score` 25 ms, both by waiting, so a rate of 20 a second asks for 0.2 and 0.5
instances, and 60 for 0.6 and 1.5.  Time is scaled: a snapshot is 1 s, an interval 5 s.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.engines.virtual_flink import VirtualFlink, lost_and_doubled, why_not
from tests.engines.virtual_slurm import wait_until

from dovetail.cli import main
from dovetail.execution.engines.flink.client import FlinkClient
from dovetail.workloads.stream_source import open_stream

ROOT = Path(__file__).parents[2]
SCHEDULE = "8:20,18:60,10:20"  # seconds:records a second
TOTAL = 8 * 20 + 18 * 60 + 10 * 20
COSTS = {"enrich_ms": 10, "score_ms": 25}
FAST = ("--snapshot", "1", "--interval", "5", "--cooldown", "5", "--max-rescales", "100", "--slo", "1")
FAST += ("--latency", "queues", "--rollback", "off")
LEAD_S = 8.0  # before the first record comes: for the autoscaler to be there
ENDS_WITHIN_S = LEAD_S + 36.0 + 60.0
HPA = "stream/hpa:metric_s=5,stabilisation_s=15"


def autoscale(flink: VirtualFlink, scheduler: str, out: Path, *options: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "dovetail", "autoscale", "--flink", flink.url, "--scheduler", scheduler]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*words, *FAST, "--out", str(out), *options],
        env=env,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's `&` ignores it
    )


def events(out: Path, *names: str) -> list[dict[str, Any]]:
    file = out / "flink.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [line for line in lines if line["event"] in names]


@pytest.mark.parametrize("scheduler", ["stream/ds2:utilisation=0.7", "stream/sure", HPA])
def test_a_job_keeps_up_and_loses_nothing(
    flink: VirtualFlink, scheduler: str, tmp_path: Path, record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    name, out = scheduler.partition(":")[0].replace("/", "-"), tmp_path / "live"
    job = flink.submit(SCHEDULE, name=name, parallelism=1, lead_s=LEAD_S, **COSTS)
    running = autoscale(flink, scheduler, out, "--act", "--job", job, "--metrics-port", "0")
    try:
        wait_until(lambda: flink.state(job) == "FINISHED" or running.poll() is not None, "the job", ENDS_WITHIN_S)
        _, said = running.communicate(timeout=60)
    finally:
        if running.poll() is None:
            running.kill()
            running.communicate()
    assert running.returncode == 0, said
    assert flink.state(job) == "FINISHED", said
    written = flink.written(name)
    assert lost_and_doubled(written, TOTAL) == (0, 0, 0)
    rescales, late_s = events(out, "rescaled"), sorted(late for _, late, _ in written)
    figures = {"rescales": len(rescales), "down_s": sum(line["down_s"] for line in rescales)}
    figures |= {"mean_latency_s": sum(late_s) / TOTAL, "p99_latency_s": late_s[int(0.99 * TOTAL)]}
    with capsys.disabled():
        print(f"\n{scheduler}: " + ", ".join(f"{key} {value:.3g}" for key, value in figures.items()))
    for key, value in figures.items():
        record_property(key, value)
    assert rescales and all(line["down_from"] == "history" for line in rescales)
    most = max(line["parallelism"]["score"] for line in rescales)
    assert most >= 2, "one instance of `score` cannot do 60 records a second"
    assert main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0


def test_asking_for_more_than_there_is_is_said(flink: VirtualFlink, tmp_path: Path) -> None:
    """Flink accepts it, and gives what it has: by the guard rails that is only possible if slots go meanwhile."""
    job = flink.submit("600:20", name="capped", **COSTS)
    try:
        client = FlinkClient(flink.url)
        wanted = {one.vertex_id: 20 for one in client.job(job).vertices}
        client.ask(job, wanted)
        wait_until(lambda: set(client.job(job).parallelism.values()) == {flink.slots}, "the rescale")
        assert {most for _, most in client.requirements(job).values()} == {20}
    finally:
        flink.cancel(job)


def test_what_is_measured_of_a_job_is_what_it_does(flink: VirtualFlink, tmp_path: Path) -> None:
    out = tmp_path / "made"
    job = flink.submit("600:30", name="calibrated", **COSTS)
    try:
        words = ["--flink", flink.url, "--job", job, "--for", "10", "--snapshot", "1", "--rescales", "1"]
        assert main(["calibrate", "flink", *words, "--out", str(out)]) == 0
    finally:
        flink.cancel(job)
    table = open_stream(str(out)).table
    names = dict(zip(table.op_name, range(len(table.op_name)), strict=True))
    assert 0.010 <= table.op_service_s[names["enrich"]] <= 0.020
    assert 0.025 <= table.op_service_s[names["score"]] <= 0.040
    assert table.op_selectivity[names["enrich"]] == pytest.approx(1.0, rel=0.2)
    assert table.job_rate[0] == pytest.approx(30.0, rel=0.2)
    assert 0.01 < table.job_restart_s[0] < 20.0


def test_an_outage_is_survived_and_ctrl_c_is_clean(flink: VirtualFlink, tmp_path: Path) -> None:
    out = tmp_path / "live"
    job = flink.submit("600:20", name="outage", **COSTS)
    running = autoscale(flink, "stream/ds2", out, "--job", job)
    try:
        wait_until(lambda: bool(events(out, "would", "kept")), "a decision")
        flink.stop_job_manager()
        wait_until(lambda: len(events(out, "flink")) == 1, "the outage to be noticed")
        flink.resume_job_manager()
        wait_until(lambda: len(events(out, "flink")) == 2, "the end of the outage")
        assert not events(out, "decided", "rescaled")
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        assert running.returncode == 130
    finally:
        flink.resume_job_manager()
        if running.poll() is None:
            running.kill()
            running.communicate()
        flink.cancel(job)


def test_metrics_for_prometheus_are_served(flink: VirtualFlink, tmp_path: Path) -> None:
    job = flink.submit("600:20", name="watched", **COSTS)
    running = autoscale(flink, "stream/hpa", tmp_path / "live", "--job", job, "--metrics-port", "0")
    try:
        assert running.stderr is not None
        url = running.stderr.readline().split()[-1]
        time.sleep(3.0)
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read().decode()
        assert f'dovetail_operator_instances{{job="{job}",operator="score"}} 1' in text
    finally:
        running.kill()
        running.communicate()
        flink.cancel(job)


def test_a_cluster_without_the_adaptive_scheduler_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    other = VirtualFlink(slots=2, jobmanager__scheduler="default")
    try:
        other.start()
        other.submit("600:20", name="other", **COSTS)
        assert main(["autoscale", "--flink", other.url]) == 2
    finally:
        other.stop()
    assert "jobmanager.scheduler: adaptive" in capsys.readouterr().err
