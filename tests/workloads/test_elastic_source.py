import numpy as np
import pytest
from tests.workloads.elastic_samples import record, recorded
from tests.workloads.samples import assert_same

from dovetail.core.errors import DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_source import ELASTIC, ElasticKind, open_elastic

TRACE = ElasticArrivals("trace")


def draw(name="oasis-small", num=30, arrivals=ElasticArrivals("poisson"), slots=100, seed=0):
    return open_elastic(name).sequence(num, arrivals, slots, SeedTree(seed))


@pytest.mark.parametrize("name", ELASTIC)
def test_bundled_workloads_and_their_settings(name):
    source = open_elastic(name)
    workload = source.sequence(source.jobs, source.arrivals, source.slots, SeedTree(0))
    assert workload.num_jobs == source.jobs
    assert (workload.slots, workload.slot_s) == (source.slots, source.slot_s)
    assert len(workload.history) == 200
    assert len(set(workload.job_name)) == source.jobs
    assert (workload.work >= 1).all()


def test_the_same_seed_gives_the_same_sequence():
    assert_same_sequence(draw(seed=3), draw(seed=3))


def test_another_seed_gives_another():
    assert draw(seed=3).work.tolist() != draw(seed=4).work.tolist()


def assert_same_sequence(one, other):
    for name in ("arrival", "work", "worker_demand", "server_demand", "utility", "batch_s"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert_same(one.history, other.history)


def test_jobs_do_not_depend_on_how_they_arrive_and_arrivals_not_on_the_jobs():
    poisson, uniform = draw(), draw(arrivals=ElasticArrivals("uniform"))
    assert poisson.work.tolist() == uniform.work.tolist()
    assert poisson.history.work.tolist() == uniform.history.work.tolist()
    other_jobs = draw("oasis-small:epochs=[1,1],worker_gpu=[0,0]")
    assert other_jobs.arrival.tolist() == poisson.arrival.tolist()
    assert other_jobs.work.tolist() != poisson.work.tolist()


def test_the_history_is_of_the_same_kind_but_other_jobs():
    workload = draw(num=200)
    assert workload.history.work.tolist() != workload.work.tolist()
    assert np.median(workload.history.work) == pytest.approx(np.median(workload.work), rel=0.4)


def test_the_length_of_the_history_does_not_move_the_jobs():
    assert len(draw("oasis-small:history=7").history) == 7
    assert draw("oasis-small:history=7").work.tolist() == draw().work.tolist()


def test_a_longer_sequence_has_the_same_first_jobs():
    assert draw(num=40).work[:30].tolist() == draw(num=30).work.tolist()


def test_kinds_take_the_place_of_the_drawn_speeds_and_leave_the_rest():
    from dataclasses import replace

    source = open_elastic("oasis-small")
    kinds = (ElasticKind("a", 2.0, 0.0), ElasticKind("b", 3.0, 10.0))
    found = replace(source, kinds=kinds).sequence(100, source.arrivals, 100, SeedTree(0))
    assert set(zip(found.batch_s.tolist(), found.gradient_mb.tolist(), strict=True)) == {(2.0, 0.0), (3.0, 10.0)}
    assert found.utility.tolist() == draw(num=100).utility.tolist()


def test_a_whole_record_keeps_its_slots():
    workload = recorded((1, 2, 2, 7)).sequence(4, TRACE, 10, SeedTree(0))
    assert workload.job_name == ("r0", "r1", "r2", "r3")
    assert workload.arrival.tolist() == [1, 2, 2, 7]
    assert len(workload.history) == 4  # too few before the window: all that were recorded


def test_a_window_starts_in_slot_0_and_fits_the_horizon():
    source = recorded((0, 5, 6, 20))
    for seed in range(10):
        workload = source.sequence(2, TRACE, 4, SeedTree(seed))
        assert workload.job_name == ("r1", "r2")
        assert workload.arrival.tolist() == [0, 1]


def test_windows_differ_by_seed():
    source = recorded(tuple(range(30)))
    assert len({source.sequence(5, TRACE, 10, SeedTree(seed)).job_name for seed in range(20)}) > 5


def test_the_history_of_a_window_is_what_was_recorded_before():
    source = recorded(tuple(range(60)))
    found = {}
    for seed in range(60):
        workload = source.sequence(5, TRACE, 10, SeedTree(seed))
        found[int(workload.job_name[0][1:])] = workload.history
    late = max(found)
    assert late >= 20 > min(found)
    assert sorted(found[late].work.tolist()) == list(range(1, late + 1))
    assert sorted(found[min(found)].work.tolist()) == list(range(1, 61))  # all, as there are too few
    assert found[late].arrival.max() < 10


def test_a_stored_history_is_taken_where_there_are_too_few_before():
    source = recorded(earlier=record((0, 0, 0)))
    assert len(source.sequence(4, TRACE, 10, SeedTree(0)).history) == 3


def test_jobs_drawn_from_a_record():
    workload = recorded().sequence(50, ElasticArrivals("uniform"), 10, SeedTree(0))
    assert set(workload.work) == {1, 2, 3, 4}
    assert len(workload.history) == 200
    assert workload.job_name[0] == "j0"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((0, TRACE, 10), "1 to"),
        ((2, TRACE, 0), "slots"),
        ((5, TRACE, 10), "5 jobs in a row asked for, 4 were recorded"),
        ((4, TRACE, 7), "took 8 slots or more"),
    ],
)
def test_sequences_that_cannot_be_are_refused(words, says):
    with pytest.raises(DovetailError, match=says):
        recorded().sequence(*words, SeedTree(0))


def test_a_distribution_has_no_trace():
    with pytest.raises(DovetailError, match="no recorded jobs"):
        draw(arrivals=TRACE)


def test_names_and_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'oasis-small'"):
        open_elastic("oasis-smal")
    with pytest.raises(DovetailError, match="no such directory"):
        open_elastic("no/such")
    (tmp_path / "file").write_text("")
    with pytest.raises(DovetailError, match="not a directory"):
        open_elastic(tmp_path / "file")
