"""`dovetail tune`: the best values of a scheduler's parameters, found on training seeds only."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import add_matrix, read_arguments
from dovetail.cli.compare import FIRST_TRAINING_SEED, check_metric
from dovetail.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note, run_visibly, tell_failures
from dovetail.cli.options import add_options, arguments_of, family_of_name, yardstick_of
from dovetail.core.errors import ConfigError
from dovetail.core.spec import split_specs

if TYPE_CHECKING:
    from dovetail.core.dag import Floats
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.matrix_cell import Failure
    from dovetail.evaluation.setting import OpenSetting
    from dovetail.evaluation.tuning import Point, Tuned
    from dovetail.records.summary import Entry


family_of = family_of_name


def configure(parser: argparse.ArgumentParser, family: str | None) -> None:
    parser.add_argument("scheduler", metavar="NAME", help="such as dag/graphene; parameters given with it stay fixed")
    kind = add_options(parser, family, "NAME")
    parser.add_argument("--mix", metavar="NAME,...", help="tune on these workloads, too: by the mean over all of them")
    parser.add_argument("--metric", metavar="NAME", help=f"what to improve ({yardstick_of(kind)})")
    add_matrix(parser, seed=FIRST_TRAINING_SEED)
    parser.add_argument(
        "--allow-overlap",
        action="store_true",
        help=f"let training seeds lie below {FIRST_TRAINING_SEED}, where schedulers are judged",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with every value tried")


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.matrix import check_workers
    from dovetail.evaluation.tuning import Space, search

    space = Space.of(args.scheduler)
    metric = check_metric(args.metric, space.family.name)
    # A file's seeds are those of the comparison, which is what the training seeds must keep away from.
    kind = arguments_of(space.family.name)
    asked = read_arguments(kind, args, not_from_file=("seed", "schedulers"), seed=FIRST_TRAINING_SEED)
    if asked.seed < FIRST_TRAINING_SEED and not args.allow_overlap:
        raise ConfigError(
            f"seeds {asked.seed} to {asked.seed_range[-1]} reach into 0 to {FIRST_TRAINING_SEED - 1}, which "
            "are for judging; a scheduler tuned on them looks better than it is (--allow-overlap insists)"
        )
    check_workers(args.workers)
    mixed: list[dict[str, Any]] = [{"workload": name} for name in split_specs(args.mix or "")]
    every = [asked, *(replace(asked, **other) for other in mixed)]
    opened = [each.setting().open() for each in every]
    for each in opened:
        each.check(asked.seed)
    for text in dict.fromkeys(text for each in every for text in each.notes()):
        note(text)
    trials = _Trials(opened, asked.seed_range, metric, args.workers)
    try:
        tuned = search(space, metric, trials.measure)
    except KeyboardInterrupt:
        note("interrupted; nothing was kept")
        return EXIT_INTERRUPTED
    tell_failures(trials.failures)
    for key in tuned.at_edge():
        note(f"the best {key} lies at the edge of what was tried; better ones may lie beyond")
    if args.json:
        document = _as_json(opened, tuned, asked.seed_range)
        print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print(_as_text(tuned))
    return EXIT_FAILED if trials.failures else 0


class _Trials:
    """Runs candidates on the training seeds of all workloads."""

    def __init__(self, opened: Sequence[OpenSetting], seeds: tuple[int, ...], metric: str, workers: int | None) -> None:
        self.failures: list[Failure] = []
        self._opened = opened
        self._seeds = seeds
        self._metric = metric
        self._workers = workers

    def measure(self, contenders: Sequence[Contender]) -> Mapping[Entry, Floats]:
        """Means over the workloads, seed by seed; who fails on one of them is left out."""
        import numpy as np

        found = [self._on(each, contenders) for each in self._opened]
        return {entry: np.mean([each[entry] for each in found], axis=0) for entry in found[0] if _in_all(entry, found)}

    def _on(self, opened: OpenSetting, contenders: Sequence[Contender]) -> Mapping[Entry, Floats]:
        import numpy as np

        from dovetail.evaluation.matrix import Matrix
        from dovetail.evaluation.matrix_results import MatrixResults

        matrix = Matrix(tuple(contenders), self._seeds, timed=False)
        results = MatrixResults(matrix)
        if not run_visibly(opened, matrix, results, self._workers):
            raise KeyboardInterrupt
        self.failures += results.failures
        whole, _ = results.complete()
        return {one.entry: np.array([*results.values(one, self._metric).values()]) for one in whole}


def _in_all(entry: Entry, found: Sequence[Mapping[Entry, Floats]]) -> bool:
    return all(entry in each for each in found)


def _as_json(opened: Sequence[OpenSetting], tuned: Tuned, seeds: tuple[int, ...]) -> dict[str, Any]:
    from dovetail.records.manifest import plain

    def point(one: Point) -> dict[str, Any]:
        return {"params": plain(one.values), "spec": one.contender.spec, **one.interval.as_json()}

    gain = tuned.gain.as_json()
    told = "vs_start" if tuned.space.family.metrics[tuned.metric].signed else "vs_start_pct"
    return {
        "schema": 1,
        "family": tuned.space.family.name,
        "workload": opened[0].facts(),
        **({"mix": [each.facts() for each in opened[1:]]} if opened[1:] else {}),
        "options": plain(opened[0].options),
        "seeds": list(seeds),
        "scheduler": tuned.space.name,
        "metric": tuned.metric,
        "best": point(tuned.best),
        "start": point(tuned.start),
        told: gain["mean"],
        f"{told}_ci95": gain["ci95"],
        "curve": [point(one) for one in tuned.points],
    }


def _as_text(tuned: Tuned) -> str:
    from dovetail.cli.comparison_table import aligned
    from dovetail.evaluation.report.text import bounds, number, signed_difference

    metric = tuned.space.family.metrics[tuned.metric]
    unit = f", {metric.unit}" if metric.unit else ""
    keys = list(tuned.space.grid)
    head = [*keys, f"{metric.title}{unit}", "95 % interval", ""]
    body = []
    for one in tuned.points:
        mark = "best" if one is tuned.best else "start" if one is tuned.start else ""
        texts = [str(one.values[key]) for key in keys]
        body.append([*texts, number(one.interval.mean, metric), bounds(one.interval, metric), mark])
    best = tuned.best.interval
    lines = [
        aligned(head, body),
        "",
        f"best: {number(best.mean, metric)} {metric.unit} {bounds(best, metric)}".rstrip()
        + f", {signed_difference(tuned.gain, metric)} against the start",
        tuned.best.contender.spec,
    ]
    return "\n".join(lines)
