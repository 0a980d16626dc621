"""The gpu family on the command line: the same verbs, with options of its own."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.cli.test_compare import hashes

from dovetail.cli import main
from dovetail.cli.options_gpu import GpuArguments
from dovetail.records import read_records
from dovetail.sim.gpu import GpuOptions

SETTING = ["--workload", "small", "--jobs", "20"]
COMPARE = ["compare", "gpu", *SETTING, "--seeds", "2", "--workers", "1"]
NAMES = "gpu/fifo+first-fit,gpu/drf+load-balance,gpu/srtf+pack"
Captured = pytest.CaptureFixture[str]


def test_compare(tmp_path: Path, capsys: Captured) -> None:
    words = [*COMPARE, "--schedulers", NAMES, "--json", "--out", str(tmp_path / "a")]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["family"], document["yardstick"]) == (1, "gpu", "avg_jct_s")
    assert document["workload"]["name"] == "small" and document["options"]["cluster"]["machines"] == 8
    means = [row["metrics"]["avg_jct_s"]["mean"] for row in document["rows"]]
    assert means == sorted(means) and document["higher_is_better"] is False
    assert all(row["metrics"]["avg_fee_usd"]["mean"] > 0 for row in document["rows"])
    assert {row["scheduler"] for row in document["rows"]} == set(NAMES.split(","))
    command = read_records(tmp_path / "a").manifest["command"]
    assert command.startswith("dovetail compare gpu --jobs 20 --seeds 2 --schedulers gpu/fifo+first-fit,")
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path / "b")]) == 0
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b") and len(hashes(tmp_path / "a")) == 2 + 3 * 8
    capsys.readouterr()
    assert main([*words, "--by", "avg_fee_usd"]) == 0
    found = capsys.readouterr()
    assert "6 of 6 runs are there already" in found.err
    fees = [row["metrics"]["avg_fee_usd"]["mean"] for row in json.loads(found.out)["rows"]]
    assert fees == sorted(fees)


def test_table(capsys: Captured) -> None:
    assert main([*COMPARE, "--schedulers", NAMES]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert "average JCT, s" in head and "average fee, USD" in head and "stops" not in head
    assert "best heuristic" in rows[0] and len(rows) == 3


def test_simulate_report_explain_export(tmp_path: Path, capsys: Captured) -> None:
    out = str(tmp_path / "one")
    words = ["simulate", "gpu", *SETTING, "--scheduler", "gpu/fifo+first-fit", "--seed", "3", "--out", out]
    assert main(words) == 0
    assert "average fee" in capsys.readouterr().out
    command = read_records(out).manifest["command"]
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path / "again")]) == 0
    assert hashes(Path(out)) == hashes(tmp_path / "again")
    assert main(["report", out, "--png", str(tmp_path / "png")]) == 0
    assert "completes a job in" in (Path(out) / "report.html").read_text()
    capsys.readouterr()
    assert main(["explain", out, "--job", "0"]) == 0
    assert "under gpu/fifo+first-fit (run gpu-fifo-first-fit-s3, seed 3)" in capsys.readouterr().out
    assert main(["explain", out, "--job", "j1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "j1"
    assert main(["export", out, "--perfetto", str(tmp_path / "t.json")]) == 0
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_preemption_and_failures_are_part_of_the_command(tmp_path: Path, capsys: Captured) -> None:
    words = ["--preemption", "--quantum", "60", "--failures", "200000:600", "--moods", "0", "--interval", "30"]
    out = tmp_path / "a"
    assert main(["simulate", "gpu", *SETTING, *words, "--scheduler", "gpu/las+pack", "--out", str(out)]) == 0
    records = read_records(out)
    assert " --preemption --quantum 60 " in records.manifest["command"]
    expected = {"preemption": True, "quantum_s": 60.0, "mean_time_to_failure_s": 200000.0, "repair_s": 600.0}
    assert records.options | {**expected, "mood_sigma": 0.0, "interval_s": 30.0} == records.options
    assert main([*shlex.split(records.manifest["command"])[1:], "--out", str(tmp_path / "b")]) == 0
    assert hashes(out) == hashes(tmp_path / "b")


def test_tune(capsys: Captured) -> None:
    base = ["tune", "gpu/las+pack", *SETTING, "--preemption", "--seeds", "1", "--workers", "1", "--json"]
    assert main(base) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["family"] == "gpu" and document["metric"] == "avg_jct_s"
    assert document["best"]["mean"] == min(point["mean"] for point in document["curve"])


def test_list(capsys: Captured) -> None:
    assert main(["list", "gpu", "--params"]) == 0
    out = capsys.readouterr().out
    assert "gpu/fifo+first-fit" in out and "dag/" not in out


def test_defaults_are_those_of_the_world() -> None:
    assert GpuArguments().setting().options == GpuOptions()


def test_config_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        'workload = "small"\njobs = 5\nmachines = 10\nkinds = ["v100x4", "a100x4"]\nrack = 2\narrivals = "poisson"\n'
        'load = 0.5\npreemption = true\nseeds = 1\nschedulers = ["gpu/srtf+pack"]\n'
        "failures = {mean_time_s = 1e6}\nmoods = {sigma = 0.2}\n"
    )
    base = ["compare", "gpu", "--json", "--config", str(file)]
    assert main(base) == 0
    document = json.loads(capsys.readouterr().out)
    cluster = document["options"]["cluster"]
    assert (cluster["machines"], cluster["kinds"], cluster["rack"]) == (10, ["v100x4", "a100x4"], 2)
    assert document["workload"] | {"arrivals": "poisson", "load": 0.5} == document["workload"]
    assert document["options"] | {"preemption": True, "mood_sigma": 0.2, "repair_s": 3600.0} == document["options"]
    assert main([*base, "--no-preemption", "--cluster", "small", "--arrivals", "batch"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"]["preemption"] is False and document["options"]["cluster"]["machines"] == 8
    assert document["workload"]["arrivals"] == "batch" and "load" not in document["workload"]


def test_machines_of_a_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "machines.csv"
    file.write_text("name,type,gpus,cpus,memory\nbig,A100,8,96,1152\nsmall,T4,4,48,192\nold,V100,8,64,488\n")
    words = ["compare", "gpu", "--jobs", "5", "--seeds", "1", "--cluster", str(file), "--schedulers", NAMES]
    assert main([*words, "--json", "--out", str(tmp_path / "a")]) == 0
    cluster = json.loads(capsys.readouterr().out)["options"]["cluster"]
    assert [one["name"] for one in cluster["listed"]] == ["big", "small", "old"]
    file.write_text(file.read_text().replace("A100", "A1000"))
    assert main(words) == 2
    assert "row 2, field 'type': unknown type of GPU 'A1000'; did you mean 'A100'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", "0"], "jobs is 0"),
        (["--machines", "0"], "machines is 0"),
        (["--machines", "1"], "can never start"),
        (["--rack", "0"], "rack is 0"),
        (["--kinds", "v100x3"], "unknown kind of machine 'v100x3'; did you mean"),
        (["--kinds", ","], "kinds: none given"),
        (["--load", "0"], "load is 0; expected a share of the cluster above 0"),
        (["--load", "0.5", "--arrivals", "poisson:load=0.7"], "a load of 0.5 and arrivals at 0.7 are given"),
        (["--load", "0.5", "--arrivals", "batch"], "batch takes no load"),
        (["--arrivals", "poison"], "unknown kind of arrivals 'poison'; did you mean 'poisson'?"),
        (["--arrivals", "trace"], "no recorded jobs"),
        (["--cluster", "smal"], "unknown cluster 'smal'; did you mean 'small'?"),
        (["--cluster", "none.csv"], "none.csv"),
        (["--speeds", "none.json"], "none.json"),
        (["--interval", "-1"], "--interval is -1"),
        (["--quantum", "0"], "--quantum is 0"),
        (["--moods", "-1"], "--moods: sigma is -1"),
        (["--cluster", "small:uneven=-1"], "cluster small:uneven=-1: uneven is -1"),
        (["--failures", "often"], "--failures: cannot read 'often'; expected MTTF or MTTF:REPAIR"),
        (["--failures", "1"], "it would hardly ever complete"),
        (["--moods", "0.1:2:3:4"], "--moods: cannot read '0.1:2:3:4'"),
        (["--moods", "9"], "--moods: sigma is 9"),
        (["--workload", "smal"], "did you mean 'small'?"),
        (["--workload", "no/such/dir"], "no such directory"),
        (["--schedulers", "dag/fair"], "unknown gpu scheduler 'dag/fair'"),
        (["--schedulers", "gpu/fifo+first"], "unknown place in scheduler 'gpu/fifo+first': 'first'"),
        (["--schedulers", ""], "names of gpu/..."),
        (["--by", "avg_jct"], "did you mean 'avg_jct_s'?"),
        (["--config", "no-such.toml"], "no-such.toml: cannot be read"),
    ],
)
def test_bad_input(words: list[str], message: str, tmp_path: Path, capsys: Captured) -> None:
    base = [*COMPARE, "--schedulers", "gpu/fifo+first-fit", "--out", str(tmp_path / "x")]
    assert main([*base, *words]) == 2
    found = capsys.readouterr()
    assert message in found.err and found.out == "" and not (tmp_path / "x").exists()


@pytest.mark.parametrize("verb", ["compare", "simulate"])
def test_help_is_that_of_the_family(verb: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main([verb, "gpu", "--help"])
    text = capsys.readouterr().out
    assert "--machines" in text and "--preemption" in text and "--executors" not in text and "--slots" not in text
