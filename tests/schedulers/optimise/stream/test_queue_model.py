"""What a parallelism is worth: against queues with a known answer, and against the simulator."""

from dataclasses import replace

import numpy as np
import pytest
from tests.schedulers.stream_views import info_of
from tests.sim.stream_toys import chain

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamFuture, StreamInfo
from dovetail.schedulers.heuristic.stream.fixed import Fixed
from dovetail.schedulers.optimise.stream.queue_fit import QueueFit
from dovetail.schedulers.optimise.stream.queue_model import JobModel, Outlook
from dovetail.schedulers.optimise.stream.told import at_lowest_price, rates_between
from dovetail.sim.stream import StreamOptions, StreamWorld, run


class Known(QueueFit):
    """Nothing to be found out."""

    known = property(lambda self: np.ones(len(self.skew), dtype=np.bool_))
    service_s = property(lambda self: self.given)

    def __init__(self, info: StreamInfo, service_s: list[float]) -> None:
        super().__init__(info)
        self.given = np.array(service_s)


def model_of(service_s: list[float], edges=None, noise: float = 0.0, rates=((10.0,),)) -> JobModel:
    names = [f"op-{i}" for i in range(len(service_s))]
    future = StreamFuture(60.0, np.array(rates), np.array(service_s))
    info = info_of(*names, edges=edges, future=future)
    return JobModel.of(info, 0, Known(info, service_s), noise)


def test_mm1_queues_one_after_the_other():
    """S / (1 - r) each: 0.05 / 0.5 + 0.02 / 0.8."""
    outlook = Outlook(model_of([0.05, 0.02]), np.full(3, 10.0), 3600.0)
    assert outlook.latency_s(np.array([[1, 1]])).tolist()[0] == pytest.approx([0.125] * 3)
    assert outlook.utilisation(np.array([[1, 1], [2, 1]]))[:, 0].tolist() == pytest.approx([0.35, 0.225])


def test_latency_is_that_of_the_longest_path():
    fork = Outlook(model_of([0.01, 0.05, 0.02], edges=[(0, 1), (0, 2)]), np.full(2, 10.0), 3600.0)
    assert fork.latency_s(np.array([[1, 1, 1]]))[0, 0] == pytest.approx(0.01 / 0.9 + 0.05 / 0.5)


def test_what_is_beyond_the_capacity_piles_up_and_is_worked_off():
    """20 a second can be done, 30 come in the first minute, 5 in others: 600 wait at its end, 0 after 40 s more.

    In a full queue records wait some seconds besides: as long as one that is all but full can grow in a minute.
    """
    outlook = Outlook(model_of([0.05]), np.array([30.0, 5.0, 5.0]), 60.0)
    piled = outlook.latency_s(np.array([[1]]))[0] - outlook.latency_s(np.array([[10]]))[0]
    assert piled.tolist() == pytest.approx([15.0, 15.0, 0.0], abs=2.0)


def test_records_that_pile_up_wait_once_where_it_takes_longest():
    """Two in a row that can do 20 a second, and 30 come: the second is never handed more than it can do."""
    rate = np.array([30.0, 5.0, 5.0])
    outlook = Outlook(model_of([0.05, 0.05]), rate, 60.0)
    one, both = (outlook.latency_s(np.array([[1, second]]))[0] for second in (10, 1))
    piled = Outlook(model_of([0.05]), rate, 60.0).piled_s[0, 0]
    assert piled.tolist() == pytest.approx([15.0, 15.0, 0.0], abs=2.0)
    assert both[0] - one[0] < 0.3 * piled[0]  # not as much again
    assert Outlook(model_of([0.05]), np.full(3, 5.0), 60.0).piled_s is None


def test_noise_makes_queues_longer():
    calm, noisy = (
        Outlook(model_of([0.05], noise=n), np.full(1, 16.0), 3600.0).latency_s(np.array([[1]])) for n in (0, 0.1)
    )
    assert noisy[0, 0] > 1.05 * calm[0, 0]


def test_the_best_is_the_best_of_all():
    model = model_of([0.05, 0.3])
    outlook = Outlook(model, np.array([8.0, 10.0, 14.0, 10.0]), 60.0)
    everything = np.array([(a, b) for a in range(1, 11) for b in range(1, 11)])
    worth = outlook.worth(everything, 4)[0][:, 0]
    assert outlook.best(4).tolist() == everything[worth.argmax()].tolist()
    assert outlook.best(4, price=10.0).tolist() == [1, 1]


def test_a_restart_costs_the_area_of_a_delay_that_falls_to_nothing():
    """10 s, and half of the capacity left: 10 s fall to 0 within 20 s, 100 in all, of 3600 s; 0.7 for each 2 s."""
    outlook = Outlook(model_of([0.05]), np.full(60, 10.0), 60.0)
    loss = outlook.restart_loss(np.array([[1]]), np.zeros((1, 1)), 60, np.zeros(1))
    assert loss[0, 0] == pytest.approx(0.7 * 100.0 / 3600.0 / 2.0)


@pytest.mark.parametrize(("parallelism", "rate"), [([2, 3], 25.0), ([3, 4], 40.0), ([2, 2], 30.0)])
def test_the_simulator_agrees(parallelism: list[int], rate: float):
    service_s = [0.05, 0.06]
    workload = chain(service_s, rate, parallelism=parallelism, minutes=180, op_max=np.full(2, 10))
    options = StreamOptions(noise=0.0)
    seen = run(StreamWorld(workload, options, SeedTree(0)), Fixed(), np.random.default_rng(0))
    info = replace(
        StreamWorld(workload, options, SeedTree(0)).info, future=StreamFuture(60.0, workload.rate, workload.load_s)
    )
    outlook = Outlook(JobModel.of(info, 0, Known(info, service_s), 0.0), workload.rate[0], 60.0)
    chosen = np.array([parallelism])
    assert outlook.latency_s(chosen)[0, -1] == pytest.approx(float(seen.latency_s[-1, 0]), rel=0.02)
    assert outlook.utilisation(chosen)[0, -1] == pytest.approx(float(seen.utilisation[-1, 0]), rel=0.01)


def test_rates_of_other_bins():
    future = StreamFuture(60.0, np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones(1))
    assert rates_between(future, 0, 60.0, 1e9, 120.0).tolist() == pytest.approx([2.5])
    assert rates_between(future, 0, 0.0, 240.0, 30.0).tolist() == pytest.approx([1, 1, 2, 2, 3, 3, 4, 4])


def test_the_lowest_price_at_which_there_are_enough_slots():
    asked: list[float] = []

    def plan(price: float):
        asked.append(price)
        return np.array([10 if price < 0.02 else 3, 4])

    assert at_lowest_price(plan, 20).tolist() == [10, 4] and asked == [0.0]
    assert at_lowest_price(plan, 7).tolist() == [3, 4]
    assert 0.02 <= asked[-1] < 0.04
