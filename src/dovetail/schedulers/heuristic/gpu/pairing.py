"""An order and a place become the class of a scheduler, with the parameters of both.

A parameter is given by its name; one that both parts have as `order.name` or `place.name`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import field, fields, make_dataclass
from functools import cache
from typing import Any

from dovetail.core.config import field_types
from dovetail.schedulers.gpu_parts import GPU_VERBS
from dovetail.schedulers.heuristic.gpu.order import OrderPart
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.heuristic.gpu.queue_scheduler import QueueScheduler


@cache
def pair(order: type[OrderPart], place: type[PlacePart]) -> type[QueueScheduler]:
    """The scheduler that is made of the two."""
    name = f"{order.__name__}And{place.__name__}"
    both = _shared((order.Params, place.Params))
    tune = {
        f"{verb}.{key}" if key in both else key: values
        for verb, tried in zip(GPU_VERBS, (order.TUNE, place.TUNE), strict=True)
        for key, values in tried.items()
    }
    made = {
        "ORDER": order,
        "PLACE": place,
        "Params": merged_params(f"{name}Params", (order.Params, place.Params)),
        "TUNE": tune,
        "__doc__": f"{order.__name__}, and {place.__name__}.",
        "__module__": __name__,
    }
    return type(name, (QueueScheduler,), made)


def merged_params(name: str, parts: tuple[type[Any], type[Any]]) -> type[Any]:
    """One frozen dataclass with the fields of both; `of_part(0)` and `of_part(1)` are those of each again."""
    both = _shared(parts)
    columns: list[Any] = []
    for verb, part in zip(GPU_VERBS, parts, strict=True):
        own = _columns(part, without=both)
        columns += own
        if both:
            inner = make_dataclass(f"{part.__name__}Shared", _columns(part, only=both), frozen=True)
            columns.append((verb, inner, field(default_factory=inner)))

    def of_part(self: Any, index: int) -> Any:
        inner = getattr(self, GPU_VERBS[index], None)
        given = {one: getattr(inner if one in both else self, one) for one in field_types(parts[index])}
        return parts[index](**given)

    def check(self: Any) -> None:
        for index in range(len(parts)):
            of_part(self, index)  # which raises what is wrong with it

    namespace = {"of_part": of_part, "__post_init__": check}
    return make_dataclass(name, columns, frozen=True, namespace=namespace, kw_only=True)


def _shared(parts: tuple[type[Any], type[Any]]) -> set[str]:
    return set(field_types(parts[0])) & set(field_types(parts[1]))


def _columns(params: type[Any], *, without: Set[str] = frozenset(), only: Set[str] | None = None) -> list[Any]:
    hints = field_types(params)
    wanted = [one for one in fields(params) if one.name not in without and (only is None or one.name in only)]
    return [
        (
            one.name,
            hints[one.name],
            field(default=one.default, default_factory=one.default_factory, metadata=one.metadata),
        )
        for one in wanted
    ]
