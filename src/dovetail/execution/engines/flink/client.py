"""Flink's REST, asked and understood.  Nothing here decides anything."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.flink.errors import FlinkError, FlinkRefused, FlinkUnreachable
from dovetail.execution.engines.flink.job import FlinkJob, JobLine, parse_job, parse_jobs
from dovetail.execution.engines.flink.metrics import Reading, parse_names, parse_reading, wanted_names
from dovetail.execution.engines.flink.rescales import Rescale, parse_newest, parse_rescale, running_since_ms

TIMEOUT_S = 10.0
RETRIES, RETRY_S = 2, 0.3  # of a question that was not answered, before it counts as an outage


class Cluster(NamedTuple):
    version: str
    slots: int
    free_slots: int


class FlinkClient:
    """`url` is the job manager's, such as http://localhost:8081."""

    def __init__(self, url: str, timeout_s: float = TIMEOUT_S) -> None:
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._names: dict[tuple[str, float], list[str]] = {}  # of metrics, by vertex and graph
        self._keeps_rescales = True

    def check(self) -> Cluster:
        """What is there; an error if it is no Flink, or nobody answers."""
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"--flink {self.url}; expected the address of a job manager, as in http://localhost:8081")
        try:
            found = self.cluster()
        except FlinkUnreachable as error:
            raise FlinkUnreachable(
                f"no Flink can be reached at {self.url} ({error}); expected the REST address of a running job manager"
            ) from error
        except FlinkError as error:
            raise FlinkError(
                f"{self.url} is no Flink ({error}); expected the REST address of a job manager, often port 8081"
            ) from error
        return found

    def cluster(self) -> Cluster:
        answer = self._get("/overview")
        try:
            version = str(answer["flink-version"])
            return Cluster(version, int(answer["slots-total"]), int(answer["slots-available"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FlinkError("/overview is not what Flink answers") from error

    def setting(self, key: str) -> str | None:
        """Of the job manager; None: as Flink has it by default, or it does not tell."""
        try:
            answer = self._get("/jobmanager/config")
            return next((str(one["value"]) for one in answer if one["key"] == key), None)
        except (FlinkRefused, KeyError, TypeError):
            return None

    def jobs(self) -> tuple[JobLine, ...]:
        return parse_jobs(self._get("/jobs/overview"))

    def job(self, job_id: str) -> FlinkJob:
        return parse_job(self._get(f"/jobs/{job_id}"))

    def readings(self, job: FlinkJob) -> dict[str, Reading]:
        """By vertex."""
        found = {}
        for number, vertex in enumerate(job.vertices):
            path = f"/jobs/{job.job_id}/vertices/{vertex.vertex_id}/subtasks/metrics"
            source = number in job.sources
            key = (vertex.vertex_id, job.created_ms)
            names = self._names.get(key)
            answer = self._metrics(path, names) if names else None
            if not answer:  # a new graph, or metrics that came or went
                names = wanted_names(parse_names(self._get(path)), source)
                answer = self._metrics(path, names)
                self._names[key] = names
            found[vertex.vertex_id] = parse_reading(answer, source)
        return found

    def forget_names(self) -> None:
        """Metrics appear one after the other while a job starts, so what there is is looked at anew."""
        self._names.clear()

    def requirements(self, job_id: str) -> dict[str, tuple[int, int]]:
        """Fewest and most instances that were asked for, by vertex."""
        answer = self._get(f"/jobs/{job_id}/resource-requirements")
        try:
            return {
                str(vertex): (int(one["parallelism"]["lowerBound"]), int(one["parallelism"]["upperBound"]))
                for vertex, one in answer.items()
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FlinkError("resource requirements are not what Flink answers") from error

    def ask(self, job_id: str, wanted: Mapping[str, int]) -> None:
        """So many instances for every vertex.  Flink gives fewer, and does not say so, where there are no slots."""
        body = {vertex: {"parallelism": {"lowerBound": 1, "upperBound": many}} for vertex, many in wanted.items()}
        self._call("PUT", f"/jobs/{job_id}/resource-requirements", body)

    def newest_rescale(self, job_id: str) -> Rescale | None:
        """None where Flink keeps no history, or there was none."""
        if not self._keeps_rescales:
            return None
        try:
            newest = parse_newest(self._get(f"/jobs/{job_id}/rescales/history"))
            return None if newest is None else parse_rescale(self._get(f"/jobs/{job_id}/rescales/details/{newest}"))
        except FlinkRefused:
            self._keeps_rescales = False
            return None
        except FlinkUnreachable:  # if that is so, whoever asks for more will notice
            return None

    def running_since_ms(self, job: FlinkJob) -> float:
        """When the last subtask of this graph began to run; nan while one does not."""
        paths = (f"/jobs/{job.job_id}/vertices/{vertex.vertex_id}" for vertex in job.vertices)
        return running_since_ms(self._get(path) for path in paths)

    def checkpoint_s(self, job_id: str) -> float:
        """Between two checkpoints; 0: there are none."""
        try:
            interval_ms = float(self._get(f"/jobs/{job_id}/checkpoints/config")["interval"])
        except (FlinkRefused, KeyError, TypeError, ValueError):
            return 0.0
        return interval_ms / 1000.0 if 0.0 < interval_ms < 1e15 else 0.0

    def state_bytes(self, job_id: str) -> dict[str, float]:
        """Of the newest checkpoint, by vertex; empty: there is none yet."""
        try:
            newest = self._get(f"/jobs/{job_id}/checkpoints")["latest"]["completed"]
            if newest is None:
                return {}
            tasks = self._get(f"/jobs/{job_id}/checkpoints/details/{newest['id']}")["tasks"]
            return {str(vertex): float(task["state_size"]) for vertex, task in tasks.items()}
        except (FlinkRefused, KeyError, TypeError, ValueError):
            return {}

    def _metrics(self, path: str, names: Sequence[str]) -> Any:
        query = urllib.parse.urlencode({"get": ",".join(names), "agg": "sum,max"})
        return self._get(f"{path}?{query}") if names else []

    def _get(self, path: str) -> Any:
        for attempt in range(RETRIES):
            try:
                return self._call("GET", path)
            except FlinkUnreachable:
                time.sleep(RETRY_S * (attempt + 1))
        return self._call("GET", path)

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            said = _gist(error.read())
            if error.code in (502, 503, 504) or (error.code == 500 and method == "GET"):  # as while a job is put away
                raise FlinkUnreachable(f"{path}: {error.code} {said}") from error
            raise FlinkRefused(f"{path}: {error.code} {said}") from error
        except (http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise FlinkUnreachable(f"{path}: {reason}") from error
        try:
            return json.loads(text)
        except ValueError as error:
            raise FlinkError(f"{path}: answered with {text[:60]!r}, which is no JSON") from error


def _gist(answer: bytes) -> str:
    """The first line of Flink's errors, without the classes of Java that it begins with."""
    text = answer.decode("utf-8", "replace")
    try:
        text = "; ".join(str(one).strip().split("\n\tat ")[0] for one in json.loads(text)["errors"])
    except (ValueError, KeyError, TypeError):
        text = text.strip()
    first = " ".join(line.strip() for line in text.splitlines() if line.strip())
    while first.split(": ", 1)[0].startswith(("org.apache.", "java.")) and ": " in first:
        first = first.split(": ", 1)[1]
    return first[:300] or "no reason given"
