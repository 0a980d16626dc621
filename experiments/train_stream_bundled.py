"""Trains all bundled autoscalers alike, judges them on sequences held out, and puts them where they are shipped.

    .venv/bin/python experiments/train_stream_bundled.py                        # all six, with the plan `full`
    .venv/bin/python experiments/train_stream_bundled.py --only sure dream
    .venv/bin/python experiments/train_stream_bundled.py --profile quick --set moments=8 --out runs/alike --no-ship

Same jobs, same generated rates, same plan, same seed, one worker: only the network differs, so what bundled ones are
worth against each other is about networks.  A quiet core takes about 20 minutes for `sure`, 4 to 6 for `dream`,
`tvw-rl` and `deepwave`, half an hour for `astgcn`, and hours for `ccrnn`, which takes most of the time.

Training runs are kept in OUT, and gone on with.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from commands import dovetail, trained
from stream_settings import DAY_S, JOBS, NETWORKS

from dovetail.schedulers.learned.checkpoint_files import both_paths
from dovetail.schedulers.learned.stream.checkpoint import BUNDLED


def words_of(kind: str, profile: str, assigned: list[str]) -> list[str]:
    """Of `dovetail train stream`; for each kind the same but for its name."""
    first, *others = JOBS
    words = ["--workload", first, "--mix", ",".join(others), "--duration", str(2 * DAY_S), "--network", kind]
    words += ["--profile", profile, "--workers", "1", "--set", "validation=2"]
    return [*words, *(word for each in assigned for word in ("--set", each))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=NETWORKS, metavar="KIND")
    parser.add_argument("--profile", default="full", help="of training (full)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the plan, for all of them")
    parser.add_argument("--seeds", type=int, default=20, help="sequences they are judged on (20)")
    parser.add_argument("--out", type=Path, default=Path("runs/bundled"))
    parser.add_argument("--no-ship", action="store_true", help="leave those that are shipped as they are")
    args = parser.parse_args()
    for kind in args.only:
        checkpoint = trained(args.out / kind, "stream", *words_of(kind, args.profile, args.set))
        dovetail("evaluate", str(checkpoint), "--seeds", str(args.seeds), "--workers", "1", "--write")
        for made, shipped in zip(both_paths(checkpoint), both_paths(BUNDLED / kind), strict=True):
            if not args.no_ship:
                shutil.copy(made, shipped)


if __name__ == "__main__":
    main()
