from __future__ import annotations

import numpy as np
import pytest
from tests.workloads.samples import assert_same

from dovetail.core.dag import Floats
from dovetail.core.errors import ConfigError
from dovetail.workloads.check import check_source
from dovetail.workloads.generate.granularity import KINDS, SHAPES, Granularity, Kind, Shape
from dovetail.workloads.source import DagSource, open_source


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_all_fifteen_are_valid_and_always_the_same(kind: Kind, shape: Shape) -> None:
    catalogue = Granularity(kind, shape, dags=12).catalogue()
    check_source(DagSource("w", catalogue))
    assert catalogue.num_dags == 12
    assert_same(catalogue, Granularity(kind, shape, dags=12).catalogue())


def test_kinds_differ_in_the_length_of_tasks() -> None:
    coarse, fine = (Granularity(kind).catalogue() for kind in ("coarse", "fine"))
    assert coarse.stage_mean_s.min() > 1.9 and fine.stage_mean_s.max() < 1.5
    mixed = Granularity("mixed").catalogue()
    is_fine = np.array([name.startswith("fine") for name in mixed.dag_name])
    assert is_fine.sum() == 24


def largest_tenth(work_s: Floats) -> float:
    return float(np.sort(work_s)[-len(work_s) // 10 :].sum() / work_s.sum())


def test_shapes_differ_as_they_say() -> None:
    one = {shape: Granularity("coarse", shape, dags=200).catalogue() for shape in SHAPES}
    assert largest_tenth(one["skewed"].dag_work_s) > 0.5 > 0.3 > largest_tenth(one["even"].dag_work_s)
    assert one["deep"].dag_depth.min() >= 6 and one["wide"].dag_depth.max() == 2
    large = [float(one[shape].memory[one[shape].stage_ptr[:-1]].mean()) for shape in ("memory", "even")]
    assert large[0] > 1.5 * large[1]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ConfigError, match="one of coarse, fine, mixed"):
        open_source("granularity:kind=medium")
    with pytest.raises(ConfigError, match="at least 1"):
        open_source("granularity:dags=0")
