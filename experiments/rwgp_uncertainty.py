"""What the random-walk Gaussian process of DAS knows of machines, and what it does not: a case study as a picture.

    .venv/bin/python experiments/rwgp_uncertainty.py --write

Eight machines in two racks and forty jobs that ran on them.  Some machines were seen often and always fast, some often
and always slow, some in one state with measurements that contradict each other, some beside ever other neighbours, one
once, two never.  The process is asked how fast a job would be on each: with similarities made by hand, and as the
bundled network sees the same states (`--checkpoint` takes another).

What is measured is what the process is given: how much faster a job was than its company and distance explain.  So what
is shown of a network is what its process makes of that, without what the network expects of the states themselves.

Before anything was seen, all machines are as uncertain.  Looked at is how much of that is left (of the speed that jobs
have there on average), and how far from what is expected the next run would be, which contradicting ones make larger.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from commands import publish, table

from dovetail.core.gpu import Floats, Ints
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.forward import AMPLITUDE, affinity, similar
from dovetail.schedulers.learned.das.forward import NOISE as NOISE_AT
from dovetail.schedulers.learned.das.random_walk import RandomWalk
from dovetail.schedulers.learned.das.scheduler import find_checkpoint
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "rwgp_uncertainty.png"
WALK, NOISE, SCALE, RACK = 0.99, 0.05, 0.25, 0.05  # walks so long that a dozen runs in one state tell of each other
BACKGROUND = 0.01  # nodes are never wholly unlike
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
NAMED = {"quiet": 0, "thrice": 1, "slow": 2, "contradictory": 3, "changing": 4, "like": 5, "new": 6, "once": 7}
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
    """Of each machine, as logarithms of measured speed / what company and distance explain."""

    mean: Floats
    deviation: Floats  # standard deviation of that mean
    unknown: Floats  # share of the variance of the mean that is left
    next: Floats  # standard deviation of the next run


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
    apart = NOISE + differing(scene.by_hand[machines], scene.by_hand[runs], values)
    return Known(SCALE * found.mean, SCALE * np.sqrt(left), left, SCALE * np.sqrt(left + apart))


def differing(asked: Floats, seen: Floats, values: Floats) -> Floats:
    """(m,) how much values around each of the nodes `asked` differ, by Z of both: what one of the next would add."""
    weight = asked @ seen.T
    weight /= weight.sum(axis=1, keepdims=True)
    found: Floats = np.maximum(weight @ values**2 - (weight @ values) ** 2, 0.0)
    return found


def as_learned(scene: Scene, checkpoint: str) -> Known:
    """The same by the process of a network, all runs just now."""
    network = load_checkpoint(find_checkpoint(checkpoint)).network
    weights, count = network.weights, len(MACHINES)
    at, rack = np.concatenate((np.arange(count), scene.where)), scene.rack[:count]
    hidden = np.maximum(scene.columns @ weights.place_in + weights.place_in_bias, 0.0)
    runs = np.logaddexp(0.0, hidden @ weights.walk + weights.walk_bias)[count:].copy()
    machines, now = scene.columns[:count].copy(), np.zeros(len(scene.where))
    _, speed, left, walked = affinity(weights, machines, at, rack, runs, scene.measured, now, True)
    _, prior, *_ = affinity(weights, machines, at, rack, runs, 0.0 * scene.measured, now, True)
    scale = float(np.exp(weights.scalars[AMPLITUDE]))
    features = similar(weights, walked, runs, at, rack)
    apart = np.exp(weights.scalars[NOISE_AT]) + differing(features[:count], features[count:], scene.measured / scale)
    return Known(speed - prior, scale * np.sqrt(left), left, scale * np.sqrt(left + apart))


# --- what is shown ---------------------------------------------------------------------------------------------------


def known_table(scene: Scene, hand: Known, learned: Known) -> str:
    columns = ("expected", "not known", "next run")
    head = ["machine", "measured", *(f"{what}, {who}" for who in ("by hand", "network") for what in columns)]
    rows = []
    for m, machine in enumerate(MACHINES):
        seen = np.exp(scene.measured[scene.where == m])
        rows.append(
            [
                f"m{m}: {machine.title}",
                f"{100 * seen.min():.0f} to {100 * seen.max():.0f} %" if len(seen) else "",
                *(text for known in (hand, learned) for text in cells(known, m)),
            ]
        )
    return table(head, rows)


def cells(known: Known, m: int) -> tuple[str, str, str]:
    low, high = (100 * np.exp(known.mean[m] + sign * known.next[m]) for sign in (-1, 1))
    return f"{100 * np.exp(known.mean[m]):.0f} %", f"{100 * known.unknown[m]:.1f} %", f"{low:.0f} to {high:.0f} %"


def draw(scene: Scene, shown: dict[str, Known], file: Path) -> None:
    """Above: measurements, and what is expected of the next run; below: how uncertain its mean is, and it itself."""
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
        low, high = (100 * np.exp(known.mean + sign * known.next) for sign in (-1, 1))
        mean = 100 * np.exp(known.mean)
        above.errorbar(places, mean, (mean - low, high - mean), fmt="D", ms=6, capsize=4, label="expected: next run")
        above.set_title(title)
        above.axhline(100, lw=0.8, color="#bbb")
        below.bar(places - 0.2, 100 * known.deviation, width=0.38, label="sd of what is expected on average")
        below.bar(places + 0.2, 100 * known.next, width=0.38, label="sd of the next run")
        below.set_xticks(
            places, [f"m{m}: {machine.title}" for m, machine in enumerate(MACHINES)], rotation=35, ha="right"
        )
        for axes in (above, below):
            axes.grid(axis="y", alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
    grid[0][0].set_ylabel("speed, % of what is explained")
    grid[1][0].set_ylabel("sd, % of speed (log)")
    (dots, of_dots), (bars, of_bars) = (axes.get_legend_handles_labels() for axes in (grid[0][0], grid[1][0]))
    figure.legend([*dots, *bars], [*of_dots, *of_bars], loc="outside upper center", ncols=4, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


TEXT = """{table}

