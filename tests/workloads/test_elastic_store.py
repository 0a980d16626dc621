import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workloads.elastic_samples import record, recorded
from tests.workloads.samples import assert_same

from dovetail.core.errors import DovetailError, InvalidWorkload
from dovetail.core.seeds import SeedTree
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_source import ElasticKind, open_elastic
from dovetail.workloads.elastic_store import write_elastic


def same_record(one, other):
    assert (one.slot_s, one.job_name, one.arrival.tolist()) == (other.slot_s, other.job_name, other.arrival.tolist())
    assert_same(one.jobs, other.jobs)


def test_a_recorded_source_comes_back(tmp_path):
    source = recorded(earlier=record((0, 0)))
    manifest = write_elastic(source, tmp_path / "w", provenance={"seed": 4})
    assert manifest["family"] == "elastic"
    assert manifest["counts"] == {"jobs": 4, "history": 2}
    assert manifest["provenance"]["seed"] == 4
    back = open_elastic(tmp_path / "w")
    assert (back.name, back.jobs, back.slots, back.slot_s, back.servers) == ("toy", 4, 10, 600.0, 4)
    assert back.arrivals == ElasticArrivals("trace")
    same_record(back.recorded, source.recorded)
    same_record(back.earlier, source.earlier)


def test_a_distribution_with_kinds_and_counts_comes_back(tmp_path):
    source = replace(
        open_elastic("oasis-small:epochs=[1,2]"),
        name="mine",
        kinds=(ElasticKind("a", 1.5, 0.0),),
        arrivals=ElasticArrivals("counts", 0.5, (1.0, 0.0, 2.5)),
    )
    write_elastic(source, tmp_path / "w")
    back = open_elastic(tmp_path / "w")
    assert (back.name, back.generator_name, back.kinds, back.arrivals) == (
        "mine",
        "oasis-small:epochs=[1,2]",
        source.kinds,
        source.arrivals,
    )
    one, other = (each.sequence(20, each.arrivals, 50, SeedTree(3)) for each in (source, back))
    assert one.work.tolist() == other.work.tolist()
    assert one.arrival.tolist() == other.arrival.tolist()


@given(st.integers(1, 30), st.integers(0, 1000))
def test_a_drawn_sequence_comes_back_with_its_history(tmp_path_factory, num, seed):
    source = open_elastic("oasis-small:history=9")
    jobs, history = source.records(num, source.arrivals, 100, SeedTree(seed))
    made = replace(recorded(), slots=100, slot_s=source.slot_s, jobs=num, recorded=jobs, earlier=history)
    path = tmp_path_factory.mktemp("store") / "w"
    write_elastic(made, path)
    back = open_elastic(path).sequence(num, ElasticArrivals("trace"), 100, SeedTree(0))
    assert back.arrival.tolist() == jobs.arrival.tolist()
    assert back.work.tolist() == jobs.workload(100).work.tolist()
    assert back.history.work.tolist() == history.workload(100).jobs().work.tolist()


def test_the_same_source_gives_the_same_bytes(tmp_path):
    manifests = [write_elastic(recorded(), tmp_path / name) for name in ("a", "b")]
    assert manifests[0] == manifests[1]
    assert json.loads((tmp_path / "a" / "manifest.json").read_text()) == manifests[0]


def test_a_faulty_source_is_not_written(tmp_path):
    with pytest.raises(InvalidWorkload, match="earlier than the job before"):
        write_elastic(recorded((3, 1)), tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_directory_needs_force(tmp_path):
    write_elastic(recorded(), tmp_path / "w")
    with pytest.raises(DovetailError, match="--force"):
        write_elastic(recorded(), tmp_path / "w")
    write_elastic(recorded((0, 1)), tmp_path / "w", force=True)
    assert open_elastic(tmp_path / "w").jobs == 2
