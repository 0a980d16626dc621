"""Reads the manifest and the tables of a workload directory, of whichever family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.core.errors import Fault
from dovetail.workloads.schema import MANIFEST, SCHEMA, Column, Layout
from dovetail.workloads.store import file_sha256
from dovetail.workloads.tables import Tables, arrow_type


def load_tables(path: Path, layout: Layout, *, sealed: bool) -> tuple[dict[str, Any] | None, Tables, list[Fault]]:
    """Manifest, tables and what is wrong with them; `placed` says in which directory.  `sealed`: compare checksums."""
    manifest, faults = read_manifest(path, layout.family)
    if manifest is None:
        return None, {}, faults
    files: dict[str, Any] = manifest["files"]
    tables: Tables = {}
    for file in (*layout.required, *(file for file in layout.tables if file in files and file not in layout.required)):
        if file not in files:
            faults.append(Fault(MANIFEST, None, "files", f"{file} is not listed", "all required tables"))
            continue
        table, wrong = _read_table(path, file, layout.tables[file])
        faults += wrong
        if sealed and table is not None:
            faults += _seal_faults(path, file, files[file])
        if table is not None and not wrong:
            tables[file] = table
    return manifest, tables, faults


def placed(path: Path, fault: Fault) -> Fault:
    """The fault with its file in this directory."""
    return Fault(str(path / fault.file), fault.row, fault.field, fault.problem, fault.expected)


def family_of(path: Path) -> str | None:
    """The family that the manifest in this directory names; None where there is none to be read."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes().decode("utf-8"))
    except (OSError, ValueError):
        return None
    family = manifest.get("family") if isinstance(manifest, dict) else None
    return family if isinstance(family, str) else None


def read_manifest(path: Path, family: str) -> tuple[dict[str, Any] | None, list[Fault]]:
    """The manifest in this directory, or why there is none that can be used.  Its faults are placed already."""
    file = path / MANIFEST

    def fault(field: str | None, problem: str, expected: str) -> tuple[None, list[Fault]]:
        return None, [Fault(str(file), None, field, problem, expected)]

    try:
        manifest = json.loads(file.read_bytes().decode("utf-8"))
    except OSError:
        return fault(None, "no manifest", "a directory made by `dovetail workload generate` or `import`")
    except UnicodeDecodeError as error:
        return fault(None, f"wrong encoding at byte {error.start}", "UTF-8")
    except ValueError as error:
        return fault(None, f"not JSON: {error}" if file.stat().st_size else "empty file", "a JSON object")
    if not isinstance(manifest, dict):
        return fault(None, "not a JSON object", "keys schema, family, name, files")
    if manifest.get("schema") != SCHEMA:
        return fault("schema", f"unknown schema version {manifest.get('schema')!r}", f"{SCHEMA}")
    if manifest.get("family") != family:
        return fault("family", f"family {manifest.get('family')!r} cannot be read here", f"{family!r}")
    if not isinstance(manifest.get("name"), str) or not manifest["name"]:
        return fault("name", "no name", "text")
    files = manifest.get("files")
    if not isinstance(files, dict) or not all(isinstance(entry, dict) for entry in files.values()):
        return fault("files", "no list of files", "file name -> rows and sha256")
    return manifest, []


def _seal_faults(path: Path, file: str, entry: dict[str, Any]) -> list[Fault]:
    if entry.get("sha256") == file_sha256(path / file):
        return []
    hint = "the file as it was written; `dovetail workload import dovetail` takes over changed tables"
    return [Fault(file, None, None, "not the file that the manifest describes (checksum differs)", hint)]


def _read_table(path: Path, file: str, spec: tuple[Column, ...]) -> tuple[pa.Table | None, list[Fault]]:
    target = path / file
    if not target.is_file():
        return None, [Fault(file, None, None, "missing file", "listed in the manifest")]
    if target.stat().st_size == 0:
        return None, [Fault(file, None, None, "empty file", "a Parquet table")]
    try:
        with pq.ParquetFile(target) as parquet:
            table = parquet.read()
            table.validate(full=True)  # text that is not UTF-8 is found here
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        return None, [Fault(file, None, None, f"truncated or not a Parquet file: {reason}", "a Parquet table")]
    faults: list[Fault] = []
    columns = {}
    for column in spec:
        found = table.column_names.count(column.name)
        if found != 1:
            problem = "missing column" if found == 0 else f"{found} columns of this name"
            faults.append(Fault(file, None, column.name, problem, _describe(column)))
            continue
        values = table[column.name]
        if not _fits(values.type, column):
            faults.append(Fault(file, None, column.name, f"wrong column type {values.type}", _describe(column)))
            continue
        try:
            columns[column.name] = values.cast(arrow_type(column))
        except pa.ArrowInvalid as error:
            faults.append(Fault(file, None, column.name, f"value out of range: {error}", _describe(column)))
    return (table, faults) if faults else (pa.table(columns), [])


def _fits(kind: pa.DataType, column: Column) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if column.kind == "text":
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    if column.kind == "integer":
        return bool(pa.types.is_signed_integer(kind) or pa.types.is_unsigned_integer(kind))
    if column.kind == "numbers":
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            return False
        kind = kind.value_type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _describe(column: Column) -> str:
    words = {
        "text": "text (UTF-8)",
        "integer": "integers",
        "number": "numbers",
        "numbers": "lists of numbers",
    }
    return words[column.kind]
