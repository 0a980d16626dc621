"""What a monitor gets."""

from __future__ import annotations

import re
import urllib.request

import numpy as np
import pytest
from tests.execution.flink.paper_flink import PaperClient, PaperFlink

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.flink.controller import FlinkController
from dovetail.execution.engines.flink.messages import FlinkOptions
from dovetail.execution.engines.flink.prometheus import Metric, MetricsServer, metrics_of, text_of
from dovetail.schedulers.heuristic.stream.hpa import Hpa

LINE = re.compile(r"^(# (HELP|TYPE) \w+ .+|dovetail_\w+\{(\w+=\"([^\"\\\n]|\\.)*\",?)*\} (\S+))$")


def watched() -> FlinkController:
    paper = PaperFlink()
    client = PaperClient(paper)
    options = FlinkOptions(interval_s=2.0, snapshot_s=1.0)
    controller = FlinkController(Hpa(), Hpa(), ("a", "b"), options, np.random.default_rng(0))
    for _ in range(3):
        controller.step(client.look())
        paper.run(1.0)
    return controller


def test_every_line_is_of_the_format() -> None:
    text = text_of(metrics_of(watched(), "j", "stream/hpa", True))
    for line in text.splitlines():
        assert LINE.match(line), line
    assert text.endswith("\n")
    assert 'dovetail_operator_instances{job="j",operator="map"} 1\n' in text
    assert re.search(r'dovetail_operator_busy_ratio{job="j",operator="map"} 0\.8', text)
    assert 'dovetail_scheduler_info{job="j",scheduler="stream/hpa"} 1' in text
    assert len(re.findall(r"# TYPE dovetail_events_total counter", text)) == 1


def test_labels_are_escaped() -> None:
    text = text_of([Metric("x", "gauge", "Help.", (({"name": 'a "b"\\\n'}, float("nan")),))])
    assert text.splitlines()[2] == 'dovetail_x{name="a \\"b\\"\\\\\\n"} NaN'


def test_it_is_served_on_loopback() -> None:
    server = MetricsServer(0)
    port = server.start()
    try:
        server.show("dovetail_x 1\n")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert answer.read() == b"dovetail_x 1\n"
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        with pytest.raises(ConfigError, match=f"--metrics-port {port}: cannot be served"):
            MetricsServer(port).start()
    finally:
        server.stop()
