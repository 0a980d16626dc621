"""A Flink of values: one job, source -> map -> sink, in steps of a tenth of a second, which answers as Flink does.

Records wait at the source, which tells how many.  An instance of `map` does 10 records a second; source and sink do
10,000.  A rescale takes the job down for `restart_s` at once, and gives no more than there are slots.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from dovetail.execution.engines.flink.client import FlinkClient
from dovetail.execution.engines.flink.errors import FlinkRefused, FlinkUnreachable
from dovetail.execution.engines.flink.job import RUNNING
from dovetail.execution.engines.flink.messages import Look

NAMES = ("Source: source", "map", "sink")
RATES = (10_000.0, 10.0, 10_000.0)  # records a second of an instance
STEP_S = 0.1
START_S = 1_000_000.0
JOB = "a" * 32


class PaperFlink:
    def __init__(
        self,
        rate: float = 8.0,
        *,
        slots: int = 8,
        restart_s: float = 0.5,
        parallelism: int = 1,
        start_s: float = START_S,
    ) -> None:
        self.rate, self.slots, self.restart_s = rate, slots, restart_s
        self.now_s = start_s
        self.parallelism = [parallelism] * 3
        self.asked: list[list[int]] = []
        self.answers = True
        self.granted = slots  # which may be fewer than it says there are
        self.scheduler = "Adaptive"
        self.checkpoint_ms = 1000
        self.history = True
        self.hidden: set[str] = set()  # metrics that are not told
        self.jobs = [(JOB, "paper", "RUNNING")]
        self.pending = 0.0
        self.state = RUNNING
        self._begin(start_s)
        self._down_until_s = start_s
        self._stopped_ms = 0.0
        self._rescales: list[dict[str, Any]] = []

    # --- time ---

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.now_s += STEP_S
            self.pending += self.rate * STEP_S
            if self.state != RUNNING and self.now_s >= self._down_until_s - 1e-9:
                self._begin(self._down_until_s)
            if self.state == RUNNING:
                self._work()

    def restart(self) -> None:
        """As a failure does."""
        self._stop(self.parallelism)

    def _work(self) -> None:
        done = min(self.pending, self.parallelism[1] * RATES[1] * STEP_S)
        self.pending -= done
        for i, count in enumerate(self.parallelism):
            busy = done / RATES[i]
            blocked = STEP_S * count - busy if i == 0 and self.pending > 1.0 else 0.0
            self.busy[i] += busy
            self.blocked[i] += blocked
            self.idle[i] += STEP_S * count - busy - blocked
            self.records[i] += done

    def _begin(self, now_s: float) -> None:
        self.state = RUNNING
        self.created_ms = now_s * 1000.0
        self.busy, self.idle, self.blocked, self.records = ([0.0] * 3 for _ in range(4))

    def _stop(self, parallelism: list[int]) -> None:
        before = list(self.parallelism)
        self.parallelism = parallelism
        self.state, self._stopped_ms = "RESTARTING", self.now_s * 1000.0
        self._down_until_s = self.now_s + self.restart_s
        states = [
            {"state": "Executing", "leaveTimestampInMillis": self.now_s * 1000.0},
            {"state": "Restarting", "leaveTimestampInMillis": self._down_until_s * 1000.0},
        ]
        rescale = {"rescaleUuid": f"r{len(self._rescales)}", "startTimestampInMillis": self.now_s * 1000.0}
        rescale |= {"schedulerStates": states, "terminalState": "COMPLETED", "triggerCause": "UPDATE_REQUIREMENT"}
        self._rescales.append(rescale | {"before": before})

    # --- what Flink answers ---

    def call(self, method: str, path: str, body: Any = None) -> Any:
        if not self.answers:
            raise FlinkUnreachable(f"{path}: Connection refused")
        parts = urlsplit(path)
        words = parts.path.strip("/").split("/")
        if words == ["overview"]:
            free = self.slots - max(self.parallelism)
            return {"flink-version": "2.3.0", "slots-total": self.slots, "slots-available": free}
        if words == ["jobs", "overview"]:
            return {"jobs": [{"jid": jid, "name": name, "state": state} for jid, name, state in self.jobs]}
        if words == ["jobmanager", "config"]:
            return [{"key": "metrics.fetcher.update-interval", "value": "100 ms"}]
        if words[:2] != ["jobs", JOB]:
            raise FlinkRefused(f"{path}: 404 not found")
        return self._of_job(method, words[2:], parse_qs(parts.query), body)

    def _of_job(self, method: str, words: list[str], query: dict[str, list[str]], body: Any) -> Any:
        ids = [f"v{i}" for i in range(3)]
        if not words:
            return self._job(ids)
        if words == ["resource-requirements"] and method == "PUT":
            return self._ask([int(body[one]["parallelism"]["upperBound"]) for one in ids])
        if words == ["checkpoints", "config"]:
            return {"interval": self.checkpoint_ms}
        if words == ["checkpoints"]:
            return {"latest": {"completed": {"id": 7}}}
        if words == ["checkpoints", "details", "7"]:
            return {"tasks": {"v1": {"state_size": 3_000_000}}}
        if words == ["rescales", "history"]:
            if not self.history:
                raise FlinkRefused("rescales/history: 404 there is none")
            return self._rescales[::-1]
        if words[:2] == ["rescales", "details"]:
            return next(one for one in self._rescales if one["rescaleUuid"] == words[2])
        number = ids.index(words[1])
        if len(words) == 2:
            subtask = {"status": self.state, "start-time": self.created_ms, "status-duration": {"DEPLOYING": 0}}
            return {"subtasks": [subtask] * self.parallelism[number]}
        told = {name: value for name, value in self._metrics(number).items() if name not in self.hidden}
        if "get" not in query:
            return [{"id": name} for name in told]
        names = unquote(query["get"][0]).split(",")
        if any(name not in told for name in names):
            return []
        return [{"id": name, "sum": told[name], "max": told[name] / self.parallelism[number]} for name in names]

    def _job(self, ids: list[str]) -> dict[str, Any]:
        vertices = [
            {"id": one, "name": name, "parallelism": many, "maxParallelism": 64, "slotSharingGroupId": "g"}
            for one, name, many in zip(ids, NAMES, self.parallelism, strict=True)
        ]
        nodes = [{"id": "v0"}] + [
            {"id": f"v{i}", "inputs": [{"id": f"v{i - 1}", "ship_strategy": "REBALANCE"}]} for i in (1, 2)
        ]
        stopped_ms = self._stopped_ms if self.state != RUNNING else 0
        return {
            "jid": JOB,
            "name": "paper",
            "state": self.state,
            "schedulerType": self.scheduler,
            "timestamps": {"CREATED": self.created_ms, "CANCELLING": stopped_ms},
            "vertices": vertices,
            "plan": {"nodes": nodes},
        }

    def _metrics(self, number: int) -> dict[str, float]:
        found = {
            "accumulateBusyTimeMs": 1000.0 * self.busy[number],
            "accumulateIdleTimeMs": 1000.0 * self.idle[number],
            "accumulateBackPressuredTimeMs": 1000.0 * self.blocked[number],
            "numRecordsIn": self.records[number],
            "numRecordsOut": self.records[number],
            "numBytesIn": 10.0 * self.records[number],
            "Shuffle.Netty.Input.Buffers.inputQueueSize": 0.0,
        }
        return found | ({"Source__source.pendingRecords": self.pending} if number == 0 else {})

    def _ask(self, wanted: list[int]) -> dict[str, Any]:
        self.asked.append(wanted)
        got = [min(one, self.granted) for one in wanted]
        if got != self.parallelism:
            self._stop(got)
        return {}


class PaperClient(FlinkClient):
    def __init__(self, paper: PaperFlink) -> None:
        super().__init__("http://paper:1")
        self.paper = paper

    def _call(self, method: str, path: str, body: object = None) -> Any:
        return self.paper.call(method, path, body)

    def look(self) -> Look:
        job = self.job(JOB)
        self.forget_names()
        up = job.state == RUNNING
        return Look(
            now_s=self.paper.now_s,
            clock_s=0.0,
            job=job,
            readings=self.readings(job) if up else {},
            slots=self.paper.slots,
            free_slots=self.cluster().free_slots,
            running_since_s=self.running_since_ms(job) / 1000.0 if up else float("nan"),
            rescale=self.newest_rescale(JOB),
        )


@contextmanager
def served(paper: PaperFlink) -> Iterator[str]:
    """Its address, over HTTP; its time is that of the clock on the wall."""

    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET")

        def do_PUT(self) -> None:
            self._answer("PUT")

        def _answer(self, method: str) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            with lock:
                paper.run(max(0.0, time.time() - paper.now_s))
            try:
                code, answer = 200, paper.call(method, self.path, body)
            except FlinkRefused as error:
                code, answer = 404, {"errors": [f"org.apache.flink.runtime.rest.NotFoundException: {error}\n\tat x"]}
            except FlinkUnreachable:
                code, answer = 503, {}
            text = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
