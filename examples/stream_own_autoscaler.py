"""An autoscaler of your own in one file, on a job and rates of your choice, against those that are there.

python examples/stream_own_autoscaler.py
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail import SCHEDULERS, SeedTree
from dovetail.core.stream import DAY_S, Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.evaluation.setting_stream import StreamSetting, result_metrics


@dataclass(frozen=True)
class Params:
    busy: float = field(default=0.6, metadata={"help": "share of its time an instance is to be busy at most"})
    slack: float = field(default=0.5, metadata={"help": "a job keeps what it has down to this share of that"})


class Peak:
    """Enough for the busiest ten minutes of the last hour, and nothing is changed as long as that is not far off."""

    Params = Params

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self.info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        """Told once, before the first view."""
        self.info = info

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        """Answers for operators that are to have another parallelism; those that are not named keep theirs."""
        info = self.info
        assert info is not None
        spent = (view.op_busy * view.op_parallelism).sum(axis=0)
        service_s = np.divide(spent, view.op_rate.sum(axis=0), out=np.zeros_like(spent), where=spent > 0)
        rows = len(view.op_input_rate)
        parts = np.array_split(np.arange(rows), max(1, round(rows * info.snapshot_s / 600.0)))
        peak = np.max([view.op_input_rate[part].mean(axis=0) for part in parts], axis=0)
        demand = peak * service_s  # instances that are busy all the time
        wanted: Ints = np.clip(np.ceil(demand / self.params.busy), 1, info.operator_max).astype(np.int64)
        short = demand > self.params.busy * view.parallelism
        ample = demand < self.params.slack * self.params.busy * (view.parallelism - 1)
        changes = np.isin(info.operator_job, info.operator_job[short | ample])  # a restart is one of the whole job
        changes &= (wanted != view.parallelism) & (wanted.sum() <= info.slots)
        return [
            StreamDecision(int(one), int(wanted[one]), Reason.TRUE_RATE, float(demand[one]))
            for one in np.flatnonzero(changes)
        ]


def main(days: int = 3, seeds: int = 2) -> dict[str, tuple[float, float]]:
    """Mean reward and rescales of each autoscaler, over the same `seeds` draws of so many days."""
    SCHEDULERS.register("stream/peak", f"{__name__}:Peak", "enough for the busiest ten minutes of the last hour")
    setting = StreamSetting("nexmark-q5", rates="diurnal", duration_s=days * DAY_S).open()
    scores = {}
    for spec in ("stream/peak", "stream/peak:busy=0.8", "stream/ds2", "stream/flink", "stream/hpa", "stream/fixed"):
        found = []
        for seed in range(seeds):
            world = setting.world(setting.sequence(seed), SeedTree(seed))
            result = setting.run(world, SCHEDULERS.create(spec), SeedTree(seed).child("scheduler").generator())
            found.append(result_metrics(result))
        mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        scores[spec] = mean["reward"], mean["rescales"]
        print(
            f"{spec:22} reward {mean['reward']:7.3f}   latency {mean['latency_s']:7.2f} s   "
            f"{mean['instance_hours']:5.0f} instance-hours   {mean['rescales']:3.0f} rescales"
        )
    return scores


if __name__ == "__main__":
    main()
