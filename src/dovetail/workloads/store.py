"""Writes a workload directory: all of it or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail import __version__
from dovetail.core.errors import DovetailError, InvalidWorkload
from dovetail.workloads.check import table_faults
from dovetail.workloads.schema import DAG, MANIFEST, SCHEMA, Layout
from dovetail.workloads.source import DagSource
from dovetail.workloads.tables import Tables, to_tables


def write_source(
    source: DagSource, path: Path, *, provenance: Mapping[str, Any] | None = None, force: bool = False
) -> dict[str, Any]:
    """Stores the source in a new directory and returns its manifest.

    `provenance` says how it was made (command, seed, parameters).  An existing directory is an error; `force`
    replaces it, if it is empty or a workload itself.
    """
    require_target(path, force=force)
    tables = to_tables(source)
    faults = table_faults(tables)
    if faults:
        raise InvalidWorkload(faults)
    return write_tables(DAG, source.name, tables, path, provenance=provenance, force=force)


def write_tables(
    layout: Layout,
    name: str,
    tables: Tables,
    path: Path,
    *,
    provenance: Mapping[str, Any] | None = None,
    setting: Mapping[str, Any] | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """The same for checked tables of any family; `setting` is kept in the manifest as it is."""
    require_target(path, force=force)
    head: dict[str, Any] = {"schema": SCHEMA, "family": layout.family, "name": name}
    if setting is not None:
        head["setting"] = dict(setting)
    head["counts"] = table_counts(tables, layout)
    head["provenance"] = {"dovetail": __version__, **dict(provenance or {})}
    try:
        return _write_beside(head, tables, path)
    except OSError as error:
        raise DovetailError(f"{path} cannot be written: {error.strerror or error}") from error


def require_target(path: Path, *, force: bool) -> None:
    """Refuses a target that must not be written to.  Cheap, so that it can be asked before long work."""
    if not os.path.lexists(path):
        return
    if not force:
        raise DovetailError(f"{path} exists; choose another directory, or --force to replace it")
    if not path.is_dir() or (any(path.iterdir()) and not (path / MANIFEST).is_file()):
        raise DovetailError(f"{path} is not a workload directory (it has no {MANIFEST}), so it is not replaced")
    if (path / MANIFEST).is_file() and not _is_of_workload(path / MANIFEST):
        raise DovetailError(f"{path} holds something else than a workload, so it is not replaced")


def _is_of_workload(manifest: Path) -> bool:
    """A damaged one may be; records have a manifest, too, which is another."""
    try:
        document = json.loads(manifest.read_bytes())
    except (OSError, ValueError):
        return True
    return isinstance(document, dict) and "runs" not in document


def _write_beside(head: dict[str, Any], tables: Tables, path: Path) -> dict[str, Any]:
    """Writes into a directory of another name, which takes the place of the target when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
    try:
        manifest = _write(head, tables, partial)
        partial.chmod(0o777 & ~_umask())  # a temporary directory is private; a workload need not be
        _put_in_place(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return manifest


def _write(head: dict[str, Any], tables: Tables, folder: Path) -> dict[str, Any]:
    files = {}
    for file, table in tables.items():
        pq.write_table(table, folder / file, compression="zstd")
        files[file] = {"rows": table.num_rows, "sha256": file_sha256(folder / file)}
    manifest = {**head, "files": files}
    text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return manifest


def _put_in_place(partial: Path, path: Path) -> None:
    if not path.exists():
        partial.rename(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old-", dir=path.parent))
    path.rename(old / path.name)
    try:
        partial.rename(path)
    except BaseException:
        (old / path.name).rename(path)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def table_counts(tables: Mapping[str, pa.Table], layout: Layout = DAG) -> dict[str, int]:
    """How many there are of everything."""
    return {name: tables[file].num_rows for name, file in layout.counted.items() if file in tables}


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
