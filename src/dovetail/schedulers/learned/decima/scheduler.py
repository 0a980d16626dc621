"""dag/decima: a trained graph network decides (Mao et al., SIGCOMM 2019).

At each decision the network looks at all stages that still have something to do, their jobs and the whole system,
and takes the stage, the executor class (where there are several) and the limit that it thinks best.  It is computed
compiled, without torch.  Ours differs from the published one in what it sees (`features/dag_columns`) and in that
the limit is scored from the chosen stage as well; the shape `paper` has neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView, Floats, Ints, Reason
from dovetail.core.errors import DovetailError
from dovetail.features import feature_set
from dovetail.features.dag import Features, ManyDagViews
from dovetail.schedulers.learned import checkpoint_files
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint, load_checkpoint
from dovetail.schedulers.learned.decima.forward import choose, pack
from dovetail.schedulers.learned.decima.inputs import class_sizes, decima_input

BUNDLED = Path(__file__).parent / "checkpoints"


def find_checkpoint(name: str) -> Path:
    """A bundled checkpoint by its name, or any by its path."""
    return checkpoint_files.find_checkpoint(name, BUNDLED)


class Decima:
    @dataclass(frozen=True)
    class Params:
        checkpoint: str = field(default="batch", metadata={"help": "name of a bundled network, or a path"})
        sample: bool = field(default=False, metadata={"help": "draw from its probabilities, do not take the likeliest"})

    def __init__(self, params: Params = Params(), *, checkpoint: Checkpoint | None = None) -> None:
        self.params = params
        self.checkpoint = load_checkpoint(find_checkpoint(params.checkpoint)) if checkpoint is None else checkpoint
        self._network = pack(self.checkpoint.shape, self.checkpoint.parameters)
        self._features = feature_set(self.checkpoint.shape.features)
        self._info: DagInfo | None = None
        self._rng = np.random.default_rng(0)

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._classes: Features = class_sizes(info)
        self._rng = rng

    def kernel(self) -> DagKernel | None:
        """None where it draws, and where its features look at jobs that a kernel is not shown."""
        if self.params.sample or self._features.needs_all_jobs:
            return None
        from dovetail.schedulers.learned.decima.kernel import pack_kernel  # loads numba

        return pack_kernel(self._network, self._features, self._cluster)

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        stage, limit, kind = self._choose(view, 1)
        if stage[0] < 0:
            return ()
        return (DagDecision(int(stage[0]), int(limit[0]), int(kind[0]), Reason.LEARNED),)

    def draw(self, view: DagView, luck: Floats) -> list[DagDecision]:
        """The likeliest decision, and different ones drawn with `luck` (K, 3)."""
        given = decima_input(view, self._cluster, self._features, classes=self._classes)
        found: dict[DagDecision, None] = {}
        for chosen in (choose(self._network, given), *(choose(self._network, given, one[None]) for one in luck)):
            if chosen.node[0] >= 0:
                stage, limit = int(given.stage[chosen.node[0]]), int(chosen.limit[0])
                found[DagDecision(stage, limit, int(chosen.executor_class[0]), Reason.LEARNED)] = None
        return list(found)

    def decide_batch(self, views: ManyDagViews) -> tuple[Ints, Ints, Ints]:
        """(B,), (B,), (B,): stage (-1 where there is nothing to decide), limit and executor class of each world."""
        return self._choose(views, len(views.time_s))

    @property
    def _cluster(self) -> DagInfo:
        if self._info is None:
            raise DovetailError("dag/decima: reset() must come before the first decision, it tells the cluster's size")
        return self._info

    def _choose(self, view: DagView | ManyDagViews, worlds: int) -> tuple[Ints, Ints, Ints]:
        given = decima_input(view, self._cluster, self._features, classes=self._classes)
        luck: Floats | None = self._rng.random((worlds, 3)) if self.params.sample else None
        chosen = choose(self._network, given, luck)
        taken = chosen.node >= 0
        stage: Ints = np.full(worlds, -1, dtype=np.int64)
        stage[taken] = given.stage[chosen.node[taken]]
        return stage, chosen.limit, chosen.executor_class
