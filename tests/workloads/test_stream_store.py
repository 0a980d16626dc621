import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workloads.samples import assert_same
from tests.workloads.stream_samples import recorded, series

from dovetail.core.errors import ConfigError, DovetailError, InvalidWorkload
from dovetail.core.seeds import SeedTree
from dovetail.workloads.readers.stream_native import (
    find_stream_faults,
    read_edited_stream,
    read_either,
    read_series,
    read_stream,
)
from dovetail.workloads.schema import EDGES, JOBS
from dovetail.workloads.stream_check import stream_faults, work_faults
from dovetail.workloads.stream_rates import RateSeries, RecordedRates
from dovetail.workloads.stream_schema import OPERATORS, RATES, StreamSetting
from dovetail.workloads.stream_source import open_stream
from dovetail.workloads.stream_store import write_stream
from dovetail.workloads.stream_tables import setting_of, stream_to_tables


def test_what_is_written_is_read(tmp_path):
    source = recorded(2)
    manifest = write_stream(source, tmp_path / "w", provenance={"by": "hand"})
    assert manifest["counts"] == {"jobs": 2, "operators": 8, "edges": 8, "rates": 120}
    again = open_stream(tmp_path / "w")
    assert_same(again.table, source.table)
    assert (again.duration_s, again.interval_s, again.jitter) == (7200.0, 3600.0, 0.0)
    assert_same(again.sequence(3600.0, SeedTree(1)), source.sequence(3600.0, SeedTree(1)))


def test_rates_that_are_drawn_are_drawn_again(tmp_path):
    source = open_stream("shared:jitter=0.1", rates="step:low=0.5,high=2")
    write_stream(source, tmp_path / "w")
    again = read_stream(tmp_path / "w")
    assert_same(again.sequence(86_400.0, SeedTree(4)), source.sequence(86_400.0, SeedTree(4)))
    with pytest.raises(DovetailError, match="its rates are drawn"):
        read_series(tmp_path / "w")


def test_rates_alone(tmp_path):
    write_stream(RecordedRates("mine", series()), tmp_path / "r")
    found = read_either(tmp_path / "r")
    assert isinstance(found, RecordedRates)
    assert_same(found.recorded, series())
    with pytest.raises(DovetailError, match="has rates, but no jobs"):
        open_stream(tmp_path / "r")


@pytest.mark.parametrize(
    ("file", "column", "values", "rows"),
    [
        (JOBS, "rate", [0.0], {0}),
        (JOBS, "slo_s", [-1.0], {0}),
        (JOBS, "restart_s", [-0.1], {0}),
        (JOBS, "checkpoint_s", [0.0], {0}),
        (OPERATORS, "service_s", [0.0, 1.0, float("nan"), 1.0], {0, 2}),
        (OPERATORS, "service_s", [0.0, 1.0, -1.0, 1.0], {0, 2}),
        (OPERATORS, "selectivity", [-1.0, 0.0, 1.0, 1.0], {0}),
        (OPERATORS, "source", [1.0, 0.5, 0.0, 0.0], {1}),
        (OPERATORS, "source", [0.0, 0.0, 0.0, 0.0], {0}),
        (OPERATORS, "skew", [0.0, -0.1, 1.0, 1.1], {1, 3}),
        (OPERATORS, "variability", [0.0, 1.0, -1.0, 1.0], {2}),
        (OPERATORS, "buffer", [0.0, 1.0, 1.0, 1.0], {0}),
        (OPERATORS, "state_mb", [0.0, -1.0, 1.0, 1.0], {1}),
        (OPERATORS, "start", [1, 11, 0, 10], {1, 2}),
        (OPERATORS, "operator", ["read", "left", "left", "join"], {2}),
        (EDGES, "share", [1.0, 1.5, -0.1, 0.0], {1, 2}),
        (EDGES, "from", ["read", "nobody", "left", "right"], {1}),
        (RATES, "rate", [1.0, -1.0] + [1.0] * 118, {1}),
        (RATES, "rate", [0.0] * 120, {0}),
        (RATES, "series", ["a"] * 40 + ["b"] * 40 + ["a"] * 40, {80}),
    ],
)
def test_every_fault_is_placed(file, column, values, rows):
    source = recorded()
    tables = stream_to_tables(source)
    table = tables[file]
    tables[file] = table.set_column(table.column_names.index(column), column, pa.array(values, table[column].type))
    found = [fault for fault in stream_faults(setting_of(source), tables) if fault.field == column]
    assert {fault.row for fault in found if fault.row is not None} == rows
    assert {fault.file for fault in found} == {file}


