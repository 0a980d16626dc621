"""Bytes on disk, or a distribution, become validated job tables."""

from dovetail.workloads.arrivals import Arrivals, Deadlines
from dovetail.workloads.dag import WAVES, DagCatalogue, DagWorkload
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_source import ElasticSource, open_elastic
from dovetail.workloads.source import DagSource, open_source

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
    "open_elastic",
    "open_source",
]
