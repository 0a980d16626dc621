import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workloads.elastic_samples import record, recorded
from tests.workloads.samples import recorded as recorded_dag

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.elastic_store import write_elastic
from dovetail.workloads.readers.directory import family_of
from dovetail.workloads.readers.elastic_native import find_elastic_faults, read_edited_elastic, read_elastic
from dovetail.workloads.readers.native import read_source
from dovetail.workloads.store import write_source


@pytest.fixture
def stored(tmp_path):
    write_elastic(recorded(earlier=record()), tmp_path / "w")
    return tmp_path / "w"


def edit_manifest(folder, change):
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))


def edit_jobs(folder, name, values):
    table = pq.read_table(folder / "jobs.parquet")
    place = table.column_names.index(name)
    pq.write_table(table.set_column(place, name, pa.array(values)), folder / "jobs.parquet")


def test_a_valid_directory(stored):
    assert find_elastic_faults(stored) == []
    assert read_elastic(stored).jobs == 4


def test_families_are_told_apart(stored, tmp_path):
    write_source(recorded_dag(), tmp_path / "dag")
    assert family_of(stored) == "elastic"
    assert family_of(tmp_path / "dag") == "dag"
    assert family_of(tmp_path) is None
    (tmp_path / "manifest.json").write_text("[]")
    assert family_of(tmp_path) is None
    with pytest.raises(InvalidWorkload, match="family 'elastic' cannot be read here"):
        read_source(stored)
    with pytest.raises(InvalidWorkload, match="family 'dag' cannot be read here"):
        read_elastic(tmp_path / "dag")


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (lambda m: m.pop("setting"), "setting", "no setting"),
        (lambda m: m.update(setting=[]), "setting", "no setting"),
        (lambda m: m["setting"].pop("slots"), "setting", "missing 'slots'"),
        (lambda m: m["setting"].update(slots=0), "setting", "slots is 0"),
        (lambda m: m["setting"].update(slots="many"), "setting", "slots"),
        (lambda m: m["setting"].update(slot_s=-1.0), "setting", "slot_s"),
        (lambda m: m["setting"].update(servers=1), "setting", "servers is 1"),
        (lambda m: m["setting"].update(colour="red"), "setting", "unknown key"),
        (lambda m: m["files"].pop("jobs.parquet"), "setting.generator", "neither jobs"),
        (lambda m: m.update(schema=9), "schema", "unknown schema version"),
    ],
)
def test_a_manifest_that_is_wrong(stored, change, field, says):
    edit_manifest(stored, change)
    faults = find_elastic_faults(stored)
    assert faults[0].file == str(stored / "manifest.json")
    assert faults[0].field == field
    assert says in faults[0].problem


def test_a_changed_table_is_found_and_can_be_sealed_anew(stored):
    edit_jobs(stored, "worth", [5.0] * 4)
    assert "checksum" in find_elastic_faults(stored)[0].problem
    imported = read_edited_elastic(stored)
    assert set(imported.source.recorded.jobs.utility[:, 0]) == {5.0}
    assert "checksums" in imported.notes[0]
    edit_jobs(stored, "worth", [5.0, 0.0, 5.0, 5.0])
    with pytest.raises(InvalidWorkload, match="worth nothing"):
        read_edited_elastic(stored)


def test_tables_that_are_damaged(stored):
    (stored / "history.parquet").unlink()
    (stored / "jobs.parquet").write_bytes((stored / "jobs.parquet").read_bytes()[:100])
    problems = {fault.file.rpartition("/")[2]: fault.problem for fault in find_elastic_faults(stored)}
    assert problems["history.parquet"] == "missing file"
    assert "truncated" in problems["jobs.parquet"]
    assert list(problems) == ["jobs.parquet", "history.parquet"]  # and nothing that only follows from these


def test_columns_that_are_missing_or_of_another_type(stored):
    table = pq.read_table(stored / "jobs.parquet").drop_columns(["due"])
    place = table.column_names.index("epochs")
    pq.write_table(table.set_column(place, "epochs", pa.array(["x"] * 4)), stored / "jobs.parquet")
    found = {(fault.field, fault.problem) for fault in find_elastic_faults(stored)}
    assert ("due", "missing column") in found
    assert ("epochs", "wrong column type string") in found
