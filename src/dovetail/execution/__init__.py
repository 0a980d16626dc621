"""Real work in real time, decided by the same schedulers as the simulator's.

    from dovetail.execution import Engine, Job, connect

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.core.lazy import lazy_exports

if TYPE_CHECKING:
    from dovetail.execution.engine import Engine as Engine
    from dovetail.execution.engine import connect as connect
    from dovetail.execution.errors import EngineUnreachable as EngineUnreachable
    from dovetail.execution.errors import InvalidJob as InvalidJob
    from dovetail.execution.errors import JobCancelled as JobCancelled
    from dovetail.execution.errors import JobFailed as JobFailed
    from dovetail.execution.errors import WaitTimeout as WaitTimeout
    from dovetail.execution.handle import JobHandle as JobHandle
    from dovetail.execution.job import Job as Job
    from dovetail.execution.job import Stage as Stage
    from dovetail.execution.job_file import load_job as load_job

_EXPORTS = {
    "Engine": "dovetail.execution.engine",
    "EngineUnreachable": "dovetail.execution.errors",
    "InvalidJob": "dovetail.execution.errors",
    "Job": "dovetail.execution.job",
    "JobCancelled": "dovetail.execution.errors",
    "JobFailed": "dovetail.execution.errors",
    "JobHandle": "dovetail.execution.handle",
    "Stage": "dovetail.execution.job",
    "WaitTimeout": "dovetail.execution.errors",
    "connect": "dovetail.execution.engine",
    "load_job": "dovetail.execution.job_file",
}

__all__ = [
    "Engine",
    "EngineUnreachable",
    "InvalidJob",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobHandle",
    "Stage",
    "WaitTimeout",
    "connect",
    "load_job",
]

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
