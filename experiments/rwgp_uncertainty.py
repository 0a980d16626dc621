"""What the random-walk Gaussian process of DAS knows of machines, and what it does not: a case study as a picture.

    .venv/bin/python experiments/rwgp_uncertainty.py --write

Eight machines in two racks and forty jobs that ran on them.  Some machines were seen often and always fast, some often
and always slow, some in one state with measurements that contradict each other, some beside ever other neighbours, one
once, two never.  The process is asked how fast a job would be on each: with similarities made by hand, and as the
bundled network sees the same states (`--checkpoint` takes another).

Its uncertainty has two parts: what only a run on this very machine at this very moment would tell, the same everywhere;
and what runs on machines like it tell, of which a share is known by now.  The second is what is looked at.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from commands import publish, table

from dovetail.core.gpu import Floats, Ints
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.forward import AMPLITUDE, LENGTH, affinity, similar
from dovetail.schedulers.learned.das.random_walk import RandomWalk, walk_among
from dovetail.schedulers.learned.das.scheduler import find_checkpoint
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "rwgp_uncertainty.png"
WALK, NOISE, SCALE, RACK = 0.88, 0.37, 0.25, 0.13  # as an untrained network has them, but for the scale of surprises
BACKGROUND = 0.05  # nodes are never wholly unlike
NEIGHBOURS = 6  # kinds of neighbours


@dataclass(frozen=True)
class Machine:
    """A machine, the state it is in, and the log of measured / expected speed of the jobs that ran on it."""

    title: str
    state: str
    rack: int
    low: float = 0.0
    high: float = 0.0
    runs: int = 0


MACHINES = (
    Machine("12 runs, always fast", "quiet", 0, -0.06, 0.0, 12),
    Machine("3 runs, fast", "light", 0, -0.10, -0.02, 3),
    Machine("12 runs, always slow", "busy", 0, -0.45, -0.38, 12),
    Machine("12 runs, contradictory", "crowded", 0, -0.80, 0.0, 12),
    Machine("12 runs, ever other neighbours", "changing", 1, -0.80, 0.0, 12),
    Machine("no run, like the first", "quiet", 1),
    Machine("no run, like none", "new", 1),
    Machine("1 run", "odd", 1, -0.20, -0.20, 1),
)
STATES = ("quiet", "light", "busy", "crowded", "new", "odd")
COLUMNS = {  # of the network, where a state is not that of an empty machine
    "quiet": {},
    "light": {"jobs on it, for each gpu": 0.25, "gpus free, of its own": 0.75, "processors free": 0.8},
    "busy": {"jobs on it, for each gpu": 0.75, "gpus free, of its own": 0.25, "speed of its jobs, as expected": -0.4},
    "crowded": {"jobs on it, for each gpu": 1.5, "gpus free, of its own": 0.25, "memory free": 0.2},
    "new": {"gpus free, of its own": 0.5, "price": 0.1, "speed of its type": -1.0},
    "odd": {"jobs on it that are spread, for each gpu": 1.0, "feels the network: its jobs": 0.4},
}
EMPTY = (
    "up",
    "gpus free, of its own",
    "whole gpus free, of its own",
    "gpus free, of the largest",
    "processors free",
    "memory free",
    "gpus free in its rack",
    "takes a worker",
    "workers it takes, of the job",
    "takes all",
    "gpus left over",
    "processors left over",
    "memory left over",
)


@dataclass(frozen=True, eq=False)
class Scene:
    """Nodes are machines, then runs; `measured` of the runs, `where` the machine of each."""

    by_hand: Floats  # (n, d) similarities
    columns: Floats  # (n, node columns) of the network
    rack: Ints  # (n,)
    measured: Floats  # (runs,)
    where: Ints  # (runs,)


@dataclass(frozen=True, eq=False)
class Known:
    """Of each machine: log of speed / expected; standard deviation; share of what could be known that is not."""

    mean: Floats
    deviation: Floats
    unknown: Floats


def make_scene(seed: int = 0) -> Scene:
    rng = np.random.default_rng(seed)
    where = np.array([m for m, machine in enumerate(MACHINES) for _ in range(machine.runs)])
    nodes = [*range(len(MACHINES)), *where.tolist()]
    pairs = [state_of(MACHINES[m].state, rng) for m in nodes]
    measured = [rng.uniform(MACHINES[m].low, MACHINES[m].high) for m in where]
    rack = np.array([MACHINES[m].rack for m in nodes])
    by_hand = np.hstack([np.array([pair[0] for pair in pairs]), RACK * np.eye(2)[rack]])
    return Scene(by_hand, np.array([pair[1] for pair in pairs]), rack, np.array(measured), where)


def state_of(state: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Similarities by hand, and the columns of the network; a changing one is drawn anew every time."""
    features = np.full(len(STATES) + NEIGHBOURS, BACKGROUND)
    columns = dict.fromkeys(EMPTY, 1.0)
    if state == "changing":
        features[len(STATES) :] += rng.dirichlet(np.full(NEIGHBOURS, 0.3))
        crowd = rng.uniform(0.0, 1.0, 5)
        columns |= {
            "jobs on it, for each gpu": 2.0 * crowd[0],
            "gpus free, of its own": 1.0 - crowd[0],
            "speed of its jobs, as expected": -0.8 * crowd[1],
            "feels the network: its jobs": 0.4 * crowd[2],
            "memory free": crowd[3],
            "processors free": crowd[4],
        }
    else:
        features[STATES.index(state)] += 1.0
        columns |= COLUMNS[state]
    return features, np.array([columns.get(name, 0.0) for name in NODE_COLUMNS])


