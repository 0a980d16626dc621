"""What can be wrong with the columns of a table, whatever they hold.  Faults are placed: file, row (from 0), field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.core.dag import Bools
from dovetail.core.errors import Fault
from dovetail.workloads.schema import Column
from dovetail.workloads.tables import lists, numbers


def column_faults(file: str, columns: tuple[Column, ...], table: pa.Table) -> Iterator[Fault]:
    """Missing, empty and non-finite entries."""
    for column in columns:
        values = table[column.name]
        if not column.nullable:
            yield from each_row(file, column.name, np.asarray(pc.is_null(values)), "missing", "a value in every row")
        if column.kind == "text":
            blank = np.asarray(pc.fill_null(pc.equal(values, ""), False))
            yield from each_row(file, column.name, blank, "empty name", "at least one character")
        elif column.kind == "number":
            bad = ~np.isfinite(numbers(values)) & np.asarray(pc.is_valid(values))
            yield from each_row(file, column.name, bad, "not a finite number", "no NaN and no infinity")
        elif column.kind == "numbers":
            ptr, entries = lists(values)
            row = np.repeat(np.arange(len(values)), np.diff(ptr))
            bad_rows = np.unique(row[~np.isfinite(entries)])
            yield from at_rows(file, column.name, bad_rows, "not a finite number", "no NaN and no infinity")


def duplicates(file: str, field: str, key: tuple[pa.ChunkedArray, ...]) -> Iterator[Fault]:
    """Rows whose key is that of an earlier row."""
    code = np.zeros(len(key[0]), dtype=np.int64)
    for part in key:
        value = np.asarray(pc.fill_null(pc.index_in(part, value_set=pc.unique(part)), 0), dtype=np.int64)
        _, code = np.unique(code * (len(part) + 1) + value, return_inverse=True)
    _, first = np.unique(code, return_index=True)
    again = np.ones(code.size, dtype=np.bool_)
    again[first] = False
    again &= ~np.any([np.asarray(pc.is_null(part)) for part in key], axis=0)
    for row in np.flatnonzero(again):
        name = " / ".join(str(part[int(row)].as_py()) for part in key)
        earlier = int(first[code[row]])
        yield Fault(file, int(row), field, f"duplicate of row {earlier}: {name}", "every id once")


def each_row(file: str, field: str, bad: Bools, problem: str, expected: str) -> Iterator[Fault]:
    return at_rows(file, field, np.flatnonzero(bad), problem, expected)


def at_rows(file: str, field: str, rows: Iterable[int], problem: str, expected: str) -> Iterator[Fault]:
    for row in rows:
        yield Fault(file, int(row), field, problem, expected)
