"""The `dovetail` command: one module per verb, of which only the chosen one is imported.

A verb's module offers `configure(parser)`, which adds its arguments, and `run(args)`, which returns
the exit code (`exit_codes`). A verb whose arguments depend on the kind of work also offers `family_of(arguments)`,
and its `configure` gets the answer (`options`). Standard output carries only results; all else goes to standard error.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from dovetail import __version__
from dovetail.cli.exit_codes import EXIT_BROKEN_PIPE, EXIT_ERROR, EXIT_INTERRUPTED
from dovetail.core import extras
from dovetail.core.errors import DovetailError, UnknownName

# verb -> (module, one line of help), in the order a newcomer needs them
VERBS: dict[str, tuple[str, str]] = {
    "demo": ("dovetail.cli.demo", "compare the schedulers on the bundled workload and write a report"),
    "compare": ("dovetail.cli.compare", "run several schedulers on the same workloads and compare them"),
    "simulate": ("dovetail.cli.simulate", "run one scheduler on one workload and keep the record"),
    "adapt": ("dovetail.cli.adapt", "watch a scheduler choose among compositions while work is running"),
    "report": ("dovetail.cli.report", "turn a record or comparison directory into one HTML file"),
    "export": ("dovetail.cli.export", "write a record in another tool's format, such as Perfetto's"),
    "explain": ("dovetail.cli.explain", "say why a job waited, from the reasons recorded"),
    "workload": ("dovetail.cli.workload", "describe, validate, generate or import a workload"),
    "train": ("dovetail.cli.train", "learn a scheduler for a workload"),
    "evaluate": ("dovetail.cli.evaluate", "compare a trained network with the heuristics on held-out sequences"),
    "tune": ("dovetail.cli.tune", "search a scheduler's parameters on training seeds"),
    "run": ("dovetail.cli.run", "replay a workload on a real engine and compare it with its simulation"),
    "autoscale": ("dovetail.cli.autoscale", "set the parallelism of a running Flink job, or say what it should be"),
    "calibrate": ("dovetail.cli.calibrate", "make a workload that is like a running job"),
    "up": ("dovetail.cli.up", "start an engine that runs real jobs on this machine"),
    "submit": ("dovetail.cli.submit", "give a job file to a running engine"),
    "status": ("dovetail.cli.status", "show a running engine and its jobs"),
    "cancel": ("dovetail.cli.cancel", "stop jobs of a running engine"),
    "forget": ("dovetail.cli.forget", "delete what a running engine keeps of ended jobs"),
    "swap": ("dovetail.cli.swap", "put another scheduler in charge of a running engine"),
    "drain": ("dovetail.cli.drain", "let a running engine finish its jobs and take no new ones"),
    "down": ("dovetail.cli.down", "end a running engine"),
    "list": ("dovetail.cli.list", "list the schedulers, or parts to make them of, and their parameters"),
    "doctor": ("dovetail.cli.doctor", "say which engines can be used here, and what is missing for the others"),
    "bench": ("dovetail.cli.bench", "measure the simulator's speed on this machine"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the console script exits with the returned code."""
    # The submodule `list` hides the built-in of that name in this file, hence the display.
    arguments = [*(sys.argv[1:] if argv is None else argv)]
    if sys.stdout is None:  # closed before we were started
        print("dovetail: error: standard output is closed; results have nowhere to go", file=sys.stderr)
        return EXIT_ERROR
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files, and what tasks return, may hold anything
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()  # here, so that a closed pipe is noticed while it can still be handled
        return code
    except DovetailError as error:
        return _fail(error)
    except KeyboardInterrupt:
        print("\ndovetail: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        # What the commands read and write they check themselves; this is standard output, or the machine.
        _drop_output()
        print(f"dovetail: error: {error}", file=sys.stderr)
        return EXIT_ERROR


def _dispatch(arguments: Sequence[str]) -> int:
    verb = arguments[0] if arguments else None
    if verb is None or verb.startswith("-"):
        parser = _top_parser()
        parser.parse_args(arguments)  # --help and --version end here
        parser.print_help(sys.stderr)
        return EXIT_ERROR
    if verb not in VERBS:
        raise UnknownName("command", verb, VERBS)
    module_name, help_line = VERBS[verb]
    try:
        module = import_module(module_name)
        parser = argparse.ArgumentParser(
            prog=f"dovetail {verb}",
            description=f"{help_line[0].upper()}{help_line[1:]}.",
            allow_abbrev=False,  # an abbreviation that works today would break with the next option
        )
        if hasattr(module, "family_of"):
            module.configure(parser, module.family_of(arguments[1:]))
        else:
            module.configure(parser)
        run: Callable[[argparse.Namespace], int] = module.run
        return run(parser.parse_args(arguments[1:]))
    except ModuleNotFoundError as error:
        missing = extras.explain(error, f"`dovetail {verb}`")
        if missing is None:
            raise
        raise missing from error


def _top_parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    commands = "\n".join(f"  {verb:<{width}}  {help_line}" for verb, (_, help_line) in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="dovetail",
        usage="dovetail <command> [options]",
        description="Schedulers that fit a workload: simulate, compare, explain.",
        epilog=f"commands:\n{commands}\n\n`dovetail <command> --help` shows the options of one command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dovetail {__version__}")
    return parser


def _drop_output() -> None:
    """The interpreter flushes stdout once more at exit; give it somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: DovetailError) -> int:
    print(f"dovetail: error: {error}", file=sys.stderr)
    return EXIT_ERROR
