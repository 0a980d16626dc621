from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dovetail.cli import main


def test_default_place(shared_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = Path(shutil.copytree(shared_records, tmp_path / "r"))
    assert main(["report", str(records)]) == 0
    assert capsys.readouterr().out == f"{records / 'report.html'}\n"
    assert (records / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_out_and_png(shared_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, figures = tmp_path / "x.html", tmp_path / "png"
    assert main(["report", str(shared_records), "--out", str(page), "--png", str(figures)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(page)
    assert len(lines) == 9 and all(Path(line).is_file() for line in lines)
    assert not (shared_records / "report.html").exists()


def test_out_may_be_a_directory(shared_records: Path, tmp_path: Path) -> None:
    assert main(["report", str(shared_records), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").is_file()


def test_open(
    shared_records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: bool(opened.append(url)))
    assert main(["report", str(shared_records), "--out", str(tmp_path / "x.html"), "--open"]) == 0
    assert opened == [(tmp_path / "x.html").resolve().as_uri()]
    assert "no browser found" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["report"], ["export", "--perfetto", "x.json"], ["explain", "--job", "0"]])
def test_no_records(verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb, str(tmp_path / "none")]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert "no such directory" in found.err and "Traceback" not in found.err


def test_unwritable_place(shared_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(shared_records), "--out", str(tmp_path / "none" / "x.html")]) == 2
    assert "no such directory" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_png_must_be_a_directory_and_nothing_is_written_otherwise(
    shared_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    words = ["report", str(shared_records), "--out", str(tmp_path / "x.html"), "--png", str(tmp_path / "file")]
    assert main(words) == 2
    assert "not a directory" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()
