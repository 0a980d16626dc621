"""`dovetail run elastic`: what a person would type, and what is left of it."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")

from dovetail.cli import main, run_elastic
from dovetail.records.elastic import ElasticRun
from dovetail.records.run import read_run

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.xdist_group("elastic")

QUICK = ["run", "elastic", "--jobs", "3", "--slots", "8", "--slot", "0.5", "--pad", "0.01", "--hosts", "2,2"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "elastic/fifoo"], "elastic/fifo"),
        (["--scheduler", "dag/fifo"], "elastic scheduler"),
        ([], "--scheduler: expected one"),
        (["--scheduler", "elastic/fifo", "--engine", "cloud"], "local"),
        (["--scheduler", "elastic/fifo", "--address", "here:1"], "--engine ray"),
        (["--scheduler", "elastic/fifo", "--jobs", "0"], "expected 1 to 1,000"),
        (["--scheduler", "elastic/fifo", "--slots", "0"], "expected 1 to"),
        (["--scheduler", "elastic/fifo", "--slot", "nan"], "expected 0.2 to 3600"),
        (["--scheduler", "elastic/fifo", "--slot", "1", "--pad", "0.5"], "a quarter of a slot"),
        (["--scheduler", "elastic/fifo", "--hosts", "4,x"], "such as 4,4"),
        (["--scheduler", "elastic/fifo", "--hosts", "0"], "expected 1 or more for each host"),
        (["--scheduler", "elastic/fifo", "--models", "mlp,gpt"], "gpt"),
        (["--scheduler", "elastic/fifo", "--margin", "-1"], "expected 0 to 10"),
        (["--scheduler", "elastic/fifo", "--kill-every", "-1"], "0 for never"),
        (["--scheduler", "elastic/fifo", "--calibration", "nowhere.json"], "--calibrate --json"),
        (["--calibrate", "--hosts", "1", "--server-hosts", "1"], "two places or more"),
        (["--calibrate", "--seconds", "0"], "expected 0.1 to 3600"),
        (["--scheduler", "elastic/fifo", "--seconds", "3"], "--seconds is given without --calibrate"),
        (["--scheduler", "elastic/fifo", "--calibrate"], "--scheduler and --calibrate are given"),
        (["--calibration", "cal.json", "--calibrate"], "--calibration and --calibrate are given"),
        (["--kill-every", "1", "--calibrate"], "--kill-every and --calibrate are given"),
    ],
)
def test_bad_options_are_explained(options: list[str], said: str, capsys: Capture) -> None:
    assert main(["run", "elastic", *options]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and not printed.out


@pytest.mark.parametrize("inside", [(), ("deeper",)])
@pytest.mark.parametrize("what", [["--scheduler", "elastic/fifo"], ["--calibrate"]])
def test_a_file_in_the_way_is_told_before_anything_is_measured(
    inside: tuple[str, ...], what: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.cli.run_elastic._fleet", lambda args: pytest.fail("it was started"))
    (tmp_path / "file").write_text("")
    assert main(["run", "elastic", *what, "--out", str(tmp_path.joinpath("file", *inside))]) == 2
    assert "file is not a directory" in capsys.readouterr().err


def test_a_calibration_is_not_written_over_unasked(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def calibrate(*options: str) -> int:
        return main(["run", "elastic", "--calibrate", "--models", "mlp", "--out", str(tmp_path), *options])

    measured = SimpleNamespace(to_json=lambda: {"model": "mlp"})
    monkeypatch.setattr("dovetail.cli.run_elastic._fleet", lambda args: nullcontext())
    monkeypatch.setattr("dovetail.execution.elastic.calibration.calibrate", lambda *args: measured)
    file = tmp_path / "calibration.json"
    file.write_text("of another day")
    assert calibrate("--json") == 2 and file.read_text() == "of another day"
    assert f"{file}: is there already; give another --out, or --force" in capsys.readouterr().err
    assert calibrate("--json", "--force") == 0
    assert json.loads(file.read_text())["calibrations"] == [{"model": "mlp"}]
    assert [path.name for path in tmp_path.iterdir()] == ["calibration.json"]


def test_checkpoints_are_replaced_by_force_alone(tmp_path: Path, capsys: Capture) -> None:
    run = [*QUICK, "--scheduler", "elastic/fifo", "--jobs", "1", "--slots", "2", "--out", str(tmp_path / "run")]
    kept = tmp_path / "run" / "checkpoints" / "elastic-fifo-s0" / "of-another-job.safetensors"
    assert main(run) == 0
    kept.write_text("")
    assert main(run) == 2 and kept.exists()
    assert "has a run of elastic/fifo already" in capsys.readouterr().err
    assert main([*run, "--force"]) == 0 and not kept.exists()


def test_a_calibration_that_lacks_something_says_what(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c.json").write_text('{"calibrations": [{"model": "mlp"}]}')
    words = ["--scheduler", "elastic/fifo", "--calibration", str(tmp_path / "c.json")]
    assert main(["run", "elastic", *words]) == 2
    assert "there is no 'pad_s'" in capsys.readouterr().err


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["run", "elastic", "--scheduler", "elastic/fifo"]) == 2
    assert "pip install 'dovetail[learn]'" in capsys.readouterr().err


def test_replaying_a_workload_is_still_there(capsys: Capture) -> None:
    assert main(["run", "tpch-like", "--scheduler", "elastic/fifo"]) == 2
    assert "dag scheduler" in capsys.readouterr().err


def test_jobs_are_trained_and_told_of(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "run"
    command = [*QUICK, "--scheduler", "elastic/srtf", "--json", "--out", str(out), "--kill-every", "1"]
    assert main(command) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == json.loads((out / "elastic-srtf-s0.json").read_text())
    assert facts["scheduler"] == "elastic/srtf" and len(facts["jobs"]) == 3
    assert facts["jobs_completed"] >= 1 and facts["simulated_jobs_completed"] >= 1
    for job in facts["jobs"]:
        if job["finish"] is not None:
            assert job["batches_done"] == job["batches"]
            assert job["losses"][-1][1] < job["losses"][0][1]
    stood = facts["slots"][0]["workers"]
    assert stood and all(1 <= count <= 4 for count in stood.values())
    assert (out / "elastic-srtf-s0.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((out / "checkpoints" / "elastic-srtf-s0").glob("*.safetensors"))) >= 1
    run = read_run(out / "runs" / "elastic-srtf-s0")
    assert isinstance(run, ElasticRun) and run.jobs.utility.sum() == pytest.approx(facts["utility"])
    assert main(["report", str(out)]) == 0
    assert (out / "report.html").is_file()


def test_a_calibration_is_measured_and_used(tmp_path: Path, capsys: Capture) -> None:
    where = ["--models", "mlp", "--pad", "0.01", "--hosts", "2", "--server-hosts", "1"]
    assert main(["run", "elastic", "--calibrate", "--seconds", "0.3", "--json", *where]) == 0
    text = capsys.readouterr().out
    (one,) = json.loads(text)["calibrations"]
    assert [(point["workers"], point["servers"]) for point in one["points"]] == [(1, 1), (2, 1)]
    file = tmp_path / "calibration.json"
    file.write_text(text)
    run = ["run", "elastic", "--scheduler", "elastic/fifo", "--jobs", "1", "--slots", "3", "--slot", "0.3"]
    kept = ["--out", str(tmp_path / "kept")]
    assert main([*run, *where, *kept, "--calibration", str(file)]) == 0
    printed = capsys.readouterr()
    assert "workers at work" not in printed.err  # nothing was measured anew
    assert "utility" in printed.out
    assert main([*run, *where, "--calibration", str(file), "--pad", "0.02"]) == 2
    assert "measured with --pad 0.01" in capsys.readouterr().err
    assert main([*run, *where, *kept, "--calibration", str(file)]) == 2
    assert "has a run of elastic/fifo already" in capsys.readouterr().err
    assert main([*run, *where, *kept, "--calibration", str(file), "--scheduler", "elastic/drf"]) == 0
    assert sorted(path.name for path in (tmp_path / "kept" / "runs").iterdir()) == ["elastic-drf-s0", "elastic-fifo-s0"]


@pytest.mark.parametrize("wrong", ["Infinity", "NaN", "-1", "0", '"x"', "1e12"])
def test_a_calibration_without_a_speed_is_refused(wrong: str, tmp_path: Path, capsys: Capture) -> None:
    coefficients = ", ".join(f'"{name}": {wrong}' for name in ("1", "1/p", "w/p", "w", "p"))
    file = tmp_path / "calibration.json"
    file.write_text(f'{{"calibrations": [{{"model": "mlp", "pad_s": 0.04, "coefficients": {{{coefficients}}}}}]}}')
    words = ["--scheduler", "elastic/fifo", "--models", "mlp", "--calibration", str(file)]
    assert main(["run", "elastic", *words]) == 2
    assert "expected" in capsys.readouterr().err


def processes_of(folder: Path) -> list[int]:
    """Those that were started with this folder for temporary files."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and f"TMPDIR={folder}\0".encode() in Path(f"/proc/{name}/environ").read_bytes():
                found.append(int(name))
        except OSError:
            continue
    return found


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    """A run that is training, with this folder for temporary files."""
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "dovetail", *QUICK, "--scheduler", "elastic/fifo", "--slots", "100", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "training" in line:
            break
    return process


