import numpy as np
import pytest

from dovetail.cluster.gpu import GPU_TYPES, MACHINE_KINDS, TYPE_INDEX, GpuCluster, Machine, cluster_of, gpu_type
from dovetail.cluster.gpu_clusters import CLUSTERS, read_cluster
from dovetail.core.errors import ConfigError, DovetailError, UnknownName


def test_the_reference_type_is_the_first_and_every_type_has_a_price():
    assert GPU_TYPES[0].name == "V100"
    assert all(gpu.usd_per_hour > 0 and gpu.memory_gb_s > 0 and gpu.price_of for gpu in GPU_TYPES)
    assert {kind.type for kind in MACHINE_KINDS.values()} <= set(TYPE_INDEX)


def test_types_by_any_of_their_names():
    assert gpu_type("v100m16") == gpu_type("V100") == 0
    assert GPU_TYPES[gpu_type("V100M32")].name == "V100M32"
    with pytest.raises(UnknownName, match="did you mean 'A100'"):
        gpu_type("A1000")


def test_kinds_come_in_turn_and_racks_fill_up():
    machines = GpuCluster(5, ("v100x4", "t4x4"), rack=2).arrays()
    assert [GPU_TYPES[t].name for t in machines.type] == ["V100", "T4", "V100", "T4", "V100"]
    assert machines.rack.tolist() == [0, 0, 1, 1, 2]
    assert machines.name == ("m0", "m1", "m2", "m3", "m4")


def test_shares_make_blocks_of_about_their_size():
    machines = GpuCluster(10, ("v100x4", "t4x4", "p100x2"), shares=(5, 3, 2)).arrays()
    assert np.bincount(machines.type)[[0, 2, 4]].tolist() == [5, 3, 2]
    assert (np.diff(machines.gpus) <= 0).all()


def test_listed_machines_are_taken_as_they_are():
    listed = (Machine("a", "A100", 8, 96, 1000, 3), Machine("b", "V100", 0, 64, 256))
    machines = cluster_of(listed).arrays()
    assert machines.name == ("a", "b")
    assert (machines.gpus.tolist(), machines.rack.tolist()) == ([8, 0], [3, 0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: GpuCluster(0), "machines is 0"),
        (lambda: GpuCluster(rack=0), "rack is 0"),
        (lambda: GpuCluster(kinds=()), "at least one kind"),
        (lambda: GpuCluster(kinds=("v100x5",)), "did you mean"),
        (lambda: GpuCluster(shares=(1, 1)), "one number from 0 for each of the 1 kinds"),
        (lambda: GpuCluster(2, listed=(Machine("a", "V100", 1, 1, 1),)), "machines is 2, but 1 are listed"),
        (lambda: cluster_of(2 * (Machine("a", "V100", 1, 1, 1),)), "there twice"),
        (lambda: cluster_of((Machine("a", "V100", 17, 1, 1),)), "17 GPUs"),
        (lambda: cluster_of((Machine("a", "V10", 1, 1, 1),)), "type of GPU 'V10'"),
        (lambda: cluster_of((Machine("a", "V100", 1, 0, 1),)), "processors and memory above 0"),
    ],
)
def test_what_cannot_be_is_refused(make, says):
    with pytest.raises(DovetailError, match=says):
        make()


@pytest.mark.parametrize(("name", "machines", "gpus"), [("small", 8, 32), ("medium", 32, 128), ("large", 128, 512)])
def test_named_clusters(name, machines, gpus):
    for text in (name, f"{name}-mixed"):
        found = read_cluster(text).arrays()
        assert (len(found.name), found.gpus.sum()) == (machines, gpus)
    assert len(set(read_cluster(f"{name}-mixed").arrays().type)) == 4


def test_the_look_alike_of_the_trace_has_its_size():
    found = read_cluster("cloud-2023").arrays()
    assert len(found.name) == 1213
    assert found.gpus.sum() == pytest.approx(6212, rel=0.01)
    assert found.cpus.sum() == pytest.approx(107_018, rel=0.01)


def test_a_cluster_as_a_person_writes_it():
    found = read_cluster("small:machines=3,kinds=[t4x4,a10x4],rack=2")
    assert found == GpuCluster(3, ("t4x4", "a10x4"), rack=2)
    assert len(read_cluster("cloud-2023:machines=100").arrays().name) == 100
    assert read_cluster("cloud-2023:kinds=[v100x4]").shares == ()
    with pytest.raises(UnknownName, match="did you mean 'medium'"):
        read_cluster("mediun")
    with pytest.raises(ConfigError, match="did you mean 'machines'"):
        read_cluster("small:machine=3")
    assert set(CLUSTERS) >= {"small", "medium", "large"}
