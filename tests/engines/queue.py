"""`python -m tests.engines.queue run gpu ...`: the command itself, with two schedulers of the tests in the registry."""

from __future__ import annotations

import sys

from dovetail.cli import main
from dovetail.schedulers import SCHEDULERS

SCHEDULERS.register("gpu/test-fifo", "tests.execution.slurm.schedulers:FifoFirstFit", "jobs by arrival, first fit")
SCHEDULERS.register("gpu/test-sjf", "tests.execution.slurm.schedulers:ShortestMostFree", "shortest, most free")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