def wait_until(happened: Callable[[], bool], seconds: float) -> bool:
    end_s = time.monotonic() + seconds
    while not happened() and time.monotonic() < end_s:
        time.sleep(0.05)
    return happened()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    """No process, no temporary file; and no record of a run that has not come to its first checkpoint."""
    folder, out = tmp_path / "temporary", tmp_path / "run"
    process = start(folder, "--slot", "60", "--out", str(out))
    assert wait_until(lambda: len(processes_of(folder)) >= 4, 90.0)  # itself, the nursery, a worker, a server
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert wait_until(lambda: processes_of(folder) == [], 10.0)
    assert list(folder.iterdir()) == []
    assert out.exists() == (number == signal.SIGKILL)


def test_an_interrupt_leaves_the_checkpoints_there_are(tmp_path: Path, capsys: Capture) -> None:
    folder, out = tmp_path / "temporary", tmp_path / "run"
    process = start(folder, "--out", str(out))
    assert wait_until(lambda: any(out.rglob("*.safetensors")), 90.0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"{out}/checkpoints/elastic-fifo-s0; to run there again, give --force" in said
    assert (out / "manifest.json").is_file()
    kept = {path: path.read_bytes() for path in out.rglob("*.safetensors")}
    assert kept and main([*QUICK, "--scheduler", "elastic/fifo", "--slots", "100", "--out", str(out)]) == 2
    assert "has checkpoints of a run that did not end; give another --out, or --force" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in out.rglob("*.safetensors")} == kept


def test_the_recorded_command_has_everything_that_matters() -> None:
    parser = argparse.ArgumentParser()
    run_elastic.configure(parser)
    given = ["--scheduler", "elastic/drf", "--calibration", "c.json", "--engine", "ray", "--address", "here:1"]
    given += ["--kill-every", "2", "--seed", "3"]
    command = run_elastic._command(parser.parse_args(["elastic", *given]))
    again = run_elastic._command(parser.parse_args(command.split()[2:]))
    assert command == again
    assert all(word in command.split() for word in given)
