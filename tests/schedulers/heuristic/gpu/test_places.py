"""Every place on a toy solved by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.schedulers.gpu_views import Job, cluster, view_of

from dovetail.core.gpu import GpuInfo, Place
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.gpu_parts import GPU_PARTS

PLACES = [name.partition("/")[2] for name in GPU_PARTS.names("place")]


def placed(place: str, info: GpuInfo, job: Job, running: Any = (), **facts: Any) -> list[int]:
    """Where the workers of the only waiting job stand; empty if it must wait."""
    scheduler = SCHEDULERS.create(f"gpu/fifo+{place}")
    scheduler.reset(info, np.random.default_rng(0))
    found = scheduler.decide(view_of(info, [job], running, **facts))
    assert all(one.place == scheduler.place.WHY for one in found)
    return found[0].machines.tolist() if found else []


THREE = cluster(machines=3)  # of four GPUs each
HALF = [({"gpus": 2.0}, [1]), ({"gpus": 1.0}, [2])]  # 4, 2 and 3 are free


def test_first_fit() -> None:
    assert placed("first-fit", THREE, {"workers": 3, "gpus": 2.0}, HALF) == [0, 0, 1]


def test_load_balance_goes_where_most_is_free() -> None:
    assert placed("load-balance", THREE, {"workers": 3, "gpus": 1.0}, HALF) == [0, 0, 2]


def test_pack_goes_where_least_is_free() -> None:
    assert placed("pack", THREE, {"workers": 3, "gpus": 1.0}, HALF) == [1, 1, 2]


def test_best_fit_counts_all_resources() -> None:
    """As many GPUs are free on both; on machine 1 fewer processors."""
    running = [({"gpus": 0.0, "cpus": 8.0}, [1])]
    assert placed("best-fit", cluster(machines=2), {}, running) == [1]
    assert placed("pack", cluster(machines=2), {}, running) == [0]


def test_least_and_most_allocated_mean_over_resources() -> None:
    """Machine 0: 1 of 4 GPUs taken (1/12 of the mean).  Machine 1: 16 of 32 processors (1/6)."""
    running = [({"gpus": 1.0, "cpus": 0.0, "memory": 0.0}, [0]), ({"gpus": 0.0, "cpus": 16.0, "memory": 0.0}, [1])]
    assert placed("least-allocated", cluster(machines=2), {}, running) == [0]
    assert placed("most-allocated", cluster(machines=2), {}, running) == [1]


def test_alignment() -> None:
    """GPU-hungry to where GPUs are free, processor-hungry to where processors are."""
    info = cluster(machines=2)
    running = [({"gpus": 3.0, "cpus": 0.0}, [0]), ({"gpus": 0.0, "cpus": 24.0}, [1])]
    assert placed("alignment", info, {"gpus": 1.0, "cpus": 0.0}, running) == [1]
    assert placed("alignment", info, {"gpus": 0.0, "cpus": 4.0}, running) == [0]


def test_fgd_spares_whole_devices() -> None:
    """Half a device is free on machine 0, two whole ones on machine 1.  Jobs of one whole GPU usually come.

    On machine 0 a share of 0.5 uses up what is useless for them; on machine 1 it would spoil a whole device.
    """
    info = cluster(machines=2, gpus=2)
    running = [({"gpus": 1.0}, [0]), ({"gpus": 0.5}, [0])]
    assert placed("fgd", info, {"gpus": 0.5}, running) == [0]
    scheduler = SCHEDULERS.create("gpu/fifo+fgd")
    scheduler.reset(info, np.random.default_rng(0))
    full = [({"gpus": 1.0}, [machine]) for machine in (0, 0, 1, 1)]
    scheduler.decide(view_of(info, [{"gpus": 1.0} for _ in range(9)], full))  # nine of them are seen, none fits
    view = view_of(info, [{"gpus": 0.5}], [({"gpus": 0.5}, [1])])
    (found,) = scheduler.decide(view._replace(job_id=np.array([20])))
    assert found.machines.tolist() == [1]
    # F with nine parts of ten for a whole GPU: 0.5 of 1.5 free shares are useless for those before, nothing after
    assert found.affinity == pytest.approx(0.9 * 0.5 + 0.1 * 0.0)


def test_fgd_by_the_definition() -> None:
    """One machine of two devices, 0.3 and 1.0 free; demands seen: 0.5 (twice), 1.0 (once), none (once).

    F = (2 * 0.3 + 1 * 0.3 + 1 * 1.3) / 4 = 0.55.  A worker of 0.5 leaves 0.3 and 0.5:
    F = (2 * 0.3 + 1 * 0.8 + 1 * 0.8) / 4 = 0.55.  It grows by nothing.
    """
    info = cluster(machines=1, gpus=2)
    scheduler = SCHEDULERS.create("gpu/fifo+fgd")
    scheduler.reset(info, np.random.default_rng(0))
    jobs = [{"gpus": 0.5}, {"gpus": 0.5}, {"gpus": 1.0, "memory": 1.0}, {"gpus": 0.0}]
    found = scheduler.decide(view_of(info, jobs, [({"gpus": 0.7}, [0])]))
    assert found[0].affinity == pytest.approx(0.0)


RACKS = cluster(machines=6, rack=2)  # racks of two machines, four GPUs each


def test_topology_one_machine_the_fullest_that_holds_all() -> None:
    running = [({"gpus": 1.0}, [1]), ({"gpus": 2.0}, [2])]
    assert placed("topology", RACKS, {"workers": 3, "gpus": 1.0}, running) == [1, 1, 1]


def test_topology_one_rack_the_one_with_the_least_room() -> None:
    """Six workers fit no machine.  Racks have 8, 7 and 6 GPUs: the last holds them, on two machines like the others."""
    running = [({"gpus": 1.0}, [3]), ({"gpus": 1.0}, [4]), ({"gpus": 1.0}, [5])]
    assert sorted(placed("topology", RACKS, {"workers": 6, "gpus": 1.0}, running)) == [4, 4, 4, 5, 5, 5]


def test_topology_several_racks_the_largest_first() -> None:
    running = [({"gpus": 1.0}, [0]), ({"gpus": 1.0}, [1])]
    found = placed("topology", RACKS, {"workers": 12, "gpus": 1.0}, running)
    assert [found.count(machine) for machine in range(6)] == [0, 0, 4, 4, 4, 0]


def test_fastest_type_that_holds_the_gang() -> None:
    """Types in turn: V100, A100, T4.  Kind 1 is fastest on A100s; five of them do not fit the one machine of four."""
    info = cluster(machines=4, types=(0, 1, 2, 0), rack=4)
    assert placed("fastest", info, {"kind": 1}) == [1]
    assert placed("fastest", info, {"kind": 1, "workers": 5}) == [0, 0, 0, 0, 3]
    assert placed("fastest", info, {"kind": 1, "workers": 9}) == [0] * 4 + [1] * 4 + [2]
    assert placed("fastest", info, {"kind": 1}, [({"gpus": 4.0}, [1])]) == [0]


def test_random_goes_everywhere_it_fits() -> None:
    info, seen = cluster(machines=4), set()
    scheduler = SCHEDULERS.create("gpu/fifo+random")
    scheduler.reset(info, np.random.default_rng(0))
    for _ in range(60):
        (found,) = scheduler.decide(view_of(info, [{"gpus": 2.0}], [({"gpus": 3.0}, [2])]))
        seen.update(found.machines.tolist())
    assert seen == {0, 1, 3}


@pytest.mark.parametrize("place", PLACES)
class TestAllPlaces:
    def test_types_and_kinds_are_respected(self, place: str) -> None:
        """Machines are of types 0, 1, 2; kind 2 cannot run on type 2."""
        info = cluster(machines=3, types=(0, 1, 2))
        assert placed(place, info, {"types": 0b010}) == [1]
        assert placed(place, info, {"types": 0b100}) == [2]
        assert placed(place, info, {"types": 0b100, "kind": 2}) == []
        assert set(placed(place, info, {"workers": 8, "kind": 2})) == {0, 1}

    def test_shares_and_whole_devices(self, place: str) -> None:
        """Two devices, half of the first in use: there is room for one whole GPU, or for a share on either."""
        info = cluster(machines=1, gpus=2)
        running = [({"gpus": 0.5}, [0])]
        assert placed(place, info, {"gpus": 2.0}, running) == []
        assert placed(place, info, {"gpus": 1.0}, running) == [0]
        assert placed(place, info, {"workers": 3, "gpus": 0.5}, running) == [0, 0, 0]
        assert placed(place, info, {"workers": 4, "gpus": 0.5}, running) == []
        assert placed(place, info, {"workers": 3, "gpus": 0.6}, running) == []

    def test_without_gpus_processors_and_memory_count(self, place: str) -> None:
        info = cluster(machines=2, gpus=(0, 1), cpus=4.0, memory=8.0)
        assert sorted(placed(place, info, {"workers": 4, "gpus": 0.0, "cpus": 2.0})) == [0, 0, 1, 1]
        assert placed(place, info, {"workers": 5, "gpus": 0.0, "cpus": 2.0}) == []
        assert placed(place, info, {"workers": 3, "gpus": 0.0, "memory": 5.0}) == []

    def test_a_machine_that_is_down(self, place: str) -> None:
        info = cluster(machines=2)
        job = {"workers": 2, "gpus": 0.0, "cpus": 0.0, "memory": 0.0}
        assert placed(place, info, job, up=[False, True]) == [1, 1]

    def test_a_gang_is_whole_or_not_there(self, place: str) -> None:
        info = cluster(machines=2)
        assert placed(place, info, {"workers": 3, "gpus": 3.0}) == []
        assert sorted(placed(place, info, {"workers": 2, "gpus": 3.0})) == [0, 1]
        assert WHY_OF[place] == SCHEDULERS.create(f"gpu/fifo+{place}").place.WHY


WHY_OF = {
    "first-fit": Place.FIRST_FIT,
    "best-fit": Place.BEST_FIT,
    "load-balance": Place.MOST_FREE,
    "pack": Place.FULLEST_MACHINE,
    "least-allocated": Place.LEAST_ALLOCATED,
    "most-allocated": Place.MOST_ALLOCATED,
    "fgd": Place.LEAST_FRAGMENTATION,
    "topology": Place.CLOSE_TOGETHER,
    "fastest": Place.CLOSE_TOGETHER,
    "alignment": Place.BEST_ALIGNED,
    "random": Place.DRAWN_AT_RANDOM,
}
