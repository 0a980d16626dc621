from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.workloads.elastic_samples import record, recorded

from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_check import elastic_faults
from dovetail.workloads.elastic_schema import COUNTS, HISTORY, KINDS
from dovetail.workloads.elastic_source import ElasticKind, open_elastic
from dovetail.workloads.elastic_tables import elastic_to_tables, setting_of
from dovetail.workloads.schema import JOBS, MANIFEST


def faults_of(source=None, setting=None, **columns):
    """Faults of a source, some columns of its jobs changed in row 1."""
    source = source or recorded(earlier=record())
    tables = elastic_to_tables(source)
    for name, value in columns.items():
        old = tables[JOBS][name]
        values = [value if row == 1 else each for row, each in enumerate(old.to_pylist())]
        place = tables[JOBS].column_names.index(name)
        tables[JOBS] = tables[JOBS].set_column(place, name, pa.array(values, type=old.type))
    return elastic_faults(setting or setting_of(source), tables)


def mixed():
    """A distribution with kinds and counts."""
    return replace(
        open_elastic("oasis-small"),
        kinds=(ElasticKind("a", 1.0, 0.0), ElasticKind("b", 2.0, 5.0)),
        arrivals=ElasticArrivals("counts", counts=(1.0, 2.0)),
    )


def test_valid_sources_have_no_faults():
    assert faults_of() == []
    assert faults_of(open_elastic("oasis-paper")) == []
    assert faults_of(mixed()) == []


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("job", "", "empty name"),
        ("job", None, "missing"),
        ("job", "r0", "duplicate of row 0"),
        ("arrival", -1, "negative arrival"),
        ("arrival", 9, None),
        ("epochs", 0, "less than 1"),
        ("chunks", None, "missing"),
        ("batches", -4, "less than 1"),
        ("batch_s", 0.0, "takes no time"),
        ("batch_s", float("nan"), "not a finite number"),
        ("gradient_mb", -1.0, "negative"),
        ("worker_gpu", -1.0, "negative"),
        ("worker_bandwidth", 0.0, "no bandwidth"),
        ("worker_bandwidth", 3.0, None),
        ("server_bandwidth", 0.5, "less bandwidth than a worker"),
        ("server_memory", float("inf"), "not a finite number"),
        ("worth", 0.0, "worth nothing"),
        ("decay", -0.1, "negative"),
        ("due", float("nan"), "not a finite number"),
        ("epochs", 10**15, "too many worker-slots"),
    ],
)
def test_every_fault_of_a_job_is_placed(name, value, says):
    faults = faults_of(**{name: value})
    assert len(faults) >= 1
    if says is not None:
        at = [fault for fault in faults if (fault.file, fault.row, fault.field) == (JOBS, 1, name)]
        assert any(says in fault.problem for fault in at)


def test_a_job_out_of_order_is_placed_at_the_one_that_came_too_early():
    assert [(fault.row, fault.field) for fault in faults_of(arrival=9)] == [(2, "arrival")]


@pytest.mark.parametrize(
    ("changed", "file", "field", "says"),
    [
        ({"generator": None}, MANIFEST, "setting.generator", "neither jobs nor a generator"),
        ({"generator": "oasis-smal"}, MANIFEST, "setting.generator", "did you mean"),
        ({"generator": "oasis-small:epochs=[0,1]"}, MANIFEST, "setting.generator", "epochs"),
        ({"generator": "."}, MANIFEST, "setting.generator", "unknown workload"),
        ({"arrivals": "weekly"}, MANIFEST, "setting.arrivals", "weekly"),
        ({"arrivals": "trace"}, MANIFEST, "setting.arrivals", "no jobs.parquet"),
        ({"span": 3.0}, MANIFEST, "setting.arrivals", "span"),
    ],
)
def test_a_setting_that_leads_nowhere(changed, file, field, says):
    source = mixed()
    faults = faults_of(source, replace(setting_of(source), **changed))
    assert [(fault.file, fault.field) for fault in faults] == [(file, field)]
    assert says in faults[0].problem


@pytest.mark.parametrize(
    ("file", "column", "values", "says"),
    [
        (KINDS, "kind", ["a", "a"], "duplicate"),
        (KINDS, "batch_s", [1.0, 0.0], "takes no time"),
        (KINDS, "gradient_mb", [0.0, -1.0], "negative"),
        (COUNTS, "count", [1.0, -1.0], "negative"),
        (COUNTS, "count", [0.0, 0.0], "no arrivals"),
        (COUNTS, "count", [1.0, None], "missing"),
    ],
)
def test_faults_of_kinds_and_counts(file, column, values, says):
    source = mixed()
    tables = elastic_to_tables(source)
    place = tables[file].column_names.index(column)
    tables[file] = tables[file].set_column(place, column, pa.array(values, type=tables[file][column].type))
    faults = elastic_faults(setting_of(source), tables)
    assert [(fault.file, fault.field) for fault in faults] == [(file, column)]
    assert says in faults[0].problem


def test_an_empty_table_is_a_fault():
    source = recorded(earlier=record())
    tables = elastic_to_tables(source)
    tables[HISTORY] = tables[HISTORY].slice(0, 0)
    assert [(fault.file, fault.row) for fault in elastic_faults(setting_of(source), tables)] == [(HISTORY, None)]


def test_the_bundled_distributions_draw_valid_jobs():
    for name in ("oasis-small", "oasis-paper"):
        source = open_elastic(name)
        from dovetail.core.seeds import SeedTree

        jobs, history = source.records(500, source.arrivals, source.slots, SeedTree(1))
        made = replace(source, generator_name=None, generator=None, recorded=jobs, earlier=history)
        assert faults_of(replace(made, arrivals=ElasticArrivals("trace"))) == []
        assert np.isfinite(jobs.jobs.utility).all()
