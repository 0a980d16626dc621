"""gpu/rifling: its states, what it learns, and the table that is shipped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.schedulers.gpu_views import check_valid, cluster, random_info, random_view, view_of

from dovetail.core.errors import CheckpointError, ConfigError
from dovetail.core.gpu import Place, Reason
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.learned.gpu_baselines.rifling import Rifling, RiflingParams, load_table, save_table
from dovetail.schedulers.learned.gpu_baselines.rifling_states import SIZES, STATES, states


def parts_of(number: int) -> dict[str, int]:
    """A state's number taken apart again."""
    found = {}
    for name, size in reversed(SIZES.items()):
        number, found[name] = divmod(number, size)
    return found


def test_states_of_a_toy() -> None:
    """Machine 0 is empty, 1 half in use, 2 of another rack; one worker stands on machine 1 already."""
    info = cluster(machines=3, types=(0, 0, 1))
    view = view_of(info, [{"workers": 2, "gpus": 2.0, "kind": 1}], [({"gpus": 2.0, "cpus": 30.0}, [1])])
    numbers = states(Room.of(view, info), info, Need.of(view, info, 0), placed=[1])
    assert [parts_of(int(number)) for number in numbers] == [
        {"gpus": 3, "gang": 1, "network": 1, "load": 0, "whole": 1, "speed": 0, "together": 2, "cpus": 1},
        {"gpus": 3, "gang": 1, "network": 1, "load": 1, "whole": 0, "speed": 0, "together": 1, "cpus": 0},
        {"gpus": 3, "gang": 1, "network": 1, "load": 0, "whole": 1, "speed": 2, "together": 3, "cpus": 1},
    ]


def test_states_are_within_the_table() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        info = random_info(rng)
        view = random_view(rng, info)
        for job in range(len(view.job_id)):
            numbers = states(Room.of(view, info), info, Need.of(view, info, job), placed=[0])
            assert numbers.min() >= 0 and numbers.max() < STATES


@pytest.mark.parametrize(("tidy", "learned"), [(0.0, 1.2), (0.4, 1.0)])
def test_goes_where_the_table_says(tidy: float, learned: float) -> None:
    """Machine 1 is in use and its state is worth more: it is chosen, and its measured speed changes the table.

    Half of its GPUs stay free beside the two jobs: that is 0.4 / 2 less.
    """
    info = cluster(machines=2)
    view = view_of(info, [{}], [({"gpus": 1.0}, [1])])
    numbers = states(Room.of(view, info), info, Need.of(view, info, 0), [])
    table = np.zeros(STATES)
    table[numbers[1]] = 0.5
    rifling = Rifling(RiflingParams(explore=0.0, rate=0.1, discount=0.0, tidy=tidy), table=table)
    rifling.reset(info, np.random.default_rng(0))
    (found,) = rifling.decide(view)
    assert (found.machines.tolist(), found.reason, found.place) == ([1], Reason.FIRST_ARRIVED, Place.LEARNED_AFFINITY)
    assert found.affinity == 0.5
    # later job 1 (the one that waited) runs at speed 1.2 on a V100; the fastest type of the cluster has speed 1
    later = view_of(info, [], [({"gpus": 1.0}, [1]), ({"gpus": 1.0, "speed": 1.2, "start_s": 0.0}, [1])], time_s=60.0)
    rifling.decide(later)
    assert rifling.table[numbers[1]] == pytest.approx(0.5 + 0.1 * (learned - 0.5))
    rifling.decide(later)  # once is enough
    assert rifling.table[numbers[1]] == pytest.approx(0.5 + 0.1 * (learned - 0.5))
    rifling.reset(replace(info, speed_is_measured=False), np.random.default_rng(0))
    rifling.decide(view)
    rifling.decide(later)
    assert rifling.table[numbers[1]] == 0.5, "nothing was measured"
    rifling.reset(info, np.random.default_rng(0))
    assert np.array_equal(rifling.table, table)


def test_without_learning_the_table_stays() -> None:
    info = cluster(machines=2)
    rifling = Rifling(RiflingParams(learn=False), table=np.zeros(STATES))
    rifling.reset(info, np.random.default_rng(0))
    rifling.decide(view_of(info, [{}]))
    rifling.decide(view_of(info, [], [({}, [0])], time_s=60.0))
    assert not rifling.table.any()


def test_valid_on_anything() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        info = random_info(rng)
        rifling = SCHEDULERS.create("gpu/rifling:explore=0.3")
        rifling.reset(info, rng)
        view = random_view(rng, info)
        check_valid(view, info, rifling.decide(view))


def test_the_table_on_disk(tmp_path: Path) -> None:
    table = np.linspace(0, 1, STATES).astype(np.float32).astype(np.float64)
    save_table(tmp_path / "mine", table, {"command": "a test"})
    assert np.array_equal(load_table(tmp_path / "mine"), table)
    made = SCHEDULERS.create(f"gpu/rifling:checkpoint={tmp_path / 'mine'}")
    made.reset(cluster(), np.random.default_rng(0))
    assert np.array_equal(made.table, table)
    with pytest.raises(CheckpointError, match="no such file"):
        load_table(tmp_path / "other")


def test_the_shipped_table_was_learned() -> None:
    made = SCHEDULERS.create("gpu/rifling")
    made.reset(cluster(), np.random.default_rng(0))
    assert len(np.unique(made.table)) > 100


def test_parameters_out_of_range() -> None:
    with pytest.raises(ConfigError, match="rate is 2"):
        SCHEDULERS.create("gpu/rifling:rate=2")
