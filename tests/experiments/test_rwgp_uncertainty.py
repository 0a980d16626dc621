"""What the random-walk Gaussian process is uncertain of, and what it is not."""

from __future__ import annotations

import sys
from dataclasses import replace

import commands
import numpy as np
import pytest
import rwgp_uncertainty as experiment
from rwgp_uncertainty import MACHINES, as_learned, by_hand, make_scene

SEEDS = range(5)
OFTEN, THRICE, SLOW, CONTRADICTORY, CHANGING, LIKE_OFTEN, NEVER, ONCE = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_more_was_seen_of_a_state_the_less_is_unknown(seed):
    unknown = by_hand(make_scene(seed)).unknown
    assert unknown[OFTEN] < unknown[THRICE] < unknown[ONCE] < unknown[NEVER] <= 1.0
    deviation = by_hand(make_scene(seed)).deviation
    assert deviation[OFTEN] < deviation[THRICE] < deviation[ONCE] < deviation[NEVER]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_machine_that_was_never_used_is_known_as_well_as_those_like_it(seed):
    known = by_hand(make_scene(seed))
    assert known.unknown[LIKE_OFTEN] == pytest.approx(known.unknown[OFTEN], rel=0.1)
    assert known.mean[LIKE_OFTEN] == pytest.approx(known.mean[OFTEN], abs=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_ever_other_neighbours_leave_more_unknown_than_as_many_runs_in_one_state(seed):
    unknown = by_hand(make_scene(seed)).unknown
    assert unknown[CHANGING] > unknown[OFTEN]


@pytest.mark.parametrize("seed", SEEDS)
def test_contradictory_measurements_make_the_next_run_uncertain_and_the_mean_a_little(seed):
    scene = make_scene(seed)
    known = by_hand(scene)
    assert known.unknown[CONTRADICTORY] > max(known.unknown[SLOW], known.unknown[OFTEN])
    assert known.next[CONTRADICTORY] > 1.25 * max(known.next[SLOW], known.next[OFTEN])
    agreeing = scene.measured.copy()
    agreeing[scene.where == CONTRADICTORY] = agreeing[scene.where == CONTRADICTORY].mean()
    assert by_hand(scene, agreeing).unknown[CONTRADICTORY] < known.unknown[CONTRADICTORY]
    assert by_hand(scene, agreeing).next[CONTRADICTORY] < known.next[CONTRADICTORY]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_expected_by_hand_is_near_what_was_measured(seed):
    scene = make_scene(seed)
    known = by_hand(scene)
    assert known.mean[SLOW] < known.mean[CONTRADICTORY] < known.mean[OFTEN] < 0
    for machine in (OFTEN, SLOW, CONTRADICTORY):
        assert known.mean[machine] == pytest.approx(scene.measured[scene.where == machine].mean(), abs=0.1)
    for machine in range(len(MACHINES)):
        low, high = (known.mean[machine] + sign * 2 * known.next[machine] for sign in (-1, 1))
        assert all(low < value < high for value in scene.measured[scene.where == machine])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("network", ["cloud", "cloud-mixed"])
def test_to_the_bundled_networks_what_was_seen_often_is_known_better_and_what_contradicts_itself_less(network, seed):
    """Not claimed: that more runs tell more, or that a machine is known by others in its state."""
    known = as_learned(make_scene(seed), network)
    assert len(known.mean) == len(MACHINES)
    assert ((known.unknown > 0) & (known.unknown < 1)).all() and np.isfinite(known.mean).all()
    for seen in (OFTEN, SLOW):
        for unseen in (NEVER, LIKE_OFTEN, ONCE):
            assert known.unknown[seen] < known.unknown[unseen]
            assert known.deviation[seen] < known.deviation[unseen]
        assert known.unknown[seen] < known.unknown[CONTRADICTORY] < known.unknown[NEVER]
        assert known.next[seen] < known.next[CONTRADICTORY]
    assert known.mean[SLOW] < known.mean[CONTRADICTORY] < known.mean[OFTEN] < 0


@pytest.mark.parametrize("network", ["cloud", "cloud-mixed"])
def test_without_a_surprise_the_process_expects_none(network):
    scene = make_scene()
    assert as_learned(replace(scene, measured=0.0 * scene.measured), network).mean == pytest.approx(0.0)


def test_it_draws_and_records(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(experiment, "PICTURE", tmp_path / "images" / "rwgp_uncertainty.png")
    monkeypatch.setattr(sys, "argv", ["experiments/rwgp_uncertainty.py", "--write"])
    experiment.main()
    written = (tmp_path / "results" / "rwgp_uncertainty.md").read_text()
    assert "| m6: no run, like none |" in written and "docs/images/rwgp_uncertainty.png" in written
    assert (tmp_path / "images" / "rwgp_uncertainty.png").stat().st_size > 10_000
    assert written.splitlines()[-1] in capsys.readouterr().out
