"""gpu/dl2: one action at a time until stop, by a policy network (Peng et al., DL2, IEEE TPDS 2021).

The published scheduler gives workers and parameter servers to elastic jobs: it sees six numbers of each of J = 20 jobs
(kind, slots stayed, work left, dominant share, workers, parameter servers) and takes one of 3J + 1 actions (a worker, a
parameter server, or both for job i; stop) until it stops.  It is taught by an existing scheduler's decisions and then
by actor-critic (`training/dl2`).

Declared approximations: gangs have a fixed size, so the three actions of a job start it, placed as close together as
possible, packed, or balanced; the sixth number is the GPUs of a worker; jobs that do not fit are masked, and told apart
by 2 added to their share; of more than 20 waiting jobs the first are seen.  Actions are the likeliest, not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.errors import CheckpointError
from dovetail.core.gpu import Bools, Floats, GpuDecision, GpuInfo, GpuView, Place, Reason
from dovetail.schedulers.heuristic.gpu.places.load_balance import LoadBalance
from dovetail.schedulers.heuristic.gpu.places.pack import Pack
from dovetail.schedulers.heuristic.gpu.places.topology import Topology
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.learned import checkpoint_files
from dovetail.schedulers.learned.checkpoint_files import (
    both_paths,
    check_columns,
    check_parameters,
    read_files,
    write_files,
)
from dovetail.schedulers.learned.gpu_baselines.dl2_features import (
    COLUMNS,
    NAME,
    RULES,
    STOP,
    inputs_of,
    job_numbers,
    mask_of,
    which_fit,
)
from dovetail.schedulers.learned.gpu_baselines.dl2_network import PolicyNetwork, shapes

KIND = "gpu-dl2"
BUNDLED = Path(__file__).parent / "checkpoints"
MOST_HIDDEN = 4096


@dataclass(frozen=True)
class Dl2Params:
    checkpoint: str = field(default="dl2", metadata={"help": "name of a bundled network, or a path"})


class Dl2:
    Params = Dl2Params

    def __init__(self, params: Dl2Params = Dl2Params(), *, network: PolicyNetwork | None = None) -> None:
        self.params = params
        self._network = load_network(find_checkpoint(params.checkpoint)) if network is None else network

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._places = (Topology(), Pack(), LoadBalance())
        for place in self._places:
            place.reset(info, rng)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        room, numbers = Room.of(view, self._info), job_numbers(view, self._info)
        found: list[GpuDecision] = []
        chosen: set[int] = set()
        while True:
            fit = which_fit(view, self._info, room, chosen)
            if not fit.any():
                return found
            may_stop = bool(found) or len(view.run_id) > 0
            action, worth = self.act(inputs_of(numbers, fit, chosen), mask_of(fit, may_stop))
            if action == STOP:
                return found
            job, rule = divmod(action, RULES)
            gang = self._places[rule].gang(room, Need.of(view, self._info, job), job)
            assert gang is not None, f"job {job} fits, and was not placed"
            chosen.add(job)
            found.append(
                GpuDecision(
                    job,
                    np.array(gang.machines, np.int64),
                    reason=Reason.LEARNED_PRIORITY,
                    place=Place.LEARNED_AFFINITY,
                    priority=worth,
                    affinity=gang.affinity,
                )
            )

    def act(self, inputs: Floats, mask: Bools) -> tuple[int, float]:
        """The likeliest action and its logit; training draws instead."""
        logits = self._network.logits(inputs, mask)
        action = int(logits.argmax())
        return action, float(logits[action])


def find_checkpoint(name: str) -> Path:
    """A bundled network by its name, or any by its path."""
    return checkpoint_files.find_checkpoint(name, BUNDLED)


def save_network(path: Path, network: PolicyNetwork, card: dict[str, Any]) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    facts = {"features": NAME, "feature_columns": list(COLUMNS), "hidden": len(network.b1)}
    arrays = {name: np.asarray(part, dtype=np.float32) for name, part in network._asdict().items()}
    check_parameters(both_paths(path)[0], shapes(len(network.b1)), arrays)
    return write_files(path, KIND, {**facts, **card}, arrays)


def load_network(path: Path) -> PolicyNetwork:
    weights, card = both_paths(path)
    document, arrays = read_files(path, KIND)
    check_columns(card, NAME, document.get("feature_columns"), list(COLUMNS))
    hidden = document.get("hidden")
    if not (isinstance(hidden, int) and 1 <= hidden <= MOST_HIDDEN):
        raise CheckpointError(f"{card}: hidden is {hidden!r}; expected a whole number from 1 to {MOST_HIDDEN}")
    check_parameters(weights, shapes(hidden), arrays)
    return PolicyNetwork(**{name: arrays[name].astype(np.float64) for name in PolicyNetwork._fields})
