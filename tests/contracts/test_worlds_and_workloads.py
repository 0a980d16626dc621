"""What every world and every bundled workload must do."""

from __future__ import annotations

import pytest

from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.sim.elastic import ElasticWorld
from dovetail.sim.gpu import GpuOptions, GpuWorld
from dovetail.sim.stream import StreamWorld
from dovetail.testing import ReferenceDagWorld, ReferenceGpuWorld, check_workload, check_world
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.elastic_source import ELASTIC, open_elastic
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_source import GPU, open_gpu
from dovetail.workloads.source import BUNDLED, open_source
from dovetail.workloads.stream_source import STREAM, open_stream


def reference(workload: DagWorkload, options: DagOptions, seeds: SeedTree) -> ReferenceDagWorld:
    return ReferenceDagWorld(workload, options, seeds.child("durations").key(), seeds.child("failures").key())


def gpu_reference(workload: GpuWorkload, model: SpeedModel, options: GpuOptions, seeds: SeedTree) -> ReferenceGpuWorld:
    return ReferenceGpuWorld(workload, model, options, seeds.child("failures").key(), seeds.child("moods").key())


@pytest.mark.parametrize(
    ("family", "make"),
    [
        ("dag", DagWorld),
        ("dag", reference),
        ("elastic", ElasticWorld),
        ("gpu", GpuWorld),
        ("gpu", gpu_reference),
        ("stream", StreamWorld),
    ],
)
def test_world(family: str, make) -> None:
    check_world(make, family=family)


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_bundled_workload(name: str) -> None:
    check_workload(open_source(name))


@pytest.mark.parametrize("name", sorted(ELASTIC))
def test_bundled_elastic_workload(name: str) -> None:
    check_workload(open_elastic(name), family="elastic")


@pytest.mark.parametrize("name", sorted(GPU))
def test_bundled_gpu_workload(name: str) -> None:
    check_workload(open_gpu(name), family="gpu")


@pytest.mark.parametrize("name", sorted(STREAM))
def test_bundled_stream_workload(name: str) -> None:
    check_workload(open_stream(name), family="stream")
