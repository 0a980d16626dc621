"""Showing only some jobs of a view, for a reader with room for so many stages and no more."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.dag import Bools, DagView, Ints
from dovetail.core.errors import ConfigError


def cut_to_size(view: DagView, max_stages: int) -> tuple[DagView, Ints]:
    """The view without the jobs that there is no room for, and the stage index in `view` of each stage left.

    Jobs with a stage that may be chosen come first, then the others, each in order of arrival; all up to the
    first that no longer fits are kept.  What is kept stays in order of arrival.  So something that may be
    chosen is always left, if there was anything and the largest job has room.
    """
    if len(view.stage_id) <= max_stages:
        return view, np.arange(len(view.stage_id))
    sizes = np.diff(view.job_stage_ptr)
    choices = np.bincount(view.stage_job[view.stage_valid], minlength=len(sizes))
    order = np.argsort(choices == 0, kind="stable")
    keep = np.zeros(len(sizes), dtype=np.bool_)
    keep[order[np.cumsum(sizes[order]) <= max_stages]] = True
    if not keep.any():
        raise ConfigError(
            f"there is room for {max_stages} stages, but job {view.job_id[order[0]]} alone has "
            f"{sizes[order[0]]}; make room for the largest job at least"
        )
    return select_jobs(view, keep)


def select_jobs(view: DagView, keep: Bools) -> tuple[DagView, Ints]:
    """The view of the jobs where `keep` (J,) holds, and the stage index in `view` of each stage left.

    If the executors on offer belong to a job left out, `source_job` and `source_stage` are -1.
    """
    stages = np.flatnonzero(keep[view.stage_job])
    new_job = np.where(keep, np.cumsum(keep) - 1, -1)
    new_stage = np.full(len(view.stage_id), -1, dtype=np.int64)
    new_stage[stages] = np.arange(len(stages))
    edges = keep[view.stage_job[view.edge_parent]]
    rows = {"job": keep, "sta": stages, "edg": edges}
    columns = [name for name in DagView._fields[5:] if name != "job_stage_ptr"]
    parts: dict[str, Any] = {name: getattr(view, name)[rows[name[:3]]] for name in columns}
    parts["job_stage_ptr"] = np.append(0, np.cumsum(np.diff(view.job_stage_ptr)[keep]))
    parts["stage_job"] = new_job[parts["stage_job"]]
    parts["edge_parent"] = new_stage[parts["edge_parent"]]
    parts["edge_child"] = new_stage[parts["edge_child"]]
    source_job = int(new_job[view.source_job]) if view.source_job >= 0 else -1
    source_stage = int(new_stage[view.source_stage]) if view.source_stage >= 0 else -1
    return view._replace(source_job=source_job, source_stage=source_stage, **parts), stages
