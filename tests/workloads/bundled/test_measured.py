import numpy as np
import pytest

from dovetail.core.errors import ConfigError, DovetailError
from dovetail.workloads.build import CatalogueBuilder
from dovetail.workloads.bundled import measured
from dovetail.workloads.check import check_source
from dovetail.workloads.family import is_bundled, workload_family
from dovetail.workloads.source import DagSource, open_source
from dovetail.workloads.store import write_source

MOST_BYTES = 3_000_000


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    builder = CatalogueBuilder("as it was called")
    for size in ("0.5", "1"):
        for query in (1, 6):
            builder.start_dag(f"tpch-{size}g-q{query}")
            builder.add_stage("0", tasks=query)
            builder.add_durations(2, 1, np.array([float(size)]))
    write_source(DagSource("as it was called", builder.build()), tmp_path / "tpch_spark")
    monkeypatch.setattr(measured, "FOLDER", tmp_path)


def test_it_opens_by_name(bundle):
    source = open_source("tpch-spark")
    check_source(source)
    assert source.name == source.catalogue.name == "tpch-spark"
    assert source.recorded is None
    assert source.catalogue.dag_name == ("tpch-0.5g-q1", "tpch-0.5g-q6", "tpch-1g-q1", "tpch-1g-q6")


def test_parts_of_it(bundle):
    assert open_source("tpch-spark:sizes_gb=[0.5],queries=[6]").catalogue.dag_name == ("tpch-0.5g-q6",)
    with pytest.raises(ConfigError, match=r"sizes_gb that were measured are 0.5, 1, not \[2"):
        open_source("tpch-spark:sizes_gb=[2]")
    with pytest.raises(ConfigError, match="queries that were measured are 1, 6"):
        open_source("tpch-spark:queries=[1,7]")


def test_it_is_known_by_name():
    assert workload_family("tpch-spark:queries=[1]") == "dag"
    assert is_bundled("tpch-spark")


def test_without_it(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "FOLDER", tmp_path)
    with pytest.raises(DovetailError, match="tpch-spark is not part of this installation"):
        open_source("tpch-spark")


@pytest.mark.skipif(
    not (measured.FOLDER / "tpch_spark").is_dir(),
    reason="tpch-spark was not measured yet: experiments/spark_tpch.py --write, on a quiet machine",
)
def test_what_is_shipped():
    source = open_source("tpch-spark")
    check_source(source)
    names = source.catalogue.dag_name
    assert {name.partition("-q")[2] for name in names} == {str(query) for query in range(1, 23)}
    assert len(names) % 22 == 0
    assert sum(file.stat().st_size for file in (measured.FOLDER / "tpch_spark").iterdir()) < MOST_BYTES
