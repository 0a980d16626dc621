"""What a run leaves behind: versioned Parquet tables and a manifest.  `docs/records.md` specifies them."""

from __future__ import annotations

from dovetail.records.dag import (
    DagDecisions,
    DagEdges,
    DagJobs,
    DagRun,
    DagStages,
    DagTasks,
    read_run,
    run_name,
    write_run,
)
from dovetail.records.directory import DagRecords, RunEntry, read_records
from dovetail.records.manifest import SCHEMA, canonical_params
from dovetail.records.summary import Summary
from dovetail.records.writer import RecordWriter

__all__ = [
    "SCHEMA",
    "DagDecisions",
    "DagEdges",
    "DagJobs",
    "DagRecords",
    "DagRun",
    "DagStages",
    "DagTasks",
    "RecordWriter",
    "RunEntry",
    "Summary",
    "canonical_params",
    "read_records",
    "read_run",
    "run_name",
    "write_run",
]
