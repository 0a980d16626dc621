"""How much OASiS, and ours that changes its mind, depend on estimates: wrong bounds of prices, and where they start.

    .venv/bin/python experiments/elastic_sensitivity.py --write

`error` stretches the range of prices on purpose (U times, L divided by it; below 1 the range shrinks), as the paper of
OASiS does with its estimates of U and L.  `fill` is our floor of L: prices start where the jobs that can pay fill that
share of the cluster; inf is the published rule, without a floor.  `in_order=arrival` takes jobs of the same slot as
they come.  Everything is paired with the defaults, on the same sequences (seeds 0, 1, ...).

Published baselines estimate nothing, so each has one value, whatever the error; beside the best of them, as described
and as tuned on training seeds (`elastic_settings.TUNED`), stands how far OASiS is above or below it at every error.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from commands import RESULTS, dovetail, publish, table
from elastic_settings import OASIS, PRESETS, REPLAN, TUNED, Point, add_options, read_point

from dovetail.evaluation.statistics import bootstrap_mean

ERRORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FILLS = ("0.25", "0.5", "0.75", "1", "2", "4", "8", "inf")
YARDSTICK = "elastic/srtf"  # the best heuristic of both presets, in pictures only
USUAL = {"error": 1.0, "fill": 0.5}
OF_REPLAN = {
    "small": ERRORS,
    "paper": (0.1, 1.0, 10.0),
}  # errors at which it is run; there it takes a minute or two each


BASELINES = ("elastic/rrh", "elastic/drf", "elastic/fifo")  # Dorm is far below, in every setting, and slow


def specs(preset: str) -> list[str]:
    wrong = [f"error={error:g}" for error in ERRORS if error != USUAL["error"]]
    found = [f"{OASIS}:{error}" for error in wrong]
    found += [f"{REPLAN}:error={error:g}" for error in OF_REPLAN[preset] if error != USUAL["error"]]
    found += [f"{OASIS}:fill={fill}" for fill in FILLS if float(fill) != USUAL["fill"]]
    found += [f"{OASIS}:{error},fill=inf" for error in wrong]
    others = [REPLAN, YARDSTICK, *BASELINES, *TUNED[preset]]
    return [OASIS, f"{OASIS}:in_order=arrival", f"{OASIS}:fill=inf,in_order=arrival", *found, *others]


def label(name: str = OASIS, **params: object) -> str:
    """The spec with what differs from the defaults, in order of the names: as `read_point` has it."""
    changed = ",".join(f"{key}={value}" for key, value in sorted(params.items()) if value != USUAL.get(key))
    return f"{name}:{changed}" if changed else name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Path("runs/elastic_sensitivity"))
    args = parser.parse_args()
    points = {}
    for preset, workload in PRESETS.items():
        words = ("compare", "elastic", "--workload", workload, "--out", str(args.out / preset))
        words += ("--workers", str(args.workers), "--seeds", str(args.seeds))
        dovetail(*words, "--schedulers", ",".join(specs(preset)))
        points[preset] = read_point(preset, args.out / preset, args.seeds, TUNED[preset])
    if args.write:
        draw(points)
    texts = [
        f"Total utility, seeds 0 to {args.seeds - 1}, with 95 % intervals, and paired differences to the defaults "
        f"(`{OASIS}`: error {USUAL['error']:g}, fill {USUAL['fill']:g}).",
        "![total utility against the error of the estimates and against the floor](elastic_sensitivity.png)",
        "Published baselines, which estimate nothing:",
        baseline_table(points),
        f"`{OASIS}`:",
        error_table(OASIS, points),
        f"`{REPLAN}`:",
        error_table(REPLAN, points),
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


def baseline_table(points: dict[str, Point]) -> str:
    lines = []
    for preset, point in points.items():
        for name in sorted((*BASELINES, *point.tuned), key=lambda name: -point.mean(name)):
            note = "tuned" if name in point.tuned else ""
            lines.append([f"`{PRESETS[preset]}`", f"`{name}`", note, utility(point, name)])
    return table(["", "scheduler", "", "total utility"], lines)


def error_table(ours: str, points: dict[str, Point]) -> str:
    """Against the error of the estimates: how much is lost, and how far above the best baselines that is."""
    lines = []
    for error in ERRORS:
        name, line = label(ours, error=error), [f"{error:g}"]
        for point in points.values():
            if name not in point.values:
                line += [""] * 4
                continue
            best = (point.best(BASELINES), point.best((*BASELINES, *point.tuned)))
            line.append(utility(point, name))
            line.append("" if name == ours else point.difference(name, ours))
            line += [point.difference(name, other) for other in best]
        lines.append(line)
    head = ["to the defaults", "to the best published", "to the best of them, tuned"]
    return table(["error of U and L", *(cell for preset in points for cell in (f"`{PRESETS[preset]}`", *head))], lines)


def utility(point: Point, name: str) -> str:
    found = bootstrap_mean(point.values[name]["total_utility"])
    return f"{found.mean:.0f} [{found.low:.0f}, {found.high:.0f}]"


def sensitivity_table(title: str, rows: dict[str, str], points: dict[str, Point]) -> str:
    lines = []
    for value, name in rows.items():
        line = [value]
        for point in points.values():
            line.append(utility(point, name))
            line.append("" if name == OASIS else point.difference(name, OASIS))
        lines.append(line)
    head = [cell for preset in points for cell in (f"`{PRESETS[preset]}`", "to the defaults")]
    return table([title, *head], lines)


def draw(points: dict[str, Point]) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharey=True)
    endless = 2 * float(FILLS[-2])  # where inf is drawn
    for colour, (preset, point) in zip(("C0", "C1"), points.items(), strict=True):
        usual = point.mean(OASIS)
        for floor, style in ((USUAL["fill"], "o-"), (float("inf"), "o--")):
            shares = [point.mean(label(error=error, fill=floor)) / usual for error in ERRORS]
            text = f"{PRESETS[preset]}, {'as published' if floor == float('inf') else 'with our floor'}"
            grid[0].plot(ERRORS, shares, style, color=colour, label=text)
        shares = [point.mean(label(REPLAN, error=error)) / usual for error in OF_REPLAN[preset]]
        grid[0].plot(OF_REPLAN[preset], shares, "^-", color=colour, label=f"{PRESETS[preset]}, {REPLAN}")
        best = point.best((*BASELINES, *point.tuned))
        grid[0].axhline(
            point.mean(best) / usual, color=colour, ls=":", label=f"{PRESETS[preset]}, best published, tuned"
        )
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
        axes.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(0, -0.15), ncols=2)
        axes.spines[["top", "right"]].set_visible(False)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "elastic_sensitivity.png", dpi=110)


if __name__ == "__main__":
    main()
