"""`dovetail export`: records, or a trained network, in another tool's format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dovetail.core.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="DIR|NET", help="records, as `--out` made them; or, for --onnx, a network")
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument(
        "--perfetto",
        type=Path,
        metavar="FILE",
        help="write a trace that ui.perfetto.dev opens; compressed if the name ends in .gz",
    )
    form.add_argument("--onnx", type=Path, metavar="FILE", help="write the network as an ONNX graph, and check it")
    parser.add_argument(
        "--run",
        action="append",
        metavar="RUN",
        help="only this run; may be given again (default: all kept in full)",
    )


def run(args: argparse.Namespace) -> int:
    return _onnx(args) if args.onnx is not None else _perfetto(args)


def _perfetto(args: argparse.Namespace) -> int:
    from dovetail.core.errors import RecordError
    from dovetail.records import read_records
    from dovetail.records.perfetto import write_perfetto

    records = read_records(args.what)
    if not records.runs:
        raise RecordError(f"{args.what}: no run was kept in full, so there is nothing to export")
    chosen = [records.find(run=name) for name in args.run] if args.run else list(records.runs)
    runs = ((records.summary.label(entry.entry), records.run(entry.run)) for entry in chosen)
    events = write_perfetto(runs, args.perfetto)
    print(args.perfetto)
    print(f"dovetail: {events:,} events; open the file at https://ui.perfetto.dev", file=sys.stderr)
    return 0


def _onnx(args: argparse.Namespace) -> int:
    from dovetail.core.extras import require
    from dovetail.schedulers.learned.decima.checkpoint import load_checkpoint
    from dovetail.schedulers.learned.decima.scheduler import find_checkpoint

    if args.run:
        raise ConfigError("--run chooses among records; a network has none")
    if not args.onnx.parent.is_dir():
        raise ConfigError(f"{args.onnx}: no such directory to write to")
    if args.onnx.is_dir():
        raise ConfigError(f"{args.onnx}: a directory; expected the name of a file")
    checkpoint = load_checkpoint(find_checkpoint(args.what))
    require("torch", "`dovetail export --onnx`")
    from dovetail.training.onnx_export import export_onnx, sample_input

    error = export_onnx(checkpoint, args.onnx, sample_input(checkpoint.shape))
    print(args.onnx)
    print(f"dovetail: run by onnxruntime, its scores differ from torch's by {error:.1g} at most", file=sys.stderr)
    return 0
