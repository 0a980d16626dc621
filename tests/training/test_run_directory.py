"""Where a training run may be kept: in a new or an empty directory, or where it has been before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.cli import main
from dovetail.core.errors import ConfigError
from dovetail.training.run_directory import STATE, RunDirectory, check_place


@pytest.mark.parametrize("family", ["dag", "elastic", "gpu", "stream"])
@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_files_of_somebody_else_are_left_alone(
    family: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="learning needs torch: pip install 'dovetail[learn]'")
    (tmp_path / "manifest.json").write_text("{}")
    assert main(["train", family, "--out", str(tmp_path), *more]) == 2
    assert f"{tmp_path}: not empty, and holds no training run" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["manifest.json"]


def test_a_network_without_its_run_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.safetensors").write_bytes(b"a network")
    with pytest.raises(ConfigError, match="not empty"):
        RunDirectory(tmp_path, {}, resume=False)


def test_a_first_write_that_was_cut_off_is_in_nobody_s_way(tmp_path: Path) -> None:
    for name in (f"{STATE}.part", "state.npz", "state.npz.part"):
        (tmp_path / name).write_bytes(b"")
    directory = RunDirectory(tmp_path, {"seed": 0}, resume=False)
    directory.write({"parameters": np.zeros(2)}, {"iteration": 1})
    check_place(tmp_path, STATE, resume=True)
    with pytest.raises(ConfigError, match="a run is there already"):
        check_place(tmp_path, STATE, resume=False)


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="is a file; expected a directory"):
            RunDirectory(place, {}, resume=False)
