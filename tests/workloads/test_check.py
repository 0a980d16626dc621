"""Every fault there is: made on purpose in a valid workload, and found at its place."""

import numpy as np
import pyarrow as pa
import pytest
from tests.workloads.samples import diamond, recorded

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.check import check_source, table_faults
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.schema import DAGS, DURATIONS, EDGES, JOBS, STAGES
from dovetail.workloads.source import DagSource
from dovetail.workloads.tables import to_tables

NAN, INF = float("nan"), float("inf")

# file, row, column, value put there, what the fault says
BROKEN = [
    (STAGES, 1, "tasks", 0, "stage without tasks"),
    (STAGES, 1, "tasks", -4, "stage without tasks"),
    (STAGES, 2, "cpu", 0.0, "no cores"),
    (STAGES, 2, "cpu", NAN, "not a finite number"),
    (STAGES, 0, "memory", 1.5, "outside 0 .. 1"),
    (STAGES, 0, "memory", -0.1, "outside 0 .. 1"),
    (STAGES, 3, "stage", "a", "duplicate of row 0"),
    (STAGES, 3, "dag", "nope", "unknown dag"),
    (STAGES, 3, "stage", None, "missing"),
    (STAGES, 3, "stage", "", "empty name"),
    (DAGS, 1, "dag", "diamond", "duplicate of row 0"),
    (EDGES, 1, "parent", "nope", "unknown stage"),
    (EDGES, 1, "child", "nope", "unknown stage"),
    (EDGES, 0, "child", "a", "depends on itself"),
    (EDGES, 1, "child", "b", "duplicate of row 0"),
    (EDGES, 2, "dag", "nope", "unknown dag"),
    (DURATIONS, 0, "seconds", [1.0, -2.0], "negative duration"),
    (DURATIONS, 0, "seconds", [NAN], "not a finite number"),
    (DURATIONS, 0, "seconds", [INF, 1.0], "not a finite number"),
    (DURATIONS, 0, "seconds", [], "no samples"),
    (DURATIONS, 0, "seconds", None, "missing"),
    (DURATIONS, 1, "executors", 0, "not a number of executors"),
    (DURATIONS, 1, "wave", "third", "unknown wave"),
    (DURATIONS, 1, "stage", "nope", "unknown stage"),
    (DURATIONS, 1, "stage", "a", "duplicate of row 0"),
    (JOBS, 0, "arrival_s", -1.0, "negative arrival"),
    (JOBS, 1, "arrival_s", NAN, "not a finite number"),
    (JOBS, 2, "arrival_s", 5.0, "earlier than the job before"),
    (JOBS, 1, "weight", 0.0, "weight not above 0"),
    (JOBS, 1, "deadline_s", 3.0, "due before it arrives"),
    (JOBS, 1, "deadline_s", INF, "not a finite number"),
    (JOBS, 1, "dag", "nope", "unknown dag"),
    (JOBS, 2, "job", "x", "duplicate of row 0"),
]


def broken(file, row, column, value):
    tables = to_tables(recorded())
    table = tables[file]
    values = table[column].to_pylist()
    values[row] = value
    place = table.schema.get_field_index(column)
    tables[file] = table.set_column(place, column, pa.array(values, table.schema.field(column).type))
    return tables


@pytest.mark.parametrize(("file", "row", "column", "value", "problem"), BROKEN)
def test_each_fault_is_found_at_its_place(file, row, column, value, problem):
    faults = table_faults(broken(file, row, column, value))
    here = [fault for fault in faults if problem in fault.problem and fault.file == file]
    assert [fault.row for fault in here] == [row], faults
    assert here[0].field == (column if "duplicate" not in problem else here[0].field)
    assert here[0].expected


def test_a_cycle_names_its_stages():
    tables = to_tables(recorded())
    extra = pa.table({"dag": ["diamond"], "parent": ["d"], "child": ["b"]})
    tables[EDGES] = pa.concat_tables([tables[EDGES], extra])
    [fault] = table_faults(tables)
    assert fault.file == EDGES
    assert "diamond" in fault.problem
    assert any(text in fault.problem for text in ("b -> d -> b", "d -> b -> d"))


def test_no_jobs():
    tables = to_tables(recorded())
    tables[JOBS] = tables[JOBS].slice(0, 0)
    [fault] = table_faults(tables)
    assert "no jobs" in fault.problem


def test_a_stage_without_durations_and_a_dag_without_stages():
    tables = to_tables(recorded())
    tables[DURATIONS] = tables[DURATIONS].slice(1)
    tables[DAGS] = pa.table({"dag": ["diamond", "lone", "bare"]})
    problems = {(fault.file, fault.row): fault.problem for fault in table_faults(tables)}
    assert problems == {(STAGES, 0): "stage without any duration", (DAGS, 2): "dag without stages"}


def test_all_faults_are_listed_not_only_the_first():
    tables = to_tables(recorded())
    tables[STAGES] = tables[STAGES].set_column(2, "tasks", pa.array([0] * 5))
    tables[JOBS] = tables[JOBS].set_column(3, "weight", pa.array([-1.0] * 3))
    assert len(table_faults(tables)) == 8


def test_empty_tables_are_no_jobs():
    tables = {file: table.slice(0, 0) for file, table in to_tables(recorded()).items()}
    assert {fault.file for fault in table_faults(tables)} == {DAGS, JOBS}


def test_check_source_raises_with_all_faults():
    catalogue = diamond()
    jobs = DagWorkload(catalogue, ("x", "x"), np.array([0, 1]), np.array([3.0, 1.0]), np.ones(2), np.full(2, np.inf))
    with pytest.raises(InvalidWorkload) as caught:
        check_source(DagSource("w", catalogue, jobs))
    assert len(caught.value.faults) == 2
    check_source(DagSource("w", catalogue))
