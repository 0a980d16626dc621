"""`dovetail doctor`, and what `dovetail run spark` refuses before Java is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.execution.probes import PROBES, Finding, probe


def test_all_engines_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [engine["engine"] for engine in told["engines"]] == list(PROBES)
    assert told["engines"][0]["usable"] is True
    assert set(told["engines"][0]) == {"engine", "usable", "found", "missing", "notes", "use"}


def test_as_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"local": Finding("local", use="dovetail up"), "ray": Finding("ray", missing=("the package ray: pip",))}
    monkeypatch.setattr("dovetail.execution.probes.probe", lambda name: found[name])
    assert main(["doctor", "ray"]) == 0, "what is missing is no error as long as the default engine is there"
    out = capsys.readouterr().out
    assert "ray    missing" in out and "needs the package ray: pip" in out and "local" not in out
    found["local"] = Finding("local", missing=("fork",))
    assert main(["doctor", "ray"]) == 1


def test_an_unknown_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "spakr"]) == 2
    assert "did you mean 'spark'" in capsys.readouterr().err
    assert probe("local").is_usable


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--scheduler", "dag/nosuch", "app.py"], "unknown"),
        (["--scheduler", "gpu/fifo+first-fit", "app.py"], "dag scheduler"),
        (["--every", "minute", "app.py"], "expected one of stage, task"),
        (["--executors", "2", "app.py"], "such as 2-8"),
        (["--seed", "-1", "app.py"], "expected 0 or more"),
        (["nowhere.py", "--act"], "nowhere.py: there is no such file"),
    ],
)
def test_run_spark_refuses(words: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", "spark", *words]) == 2
    assert says in capsys.readouterr().err
