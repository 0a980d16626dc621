"""`experiments/spark_tpch.py --quick` on a real standalone Spark: what it measures, and that nothing of it stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engines.test_spark_eventlog import why_not

from dovetail.workloads.bundled import measured
from dovetail.workloads.source import open_source

SCRIPT = Path(__file__).parents[2] / "experiments" / "spark_tpch.py"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def why_not_measured() -> str:
    missing = shutil.which("tpchgen-cli", path=PATH) is None
    return why_not() or ("no tpchgen-cli: pip install 'dovetail[bench]'" if missing else "")


def left_over(folder: Path) -> list[str]:
    """Processes that work in this folder, or were told of it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = os.readlink(process / "cwd")
        except OSError:
            continue
        if str(folder) in words or where.startswith(str(folder)):
            found.append(words)
    return found


@pytest.mark.skipif(bool(why_not_measured()), reason=why_not_measured())
def test_a_quick_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, str(SCRIPT), "--quick", "--anyway", "--out", str(tmp_path / "run")]
    env = os.environ | {"TMPDIR": str(temporary), "PATH": PATH}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    assert left_over(temporary) == []
    assert not list(temporary.glob("dovetail-spark-*"))
    assert len([log for log in (tmp_path / "run" / "events").iterdir() if not log.name.startswith(".")]) == 6
    (tmp_path / "run" / "workload").rename(tmp_path / "tpch_spark")
    monkeypatch.setattr(measured, "FOLDER", tmp_path)
    catalogue = open_source("tpch-spark").catalogue
    assert catalogue.dag_name == ("tpch-0.01g-q1", "tpch-0.01g-q3", "tpch-0.01g-q6")
    assert set(catalogue.duration_executors) == {1, 2}
    assert (catalogue.dag_stages >= 2).all()  # at least a scan, and what adds its parts up
    again = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert again.returncode == 0 and " of 6: " not in again.stderr
