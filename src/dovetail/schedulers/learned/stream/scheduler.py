"""The learned autoscalers as schedulers: features, network, action; no torch.

All of them share everything but the network, so that comparisons are about networks alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from dovetail.core.stream import Reason, StreamDecision, StreamInfo, StreamView
from dovetail.features.stream import StreamFeatures
from dovetail.schedulers.learned.stream.action import Actuator
from dovetail.schedulers.learned.stream.checkpoint import StreamCheckpoint, find_checkpoint, load_checkpoint
from dovetail.schedulers.learned.stream.graph import graph_of
from dovetail.schedulers.learned.stream.kinds import draw, forward


class StreamPolicy:
    """A network that decides by the means of its actions.  SURE draws its subgraphs each time, as it has learned to."""

    NETWORK: ClassVar[str]
    REASON: ClassVar = Reason.LEARNED

    def __init__(self, checkpoint: str, network: StreamCheckpoint | None) -> None:
        self.checkpoint = checkpoint
        self._trained = network or load_checkpoint(find_checkpoint(checkpoint), self.NETWORK)

    @property
    def card(self) -> dict[str, Any]:
        return self._trained.card

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        from dovetail.schedulers.learned.stream.compiled import COMPILED  # numba: not for a list of schedulers

        shape = self._trained.shape
        self._ops, self._seed, self._history = COMPILED, int(rng.integers(2**62)), info.history
        self._features = StreamFeatures(info)
        self._actuator = Actuator(info, shape.action, self._features.memory)
        self._graph = graph_of(info, shape.hops, shape.neighbours)

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        trained = self._trained
        seen = self._features.of(view)[None]
        rng = np.random.default_rng((self._seed, round(view.time_s)))  # asked again, it draws the same
        drawn = draw(trained.network, rng, trained.shape, 1, self._history, self._graph)
        said = forward(self._ops, trained.network, trained.shape, trained.parameters, seen, self._graph, drawn)
        return self._actuator.decisions(view, self._actuator.demand(view), said.mean[0], self.REASON)


@dataclass(frozen=True)
class SureParams:
    checkpoint: str = field(default="sure", metadata={"help": "name of a bundled network, or a path"})
    sampler: Literal["trained", "random"] = field(
        default="trained",
        metadata={"help": "random: its choice of the past is left to chance, to see what that was worth"},
    )


class Sure(StreamPolicy):
    """`stream/sure`."""

    NETWORK: ClassVar = "sure"
    Params = SureParams

    def __init__(self, params: SureParams = SureParams(), *, network: StreamCheckpoint | None = None) -> None:
        super().__init__(params.checkpoint, network)
        if params.sampler == "random":
            self._trained = replace(self._trained, shape=replace(self._trained.shape, sampler="random"))


@dataclass(frozen=True)
class DreamParams:
    checkpoint: str = field(default="dream", metadata={"help": "name of a bundled network, or a path"})


class Dream(StreamPolicy):
    """`stream/dream`."""

    NETWORK: ClassVar = "dream"
    Params = DreamParams

    def __init__(self, params: DreamParams = DreamParams(), *, network: StreamCheckpoint | None = None) -> None:
        super().__init__(params.checkpoint, network)


@dataclass(frozen=True)
class DeepWaveParams:
    checkpoint: str = field(default="deepwave", metadata={"help": "name of a bundled network, or a path"})


class DeepWave(StreamPolicy):
    """`stream/deepwave`."""

    NETWORK: ClassVar = "deepwave"
    Params = DeepWaveParams

    def __init__(self, params: DeepWaveParams = DeepWaveParams(), *, network: StreamCheckpoint | None = None) -> None:
        super().__init__(params.checkpoint, network)


@dataclass(frozen=True)
class TvwRlParams:
    checkpoint: str = field(default="tvw-rl", metadata={"help": "name of a bundled network, or a path"})


class TvwRl(StreamPolicy):
    """`stream/tvw-rl`."""

    NETWORK: ClassVar = "tvw-rl"
    Params = TvwRlParams

    def __init__(self, params: TvwRlParams = TvwRlParams(), *, network: StreamCheckpoint | None = None) -> None:
        super().__init__(params.checkpoint, network)


@dataclass(frozen=True)
class AstgcnParams:
    checkpoint: str = field(default="astgcn", metadata={"help": "name of a bundled network, or a path"})


class Astgcn(StreamPolicy):
    """`stream/astgcn`."""

    NETWORK: ClassVar = "astgcn"
    REASON: ClassVar = Reason.FORECAST
    Params = AstgcnParams

    def __init__(self, params: AstgcnParams = AstgcnParams(), *, network: StreamCheckpoint | None = None) -> None:
        super().__init__(params.checkpoint, network)


@dataclass(frozen=True)
class CcrnnParams:
    checkpoint: str = field(default="ccrnn", metadata={"help": "name of a bundled network, or a path"})


class Ccrnn(StreamPolicy):
    """`stream/ccrnn`."""

    NETWORK: ClassVar = "ccrnn"
    REASON: ClassVar = Reason.FORECAST
    Params = CcrnnParams

    def __init__(self, params: CcrnnParams = CcrnnParams(), *, network: StreamCheckpoint | None = None) -> None:
        super().__init__(params.checkpoint, network)


POLICIES = {policy.NETWORK: policy for policy in (Sure, Dream, DeepWave, TvwRl, Astgcn, Ccrnn)}
"""Kind of network -> its scheduler."""
