"""Rows of small text files with values between commas, each with its line, for readers that list every fault."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from dovetail.core.errors import Fault, InvalidWorkload


def read_text(file: Path, expected: str) -> str:
    """The file as text without a byte-order mark; refused if it cannot be read, is empty or is not UTF-8."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise refusal(file, None, f"cannot be read: {error.strerror}", expected) from None
    if not data.strip():
        raise refusal(file, None, "empty file", expected)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise refusal(file, row, f"wrong encoding: byte {error.start} is not UTF-8", "UTF-8 text") from None


def split_rows(file: Path, text: str) -> list[tuple[int, list[str]]]:
    """Lines (from 1; the last one of a row that goes over several) and their values, stripped; blank lines left out."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    rows = []
    try:
        for row in reader:
            values = [value.strip() for value in row]
            if any(values):
                rows.append((reader.line_num, values))
    except csv.Error as error:
        raise refusal(file, reader.line_num, f"not readable as CSV: {error}", "values between commas") from None
    return rows


def refusal(file: Path, row: int | None, problem: str, expected: str) -> InvalidWorkload:
    return InvalidWorkload([Fault(str(file), row, None, problem, expected)])
