"""Elastic training jobs of workers and parameter servers, in virtual time."""

from dovetail.sim.elastic.options import ElasticOptions
from dovetail.sim.elastic.result import ElasticResult
from dovetail.sim.elastic.run import ElasticScheduler, run
from dovetail.sim.elastic.world import ElasticWorld

__all__ = ["ElasticOptions", "ElasticResult", "ElasticScheduler", "ElasticWorld", "run"]
