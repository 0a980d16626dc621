"""Which jobs of Slurm's are ours to schedule, and which are not: by their state, their words and our traces."""

from __future__ import annotations

from dovetail.core.suggest import did_you_mean
from dovetail.execution.engines.slurm.cluster import OTHER, Cluster
from dovetail.execution.engines.slurm.estimates import positive
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.messages import SlurmOptions
from dovetail.execution.engines.slurm.shape import Shape, shape_of
from dovetail.execution.engines.slurm.trace import BACK, FREE, TAKING, TOLD, is_marked, parts, said, trace_of

LONGEST_HANDOVER_S = 600.0  # a marked job that may not begin for longer means it
HELD_BY_USER = "JobHeldUser"
NO_GPUS = "cpu"  # kind of training
MOST_KINDS = 5  # named where one is not known
KIND, ESTIMATE = "kind", "estimate_s"  # what a comment may say

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
    return cluster.kind_of(said(job, options.marker).get(KIND, "" if wants_gpus else NO_GPUS))


def complaints(job: SlurmJob, cluster: Cluster, options: SlurmOptions) -> list[str]:
    """What its comment says that cannot be followed, and what is done instead."""
    found = []
    for key, sign, value in parts(job, options.marker):
        if not sign and key:
            found.append(f"{key!r} is no setting; expected {KIND}=... or {ESTIMATE}=...")
        elif key not in (KIND, ESTIMATE) and key:
            found.append(f"{key!r} is no setting that is known; expected {KIND} or {ESTIMATE}")
        elif key == KIND and value not in cluster.info.kind_name:
            close = did_you_mean(value, cluster.info.kind_name, MOST_KINDS)
            found.append(f"{KIND}={value}: no such kind of training{close}; it is taken for `{OTHER}`")
        elif key == ESTIMATE and positive(value) is None:
            found.append(f"{ESTIMATE}={value}: expected seconds above 0; it is as if nothing were said")
    return found
