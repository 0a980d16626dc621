"""The lines in which Spark's side tells what it saw.  See `SteeringHook.java`, which writes them."""

from __future__ import annotations

from dovetail.execution.engines.spark.errors import SparkError
from dovetail.execution.engines.spark.messages import (
    Event,
    JobEnded,
    JobStarted,
    Look,
    Names,
    StageCompleted,
    StageKnown,
    StageSubmitted,
    TasksEnded,
    TaskSet,
)


def parse_look(text: str) -> Look:
    """One look.  A line of another form means that the two sides are not of the same version: a bug, said as such."""
    events: list[Event] = []
    stages: dict[int, list[StageKnown]] = {}
    sets: list[TaskSet] = []
    time_s, slots, expired = 0.0, 0, False
    for line in text.splitlines():
        words = line.split("\t")
        kind = words[0]
        try:
            if kind == "job":
                stages[int(words[2])] = []
                events.append(JobStarted(int(words[1]) / 1e3, int(words[2]), Names(*words[3:6]), ()))
            elif kind == "stage":
                parents = tuple(map(int, words[5].split(","))) if words[5] else ()
                known = StageKnown(int(words[2]), int(words[3]), words[4] == "1", parents, words[6])
                stages[int(words[1])].append(known)
            elif kind == "job_end":
                events.append(JobEnded(int(words[1]) / 1e3, int(words[2])))
            elif kind == "submitted":
                events.append(StageSubmitted(int(words[1]), int(words[2])))
            elif kind == "completed":
                events.append(StageCompleted(int(words[1]), words[2] == "1"))
            elif kind == "ended":
                events.append(TasksEnded(int(words[1]), int(words[2]), int(words[3]) / 1e3))
            elif kind == "set":
                stage, priority, running, finished, tasks = (int(word) for word in words[1:6])
                sets.append(TaskSet(stage, priority, running, finished, tasks, Names(*words[6:9])))
            elif kind == "now":
                time_s, slots, expired = int(words[1]) / 1e3, int(words[2]), words[3] == "1"
            elif line:
                raise ValueError("an unknown kind of line")
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise SparkError(f"Spark's side said {line!r}, which is not understood ({error})") from error
    whole = (
        event._replace(stages=tuple(stages[event.job])) if isinstance(event, JobStarted) else event for event in events
    )
    return Look(time_s, slots, expired, tuple(sets), tuple(whole))
