"""What Flink's REST says of a job, parsed: its vertices in the order records flow, and who feeds whom.

Flink chains operators that hand on to each other without a shuffle; a *vertex* is such a chain, and what has a
parallelism.  Vertices are the operators of schedulers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dovetail.execution.engines.flink.errors import FlinkError

ADAPTIVE = "Adaptive"
RUNNING = "RUNNING"
OVER = ("FINISHED", "CANCELED", "FAILED", "SUSPENDED")  # states that a job does not leave


class JobLine(NamedTuple):
    """A line of the list of jobs."""

    job_id: str
    name: str
    state: str


@dataclass(frozen=True)
class Vertex:
    vertex_id: str
    name: str
    parallelism: int
    max_parallelism: int
    slot_group: str  # vertices of a slot sharing group may be in one slot


class Edge(NamedTuple):
    """Numbers of vertices.  `forward`: instance i feeds instance i, so both ends need the same parallelism."""

    origin: int
    target: int
    forward: bool


@dataclass(frozen=True)
class FlinkJob:
    """`created_ms` is when the graph that runs was made: every rescale and every restart makes a new one."""

    job_id: str
    name: str
    state: str
    adaptive: bool
    vertices: tuple[Vertex, ...]  # each after those that feed it
    edges: tuple[Edge, ...]  # by target, then origin
    created_ms: float
    stopped_ms: float  # when it began to be taken down; 0: it has not been

    @property
    def parallelism(self) -> dict[str, int]:
        return {vertex.vertex_id: vertex.parallelism for vertex in self.vertices}

    @property
    def sources(self) -> frozenset[int]:
        return frozenset(range(len(self.vertices))) - {edge.target for edge in self.edges}


def parse_jobs(answer: Mapping[str, Any]) -> tuple[JobLine, ...]:
    """`/jobs/overview`."""
    try:
        return tuple(JobLine(str(job["jid"]), str(job["name"]), str(job["state"])) for job in answer["jobs"])
    except (KeyError, TypeError) as error:
        raise _unlike("/jobs/overview", error) from error


def parse_job(answer: Mapping[str, Any]) -> FlinkJob:
    """`/jobs/:id`."""
    try:
        found = {str(one["id"]): one for one in answer["vertices"]}
        feeds = {str(node["id"]): node.get("inputs", ()) for node in answer["plan"]["nodes"]}
        order = _sorted(list(found), {key: [str(edge["id"]) for edge in inputs] for key, inputs in feeds.items()})
        number = {key: index for index, key in enumerate(order)}
        edges = sorted(
            {
                Edge(number[str(edge["id"])], number[key], edge.get("ship_strategy") == "FORWARD")
                for key, inputs in feeds.items()
                for edge in inputs
            },
            key=lambda edge: (edge.target, edge.origin, edge.forward),
        )
        return FlinkJob(
            job_id=str(answer["jid"]),
            name=str(answer["name"]),
            state=str(answer["state"]),
            adaptive=answer.get("schedulerType") == ADAPTIVE,
            vertices=tuple(_vertex(found[key]) for key in order),
            edges=_merged(edges),
            created_ms=float(answer["timestamps"]["CREATED"]),
            stopped_ms=max(float(answer["timestamps"].get(name, 0)) for name in ("CANCELLING", "FAILING")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unlike("/jobs/:id", error) from error


def _vertex(one: Mapping[str, Any]) -> Vertex:
    return Vertex(
        vertex_id=str(one["id"]),
        name=str(one["name"]),
        parallelism=int(one["parallelism"]),
        max_parallelism=int(one["maxParallelism"]),
        slot_group=str(one.get("slotSharingGroupId", "")),
    )


def _sorted(keys: list[str], feeds: Mapping[str, list[str]]) -> list[str]:
    """Each after those that feed it, otherwise as they stand."""
    order: list[str] = []
    while len(order) < len(keys):
        ready = [key for key in keys if key not in order and all(one in order for one in feeds.get(key, ()))]
        if not ready:
            raise ValueError("its plan has a cycle, or feeds on what is not there")
        order.append(ready[0])
    return order


def _merged(edges: list[Edge]) -> tuple[Edge, ...]:
    """Two ways between the same vertices are one edge."""
    found: dict[tuple[int, int], Edge] = {}
    for edge in edges:
        found[edge[:2]] = Edge(edge.origin, edge.target, edge.forward or found.get(edge[:2], edge).forward)
    return tuple(found.values())


def _unlike(path: str, error: Exception) -> FlinkError:
    said = f"no {error}" if isinstance(error, KeyError) else str(error)
    return FlinkError(f"{path}: not what a Flink of version 1.18 or later answers ({said})")
