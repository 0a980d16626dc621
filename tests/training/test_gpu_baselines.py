"""Training gpu/rifling and gpu/dl2 on very little."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra 'learn': pip install 'dovetail[learn]'")

from dovetail.schedulers.learned.gpu_baselines.rifling_states import STATES  # noqa: E402
from dovetail.training.dl2 import Dl2Plan, frozen, make_network, trace_of, train_dl2  # noqa: E402
from dovetail.training.rifling import RiflingPlan, train_rifling  # noqa: E402

LITTLE = "small:jobs=12"


def test_rifling_learns_the_same_from_the_same_seed() -> None:
    told: list[float] = []
    plan = RiflingPlan(workloads=(LITTLE,), sequences=3)
    tables = [train_rifling(plan, 0, lambda number, jct_s, fee: told.append(jct_s)) for _ in range(2)]
    assert np.array_equal(*tables) and tables[0].shape == (STATES,)
    assert (tables[0] != tables[0][-1]).sum() > 5
    assert told[:3] == told[3:] and min(told) > 0


def test_dl2_imitates_and_goes_on() -> None:
    plan = replace(
        Dl2Plan(), workloads=(LITTLE,), hidden=16, taught=6, passes=300, iterations=2, episodes=2, validation=1, every=1
    )
    told: list[tuple[str, dict[str, float]]] = []
    network = train_dl2(plan, 0, lambda phase, number, figures: told.append((phase, figures)))
    losses = [figures["loss"] for phase, figures in told if phase == "imitation"]
    assert losses[-1] < 0.8 * losses[0]
    assert [phase for phase, _ in told][-3:] == ["taught", "actor-critic", "actor-critic"]
    assert network.w1.shape == (120, 16)


def test_torch_and_numpy_agree() -> None:
    policy = make_network(61, 8)
    rng = np.random.default_rng(0)
    inputs, mask = rng.normal(size=120), rng.random(61) < 0.5
    expected = policy(torch.as_tensor(inputs, dtype=torch.float32)).detach().numpy()
    assert frozen(policy).logits(inputs, mask)[mask] == pytest.approx(expected[mask], abs=1e-5)


def test_what_has_been_paid_by_a_decision() -> None:
    """Jobs from 0 to 30 s and from 10 to 20 s: 0, 10 and 10 + 2 * 5 seconds by 0, 10 and 15 s, 40 in all."""
    result = SimpleNamespace(workload=SimpleNamespace(arrival_s=np.array([0.0, 10.0])), finish_s=np.array([30.0, 20.0]))
    trace = trace_of(result, np.array([0.0, 10.0, 15.0]))  # type: ignore[arg-type]
    assert trace.paid.tolist() == [0.0, 10.0, 20.0]
    assert (trace.end_s, trace.total) == (30.0, 40.0)
