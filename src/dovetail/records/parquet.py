"""Tables of plain columns to Parquet and back: the same columns always become the same bytes.

pyarrow is imported inside the functions, so that commands which only mention records stay quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.core.errors import RecordError
from dovetail.records.files import replacing

Columns = Mapping[str, "NDArray[Any] | Sequence[str]"]
Schema = Mapping[str, str]  # column -> int8, int32, int64, float64, bool or string

_IN_MEMORY: dict[str, type[np.generic]] = {
    "int8": np.int64,
    "int32": np.int64,
    "int64": np.int64,
    "float64": np.float64,
    "bool": np.bool_,
}
_AGAIN = "the file is damaged; make the records again"


def write_table(path: Path, columns: Columns, schema: Schema) -> None:
    """Write these columns, in the schema's order and types; the file appears whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = []
    rows: dict[str, int] = {}
    for name, kind in schema.items():
        values = columns[name]
        rows[name] = len(values)
        if kind == "string":
            arrays.append(pa.array(list(values), type=pa.string()))
            continue
        memory = np.ascontiguousarray(values, dtype=_IN_MEMORY[kind])
        if kind.startswith("int") and memory.size:
            limit = np.iinfo(kind)
            if memory.min() < limit.min or memory.max() > limit.max:
                raise RecordError(f"{path.name}, column {name!r}: a value does not fit {kind}")
        arrays.append(pa.array(memory.astype(kind)))
    if len(set(rows.values())) > 1:
        raise RecordError(f"{path.name}: columns of different length: {rows}")
    table = pa.table(arrays, schema=pa.schema([(name, _arrow(kind)) for name, kind in schema.items()]))
    # Every setting that shapes the bytes is given, so that a new default does not change them.
    with replacing(path) as part:
        pq.write_table(
            table,
            part,
            version="2.6",
            data_page_version="1.0",
            compression="zstd",
            compression_level=3,
            use_dictionary=True,
            write_statistics=True,
            row_group_size=1 << 20,
            data_page_size=1 << 20,
            store_schema=False,
            write_page_index=False,
        )


def read_table(path: Path, schema: Schema | None = None) -> dict[str, Any]:
    """All columns: numpy arrays, and tuples for text.  With a schema, exactly its columns in its types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise RecordError(f"{path}: no such file, but the records need it; make the records again")
    try:
        table = pq.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RecordError(f"{path}: not a complete Parquet file ({first}); {_AGAIN}") from error
    if schema is not None:
        _check_schema(path, table, schema)
    return {name: _column(path, name, table.column(name)) for name in (schema or table.column_names)}


def _arrow(kind: str) -> Any:
    import pyarrow as pa

    return pa.bool_() if kind == "bool" else getattr(pa, kind)()


def _check_schema(path: Path, table: Any, schema: Schema) -> None:
    missing = [name for name in schema if name not in table.column_names]
    if missing:
        raise RecordError(
            f"{path}: column {missing[0]!r} is missing; expected {', '.join(schema)}, found "
            f"{', '.join(table.column_names) or 'none'}"
        )
    for name, kind in schema.items():
        found = table.schema.field(name).type
        if found != _arrow(kind):
            raise RecordError(f"{path}, column {name!r}: type {found}; expected {kind}")


def _column(path: Path, name: str, column: Any) -> Any:
    import pyarrow as pa

    if column.null_count:
        raise RecordError(f"{path}, column {name!r}: {column.null_count} values are missing; expected none")
    if pa.types.is_string(column.type):
        return tuple(column.to_pylist())
    values = column.to_numpy()
    kind = values.dtype.name
    if kind not in _IN_MEMORY:
        raise RecordError(f"{path}, column {name!r}: type {column.type}; expected numbers or text")
    memory = values.astype(_IN_MEMORY[kind])
    memory.setflags(write=False)
    return memory
