"""GPU jobs: what the learned parts of the shipped networks of DAS are worth: each is set to 0, everything else stays.

    .venv/bin/python experiments/gpu_parts.py --write

On validation sequences (seeds from 2000 on), by which training also chose among networks.  A part that others learned
to rely on is worth more here than if it had never been there; the ablation (`gpu_ablation.py`) trains without it.

Networks without a part, and comparisons, are kept in OUT, and gone on with.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from commands import dovetail, publish, table
from elastic_settings import spec_of
from gpu_settings import JCT, das_spec, percent

from dovetail.core.gpu import Floats
from dovetail.evaluation.statistics import paired_difference_pct
from dovetail.records.directory import read_records
from dovetail.schedulers.learned.das.checkpoint import DasCheckpoint, load_checkpoint, save_checkpoint
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.scheduler import find_checkpoint

PARTS = {
    "what the ordering agent adds to its rules": ("order.out.weight", "order.out.bias", "order.trust"),
    "of that, what it expects of waits": ("order.trust",),
    "the last layer of the placement agent": ("place.out.weight", "place.out.bias"),
    "what the process found": ("place.walk.trust",),
    "who slows whom down": tuple(f"neighbours.{at}.{what}" for at in ("host", "device") for what in ("press", "feel")),
}
"""Row: the parameters that are 0 in it."""
WHERE = {
    "cloud": {"small": 40, "medium": 16, "medium-uneven": 16},
    "cloud-mixed": {"small-mixed": 40, "medium-mixed": 16},
}
"""Network: settings, and of how many sequences."""
FIRST_SEED = 2_000  # of validation


def without(network: str, part: str, out: Path) -> str:
    """The spec of that network with this part at 0."""
    whole = load_checkpoint(find_checkpoint(network))
    given = whole.network.parameters
    changed = {name: np.zeros_like(value) if name in PARTS[part] else value for name, value in given.items()}
    where = out / "networks" / f"{network}-{list(PARTS).index(part)}" / "checkpoint"
    save_checkpoint(where, DasCheckpoint(DasForward(whole.network.shape, changed), {**whole.card, "without": part}))
    return das_spec(str(where))


def completion_times(workload: str, specs: Sequence[str], sequences: int, args: argparse.Namespace) -> list[Floats]:
    """(sequences,) of each."""
    where = args.out / workload
    words = ("--workload", workload, "--seed", str(FIRST_SEED), "--seeds", str(sequences), "--out", str(where))
    dovetail("compare", "gpu", *words, "--workers", str(args.workers), "--schedulers", ",".join(specs))
    summary = read_records(where).summary
    found = {spec_of(entry): summary.metrics[JCT][summary.rows(entry)][:sequences] for entry in summary.entries}
    return [found[spec] for spec in specs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, metavar="N", help="of each setting (40, of medium ones 16)")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu_parts"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    columns = []
    for network, settings in WHERE.items():
        specs = [das_spec(network), *(without(network, part, args.out) for part in PARTS)]
        for workload, usual in settings.items():
            sequences = args.sequences or usual
            whole, *rest = completion_times(workload, specs, sequences, args)
            cells = [percent(paired_difference_pct(each, whole)) for each in rest]
            columns.append([f"`{network}`: `{workload}` ({sequences})", *cells])
    heads, *rows = zip(*columns, strict=True)
    text = table(["without", *heads], [[part, *row] for part, row in zip(PARTS, rows, strict=True)])
    about = (
        "Mean completion time without a part (its parameters set to 0) against the whole network, on validation "
        f"sequences (seeds from {FIRST_SEED} on; how many in brackets): paired differences with 95 % intervals over "
        "sequences."
    )
    publish(
        "gpu_parts", "What the learned parts of the networks of DAS are worth", f"{about}\n\n{text}", write=args.write
    )


if __name__ == "__main__":
    main()
