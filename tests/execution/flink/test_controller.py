"""The controller on paper: looks in, instructions out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.execution.flink.paper_flink import START_S, PaperClient, PaperFlink

from dovetail.core.errors import ConfigError, InvalidDecision, UnknownName
from dovetail.core.stream import Reason, StreamDecision, StreamInfo, StreamView
from dovetail.execution.engines.flink.controller import FlinkController
from dovetail.execution.engines.flink.messages import Ask, Bound, FlinkOptions, Glance, Note
from dovetail.schedulers.heuristic.stream.ds2 import Ds2
from dovetail.schedulers.heuristic.stream.hpa import Hpa

OPTIONS = FlinkOptions(act=True, interval_s=4.0, snapshot_s=1.0, cooldown_s=0.0, most_per_hour=100, slo_s=2.0)


class Scripted:
    """Wants these instances of the operators at its decisions, one after another, and then no change."""

    def __init__(self, *script: dict[int, int]) -> None:
        self.script = list(script)
        self.views: list[StreamView] = []

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self.info = info

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        self.views.append(view)
        wanted = self.script.pop(0) if self.script else {}
        return [StreamDecision(i, many, Reason.TRUE_RATE, 1.5) for i, many in wanted.items()]


class Play:
    """A job on paper and its controller; what is asked for is done."""

    def __init__(
        self, paper: PaperFlink, scheduler: Any, options: FlinkOptions = OPTIONS, fallback: Any = None
    ) -> None:
        self.paper, self.client = paper, PaperClient(paper)
        names = ("stream/mine", "stream/other")
        rng = np.random.default_rng(0)
        self.controller = FlinkController(scheduler, fallback or Hpa(), names, options, rng)
        self.notes: list[Note] = []
        self.step()

    def step(self) -> None:
        for one in self.controller.step(self.client.look()):
            if isinstance(one, Note):
                self.notes.append(one)
            else:
                assert isinstance(one, Ask)
                self.client.ask("a" * 32, one.wanted)

    def run(self, snapshots: int) -> None:
        for _ in range(snapshots):
            self.paper.run(1.0)
            self.step()

    def events(self) -> list[str]:
        return [note.event for note in self.notes]

    def note(self, event: str) -> Note:
        return next(note for note in self.notes if note.event == event)


def test_a_view_has_what_was_measured() -> None:
    scheduler = Scripted()
    play = Play(PaperFlink(rate=8.0), scheduler)
    play.run(4)
    (view,) = scheduler.views
    assert view.time_s == pytest.approx(4.0)
    assert view.op_rate.shape == (4, 3)
    assert view.op_rate[-1] == pytest.approx([8.0, 8.0, 8.0])
    assert view.op_busy[-1] == pytest.approx([8e-4, 0.8, 8e-4])
    assert view.job_rate[-1] == pytest.approx([8.0])
    assert not view.op_rate.flags.writeable and not view.job_down.any()
    info = scheduler.info
    assert info.operator_name == ("Source: source", "map", "sink")
    assert info.operator_max.tolist() == [8, 8, 8] and info.slots == 24
    assert info.edge_from.tolist() == [0, 1] and info.edge_to.tolist() == [1, 2]


def test_records_that_wait_at_the_source_count_as_come() -> None:
    scheduler = Scripted()
    Play(PaperFlink(rate=30.0), scheduler).run(4)
    view = scheduler.views[0]
    assert view.op_rate[-1, 1] == pytest.approx(10.0)
    assert view.op_input_rate[-1, 0] == pytest.approx(30.0, rel=0.05)
    assert view.op_queued[-1, 0] == pytest.approx(80.0, rel=0.05)
    assert view.op_blocked[-1, 0] > 0.9
    assert view.job_latency_s[-1, 0] > 5.0


def test_ds2_sets_a_job_right_in_one_step() -> None:
    play = Play(PaperFlink(rate=30.0), Ds2(Ds2.Params(utilisation=0.8)))
    play.run(7)
    assert play.paper.asked == [[1, 4, 1]]
    assert play.note("decided").facts["demand"]["map"] == pytest.approx(3.0, rel=0.05)
    assert play.note("rescaled").facts["parallelism"] == {"Source: source": 1, "map": 4, "sink": 1}


def test_nothing_is_touched_without_act() -> None:
    play = Play(PaperFlink(rate=30.0), Ds2(), replace(OPTIONS, act=False))
    play.run(12)
    assert play.paper.asked == []
    assert play.events().count("would") == 3


def test_every_vertex_is_named_in_a_request() -> None:
    play = Play(PaperFlink(), Scripted({1: 2}))
    play.run(4)
    assert play.paper.asked == [[1, 2, 1]]


@pytest.mark.parametrize(("history", "basis"), [(True, "history"), (False, "asked")])
def test_downtime_is_by_flinks_own_times(history: bool, basis: str) -> None:
    paper = PaperFlink(restart_s=0.5)
    paper.history = history
    play = Play(paper, Scripted({1: 2}))
    play.run(6)
    facts = play.note("rescaled").facts
    assert facts["down_s"] == pytest.approx(0.5) and facts["down_from"] == basis
    assert play.controller.rows[4].down_share == pytest.approx(0.5)
    assert play.controller.info is not None
    assert play.controller.info.job_restart_s[0] == pytest.approx(0.5)


def test_without_history_a_glance_sees_the_job_go_down() -> None:
    paper = PaperFlink(restart_s=0.5)
    paper.history = False
    play = Play(paper, Scripted({1: 2}))
    play.run(4)
    play.controller.glance(Glance(paper.now_s + 0.1, "RESTARTING", paper.now_s))
    play.run(1)
    assert play.note("rescaled").facts["down_from"] == "timeline"


def test_fewer_instances_than_asked_for_are_said() -> None:
    play = Play(PaperFlink(slots=4), Scripted({1: 4}), replace(OPTIONS, patience_s=60.0))
    play.paper.granted = 3
    play.run(6)
    assert "map 3 of 4" in play.note("capped").text


def test_nobody_is_asked_while_a_rescale_is_under_way() -> None:
    scheduler = Scripted({1: 2}, {1: 3})
    play = Play(PaperFlink(restart_s=5.5), scheduler)
    play.run(9)
    assert len(scheduler.views) == 1
    assert play.note("held").facts["why"] == "down"


def test_a_rescale_that_does_not_come_is_given_up() -> None:
    play = Play(PaperFlink(), Scripted({1: 2}), replace(OPTIONS, patience_s=3.0))
    play.paper._ask = lambda wanted: {}  # type: ignore[method-assign]  # it is heard, and nothing happens
    play.run(9)
    assert "stuck" in play.events() and not play.controller.is_waiting


def test_counters_that_begin_again_are_no_negative_rates() -> None:
    play = Play(PaperFlink(rate=8.0), Scripted())
    play.run(3)
    play.paper.restart()
    play.run(3)
    assert "restarted" in play.events()
    for row in play.controller.rows:
        assert (row.rate >= 0).all() and (row.busy <= 1.0).all()
    assert play.controller.rows[-1].rate[1] == pytest.approx(8.0, rel=0.3)


def test_an_outage_is_filled_with_the_mean() -> None:
    play = Play(PaperFlink(rate=8.0), Scripted())
    play.run(2)
    play.paper.run(3.0)
    play.step()
    assert len(play.controller.rows) == 5
    assert play.controller.rows[-1].rate[1] == pytest.approx(8.0)


def test_cool_down_and_budget_hold_a_rescale() -> None:
    play = Play(PaperFlink(), Scripted({1: 2}, {1: 3}), replace(OPTIONS, cooldown_s=60.0))
    play.run(9)
    assert play.paper.asked == [[1, 2, 1]]
    assert "cool-down" in play.note("held").facts["why"]
    play = Play(PaperFlink(), Scripted({1: 2}, {1: 3}), replace(OPTIONS, most_per_hour=1))
    play.run(9)
    assert play.paper.asked == [[1, 2, 1]]
    assert "1 at most" in play.note("held").facts["why"]


def test_bounds_hold_for_every_scheduler() -> None:
    bounds = (Bound("", 1, 6), Bound("map", 3, 4))
    play = Play(PaperFlink(), Scripted({1: 2, 2: 2}), replace(OPTIONS, bounds=bounds))
    play.run(5)
    assert play.paper.asked == [[1, 3, 2]]
    assert play.controller.info is not None
    assert play.controller.info.operator_max.tolist() == [6, 4, 6]


@pytest.mark.parametrize(
    ("bound", "error", "said"),
    [
        (Bound("mop", 1, 2), UnknownName, "did you mean 'map'"),
        (Bound("s", 1, 2), ConfigError, "in the names of 2"),
        (Bound("map", 65), ConfigError, "Flink gives it 64 at most"),
    ],
)
def test_bounds_of_nobody_are_refused(bound: Bound, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Play(PaperFlink(), Scripted(), replace(OPTIONS, bounds=(bound,)))


def test_a_rescale_that_made_it_worse_is_undone() -> None:
    play = Play(PaperFlink(rate=15.0, parallelism=2), Scripted({1: 1}))
    play.run(12)
    assert play.paper.asked == [[2, 1, 2], [2, 2, 2]]
    assert "though no more comes" in play.note("rollback").text


def test_more_load_is_no_reason_to_undo_a_rescale() -> None:
    play = Play(PaperFlink(rate=8.0, parallelism=2), Scripted({1: 1}))
    play.run(5)
    play.paper.rate = 30.0
    play.run(8)
    assert "rollback" not in play.events()


def test_the_fallback_decides_while_metrics_are_missing() -> None:
    scheduler, fallback = Scripted(), Scripted({2: 2})
    play = Play(PaperFlink(), scheduler, OPTIONS, fallback)
    play.run(4)
    play.paper.hidden = {"numRecordsIn", "numRecordsOut"}
    play.run(4)
    assert play.note("fallback").facts["missing"]["map"] == ["records"]
    assert len(scheduler.views) == 1 and len(fallback.views) == 1
    assert play.paper.asked == [[1, 1, 2]]
    play.paper.hidden = set()
    play.run(8)
    assert "metrics" in play.events() and len(scheduler.views) == 3


def test_of_what_was_never_measured_nothing_is_changed() -> None:
    paper = PaperFlink()
    paper.hidden = {"accumulateBusyTimeMs"}
    play = Play(paper, Scripted(), OPTIONS, Scripted({0: 2, 1: 2, 2: 2}))
    play.run(4)
    assert paper.asked == []
    assert play.note("fallback").facts["missing"]["map"] == ["busy time"]


@pytest.mark.parametrize("decision", [{7: 1}, {1: 0}, {1: 99}])
def test_impossible_decisions_are_refused_as_a_whole(decision: dict[int, int]) -> None:
    play = Play(PaperFlink(), Scripted(decision))
    with pytest.raises(InvalidDecision, match="expected"):
        play.run(4)
    assert play.paper.asked == []


def test_more_slots_set_the_limits_anew() -> None:
    scheduler = Scripted()
    play = Play(PaperFlink(slots=4), scheduler)
    play.run(2)
    play.paper.slots = 10
    play.run(1)
    assert scheduler.info.operator_max.tolist() == [10, 10, 10]
    assert "slots" in play.events()


def test_slots_that_were_just_given_up_are_no_fewer() -> None:
    scheduler = Scripted()
    play = Play(PaperFlink(slots=8), scheduler)
    play.run(2)
    play.paper.slots = 6
    play.run(50)
    assert scheduler.info.operator_max.tolist() == [8, 8, 8]
    play.run(20)
    assert scheduler.info.operator_max.tolist() == [6, 6, 6]


def test_the_end_of_a_job_is_the_end() -> None:
    play = Play(PaperFlink(), Scripted())
    play.paper.state = "FINISHED"
    play.step()
    assert play.controller.over and play.events()[-1] == "ended"


def test_what_is_refused_is_not_under_way() -> None:
    play = Play(PaperFlink(), Scripted({1: 2}))
    play.paper.run(4.0)
    list(play.controller.step(play.client.look()))
    assert play.controller.is_waiting
    assert "exceeds" in play.controller.refused("it exceeds its maximum").text
    assert not play.controller.is_waiting


def test_time_begins_with_the_first_look() -> None:
    play = Play(PaperFlink(), Scripted())
    play.run(1)
    assert play.controller.rows[0].end_s == pytest.approx(START_S + 1.0)
    assert math.isfinite(play.controller.rows[0].job_latency_s)
