"""How much `elastic/oasis` depends on its estimates: wrong bounds of prices, and where prices start.

    .venv/bin/python experiments/elastic_sensitivity.py --write

`error` stretches the range of prices on purpose (U times, L divided by it; below 1 the range shrinks), as the paper of
OASiS does with its estimates of U and L.  `fill` is our floor of L: prices start where the jobs that can pay fill that
share of the cluster; inf is the published rule, without a floor.  `in_order=arrival` takes jobs of the same slot as
they come.  Everything is paired with the defaults, on the same sequences (seeds 0, 1, ...).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from commands import RESULTS, dovetail, publish, table
from elastic_settings import OASIS, PRESETS, Point, add_options, read_point

from dovetail.evaluation.statistics import bootstrap_mean

ERRORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FILLS = ("0.25", "0.5", "0.75", "1", "2", "4", "8", "inf")
YARDSTICK = "elastic/srtf"  # the best heuristic of both presets, in pictures only
USUAL = {"error": 1.0, "fill": 0.5}


def specs() -> list[str]:
    found = [f"{OASIS}:error={error:g}" for error in ERRORS if error != USUAL["error"]]
    found += [f"{OASIS}:fill={fill}" for fill in FILLS if float(fill) != USUAL["fill"]]
    published = [f"{OASIS}:error={error:g},fill=inf" for error in ERRORS if error != USUAL["error"]]
    return [OASIS, f"{OASIS}:in_order=arrival", f"{OASIS}:fill=inf,in_order=arrival", *found, *published, YARDSTICK]


def label(**params: object) -> str:
    """The spec with what differs from the defaults, in order of the names: as `read_point` has it."""
    changed = ",".join(f"{name}={value}" for name, value in sorted(params.items()) if value != USUAL.get(name))
    return f"{OASIS}:{changed}" if changed else OASIS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Path("runs/elastic_sensitivity"))
    args = parser.parse_args()
    points = {}
    for preset, workload in PRESETS.items():
        words = ("compare", "elastic", "--workload", workload, "--out", str(args.out / preset))
        words += ("--workers", str(args.workers), "--seeds", str(args.seeds))
        dovetail(*words, "--schedulers", ",".join(specs()))
        points[preset] = read_point(preset, args.out / preset, args.seeds)
    if args.write:
        draw(points)
    texts = [
        f"Total utility of `{OASIS}`, seeds 0 to {args.seeds - 1}, with 95 % intervals, and the paired difference to "
        f"its defaults (error {USUAL['error']:g}, fill {USUAL['fill']:g}).",
        "![total utility against the error of the estimates and against the floor](elastic_sensitivity.png)",
        sensitivity_table("error of U and L", {f"{e:g}": label(error=e) for e in ERRORS}, points),
        "Without the floor (fill = inf, as published):",
        sensitivity_table("error of U and L", {f"{e:g}": label(error=e, fill=float("inf")) for e in ERRORS}, points),
        "Where prices start:",
        sensitivity_table("fill", {fill: label(fill=float(fill)) for fill in FILLS}, points),
        "Jobs of the same slot in order of arrival, instead of worth per unit of resource:",
        sensitivity_table(
            "fill",
            {"0.5": label(in_order="arrival"), "inf": label(fill=float("inf"), in_order="arrival")},
            points,
        ),
    ]
    publish("elastic_sensitivity", "What OASiS' estimates are worth", "\n\n".join(texts), write=args.write)


def sensitivity_table(title: str, rows: dict[str, str], points: dict[str, Point]) -> str:
    lines = []
    for value, name in rows.items():
        line = [value]
        for point in points.values():
            found = bootstrap_mean(point.values[name]["total_utility"])
            line.append(f"{found.mean:.0f} [{found.low:.0f}, {found.high:.0f}]")
            line.append("" if name == OASIS else point.difference(name, OASIS))
        lines.append(line)
    head = [cell for preset in points for cell in (f"`{PRESETS[preset]}`", "to the defaults")]
    return table([title, *head], lines)


def draw(points: dict[str, Point]) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    endless = 2 * float(FILLS[-2])  # where inf is drawn
    for colour, (preset, point) in zip(("C0", "C1"), points.items(), strict=True):
        usual = point.mean(OASIS)
        for floor, style in ((USUAL["fill"], "o-"), (float("inf"), "o--")):
            shares = [point.mean(label(error=error, fill=floor)) / usual for error in ERRORS]
            text = f"{PRESETS[preset]}, {'as published' if floor == float('inf') else 'with our floor'}"
            grid[0].plot(ERRORS, shares, style, color=colour, label=text)
        places = [endless if fill == "inf" else float(fill) for fill in FILLS]
        shares = [point.mean(label(fill=float(fill))) / usual for fill in FILLS]
        grid[1].plot(places, shares, "o-", color=colour, label=PRESETS[preset])
        grid[1].axhline(point.mean(YARDSTICK) / usual, color=colour, ls=":", label=f"{YARDSTICK} there")
    grid[0].set(xscale="log", xlabel="error of the estimates", ylabel="total utility, defaults = 1", ylim=(0, None))
    grid[1].set(xscale="log", xlabel="fill: share of the cluster at which prices start")
    grid[1].set_xticks([*map(float, FILLS[:-1]), endless], [*FILLS[:-1], "inf"])
    grid[1].minorticks_off()
    for axes in grid:
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "elastic_sensitivity.png", dpi=110)


if __name__ == "__main__":
    main()
