"""`dovetail run gpu --engine slurm`: what a person would type wrong, and a machine without Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "either --partition P or --marker M"),
        (["--partition", "gpu", "--marker", "ml"], "either --partition P or --marker M"),
        (["--partition", "gpu", "--engine", "local"], "unknown engine 'local'"),
        (["--partition", "gpu", "--scheduler", "gpu/fifo+first-fat"], "did you mean 'first-fit'"),
        (["--partition", "gpu", "--speeds", "nowhere.csv"], "nowhere.csv"),
        (["--partition", "gpu", "--scheduler", "dag/fifo"], "unknown gpu scheduler 'dag/fifo'"),
        (["--partition", "a,b"], "the name of one"),
        (["--marker", "two words"], "one word of letters"),
        (["--partition", "gpu", "--interval", "0"], "expected 0.1 to 3600"),
        (["--partition", "gpu", "--interval", "60"], "too long for --lease 120"),
        (["--partition", "gpu", "--lease", "1", "--interval", "0.1"], "lease_s is 1; expected 10"),
        (["--partition", "gpu", "--patience", "0"], "patience_s is 0"),
        (["--partition", "gpu", "--for", "nan"], "expected seconds above 0"),
        (["--partition", "gpu", "--seed", "-1"], "expected 0 or more"),
    ],
)
def test_bad_options_are_explained(options: list[str], said: str, capsys: Capture) -> None:
    assert main(["run", "gpu", *options]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and not printed.out


@pytest.mark.parametrize("options", [["--partition", "gpu"], ["--release"]])
def test_without_slurm_it_says_what_is_missing(
    options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["run", "gpu", *options]) == 2
    assert "squeue is not installed" in capsys.readouterr().err
