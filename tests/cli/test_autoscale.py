"""`dovetail autoscale` and `calibrate`: what a person would type wrong, and a Flink on paper that is steered."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.execution.flink.paper_flink import JOB, PaperFlink, served

from dovetail.cli import main

Capture = pytest.CaptureFixture[str]
URL = "http://127.0.0.1:1"
TWO = [(JOB, "paper", "RUNNING"), ("b" * 32, "other", "RUNNING"), ("c" * 32, "gone", "FINISHED")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--flink", "localhost:8081"], "expected the address of a job manager, as in http://localhost:8081"),
        (["--scheduler", "stream/ds3"], "did you mean 'stream/ds2'"),
        (["--scheduler", "dag/fair"], "unknown stream scheduler 'dag/fair'"),
        (["--scheduler", "stream/ds2:utilisation=2"], "utilisation is 2"),
        (["--scheduler", "stream/oracle"], "has to be told the future"),
        (["--fallback", "stream/hpaa"], "did you mean 'stream/hpa'"),
        (["--interval", "25"], "expected an interval of whole snapshots"),
        (["--interval", "5"], "expected an interval of whole snapshots"),
        (["--snapshot", "0"], "--snapshot 0; expected 0.5 to 3600"),
        (["--history", "1"], "--history 1; expected 2"),
        (["--slo", "0"], "--slo 0; expected 0.001"),
        (["--weight", "2"], "--weight 2; expected 0 to 1"),
        (["--min", "0"], "--min 0; expected 1 or more"),
        (["--min", "4", "--max", "2"], "no more than --max"),
        (["--bounds", "map"], "--bounds map; expected OPERATOR=LOW..HIGH"),
        (["--bounds", "map=8..2"], "1 <= LOW <= HIGH"),
        (["--bounds", "map=a..b"], "such as map=2..8"),
        (["--cooldown", "-1"], "--cooldown -1; expected 0"),
        (["--max-rescales", "-1"], "--max-rescales -1; expected 0"),
        (["--rollback", "never"], "or `off`"),
        (["--rollback", "1"], "--rollback 1; expected more than 1"),
        (["--latency", "guess"], "one of auto, markers, queues"),
        (["--for", "nan"], "--for nan; expected seconds above 0"),
        (["--seed", "-1"], "--seed -1; expected 0 or more"),
        (["--metrics-port", "70000"], "--metrics-port 70000; expected 0"),
        ([], "no Flink can be reached at http://127.0.0.1:1"),
    ],
)
def test_bad_options_are_explained(options: list[str], said: str, capsys: Capture) -> None:
    words = options if "--flink" in options else ["--flink", URL, *options]
    assert main(["autoscale", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and not printed.out


@contextmanager
def not_flink(body: bytes, code: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"<html>hello</html>", 200, "which is no JSON"),
        (b'{"version": 3}', 200, "not what Flink answers"),
        (b"[]", 200, "not what Flink answers"),
        (b"no", 404, "/overview: 404 no"),
    ],
)
def test_something_else_than_flink_is_told(body: bytes, code: int, said: str, capsys: Capture) -> None:
    with not_flink(body, code) as url:
        assert main(["autoscale", "--flink", url]) == 2
    printed = capsys.readouterr().err
    assert "is no Flink" in printed and said in printed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "2 jobs run on"),
        (["--job", "papr"], "did you mean 'paper'"),
        (["--job", "gone"], "unknown job 'gone'"),
        (["--job", "paper", "--bounds", "mop=1..2"], "did you mean 'map'"),
        (["--job", "paper", "--bounds", "map=90.."], "Flink gives it 64 at most"),
    ],
)
def test_which_job_and_operator_has_to_be_clear(options: list[str], said: str, capsys: Capture) -> None:
    paper = PaperFlink(start_s=time.time())
    paper.jobs = TWO
    with served(paper) as url:
        assert main(["autoscale", "--flink", url, *options]) == 2
    assert said in capsys.readouterr().err


def test_two_jobs_of_a_name_need_an_id(capsys: Capture) -> None:
    paper = PaperFlink(start_s=time.time())
    paper.jobs = [(JOB, "paper", "RUNNING"), ("b" * 32, "paper", "RUNNING")]
    with served(paper) as url:
        assert main(["autoscale", "--flink", url, "--job", "paper"]) == 2
    assert "expected the id of one" in capsys.readouterr().err


def test_no_job_at_all(capsys: Capture) -> None:
    paper = PaperFlink(start_s=time.time())
    paper.jobs = []
    with served(paper) as url:
        assert main(["autoscale", "--flink", url]) == 2
    assert "no job runs on" in capsys.readouterr().err


def test_another_scheduler_of_flinks_is_refused(capsys: Capture) -> None:
    paper = PaperFlink(start_s=time.time())
    paper.scheduler = "Default"
    with served(paper) as url:
        assert main(["autoscale", "--flink", url]) == 2
    assert "`jobmanager.scheduler: adaptive`" in capsys.readouterr().err


def test_a_job_that_would_forget_everything_is_not_rescaled(capsys: Capture) -> None:
    paper = PaperFlink(start_s=time.time())
    paper.checkpoint_ms = 0
    with served(paper) as url:
        assert main(["autoscale", "--flink", url, "--act"]) == 2
    assert "execution.checkpointing.interval" in capsys.readouterr().err


def test_a_port_that_is_taken(capsys: Capture) -> None:
    with served(PaperFlink(start_s=time.time())) as url, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["autoscale", "--flink", url, "--once", "--metrics-port", str(port)]) == 2
    assert f"--metrics-port {port}: cannot be served" in capsys.readouterr().err


def test_a_directory_of_something_else(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with served(PaperFlink(start_s=time.time())) as url:
        assert main(["autoscale", "--flink", url, "--out", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err


FAST = ("--interval", "1", "--snapshot", "0.5", "--cooldown", "0", "--max-rescales", "100")


def test_a_job_is_steered_and_a_report_shows_it(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "live"
    paper = PaperFlink(rate=30.0, start_s=time.time())
    words = ["--scheduler", "ds2:utilisation=0.8", "--act", "--for", "8", "--json", "--out", str(out)]
    with served(paper) as url:
        assert main(["autoscale", "--flink", url, *FAST, *words]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["event"] == "job" and lines[-1]["event"] == "summary"
    assert paper.asked and paper.asked[0][1] > 1
    assert any(line["event"] == "rescaled" and line["down_from"] == "history" for line in lines)
    kept = [json.loads(line) for line in (out / "flink.jsonl").read_text().splitlines()]
    assert [line["event"] for line in kept] == [line["event"] for line in lines[:-1]]
    manifest = json.loads((out / "manifest.json").read_text())
    assert "delays" in manifest["workload"]["unknown"]
    assert main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0
    assert main(["explain", str(out), "--job", "0"]) == 0
    assert "rescaled" in capsys.readouterr().out


def test_without_act_it_only_says(capsys: Capture) -> None:
    paper = PaperFlink(rate=30.0, start_s=time.time())
    with served(paper) as url:
        assert main(["autoscale", "--flink", url, *FAST, "--scheduler", "ds2", "--once"]) == 0
    assert "would rescale: map 1 → " in capsys.readouterr().out and not paper.asked


def test_an_outage_is_said_and_survived(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.execution.engines.flink.client.RETRY_S", 0.0)
    paper = PaperFlink(start_s=time.time())
    began_s, real = time.time(), paper.call

    def call(method: str, path: str, body: object = None) -> object:
        paper.answers = not 1.5 < time.time() - began_s < 2.5
        return real(method, path, body)

    monkeypatch.setattr(paper, "call", call)
    with served(paper) as url:
        assert main(["autoscale", "--flink", url, *FAST, "--for", "4"]) == 0
    said = capsys.readouterr().out
    assert "Flink does not answer, which is tried again" in said and "Flink answers again" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["spark", "--flink", URL], "unknown engine 'spark'"),
        (["flink", "--flink", URL, "--for", "2"], "expected 30 seconds at least"),
        (["flink", "--flink", URL, "--rescales", "-1"], "--rescales -1; expected 0"),
        (["flink", "--flink", URL, "--snapshot", "0.1"], "--snapshot 0.1; expected 0.5"),
        (["flink", "--flink", URL], "no Flink can be reached"),
    ],
)
def test_bad_options_of_calibrate(options: list[str], said: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["calibrate", *options, "--out", str(tmp_path / "made")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_a_calibrated_job_can_be_compared(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "made"
    paper = PaperFlink(rate=8.0, start_s=time.time())
    with served(paper) as url:
        words = ["--flink", url, "--for", "6", "--snapshot", "1", "--rescales", "1", "--out", str(out)]
        assert main(["calibrate", "flink", *words]) == 0
    assert [sum(asked) for asked in paper.asked] == [4, 3]
    said = capsys.readouterr().out
    assert "median of 2" in said and "paper: " in said
    assert main(["workload", "validate", str(out)]) == 0
