"""Who slows whom down is found from measured speeds alone."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import SCHEDULERS
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.features.gpu_neighbours import Neighbours
from dovetail.training.neighbours import Samples, Witness, fit


def drawn(about: Neighbours, count: int, noise: float, seed: int = 0) -> Samples:
    """Samples of a world with these numbers."""
    rng = np.random.default_rng(seed)
    kinds = len(about.host_press)
    kind, host = rng.integers(kinds, size=count), rng.integers(3, size=(count, kinds)).astype(float)
    device = (rng.random((count, kinds)) < 0.3).astype(float)
    y = -np.log1p((about.host_feel[kind] * (host @ about.host_press)).sum(axis=1))
    y -= np.log1p((about.device_feel[kind] * (device @ about.device_press)).sum(axis=1))
    return Samples(kind, y + noise * rng.normal(size=count), host, device)


def test_known_numbers_are_found_again() -> None:
    """Not the factors, which are not unique, but their products: how much each kind feels of each other."""
    rng = np.random.default_rng(1)
    true = Neighbours(*(rng.random((4, rank)) * size for rank, size in ((1, 0.4), (1, 0.4), (2, 1.0), (2, 1.0))))
    found, error = fit(drawn(true, 4000, 0.05), 1, 2, seed=0)
    assert error == pytest.approx(0.05, rel=0.1)
    for press, feel in (("host_press", "host_feel"), ("device_press", "device_feel")):
        theirs = getattr(found, feel) @ getattr(found, press).T
        assert np.allclose(theirs, getattr(true, feel) @ getattr(true, press).T, atol=0.06)


def test_without_any_effect_none_is_found() -> None:
    nothing = Neighbours(*(np.zeros((3, rank)) for rank in (1, 1, 2, 2)))
    found, _ = fit(drawn(nothing, 2000, 0.05), 1, 2, seed=0)
    assert (found.host_feel @ found.host_press.T).max() < 0.03
    assert (found.device_feel @ found.device_press.T).max() < 0.03


def test_a_witness_changes_nothing_and_sees_speeds() -> None:
    opened = GpuSetting("small", jobs=60).open()
    sequence = opened.sequence(5)
    results = []
    for wrap in (False, True):
        scheduler = SCHEDULERS.create("gpu/fifo+pack")
        witness = Witness(scheduler, sequence.kind_name) if wrap else scheduler
        results.append(opened.run(opened.world(sequence, SeedTree(5)), witness, np.random.default_rng(0)))
    assert np.array_equal(results[0].finish_s, results[1].finish_s)
    samples = witness.samples()
    assert len(samples.kind) > 60 and (samples.host >= 0).all() and (samples.device >= 0).all()
    apart = (samples.host.sum(axis=1) == 0) & (samples.device.sum(axis=1) == 0)
    assert samples.log_ratio[apart].mean() > samples.log_ratio[~apart].mean()


def test_kinds_that_speeds_are_known_of_and_no_job_has() -> None:
    """Recorded jobs are of a few kinds; the world knows the speeds of more."""
    opened = GpuSetting("small:kinds=[lm-b20,a3c]", jobs=40).open()
    sequence = opened.sequence(0)
    there = tuple(sequence.kind_name[kind] for kind in np.unique(sequence.kind))
    witness = Witness(SCHEDULERS.create("gpu/fifo+pack"), there)
    opened.run(opened.world(sequence, SeedTree(0)), witness, np.random.default_rng(0))
    assert len(there) < 5 and witness.samples().host.shape[1] == len(there)