def by_hand(scene: Scene, measured: Floats | None = None) -> Known:
    """The process with similarities made by hand; `measured` instead of what the scene has."""
    count = len(MACHINES)
    graph = RandomWalk.of(scene.by_hand, WALK)
    runs, machines = slice(count, len(scene.by_hand)), slice(0, count)
    values = (scene.measured if measured is None else measured) / SCALE
    found = graph.posterior(runs, values, machines, NOISE)
    before = np.diag(graph.kernel())[:count]
    after = found.variance()
    return Known(SCALE * found.mean, SCALE * np.sqrt(after), (after - 1.0) / (before - 1.0))


def as_learned(scene: Scene, checkpoint: str) -> Known:
    """The same by a network; what `affinity` has at hand before it looks at any run is made anew."""
    network = load_checkpoint(find_checkpoint(checkpoint)).network
    weights, count = network.weights, len(MACHINES)
    at, rack = np.concatenate((np.arange(count), scene.where)), scene.rack[:count]
    hidden = np.maximum(scene.columns @ weights.place_in + weights.place_in_bias, 0.0)
    walked = np.logaddexp(0.0, hidden @ weights.walk + weights.walk_bias)
    machines, runs = walked[:count].copy(), walked[count:].copy()
    _, mean, factor, _ = affinity(weights, scene.columns[:count].copy(), at, rack, runs, scene.measured)
    scale = float(np.exp(weights.scalars[AMPLITUDE]))
    features = similar(weights, machines, runs, at, rack)
    spread, core_inverse = walk_among(features, 1.0 / (1.0 + np.exp(-weights.scalars[LENGTH])))
    before = np.diag(RandomWalk(spread, core_inverse).kernel())[:count] - 1.0
    shared = (factor**2).sum(axis=1)
    return Known(mean, scale * np.sqrt(1.0 + shared), shared / before)


# --- what is shown ---------------------------------------------------------------------------------------------------


def known_table(scene: Scene, hand: Known, learned: Known) -> str:
    head = ["machine", "measured speed", "expected by hand", "sd", "not known yet", "expected by the network", "sd"]
    rows = []
    for m, machine in enumerate(MACHINES):
        seen = np.exp(scene.measured[scene.where == m])
        rows.append(
            [
                f"m{m}: {machine.title}",
                f"{100 * seen.min():.0f} to {100 * seen.max():.0f} %" if len(seen) else "",
                *(f"{100 * np.exp(hand.mean[m]):.0f} %", f"{hand.deviation[m]:.3f}", f"{100 * hand.unknown[m]:.0f} %"),
                *(f"{100 * np.exp(learned.mean[m]):.0f} %", f"{learned.deviation[m]:.3f}"),
                f"{100 * learned.unknown[m]:.0f} %",
            ]
        )
    return table([*head, "not known yet"], rows)


