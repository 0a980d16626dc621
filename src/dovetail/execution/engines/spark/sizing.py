"""How many executors are worth having: as many as ready tasks could use, within bounds.

More are asked for at once.  One that nobody has wanted for a while, and that runs nothing, is given back.
"""

from __future__ import annotations

import math

from dovetail.execution.engines.spark.messages import Instruction, Look, Note, Resize


class Sizing:
    def __init__(self, bounds: tuple[int, int], idle_s: float) -> None:
        self._least, self._most = bounds
        self._idle_s = idle_s
        self._asked = -1
        self._surplus_since_s: float | None = None

    def step(self, look: Look, wanted_slots: int) -> list[Instruction]:
        """`wanted_slots`: tasks that could run now."""
        executors = look.executors
        if executors is None:
            return []
        have = len(executors.running)
        wanted = min(self._most, max(self._least, math.ceil(wanted_slots / max(1, executors.cores_each))))
        asked = have if self._asked < 0 else self._asked
        if wanted > asked:
            self._surplus_since_s = None
            return self._ask(wanted, (), f"{wanted} executors are asked for, {have} are there")
        idle = [name for name, tasks in executors.running if tasks == 0][: have - wanted] if have > wanted else []
        if not idle:
            self._surplus_since_s = None
            return []
        if self._surplus_since_s is None:
            self._surplus_since_s = look.time_s
        if look.time_s - self._surplus_since_s < self._idle_s:
            return []
        self._surplus_since_s = None
        return self._ask(have - len(idle), tuple(idle), f"{len(idle)} of {have} executors are given back: nobody wants")

    def _ask(self, total: int, kill: tuple[str, ...], text: str) -> list[Instruction]:
        self._asked = total
        return [Resize(total, kill), Note("executors", text, facts={"total": total, "killed": list(kill)})]
