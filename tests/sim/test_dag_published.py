"""With the published simulator's faults switched on, its published figures come out (`benchmarks/dag_published.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.dag_published import FAULTS, PUBLISHED, average_jct, sequence
from tests.workloads.samples import DATA, needs_data

from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import Compat, DagOptions, DagWorld, run
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.readers.tpch import read_tpch

pytestmark = needs_data("tpch")


@pytest.fixture(scope="module")
def catalogue() -> DagCatalogue:
    return read_tpch(DATA / "tpch").source.catalogue


def test_fair_on_200_jobs(catalogue: DagCatalogue) -> None:
    """Five sequences were published, so this can show that we are not far off, but not that the faults matter."""
    ours = average_jct(catalogue, 200, 40, "dag/fair", FAULTS)
    published, sequences = PUBLISHED[200], 5
    error = ours.std() * np.sqrt(1 / len(ours) + 1 / sequences)
    assert abs(ours.mean() - published) < 2 * error
    assert error < 6


def test_fair_on_5000_jobs(catalogue: DagCatalogue) -> None:
    def agrees(compat: Compat) -> bool:
        ours = average_jct(catalogue, 5000, 4, "dag/fair", compat)
        return bool(abs(ours.mean() - PUBLISHED[5000]) < 2 * ours.std(ddof=1) * np.sqrt(1 / len(ours) + 1) + 0.5)

    assert agrees(FAULTS) and not agrees(Compat())


def test_each_job_alone(catalogue: DagCatalogue) -> None:
    """Published: 27.0 s on average over three sequences of 200 jobs, each alone on the whole cluster."""
    alone = np.empty(catalogue.num_dags)
    for dag in range(catalogue.num_dags):
        one = DagWorkload(catalogue, ("job",), np.array([dag]), np.zeros(1), np.ones(1), np.full(1, np.inf))
        world = DagWorld(one, DagOptions(executors=50, compat=FAULTS), SeedTree(dag))
        alone[dag] = run(world, SCHEDULERS.create("dag/fair"), np.random.default_rng(0)).avg_jct_s
    drawn = alone[sequence(catalogue, 20_000, 0).job_dag]
    error = drawn.std() / np.sqrt(600)
    assert abs(drawn.mean() - 27.0) < 2 * error
    assert error < 2


def test_without_the_faults_everything_is_faster_and_spilling_over_pays(catalogue: DagCatalogue) -> None:
    sound, faulty, spill = (
        average_jct(catalogue, 200, 10, name, compat)
        for name, compat in (("dag/fair", Compat()), ("dag/fair", FAULTS), ("dag/fair-spill", Compat()))
    )
    assert (sound < faulty).all()
    assert spill.mean() < 0.92 * sound.mean()
