"""What the autoscaler does, in Prometheus' text format, served on loopback by the standard library."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.flink.controller import FlinkController

HOST = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    name: str
    kind: str  # gauge or counter
    help: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


def text_of(metrics: Iterable[Metric]) -> str:
    lines = []
    for metric in metrics:
        lines += [f"# HELP dovetail_{metric.name} {metric.help}", f"# TYPE dovetail_{metric.name} {metric.kind}"]
        for labels, value in metric.samples:
            inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            lines.append(f"dovetail_{metric.name}{{{inner}}} {_number(value)}")
    return "\n".join(lines) + "\n"


def metrics_of(controller: FlinkController, job: str, scheduler: str, reachable: bool) -> list[Metric]:
    of_job = {"job": job}
    counts = controller.counts
    found = [
        _one("flink_reachable", "gauge", "1 while the job manager answers.", of_job, float(reachable)),
        _one("fallback_active", "gauge", "1 while metrics are missing.", of_job, float(controller.uses_fallback)),
        _one("rescale_under_way", "gauge", "1 while a rescale is under way.", of_job, float(controller.is_waiting)),
        _one("down_seconds_total", "counter", "Time that the job stood still.", of_job, controller.down_s),
        Metric(
            "events_total",
            "counter",
            "What happened, by kind.",
            tuple((of_job | {"event": event}, float(counts[event])) for event in EVENTS),
        ),
        _one("scheduler_info", "gauge", "Who decides.", of_job | {"scheduler": scheduler}, 1.0),
    ]
    if not controller.rows:
        return found
    row = controller.rows[-1]
    for name, text, value in (
        ("job_latency_seconds", "Estimated time from arrival to the last sink.", row.job_latency_s),
        ("job_rate", "Records a second that arrive from outside.", row.job_rate),
        ("job_lag_records", "Records that have arrived and not left.", row.job_lag),
    ):
        found.append(_one(name, "gauge", text, of_job, value))
    labels = [of_job | {"operator": name} for name in controller.names]
    for name, text, column in (
        ("operator_instances", "Instances.", row.parallelism),
        ("operator_busy_ratio", "Share of its instances' time spent processing.", row.busy),
        ("operator_blocked_ratio", "Share of their time held up by others.", row.blocked),
        ("operator_rate", "Records processed a second.", row.rate),
        ("operator_queued_records", "Records waiting at it or in it.", row.queued),
    ):
        found.append(Metric(name, "gauge", text, tuple(zip(labels, map(float, column.tolist()), strict=True))))
    return found


EVENTS = ("decided", "rescaled", "held", "capped", "rollback", "fallback", "refused", "restarted", "stuck")


def _one(name: str, kind: str, text: str, labels: Mapping[str, str], value: float) -> Metric:
    return Metric(name, kind, text, ((labels, value),))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.12g}"


class MetricsServer:
    """Serves the newest text; `port` 0 takes a free one."""

    def __init__(self, port: int) -> None:
        self._asked = port
        self._text = ""
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> int:
        """The port."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = outer._text.encode()
                self.send_response(200 if self.path in ("/", "/metrics") else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer((HOST, self._asked), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"--metrics-port {self._asked}: cannot be served on {HOST} ({reason})") from error
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        return int(self._server.server_address[1])

    def show(self, text: str) -> None:
        self._text = text

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
