"""Small workloads for the tests, the Hypothesis strategy that makes them, and where the public data is."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from dovetail.workloads.build import CatalogueBuilder
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.source import DagSource

DATA = Path(os.environ.get("DOVETAIL_DATA", Path(__file__).parents[3] / "shared" / "data"))


def needs_data(name: str) -> pytest.MarkDecorator:
    """Skips the test where the public data of that name is not at hand."""
    reason = f"no {name} data: put it in {name}/ of a folder and set DOVETAIL_DATA to that folder"
    return pytest.mark.skipif(not (DATA / name).is_dir(), reason=reason)


def diamond() -> DagCatalogue:
    """Two dags: a diamond a -> (b, c) -> d, and a lone stage."""
    builder = CatalogueBuilder("toy")
    builder.start_dag("diamond")
    for name, tasks, seconds in (("a", 2, 1.0), ("b", 4, 2.0), ("c", 1, 5.0), ("d", 3, 1.0)):
        builder.add_stage(name, tasks=tasks)
        builder.add_durations(1, 5, np.array([seconds, seconds]))
    builder.add_edges(np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]))
    builder.start_dag("lone")
    builder.add_stage("a", tasks=10)
    builder.add_durations(2, 5, np.array([0.5]))
    builder.add_durations(0, 10, np.array([1.5, 2.5]))
    return builder.build()


def recorded(catalogue: DagCatalogue | None = None) -> DagSource:
    """Three recorded jobs of the diamond's catalogue."""
    catalogue = catalogue or diamond()
    workload = DagWorkload(
        catalogue=catalogue,
        job_name=("x", "y", "z"),
        job_dag=np.array([0, 1, 0]),
        arrival_s=np.array([0.0, 10.0, 10.0]),
        weight=np.array([1.0, 2.0, 0.5]),
        deadline_s=np.array([np.inf, 40.0, np.inf]),
    )
    return DagSource("toy", catalogue, workload)


def tpch_stage(first, rest, fresh):
    return {"first_wave": first, "rest_wave": rest, "fresh_durations": fresh}


TPCH = {
    0: tpch_stage({2: [900, 800], 5: [700, 600]}, {2: [100] * 3, 5: [50] * 3}, {2: [900, 800], 5: [600]}),
    1: tpch_stage({2: [300], 5: [400]}, {2: [], 5: []}, {2: [], 5: [400]}),
}
TPCH_CHAIN = np.array([[0.0, 1.0], [0.0, 0.0]])


def write_tpch(root, stages=TPCH, adjacency=TPCH_CHAIN, size="2g", query=1):
    folder = root / size
    folder.mkdir(exist_ok=True)
    np.save(folder / f"adj_mat_{query}.npy", adjacency)
    np.save(folder / f"task_duration_{query}.npy", np.array(stages, dtype=object), allow_pickle=True)
    return root


def assert_same(one: object, other: object) -> None:
    """Both tables hold the same, field by field."""
    assert type(one) is type(other)
    for field in fields(one):  # type: ignore[arg-type]
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, field.name
            np.testing.assert_array_equal(a, b, err_msg=field.name)
        elif field.name == "catalogue":
            assert_same(a, b)
        else:
            assert a == b, field.name


_names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
_seconds = st.floats(0, 1e6, allow_subnormal=False)
_groups = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(1, 200)),
    st.lists(_seconds, min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


@st.composite
def sources(draw: st.DrawFn) -> DagSource:
    """Any valid source, with or without recorded jobs."""
    builder = CatalogueBuilder(draw(_names))
    dags = draw(st.lists(_names, min_size=1, max_size=4, unique=True))
    memory = []
    for dag in dags:
        builder.start_dag(dag)
        stages = draw(st.lists(_names, min_size=1, max_size=5, unique=True))
        for stage in stages:
            builder.add_stage(stage, tasks=draw(st.integers(1, 10**6)), cpu=draw(st.floats(0.01, 64)))
            memory.append(draw(st.floats(0, 1)))
            for (wave, executors), seconds in draw(_groups).items():
                builder.add_durations(wave, executors, np.array(seconds))
        pairs = [(p, c) for c in range(len(stages)) for p in range(c)]
        edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        order = draw(st.permutations(range(len(stages))))  # edges may point either way in the table
        builder.add_edges(
            np.array([order[p] for p, _ in edges], dtype=np.int64),
            np.array([order[c] for _, c in edges], dtype=np.int64),
        )
    catalogue = builder.build(memory=np.array(memory))
    return DagSource(catalogue.name, catalogue, draw(st.none() | _jobs(catalogue)))


@st.composite
def _jobs(draw: st.DrawFn, catalogue: DagCatalogue) -> DagWorkload:
    names = draw(st.lists(_names, min_size=1, max_size=6, unique=True))
    size = len(names)
    arrival_s = np.cumsum(draw(st.lists(_seconds, min_size=size, max_size=size)))
    slack = st.floats(0, 1e5) | st.just(np.inf)
    return DagWorkload(
        catalogue=catalogue,
        job_name=tuple(names),
        job_dag=np.array(
            draw(st.lists(st.integers(0, catalogue.num_dags - 1), min_size=size, max_size=size)),
            dtype=np.int64,
        ),
        arrival_s=arrival_s,
        weight=np.array(draw(st.lists(st.floats(0.01, 100), min_size=size, max_size=size))),
        deadline_s=arrival_s + np.array(draw(st.lists(slack, min_size=size, max_size=size))),
    )
