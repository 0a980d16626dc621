import pytest
from tests.workloads.elastic_samples import recorded
from tests.workloads.samples import recorded as recorded_dag
from tests.workloads.stream_samples import recorded as recorded_stream

from dovetail.core.errors import UnknownName
from dovetail.workloads.elastic_source import ELASTIC
from dovetail.workloads.elastic_store import write_elastic
from dovetail.workloads.family import workload_family
from dovetail.workloads.source import BUNDLED
from dovetail.workloads.store import write_source
from dovetail.workloads.stream_source import STREAM
from dovetail.workloads.stream_store import write_stream


def test_by_name():
    assert {workload_family(name) for name in BUNDLED} == {"dag"}
    assert {workload_family(f"{name}:jobs=3") for name in ELASTIC} == {"elastic"}


def test_by_directory(tmp_path):
    write_elastic(recorded(), tmp_path / "e")
    write_source(recorded_dag(), tmp_path / "d")
    assert workload_family(tmp_path / "e") == "elastic"
    assert workload_family(tmp_path / "d") == "dag"
    assert workload_family(tmp_path) == "dag"
    assert workload_family("no/such") == "dag"


@pytest.mark.parametrize(("name", "meant"), [("oasis-smal", "oasis-small"), ("tpch-lik", "tpch-like")])
def test_the_names_of_all_families_are_suggested(name, meant):
    with pytest.raises(UnknownName, match=f"did you mean '{meant}'"):
        workload_family(name)


def test_streaming_jobs(tmp_path):
    assert {workload_family(f"{name}:rate=3") for name in STREAM} == {"stream"}
    write_stream(recorded_stream(), tmp_path / "s")
    assert workload_family(tmp_path / "s") == "stream"
    with pytest.raises(UnknownName, match="did you mean 'nexmark-q"):
        workload_family("nexmark-q12")
