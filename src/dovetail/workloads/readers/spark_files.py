"""Which files a Spark event log is made of.

- One file for an application: `app-20261119-0001`, with the attempt and the codec behind it, `.inprogress` at the end
  while it is written.
- A rolling directory for an application: `eventlog_v2_<app>` with `events_1_<app>`, `events_2_<app>`, ..., read in
  this order, and an empty `appstatus_<app>`.  Where there is a `.compact`, it stands for all files up to its number.
- A folder of such files and directories: all its applications.  Hidden files and checksums are passed over, and so
  are files that do not begin as an event log does, which are counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dovetail.core.delimited import refusal
from dovetail.workloads.readers.spark_codecs import EXPECTED, CutShort, read_pieces

ROLLING = "eventlog_v2_"
IN_PROGRESS = ".inprogress"
COMPACT = ".compact"
BEGINNING = b'{"Event":"'

_EVENTS = re.compile(r"events_(\d+)_.+")


@dataclass(frozen=True)
class LogFiles:
    """The files of one application, in the order in which they were written."""

    path: Path  # what they are known by: the file, or the rolling directory
    parts: tuple[Path, ...]


@dataclass(frozen=True)
class FoundLogs:
    logs: tuple[LogFiles, ...]
    passed_over: tuple[Path, ...]  # files that are something else


def find_logs(path: Path) -> FoundLogs:
    """The event logs at this path, which may be a file, a rolling directory, or a folder of both."""
    if not path.is_dir():
        return FoundLogs((LogFiles(path, (path,)),), ())
    if _is_rolling(path):
        return FoundLogs((_rolled(path),), ())
    logs, others = [], []
    for entry in sorted(path.iterdir()):
        if entry.name.startswith((".", "_", "appstatus_")) or entry.suffix == ".crc":
            continue
        if entry.is_dir():
            if _is_rolling(entry):
                logs.append(_rolled(entry))
        elif _begins_like_a_log(entry):
            logs.append(LogFiles(entry, (entry,)))
        else:
            others.append(entry)
    if not logs:
        raise refusal(path, None, "no event logs in this folder", f"{EXPECTED}, or rolling directories {ROLLING}*")
    return FoundLogs(tuple(logs), tuple(others))


def _is_rolling(folder: Path) -> bool:
    return folder.name.startswith(ROLLING) or any(_EVENTS.fullmatch(entry.name) for entry in folder.iterdir())


def _rolled(folder: Path) -> LogFiles:
    numbered = []
    for entry in folder.iterdir():
        found = _EVENTS.fullmatch(entry.name)
        if found and entry.is_file() and entry.suffix != ".crc":
            numbered.append((int(found[1]), not entry.name.endswith(COMPACT), entry))
    if not numbered:
        raise refusal(folder, None, "no files of events in this rolling directory", "events_1_<application> and so on")
    numbered.sort()
    last = max((number for number, whole, _ in numbered if not whole), default=-1)
    kept = [entry for number, whole, entry in numbered if number > last or (number == last and not whole)]
    return LogFiles(folder, tuple(kept))


def _begins_like_a_log(path: Path) -> bool:
    try:
        first = next(read_pieces(path), b"")
    except CutShort:
        return False
    return first.lstrip().replace(b" ", b"", 1).startswith(BEGINNING)
