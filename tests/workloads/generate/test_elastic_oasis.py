from dataclasses import fields

import numpy as np
import pytest

from dovetail.core.elastic import BANDWIDTH
from dovetail.core.errors import DovetailError
from dovetail.workloads.elastic_source import open_elastic
from dovetail.workloads.generate.elastic_oasis import OasisPaper, OasisSmall, draw_jobs

RANGES = {
    "epochs": lambda jobs: jobs.epochs,
    "chunks": lambda jobs: jobs.chunks,
    "batches": lambda jobs: jobs.batches,
    "batch_slots": lambda jobs: jobs.batch_s / 1200,
    "gradient_mb": lambda jobs: jobs.gradient_mb,
    "worker_gbps": lambda jobs: jobs.worker_demand[:, 4],
    "server_gbps": lambda jobs: jobs.server_demand[:, 4],
    "worker_gpu": lambda jobs: jobs.worker_demand[:, 0],
    "worker_cpu": lambda jobs: jobs.worker_demand[:, 1],
    "worker_memory_gb": lambda jobs: jobs.worker_demand[:, 2],
    "worker_storage_gb": lambda jobs: jobs.worker_demand[:, 3],
    "server_cpu": lambda jobs: jobs.server_demand[:, 1],
    "server_memory_gb": lambda jobs: jobs.server_demand[:, 2],
    "server_storage_gb": lambda jobs: jobs.server_demand[:, 3],
    "worth": lambda jobs: jobs.utility[:, 0],
    "due": lambda jobs: jobs.utility[:, 2],
}


def draw(params=OasisPaper(), num=4000, seed=0):
    return draw_jobs(params, num, np.random.default_rng(seed))


@pytest.mark.parametrize("spread", ["even", "log"])
@pytest.mark.parametrize("name", RANGES)
def test_every_range_is_filled_and_kept(name, spread):
    params = OasisPaper(spread=spread)
    low, high = getattr(params, name)
    values = RANGES[name](draw(params))
    assert low * (1 - 1e-12) <= values.min() <= low + 0.05 * (high - low)
    assert high - 0.05 * (high - low) <= values.max() <= high * (1 + 1e-12)


def test_even_and_log_are_what_they_say():
    even, log = draw(OasisPaper(spread="even")), draw(OasisPaper(spread="log"))
    assert np.median(even.batch_s) / 1200 == pytest.approx(0.0505, rel=0.05)
    assert np.median(log.batch_s) / 1200 == pytest.approx(0.01, rel=0.1)  # the geometric mean
    assert np.bincount(even.epochs)[50:].std() / np.bincount(even.epochs)[50:].mean() < 0.3


def test_devices_and_processors_are_whole_and_servers_have_no_gpu():
    jobs = draw()
    assert (jobs.worker_demand[:, :2] % 1 == 0).all()
    assert set(jobs.worker_demand[:, 0]) == {0, 1, 2, 3, 4}
    assert (jobs.server_demand[:, 0] == 0).all()


def test_classes_of_utility_have_their_shares_and_decays():
    decay = draw().utility[:, 1]
    assert (decay == 0).mean() == pytest.approx(0.10, abs=0.02)
    assert ((decay >= 0.01) & (decay <= 1)).mean() == pytest.approx(0.55, abs=0.03)
    assert ((decay >= 4) & (decay <= 6)).mean() == pytest.approx(0.35, abs=0.03)


def test_a_server_is_never_slower_than_a_worker_even_where_the_ranges_overlap():
    jobs = draw(OasisPaper(worker_gbps=(1, 10), server_gbps=(1, 10)))
    assert (jobs.server_demand[:, BANDWIDTH] >= jobs.worker_demand[:, BANDWIDTH]).all()


def test_the_first_jobs_do_not_depend_on_how_many_follow():
    few, many = draw(num=5), draw(num=50)
    assert few.worker_demand.tolist() == many.worker_demand[:5].tolist()
    assert few.utility.tolist() == many.utility[:5].tolist()


def test_every_parameter_has_a_help_text():
    for params in (OasisPaper, OasisSmall):
        assert all(field.metadata.get("help") for field in fields(params))


def test_parameters_of_the_small_one_are_the_published_ones_but_for_these():
    differ = {
        each.name for each in fields(OasisPaper) if getattr(OasisPaper(), each.name) != getattr(OasisSmall(), each.name)
    }
    assert differ == {"jobs", "slots", "servers", "arrivals", "spread", "epochs", "chunks", "batches"}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("epochs=[0,5]", "epochs must be a range"),
        ("epochs=[9,5]", "epochs must be a range"),
        ("epochs=[1.5,5]", "epochs"),
        ("epoch=[1,5]", "did you mean 'epochs'"),
        ("batch_slots=[0,1]", "above 0"),
        ("worker_gpu=[-1,1]", "from 0"),
        ("worth=[1,inf]", "worth"),
        ("due=[nan,1]", "due"),
        ("worker_gbps=[1,30]", "at least the bandwidth of a worker"),
        ("shares=[0.5,0.4,0.2]", "add up to 1"),
        ("shares=[1.5,-0.5,0]", "shares"),
        ("jobs=0", "jobs must be 1 or more"),
        ("servers=1", "servers must be 2 or more"),
        ("slot_s=0", "slot_s"),
        ("history=0", "history"),
        ("spread=wide", "one of even, log"),
        ("arrivals=weekly", "kind of arrivals"),
    ],
)
def test_parameters_that_cannot_be_are_refused(spec, says):
    with pytest.raises(DovetailError, match=says):
        open_elastic(f"oasis-paper:{spec}")
