"""Which jobs of Slurm's are ours to schedule, and which are not: by their state, their words and our traces."""

from __future__ import annotations

from dovetail.execution.engines.slurm.cluster import Cluster
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.messages import SlurmOptions
from dovetail.execution.engines.slurm.shape import Shape, shape_of
from dovetail.execution.engines.slurm.trace import BACK, FREE, TAKING, TOLD, is_marked, said, trace_of

LONGEST_HANDOVER_S = 600.0  # a marked job that may not begin for longer means it
HELD_BY_USER = "JobHeldUser"
NO_GPUS = "cpu"  # kind of training

UNTOUCHED, TAKE, CLEAN_UP, WATCH = "untouched", "take", "clean up", "watch"


def in_scope(job: SlurmJob, options: SlurmOptions) -> bool:
    if options.partition is not None:
        return job.partition == options.partition
    return is_marked(job, options.marker)


def handed_in(job: SlurmJob, options: SlurmOptions, now_s: float) -> bool:
    """Submitted for us so that Slurm would not begin it at once: marked, and held or with a begin soon to come.

    A job that was held later has been allowed to begin before; then the hold is its user's wish.
    """
    if not is_marked(job, options.marker) or trace_of(job) is not None:
        return False
    if job.is_held:
        return job.reason == HELD_BY_USER and job.eligible_s == 0.0
    return now_s < job.eligible_s <= now_s + LONGEST_HANDOVER_S


def verdict(job: SlurmJob, options: SlurmOptions, owner: str, dead: frozenset[str], now_s: float) -> str:
    """What to do with a job that is not known yet."""
    trace = trace_of(job)
    if trace is None or trace.state == FREE:
        return TAKE if _is_free(job, options, now_s) else UNTOUCHED
    if trace.state == BACK or (trace.owner != owner and trace.owner not in dead):
        return UNTOUCHED
    if job.holds_nodes:
        return WATCH
    if not job.is_pending:
        return UNTOUCHED
    if (job.is_held and trace.state != TAKING) or not in_scope(job, options):
        return CLEAN_UP
    return TAKE


def _is_free(job: SlurmJob, options: SlurmOptions, now_s: float) -> bool:
    if not job.is_pending or not in_scope(job, options):
        return False
    if handed_in(job, options, now_s):
        return True
    return not job.is_held and job.eligible_s <= now_s


def described(job: SlurmJob, cluster: Cluster, options: SlurmOptions) -> Shape | str:
    """What it needs; or, as text, why Slurm has to see to it."""
    trace = trace_of(job)
    if (job.required_nodes or job.excluded_nodes) and (trace is None or trace.state != TOLD):
        return "names nodes, or excludes some"
    if job.wishes:
        return job.wishes[0]
    return shape_of(job, cluster, kind_of(job, cluster, options))


def kind_of(job: SlurmJob, cluster: Cluster, options: SlurmOptions) -> int:
    """What its user says, or what it must be without GPUs."""
    wants_gpus = job.gres_per_node or job.gres_per_task or job.gres_per_job
    return cluster.kind_of(said(job, options.marker).get("kind", "" if wants_gpus else NO_GPUS))
