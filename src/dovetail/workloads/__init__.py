"""Bytes on disk, or a distribution, become validated job tables."""

from dovetail.workloads.arrivals import Arrivals, Deadlines
from dovetail.workloads.dag import WAVES, DagCatalogue, DagWorkload
from dovetail.workloads.source import DagSource, open_source

__all__ = ["WAVES", "Arrivals", "DagCatalogue", "DagSource", "DagWorkload", "Deadlines", "open_source"]
