"""Worlds that part at one decision: what it would have come to, had it been taken the other way.

A job that was started is let wait, or the other way round; a job that might have started goes before the one that went
first; a job stands on another machine.  Everything else is as it was: the same jobs, the same luck, the same network.
What the others cost from then on, less and less the later they come, is the worth of it.

The other way is had by a number that is added to a score of that job, just enough at that decision (`nudge_of`).  It
stays with the job for as long as it waits: one that is let wait is held back at later decisions, too, until that much
more speaks for it, and one that goes before another may go before more of them.  So the worth is that of the lasting
offset for this job from the decision on, which is more than the one answer.  Before it, hardly anything changes: forks
are the first time that a job is let wait or is not first, or its start.

Decisions are drawn that are close: those for which little spoke, on the scale of the agent's noise.  An episode has one
fork: what an earlier one has changed is still there when the next comes, and would be taken for its doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats
from dovetail.schedulers.learned.das.kernel import Nudge
from dovetail.training.das_recorder import Recorder

START, ORDER, PLACE = range(3)
AGENTS = ("start", "order", "place")
JUST_BEYOND = 1e-6  # what is added to a score to have it the other way round
FURTHEST = 4.0  # deviations of noise, beyond which a decision is not tried the other way


class Fork(NamedTuple):
    """One decision: `first` might have been preferred to `second`, and was if `lean` is 0 or more."""

    agent: int
    turn: int  # of the recorder's `ordered`; of its `placed`
    first: int  # index of a job, or of a machine that it may use
    second: int  # the same; -1: to wait
    lean: float  # what speaks for `first`
    job_id: int  # whose score is nudged
    machine: int  # for which; -1: for none
    by: float  # so much
    at_s: float


def possible_forks(recorder: Recorder, start_s: Floats, noise: Sequence[float], rng: np.random.Generator) -> list[Fork]:
    """All of an episode that are close; `noise` is that of each agent."""
    found = [*_starts(recorder, noise[START]), *_orders(recorder), *_places(recorder, start_s, noise[PLACE], rng)]
    return [fork for fork in found if abs(fork.lean) < FURTHEST * noise[fork.agent]]


def draw_forks(forks: Sequence[Fork], noise: Sequence[float], episodes: int, rng: np.random.Generator) -> list[Fork]:
    """So many, of the agents in turn, as far as there are any; the closer a decision, the likelier it is drawn."""
    drawn: list[Fork] = []
    for agent in range(len(AGENTS)):
        mine = [fork for fork in forks if fork.agent == agent]
        wanted = min(len(range(agent, episodes, len(AGENTS))), len(mine))
        close = _close(np.array([fork.lean for fork in mine]), noise[agent])
        if wanted:
            drawn += [mine[place] for place in rng.choice(len(mine), wanted, replace=False, p=close / close.sum())]
    return drawn


def nudge_of(fork: Fork, jobs: int, machines: int) -> Nudge:
    """What makes the network decide this the other way."""
    nudge = Nudge(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, machines)))
    if fork.agent == PLACE:
        nudge.place[fork.job_id, fork.machine] = fork.by
    else:
        (nudge.start if fork.agent == START else nudge.order)[fork.job_id] = fork.by
    return nudge


def worth(fork: Fork, saved: Floats, arrival_s: Floats, finish_s: Floats, patience_s: float) -> float:
    """Of preferring `first`: what it saved on each job (N,), if those of the fork cost less than as it was."""
    later_s = np.maximum(arrival_s - fork.at_s, 0.0)
    total = float(saved @ (np.exp(-later_s / patience_s) * (finish_s > fork.at_s)))
    return -total if fork.lean >= 0.0 else total


def _close(lean: Floats, noise: float) -> Floats:
    """How likely noise of a logistic distribution would have it just the other way, against 1 at a lean of 0."""
    found: Floats = np.cosh(np.minimum(np.abs(lean) / (2.0 * max(noise, 1e-9)), 50.0)) ** -2.0
    return found


def _starts(recorder: Recorder, noise: float) -> list[Fork]:
    """A job when it started, and one that was let wait, the first time."""
    seen: set[int] = set()
    found = []
    for number, turn in enumerate(recorder.ordered):
        for job, margin in zip(turn.asked.tolist(), turn.margin.tolist(), strict=True):
            who = int(turn.job_id[job])
            if margin >= 0.0 or who not in seen:
                by = -margin - 0.1 * noise if margin >= 0.0 else JUST_BEYOND - margin
                found.append(Fork(START, number, job, -1, margin, who, -1, by, turn.time_s))
            seen.add(who)
    return found


def _orders(recorder: Recorder) -> list[Fork]:
    """A job at the first time that it might have started and another was before it."""
    seen: set[int] = set()
    found = []
    for number, turn in enumerate(recorder.ordered):
        if len(turn.possible) < 2:
            continue
        before = int(turn.possible[np.argmax(turn.priority[turn.possible])])
        for job in turn.possible.tolist():
            who = int(turn.job_id[job])
            if job == before or who in seen:
                continue
            seen.add(who)
            lean = float(turn.priority[job] - turn.priority[before])
            found.append(Fork(ORDER, number, job, before, lean, who, -1, JUST_BEYOND - lean, turn.time_s))
    return found


def _places(recorder: Recorder, start_s: Floats, noise: float, rng: np.random.Generator) -> list[Fork]:
    """A job on another machine: one that was close."""
    found = []
    for number, turn in enumerate(recorder.placed):
        lean = turn.score - turn.score[turn.best]
        close = _close(lean, noise)
        close[turn.best] = 0.0
        if close.sum() <= 0.0:
            continue
        other = int(rng.choice(len(lean), p=close / close.sum()))
        by = (JUST_BEYOND - lean[other]) / np.sqrt(turn.variance[other])
        who = turn.job_id
        where = int(turn.at[other])
        found.append(Fork(PLACE, number, other, turn.best, float(lean[other]), who, where, by, float(start_s[who])))
    return found
