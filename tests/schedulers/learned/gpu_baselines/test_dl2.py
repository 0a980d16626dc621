"""gpu/dl2: what it sees, one action at a time, and the network that is shipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.schedulers.gpu_views import check_valid, cluster, random_info, random_view, view_of

from dovetail.core.errors import CheckpointError
from dovetail.core.gpu import Place, Reason
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.heuristic.gpu.room import Room
from dovetail.schedulers.learned.gpu_baselines.dl2 import Dl2, load_network, save_network
from dovetail.schedulers.learned.gpu_baselines.dl2_features import (
    ACTIONS,
    JOBS,
    RULES,
    STOP,
    inputs_of,
    job_numbers,
    mask_of,
    which_fit,
)
from dovetail.schedulers.learned.gpu_baselines.dl2_network import PolicyNetwork, shapes


def network_that_likes(*actions: int) -> PolicyNetwork:
    """Prefers these actions, the first most, whatever it sees."""
    parts = {name: np.zeros(shape) for name, shape in shapes(4).items()}
    for place, action in enumerate(actions):
        parts["b3"][action] = 10.0 - place
    return PolicyNetwork(**parts)


def test_the_numbers_of_a_job() -> None:
    """8 of 16 GPUs are half of the cluster; waited 100 s; 3 is the number of kinds."""
    info = cluster(machines=4)
    view = view_of(info, [{"workers": 4, "gpus": 2.0, "kind": 1, "left_s": 500.0}], time_s=100.0)
    numbers = job_numbers(view, info)
    assert numbers[0] == pytest.approx([2 / 3, np.log(101) / 10, np.log(501) / 10, 0.5, 0.6, 0.5])
    assert not numbers[1:].any()


def test_what_may_be_done() -> None:
    info = cluster(machines=1)
    view = view_of(info, [{"gpus": 3.0}, {"gpus": 5.0}, {"gpus": 1.0}])
    fit = which_fit(view, info, Room.of(view, info), {2})
    assert fit.tolist() == [True, False, False] + [False] * (JOBS - 3)
    mask = mask_of(fit, False)
    assert (np.flatnonzero(mask).tolist(), len(mask)) == ([0, 1, 2], ACTIONS)
    rows = inputs_of(job_numbers(view, info), fit, {2}).reshape(JOBS, -1)
    assert rows[0, 3] == 0.75 and rows[1, 3] == 2.0 + 1.25 and not rows[2].any()


def test_one_action_at_a_time_until_stop() -> None:
    """It likes job 2 balanced best, then job 0 close together, then to stop; job 1 stays."""
    info = cluster(machines=2)
    network = network_that_likes(2 * RULES + 2, 0 * RULES, STOP, 1 * RULES)
    dl2 = Dl2(network=network)
    dl2.reset(info, np.random.default_rng(0))
    found = dl2.decide(view_of(info, [{"workers": 2}, {}, {"workers": 2}]))
    assert [(one.job, one.machines.tolist()) for one in found] == [(2, [0, 1]), (0, [0, 0])]
    assert {(one.reason, one.place) for one in found} == {(Reason.LEARNED_PRIORITY, Place.LEARNED_AFFINITY)}


def test_it_may_not_stop_while_nothing_runs() -> None:
    info = cluster(machines=1)
    dl2 = Dl2(network=network_that_likes(STOP))
    dl2.reset(info, np.random.default_rng(0))
    assert len(dl2.decide(view_of(info, [{}, {}]))) == 1
    assert len(dl2.decide(view_of(info, [{}, {}], [({}, [0])]))) == 0


def test_valid_on_anything_with_more_than_twenty_jobs() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        info = random_info(rng)
        dl2 = SCHEDULERS.create("gpu/dl2")
        dl2.reset(info, rng)
        view = random_view(rng, info, most=60)
        check_valid(view, info, dl2.decide(view))


def test_the_network_on_disk(tmp_path: Path) -> None:
    network = network_that_likes(3)
    save_network(tmp_path / "mine", network, {"command": "a test"})
    again = load_network(tmp_path / "mine")
    assert all(np.array_equal(a, b) for a, b in zip(network, again, strict=True))
    (tmp_path / "mine.json").write_text('{"format": 1, "kind": "gpu-rifling"}')
    with pytest.raises(CheckpointError, match="not the card of a gpu-dl2 network"):
        load_network(tmp_path / "mine")
