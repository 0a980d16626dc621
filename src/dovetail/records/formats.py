"""Which families leave records, and where the form of a run of each is written down."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dovetail.core.errors import UnknownName

if TYPE_CHECKING:
    from dovetail.records.run import Run

FORMATS = {
    "dag": "dovetail.records.dag:DagRun",
    "elastic": "dovetail.records.elastic:ElasticRun",
    "gpu": "dovetail.records.gpu:GpuRun",
    "stream": "dovetail.records.stream:StreamRun",
}
"""Family -> the class of its runs, imported when one is read or written."""


def run_type(family: str) -> type[Run]:
    """What a run of this family is read into."""
    if family not in FORMATS:
        raise UnknownName("family", family, FORMATS)
    module, name = FORMATS[family].split(":")
    found: type[Run] = getattr(import_module(module), name)
    return found
