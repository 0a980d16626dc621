"""The small JSON files of a record directory: the manifest (part of what is hashed) and the timings (not)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.errors import RecordError
from dovetail.records.files import replacing
from dovetail.records.formats import FORMATS

SCHEMA = 1
MANIFEST = "manifest.json"
SUMMARY = "summary.parquet"
TIMINGS = "timings.json"
RUNS = "runs"

_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def plain(value: Any) -> Any:
    """The value as JSON can hold it: dataclasses become objects, tuples arrays, infinity the text "inf"."""
    if is_dataclass(value) and not isinstance(value, type):
        return {column.name: plain(getattr(value, column.name)) for column in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def canonical_params(params: Mapping[str, Any]) -> str:
    """Parameters as text that is equal exactly when they are: JSON with sorted keys and no spaces."""
    return json.dumps(plain(params), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def check_run_name(name: object, where: str) -> str:
    """A run's name becomes a folder's, so it must not be able to lead out of the record directory."""
    if not isinstance(name, str) or not _RUN_NAME.fullmatch(name):
        raise RecordError(
            f"{where}: {name!r} cannot name a run; expected letters, digits and inside also '.', '_', '-'"
        )
    return name


def write_json(path: Path, content: object) -> None:
    """Write JSON; the file appears whole or not at all, and equal content gives equal bytes."""
    text = json.dumps(plain(content), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with replacing(path) as part:
        part.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{path}: no such file, but the records need it; make the records again") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    except json.JSONDecodeError as error:
        raise RecordError(
            f"{path}, line {error.lineno}: not complete JSON ({error.msg}); make the records again"
        ) from error
    if not isinstance(content, dict):
        raise RecordError(f"{path}: a JSON {type(content).__name__}; expected an object")
    return content


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest, checked as far as every reader relies on it."""
    path = directory / MANIFEST
    if not directory.is_dir():
        raise RecordError(f"{directory}: no such directory; expected records made with `--out {directory}`")
    if not path.is_file():
        raise RecordError(
            f"{directory}: holds no {MANIFEST}, so it is not a record directory; "
            f"`dovetail simulate` and `dovetail compare` make one with `--out`"
        )
    manifest = read_json(path)
    require_records(directory, manifest)
    if manifest.get("schema") != SCHEMA:
        raise RecordError(f"{path}: schema {manifest.get('schema')!r}; this version of dovetail reads schema {SCHEMA}")
    if manifest.get("family") not in FORMATS:
        known = ", ".join(map(repr, FORMATS))
        raise RecordError(f"{path}: family {manifest.get('family')!r}; this version of dovetail reads {known}")
    _require(path, manifest, {"workload": dict, "options": dict, "runs": list, "files": dict})
    for run in manifest["runs"]:
        if not isinstance(run, dict):
            raise RecordError(f"{path}, field 'runs': {run!r}; expected an object for each run")
        check_run_name(run.get("run"), f"{path}, field 'runs'")
        _require(path, run, {"scheduler": str, "params": dict, "seed": int})
    return manifest


def require_records(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Others have a file of this name, too; records are known as such in any version, and if a field is damaged."""
    if not {"runs", "options"} <= set(manifest):
        what = "a workload" if {"counts", "provenance"} <= set(manifest) else "something else"
        raise RecordError(f"{directory}: holds {what}, not records; give another directory")


def _require(path: Path, content: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for key, kind in kinds.items():
        if not isinstance(content.get(key), kind):
            raise RecordError(f"{path}, field {key!r}: {content.get(key)!r}; expected {_JSON[kind]}")


_JSON = {dict: "an object", list: "an array", str: "text", int: "a whole number"}
