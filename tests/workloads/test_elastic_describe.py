import json

import numpy as np
import pytest
from tests.workloads.elastic_samples import recorded

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.errors import ConfigError
from dovetail.workloads.elastic_describe import describe_elastic, elastic_as_text
from dovetail.workloads.elastic_source import open_elastic

HOSTS = np.array([[2.0, 10.0, 100.0, 100.0, 10.0]])


def describe(source, servers=None, **options):
    hosts = (servers or source.servers) // 2
    worker, server = ElasticCluster(hosts, hosts).capacities()
    return describe_elastic(source, worker_capacity=worker, server_capacity=server, **options)


def test_a_record_by_hand():
    summary = describe_elastic(recorded(), worker_capacity=HOSTS, server_capacity=HOSTS)
    assert summary["counts"] == {"recorded_jobs": 4, "kinds": 0, "described_jobs": 4}
    assert summary["per_job"]["work_worker_slots"]["mean"] == 2.5
    assert summary["per_job"]["most_workers"]["max"] == 2
    # ten worker-slots, each of 1 device, 2 processors and 1 Gbit/s, on one host for ten slots
    assert summary["load"]["workers"] == pytest.approx(
        {"gpu": 0.5, "cpu": 0.2, "memory": 0.04, "storage": 0.08, "bandwidth": 0.1}
    )
    assert summary["load"]["servers"]["cpu"] == pytest.approx(0.1)
    assert summary["load"]["highest"] == pytest.approx(0.5)
    assert summary["alone"]["feasible_share"] == 1
    assert summary["alone"]["slots"]["max"] == 2  # four worker-slots, two at a time
    assert summary["utility"]["insensitive"] == {"share": 0.5, "worth": 25.0}
    assert summary["arrivals"]["most_in_a_slot"] == 2
    assert summary["arrivals"]["busiest_slot"] == 2


def test_the_presets_are_contended_as_documented():
    """The figures of `generate.elastic_oasis` and of docs/workloads.md."""
    small, paper = describe(open_elastic("oasis-small")), describe(open_elastic("oasis-paper"))
    assert small["load"]["highest"] == pytest.approx(4.2, rel=0.1)
    assert small["alone"]["feasible_share"] > 0.99
    assert small["alone"]["slots"]["p95"] <= 40
    assert paper["alone"]["feasible_share"] == pytest.approx(0.92, abs=0.02)
    assert paper["load"]["highest"] == pytest.approx(16, rel=0.1)
    assert paper["per_job"]["work_worker_slots"]["p50"] == pytest.approx(960, rel=0.1)
    even = describe(open_elastic("oasis-paper:spread=even"))
    assert even["alone"]["feasible_share"] == pytest.approx(0.53, abs=0.03)
    assert even["load"]["highest"] == pytest.approx(100, rel=0.1)


def test_the_load_follows_jobs_slots_and_servers():
    source = open_elastic("oasis-small")
    plain = describe(source)["load"]["highest"]
    assert describe(source, jobs=240)["load"]["highest"] == pytest.approx(2 * plain)
    assert describe(source, slots=200)["load"]["highest"] == pytest.approx(plain / 2)
    assert describe(source, servers=80)["load"]["highest"] < plain / 3


def test_jobs_that_never_fit_are_not_feasible():
    tiny = np.array([[0.0, 1.0, 1.0, 1.0, 10.0]])
    summary = describe_elastic(recorded(), worker_capacity=tiny, server_capacity=HOSTS)
    assert summary["alone"]["feasible_share"] == 0
    assert summary["alone"]["slots"] is None
    assert summary["load"]["workers"]["gpu"] is None
    assert "0.0% of the jobs" in elastic_as_text(summary)


def test_plain_values_and_text():
    summary = describe(open_elastic("oasis-small"))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    text = elastic_as_text(summary)
    for words in ("10 + 10 hosts", "work_worker_slots", "bandwidth", "insensitive", "arrivals"):
        assert words in text
    assert "4 recorded jobs" in elastic_as_text(describe(recorded()))


@pytest.mark.parametrize("options", [{"jobs": 0}, {"slots": 0}])
def test_nothing_is_refused(options):
    with pytest.raises(ConfigError, match="at least 1"):
        describe(open_elastic("oasis-small"), **options)
