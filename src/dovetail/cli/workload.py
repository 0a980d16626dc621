"""`dovetail workload describe|validate|generate|import`: workloads as they are kept on disk, of every family.

What differs between the families is in `workload_dag`, `workload_elastic`, `workload_gpu` and `workload_stream`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import ConfigError, DovetailError, UnknownName

if TYPE_CHECKING:
    from dovetail.workloads.elastic_source import ElasticSource
    from dovetail.workloads.gpu_source import GpuSource
    from dovetail.workloads.readers.imported import Imported
    from dovetail.workloads.source import DagSource
    from dovetail.workloads.stream_rates import RecordedRates
    from dovetail.workloads.stream_source import StreamSource

_SOURCE_HELP = (
    "a bundled workload (tpch-like, tpch-spark, layered, chains, fork-joins, granularity, changing; oasis-small, "
    "oasis-paper; small, medium, large, each also -mixed, cloud-2023; small-1, -2, medium-1, -2, large-1, -2, "
    "nexmark-q1, -q2, -q3, -q5, -q8, -q11, shared, stream-layered; parameters as in layered:dags=10) "
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
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw a picture: .png, .svg or .pdf")
    dag = parser.add_argument_group("dag")
    dag.add_argument("--executors", type=int, help="cluster to give the load for (50)")
    dag.add_argument("--interval", type=float, help="seconds between jobs, for the load (25)")
    elastic = parser.add_argument_group("elastic")
    elastic.add_argument("--servers", type=int, help="hosts to give the load for, half of them for workers")
    elastic.add_argument("--slots", type=int, help="of the horizon")
    elastic.add_argument("--jobs", type=int, help="in the horizon, for the load; gpu: of a sequence")
    elastic.add_argument("--seed", type=seed, help="of the jobs that are drawn (0); gpu, too; stream: of the rates")
    _configure_rates(parser.add_argument_group("stream"))
    gpu = parser.add_argument_group("gpu")
    _configure_cluster(gpu)
    gpu.add_argument("--speeds", type=Path, metavar="FILE", help="speed model or measured throughputs: .json or .csv")
    gpu.add_argument("--beside", metavar="NAME|DIR", help="compare with: a workload, or a folder of the 2023 trace")


def _configure_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="workload directory")
    parser.add_argument("--limit", type=int, default=_FAULTS_SHOWN, help=f"faults to show, 0 = all ({_FAULTS_SHOWN})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")


def _configure_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", help=_SOURCE_HELP + "or a workload directory to draw jobs from")
    parser.add_argument(
        "--jobs", type=int, help="jobs in the sequence; dag: without it only the kinds of job are stored"
    )
    parser.add_argument(
        "--arrivals",
        help="dag: batch, poisson, or trace (a window of the recorded jobs); elastic: also uniform, bursts, or "
        "counts:file=FILE; poisson:span=0.5; gpu: poisson, diurnal, uniform, batch, trace; poisson:load=0.9",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the sequence (0)")
    dag = parser.add_argument_group("dag")
    dag.add_argument("--interval", type=float, help="poisson: mean seconds between jobs; gpu, too")
    dag.add_argument("--load", type=float, help="poisson: work as a share of what --executors can do (0.85); gpu, too")
    dag.add_argument("--executors", type=int, help="what --load and --deadlines refer to (50)")
    dag.add_argument("--weights", metavar="W,W,...", help="draw each job's weight from these")
    dag.add_argument("--deadlines", metavar="LOW,HIGH", help="due at arrival + factor x time alone on the cluster")
    elastic = parser.add_argument_group("elastic")
    elastic.add_argument("--slots", type=int, help="of the horizon")
    _configure_cluster(parser.add_argument_group("gpu"))
    _configure_rates(parser.add_argument_group("stream"))
    _configure_output(parser)


def _configure_import(parser: argparse.ArgumentParser) -> None:
    from dovetail.cli.workload_gpu import IMPORT as GPU_READERS
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
    alibaba.add_argument("--one-core", action="store_true", help="every task needs one core; spark-eventlog, too")
    spark = parser.add_argument_group("spark-eventlog")
    spark.add_argument(
        "--jobs-are", metavar="WHAT", help="sql-execution (and Spark jobs outside of SQL), job or application"
    )
    spark.add_argument("--application", metavar="ID", help="read this application only")
    spark.add_argument("--merge-runs", action="store_true", help="jobs of one description and shape are one kind")
    spark.add_argument("--samples", type=int, metavar="N", help="durations kept of a stage, wave and executor count")
    elastic = parser.add_argument_group("elastic-csv, arrival-counts, elastic-speeds")
    elastic.add_argument("--slot-s", type=float, metavar="S", help="length of a slot in seconds (1200)")
    elastic.add_argument("--slots", type=int, help="of the horizon, unless a command says otherwise")
    elastic.add_argument("--servers", type=int, help="hosts, unless a command says otherwise (20)")
    elastic.add_argument("--pattern", help="arrival-counts: which list of a JSON object")
    elastic.add_argument("--times", action="store_true", help="arrival-counts: a line is the time of an arrival in s")
    elastic.add_argument("--jobs-from", metavar="NAME", help="bundled elastic workload that jobs are drawn from")
    elastic.add_argument("--at", metavar="W,P", help="elastic-speeds: workers and servers of the speed taken (4,4)")
    gpu = parser.add_argument_group(", ".join(GPU_READERS))
    _configure_cluster(gpu)
    gpu.add_argument("--longest", type=float, metavar="S", help="leave out jobs that ran longer than so many seconds")
    gpu.add_argument(
        "--from", metavar="S|SHARE%", help="leave out jobs before: seconds after the first, or 60%% of them; rates, too"
    )
    gpu.add_argument("--to", metavar="S|SHARE%", help="the same for jobs from then on; rates, too")
    gpu.add_argument("--kind", help="what all jobs with GPUs train (drawn)")
    gpu.add_argument("--speeds", type=Path, metavar="FILE", help="speeds that kinds are known by (the shipped ones)")
    gpu.add_argument("--kinds-seed", type=seed, metavar="N", help="of kinds and estimates that are drawn (0)")
    gpu.add_argument("--error-sigma", type=float, metavar="S", help="of estimates that nobody made (0.5)")
    gpu.add_argument("--cpus-per-gpu", type=float, metavar="N", help="where the trace does not say (4)")
    gpu.add_argument("--memory-per-gpu", type=float, metavar="GB", help="where the trace does not say (32)")
    rates = parser.add_argument_group("rates", "--from and --to may also be dates.")
    rates.add_argument("--bin-s", type=float, metavar="S", help="add counts up to bins of so many seconds (60)")
    rates.add_argument("--step-s", type=float, metavar="S", help="seconds of a count, in a file without times (1)")
    rates.add_argument("--start", metavar="DATE", help="of the first count, in a file without times (a Monday, 0:00)")
    rates.add_argument("--time-column", metavar="NAME", help="where times are (the only column of dates)")
    rates.add_argument("--count-column", metavar="NAME", help="where counts are (the only other column of numbers)")
    stream = parser.add_argument_group("stream-alibaba")
    stream.add_argument("--jobs", metavar="NAME,...|N", help="jobs of the trace, or how many of them to draw (1)")
    stream.add_argument("--operators", metavar="LOW,HIGH", help="of jobs that are drawn (4,40)")
    stream.add_argument("--seed", type=seed, metavar="N", help="of jobs that are drawn (0)")
    stream.add_argument("--rate", type=float, metavar="N", help="records a second of each job, on average (1000)")
    stream.add_argument("--rates", metavar="NAME|DIR", help="how they vary (web)")
    stream.add_argument("--demand", type=float, metavar="N", help="busy instances of the busiest operator (4.5)")
    stream.add_argument("--runtime", metavar="KIND", help="warm, cold or python: what a rescale costs (warm)")
    _configure_output(parser)


def _configure_cluster(parser: Any) -> None:
    parser.add_argument(
        "--cluster",
        metavar="NAME|FILE",
        help="a name, with what differs (small:machines=12,kinds=[v100x4,t4x4],rack=4), or a .csv or .toml file",
    )


def _configure_rates(parser: Any) -> None:
    parser.add_argument("--rates", metavar="NAME|DIR", help="instead of the workload's: web, step:low=0.5, a directory")
    parser.add_argument("--duration", type=float, metavar="S", help="of a sequence, in seconds (that of the workload)")


def _configure_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to make")
    parser.add_argument("--force", action="store_true", help="replace a workload that is there already")
    parser.add_argument("--json", action="store_true", help="print the manifest")


def _families() -> dict[str, Any]:
    """What differs between them, by name."""
    from dovetail.cli import workload_dag, workload_elastic, workload_gpu, workload_stream

    return {"dag": workload_dag, "elastic": workload_elastic, "gpu": workload_gpu, "stream": workload_stream}


def _describe(args: argparse.Namespace) -> int:
    from dovetail.workloads.family import workload_family

    if args.plot is not None:
        _require_plot_target(args.plot)
    family = workload_family(args.workload)
    families = _families()
    _own_options(args, family, {name: each.DESCRIBE for name, each in families.items()})
    summary, text = families[family].describe(args)
    if args.plot is not None:
        print(f"dovetail: wrote {args.plot}", file=sys.stderr)
    print(json.dumps(summary, indent=2, ensure_ascii=False) if args.json else text)
    return 0


def _validate(args: argparse.Namespace) -> int:
    from dovetail.workloads.readers.directory import family_of
    from dovetail.workloads.readers.elastic_native import find_elastic_faults
    from dovetail.workloads.readers.gpu_native import find_gpu_faults
    from dovetail.workloads.readers.native import find_faults
    from dovetail.workloads.readers.stream_native import find_stream_faults

    if not args.directory.is_dir():
        what = "not a directory" if args.directory.exists() else "no such directory"
        raise DovetailError(f"workload {args.directory}: {what}")
    if args.limit < 0:
        raise ConfigError(f"--limit is {args.limit}; expected 0 (all) or more")
    finders = {"elastic": find_elastic_faults, "gpu": find_gpu_faults, "stream": find_stream_faults}
    faults = finders.get(family_of(args.directory) or "", find_faults)(args.directory)
    warnings = [] if faults else _warnings(args.directory)
    shown = faults if args.limit == 0 else faults[: args.limit]
    if args.json:
        fields = ("file", "row", "field", "problem", "expected")
        plain = [{name: getattr(fault, name) for name in fields} for fault in shown]
        facts = {"schema": 1, "valid": not faults, "count": len(faults), "faults": plain, "warnings": warnings}
        print(json.dumps(facts, indent=2))
    elif not faults:
        for text in warnings:
            print(f"dovetail: warning: {text}", file=sys.stderr)
        print(f"{args.directory}: valid")
    else:
        print("\n".join(str(fault) for fault in shown))
    if not faults:
        return 0
    more = len(faults) - len(shown)
    hidden = f", {more} of them not shown (--limit 0 shows all)" if more else ""
    raise DovetailError(f"{args.directory} has {len(faults)} {_plural(len(faults), 'fault')}{hidden}")


def _warnings(directory: Path) -> list[str]:
    """What is allowed, and hardly meant."""
    from dovetail.workloads.elastic_alone import never_fit
    from dovetail.workloads.readers.directory import family_of
    from dovetail.workloads.readers.elastic_native import read_elastic

    return never_fit(read_elastic(directory)) if family_of(directory) == "elastic" else []


def _generate(args: argparse.Namespace) -> int:
    from dovetail.workloads.family import workload_family
    from dovetail.workloads.store import require_target

    require_target(args.out, force=args.force)
    family = workload_family(args.workload)
    families = _families()
    _own_options(args, family, {name: each.GENERATE for name, each in families.items()})
    source, made = families[family].generate(args)
    return _write(source, made, args)


def _import(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from dovetail.workloads.readers import READERS
    from dovetail.workloads.readers.directory import family_of
    from dovetail.workloads.store import require_target

    require_target(args.out, force=args.force)
    if args.source not in READERS:
        raise UnknownName("source", args.source, READERS)
    families = _families()
    given = _reader_options(args, {name: own for each in families.values() for name, own in each.IMPORT.items()})
    if not args.path.exists():
        raise DovetailError(f"{args.path}: no such file or folder")
    family = next((name for name, each in families.items() if args.source in each.IMPORT), None)
    if args.source == "dovetail":
        family = family_of(args.path)
    imported: Imported[Any] = families.get(family or "", families["dag"]).read_foreign(args)
    for note in imported.notes:
        print(f"dovetail: note: {note}", file=sys.stderr)
    made: dict[str, Any] = {"command": "import", "source": args.source, "path": args.path.name, **given}
    source = imported.source if args.name is None else replace(imported.source, name=args.name)
    return _write(source, {**made, "notes": list(imported.notes)}, args)


def _own_options(args: argparse.Namespace, family: str, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Fills in the defaults of the family's own options; those of another family are refused."""
    for other, names in options.items():
        for name in names:
            if name not in options[family] and getattr(args, name) is not None:
                raise ConfigError(f"--{name.replace('_', '-')} is for {other} workloads; {args.workload} is {family}")
    for name, default in options[family].items():
        if getattr(args, name) is None:
            setattr(args, name, default)


