"""What the random-walk Gaussian process of DAS knows of machines, and what it does not: a case study as a picture.

    .venv/bin/python experiments/rwgp_uncertainty.py --write

Eight machines in two racks and forty jobs that ran on them.  Some machines were seen often and always fast, some often
and always slow, some in one state with measurements that contradict each other, some beside ever other neighbours, one
once, two never.  The process is asked how fast a job would be on each: with similarities made by hand, and as the
bundled network sees the same states (`--checkpoint` takes another).

Before anything was seen, all machines are as uncertain; what is looked at is how much of that is left.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from commands import publish, table

from dovetail.core.gpu import Floats, Ints
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.forward import AMPLITUDE, affinity
from dovetail.schedulers.learned.das.random_walk import RandomWalk
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
NAMED = {"quiet": 0, "slow": 2, "contradictory": 3, "changing": 4, "new": 6}
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
    """Of each machine: log of speed / expected; standard deviation; share of the variance that is left."""

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
    found = graph.posterior(runs, values, machines, graph.noise(runs, values, NOISE))
    left = found.variance()
    return Known(SCALE * found.mean, SCALE * np.sqrt(left), left)


def as_learned(scene: Scene, checkpoint: str) -> Known:
    """The same by a network, all runs just now."""
    network = load_checkpoint(find_checkpoint(checkpoint)).network
    weights, count = network.weights, len(MACHINES)
    at, rack = np.concatenate((np.arange(count), scene.where)), scene.rack[:count]
    hidden = np.maximum(scene.columns @ weights.place_in + weights.place_in_bias, 0.0)
    runs = np.logaddexp(0.0, hidden @ weights.walk + weights.walk_bias)[count:].copy()
    machines, now = scene.columns[:count].copy(), np.zeros(len(scene.where))
    _, mean, left, _ = affinity(weights, machines, at, rack, runs, scene.measured, now, True)
    return Known(mean, float(np.exp(weights.scalars[AMPLITUDE])) * np.sqrt(left), left)


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
                *(f"{100 * np.exp(hand.mean[m]):.0f} %", f"{hand.deviation[m]:.3f}", f"{100 * hand.unknown[m]:.1f} %"),
                *(f"{100 * np.exp(learned.mean[m]):.0f} %", f"{learned.deviation[m]:.3f}"),
                f"{100 * learned.unknown[m]:.1f} %",
            ]
        )
    return table([*head, "not known yet"], rows)


def draw(scene: Scene, shown: dict[str, Known], file: Path) -> None:
    """Above: measurements, and what is expected; below: the share of the variance that is left."""
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
    grid[1][0].set_ylabel("not known yet,\n% of the variance before any run")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


TEXT = """{table}

sd: of the log of the speed. Not known yet: the share of the variance before any run that is left.

![measured and expected speed of each machine, and how much of it is not known](../../docs/images/{picture})

What it shows, with similarities made by hand:

- Uncertainty is smallest where much was observed in the state a machine is in (m0, m2), and largest where nothing was
  (m6). A machine nobody has used is as well known as one like it that was (m5 and m0).
- Contention makes uncertain in two ways. Where it makes states differ, there is little to compare with: after as many
  runs {changing} % is not known of m4, whose neighbours were others every time, and {quiet} % of m0. Where measurements
  in one state contradict each other, each of them tells less: {contradictory} % is not known of m3, {slow} % of m2.

To the network `{network}`, {least} to {most} % are not known: after 12 runs that agree {learned_quiet} and
{learned_slow} %, after 12 that contradict each other {learned_contradictory} %, after none and like none
{learned_new} %. It expects {slowest} to {fastest} % of full speed."""


def text_of(scene: Scene, hand: Known, learned: Known, network: str) -> str:
    speed = 100 * np.exp(learned.mean)
    return TEXT.format(
        table=known_table(scene, hand, learned),
        picture=PICTURE.name,
        **{name: f"{100 * hand.unknown[m]:.1f}" for name, m in NAMED.items()},
        **{f"learned_{name}": f"{100 * learned.unknown[m]:.1f}" for name, m in NAMED.items()},
        network=network,
        least=f"{100 * learned.unknown.min():.0f}",
        most=f"{100 * learned.unknown.max():.0f}",
        slowest=f"{speed.min():.0f}",
        fastest=f"{speed.max():.0f}",
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
