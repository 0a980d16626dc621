"""elastic/srtf on toys."""

from tests.schedulers.heuristic.elastic.playing import play, workers_in

from dovetail.core.elastic import Reason
from dovetail.schedulers.heuristic.elastic.srtf import Srtf
from dovetail.testing.elastic_tiny import TinyJob


def test_the_shortest_first_with_all_it_can_use():
    result = play(Srtf(), [TinyJob(6), TinyJob(3)])
    assert [workers_in(result, slot) for slot in range(5)] == [[0, 2], [1, 1], [2, 0], [2, 0], [1, 0]]
    assert {row.reason for row in result.decision_log} == {Reason.LEAST_WORK_LEFT}


def test_work_left_counts_and_a_newcomer_takes_over():
    result = play(Srtf(), [TinyJob(8), TinyJob(2, arrival=1)])
    assert result.finish.tolist() == [4, 1]
    result = play(Srtf(), [TinyJob(4), TinyJob(3, arrival=1)])  # two worker-slots of the first are left
    assert result.finish.tolist() == [1, 3]
