"""Live runs become records, and jobs become workloads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.execution.flink.paper_flink import PaperClient, PaperFlink
from tests.execution.flink.test_controller import OPTIONS, Play, Scripted

from dovetail.core.errors import ConfigError, RecordError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.metrics_stream import run_metrics
from dovetail.execution.engines.flink.calibrate import Fitted, fit
from dovetail.execution.engines.flink.record import Recorder
from dovetail.execution.engines.flink.snapshot import Snapshot, measure
from dovetail.execution.engines.flink.view import info_of, limits
from dovetail.records import StreamRun, read_run, write_run
from dovetail.workloads.stream_source import open_stream
from dovetail.workloads.stream_store import write_stream


class Recorded(Play):
    """As the loop keeps it."""

    def __init__(self, paper: PaperFlink, scheduler: Scripted) -> None:
        self.recorder: Recorder | None = None
        super().__init__(paper, scheduler)

    def step(self) -> None:
        super().step()
        if self.recorder is None:
            assert self.controller.info is not None
            self.recorder = Recorder(self.controller.info, 1.0)
        self.recorder.carried_out(self.controller.carried_out)
        self.recorder.add(self.controller.fresh)


@pytest.fixture(scope="module")
def run() -> StreamRun:
    play = Recorded(PaperFlink(rate=8.0), Scripted({1: 2}))
    play.run(17)
    assert play.recorder is not None
    return play.recorder.run("stream/mine", 3, {})


def test_a_record_is_whole(run: StreamRun, tmp_path: Path) -> None:
    write_run(tmp_path / run.run, run)
    again = read_run(tmp_path / run.run)
    assert isinstance(again, StreamRun)
    assert again.num_intervals == 3 and again.run == "stream-mine-s3"
    assert again.decisions.after.tolist() == [2] and again.decisions.interval.tolist() == [0]
    assert again.of_jobs("rescaled")[:, 0].tolist() == [True, False, False]
    assert again.of_jobs("down_s")[0, 0] == pytest.approx(0.5)
    assert again.of_jobs("arrived")[:, 0] == pytest.approx([32.0] * 3, rel=0.2)
    assert again.operators.service_s[1] == pytest.approx(0.1, rel=0.05)
    assert len(again.snapshots) == 17 or len(again.snapshots) == 16


def test_its_metrics_are_those_of_the_family(run: StreamRun) -> None:
    metrics = run_metrics(run)
    assert metrics["rescales"] == 1.0
    assert metrics["instance_hours"] == pytest.approx(4 * 4.0 * 3 / 3600.0)


def test_too_short_a_run_has_no_record() -> None:
    play = Recorded(PaperFlink(), Scripted())
    play.run(5)
    assert play.recorder is not None
    with pytest.raises(RecordError, match="no interval after the first decision"):
        play.recorder.run("stream/mine", 0, {})


def fitted(paper: PaperFlink, seconds: int = 20, stops_s: tuple[float, ...] = (0.4, 0.6, 0.5)) -> Fitted:
    client = PaperClient(paper)
    last = first = client.look()
    rows: list[Snapshot] = []
    for _ in range(seconds):
        paper.run(1.0)
        look = client.look()
        rows.append(measure(last, look, 0.0, rows[-1] if rows else None, "queues"))
        last = look
    info = info_of(first, *limits(first.job, ()), OPTIONS, 1.0)
    return fit("paper", info, rows, last, stops_s, client.checkpoint_s(last.job.job_id), client.state_bytes("a" * 32))


def test_a_job_is_found_again_in_the_workload_made_of_it(tmp_path: Path) -> None:
    made = fitted(PaperFlink(rate=8.0))
    table = made.source.table
    assert table.op_service_s == pytest.approx([1e-4, 0.1, 1e-4], rel=0.01)
    assert table.op_selectivity == pytest.approx([1.0, 1.0, 0.0])
    assert table.op_source.tolist() == [1.0, 0.0, 0.0]
    assert table.op_state_mb.tolist() == [0.0, 3.0, 0.0]
    assert table.job_restart_s[0] == pytest.approx(0.5) and table.job_checkpoint_s[0] == 1.0
    assert table.job_rate[0] == pytest.approx(8.0, rel=0.01)
    write_stream(made.source, tmp_path / "paper")
    sequence = open_stream(str(tmp_path / "paper")).sequence(None, SeedTree(0))
    assert sequence.gain == pytest.approx([1.0, 1.0, 1.0])
    assert sequence.rate.shape == (1, 20)


def test_what_was_not_seen_is_said() -> None:
    paper = PaperFlink(rate=8.0)
    paper.checkpoint_ms = 0
    notes = " ".join(fitted(paper, stops_s=()).notes)
    assert "no rescale was seen" in notes and "no checkpoints" in notes and "variability" in notes


def test_a_job_without_work_cannot_be_fitted() -> None:
    with pytest.raises(ConfigError, match="no records came"):
        fitted(PaperFlink(rate=0.0))
    with pytest.raises(ConfigError, match="a longer --for"):
        fitted(PaperFlink(), seconds=1)


def test_skew_is_by_the_busiest_instance() -> None:
    made = fitted(PaperFlink(rate=8.0, parallelism=4))
    assert made.source.table.op_skew == pytest.approx(np.zeros(3), abs=1e-6)
