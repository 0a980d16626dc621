from __future__ import annotations

import pytest
from tests.elastic_toys import SMALL, register_toys

from dovetail.cluster.elastic import ElasticCluster, halves
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix import Matrix, run_matrix
from dovetail.evaluation.matrix_cell import Failure, Row, run_cell
from dovetail.evaluation.metrics_elastic import run_metrics
from dovetail.evaluation.setting_elastic import ElasticSetting
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.elastic import ElasticOptions, ElasticWorld, run
from dovetail.workloads.elastic_arrivals import ElasticArrivals


def small() -> ElasticSetting:
    return ElasticSetting(SMALL, jobs=5, slots=12, cluster=ElasticCluster(2, 2))


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    register_toys(monkeypatch)


def test_a_cell_is_what_its_seed_says() -> None:
    opened = small().open()
    row = run_cell(opened, opened.sequence(5), Contender.of("elastic/eager:workers=3"), 5, keep=True)
    assert isinstance(row, Row), row
    seeds = SeedTree(5)
    sequence = opened.source.sequence(5, opened.source.arrivals, 12, seeds)
    world = ElasticWorld(sequence, ElasticOptions(ElasticCluster(2, 2)), seeds)
    result = run(world, SCHEDULERS.create("elastic/eager:workers=3"), seeds.generator())
    assert row.metrics["total_utility"] == result.total_utility and row.decisions == result.decisions
    assert row.run is not None and row.run.params == {"workers": 3}
    assert run_metrics(row.run) == pytest.approx(dict(row.metrics), nan_ok=True)
    assert row.timings["decision_s"] > 0


def test_defaults_are_those_of_the_workload() -> None:
    opened = ElasticSetting("oasis-small").open()
    source = opened.source
    assert (opened.jobs, opened.slots, opened.arrivals) == (source.jobs, source.slots, source.arrivals)
    assert opened.options == halves(source.servers)
    facts = opened.facts()
    assert facts["slots"] == source.slots and facts["slot_s"] == source.slot_s and "span" not in facts


def test_content_follows_the_workload() -> None:
    facts = small().open().facts()
    assert facts["content"] == small().open().facts()["content"]
    assert (
        facts["content"] != ElasticSetting(SMALL.replace("[1,4]", "[2,4]"), jobs=5, slots=12).open().facts()["content"]
    )
    counted = ElasticSetting(SMALL, 5, ElasticArrivals("counts", counts=(1.0, 2.0)), 12).open().facts()
    other = ElasticSetting(SMALL, 5, ElasticArrivals("counts", counts=(2.0, 1.0)), 12).open().facts()
    assert counted["content"] != other["content"]


def test_half_of_the_hosts_are_for_workers() -> None:
    cluster = halves(7)
    assert (cluster.worker_hosts, cluster.server_hosts) == (3, 4)
    with pytest.raises(ConfigError, match="servers is 1"):
        halves(1)
    for name in ("jobs", "slots"):
        with pytest.raises(ConfigError, match=f"{name} is 0"):
            ElasticSetting(**{name: 0})


def test_one_family_in_a_matrix() -> None:
    both = (Contender.of("elastic/eager"), Contender.of("dag/fair"))
    with pytest.raises(ConfigError, match="dag and elastic; expected one family"):
        Matrix(both, (0,))


def test_the_setting_reaches_worker_processes() -> None:
    """The toys are not registered there, which is what the workers report, once they have opened the setting."""
    matrix = Matrix((Contender.of("elastic/eager"), Contender.of("elastic/refuses")), (0, 1), keep=True)
    outcomes = list(run_matrix(small().open(), matrix.chunks(), workers=1))
    assert all(isinstance(one, Row) for one in outcomes) and len(outcomes) == 4
    failed = [one for one in run_matrix(small().open(), matrix.chunks(), workers=2) if isinstance(one, Failure)]
    assert len(failed) == 4 and "unknown scheduler" in failed[0].error
