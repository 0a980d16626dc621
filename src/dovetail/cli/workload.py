"""`dovetail workload describe|validate|generate|import`: workloads as they are kept on disk."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import ConfigError, DovetailError, UnknownName

if TYPE_CHECKING:
    from dovetail.workloads.arrivals import Arrivals, Deadlines
    from dovetail.workloads.readers.imported import Imported
    from dovetail.workloads.source import DagSource

_SOURCE_HELP = (
    "a bundled workload (tpch-like, layered, chains, fork-joins, granularity, changing; parameters as in "
    "layered:dags=10) "
)
_PLOT_KINDS = (".png", ".svg", ".pdf")
_FAULTS_SHOWN = 50


def seed(text: str) -> int:
    """A seed as `compare` takes it: 0 or more, and not beyond what a table can hold."""
    value = int(text)
    if not 0 <= value <= 2**62:
        raise argparse.ArgumentTypeError(f"{text} is not a seed; expected a whole number from 0 to 2 ** 62")
    return value


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _configure_describe(_action(actions, "describe", "say what a workload is like"))
    _configure_validate(_action(actions, "validate", "list every fault of a workload directory"))
    _configure_generate(_action(actions, "generate", "write a job sequence of a workload"))
    _configure_import(_action(actions, "import", "turn a foreign trace into a workload directory"))


def run(args: argparse.Namespace) -> int:
    action = {"describe": _describe, "validate": _validate, "generate": _generate, "import": _import}
    return action[args.action](args)


def _action(actions: Any, name: str, help_line: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=help_line, description=f"{help_line[0].upper()}{help_line[1:]}.", allow_abbrev=False
    )
    return parser


def _configure_describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", help=_SOURCE_HELP + "or a workload directory")
    parser.add_argument("--executors", type=int, default=50, help="cluster to give the load for (50)")
    parser.add_argument("--interval", type=float, default=25.0, help="seconds between jobs, for the load (25)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw a picture: .png, .svg or .pdf")


def _configure_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="workload directory")
    parser.add_argument("--limit", type=int, default=_FAULTS_SHOWN, help=f"faults to show, 0 = all ({_FAULTS_SHOWN})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")


def _configure_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", help=_SOURCE_HELP + "or a workload directory to draw jobs from")
    parser.add_argument("--jobs", type=int, help="jobs in the sequence; without it only the kinds of job are stored")
    parser.add_argument("--arrivals", help="batch, poisson, or trace (a window of the recorded jobs)")
    parser.add_argument("--interval", type=float, help="poisson: mean seconds between jobs")
    parser.add_argument("--load", type=float, help="poisson: work as a share of what --executors can do (0.85)")
    parser.add_argument("--executors", type=int, default=50, help="what --load and --deadlines refer to (50)")
    parser.add_argument("--seed", type=seed, default=0, help="of the sequence (0)")
    parser.add_argument("--weights", metavar="W,W,...", help="draw each job's weight from these")
    parser.add_argument("--deadlines", metavar="LOW,HIGH", help="due at arrival + factor x time alone on the cluster")
    _configure_output(parser)


def _configure_import(parser: argparse.ArgumentParser) -> None:
    from dovetail.workloads.readers import READERS

    width = max(map(len, READERS))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "sources:\n" + "\n".join(f"  {name:<{width}}  {what}" for name, what in READERS.items())
    parser.add_argument("source", help=f"what to read: {', '.join(READERS)}")
    parser.add_argument("path", type=Path, help="file or folder to read")
    parser.add_argument("--name", help="name of the workload (that of the source)")
    tpch = parser.add_argument_group("tpch")
    tpch.add_argument("--memory-seed", type=seed, help="draw memory demands from (0, 1] with this seed")
    alibaba = parser.add_argument_group("alibaba2018")
    alibaba.add_argument("--strict", action="store_true", help="missing parents and unfinished jobs are faults")
    alibaba.add_argument("--skip-faulty", action="store_true", help="leave out jobs that have faults")
    alibaba.add_argument("--one-core", action="store_true", help="every task needs one core")
    _configure_output(parser)


def _configure_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to make")
    parser.add_argument("--force", action="store_true", help="replace a workload that is there already")
    parser.add_argument("--json", action="store_true", help="print the manifest")


def _describe(args: argparse.Namespace) -> int:
    from dovetail.workloads.describe import as_text, describe
    from dovetail.workloads.source import open_source

    if args.plot is not None:
        _require_plot_target(args.plot)
    source = open_source(args.workload)
    summary = describe(source, executors=args.executors, interval_s=args.interval)
    if args.plot is not None:
        from dovetail.workloads.plot import save_plot

        save_plot(source, args.plot)
        print(f"dovetail: wrote {args.plot}", file=sys.stderr)
    print(json.dumps(summary, indent=2, ensure_ascii=False) if args.json else as_text(summary))
    return 0


def _validate(args: argparse.Namespace) -> int:
    from dovetail.workloads.readers.native import find_faults

    if not args.directory.is_dir():
        what = "not a directory" if args.directory.exists() else "no such directory"
        raise DovetailError(f"workload {args.directory}: {what}")
    if args.limit < 0:
        raise ConfigError(f"--limit is {args.limit}; expected 0 (all) or more")
    faults = find_faults(args.directory)
    shown = faults if args.limit == 0 else faults[: args.limit]
    if args.json:
        fields = ("file", "row", "field", "problem", "expected")
        plain = [{name: getattr(fault, name) for name in fields} for fault in shown]
        print(json.dumps({"schema": 1, "valid": not faults, "count": len(faults), "faults": plain}, indent=2))
    elif not faults:
        print(f"{args.directory}: valid")
    else:
        print("\n".join(str(fault) for fault in shown))
    if not faults:
        return 0
    more = len(faults) - len(shown)
    hidden = f", {more} of them not shown (--limit 0 shows all)" if more else ""
    raise DovetailError(f"{args.directory} has {len(faults)} {_plural(len(faults), 'fault')}{hidden}")


def _generate(args: argparse.Namespace) -> int:
    from dovetail.core.config import to_plain
    from dovetail.core.seeds import SeedTree
    from dovetail.workloads.source import DagSource, open_source
    from dovetail.workloads.store import require_target

    require_target(args.out, force=args.force)
    arrivals, weights, deadlines = _arrivals(args), _weights(args.weights), _deadlines(args)
    source = open_source(args.workload)
    made: dict[str, Any] = {"command": "generate", "source": source.name}
    if args.jobs is not None:
        workload = source.sequence(
            args.jobs, arrivals, SeedTree(args.seed), weights=weights, deadlines=deadlines
        ).compact()
        source = DagSource(source.name, workload.catalogue, workload)
        made |= {
            "jobs": args.jobs,
            "seed": args.seed,
            "arrivals": to_plain(arrivals),
            "weights": weights,
            "deadlines": to_plain(deadlines),
        }
    return _write(source, made, args)


def _import(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from dovetail.workloads.store import require_target

    require_target(args.out, force=args.force)
    imported = _read_foreign(args)
    for note in imported.notes:
        print(f"dovetail: note: {note}", file=sys.stderr)
    made: dict[str, Any] = {"command": "import", "source": args.source, "path": args.path.name}
    made |= {name: getattr(args, name) for name in _reader_options(args)}
    source = imported.source if args.name is None else replace(imported.source, name=args.name)
    return _write(source, {**made, "notes": list(imported.notes)}, args)


def _read_foreign(args: argparse.Namespace) -> Imported:
    from dovetail.workloads.readers import READERS

    if args.source not in READERS:
        raise UnknownName("source", args.source, READERS)
    allowed = {"tpch": ("memory_seed",), "alibaba2018": ("strict", "skip_faulty", "one_core")}
    for option in _reader_options(args):
        if option not in allowed.get(args.source, ()):
            raise ConfigError(f"--{option.replace('_', '-')} means nothing to {args.source}")
    if not args.path.exists():
        raise DovetailError(f"{args.path}: no such file or folder")
    if args.source == "tpch":
        from dovetail.workloads.readers.tpch import read_tpch

        return read_tpch(args.path, memory_seed=args.memory_seed)
    if args.source == "alibaba2018":
        from dovetail.workloads.readers.alibaba2018 import Alibaba2018Options, read_alibaba2018

        return read_alibaba2018(args.path, Alibaba2018Options(args.strict, args.skip_faulty, args.one_core))
    from dovetail.workloads.readers.native import read_edited

    return read_edited(args.path)


def _reader_options(args: argparse.Namespace) -> list[str]:
    """Options of a reader that were given."""
    given = [name for name in ("strict", "skip_faulty", "one_core") if getattr(args, name)]
    return given if args.memory_seed is None else ["memory_seed", *given]


def _write(source: DagSource, made: dict[str, Any], args: argparse.Namespace) -> int:
    from dovetail.workloads.store import write_source

    manifest = write_source(source, args.out, provenance=made, force=args.force)
    if args.json:
        print(json.dumps(manifest, indent=2, ensure_ascii=False))
        return 0
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in manifest["counts"].items())
    print(f"wrote {args.out}: {counts}")
    return 0


def _arrivals(args: argparse.Namespace) -> Arrivals:
    from dovetail.workloads.arrivals import Arrivals

    timed = args.interval is not None or args.load is not None
    if args.jobs is None and (timed or args.arrivals or args.weights or args.deadlines):
        raise ConfigError("--arrivals, --interval, --load, --weights and --deadlines need --jobs")
    if args.executors < 1:
        raise ConfigError(f"--executors is {args.executors}; expected at least 1")
    kind = args.arrivals or ("poisson" if timed else "batch")
    return Arrivals(kind, args.interval, args.load, args.executors if args.load is not None else None)


def _weights(text: str | None) -> tuple[float, ...] | None:
    return None if text is None else _numbers("--weights", text)


def _deadlines(args: argparse.Namespace) -> Deadlines | None:
    from dovetail.workloads.arrivals import Deadlines

    if args.deadlines is None:
        return None
    factors = _numbers("--deadlines", args.deadlines)
    if len(factors) != 2:
        raise ConfigError(f"--deadlines: two factors LOW,HIGH are needed, not {args.deadlines!r}")
    return Deadlines(factors[0], factors[1], args.executors)


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"{option}: numbers between commas are needed, not {text!r}") from None


def _require_plot_target(path: Path) -> None:
    if path.suffix.lower() not in _PLOT_KINDS:
        raise ConfigError(f"--plot {path}: the name must end in {', '.join(_PLOT_KINDS)}")
    if not path.parent.is_dir():
        raise DovetailError(f"--plot {path}: no such directory {path.parent}")


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
