"""Event logs that a real Spark wrote, read: stages, tasks and durations are what the application is known to have."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from dovetail.cli import main
from dovetail.workloads.check import check_source
from dovetail.workloads.dag import FIRST, FRESH, REST, DagCatalogue
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.readers.spark_eventlog import SparkOptions, read_spark_eventlog
from dovetail.workloads.source import DagSource

APP = Path(__file__).parent / "spark_app.py"
CODECS = ("zstd", "lz4", "snappy")


def why_not() -> str:
    """Why there is no Spark here; nothing if there is."""
    if find_spec("pyspark") is None:
        return "no pyspark: pip install 'dovetail[spark]'"
    return "" if shutil.which("java") else "no Java: apt install openjdk-17-jre-headless"


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the application left."""
    folder = tmp_path_factory.mktemp("spark")
    env = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(APP), str(folder)], env=env, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def dag_of(imported: Imported[DagSource], words: str) -> tuple[DagCatalogue, list[str]]:
    """The only kind with this description; the catalogue is made with `merge_runs`."""
    catalogue = imported.source.catalogue
    own = catalogue.single(catalogue.dag_name.index(words))
    parents, children = own.edge_rows
    return own, [f"{p}>{c}" for p, c in zip(parents.tolist(), children.tolist(), strict=True)]


def seconds(catalogue: DagCatalogue, stage: int, wave: int) -> np.ndarray:
    groups = np.flatnonzero((catalogue.duration_stage == stage) & (catalogue.duration_wave == wave))
    rows = [catalogue.duration_s[catalogue.duration_ptr[g] : catalogue.duration_ptr[g + 1]] for g in groups]
    return np.concatenate([np.empty(0), *rows])


def test_what_a_real_application_did(logs: Path) -> None:
    nap_s = json.loads((logs / "known.json").read_text())["nap_s"]
    imported = read_spark_eventlog(logs / "plain", SparkOptions(merge_runs=True))
    check_source(imported.source)
    assert set(imported.source.catalogue.duration_executors) == {2}

    naps, edges = dag_of(imported, "naps")
    assert naps.num_tasks.tolist() == [6, 3] and edges == ["0>1"]
    assert seconds(naps, 0, FRESH).size == 2 and seconds(naps, 0, REST).size == 4 and seconds(naps, 1, FIRST).size == 2
    assert (seconds(naps, 0, REST) >= nap_s).all()

    again, edges = dag_of(imported, "naps again")
    assert again.num_tasks.tolist() == [3] and not edges

    fails, _ = dag_of(imported, "fails once")
    assert fails.num_tasks.tolist() == [3] and fails.duration_s.size == 3

    cached, edges = dag_of(imported, "cached")
    assert cached.num_tasks.tolist() == [4, 2] and edges == ["0>1"]
    reads, edges = dag_of(imported, "reads the cache")
    assert reads.num_tasks.tolist() == [2] and not edges

    # Two scans, the sample that the sort takes, the shuffle for the sort, and the rest of the query.
    join, _ = dag_of(imported, "adaptive join")
    assert sorted(join.num_tasks.tolist()[:2]) == [2, 4]
    assert join.num_stages == 5 and int(join.dag_depth[0]) == 4
    assert 0 < join.memory.max() < 0.1  # of the half of a GB that each of two cores has

    notes = " ".join(imported.notes)
    assert "1 tasks failed" in notes and "skipped stages were resolved" in notes and "not in the log" not in notes


def test_the_jobs_of_the_query_one_by_one_and_all_in_one(logs: Path) -> None:
    jobs = read_spark_eventlog(logs / "plain", SparkOptions(jobs_are="job")).source
    queries = read_spark_eventlog(logs / "plain").source
    (whole,) = [read_spark_eventlog(logs / "plain", SparkOptions(jobs_are="application")).source]
    assert jobs.catalogue.num_dags > queries.catalogue.num_dags > whole.catalogue.num_dags == 1
    assert jobs.catalogue.num_stages == queries.catalogue.num_stages == whole.catalogue.num_stages
    assert jobs.catalogue.duration_s.sum() == pytest.approx(whole.catalogue.duration_s.sum())
    # One thread runs the program, so everything waits for what came before: there is one first stage.
    assert (whole.catalogue.stage_level == 0).sum() == 1


@pytest.mark.parametrize("codec", CODECS)
def test_rolling_logs_in_every_codec(logs: Path, codec: str) -> None:
    (rolling,) = [entry for entry in (logs / codec).iterdir() if entry.name.startswith("eventlog_v2_")]
    assert any(entry.name.endswith(f".{codec}") for entry in rolling.iterdir())
    source = read_spark_eventlog(rolling).source
    assert source.catalogue.num_tasks.tolist() == [2, 2]


def test_the_end_of_a_log_may_be_missing(logs: Path, tmp_path: Path) -> None:
    (log,) = [entry for entry in (logs / "plain").iterdir() if not entry.name.startswith(".")]
    data = log.read_bytes()
    (tmp_path / "live.inprogress").write_bytes(data[: len(data) * 9 // 10])
    imported = read_spark_eventlog(tmp_path)
    assert imported.source.recorded is not None and imported.source.recorded.num_jobs >= 5


def test_the_command_line(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "imported"
    assert main(["workload", "import", "spark-eventlog", str(logs / "plain"), "--out", str(out)]) == 0
    assert main(["workload", "validate", str(out)]) == 0
    assert "6 jobs" in capsys.readouterr().out
