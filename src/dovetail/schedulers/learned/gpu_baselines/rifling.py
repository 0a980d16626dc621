"""gpu/rifling: Q-learning over coarse states of job and machine, after RIFLING, a scheduler of GPU platforms.

Jobs are taken in order of arrival.  Each worker goes to the machine with the largest Q(x), x the state of the pair
(`rifling_states`, 2,880 of them).  What came of it is the job's measured speed when it is next seen running, relative
to the fastest type it may run on alone, less `tidy` times the part of the machine's GPUs that were free beside it:

    Q(x) += rate * (r + discount * max over machines of Q(x') - Q(x))      x': the next worker that is placed

It begins with a table that was trained in the simulator and goes on learning, with a chance of `explore` of any machine
with room.  Declared approximations: that it is tabular Q-learning over coarse states is what is known of it here; the
states, the reward, gangs, shares and types are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dovetail.core.gpu import Floats, GpuDecision, GpuInfo, GpuView, Place
from dovetail.schedulers.heuristic.gpu.order import OrderPart
from dovetail.schedulers.heuristic.gpu.orders.fifo import Fifo
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.heuristic.gpu.queue_scheduler import QueueScheduler
from dovetail.schedulers.heuristic.gpu.room import Gang, Need, Room, allowed_types
from dovetail.schedulers.learned import checkpoint_files
from dovetail.schedulers.learned.checkpoint_files import both_paths, check_parameters, read_files, write_files
from dovetail.schedulers.learned.gpu_baselines.rifling_states import SIZES, STATES, states

KIND = "gpu-rifling"
BUNDLED = Path(__file__).parent / "checkpoints"
MOST_PENDING = 10_000  # jobs whose speed has not been seen yet


@dataclass(frozen=True)
class RiflingParams:
    checkpoint: str = field(default="rifling", metadata={"help": "name of a bundled table, or a path"})
    learn: bool = field(default=True, metadata={"help": "goes on learning within a run"})
    rate: float = field(default=0.05, metadata={"help": "how fast the table changes"})
    discount: float = field(default=0.8, metadata={"help": "of what the next worker can get"})
    tidy: float = field(default=0.5, metadata={"help": "what GPUs left free on the machine count, against speed"})
    explore: float = field(default=0.01, metadata={"help": "chance of a worker to go anywhere with room"})

    def __post_init__(self) -> None:
        for name in ("rate", "discount", "tidy", "explore"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 to 1")

    def of_part(self, index: int) -> Any:
        """The order takes none of them, the place all."""
        return Fifo.Params() if index == 0 else self


class LearnedPlace(PlacePart):
    """The machine of the largest Q, and the states that were chosen."""

    WHY = Place.LEARNED_AFFINITY
    Params = RiflingParams  # type: ignore[assignment]

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self._rng = rng
        self.table = np.zeros(STATES)
        self.chosen: list[tuple[int, float]] = []  # states of the gang that was placed last, part left free beside it
        self.best = 0.0  # the largest Q that its first worker had to choose from

    def gang(self, room: Room, need: Need, job: int) -> Gang | None:
        if int(room.capacity(need).sum()) < need.workers:
            return None
        machines: list[int] = []
        devices: list[list[int]] = []
        self.chosen = []
        for worker in range(need.workers):
            fits = np.flatnonzero(room.fits(need))
            numbers = states(room, self.info, need, machines)[fits]
            values = self.table[numbers]
            place = int(values.argmax())
            if worker == 0:
                self.best = float(values[place])
            if self.params.explore > 0.0 and self._rng.random() < self.params.explore:
                place = int(self._rng.integers(len(fits)))
            machine = int(fits[place])
            machines.append(machine)
            devices.append(room.take(machine, need))
            free = float(room.gpus[machine]) / max(1, int(self.info.machine_gpus[machine]))
            self.chosen.append((int(numbers[place]), free))
        return Gang(machines, devices, float(self.table[self.chosen[0][0]]))


class Rifling(QueueScheduler):
    ORDER: ClassVar[type[OrderPart]] = Fifo
    PLACE: ClassVar[type[PlacePart]] = LearnedPlace
    Params = RiflingParams
    TUNE: ClassVar = {}  # it is trained, not tuned
    place: LearnedPlace

    def __init__(self, params: RiflingParams = RiflingParams(), *, table: Floats | None = None) -> None:
        super().__init__(params)
        self._first = load_table(find_checkpoint(params.checkpoint)) if table is None else table

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self.place.table = self._first.copy()
        self._learns = self.params.learn and info.speed_is_measured
        # job -> states with what was left free, and the value of what came next
        self._pending: dict[int, tuple[list[tuple[int, float]], float]] = {}
        self._last = -1

    @property
    def table(self) -> Floats:
        """(STATES,) as it is now."""
        return self.place.table

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        if self._learns:
            self._learn(view)
        return super().decide(view)

    def begun(self, view: GpuView, job: int) -> None:
        """What the gang chose is looked at again when its speed is known."""
        if not self._learns:
            return
        number = int(view.job_id[job])
        if self._last in self._pending:
            self._pending[self._last] = self._pending[self._last][0], self.place.best
        if len(self._pending) < MOST_PENDING:
            self._pending[number] = list(self.place.chosen), 0.0
            self._last = number

    def _learn(self, view: GpuView) -> None:
        table, params = self.place.table, self.params
        for run, number in enumerate(view.run_id.tolist()):
            if number not in self._pending or view.run_start_s[run] >= view.time_s:
                continue
            chosen, following = self._pending.pop(number)
            types = allowed_types(self._info, int(view.run_types[run]), int(view.run_kind[run]))
            best = np.where(types, self._info.kind_speed[view.run_kind[run]], 0.0)[self._info.machine_type].max()
            reward = float(view.run_speed[run]) / max(float(best), 1e-9)
            for state, free in chosen:
                found = reward - params.tidy * free + params.discount * following
                table[state] += params.rate * (found - table[state])


def find_checkpoint(name: str) -> Path:
    """A bundled table by its name, or any by its path."""
    return checkpoint_files.find_checkpoint(name, BUNDLED)


def save_table(path: Path, table: Floats, card: dict[str, Any]) -> Path:
    """Write both files, whole or not at all; returns the card's path."""
    return write_files(path, KIND, {"states": SIZES, **card}, {"q": table.astype(np.float32)})


def load_table(path: Path) -> Floats:
    document, arrays = read_files(path, KIND)
    weights, card = both_paths(path)
    checkpoint_files.check_columns(card, "rifling", list(document.get("states", {})), list(SIZES))
    check_parameters(weights, {"q": (STATES,)}, arrays)
    table: Floats = arrays["q"].astype(np.float64)
    return table
