"""Policy gradients from forks, for the two agents of DAS: what became of decisions that were taken the other way.

A round replays job sequences.  Each is played once as the network is (`das_recorder`), and then, compiled, many times
with one job's score moved such that a decision goes the other way (`forks`): who starts, who goes first, which machine.
The offset stays while that job waits.  All else is the same, jobs and luck, so what the others then cost is the
advantage of that offset, which is taken for that of the decision; it is the same for both agents.  Costs are the time
in the system and the fees, each in units of its mean; those of later jobs fade.

An agent's policy is its scores plus noise of a logistic distribution: with x what speaks for one of two alternatives
and s the noise, it takes that one with probability p = 1 / (1 + exp(-x / s)).  Both were played, so the expectation
over the two is exact, and no action has to be drawn.  Decisions are drawn in proportion to p (1 - p), the weight of the
policy gradient.  With d the change of x / s since the round was played and A the advantage of the alternative,

    L = - sum over agents of E[min(d A, clip(d, -eps, eps) A)] + speed (-log likelihood of speeds)
        + wait (squared error of waits)

which is PPO's clipped objective to first order (of agents that share the advantage: MAPPO, Yu et al., 2022).  How
ready all jobs are together is left to the rule, whose level is found by whole episodes: that starting one more pays
soon is seen, and what it costs much later is not.  The last terms make the placement agent's process predict the speeds
that were measured, and the ordering agent how long jobs waited.

Before the first round, it is learned who slows whom down (`neighbours`), how fast jobs are where and how long they wait
(the last terms alone; and, where the rules do not see the machines, what they would have said if they did, which is
then for the network to say).  Then the rules of thumb that the network corrects, the one that says who
had better wait (a weight for each column), what expected speeds and waits count, and the last layers of both agents are
improved by evolution strategies (`das_evolution`).

Departures.  This is not the published MAPPO, which `mappo` is: there is no critic, no value, no Gaussian action and no
bonus for entropy.  Worlds that part at a decision take the place of the critic, for they tell exactly what that would
have to guess.  The published reward is r = 1 / (fee x jct) for a job that starts and a penalty for one that waits.  A
sum of inverses rewards starting the short ones whatever it costs the long; costs themselves are what is to be made
small.

Metrics: `gained_*` the objectives of the two agents (starting is the ordering agent's); `outside_*` share of forks
beyond the clip; `speed` and `wait` squared errors of logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dovetail.core.gpu import Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS, START_COLUMNS, measured_wait
from dovetail.schedulers.learned.das.forward import meeting_places
from dovetail.schedulers.learned.das.network import DasNetwork, Near, Placed
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS
from dovetail.training.das_recorder import Ordered, PlacedOne
from dovetail.training.forks import START, Fork

WAIT_TURNS = 96  # decisions of a sequence that waits are learned from
PIECE = 64  # decisions that are looked at together: of similar lengths of the queue
USUAL_VARIANCE = 0.02  # of the logarithm of speeds, for networks without a process that has one of its own


class OrderForks:
    """Forks of the ordering agent, in pieces, padded."""

    def __init__(self, turns: Sequence[Ordered], forks: Sequence[Fork]) -> None:
        self._forks = len(forks)
        by_length = sorted(range(len(forks)), key=lambda number: len(turns[forks[number].turn].job_id))
        self._pieces = [
            _OrderPiece(turns, [(number, forks[number]) for number in by_length[first : first + PIECE]])
            for first in range(0, len(by_length), PIECE)
        ]

    def lean(self, network: DasNetwork) -> Tensor:
        """(F,) what speaks for the first of each."""
        found = torch.zeros(self._forks, dtype=torch.float64)
        for piece in self._pieces:
            found = found.index_add(0, piece.number, piece.lean(network))
        return found


class _OrderPiece:
    def __init__(self, turns: Sequence[Ordered], forks: Sequence[tuple[int, Fork]]) -> None:
        held = [turns[fork.turn] for _, fork in forks]
        count, most = len(held), max(len(turn.jobs) for turn in held)
        jobs, there = np.zeros((count, most, len(JOB_COLUMNS))), np.zeros((count, most))
        columns = np.zeros((count, len(START_COLUMNS)))
        for row, (turn, (_, fork)) in enumerate(zip(held, forks, strict=True)):
            jobs[row, : len(turn.jobs)], there[row, : len(turn.jobs)] = turn.jobs, 1.0
            if fork.agent == START:
                columns[row] = turn.columns[int(np.flatnonzero(turn.asked == fork.first)[0])]
        machines = np.array([turn.machines for turn in held]).reshape(count, -1, len(MACHINE_COLUMNS))
        self._jobs, self._there, self._machines = map(torch.as_tensor, (jobs, there, machines))
        self._columns, self._rows = torch.as_tensor(columns), torch.arange(count)
        self._first, self._second, self.number = (
            torch.as_tensor(np.array(part, np.int64))
            for part in zip(*((fork.first, fork.second, number) for number, fork in forks), strict=True)
        )
        self._starts = torch.as_tensor(np.array([fork.agent == START for _, fork in forks]))

    def lean(self, network: DasNetwork) -> Tensor:
        judged, _ = network.judged_jobs(self._jobs, self._there, self._machines)
        first, second = judged[self._rows, self._first], judged[self._rows, self._second.clamp(min=0), 0]
        ready = first[:, 1] + network.rule_of_start(self._columns)
        return torch.where(self._starts, ready, first[:, 0] - second)


class _TurnPiece(NamedTuple):
    """T turns, padded to J jobs, and the A jobs of which it was weighed whether they had better wait."""

    jobs: Tensor  # (T, J, columns)
    there: Tensor  # (T, J)
    machines: Tensor  # (T, M, columns)
    wait: Tensor  # (T, J) of those that did not start,
    known: Tensor  # (T, J) which these are
    turn: Tensor  # (A,)
    asked: Tensor  # (A,) job
    columns: Tensor  # (A, start columns) of it


class TurnErrors(NamedTuple):
    """Sums of squared errors, and how many these are."""

    wait: Tensor
    waited: Tensor
    ready: Tensor
    asked: Tensor


class TurnBatch:
    """Some turns of the ordering agent, how long jobs then waited that did not start, and what spoke for starting."""

    def __init__(self, turns: Sequence[Ordered], start_s: Floats, rng: np.random.Generator) -> None:
        chosen = rng.choice(len(turns), min(len(turns), WAIT_TURNS), replace=False).tolist()
        held = sorted((turns[number] for number in chosen), key=lambda turn: len(turn.jobs))
        self._pieces = [_turn_piece(held[first : first + PIECE], start_s) for first in range(0, len(held), PIECE)]

    def errors(self, network: DasNetwork) -> TurnErrors:
        found = torch.zeros(len(TurnErrors._fields), dtype=torch.float64)
        for piece in self._pieces:
            judged, expected = network.judged_jobs(piece.jobs, piece.there, piece.machines)
            wait = ((expected - piece.wait) ** 2 * piece.known).sum()
            ready = ((judged[piece.turn, piece.asked, 1] - network.rule_of_unseen(piece.columns)) ** 2).sum()
            found = found + torch.stack((wait, piece.known.sum(), ready, torch.tensor(float(len(piece.asked)))))
        return TurnErrors(*found)


def _turn_piece(turns: Sequence[Ordered], start_s: Floats) -> _TurnPiece:
    count, most = len(turns), max(len(turn.jobs) for turn in turns)
    jobs, there = np.zeros((count, most, len(JOB_COLUMNS))), np.zeros((count, most))
    wait, known = np.zeros((count, most)), np.zeros((count, most))
    for row, turn in enumerate(turns):
        here = len(turn.jobs)
        left_s = start_s[turn.job_id] - turn.time_s
        jobs[row, :here], there[row, :here] = turn.jobs, 1.0
        wait[row, :here] = measured_wait(np.maximum(left_s, 0.0))
        known[row, :here] = left_s > 0.0
    machines = np.array([turn.machines for turn in turns]).reshape(count, -1, len(MACHINE_COLUMNS))
    number = np.repeat(np.arange(count), [len(turn.asked) for turn in turns])
    asked = np.concatenate([turn.asked for turn in turns])
    columns = np.concatenate([turn.columns for turn in turns])
    return _TurnPiece(*map(torch.as_tensor, (jobs, there, machines, wait, known, number, asked, columns)))


class PlaceBatch:
    """Turns of the placement agent in one cluster, padded: machines that jobs might use, then what was remembered."""

    def __init__(self, turns: Sequence[PlacedOne], log_ratio: Floats, forks: Sequence[Fork]) -> None:
        """`log_ratio`: the measured speed of each job against what was expected; nan: unknown."""
        count, most = len(turns), max(len(turn.variance) for turn in turns)
        remembered = max(len(turn.surprise) for turn in turns)
        together = [meeting_places(turn.at, len(turn.rack)) for turn in turns]
        size = (count, most + remembered)
        nodes, there = np.zeros((*size, len(NODE_COLUMNS))), np.zeros(size)
        rack = np.zeros((*size, int(turns[0].rack.max()) + 1))
        machine = np.zeros((*size, max(columns for _, columns in together)))
        surprise, age = np.zeros((count, remembered)), np.zeros((count, remembered))
        for row, (turn, (number, _)) in enumerate(zip(turns, together, strict=True)):
            might, known = len(turn.variance), len(turn.surprise)
            at = np.concatenate((np.arange(might), most + np.arange(known)))
            nodes[row, at], there[row, at], rack[row, at, turn.rack[turn.at]] = turn.nodes, 1.0, 1.0
            shared = number[turn.at] >= 0
            machine[row, at[shared], number[turn.at][shared]] = 1.0
            surprise[row, :known], age[row, :known] = turn.surprise, turn.age
        self.nodes, self.there, self.surprise, self.age = map(torch.as_tensor, (nodes, there, surprise, age))
        self.near = Near(torch.as_tensor(rack), torch.as_tensor(machine))
        self.rows, self.first, self.second = (
            torch.as_tensor(np.array(part, np.int64))
            for part in ([getattr(fork, name) for fork in forks] for name in ("turn", "first", "second"))
        )
        self.best = torch.as_tensor(np.array([turn.best for turn in turns], np.int64))
        self.known = torch.as_tensor(np.isfinite(log_ratio).astype(np.float64))
        self.log_ratio = torch.as_tensor(np.nan_to_num(log_ratio))

    def placed(self, network: DasNetwork) -> Placed:
        return network.affinities(self.nodes, self.near, self.surprise, self.age, self.there)

    def judged(self, network: DasNetwork) -> tuple[Tensor, Tensor, Tensor]:
        """(F,) what speaks for the first machine of each fork, and `errors`."""
        placed = self.placed(network)
        return placed.mean[self.rows, self.first] - placed.mean[self.rows, self.second], *self.errors(network, placed)

    def errors(self, network: DasNetwork, placed: Placed) -> tuple[Tensor, Tensor]:
        """(n,) squared error of the logarithm of the speed where the job was put; and its negative log likelihood."""
        speed, doubt = (part.gather(1, self.best[:, None])[:, 0] for part in (placed.speed, placed.variance))
        error = (speed - self.log_ratio) ** 2 * self.known
        if not network.shape.random_walk:
            return error, 0.5 * error / USUAL_VARIANCE
        p = network.named
        variance = (2.0 * p["place.walk.amplitude"][0]).exp() * (doubt + p["place.walk.noise"][0].exp())
        return error, 0.5 * (error / variance + variance.log() * self.known)


def clipped(moved: Tensor, worth: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """Mean over forks of the objective, and the share of those that are beyond the clip."""
    within = moved.clamp(-clip, clip)
    outside = ((moved - within).abs() > 0).double()
    return torch.minimum(moved * worth, within * worth).mean(), outside.mean()
