from __future__ import annotations

from tests.records.fixtures import shared_records

__all__ = ["shared_records"]
