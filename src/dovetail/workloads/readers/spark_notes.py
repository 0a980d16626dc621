"""What the person who imports Spark event logs should know about them, one sentence each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dovetail.workloads.readers.spark_files import FoundLogs

GB = 1e9
NAMES_SHOWN = 3

_COUNTED = (
    ("empty", "files of a rolling log are empty"),
    ("cut", "logs end in the middle of a line, as those of running or killed applications do; what came before counts"),
    ("unknown events", "events of kinds that are not known here were skipped"),
    ("incomplete", "jobs that did not succeed, or had not ended, were left out"),
    ("without tasks", "jobs had no task that succeeded and were left out"),
    ("jobs without start", "Spark jobs ended whose start is not in the log"),
    ("orphans", "tasks belong to no job that is known, as the log begins after it; they only keep slots busy"),
    ("failed", "tasks failed; their time is not among the durations"),
    ("killed", "tasks were killed; their time is not among the durations"),
    ("copies", "tasks were speculative copies; their time is not among the durations"),
    ("tried again", "stages failed at least once, and were tried again or given up"),
    ("unfinished stages", "stages of complete jobs were cancelled; they count with the tasks they had finished"),
    ("tasks twice", "tasks were reported twice, and count once"),
    ("backwards", "tasks ended before they began, by the clock of the driver; they take 0 s"),
    ("skipped", "skipped stages were resolved to those that wrote their shuffles"),
    ("skipped, of earlier jobs", "of these belong to earlier jobs, so that nothing is waited for"),
    ("skipped, several candidates", "of these could have been one of several stages; the latest was taken"),
    ("bridged", "parents of stages did not run at all; their own parents take their place"),
    ("parents not in the log", "parents of stages are not in the log, and are ignored"),
)


def notes_of(odd: Counter[str], found: FoundLogs, runs: int, kinds: int) -> Iterator[str]:
    tasks, read, shuffled = odd["tasks"], odd["input bytes"], odd["shuffled bytes"]
    yield (
        f"{odd['applications']} applications with {runs} jobs of {kinds} kinds and {tasks} tasks, "
        f"which read {read / GB:.3g} GB from files and shuffled {shuffled / GB:.3g} GB"
    )
    if found.passed_over:
        names = ", ".join(path.name for path in found.passed_over[:NAMES_SHOWN])
        more = " and others" if len(found.passed_over) > NAMES_SHOWN else ""
        yield f"{len(found.passed_over)} files that do not begin as event logs were passed over: {names}{more}"
    for key, words in _COUNTED:
        if odd[key]:
            yield f"{odd[key]} {words}"
