"""Bytes on disk, or a distribution, become validated job tables."""

from dovetail.workloads.arrivals import Arrivals, Deadlines
from dovetail.workloads.dag import WAVES, DagCatalogue, DagWorkload
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_source import ElasticSource, open_elastic
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_source import GpuSource, open_gpu
from dovetail.workloads.source import DagSource, open_source
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_source import StreamSource, open_stream

__all__ = [
    "WAVES",
    "Arrivals",
    "DagCatalogue",
    "DagSource",
    "DagWorkload",
    "Deadlines",
    "ElasticArrivals",
    "ElasticSource",
    "ElasticWorkload",
    "GpuArrivals",
    "GpuSource",
    "GpuWorkload",
    "StreamSource",
    "StreamWorkload",
    "open_elastic",
    "open_gpu",
    "open_source",
    "open_stream",
]
