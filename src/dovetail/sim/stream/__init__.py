"""Streaming jobs of operators whose parallelism is changed while they run, in virtual time."""

from dovetail.sim.stream.batch import StreamBatch
from dovetail.sim.stream.options import StreamOptions
from dovetail.sim.stream.result import StreamResult
from dovetail.sim.stream.run import StreamScheduler, run
from dovetail.sim.stream.world import StreamWorld

__all__ = ["StreamBatch", "StreamOptions", "StreamResult", "StreamScheduler", "StreamWorld", "run"]