def draw(scene: Scene, shown: dict[str, Known], file: Path) -> None:
    """Above: measurements, and what is expected; below: the share that is not known."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, len(shown), figsize=(12, 7), layout="constrained", sharex=True, sharey="row")
    places = np.arange(len(MACHINES))
    rng = np.random.default_rng(1)
    for column, (title, known) in enumerate(shown.items()):
        above, below = grid[0][column], grid[1][column]
        beside = scene.where + rng.uniform(-0.25, 0.25, len(scene.where))
        above.plot(beside, 100 * np.exp(scene.measured), "o", ms=4, alpha=0.5, color="#888", label="measured")
        low, high = (100 * np.exp(known.mean + sign * known.deviation) for sign in (-1, 1))
        mean = 100 * np.exp(known.mean)
        above.errorbar(places, mean, (mean - low, high - mean), fmt="D", ms=6, capsize=4, label="expected, one sd")
        above.set_title(title)
        above.axhline(100, lw=0.8, color="#bbb")
        below.bar(places, 100 * known.unknown, width=0.6)
        below.set_xticks(
            places, [f"m{m}: {machine.title}" for m, machine in enumerate(MACHINES)], rotation=35, ha="right"
        )
        for axes in (above, below):
            axes.grid(axis="y", alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
    grid[0][0].set_ylabel("speed, % of expected alone")
    grid[1][0].set_ylabel("not known yet, % of what\nruns on machines like it could tell")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


TEXT = """{table}

sd: of the log of the speed, all of it. Not known yet: share of what runs on machines like it could tell.

![measured and expected speed of each machine, and how much of it is not known](../../docs/images/{picture})

What it shows, with similarities made by hand:

- Uncertainty is smallest where much was observed in the state a machine is in (m0, m2), and largest where little or
  nothing was (m7, m6). A machine nobody has used is as well known as one like it that was (m5 and m0).
- Contention makes uncertain where it makes states differ: after as many runs, {changing} % of what could be told of
  m4, whose neighbours were others every time, is not known, of m0 {quiet} %. As a standard deviation this does not
  show ({changing_sd} against {quiet_sd}): a walker that scatters over many states leaves less variance to begin with.
  Dividing K by the roots of its diagonal would make them comparable.
- It does not where the state was the same and the measurements contradict each other: m3 is as certain as m2, and the
  mean lies in the middle. The variance of a Gaussian process with fixed noise depends on where was observed, not on
  what: with all measurements replaced by others it is the same to the last bit. What two runs in the same state
  disagree about has to be in the columns that describe the state, or it is not seen.
- The whole standard deviation varies little: most of it is what only a run on this very machine at this very moment
  would tell, which is the same for all.

To the network `{network}`, {least} to {most} % are not known, and it expects {slowest} to {fastest} % of full speed:
{verdict}

What would help, and is not built: noise of its own for each observation. The history keeps one smoothed speed for
each run; with a smoothed square beside it, the variance v_i of what was measured during run i is known, and s^2 I
becomes diag(s^2 + v_i). The closed form stays: S_X' S_X / (1 + s^2) is then the sum of x_i x_i' / (1 + s^2 + v_i),
and S_X' Y / (1 + s^2) likewise, at the same cost. Runs whose speed swung would count for less, and machines like
theirs be less certain. That still would not see runs that were each steady and differ from one another; for these the
noise would have to be estimated from neighbours' residuals, a second process over its logarithm."""
FLAT = "it hardly tells these states apart, and its process amounts to one mean for all machines."
SHARP = "it tells these states apart."


def text_of(scene: Scene, hand: Known, learned: Known, network: str) -> str:
    speed = 100 * np.exp(learned.mean)
    return TEXT.format(
        table=known_table(scene, hand, learned),
        picture=PICTURE.name,
        changing=f"{100 * hand.unknown[4]:.0f}",
        quiet=f"{100 * hand.unknown[0]:.0f}",
        changing_sd=f"{hand.deviation[4]:.3f}",
        quiet_sd=f"{hand.deviation[0]:.3f}",
        network=network,
        least=f"{100 * learned.unknown.min():.0f}",
        most=f"{100 * learned.unknown.max():.0f}",
        slowest=f"{speed.min():.0f}",
        fastest=f"{speed.max():.0f}",
        verdict=FLAT if learned.unknown.max() < 1.5 * learned.unknown.min() else SHARP,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="cloud", help="of gpu/das (cloud)")
    parser.add_argument("--seed", type=int, default=0, help="of the runs that are drawn (0)")
    parser.add_argument("--write", action="store_true", help="record the table, and draw the picture")
    args = parser.parse_args()
    scene = make_scene(args.seed)
    hand, learned = by_hand(scene), as_learned(scene, args.checkpoint)
    if args.write:
        shown = {"similarities made by hand": hand, f"as the network `{args.checkpoint}` sees it": learned}
        draw(scene, shown, PICTURE)
    text = text_of(scene, hand, learned, args.checkpoint)
    publish("rwgp_uncertainty", "What the random-walk Gaussian process does not know", text, write=args.write)


if __name__ == "__main__":
    main()
