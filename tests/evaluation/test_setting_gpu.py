from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from tests.gpu_toys import FIFO

from dovetail.cluster.gpu import GpuCluster
from dovetail.cluster.gpu_clusters import CLUSTERS, read_cluster
from dovetail.cluster.gpu_speed import DEFAULT_FILE, default_speeds
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix import Matrix, run_matrix
from dovetail.evaluation.matrix_cell import Row, run_cell
from dovetail.evaluation.metrics_gpu import run_metrics
from dovetail.evaluation.setting_gpu import GpuSetting, result_metrics
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.gpu import GpuOptions, GpuWorld, run
from dovetail.workloads.gpu_arrivals import GpuArrivals


def small() -> GpuSetting:
    return GpuSetting("small", jobs=20)


def test_a_cell_is_what_its_seed_says() -> None:
    opened = small().open()
    row = run_cell(opened, opened.sequence(5), Contender.of(FIFO), 5, keep=True, timed=True)
    assert isinstance(row, Row), row
    seeds = SeedTree(5)
    sequence = opened.source.sequence(20, opened.source.arrivals, opened.source.cluster, seeds)
    world = GpuWorld(sequence, default_speeds(), GpuOptions(opened.source.cluster), seeds)
    result = run(world, SCHEDULERS.create(FIFO), seeds.generator(), compiled=False)
    assert dict(row.metrics) == result_metrics(result) and row.decisions == result.decisions == 20
    assert row.run is not None and run_metrics(row.run) == pytest.approx(dict(row.metrics))
    assert row.timings["decision_s"] > 0


def test_defaults_are_those_of_the_workload() -> None:
    opened = GpuSetting("medium").open()
    source = opened.source
    assert (opened.jobs, opened.arrivals, opened.cluster) == (source.jobs, source.arrivals, CLUSTERS["medium"])
    assert opened.options == GpuOptions(CLUSTERS["medium"]) and opened.model is default_speeds()
    facts = opened.facts()
    assert facts["load"] == source.arrivals.load and "interval_s" not in facts and "speeds" not in facts


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"load": 0.4}, {"load": 0.4}),
        ({"arrivals": GpuArrivals("poisson")}, {"kind": "poisson"}),
        ({"arrivals": GpuArrivals("poisson"), "load": 0.4}, {"kind": "poisson", "load": 0.4}),
        ({"arrivals": GpuArrivals("poisson", interval_s=9.0)}, {"kind": "poisson", "load": None, "interval_s": 9.0}),
        ({"arrivals": GpuArrivals("batch")}, {"kind": "batch", "load": None, "swing": None}),
    ],
)
def test_arrivals(given: dict, expected: dict) -> None:
    """What is not said is as the workload has it."""
    made = GpuSetting("small").open().arrivals
    assert GpuSetting("small", **given).open().arrivals == replace(made, **expected)


def test_the_cluster_may_be_changed() -> None:
    assert GpuSetting(machines=12).open().cluster == GpuCluster(12)
    assert GpuSetting(kinds=("t4x4", "v100x4"), rack=4).open().cluster == GpuCluster(8, ("t4x4", "v100x4"), rack=4)
    cloud = GpuSetting(cluster=CLUSTERS["cloud-2023"], machines=100).open().cluster
    assert cloud.machines == 100 and cloud.shares == CLUSTERS["cloud-2023"].shares
    assert GpuSetting(cluster=CLUSTERS["cloud-2023"], kinds=("t4x4",)).open().cluster.shares == ()


def test_machines_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "machines.csv"
    file.write_text("kind,count\nv100x4,6\na100x8,2\n")
    opened = GpuSetting("small", jobs=10, cluster=read_cluster(str(file))).open()
    assert opened.cluster.machines == 8 and pickle.loads(pickle.dumps(opened.setting)) == opened.setting
    opened.check(0)
    with pytest.raises(ConfigError, match="machines and rack: the machines of this cluster are listed"):
        GpuSetting(cluster=read_cluster(str(file)), machines=3, rack=2).open()


def test_speeds_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "speeds.json"
    written = json.loads(DEFAULT_FILE.read_text())
    for kind in written["kinds"]:
        kind["network"] = 5.0
    file.write_text(json.dumps(written))
    ours, theirs = small().open(), replace(small(), speeds=str(file)).open()
    assert (theirs.model.network == 5.0).all() and theirs.facts()["speeds"] == str(file)
    assert ours.facts()["content"] != theirs.facts()["content"]
    both = [
        one.measure(one.run(one.world(one.sequence(0), SeedTree(0)), SCHEDULERS.create(FIFO), SeedTree(0).generator()))
        for one in (ours, theirs)
    ]
    assert both[0].metrics["relative_speed"] > both[1].metrics["relative_speed"]
    with pytest.raises(DovetailError, match=r"none\.json"):
        replace(small(), speeds=str(tmp_path / "none.json")).open()


def test_content_follows_the_workload() -> None:
    facts = small().open().facts()
    assert facts["content"] == small().open().facts()["content"]
    assert facts["content"] != GpuSetting("small:error_sigma=0.1", jobs=20).open().facts()["content"]


def test_what_makes_no_sense() -> None:
    with pytest.raises(ConfigError, match="jobs is 0"):
        GpuSetting(jobs=0)
    with pytest.raises(ConfigError, match="a load and arrivals with an interval are given"):
        GpuSetting(load=0.5, arrivals=GpuArrivals("poisson", interval_s=5.0))
    with pytest.raises(ConfigError, match=r"a load of 0\.5 and arrivals at 0\.7 are given"):
        GpuSetting(load=0.5, arrivals=GpuArrivals("poisson", load=0.7))
    with pytest.raises(ConfigError, match="can never start"):
        GpuSetting("medium", machines=1).open().check(0)


def test_the_setting_reaches_worker_processes() -> None:
    matrix = Matrix((Contender.of(FIFO), Contender.of("gpu/srtf+topology")), (0, 1), keep=True)
    alone = list(run_matrix(small().open(), matrix.chunks(), workers=1))
    both = list(run_matrix(small().open(), matrix.chunks(), workers=2))
    assert all(isinstance(one, Row) for one in [*alone, *both]) and len(alone) == len(both) == 4
    table = [{(one.contender.name, one.seed): dict(one.metrics) for one in rows} for rows in (alone, both)]
    assert table[0] == table[1]
