"""Our own format on disk: every way in which a file can be wrong."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workloads.samples import recorded

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.readers.native import find_faults, read_edited, read_source
from dovetail.workloads.store import write_source


@pytest.fixture
def folder(tmp_path):
    write_source(recorded(), tmp_path / "w")
    return tmp_path / "w"


def the_fault(folder, file):
    """The only fault, apart from the checksum that differs whenever a file was changed."""
    faults = [f for f in find_faults(folder) if "checksum" not in f.problem]
    assert len(faults) == 1, faults
    assert faults[0].file == str(folder / file)
    with pytest.raises(InvalidWorkload):
        read_source(folder)
    return faults[0]


def rewrite(folder, file, change):
    table = pq.read_table(folder / file)
    pq.write_table(change(table), folder / file)


def edit_manifest(folder, **changes):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, **changes}))


def test_a_good_directory_has_no_faults(folder):
    assert find_faults(folder) == []


def test_missing_manifest(folder):
    (folder / "manifest.json").unlink()
    assert "no manifest" in the_fault(folder, "manifest.json").problem


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty file"),
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        ('{"name": "é"}'.encode("latin-1"), "wrong encoding"),
    ],
)
def test_damaged_manifest(folder, content, says):
    (folder / "manifest.json").write_bytes(content)
    assert says in the_fault(folder, "manifest.json").problem


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"schema": 2}, "schema", "unknown schema version 2"),
        ({"schema": None}, "schema", "unknown schema version None"),
        ({"family": "gpu"}, "family", "'gpu'"),
        ({"name": ""}, "name", "no name"),
        ({"files": ["jobs.parquet"]}, "files", "no list of files"),
    ],
)
def test_manifests_of_another_kind(folder, changes, field, says):
    edit_manifest(folder, **changes)
    fault = the_fault(folder, "manifest.json")
    assert fault.field == field
    assert says in fault.problem


def test_a_required_table_must_be_listed(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["edges.parquet"]
    edit_manifest(folder, files=manifest["files"])
    assert "edges.parquet is not listed" in the_fault(folder, "manifest.json").problem


def test_missing_file(folder):
    (folder / "stages.parquet").unlink()
    assert the_fault(folder, "stages.parquet").problem == "missing file"


def test_empty_file(folder):
    (folder / "stages.parquet").write_bytes(b"")
    assert the_fault(folder, "stages.parquet").problem == "empty file"


@pytest.mark.parametrize("keep", [4, 100, -1])
def test_truncated_file(folder, keep):
    data = (folder / "durations.parquet").read_bytes()
    (folder / "durations.parquet").write_bytes(data[:keep])
    assert "truncated or not a Parquet file" in the_fault(folder, "durations.parquet").problem


def test_a_byte_changed_inside_is_noticed(folder):
    data = bytearray((folder / "stages.parquet").read_bytes())
    data[20] ^= 0xFF
    (folder / "stages.parquet").write_bytes(data)
    assert find_faults(folder)


def test_missing_column(folder):
    rewrite(folder, "stages.parquet", lambda table: table.drop_columns(["tasks"]))
    fault = the_fault(folder, "stages.parquet")
    assert (fault.field, fault.problem) == ("tasks", "missing column")


@pytest.mark.parametrize(
    ("column", "values"),
    [("tasks", ["two"] * 5), ("tasks", [1.0] * 5), ("cpu", ["1"] * 5), ("stage", [1, 2, 3, 4, 5])],
)
def test_wrong_column_type(folder, column, values):
    def change(table):
        return table.set_column(table.schema.get_field_index(column), column, pa.array(values))

    rewrite(folder, "stages.parquet", change)
    fault = the_fault(folder, "stages.parquet")
    assert fault.field == column
    assert "wrong column type" in fault.problem


def test_values_beyond_the_range_of_the_column(folder):
    huge = pa.array([2**64 - 1] * 5, pa.uint64())
    rewrite(folder, "stages.parquet", lambda table: table.set_column(2, "tasks", huge))
    assert "out of range" in the_fault(folder, "stages.parquet").problem


def test_a_column_twice(folder):
    rewrite(folder, "stages.parquet", lambda table: table.append_column("cpu", table["cpu"]))
    assert the_fault(folder, "stages.parquet").problem == "2 columns of this name"


def test_wrong_encoding(folder):
    raw = pa.array([b"caf\xe9", b"y", b"z"]).view(pa.string())

    def change(table):
        return table.set_column(0, "job", raw)

    rewrite(folder, "jobs.parquet", change)
    assert "UTF8" in the_fault(folder, "jobs.parquet").problem


def test_faults_of_several_files_are_all_found(folder):
    rewrite(folder, "stages.parquet", lambda table: table.drop_columns(["cpu"]))
    (folder / "edges.parquet").write_bytes(b"")
    rewrite(folder, "jobs.parquet", lambda t: t.set_column(3, "weight", pa.array([0.0, 1.0, 2.0])))
    faults = [f for f in find_faults(folder) if "checksum" not in f.problem]
    assert {f.file.rpartition("/")[2] for f in faults} == {"stages.parquet", "edges.parquet", "jobs.parquet"}


def test_edited_tables_are_refused_until_they_are_imported(folder):
    rewrite(folder, "jobs.parquet", lambda t: t.set_column(3, "weight", pa.array([3.0, 1.0, 2.0])))
    [fault] = find_faults(folder)
    assert "checksum" in fault.problem
    assert "import dovetail" in fault.expected
    assert read_edited(folder).source.recorded.weight.tolist() == [3, 1, 2]


def test_other_widths_of_the_same_kind_are_read(folder):
    def change(table):
        table = table.set_column(2, "tasks", table["tasks"].cast(pa.int16()))
        table = table.set_column(3, "cpu", table["cpu"].cast(pa.float32()))
        return table.set_column(1, "stage", table["stage"].dictionary_encode())

    rewrite(folder, "stages.parquet", change)
    assert read_edited(folder).source.catalogue.num_tasks.tolist() == [2, 4, 1, 3, 10]


def test_edited_tables_are_checked(folder):
    rewrite(folder, "jobs.parquet", lambda t: t.set_column(3, "weight", pa.array([0.0, 1.0, 2.0])))
    with pytest.raises(InvalidWorkload, match="weight"):
        read_edited(folder)
