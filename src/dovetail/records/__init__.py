"""What a run leaves behind: versioned Parquet tables and a manifest.  `docs/records.md` specifies them."""

from __future__ import annotations

from dovetail.records.dag import (
    DagDecisions,
    DagEdges,
    DagJobs,
    DagRun,
    DagStages,
    DagTasks,
)
from dovetail.records.directory import Records, RunEntry, read_records
from dovetail.records.elastic import (
    ElasticAllocationRows,
    ElasticDecisionRows,
    ElasticDemandRows,
    ElasticHostRows,
    ElasticJobRows,
    ElasticRun,
)
from dovetail.records.gpu import (
    GpuDecisionRows,
    GpuJobRows,
    GpuMachineRows,
    GpuOutageRows,
    GpuPlaceRows,
    GpuRun,
    GpuSegmentRows,
    GpuSpeedRows,
)
from dovetail.records.manifest import SCHEMA, canonical_params
from dovetail.records.run import Run, read_run, run_name, write_run
from dovetail.records.stream import (
    StreamDecisionRows,
    StreamDelayRows,
    StreamEdgeRows,
    StreamIntervalRows,
    StreamJobRows,
    StreamOperatorIntervalRows,
    StreamOperatorRows,
    StreamRun,
    StreamSnapshotRows,
)
from dovetail.records.summary import Summary
from dovetail.records.writer import RecordWriter

__all__ = [
    "SCHEMA",
    "DagDecisions",
    "DagEdges",
    "DagJobs",
    "DagRun",
    "DagStages",
    "DagTasks",
    "ElasticAllocationRows",
    "ElasticDecisionRows",
    "ElasticDemandRows",
    "ElasticHostRows",
    "ElasticJobRows",
    "ElasticRun",
    "GpuDecisionRows",
    "GpuJobRows",
    "GpuMachineRows",
    "GpuOutageRows",
    "GpuPlaceRows",
    "GpuRun",
    "GpuSegmentRows",
    "GpuSpeedRows",
    "RecordWriter",
    "Records",
    "Run",
    "RunEntry",
    "StreamDecisionRows",
    "StreamDelayRows",
    "StreamEdgeRows",
    "StreamIntervalRows",
    "StreamJobRows",
    "StreamOperatorIntervalRows",
    "StreamOperatorRows",
    "StreamRun",
    "StreamSnapshotRows",
    "Summary",
    "canonical_params",
    "read_records",
    "read_run",
    "run_name",
    "write_run",
]
