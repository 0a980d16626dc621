"""Training Decima: imitation of a heuristic first, then search or policy gradients, validated and kept as it goes.

One iteration: the workers play episodes and find out which decisions were good (by trying others, or by comparing
several episodes of one job sequence), and send gradients; the trainer moves the weights.  `TrainPlan` and the number
of workers decide the course of a run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from dovetail.core.dag import Floats
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.learned.decima.network import DecimaNetwork
from dovetail.schedulers.learned.decima.shape import DecimaShape
from dovetail.training.baseline import BASELINES
from dovetail.training.dag_search import TEACHER, SearchPlan
from dovetail.training.dag_worker import Credit, Gradient, Task, Update, Weights
from dovetail.training.workers import Workers

ALGORITHMS = ("search", "ppo", "reinforce")
FIRST_VALIDATION_SEED = 2000
FIRST_TRAINING_SEED = 100_000  # below 1,000: for judging; from there on: for tuning and validation
LESSON_RATE = 2e-3, 2e-4  # learning rate of imitation, at the start and at the end
BEST = "best"  # teacher: the heuristic that is best on the validation sequences
VALIDATION_TRIES = 3  # a lost worker's sequences are given to the others, so that all validations can be compared


@dataclass(frozen=True)
class TrainPlan:
    """How to train.  Fields in pairs are values at the start and at the end, and go over into each other smoothly."""

    algorithm: str = "search"
    iterations: int = 250
    sequences: int = 16  # job sequences in an iteration
    copies: int = 8  # episodes of each, for the policy gradients
    jobs: int = 20
    horizon_s: tuple[float, float] = (math.inf, math.inf)  # mean length of an episode, drawn without memory
    passes: int = 1  # over what was collected, each in `parts` steps of the optimiser
    parts: int = 16
    learning_rate: tuple[float, float] = (3e-4, 3e-5)
    entropy: tuple[float, float] = (0.0, 0.0)
    clip: float = 0.2
    max_norm: float = 1.0  # of a gradient
    averaging: float = 0.995  # what is validated and kept is a running mean of the weights, this much of it old
    baseline: str = "input"
    differential: bool = False  # subtract the running mean cost per second
    patience_s: float = math.inf  # credit fades over this time
    search: SearchPlan = field(default_factory=SearchPlan)  # for the algorithm of that name
    teacher: str | None = BEST  # what is imitated first, and completes what search tries
    lessons: int = 12  # rounds of imitation, with fresh episodes each
    lesson_passes: int = 8  # over each of them
    validate_every: int = 10
    validation: int = 48  # sequences
    stop_after: int = 0  # validations without a better one; 0 = never
    seed: int = 0

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"algorithm is {self.algorithm!r}; expected {' or '.join(ALGORITHMS)}")
        if self.baseline not in BASELINES:
            raise ConfigError(f"baseline is {self.baseline!r}; expected {', '.join(BASELINES)}")
        for name in ("sequences", "copies", "jobs", "passes", "lesson_passes", "parts", "validate_every", "validation"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected at least 1")
        if self.copies < 2 and self.baseline == "input" and self.algorithm != "search":
            raise ConfigError("copies is below 2, but the baseline compares the episodes of one sequence")
        if min(self.iterations, self.lessons, self.stop_after) < 0:
            raise ConfigError("iterations, lessons and stop_after must be 0 or more")
        if not 0.0 <= self.averaging < 1.0:
            raise ConfigError(f"averaging is {self.averaging}; expected a share from 0 to below 1")
        for name in ("learning_rate", "max_norm", "clip", "horizon_s", "patience_s"):
            value = getattr(self, name)
            if not all(one > 0 for one in (value if isinstance(value, tuple) else (value,))):  # so is nan
                raise ConfigError(f"{name} is {value}; expected above 0")
        if not all(0 <= one < math.inf for one in self.entropy):
            raise ConfigError(f"entropy is {self.entropy}; expected 0 or more")
        if math.isinf(self.horizon_s[0]) != math.isinf(self.horizon_s[1]):
            raise ConfigError("horizon_s: one end is inf; give both in seconds, or neither")
        if self.teacher is None and self.algorithm == "search" and self.search.base == TEACHER:
            raise ConfigError("search needs something to complete what it tries: name a teacher, or set search.base")

    def at(self, pair: tuple[float, float], iteration: int) -> float:
        """The value of a pair at an iteration: from start to end geometrically, or evenly if one of them is 0."""
        start, end = pair
        share = min(iteration / max(self.iterations - 1, 1), 1.0)
        if start == end:
            return start
        if min(start, end) <= 0:
            return start + (end - start) * share
        return float(start * (end / start) ** share)

    def against(self, best_heuristic: str, jct_s: float, *, to_the_end: bool) -> TrainPlan:
        """The plan with everything in it that depends on the best heuristic and its mean completion time.

        What search tries goes on for two completion times: later the two futures differ by chance more than by the
        decision.  An objective that is known at the end alone is followed to the end.
        """
        teacher = best_heuristic if self.teacher == BEST else self.teacher
        span_s = self.search.span_s or (math.inf if to_the_end else 2.0 * jct_s)
        base = teacher if self.search.base == TEACHER and teacher is not None else self.search.base
        return replace(self, teacher=teacher, search=replace(self.search, base=base, span_s=span_s))


@dataclass
class TrainState:
    """Where a run is; enough to go on."""

    weights: Weights
    average: Weights | None = None
    optimiser: dict[str, Any] | None = None
    lesson: int = 0
    iteration: int = 0
    steps: int = 0  # of the optimiser
    rate: float = 0.0  # mean cost per second of simulated time so far
    best: float = math.inf  # mean objective on the validation sequences
    best_weights: Weights | None = None
    since_best: int = 0
    decisions: int = 0
    elapsed_s: float = 0.0
    curve: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Progress:
    """What just happened: a lesson or an iteration, and figures about it."""

    phase: str
    number: int
    of: int
    figures: dict[str, float]


def fresh_state(shape: DecimaShape, seed: int) -> TrainState:
    torch.manual_seed(seed)
    network = DecimaNetwork(shape)
    return TrainState(torch.nn.utils.parameters_to_vector(network.parameters()).detach().numpy().copy())


class _EveryWorkerLost(Exception):
    """Nobody answered a call."""


class Trainer:
    """Drives the workers through a plan, one `Progress` at a time.  `state` can be kept after each."""

    def __init__(self, plan: TrainPlan, workers: Workers, state: TrainState) -> None:
        if plan.algorithm != "search" and plan.baseline == "time" and plan.sequences < 2 * workers.count:
            raise ConfigError(
                f"baseline time compares different sequences, so {workers.count} workers need at least "
                f"{2 * workers.count} of them; sequences is {plan.sequences}"
            )
        self.plan = plan
        self.workers = workers
        self.state = state
        self._weights = torch.nn.Parameter(torch.from_numpy(state.weights.copy()))
        self._optimiser = torch.optim.Adam([self._weights], lr=plan.learning_rate[0])
        if state.optimiser is not None:
            self._optimiser.load_state_dict(state.optimiser)
        self._average = (state.weights if state.average is None else state.average).copy()
        self._started = time.monotonic() - state.elapsed_s

    def run(self) -> Iterator[Progress]:
        plan, state = self.plan, self.state
        if not state.curve and (plan.teacher is None or plan.lessons == 0):
            yield self._done("start", 0, 0, {"decisions": 0}, last=True)  # what came is the first to beat
        while plan.teacher is not None and state.lesson < plan.lessons:
            figures = self._try(self._lesson, state.lesson)
            state.lesson += 1
            yield self._done("imitation", state.lesson, plan.lessons, figures, last=state.lesson == plan.lessons)
        while state.iteration < plan.iterations:
            figures = self._try(self._iteration, state.iteration)
            state.iteration += 1
            due = state.iteration % plan.validate_every == 0 or state.iteration == plan.iterations
            yield self._done("learning", state.iteration, plan.iterations, figures, last=due)
            if plan.stop_after and state.since_best >= plan.stop_after:
                return

    def validate(self) -> dict[str, float]:
        """Mean completion time and objective of the averaged policy on the validation sequences."""
        seeds = np.arange(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + self.plan.validation)
        found: list[tuple[Floats, Floats]] = []
        for _ in range(VALIDATION_TRIES):
            shares = np.array_split(seeds, self.workers.count)
            asked = [(self._average, share.tolist(), self.plan.jobs) for share in shares]
            answers = self.workers.call("evaluate", asked)
            found += [answer for answer in answers if answer is not None]
            unanswered = [share for share, answer in zip(shares, answers, strict=True) if answer is None]
            if not unanswered:
                jct_s, cost = (np.concatenate(column).mean() for column in zip(*found, strict=True))
                return {"validation_jct_s": float(jct_s), "validation_cost": float(cost)}
            seeds = np.concatenate(unanswered)
        raise DovetailError(f"validation: workers were lost {VALIDATION_TRIES} times in a row")

    @property
    def weights(self) -> Weights:
        return self._weights.detach().numpy()

    # --- inside ------------------------------------------------------------------------------------------------

    def _try(self, part: Callable[[int], dict[str, float]], number: int) -> dict[str, float]:
        """A lesson or an iteration; if every worker was lost in it, it ends there and counts for nothing."""
        try:
            return part(number)
        except _EveryWorkerLost:
            return {"decisions": 0.0, "nobody_answered": 1.0}

    def _lesson(self, number: int) -> dict[str, float]:
        tasks = self._tasks(number, copies=1, horizon_s=math.inf, stream="lessons")
        seen = self._call("watch", [(self.plan.teacher, task) for task in tasks])
        share = number / max(self.plan.lessons - 1, 1)
        self._set_rate(LESSON_RATE[0] * (LESSON_RATE[1] / LESSON_RATE[0]) ** share)
        figures = self._learn(Update("imitation"), self.plan.lesson_passes, self.plan.parts)
        return {**figures, "decisions": _sum(seen, "decisions")}

    def _iteration(self, number: int) -> dict[str, float]:
        plan, state = self.plan, self.state
        mean_s = plan.at(plan.horizon_s, number)
        horizon_s = mean_s
        if not math.isinf(mean_s):
            horizon_s = float(SeedTree(plan.seed).child("horizons").child(number).generator().exponential(mean_s))
        started = time.perf_counter()
        if plan.algorithm == "search":
            tasks = self._tasks(number, 1, max(horizon_s, 1.0), stream="iterations")
            seen = self._call("search", [(self.weights, task, plan.search) for task in tasks])
        else:
            tasks = self._tasks(number, plan.copies, max(horizon_s, 1.0), stream="iterations")
            credit = Credit(plan.baseline, state.rate if plan.differential else 0.0, plan.patience_s)
            seen = self._call("collect", [(self.weights, task, credit) for task in tasks])
            cost_rate = _sum(seen, "cost") / max(_sum(seen, "time_s"), 1e-9)
            state.rate = cost_rate if state.rate == 0.0 else 0.9 * state.rate + 0.1 * cost_rate
        collected = time.perf_counter()
        self._set_rate(plan.at(plan.learning_rate, number))
        update = Update(plan.algorithm, clip=plan.clip, entropy=plan.at(plan.entropy, number))
        passes = 1 if plan.algorithm == "reinforce" else plan.passes
        parts = plan.parts
        if plan.algorithm == "search":  # while little is known, few steps: not the same states over and over
            parts = min(parts, max(1, int(_sum(seen, "kept") / len(seen) / plan.search.lot)))
        figures = self._learn(update, passes, parts)
        decisions = _sum(seen, "decisions")
        state.decisions += int(decisions)
        return {
            **figures,
            "decisions": decisions,
            "jct_s": _sum(seen, "jct_s") / max(_sum(seen, "episodes"), 1),
            "horizon_s": horizon_s,
            "collect_s": collected - started,
            "learn_s": time.perf_counter() - collected,
        }

    def _learn(self, update: Update, passes: int, parts: int) -> dict[str, float]:
        """Steps of the optimiser; REINFORCE takes a single one over all parts."""
        sums: dict[str, float] = {}
        decisions = norm = 0.0
        steps = 1 if update.algorithm == "reinforce" else parts
        for _ in range(passes):
            for step in range(steps):
                gradients = [one for part in range(step, parts, steps) for one in self._gradients(update, part, parts)]
                norm = self._move(gradients)
                decisions += sum(one.decisions for one in gradients)
                for one in gradients:
                    for name, value in one.figures.items():
                        sums[name] = sums.get(name, 0.0) + value
        return {name: value / max(decisions, 1) for name, value in sums.items()} | {"norm": norm}

    def _gradients(self, update: Update, part: int, parts: int) -> list[Gradient]:
        return self._call("gradient", [(self.weights, update, part, parts)] * self.workers.count)

    def _move(self, gradients: list[Gradient]) -> float:
        decisions = sum(one.decisions for one in gradients)
        if decisions == 0:
            return 0.0
        total = np.sum([one.gradient for one in gradients], axis=0) / decisions
        if not np.isfinite(total).all():
            raise DovetailError("training: the gradient is not a finite number; try a lower learning_rate")
        self._weights.grad = torch.from_numpy(total.astype(np.float32))
        norm = float(torch.nn.utils.clip_grad_norm_([self._weights], self.plan.max_norm))
        self._optimiser.step()
        self.state.steps += 1
        old = min(self.plan.averaging, self.state.steps / (self.state.steps + 9))  # little of the first weights stays
        self._average += (1.0 - old) * (self.weights - self._average)
        return norm

    def _tasks(self, number: int, copies: int, horizon_s: float, stream: str) -> list[Task]:
        """Whole groups for each worker; no sequence is seen twice."""
        plan, workers = self.plan, self.workers.count
        offset = 0 if stream == "iterations" else 500_000
        first = FIRST_TRAINING_SEED + plan.seed * 1_000_000 + offset + number * plan.sequences
        shares = np.array_split(np.arange(first, first + plan.sequences), workers)
        draws = SeedTree(plan.seed).child(stream).child(number).key() % 2**32
        return [Task(tuple(share.tolist()), copies, plan.jobs, horizon_s, draws) for share in shares]

    def _set_rate(self, rate: float) -> None:
        for group in self._optimiser.param_groups:
            group["lr"] = rate

    def _call(self, method: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        answers = [answer for answer in self.workers.call(method, arguments) if answer is not None]
        if not answers:
            raise _EveryWorkerLost
        return answers

    def _done(self, phase: str, number: int, of: int, figures: dict[str, float], *, last: bool) -> Progress:
        state = self.state
        if last:
            figures = {**figures, **self.validate()}
            cost = figures["validation_cost"]
            state.since_best += 1
            if cost < state.best:
                state.best, state.since_best, state.best_weights = cost, 0, self._average.copy()
            state.curve.append(
                {
                    "lesson": state.lesson,
                    "iteration": state.iteration,
                    "decisions": state.decisions,
                    "minutes": round((time.monotonic() - self._started) / 60, 2),
                    **{name: round(figures[name], 4) for name in ("validation_jct_s", "validation_cost")},
                }
            )
        state.weights = self.weights.copy()
        state.average = self._average.copy()
        state.optimiser = self._optimiser.state_dict()
        state.elapsed_s = time.monotonic() - self._started
        return Progress(phase, number, of, figures)


def _sum(seen: list[dict[str, float]], name: str) -> float:
    return float(sum(one[name] for one in seen))


PROFILES = {
    "quick": {
        "iterations": 12,
        "lessons": 5,
        "sequences": 12,
        "validation": 16,
        "validate_every": 4,
        "averaging": 0.95,
    },
    "full": {},
}
"""What differs from `TrainPlan`'s defaults.  quick: a few minutes on two cores.  full: half an hour and more."""
