"""What an actor needs of a stage, taken from files of the server and put where actors on any machine can have it.

Small things travel with the first call.  Large ones are put into Ray's object store, once for all actors; so are the
results of parent stages, in chunks, which an actor fetches when a task looks at them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.execution.engines.ray_actor import BLOBS, NUMBERS, SHARED
from dovetail.execution.inputs import Index, OutFiles, Place
from dovetail.execution.payload import EACH, RANGE, Payload

INLINE_BYTES = 100_000  # Ray itself sends no more than that with a call
CHUNK_BYTES = 8 * 10**6

StageKey = tuple[int, int]  # job, number


@dataclass(frozen=True)
class Shipment:
    """One stage.  `settings` is what `ray_actor.ShippedStage` is made of, or a reference to it."""

    settings: Any
    kind: int  # of arguments
    payload: Payload
    number: int

    def arguments(self, tasks: Sequence[int]) -> list[bytes]:
        if self.kind != BLOBS:
            return []
        blobs = (self.payload.argument_blob(self.number, task) for task in tasks)
        return [bytes(blob) for blob in blobs if blob is not None]


class Shipping:
    """Nothing here needs the server, so a stage with inputs, which takes its time, may be prepared by a thread."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def prepare(self, number: int, settings: Mapping[str, Any]) -> Shipment:
        payload = Payload.open(settings["payload"], only=number)
        kind = {RANGE: NUMBERS, EACH: BLOBS}.get(payload.argument_kind(number), SHARED)
        shared = payload.argument_blob(number, 0) if kind == SHARED else None
        places: dict[str, list[Place]] | None = None
        chunks: list[Any] = []
        if settings["inputs"] is not None:
            places, chunks = self._put_inputs(settings["inputs"])
        shipped: Any = {
            "function": payload.function(number),
            "shared": None if shared is None else bytes(shared),
            "inputs": places,
            "chunks": chunks,
            **{key: settings[key] for key in ("cpus", "memory_bytes", "sys_path")},
        }
        inputs = sum(map(len, places.values())) * 32 if places else 0
        if len(shipped["function"]) + len(shipped["shared"] or b"") + inputs > INLINE_BYTES:
            shipped = self._ray.put(shipped)
        return Shipment(shipped, kind, payload, number)

    def _put_inputs(self, inputs: Mapping[str, Sequence[Place] | str]) -> tuple[dict[str, list[Place]], list[Any]]:
        """Where the results are in which chunk, and references to the chunks."""
        files = OutFiles()
        chunks: list[Any] = []
        gathered: list[bytes] = []
        size = 0
        found: dict[str, list[Place]] = {}
        for name, places in inputs.items():
            found[name] = []
            for place in Index.open(places) if isinstance(places, str) else places:
                data = files.read(*place)
                if gathered and size + len(data) > CHUNK_BYTES:
                    chunks.append(self._ray.put(b"".join(gathered)))
                    gathered, size = [], 0
                found[name].append((str(len(chunks)), size, len(data)))
                gathered.append(data)
                size += len(data)
        if gathered:
            chunks.append(self._ray.put(b"".join(gathered)))
        files.close()
        return found, chunks
