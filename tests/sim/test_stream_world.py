"""The stream world: what it shows, what it refuses, and rescales worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.sim.stream_toys import Anything, Nothing, chain

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Reason, StreamDecision, StreamView
from dovetail.sim.stream import StreamOptions, StreamWorld, run

MINUTELY = StreamOptions(interval_s=60.0, snapshot_s=1.0, noise=0.0)


def world_of(workload: Any, options: StreamOptions = MINUTELY, **more: Any) -> StreamWorld:
    return StreamWorld(workload, options, SeedTree(0), **more)


# --- when, and what is shown ---------------------------------------------------------------------------------------


def test_the_first_interval_only_measures_and_after_the_last_nobody_is_asked() -> None:
    world = world_of(chain([0.01], 50.0, minutes=5))
    asked = []
    while (view := world.advance()) is not None:
        asked.append(view.time_s)
        assert world.advance() is view  # until it is answered
        world.apply([])
    assert asked == [60.0, 120.0, 180.0, 240.0]
    assert world.advance() is None
    assert world.time_s == 300.0
    result = world.result()
    assert result.start_s.tolist() == asked
    assert result.latency_s.shape == (4, 1)
    with pytest.raises(InvalidDecision, match="nothing to decide"):
        world.apply([])


def test_what_does_not_fill_an_interval_is_left_out() -> None:
    world = world_of(chain([0.01], 50.0, minutes=5), replace(MINUTELY, interval_s=120.0))
    assert len(run(world, Nothing(), np.random.default_rng(0)).start_s) == 1
    assert world.time_s == 240.0


@pytest.mark.parametrize("record", [False, True])
def test_views_are_the_newest_rows_read_only(record: bool) -> None:
    options = replace(MINUTELY, snapshot_s=20.0, history=7)
    rates = np.arange(1.0, 11.0) * 10
    world = world_of(chain([0.001, 0.001], rates), options, record=record)
    seen = 0
    while (view := world.advance()) is not None:
        seen += 1
        rows = min(3 * seen, 7)
        assert view.op_rate.shape == (rows, 2)
        assert view.job_rate.shape == (rows, 1)
        expected = np.repeat(rates, 3)[: 3 * seen][-7:]
        np.testing.assert_allclose(view.job_rate[:, 0], expected)
        np.testing.assert_allclose(view.op_input_rate[:, 0], expected)
        assert view.op_rate.flags.c_contiguous
        for name in StreamView._fields[2:]:
            assert not getattr(view, name).flags.writeable, name
        world.apply([])
    snapshots = world.result().snapshots
    if record:
        assert snapshots is not None
        np.testing.assert_allclose(snapshots.job_rate[:, 0], np.repeat(rates, 3))
    else:
        assert snapshots is None


def test_intervals_need_not_be_whole_snapshots() -> None:
    """A snapshot in which the parallelism changes: 100 records a second take one instance all its time, then half of
    each of two."""
    options = replace(MINUTELY, interval_s=90.0, snapshot_s=60.0)
    world = world_of(chain([0.005], 100.0, minutes=6, job_restart_s=np.zeros(1), op_variability=0.0), options)
    view = world.advance()
    assert view is not None and len(view.op_busy) == 1
    world.apply([StreamDecision(0, 2)])
    view = world.advance()
    assert view is not None and view.op_parallelism[:, 0].tolist() == [1, 2, 2]
    np.testing.assert_allclose(view.op_busy[:, 0], [0.5, 1 / 3, 0.25], atol=0.01)
    result = world.result()
    assert result.busy[0, 0] == pytest.approx(0.25, abs=0.01)


def test_the_clock_goes_round() -> None:
    world = world_of(chain([0.01], 50.0, minutes=5, clock_s=604_700.0))
    clocks = []
    while (view := world.advance()) is not None:
        clocks.append(view.clock_s)
        world.apply([])
    assert clocks == [604_760.0, 20.0, 80.0, 140.0]


def test_only_clairvoyant_schedulers_are_told_the_future() -> None:
    workload = chain([0.01, 0.02], [10.0, 20.0, 30.0], op_selectivity=[0.5, 1.0], job_restart_s=np.array([2.0]))
    world = world_of(replace(workload, op_state_mb=np.array([100.0, 300.0])))
    assert world.info_for(Nothing()).future is None

    class Seer(Nothing):
        CLAIRVOYANT = True

    future = world.info_for(Seer()).future
    assert future is not None
    np.testing.assert_allclose(future.rate, [[10.0, 20.0, 30.0]])
    np.testing.assert_allclose(future.operator_load_s, [0.01, 0.01])
    np.testing.assert_allclose(world.info.job_restart_s, [4.0])


def test_the_histogram_of_delays_counts_what_was_delivered() -> None:
    result = run(world_of(chain([0.01, 0.02], 40.0, minutes=20)), Nothing(), np.random.default_rng(0))
    assert result.delay_weight.sum() == pytest.approx(result.delivered.sum())
    total = np.cumsum(result.delay_weight[0])
    middle_s = result.delay_edges_s[np.searchsorted(total, total[-1] / 2)]
    assert middle_s == pytest.approx(result.latency_s[-1, 0], rel=0.07)
    assert len(result.delay_edges_s) == result.delay_weight.shape[1] + 1


# --- rescaling -----------------------------------------------------------------------------------------------------


def test_a_rescale_by_hand() -> None:
    """One instance does 100 a second and 50 come, so half a record is in it.  It is rescaled to two after a minute; the
    last checkpoint was 4 s before, at 56 s, with 50 x 56 - 0.5 records done; the restart takes 5 s.  At 65 s it goes on
    with 200 a second.  After one more second it is still at what was done before, then new records are delivered."""
    workload = chain([0.01], 50.0, minutes=4, op_variability=0.0, job_checkpoint_s=np.array([7.0]))
    world = world_of(workload, record=True)
    view = world.advance()
    assert view is not None and view.job_rescaled_s[0] == -np.inf
    assert view.job_lag[-1, 0] == pytest.approx(0.5)
    world.apply([StreamDecision(0, 2, Reason.TRUE_RATE, 1.5)])
    view = world.advance()
    assert view is not None
    assert view.job_rescaled_s[0] == 60.0 and not view.job_down[0] and view.parallelism[0] == 2
    np.testing.assert_allclose(view.job_down_share[:, 0], [1.0] * 5 + [0.0] * 55)
    # At 60 s records up to 2999.5 are out, and the next arrived at 59.99 s.  Nothing leaves until 66 s.
    np.testing.assert_allclose(view.job_latency_s[:6, 0], np.arange(1.0, 7.0) + 0.01)
    np.testing.assert_allclose(view.job_lag[:6, 0], 0.5 + 50.0 * np.arange(1.0, 7.0))
    # It waits at the source: from the checkpoint on, 200.5 records at 60 s; 200 of the 500 then at 66 s are done.
    np.testing.assert_allclose(view.op_queued[:6, 0], [250.5, 300.5, 350.5, 400.5, 450.5, 300.5])
    # In the next second it does 200 new ones: 3199.5, which came at 63.99 s, is out at 67 s.  Then there are no more
    # than 200.5 for the 202 that can be done or be in it.
    np.testing.assert_allclose(view.op_rate[5:8, 0], [200.0, 200.0, 200.5 * 200 / 202])
    assert view.job_latency_s[6, 0] == pytest.approx((6.01 + 3.01) / 2)
    np.testing.assert_allclose(view.op_busy[4:7, 0], [0.0, 1.0, 1.0])
    world.apply([])
    result_down = world.result()
    np.testing.assert_allclose(result_down.down_s[0], [5.0])
    assert result_down.rescaled[:, 0].tolist() == [True]
    assert result_down.decision_rows == ((0, 0, 1, 2, Reason.TRUE_RATE, 1.5),)
    # What left in that minute is what had arrived, up to the one record that two instances have in them now.
    assert result_down.delivered[0, 0] == pytest.approx(50.0 * 60, abs=0.01)


def test_a_restart_within_a_step() -> None:
    """Up again after 0.4 s: six tenths of the first second are left."""
    workload = chain([0.01], 50.0, minutes=3, op_variability=0.0, job_restart_s=np.array([0.4]))
    world = world_of(workload)
    world.advance()
    world.apply([StreamDecision(0, 3)])
    view = world.advance()
    assert view is not None
    np.testing.assert_allclose(view.job_down_share[:2, 0], [0.4, 0.0])
    assert view.op_rate[0, 0] == pytest.approx(50.5 * 180 / 183)  # of what waits; a checkpoint was taken just before


def test_state_takes_time_to_restore() -> None:
    workload = chain([0.01], 50.0, minutes=3, op_state_mb=3000.0)
    world = world_of(workload)
    world.advance()
    world.apply([StreamDecision(0, 2)])
    world.advance()
    np.testing.assert_allclose(world.result().down_s[0], [20.0])


def test_a_rescale_while_it_is_down_starts_it_anew() -> None:
    workload = chain([0.01], 50.0, minutes=6, job_restart_s=np.array([90.0]))
    world = world_of(workload)
    downs = []
    for parallelism in (2, 3, 3, 3, 3):
        view = world.advance()
        assert view is not None
        downs.append(bool(view.job_down[0]))
        world.apply([StreamDecision(0, parallelism)])
    world.advance()
    result = world.result()
    assert downs == [False, True, True, False, False]
    np.testing.assert_allclose(result.down_s[:, 0], [60.0, 60.0, 30.0, 0.0, 0.0])
    # It stands still: the age of the oldest record waiting is its latency.
    np.testing.assert_allclose(result.latency_s[:2, 0], [60.0, 120.0], atol=0.1)
    assert result.rescaled[:, 0].tolist() == [True, True, False, False, False]
    assert result.decisions == 2


def test_other_jobs_go_on() -> None:
    one = chain([0.01, 0.01], 50.0)
    both = replace(
        one,
        job_name=("a", "b"),
        job_slo_s=np.ones(2),
        job_restart_s=np.full(2, 5.0),
        job_checkpoint_s=np.full(2, 10.0),
        op_job=np.array([0, 1]),
        op_source=np.ones(2),
        edge_from=np.zeros(0, np.int64),
        edge_to=np.zeros(0, np.int64),
        edge_share=np.zeros(0),
        rate=np.repeat(one.rate, 2, axis=0),
    )
    world = world_of(both)
    world.advance()
    world.apply([StreamDecision(1, 2)])
    world.advance()
    result = world.result()
    assert result.rescaled[0].tolist() == [False, True]
    assert result.down_s[0].tolist() == [0.0, 5.0]
    assert result.latency_s[0, 0] < 0.05 < result.latency_s[0, 1]


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ([StreamDecision(2, 1)], "no operator 2; there are 0 to 1"),
        ([StreamDecision(-1, 1)], "no operator -1"),
        ([StreamDecision(1.0, 1)], "no operator 1.0"),
        ([StreamDecision(True, 1)], "no operator True"),
        ([StreamDecision(1, 0)], r"operator 1 \('op-1' of job 'job'\): parallelism 0; expected a whole number, 1 to 4"),
        ([StreamDecision(1, 5)], "parallelism 5; expected a whole number, 1 to 4"),
        ([StreamDecision(1, 2.0)], "parallelism 2.0"),
        ([StreamDecision(0, 2), StreamDecision(0, 2)], r"decision 1: operator 0 \('op-0' of job 'job'\): named twice"),
        ([StreamDecision(0, 3), StreamDecision(1, 4)], r"7 instances in all, 2 before, but there are 6 slots.*1 fewer"),
        ([StreamDecision(0, 2, 99)], "99 is not a Reason"),
        ([StreamDecision(0, 2, Reason.IDLE, "much")], "demand 'much'"),
        ([StreamDecision(0, 2, Reason.IDLE, -1.0)], "demand -1.0"),
        ([StreamDecision(0, 2), StreamDecision(1, 5)], "decision 1: operator 1"),
        ([None], "given None; expected a StreamDecision"),
        (None, "given None; expected a sequence of StreamDecision"),
    ],
)
def test_bad_decisions_are_refused_and_nothing_is_carried_out(decisions: Any, text: str) -> None:
    workload = chain([0.01, 0.02], 30.0, minutes=4, op_max=np.array([4, 4]), slots=6)
    world, other = world_of(workload), world_of(workload)
    view = world.advance()
    other.advance()
    with pytest.raises(InvalidDecision, match=text):
        world.apply(decisions)
    assert world.advance() is view
    world.apply([])
    other.apply([])
    for ours, theirs in zip(world.advance(), other.advance(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"step_s": 0.0}, "step_s is 0.0"),
        ({"snapshot_s": 1.5}, "snapshot_s is 1.5 s; expected a multiple of step_s, which is 1 s"),
        ({"interval_s": 60.5}, "interval_s is 60.5 s; expected a multiple"),
        ({"interval_s": 30.0, "snapshot_s": 60.0}, "nothing would have been measured"),
        ({"history": 0}, "history is 0"),
        ({"history": 2.5}, "whole number"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"restore_mb_s": 0.0}, "restore_mb_s"),
        ({"weight": 1.5}, "weight is 1.5"),
    ],
)
def test_options_that_make_no_sense(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        StreamOptions(**{"interval_s": 60.0, **changes})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"op_service_s": np.array([0.01, 0.0])},
            r"operator 'op-1' \(number 1\): op_service_s is 0.0; expected above 0",
        ),
        ({"op_skew": np.array([0.0, 1.5])}, "op_skew is 1.5; expected 0 to 1"),
        ({"op_buffer": np.array([np.inf, 1.0])}, "op_buffer is inf"),
        ({"op_start": np.array([1, 200])}, "op_start is 200; expected 1 to op_max"),
        ({"op_source": np.array([1.0, 1.0])}, "op_source is 1.0; expected 0, because others feed it"),
        ({"op_source": np.array([1.0])}, "op_source has 1 entries; expected 2"),
        ({"slots": 1}, "op_start takes 2 slots, but there are 1"),
        ({"rate": np.array([[10.0, -1.0, 2.0]])}, "rate is -1.0 in bin 1"),
        ({"rate": np.array([[10.0]])}, "expected two intervals at least"),
        ({"bin_s": 60.5}, "bin_s of the workload is 60.5 s; expected a multiple of step_s"),
        ({"clock_s": -1.0}, "clock_s is -1.0"),
        ({"job_slo_s": np.array([0.0])}, r"job 'job' \(number 0\): job_slo_s is 0.0"),
        ({"job_checkpoint_s": np.array([0.0])}, "job_checkpoint_s is 0.0"),
        ({"edge_from": np.array([1]), "edge_to": np.array([0])}, "edge 0 leads from operator 1 to 0"),
        ({"edge_to": np.array([2])}, "edges lead from or to operator 2"),
        ({"edge_share": np.array([-1.0])}, "edge_share has -1.0"),
        ({"op_job": np.array([0, 2])}, r"op_job is \[0, 2\]"),
    ],
)
def test_workloads_that_make_no_sense(changes: dict[str, Any], text: str) -> None:
    workload = replace(chain([0.01, 0.02], 30.0, minutes=4), **changes)
    with pytest.raises(ConfigError, match=text):
        world_of(workload)


def test_edges_out_of_order() -> None:
    workload = chain([0.01] * 3, 30.0)
    edges = {"edge_from": np.array([1, 0]), "edge_to": np.array([2, 1]), "edge_share": np.ones(2)}
    with pytest.raises(ConfigError, match="edge 1 is out of order"):
        world_of(replace(workload, **edges))


def test_a_rule_of_thumb_runs() -> None:
    """The protocol from end to end: enough instances for what came last keep the job quick."""

    class Enough(Anything):
        def decide(self, view: StreamView) -> list[StreamDecision]:
            demand = view.op_input_rate[-10:].mean(axis=0) * 0.01
            return [
                StreamDecision(i, int(np.ceil(each / 0.7)), Reason.TRUE_RATE, float(each))
                for i, each in enumerate(demand)
            ]

    rates = 500.0 * (1.2 + np.sin(np.arange(180) / 30))
    result = run(world_of(chain([0.01, 0.01], rates, parallelism=9)), Enough(), np.random.default_rng(0))
    still = run(world_of(chain([0.01, 0.01], rates, parallelism=9)), Nothing(), np.random.default_rng(0))
    assert still.latency_s.max() > 60.0
    assert np.median(result.latency_s) < 1.0
    assert result.reward.mean() > still.reward.mean()
