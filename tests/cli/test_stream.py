"""The stream family on the command line: the same verbs, with options of its own."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.cli.test_compare import hashes

from dovetail.cli import main
from dovetail.cli.options_stream import StreamArguments
from dovetail.records import read_records
from dovetail.sim.stream import StreamOptions

SETTING = ["--workload", "nexmark-q1", "--duration", "21600"]
COMPARE = ["compare", "stream", *SETTING, "--seeds", "2", "--workers", "1"]
NAMES = "stream/fixed,stream/ds2,stream/hpa"
Captured = pytest.CaptureFixture[str]


def test_compare(tmp_path: Path, capsys: Captured) -> None:
    words = [*COMPARE, "--schedulers", NAMES, "--json", "--out", str(tmp_path / "a")]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["family"], document["yardstick"]) == (1, "stream", "reward")
    assert document["workload"]["name"] == "nexmark-q1" and document["options"]["interval_s"] == 3600.0
    means = [row["metrics"]["reward"]["mean"] for row in document["rows"]]
    assert means == sorted(means, reverse=True) and document["higher_is_better"] is True
    assert all(row["vs_best_heuristic_pct"] is None for row in document["rows"])  # rewards may be below 0
    best = means[0]
    assert [row["vs_best_heuristic"]["mean"] for row in document["rows"]] == pytest.approx(
        [mean - best for mean in means]
    )
    command = read_records(tmp_path / "a").manifest["command"]
    assert command.startswith("dovetail compare stream --workload nexmark-q1 --duration 21600 --seeds 2 --schedulers ")
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path / "b")]) == 0
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b") and len(hashes(tmp_path / "a")) == 2 + 3 * 9
    capsys.readouterr()
    assert main([*words, "--by", "p99_latency_s"]) == 0
    found = capsys.readouterr()
    assert "6 of 6 runs are there already" in found.err
    tails = [row["metrics"]["p99_latency_s"]["mean"] for row in json.loads(found.out)["rows"]]
    assert tails == sorted(tails)


def test_table(capsys: Captured) -> None:
    assert main([*COMPARE, "--schedulers", NAMES]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    for title in ("reward", "latency, s", "p99 latency, s", "above SLO", "instance-hours", "rescales", "down, s"):
        assert title in head
    assert "best heuristic" in rows[0] and len(rows) == 3


def test_simulate_report_explain_export(tmp_path: Path, capsys: Captured) -> None:
    out = str(tmp_path / "one")
    words = ["simulate", "stream", *SETTING, "--scheduler", "stream/ds2", "--seed", "3", "--out", out]
    assert main(words) == 0
    assert "p99 latency" in capsys.readouterr().out
    command = read_records(out).manifest["command"]
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path / "again")]) == 0
    assert hashes(Path(out)) == hashes(tmp_path / "again")
    assert main(["report", out, "--png", str(tmp_path / "png")]) == 0
    assert "gains a reward of" in (Path(out) / "report.html").read_text()
    capsys.readouterr()
    assert main(["explain", out, "--job", "0"]) == 0
    told = capsys.readouterr().out
    assert "under stream/ds2 (run stream-ds2-s3, seed 3)" in told
    assert main(["explain", out, "--job", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["intervals"] == 5
    assert main(["export", out, "--perfetto", str(tmp_path / "t.json")]) == 0
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_options_are_part_of_the_command(tmp_path: Path) -> None:
    words = ["--rates", "step", "--interval", "600", "--snapshot", "30", "--history", "20", "--noise", "0.1"]
    words += ["--step", "0.5", "--weight", "0.5", "--slots", "60", "--runtime", "python"]
    out = tmp_path / "a"
    assert main(["simulate", "stream", *SETTING, *words, "--scheduler", "stream/hpa", "--out", str(out)]) == 0
    records = read_records(out)
    expected = {"interval_s": 600.0, "snapshot_s": 30.0, "history": 20, "noise": 0.1, "step_s": 0.5, "weight": 0.5}
    assert records.options | expected == records.options
    assert records.workload | {"rates": "step", "slots": 60, "runtime": "python"} == records.workload
    assert main([*shlex.split(records.manifest["command"])[1:], "--out", str(tmp_path / "b")]) == 0
    assert hashes(out) == hashes(tmp_path / "b")


def test_tune(capsys: Captured) -> None:
    base = ["tune", "stream/fixed", *SETTING, "--seeds", "1", "--workers", "1"]
    assert main([*base, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["family"] == "stream" and document["metric"] == "reward"
    assert document["best"]["mean"] == max(point["mean"] for point in document["curve"])
    gain = document["best"]["mean"] - document["start"]["mean"]
    assert document["vs_start"] == pytest.approx(gain) and "vs_start_pct" not in document
    assert main(base) == 0
    assert f", {gain:+.3f} against the start" in capsys.readouterr().out


def test_tune_on_several_workloads(capsys: Captured) -> None:
    """What is best by the mean of both; seed by seed."""
    base = ["tune", "stream/fixed", *SETTING, "--seeds", "1", "--workers", "1", "--json"]
    found = []
    for more in ((), ("--workload", "nexmark-q2"), ("--mix", "nexmark-q2")):
        assert main([*base, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    one, other, both = ({point["spec"]: point["mean"] for point in each["curve"]} for each in found)
    assert both == pytest.approx({spec: (one[spec] + other[spec]) / 2 for spec in both})
    assert [each["name"] for each in found[2]["mix"]] == ["nexmark-q2"] and "mix" not in found[0]


def test_windows_in_turn(tmp_path: Path, capsys: Captured) -> None:
    """Seeds are windows side by side, as many as there are; for learning they are drawn."""
    rows = "".join(f"{60 * minute},{1 + minute}\n" for minute in range(240))
    (tmp_path / "counts.csv").write_text("time,count\n" + rows)
    assert main(["workload", "import", "rates", str(tmp_path / "counts.csv"), "--out", str(tmp_path / "rates")]) == 0
    capsys.readouterr()
    words = ["--workload", "nexmark-q1", "--rates", str(tmp_path / "rates"), "--windows", "in-turn"]
    words += ["--duration", "7200", "--interval", "1800", "--step", "5", "--workers", "1"]
    base = ["compare", "stream", *words, "--schedulers", "stream/fixed", "--json"]
    assert main([*base, "--seeds", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["workload"]["windows"] == "in-turn"
    for wrong, message in (
        ([*base, "--seeds", "3"], "have 2 windows of 7,200 s side by side, seeds 0 to 1; seed 2 asked for"),
        (["train", "stream", *words, "--out", str(tmp_path / "run")], "--windows is for judging"),
    ):
        assert main(wrong) == 2
        assert message in capsys.readouterr().err


def test_list(capsys: Captured) -> None:
    assert main(["list", "stream", "--params"]) == 0
    out = capsys.readouterr().out
    assert "stream/ds2" in out and "dag/" not in out


def test_help_names_the_options(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "stream", "--help"])
    out = capsys.readouterr().out
    for name in ("rates", "duration", "interval", "snapshot", "step", "history", "noise", "weight", "slots", "runtime"):
        assert f"--{name}" in out


def test_defaults_are_those_of_the_world() -> None:
    assert StreamArguments().setting().options == StreamOptions()


def test_config_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        'workload = "nexmark-q1"\nduration = 14400.0\ninterval = 1200.0\nruntime = "cold"\nseeds = 1\n'
        'schedulers = ["stream/ds2"]\n'
    )
    base = ["compare", "stream", "--json", "--config", str(file)]
    assert main([*base, "--runtime", "warm"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"]["interval_s"] == 1200.0
    assert document["workload"] | {"runtime": "warm", "duration_s": 14400.0} == document["workload"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--interval", "0"], "interval is 0; expected seconds, more than 0"),
        (["--history", "0"], "history is 0; expected 1 or more"),
        (["--weight", "2"], "weight is 2.0; expected"),
        (["--runtime", "hot"], "unknown runtime 'hot'"),
        (["--windows", "in-turns"], "did you mean 'in-turn'"),
        (["--windows", "in-turn"], "are drawn, so there are no windows to take in turn"),
        (["--rates", "webb"], "did you mean 'web'"),
        (["--slots", "1"], "1 slots, but nexmark-q1 starts with"),
        (["--interval", "30"], "interval_s is 30 s, less than snapshot_s"),
    ],
)
def test_what_makes_no_sense(words: list[str], message: str, capsys: Captured) -> None:
    assert main([*COMPARE, *words, "--schedulers", "stream/fixed"]) != 0
    assert message in capsys.readouterr().err
