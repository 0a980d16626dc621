"""How event logs become `tpch-spark`, without measuring: the logs are made.  `tests/engines` measures."""

from __future__ import annotations

import argparse
import json

import pytest
import spark_tpch
from tests.workloads.spark_logs import SparkLog, stage
from tpch.tpch_on_spark import SCHEMAS, queries

from dovetail.workloads.bundled import measured
from dovetail.workloads.source import open_source


def event_log(app: str, words: str, executors: int, *, stages: int = 2) -> bytes:
    log = SparkLog(app)
    for number in range(executors):
        log.executor(str(number), 1)
    log.sql(0, 0)
    chain = [stage(number, 4, *([number - 1] if number else [])) for number in range(stages)]
    log.job(0, 0, *chain, execution=0, description=words)
    for number in range(stages):
        for task in range(4):
            launch = 1000 * number + 100 * (task // executors)
            log.task(number, launch, launch + 90, str(task % executors), result=number == stages - 1)
    log.job_end(0, 9000)
    log.sql_end(0, 9000)
    return log.end(9100).text()


@pytest.fixture
def args(tmp_path):
    (tmp_path / "events").mkdir()
    for query in (1, 6):
        for executors in (1, 2):
            for run in (1, 2):
                words = f"tpch-1g-q{query}"
                other_plan = query == 6 and executors == 2 and run == 2
                name = f"{words}-on-{executors}-run-{run}"
                text = event_log(name, words, executors, stages=3 if other_plan else 2)
                (tmp_path / "events" / name).write_bytes(text)
    return argparse.Namespace(
        out=tmp_path, sizes=[1.0], executors=[1, 2], queries=[1, 6], repeats=2, samples=3, write=False
    )


def test_from_logs_to_a_bundle(args, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(spark_tpch, "version", lambda package: "4.3.0")
    catalogue, notes = spark_tpch.distil(args)
    assert catalogue.dag_name == ("tpch-1g-q1", "tpch-1g-q6")
    assert catalogue.num_tasks.tolist() == [4, 4, 4, 4]
    assert set(catalogue.duration_executors) == {1, 2}
    assert "1 other plans of the same queries were left out" in notes
    spark_tpch.ship(args, catalogue, notes, cores=2)
    assert "| 1 | 2.0 | 2.0 | 8.0 | 0.7 | 0.7 | 0.2 |" in capsys.readouterr().out
    made = json.loads((tmp_path / "workload" / "manifest.json").read_text())["provenance"]
    assert made["machine"]["cores"] == 2 and made["spark"]["version"] == "4.3.0"
    (tmp_path / "workload").rename(tmp_path / "tpch_spark")
    monkeypatch.setattr(measured, "FOLDER", tmp_path)
    assert open_source("tpch-spark:queries=[6]").catalogue.dag_name == ("tpch-1g-q6",)


def test_what_was_measured_is_not_measured_again(args):
    spark_tpch.measure(args)  # would need a Spark otherwise


def test_a_busy_machine_is_refused(args, monkeypatch):
    args.anyway = False
    monkeypatch.setattr(spark_tpch.os, "getloadavg", lambda: (0.1, 0, 0))
    spark_tpch.require_quiet(args, cores=2)
    with pytest.raises(SystemExit, match="2 executors of one core on 1 cores"):
        spark_tpch.require_quiet(args, cores=1)
    monkeypatch.setattr(spark_tpch.os, "getloadavg", lambda: (1.9, 0, 0))
    with pytest.raises(SystemExit, match=r"busy \(load 1.9\)"):
        spark_tpch.require_quiet(args, cores=2)
    args.anyway = True
    spark_tpch.require_quiet(args, cores=2)


def test_all_queries_are_there():
    texts = queries(10)
    assert sorted(texts) == list(range(1, 23))
    assert "* 0.0000100000" in texts[11]
    assert all(any(table in text for table in SCHEMAS) and ":" not in text for text in texts.values())
