"""How learned autoscalers learn: the same plan for all kinds of networks, so that comparisons are fair.

Policy gradients over the actions of all operators.  Each sequence is played several times with the same arrivals and
the same noise of the world; what a decision was worth is the reward from then on, fading, against the mean of the other
times at the same moment (an input-dependent baseline).

    L = - sum of min(ratio A, clip(ratio) A)  or, with REINFORCE,  - sum of A log pi      - entropy H
        + SURE: kl KL + likelihood (1/2 log |Sigma| + 1/2 (Omega - mu)' Sigma^-1 (Omega - mu) + CE) - information MI
        + forecasters: forecast (change of demand - forecast)^2

Before the first round, networks are taught by one who knows the rates to come: the network plays, and is told what each
number of instances would have been worth (`stream_lessons`); what it saw is kept from lesson to lesson (as in DAgger:
Ross et al., 2011).  When the first lesson has been played, the first layer is scaled by what its columns were like, for
all kinds of networks alike (`standardised`): without, they need about twice as many steps.

Lessons count what each operator lost by itself.  But a burst finds all operators of a job short, and records wait once,
where it takes longest; so networks spare more than is worth it, the more the larger the jobs.  When lessons are over,
the best network is therefore moved as a whole, by steps of `level` in all its actions, while that gains on the
sequences it is chosen by.

With `spread`, rates are varied in sequences to learn from (`stream_variety`), never in those networks are chosen by.

A = own A_own + (1 - own) A_job: that of an operator is its own latency and utilisation, that of its job the reward
itself; each is divided by its spread.  As published: `algorithm=reinforce, own=0, fade=0.95, lessons=0`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dovetail.core.errors import ConfigError


@dataclass(frozen=True)
class StreamPlan:
    algorithm: Literal["ppo", "reinforce"] = field(default="ppo", metadata={"help": "ppo or reinforce"})
    lessons: int = field(default=24, metadata={"help": "rounds of being taught, before the first; 0: none"})
    lesson_steps: int = field(default=100, metadata={"help": "steps of learning in a lesson"})
    moments: int = field(default=16, metadata={"help": "decisions that such a step learns from"})
    sources: int = field(default=4, metadata={"help": "sequences that these are taken from"})
    iterations: int = field(default=20, metadata={"help": "rounds of playing and learning; 0: it is only taught"})
    sequences: int = field(default=6, metadata={"help": "sequences in a round"})
    episodes: int = field(default=4, metadata={"help": "times each of them is played in a round"})
    decisions: int = field(default=48, metadata={"help": "decisions in an episode"})
    step_s: float = field(default=5.0, metadata={"help": "step of the simulator while playing"})
    epochs: int = field(default=5, metadata={"help": "steps of learning from a round (1 with reinforce)"})
    rate: float = field(default=4e-3, metadata={"help": "learning rate of lessons; it falls to a tenth"})
    later: float = field(default=0.05, metadata={"help": "of that, the rate of the rounds; it falls likewise"})
    clip: float = field(default=0.2, metadata={"help": "how far a ratio may go"})
    entropy: float = field(default=1e-3, metadata={"help": "weight of the entropy"})
    fade: float = field(default=0.6, metadata={"help": "what a reward is worth one decision later"})
    own: float = field(default=0.7, metadata={"help": "how much an operator's own latency and utilisation count"})
    kl: float = field(default=2e-5, metadata={"help": "SURE: weight of the divergence from the prior"})
    likelihood: float = field(default=1e-5, metadata={"help": "SURE: weight of the likelihood of the weights"})
    information: float = field(default=1e-2, metadata={"help": "SURE: weight of the mutual information"})
    spread: float = field(default=0.2, metadata={"help": "how much rates are varied to learn from; 0: not at all"})
    forecast: float = field(default=0.1, metadata={"help": "forecasters: weight of the error of the forecast"})
    validation: int = field(default=4, metadata={"help": "sequences a network is chosen by, of each setting"})
    level: float = field(
        default=0.03, metadata={"help": "step in which the level of all actions is set when lessons are over; 0: not"}
    )
    check_lessons: int = field(default=6, metadata={"help": "lessons between validations"})
    every: int = field(default=5, metadata={"help": "rounds between validations"})

    def __post_init__(self) -> None:
        for name, low, high in (
            ("lessons", 0, 10**6),
            ("lesson_steps", 1, 10**6),
            ("moments", 1, 10**4),
            ("sources", 1, 10**4),
            ("iterations", 0, 10**6),
            ("sequences", 1, 10**4),
            ("episodes", 2, 10**3),
            ("decisions", 2, 10**5),
            ("step_s", 1e-3, 3600.0),
            ("epochs", 1, 10**3),
            ("rate", 1e-9, 1.0),
            ("later", 1e-6, 1e3),
            ("clip", 1e-3, 10.0),
            ("entropy", 0.0, 1e3),
            ("fade", 0.0, 1.0),
            ("own", 0.0, 1.0),
            ("kl", 0.0, 1e3),
            ("likelihood", 0.0, 1e3),
            ("information", 0.0, 1e3),
            ("spread", 0.0, 2.0),
            ("forecast", 0.0, 1e3),
            ("validation", 1, 10**4),
            ("level", 0.0, 1.0),
            ("check_lessons", 1, 10**6),
            ("every", 1, 10**6),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected {low:g} to {high:g}")
        if not self.lessons and not self.iterations:
            raise ConfigError("lessons and iterations are 0, so nothing would be learned; expected one of them above 0")
        if self.moments < self.sources:
            raise ConfigError(f"moments is {self.moments}, fewer than sources, {self.sources}")


PROFILES: dict[str, dict[str, int]] = {
    "quick": {"iterations": 0},
    "full": {"iterations": 0, "lessons": 60, "moments": 32, "check_lessons": 15},
}
