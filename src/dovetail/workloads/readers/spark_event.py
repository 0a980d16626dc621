"""Fields of an event of Spark, each of the type that it has to be."""

from __future__ import annotations

from typing import Any


class FaultyEvent(Exception):
    """A field is missing or of another type."""

    def __init__(self, field: str, problem: str, expected: str) -> None:
        self.field = field
        self.problem = problem
        self.expected = expected
        super().__init__(field, problem, expected)


def integer(event: dict[str, Any], field: str, otherwise: int | None = None) -> int:
    """A whole number that fits a table."""
    value = event.get(field, otherwise)
    if type(value) is not int or abs(value) >= 2**62:
        raise _faulty(event, field, "a whole number")
    return value


def number(event: dict[str, Any], field: str) -> float:
    value = event.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**62:
        raise _faulty(event, field, "a number, 0 or more")
    return float(value)


def boolean(event: dict[str, Any], field: str) -> bool:
    """False where it is missing, as in logs of old versions."""
    value = event.get(field, False)
    if type(value) is not bool:
        raise _faulty(event, field, "true or false")
    return value


def text(event: dict[str, Any], field: str, otherwise: str | None = None) -> str:
    value = event.get(field)
    value = otherwise if value is None else value
    if type(value) is not str:
        raise _faulty(event, field, "text")
    return value


def record(event: dict[str, Any], field: str) -> dict[str, Any]:
    value = event.get(field)
    if type(value) is not dict:
        raise _faulty(event, field, "an object")
    return value


def records(event: dict[str, Any], field: str) -> list[dict[str, Any]]:
    value = event.get(field)
    if type(value) is not list or not all(type(each) is dict for each in value):
        raise _faulty(event, field, "a list of objects")
    return value


def _faulty(event: dict[str, Any], field: str, expected: str) -> FaultyEvent:
    problem = f"cannot be read: {str(event[field])[:50]!r}" if field in event else "missing"
    return FaultyEvent(field, problem, expected)