Measured: speed over what company and distance explain, which is what the process is given. Expected: what it makes of
that. Not known: the share of the variance of the mean, before any run, that is left. Next run: expected, less and more
one standard deviation; two in three should lie between.

![measured and expected speed of each machine, and how uncertain it is](../../docs/images/{picture})

With similarities made by hand (a walk of {walk:g}, noise of {noise:g}):

- The least is unknown where much was observed in the state a machine is in (m0 and m2, {quiet} and {slow} %), the
  most where nothing was (m6, {new} %). A machine nobody has used is as well known as one like it that was
  (m5, {like} %).
- Where contention makes states differ there is little to compare with: after as many runs {changing} % is not known
  of m4, whose neighbours were others every time.
- Where measurements in one state contradict each other, the mean is hardly less known (m3, {contradictory} %), but
  the next run is: its standard deviation is {next_contradictory} % of speed, and {next_slow} % on m2, which was seen
  as often.

The process of the network `{network}` sees this otherwise:

- It knows machines, not states: what ran on a machine tells of it, and next to nothing of another in the same state
  ({learned_like} % is not known of m5, {learned_new} % of m6, {learned_quiet} % of m0). Where it learned, machines of
  one type are alike but for their moods, and what neighbours do is counted before.
- It is not the better informed the more it has seen: {learned_thrice} % is not known of m1, with 3 runs, and
  {learned_quiet} % of m0, with 12. A walker that may go to more nodes of a kind goes to each the less often, so each
  tells the less of the others; that is the kernel, whatever was measured.
- Contradictory measurements leave more unknown ({learned_contradictory} %, {learned_slow} % of m2), and the next run
  more uncertain (a standard deviation of {learned_next_contradictory} and {learned_next_slow} %).
- It draws what it expects towards 100 %, the more the less it has seen: m2 was measured at {measured_slow} % and
  expected at {expected_slow} %, m7 at {measured_once} and {expected_once} %."""


def text_of(scene: Scene, hand: Known, learned: Known, network: str) -> str:
    facts: dict[str, str] = {}
    for prefix, known in (("", hand), ("learned_", learned)):
        facts |= {f"{prefix}{name}": f"{100 * known.unknown[m]:.1f}" for name, m in NAMED.items()}
        facts |= {f"{prefix}next_{name}": f"{100 * known.next[m]:.0f}" for name, m in NAMED.items()}
    for name, m in NAMED.items():
        seen = scene.measured[scene.where == m]
        facts[f"measured_{name}"] = f"{100 * np.exp(seen.mean()):.0f}" if len(seen) else ""
        facts[f"expected_{name}"] = f"{100 * np.exp(learned.mean[m]):.0f}"
    shown = known_table(scene, hand, learned)
    return TEXT.format(table=shown, picture=PICTURE.name, network=network, walk=WALK, noise=NOISE, **facts)


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
