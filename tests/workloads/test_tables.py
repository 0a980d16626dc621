import numpy as np
import pyarrow as pa
from hypothesis import given
from tests.workloads.samples import assert_same, diamond, recorded, sources

from dovetail.workloads.check import table_faults
from dovetail.workloads.schema import JOBS, TABLES
from dovetail.workloads.source import DagSource
from dovetail.workloads.tables import arrow_type, from_tables, to_tables


@given(sources())
def test_tables_and_back(source):
    tables = to_tables(source)
    assert table_faults(tables) == []
    again = from_tables(source.name, tables)
    assert_same(again.catalogue, source.catalogue)
    assert (again.recorded is None) == (source.recorded is None)
    if source.recorded is not None:
        assert_same(again.recorded, source.recorded)


def test_tables_have_the_documented_columns():
    tables = to_tables(recorded())
    assert set(tables) == set(TABLES)
    for file, columns in TABLES.items():
        assert tables[file].schema == pa.schema([(c.name, arrow_type(c)) for c in columns])


def test_a_catalogue_has_no_jobs_table():
    assert JOBS not in to_tables(DagSource("toy", diamond()))


def test_rows_may_stand_in_any_order():
    tables = to_tables(recorded())
    rng = np.random.default_rng(0)
    shuffled = {
        file: table if file == JOBS else table.take(rng.permutation(table.num_rows)) for file, table in tables.items()
    }
    assert table_faults(shuffled) == []
    catalogue = from_tables("toy", shuffled).catalogue
    by_name = dict(zip(catalogue.dag_name, catalogue.dag_work_s, strict=True))
    assert by_name == {"diamond": 18, "lone": 15}


def test_arrays_can_be_written_to():
    catalogue = from_tables("toy", to_tables(recorded())).catalogue
    for array in (catalogue.num_tasks, catalogue.cpu, catalogue.duration_s, catalogue.edge_parent):
        assert array.flags.writeable
