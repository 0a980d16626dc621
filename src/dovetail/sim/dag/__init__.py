"""Batch jobs that are DAGs, in virtual time."""

from dovetail.sim.dag.options import Compat, DagOptions
from dovetail.sim.dag.result import DagResult
from dovetail.sim.dag.run import DagScheduler, run
from dovetail.sim.dag.world import DagWorld

__all__ = ["Compat", "DagOptions", "DagResult", "DagScheduler", "DagWorld", "run"]
