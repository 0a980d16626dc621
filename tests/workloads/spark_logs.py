"""Event logs as Spark writes them, made event by event.  Times are in ms from the start of the application."""

from __future__ import annotations

import json
import struct
from typing import Any

import pyarrow as pa

EPOCH_MS = 1_700_000_000_000
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"


def stage(
    number: int, tasks: int, *parents: int, rdd: int = -1, persisted: tuple[int, ...] = (), name: str = ""
) -> dict:
    own = number + 100 if rdd < 0 else rdd
    rdds = [{"RDD ID": own, "Name": "MapPartitionsRDD", "Scope": json.dumps({"id": "1", "name": "Exchange"})}]
    rdds += [{"RDD ID": each, "Name": "Kept", "Storage Level": {"Use Memory": True}} for each in persisted]
    return {
        "Stage ID": number,
        "Stage Attempt ID": 0,
        "Stage Name": name or "collect at app.py:1",
        "Number of Tasks": tasks,
        "RDD Info": rdds,
        "Parent IDs": list(parents),
        "Resource Profile Id": 0,
    }


class SparkLog:
    def __init__(self, app: str = "app-1", start: int = 0, properties: dict[str, str] | None = None) -> None:
        self.lines: list[str] = []
        self.start = EPOCH_MS + start
        self._task = 0
        self.event("SparkListenerLogStart", **{"Spark Version": "4.3.0"})
        self.event("SparkListenerApplicationStart", **{"App Name": "test", "App ID": app, "Timestamp": self.start})
        self.event("SparkListenerEnvironmentUpdate", **{"Spark Properties": properties or {}})

    def event(self, kind: str, **fields: Any) -> None:
        self.lines.append(json.dumps({"Event": kind, **fields}, separators=(",", ":")))

    def executor(self, name: str, cores: int, at: int = 0, removed: int | None = None) -> None:
        info = {"Host": "h", "Total Cores": cores}
        added = {"Timestamp": self.start + at, "Executor ID": name, "Executor Info": info}
        self.event("SparkListenerExecutorAdded", **added)
        if removed is not None:
            self.event("SparkListenerExecutorRemoved", **{"Timestamp": self.start + removed, "Executor ID": name})

    def job(self, number: int, at: int, *stages: dict, execution: int | None = None, description: str = "") -> None:
        properties = {"spark.job.description": description} if description else {}
        if execution is not None:
            properties["spark.sql.execution.id"] = str(execution)
        fields = {"Job ID": number, "Submission Time": self.start + at, "Stage Infos": stages, "Properties": properties}
        self.event("SparkListenerJobStart", **fields)

    def job_end(self, number: int, at: int, result: str = "JobSucceeded") -> None:
        fields = {"Job ID": number, "Completion Time": self.start + at, "Job Result": {"Result": result}}
        self.event("SparkListenerJobEnd", **fields)

    def task(self, stage: int, launch: int, end: int, executor: str = "1", **changes: Any) -> None:
        """`changes`: failed, killed, copy, result, peak, fetched (ms), info (fields of its own)."""
        failed, killed = bool(changes.get("failed")), bool(changes.get("killed"))
        info = {
            "Task ID": self._task,
            "Index": 0,
            "Launch Time": self.start + launch,
            "Executor ID": executor,
            "Speculative": bool(changes.get("copy")),
            "Getting Result Time": self.start + changes["fetched"] if "fetched" in changes else 0,
            "Finish Time": self.start + end,
            "Failed": failed,
            "Killed": killed,
            "Accumulables": [{"ID": 1, "Name": 'odd ]},"Task Metrics" name', "Value": [1, 2]}],
            **changes.get("info", {}),
        }
        self._task += 1
        reason = {"Reason": "ExceptionFailure" if failed else "TaskKilled" if killed else "Success"}
        metrics = {
            "Peak Execution Memory": changes.get("peak", 0),
            "Input Metrics": {"Bytes Read": 1000, "Records Read": 10},
            "Shuffle Write Metrics": {"Shuffle Bytes Written": 500},
        }
        kind = "ResultTask" if changes.get("result") else "ShuffleMapTask"
        self.event(
            "SparkListenerTaskEnd",
            **{
                "Stage ID": stage,
                "Task Type": kind,
                "Task End Reason": reason,
                "Task Info": info,
                "Task Metrics": metrics,
            },
        )

    def stage_completed(self, number: int, failure: str) -> None:
        self.event("SparkListenerStageCompleted", **{"Stage Info": {"Stage ID": number, "Failure Reason": failure}})

    def sql(self, number: int, at: int, root: int | None = None, description: str = "q") -> None:
        fields = {"executionId": number, "rootExecutionId": number if root is None else root, "time": self.start + at}
        self.event(SQL + "Start", description=description, **fields)

    def sql_end(self, number: int, at: int, **more: Any) -> None:
        self.event(SQL + "End", executionId=number, time=self.start + at, **{"errorMessage": "", **more})

    def end(self, at: int) -> SparkLog:
        self.event("SparkListenerApplicationEnd", **{"Timestamp": self.start + at})
        return self

    def text(self) -> bytes:
        return "".join(line + "\n" for line in self.lines).encode()


def two_stages(app: str = "app-1", start: int = 0) -> SparkLog:
    """A Spark job of three tasks, then two, on one executor of two cores."""
    log = SparkLog(app, start)
    log.executor("1", 2)
    log.job(0, 100, stage(0, 3), stage(1, 2, 0), description="words")
    log.task(0, 110, 1110)
    log.task(0, 110, 1310)
    log.task(0, 1112, 1612)
    log.task(1, 1700, 2000, result=True)
    log.task(1, 1700, 2100, result=True)
    log.job_end(0, 2110)
    return log.end(2200)


def stream(data: bytes, codec: str) -> bytes:
    """In zstd, gzip or lz4 frames."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as out:
        out.write(data)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def lz4_blocks(data: bytes, size: int = 1000) -> bytes:
    """As lz4-java writes it; every third block is stored as it is."""
    codec, out = pa.Codec("lz4_raw"), b""
    for place in range(0, len(data), size):
        block = data[place : place + size]
        is_plain = place // size % 3 == 2
        packed = block if is_plain else codec.compress(block, asbytes=True)
        token = 0x10 if is_plain else 0x20
        out += b"LZ4Block" + bytes([token]) + struct.pack("<iiI", len(packed), len(block), 0) + packed
    return out + b"LZ4Block" + bytes([0x10]) + struct.pack("<iiI", 0, 0, 0)


def snappy_blocks(data: bytes, size: int = 1000) -> bytes:
    """As snappy-java writes it, in two streams, one after the other."""
    codec, head, out = pa.Codec("snappy"), b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1), b""
    for place in range(0, len(data), size):
        packed = codec.compress(data[place : place + size], asbytes=True)
        out += (head if place in (0, 2 * size) else b"") + struct.pack(">i", len(packed)) + packed
    return out
