"""`tpch-like` has the shape of the published measurements, and never changes."""

import hashlib

import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.workloads.dag import WAVES
from dovetail.workloads.describe import group_means
from dovetail.workloads.generate.tpch_like import TpchLike
from dovetail.workloads.readers.tpch import read_tpch
from dovetail.workloads.source import open_source

SIZES = (2, 5, 10, 20, 50, 100)


@pytest.fixture(scope="module")
def ours():
    return open_source("tpch-like").catalogue


def test_it_never_changes(ours):
    """Published numbers rest on it.  A change of this workload needs a new name."""
    digest = hashlib.sha256()
    for array in (ours.stage_ptr, ours.num_tasks, ours.edge_parent, ours.edge_child, ours.duration_ptr):
        digest.update(array.astype("<i8").tobytes())
    for array in (ours.duration_stage, ours.duration_wave, ours.duration_executors):
        digest.update(array.astype("<i8").tobytes())
    digest.update(np.round(ours.duration_s * 1e4).astype("<i8").tobytes())
    assert digest.hexdigest() == "8cd6a8cbbdf6350faa9f09131f56e863adb0c7896f6552ecd74c66ba94bf5147"


def test_the_published_shape(ours):
    assert ours.num_dags == 132
    assert (ours.dag_stages.min(), ours.dag_stages.max()) == (2, 18)
    assert ours.dag_stages.mean() == pytest.approx(9, abs=0.5)
    assert ours.dag_depth.mean() == pytest.approx(6, abs=0.5)
    tasks, work = ours.dag_tasks.reshape(6, 22).mean(axis=1), ours.dag_work_s.reshape(6, 22).mean(axis=1)
    assert tasks[0] == pytest.approx(900, rel=0.05)
    assert tasks[-1] == pytest.approx(1600, rel=0.05)
    assert work[0] == pytest.approx(200, rel=0.12)
    assert work[-1] == pytest.approx(2200, rel=0.12)
    assert (np.diff(work) > 0).all()


def test_a_query_is_the_same_at_every_size(ours):
    small, large = ours.select(range(22)), ours.select(range(110, 132))
    assert small.stage_name == large.stage_name
    assert small.edge_parent.tolist() == large.edge_parent.tolist()
    assert (small.num_tasks <= large.num_tasks).all()


def test_parameters():
    catalogue = TpchLike(queries=3, sizes_gb=(1, 80), samples=8, seed=1).catalogue()
    assert catalogue.num_dags == 6
    assert catalogue.dag_name[-1] == "tpch-like-80g-q3"
    with pytest.raises(ValueError, match="sizes_gb"):
        TpchLike(sizes_gb=())
    with pytest.raises(ValueError, match="queries"):
        TpchLike(queries=0)


def marginals(catalogue):
    """What is compared, by name."""
    by_size = {s: [d for d, n in enumerate(catalogue.dag_name) if f"-{s}g-" in n] for s in SIZES}
    work, path = catalogue.dag_work_s, catalogue.dag_critical_path_s
    found = {
        "stages": catalogue.dag_stages.mean(),
        "depth": catalogue.dag_depth.mean(),
        "edges per stage": catalogue.edge_parent.size / catalogue.num_stages,
        "cv of work": work.std() / work.mean(),
    }
    for s, dags in by_size.items():
        found[f"tasks {s} GB"] = catalogue.dag_tasks[dags].mean()
        found[f"work {s} GB"] = work[dags].mean()
        found[f"critical path {s} GB"] = path[dags].mean()
    mean, deviation = group_means(catalogue)
    size = np.diff(catalogue.duration_ptr)

    def by_stage(wave, level):
        chosen = (catalogue.duration_wave == wave) & (catalogue.duration_executors == level)
        values = np.full(catalogue.num_stages, np.nan)
        values[catalogue.duration_stage[chosen]] = mean[chosen]
        return values

    root = catalogue.stage_level == 0
    kinds = {"scan": root & (catalogue.num_tasks > 2), "shuffle": ~root & (catalogue.num_tasks >= 150)}
    for kind, stages in kinds.items():
        for wave, name in enumerate(WAVES):
            large = (size >= 8) & (catalogue.duration_wave == wave) & stages[catalogue.duration_stage]
            found[f"{kind} {name} s"] = np.nanmedian(by_stage(wave, 20)[stages])
            found[f"{kind} {name} cv"] = np.median(deviation[large] / mean[large])
        found[f"{kind} inflation"] = np.nanmedian((by_stage(2, 100) / by_stage(2, 5))[stages])
        found[f"{kind} first/rest"] = np.nanmedian((by_stage(1, 20) / by_stage(2, 20))[stages])
    return found


LOOSE = {"shuffle fresh s": 0.7}  # few stages have them; the rest lie within a quarter


@needs_data("tpch")
def test_marginals_are_close_to_the_measured_ones(ours):
    measured, made = marginals(read_tpch(DATA / "tpch").source.catalogue), marginals(ours)
    table = "\n".join(f"{name:24} {measured[name]:10.3f} {made[name]:10.3f}" for name in measured)
    print(table)
    far = [n for n in measured if abs(made[n] / measured[n] - 1) > LOOSE.get(n, 0.25)]
    assert not far, f"{far}\n{table}"
