"""What is said of engines that are there, missing, or of another version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.probes import PROBES, finding, flink, java, probe, slurm, spark


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any package, command or Java."""

    def none(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(finding, "version", none)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("FLINK_HOME", raising=False)
    return tmp_path


def fake_java(directory: Path, says: str) -> None:
    file = directory / "java"
    file.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    file.chmod(0o755)


def test_each_says_what_to_install(nothing: Path) -> None:
    missing = {engine: " ".join(probe(engine).missing) for engine in PROBES}
    assert missing["local"] == ""
    assert "pip install 'dovetail[ray]'" in missing["ray"]
    assert "apt install slurm-client" in missing["slurm"]
    assert "pip install 'dovetail[spark]'" in missing["spark"] and "openjdk-17-jre-headless" in missing["spark"]
    assert "apache-flink-libraries==2.3.0" in missing["flink"] and "openjdk-17-jre-headless" in missing["flink"]


@pytest.mark.parametrize(
    ("says", "there", "is_missing"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "Java 17", False),
        ('java version "1.8.0_402"', "Java 8", True),
        ('openjdk version "21" 2023-09-19', "Java 21", False),
        ("what?", None, True),
    ],
)
def test_which_java_will_do(nothing: Path, says: str, there: str | None, is_missing: bool) -> None:
    fake_java(nothing, says)
    found, missing = java.find_java(17, 21)
    assert (found or "").startswith(there or "") and (found is None) == (there is None)
    assert (missing is not None) == is_missing


def test_java_home_counts_first(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(nothing, 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(nothing / "elsewhere"))
    _, missing = java.find_java(17, 21)
    assert missing is not None and "elsewhere, where no bin/java is" in missing


def test_a_version_of_spark_that_was_not_tested(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(nothing, 'openjdk version "17.0.1"')
    monkeypatch.setattr(finding, "version", lambda name: "3.5.1")
    found = spark.probe()
    assert found.is_usable and found.there[0] == "pyspark 3.5.1"
    assert "watched, not steered" in found.notes[0]


def test_flink_may_be_unpacked_somewhere(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(nothing, 'openjdk version "17.0.1"')
    monkeypatch.setenv("FLINK_HOME", str(nothing))
    assert "where no bin/flink is" in flink.probe().missing[0]
    (nothing / "bin").mkdir()
    (nothing / "bin" / "flink").touch()
    assert flink.probe().is_usable


def test_a_slurm_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(self: SlurmClient) -> str:
        raise SlurmError("Unable to contact slurm controller")

    monkeypatch.setattr(slurm.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(SlurmClient, "check", silent)
    assert "a running slurmctld: Unable to contact" in slurm.probe().missing[0]


def test_a_probe_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROBES, "ray", "dovetail.execution.probes.nosuch")
    found = probe("ray")
    assert not found.is_usable and "ModuleNotFoundError" in found.missing[0]