def _reader_options(args: argparse.Namespace, allowed: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Options of the reader that were given; those of another reader are refused."""
    given = {}
    for name in sorted({name for names in allowed.values() for name in names}):
        value = getattr(args, name)
        if value is None or value is False:
            continue
        if name not in allowed.get(args.source, ()):
            raise ConfigError(f"--{name.replace('_', '-')} means nothing to {args.source}")
        given[name] = value
    return given


def _write(
    source: DagSource | ElasticSource | GpuSource | StreamSource | RecordedRates,
    made: dict[str, Any],
    args: argparse.Namespace,
) -> int:
    from dovetail.workloads.elastic_source import ElasticSource
    from dovetail.workloads.elastic_store import write_elastic
    from dovetail.workloads.gpu_source import GpuSource
    from dovetail.workloads.gpu_store import write_gpu
    from dovetail.workloads.source import DagSource
    from dovetail.workloads.store import write_source
    from dovetail.workloads.stream_store import write_stream

    if isinstance(source, ElasticSource):
        manifest = write_elastic(source, args.out, provenance=made, force=args.force)
    elif isinstance(source, GpuSource):
        manifest = write_gpu(source, args.out, provenance=made, force=args.force)
    elif isinstance(source, DagSource):
        manifest = write_source(source, args.out, provenance=made, force=args.force)
    else:
        manifest = write_stream(source, args.out, provenance=made, force=args.force)
    if args.json:
        print(json.dumps(manifest, indent=2, ensure_ascii=False))
        return 0
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in manifest["counts"].items())
    print(f"wrote {args.out}: {counts or 'jobs are drawn'}")
    return 0


def _require_plot_target(path: Path) -> None:
    if path.suffix.lower() not in _PLOT_KINDS:
        raise ConfigError(f"--plot {path}: the name must end in {', '.join(_PLOT_KINDS)}")
    if not path.parent.is_dir():
        raise DovetailError(f"--plot {path}: no such directory {path.parent}")


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
