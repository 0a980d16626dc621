"""elastic/fifo on toys: two GPUs, solved by hand."""

import pytest
from tests.schedulers.heuristic.elastic.playing import play, workers_in

from dovetail.core.elastic import SERVER, Reason
from dovetail.schedulers.heuristic.elastic.fifo import Fifo
from dovetail.testing.elastic_tiny import TinyJob

JOBS = [TinyJob(4, most=2), TinyJob(2, most=1), TinyJob(2, most=2, gpu=0)]


def test_a_job_that_does_not_fit_holds_up_the_others():
    result = play(Fifo(Fifo.Params(workers=2)), JOBS)
    assert [workers_in(result, slot) for slot in range(4)] == [[2, 0, 0], [2, 0, 0], [0, 1, 2], [0, 1, 0]]
    assert result.finish.tolist() == [1, 3, 2]
    assert {row.reason for row in result.decision_log} == {Reason.FIRST_ARRIVED}


def test_or_is_overtaken_if_that_is_allowed():
    result = play(Fifo(Fifo.Params(workers=2, strict=False)), JOBS)
    assert result.finish.tolist() == [1, 3, 0]


def test_all_workers_at_once_or_none():
    result = play(Fifo(Fifo.Params(workers=2)), [TinyJob(2, most=1), TinyJob(2, most=2)])
    assert [workers_in(result, slot) for slot in range(3)] == [[1, 0], [1, 0], [0, 2]]


def test_fewer_workers_where_the_cluster_holds_no_more():
    """Eight are asked for; two GPUs are there."""
    result = play(Fifo(Fifo.Params(workers=8)), [TinyJob(5, most=8)])
    assert [workers_in(result, slot) for slot in range(3)] == [[2], [2], [2]]


def test_the_number_stays_fixed_when_room_is_left():
    result = play(Fifo(Fifo.Params(workers=1)), [TinyJob(3, most=4)])
    assert result.finish.tolist() == [2]


def test_a_job_that_fits_nowhere_is_rejected_and_holds_nobody_up():
    result = play(Fifo(), [TinyJob(1, gpu=3), TinyJob(1)])
    assert result.rejected.tolist() == [0, -1]
    assert result.finish.tolist() == [-1, 0]
    assert Reason.CANNOT_FINISH in {row.reason for row in result.decision_log}


def test_parameter_servers_cover_the_bandwidth():
    """Four workers of 2 Gbit/s need two servers of 5."""
    result = play(Fifo(Fifo.Params(workers=4)), [TinyJob(4, gpu=0, bandwidth=2.0)])
    servers = result.used[result.used[:, 2] == SERVER]
    assert servers[:, 4].sum() == 2


def test_a_number_of_workers_below_one_is_refused():
    with pytest.raises(ValueError, match="1 or more"):
        Fifo.Params(workers=0)