def change(work, **columns):
    return replace(work, **{name: np.asarray(value) for name, value in columns.items()})


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"op_max": [0, 3, 2, 2]}, "field 'max'"),
        ({"edge_to": [2, 1, 3, 3]}, "edges are not sorted"),
        ({"edge_from": [0, 2, 1, 2]}, "does not come after the operator that feeds it"),
        ({"edge_from": [0, 0, 1, 1]}, "duplicate of row 2"),
        ({"edge_to": [1, 2, 3, 3], "edge_from": [0, 0, 3, 3]}, "does not come after"),
    ],
)
def test_jobs_in_memory(columns, says):
    work = recorded().sequence(None, SeedTree(0))
    assert work_faults(work) == []
    assert says in " ".join(map(str, work_faults(change(work, **columns))))


def test_more_faults_of_jobs_in_memory():
    work = recorded(2).sequence(None, SeedTree(0))
    for changed, says in (
        (replace(work, slots=3), "16 instances at the start, and 3 slots"),
        (replace(work, job_name=("a", "a")), "duplicate"),
        (replace(work, bin_s=0.5), "bin_s is 0.5"),
        (replace(work, bin_s=1.5), "whole seconds"),
        (replace(work, clock_s=604_800.0), "less than a week"),
        (replace(work, op_job=np.zeros(8, np.int64), op_name=tuple("abcdefgh")), "without operators"),
        (replace(work, op_job=np.array([0, 0, 1, 1, 0, 0, 1, 1]), op_name=tuple("abcdefgh")), "earlier job"),
        (replace(work, rate=np.zeros_like(work.rate)), "no records come"),
    ):
        assert says in " ".join(map(str, work_faults(changed))), says


def test_series_must_be_those_of_the_jobs():
    source = recorded(2, series((1.0, 2.0), (2.0, 1.0), names=("a", "x")))
    faults = stream_faults(setting_of(source), stream_to_tables(source))
    assert "not those of the jobs" in str(faults[0])
    tables = stream_to_tables(recorded(2, series((1.0, 2.0), (2.0, 1.0), names=("a", "b"))))
    tables[RATES] = tables[RATES].slice(0, 3)
    assert "unequal lengths: a 2, b 1" in str(stream_faults(setting_of(source), tables)[0])


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"duration_s": 0.0, "rates": "web"}, "duration_s is 0"),
        ({"duration_s": 60.0}, "expected either rates"),
        ({"duration_s": 60.0, "bin_s": 60.0}, "belong together"),
        ({"duration_s": 60.0, "rates": "web", "bin_s": 60.0, "clock_s": 0.0}, "expected either rates"),
        ({"duration_s": 60.0, "rates": "web", "jitter": 9.0}, "jitter is 9"),
    ],
)
def test_settings(values, says):
    with pytest.raises(ValueError, match=says):
        StreamSetting(**values)


def test_damaged_directories(tmp_path):
    folder = tmp_path / "w"
    write_stream(recorded(), folder)
    operators = pq.read_table(folder / OPERATORS)
    pq.write_table(operators.drop_columns(["skew"]), folder / OPERATORS)
    with pytest.raises(InvalidWorkload, match="missing column"):
        read_stream(folder)
    pq.write_table(operators.set_column(2, "service_s", pa.array([1.0, 2.0, 3.0, 4.0])), folder / OPERATORS)
    assert "checksum" in str(find_stream_faults(folder)[0])
    edited = read_edited_stream(folder)
    assert edited.source.table.op_service_s.tolist() == [1, 2, 3, 4] and edited.notes
    manifest = json.loads((folder / "manifest.json").read_text())
    for setting, says in (
        ({"duration_s": 0}, "expected 1"),
        (None, "no setting"),
        ({"duration_s": 60.0, "slots": 20, "rates": "wbe"}, "did you mean 'web'"),
        ({**manifest["setting"], "slots": None}, "no slots"),
        ({**manifest["setting"], "duration_s": 7260.0}, "a duration of 7260 s, and 7200 s of rates"),
    ):
        (folder / "manifest.json").write_text(json.dumps({**manifest, "setting": setting}))
        assert any(says in str(fault) for fault in find_stream_faults(folder)), says
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": {}}))
    assert "neither jobs nor rates" in str(find_stream_faults(folder)[0])
    files = {name: entry for name, entry in manifest["files"].items() if name != EDGES}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": files}))
    assert any("edges.parquet is not listed" in str(fault) for fault in find_stream_faults(folder))


def test_nothing_is_written_that_is_not_valid(tmp_path):
    bad = RateSeries(("s",), 60.0, 0.0, np.array([[1.0, -1.0]]))
    with pytest.raises(InvalidWorkload, match="not a rate"):
        write_stream(RecordedRates("bad", bad), tmp_path / "w")
    with pytest.raises(ConfigError, match="whole seconds"):
        write_stream(RecordedRates("bad", series(bin_s=1.5)), tmp_path / "w")
    assert not (tmp_path / "w").exists()
    write_stream(recorded(), tmp_path / "w")
    with pytest.raises(DovetailError, match="exists"):
        write_stream(recorded(), tmp_path / "w")
