"""Kinds of trained networks: which scheduler plays them, and by which metric they are judged.

A card's `kind` says what a network is; everything else that commands need to know about it is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from dovetail.core.errors import CheckpointError, UnknownName
from dovetail.schedulers.learned.checkpoint_files import both_paths, find_checkpoint, read_card, rewrite_card


@dataclass(frozen=True)
class NetworkKind:
    """One kind of network."""

    kind: str  # as cards say it
    family: str
    scheduler: str
    module: str  # of the scheduler; it has BUNDLED
    loader: str  # module with load_checkpoint, which checks everything
    yardsticks: Mapping[str, str]  # objective -> metric
    others: str  # what it is compared with unless told otherwise

    @property
    def bundled(self) -> Path:
        path: Path = import_module(self.module).BUNDLED
        return path


KINDS = (
    NetworkKind(
        kind="decima",
        family="dag",
        scheduler="dag/decima",
        module="dovetail.schedulers.learned.decima.scheduler",
        loader="dovetail.schedulers.learned.decima.checkpoint",
        yardsticks={
            "average-jct": "avg_jct_s",
            "makespan": "makespan_s",
            "weighted-jct": "weighted_jct_s",
            "deadline": "late_s",
        },
        others="heuristics",
    ),
    NetworkKind(
        kind="elastic-prices",
        family="elastic",
        scheduler="elastic/learned",
        module="dovetail.schedulers.learned.elastic.learned",
        loader="dovetail.schedulers.learned.elastic.checkpoint",
        yardsticks={"total-utility": "total_utility"},
        others="elastic/fifo,elastic/drf,elastic/rrh,elastic/srtf,elastic/oasis,elastic/oasis-replan",
    ),
    NetworkKind(
        kind="das",
        family="gpu",
        scheduler="gpu/das",
        module="dovetail.schedulers.learned.das.scheduler",
        loader="dovetail.schedulers.learned.das.checkpoint",
        yardsticks={"jct-and-fee": "avg_jct_s"},
        others="heuristics",
    ),
    *(
        NetworkKind(
            kind=f"stream-{network}",
            family="stream",
            scheduler=f"stream/{network}",
            module="dovetail.schedulers.learned.stream.checkpoint",
            loader="dovetail.schedulers.learned.stream.checkpoint",
            yardsticks={"reward": "reward"},
            others="stream/flink,stream/ds2:utilisation=0.4,stream/quantile,stream/oracle",
        )
        for network in ("sure", "deepwave", "dream", "tvw-rl", "astgcn", "ccrnn")
    ),
)


@dataclass(frozen=True)
class TrainedNetwork:
    """A network on disk."""

    name: str  # as it was asked for
    path: Path
    kind: NetworkKind
    card: dict[str, Any]

    @classmethod
    def find(cls, name: str) -> TrainedNetwork:
        """A bundled network by its name, or any by its path; checked in full."""
        path = _path(name)
        card_path, card = read_card(path)
        kind = next((one for one in KINDS if one.kind == card.get("kind")), None)
        if kind is None:
            known = ", ".join(one.kind for one in KINDS)
            raise CheckpointError(f"{card_path}: a network of kind {card.get('kind')!r}; this version knows {known}")
        import_module(kind.loader).load_checkpoint(path)
        return cls(name, path, kind, card)

    @property
    def spec(self) -> str:
        """The scheduler that plays it."""
        return f"{self.kind.scheduler}:checkpoint={self.name}"

    def write(self, held_out: Mapping[str, Any]) -> None:
        """Put what it reached on held-out sequences into its card."""
        rewrite_card(both_paths(self.path)[1], {**self.card, "held_out": dict(held_out)})


def _path(name: str) -> Path:
    bundled = {card.stem: kind for kind in KINDS for card in kind.bundled.glob("*.json")}
    try:
        return find_checkpoint(name, bundled[name].bundled if name in bundled else Path())
    except UnknownName as error:
        raise UnknownName("checkpoint", name, bundled) from error
