"""Size parts: how many executors a job may hold.  What nobody may take under the caps spills over."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.schedulers.heuristic.dag.list_rule import Equal, SizeRule, check_alpha


class SizePart:
    """A size rule; a part with parameters makes it in its constructor."""

    def __init__(self, rule: SizeRule) -> None:
        self.rule = rule


class All(SizePart):
    def __init__(self) -> None:
        super().__init__(SizeRule())


class FairShare(SizePart):
    def __init__(self) -> None:
        super().__init__(SizeRule(capped=True, spill=True))


class EqualThreads(SizePart):
    def __init__(self) -> None:
        super().__init__(SizeRule(capped=True, equal=Equal.THREADS, spill=True))


class EqualMemory(SizePart):
    def __init__(self) -> None:
        super().__init__(SizeRule(capped=True, equal=Equal.MEMORY, spill=True))


class EqualDominant(SizePart):
    def __init__(self) -> None:
        super().__init__(SizeRule(capped=True, equal=Equal.DOMINANT, spill=True))


class HeSrpt(SizePart):
    @dataclass(frozen=True)
    class Params:
        speedup: float = field(default=0.5, metadata={"help": "jobs are taken to speed up as executors ** this"})

        def __post_init__(self) -> None:
            if not 0.0 < self.speedup < 1.0:
                raise ValueError(f"speedup is {self.speedup}; expected an exponent above 0 and below 1")

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(SizeRule(capped=True, speedup=params.speedup, spill=True))


class Weighted(SizePart):
    @dataclass(frozen=True)
    class Params:
        alpha: float = field(default=-1.0, metadata={"help": "a job's share is in proportion to its work ** this"})

        def __post_init__(self) -> None:
            check_alpha(self.alpha)

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(SizeRule(capped=True, alpha=params.alpha, spill=True))
