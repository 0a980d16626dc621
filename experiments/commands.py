"""What the experiments that train have in common: `dovetail` as a command, and tables that say how they were made."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from dovetail.training.run_directory import STATE

STATE_OF_DAG = "state.pt"  # `dag_run.STATE`, which cannot be imported without torch
RESULTS = Path(__file__).parent / "results"


def dovetail(*words: str) -> Any:
    """Run a command with `--json`, show what it says on the way, and return what it prints."""
    print(f"$ dovetail {shlex.join(words)}", file=sys.stderr)
    command = [sys.executable, "-m", "dovetail", *words, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"dovetail {shlex.join(words)}: exit code {done.returncode}; what is complete is kept")
    return json.loads(done.stdout)


def trained(out: Path, family: str, *words: str) -> Path:
    """The checkpoint of a training run in `out`, which is made, finished or just found there."""
    state = ["--resume"] if any((out / name).exists() for name in (STATE, STATE_OF_DAG)) else []
    dovetail("train", family, *words, "--out", str(out), *state)
    return out / "checkpoint"


def rows_by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of a comparison by scheduler; a network by the folder of its checkpoint."""
    found = {}
    for row in document["rows"]:
        params = row["params"] or {}
        path = params.get("checkpoint")
        rest = ",".join(f"{key}={value}" for key, value in params.items() if key != "checkpoint")
        name = row["scheduler"] + (f":{rest}" if rest else "")
        found[f"{name} ({Path(path).parent.name if '/' in path else path})" if path else name] = row
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def publish(name: str, title: str, text: str, *, write: bool) -> None:
    """Print the result and, if it is to be written, put it where it is committed, with the command and the date."""
    print(text)
    if not write:
        return
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.md"
    words = ["experiments/" + Path(sys.argv[0]).name, *sys.argv[1:]]
    file.write_text(
        f"# {title}\n\n`.venv/bin/python {shlex.join(words)}`, {date.today()}\n\n{text}\n", encoding="utf-8"
    )
    print(f"written to {file}", file=sys.stderr)
