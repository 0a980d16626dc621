import json
import stat

import pytest
from hypothesis import given
from tests.workloads.samples import assert_same, diamond, recorded, sources

import dovetail.workloads.store as store
from dovetail.core.errors import DovetailError, InvalidWorkload
from dovetail.workloads.readers.native import read_source
from dovetail.workloads.source import DagSource
from dovetail.workloads.store import file_sha256, require_target, write_source


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@given(source=sources())
def test_written_and_read_is_the_same(folder, source):
    write_source(source, folder / "w", force=True)
    again = read_source(folder / "w")
    assert again.name == source.name
    assert_same(again.catalogue, source.catalogue)
    assert (again.recorded is None) == (source.recorded is None)
    if source.recorded is not None:
        assert_same(again.recorded, source.recorded)


def test_the_manifest_says_what_is_there(tmp_path):
    manifest = write_source(recorded(), tmp_path / "w", provenance={"command": "test", "seed": 4})
    assert manifest == json.loads((tmp_path / "w" / "manifest.json").read_text())
    assert manifest["schema"] == 1
    assert manifest["family"] == "dag"
    assert manifest["counts"] == {"dags": 2, "stages": 5, "edges": 4, "duration_groups": 6, "jobs": 3}
    assert manifest["provenance"]["seed"] == 4
    for file, entry in manifest["files"].items():
        assert entry["sha256"] == file_sha256(tmp_path / "w" / file)


def test_same_source_same_bytes(tmp_path):
    one = write_source(recorded(), tmp_path / "one")
    assert one == write_source(recorded(), tmp_path / "two")


def test_parents_are_made_and_the_directory_is_not_private(tmp_path):
    write_source(recorded(), tmp_path / "a" / "b" / "w")
    mode = stat.S_IMODE((tmp_path / "a" / "b" / "w").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "a").stat().st_mode)


def test_an_existing_target_is_an_error_and_stays_as_it_was(tmp_path):
    write_source(recorded(), tmp_path / "w")
    before = (tmp_path / "w" / "manifest.json").read_bytes()
    with pytest.raises(DovetailError, match="--force"):
        write_source(DagSource("other", diamond()), tmp_path / "w")
    assert (tmp_path / "w" / "manifest.json").read_bytes() == before


def test_force_replaces_a_workload_and_nothing_else(tmp_path):
    write_source(recorded(), tmp_path / "w")
    write_source(DagSource("other", diamond()), tmp_path / "w", force=True)
    assert read_source(tmp_path / "w").name == "other"
    assert not (tmp_path / "w" / "jobs.parquet").exists()
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "cat.jpg").touch()
    with pytest.raises(DovetailError, match="not a workload directory"):
        write_source(recorded(), photos, force=True)
    assert [p.name for p in photos.iterdir()] == ["cat.jpg"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["photos", "w"]


def test_force_does_not_replace_records(tmp_path):
    records = tmp_path / "records"
    records.mkdir()
    (records / "manifest.json").write_text('{"schema": 1, "family": "dag", "workload": {}, "runs": []}')
    with pytest.raises(DovetailError, match="something else than a workload"):
        write_source(recorded(), records, force=True)
    assert [file.name for file in records.iterdir()] == ["manifest.json"]


def test_an_empty_directory_may_be_replaced_and_a_file_not(tmp_path):
    (tmp_path / "w").mkdir()
    write_source(recorded(), tmp_path / "w", force=True)
    (tmp_path / "f").touch()
    with pytest.raises(DovetailError, match="not a workload directory"):
        require_target(tmp_path / "f", force=True)


def test_nothing_is_left_when_writing_fails(tmp_path, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.pq, "write_table", full)
    with pytest.raises(DovetailError, match="No space left"):
        write_source(recorded(), tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_the_old_workload_survives_a_failed_replacement(tmp_path, monkeypatch):
    write_source(recorded(), tmp_path / "w")
    monkeypatch.setattr(store, "file_sha256", lambda path: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_source(DagSource("other", diamond()), tmp_path / "w", force=True)
    monkeypatch.undo()
    assert read_source(tmp_path / "w").name == "toy"
    assert [p.name for p in tmp_path.iterdir()] == ["w"]


def test_an_invalid_source_is_not_written(tmp_path):
    catalogue = diamond()
    catalogue.num_tasks[0] = 0
    with pytest.raises(InvalidWorkload, match="stage without tasks"):
        write_source(DagSource("bad", catalogue), tmp_path / "w")
    assert list(tmp_path.iterdir()) == []
