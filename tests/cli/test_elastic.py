"""The elastic family on the command line: the same verbs, with options of its own."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.cli.test_compare import hashes
from tests.elastic_toys import SMALL, register_toys

from dovetail.cli import main
from dovetail.records import read_records

SETTING = ["--workload", SMALL, "--jobs", "5", "--slots", "12", "--servers", "4"]
COMPARE = ["compare", "elastic", *SETTING, "--seeds", "3", "--workers", "1"]
NAMES = "elastic/eager,elastic/promising,elastic/refuses,elastic/eager:workers=1"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    register_toys(monkeypatch)


def test_compare(tmp_path: Path, capsys: Captured) -> None:
    words = [*COMPARE, "--schedulers", NAMES, "--json", "--out", str(tmp_path / "a")]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["family"], document["yardstick"]) == (1, "elastic", "total_utility")
    assert document["workload"]["slots"] == 12 and document["options"]["worker_hosts"] == 2
    means = [row["metrics"]["total_utility"]["mean"] for row in document["rows"]]
    assert means == sorted(means, reverse=True) and document["rows"][-1]["scheduler"] == "elastic/refuses"
    assert document["rows"][0]["vs_best_heuristic_pct"] == 0.0
    assert document["rows"][-1]["metrics"]["avg_jct_s"] == {"mean": None, "ci95": [None, None]}
    assert document["rows"][-1]["vs_best_heuristic_pct"] == -100.0
    command = read_records(tmp_path / "a").manifest["command"]
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path / "b")]) == 0
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b") and len(hashes(tmp_path / "a")) == 2 + 4 * 6
    capsys.readouterr()
    assert main([*words, "--by", "avg_jct_s"]) == 0
    found = capsys.readouterr()
    assert "12 of 12 runs are there already" in found.err
    assert json.loads(found.out)["rows"][-1]["scheduler"] == "elastic/refuses"


def test_table(capsys: Captured) -> None:
    assert main([*COMPARE, "--schedulers", NAMES]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "scheduler" and "total utility" in head and "average JCT, s" in head
    assert "best heuristic" in rows[0] and rows[-1].startswith("elastic/refuses") and "-100.0 %" in rows[-1]


def test_simulate_report_explain_export(tmp_path: Path, capsys: Captured) -> None:
    out = str(tmp_path / "one")
    words = ["simulate", "elastic", *SETTING, "--scheduler", "elastic/promising", "--seed", "3", "--out", out]
    assert main(words) == 0
    assert "total utility" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["family"] == "elastic"
    command = read_records(out).manifest["command"]
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path / "again")]) == 0
    assert hashes(Path(out)) == hashes(tmp_path / "again")
    assert main(["report", out, "--png", str(tmp_path / "png")]) == 0
    assert "gains a total utility" in (Path(out) / "report.html").read_text()
    capsys.readouterr()
    assert main(["explain", out, "--job", "0"]) == 0
    assert "under elastic/promising (run elastic-promising-s3, seed 3)" in capsys.readouterr().out
    assert main(["explain", out, "--job", "j1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "j1"
    assert main(["export", out, "--perfetto", str(tmp_path / "t.json")]) == 0
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_nothing_completed_is_null(capsys: Captured) -> None:
    assert main(["simulate", "elastic", *SETTING, "--scheduler", "elastic/refuses", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["avg_jct_s"] is None


def test_tune(capsys: Captured) -> None:
    assert main(["tune", "elastic/eager", *SETTING, "--seeds", "2", "--workers", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["family"] == "elastic" and document["metric"] == "total_utility"
    values = {point["params"]["workers"]: point["mean"] for point in document["curve"]}
    assert set(values) == {1, 2, 4} and document["best"]["mean"] == max(values.values())


def test_list(capsys: Captured) -> None:
    assert main(["list", "elastic", "--params"]) == 0
    out = capsys.readouterr().out
    assert "elastic/eager" in out and "workers: int = 2" in out and "dag/" not in out


def test_config_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        f'workload = "{SMALL}"\njobs = 3\nslots = 9\nservers = 4\narrivals = "batch"\nseeds = 1\n'
        'schedulers = ["elastic/eager"]\n'
    )
    base = ["compare", "elastic", "--json", "--config", str(file)]
    assert main(base) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["workload"]["arrivals"] == "batch" and document["options"]["server_hosts"] == 2
    assert main([*base, "--worker-hosts", "3", "--server-hosts", "1", "--arrivals", "uniform:span=0.5"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"] | {"worker_hosts": 3, "server_hosts": 1} == document["options"]
    assert document["workload"] | {"arrivals": "uniform", "span": 0.5} == document["workload"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", "0"], "jobs is 0"),
        (["--slots", "0"], "slots is 0"),
        (["--servers", "1"], "servers is 1; expected 2 or more"),
        (["--worker-hosts", "3"], "one or the other"),
        (["--arrivals", "burst"], "unknown kind of arrivals 'burst'; did you mean 'bursts'?"),
        (["--arrivals", "trace"], "no recorded jobs"),
        (["--workload", "oasis-smal"], "did you mean 'oasis-small'?"),
        (["--workload", "no/such/dir"], "no such directory"),
        (["--schedulers", "dag/fair"], "unknown elastic scheduler 'dag/fair'"),
        (["--schedulers", ""], "names of elastic/..."),
        (["--by", "total_utilty"], "did you mean 'total_utility'?"),
        (["--config", "no-such.toml"], "no-such.toml: cannot be read"),
    ],
)
def test_bad_input(words: list[str], message: str, tmp_path: Path, capsys: Captured) -> None:
    base = [*COMPARE, "--schedulers", "elastic/eager", "--out", str(tmp_path / "x")]
    assert main([*base, *words]) == 2
    found = capsys.readouterr()
    assert message in found.err and found.out == "" and not (tmp_path / "x").exists()


def test_hosts_of_one_role_alone(capsys: Captured) -> None:
    assert main(["compare", "elastic", "--worker-hosts", "3"]) == 2
    assert "only one of worker_hosts and server_hosts" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "simulate"])
def test_help_is_that_of_the_family(verb: str, capsys: Captured) -> None:
    for family, option, foreign in (("elastic", "--worker-hosts", "--executors"), ("dag", "--executors", "--slots")):
        with pytest.raises(SystemExit):
            main([verb, family, "--help"])
        text = capsys.readouterr().out
        assert option in text and foreign not in text
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    text = capsys.readouterr().out
    assert "dag, elastic" in text and f"`dovetail {verb} FAMILY --help`" in text.replace("\n", " ")


def test_help_of_tune(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["tune", "elastic/eager", "--help"])
    text = capsys.readouterr().out
    assert "--worker-hosts" in text and "(total_utility)" in text


def test_a_family_may_stand_behind_its_options(capsys: Captured) -> None:
    words = ["--seeds", "1", "--workers", "1", "--schedulers", "elastic/eager", *SETTING]
    assert main(["compare", *words, "elastic"]) == 0
    assert "elastic/eager" in capsys.readouterr().out


def test_verbs_that_not_every_family_has(capsys: Captured) -> None:
    assert main(["adapt", "elastic"]) == 2
    assert "unknown family 'elastic'" in capsys.readouterr().err
    assert main(["train", "elastc", "--out", "x"]) == 2
    assert "did you mean 'elastic'" in capsys.readouterr().err
