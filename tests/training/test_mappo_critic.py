"""The central critic: TD errors, sets of any size, and values that are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dovetail.training.adam import Adam
from dovetail.training.mappo_critic import SETS, Bag, Critic, Seen, fresh, keeps, sizes, td_errors, traced


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    """As workers have it: on a busy machine, several would wait for each other."""
    torch.set_num_threads(1)


def drawn(turns: int, seed: int, most: int = 6) -> Seen:
    """Sets of random sizes and numbers, some of them empty."""
    rng, bags = np.random.default_rng(seed), {}
    for name, columns in SETS.items():
        at = np.repeat(np.arange(turns), rng.integers(0 if name == "places" else 1, most, turns))
        bags[name] = Bag(torch.as_tensor(rng.normal(size=(len(at), columns))), torch.as_tensor(at))
    return Seen(turns, bags)


def taught(seen: Seen, target: torch.Tensor, steps: int) -> Critic:
    held = fresh(16, np.random.default_rng(0))
    adam = Adam(held, 0.01)
    for _ in range(steps):
        critic = Critic(held)
        critic.error(seen, target).mean().backward()
        adam.step(held, {name: value.grad.numpy() for name, value in critic.named.items()}, 10.0)
    return Critic(held)


def test_errors_and_traces_by_hand() -> None:
    reward, value, keep = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]), np.array([0.5, 0.5, 0.0])
    error = td_errors(reward, value, keep)
    assert error.tolist() == [1.0 + 10.0 - 10.0, 2.0 + 15.0 - 20.0, 3.0 - 30.0]
    assert traced(error, keep, 0.0).tolist() == error.tolist()
    came = [1.0 + 0.5 * (2.0 + 0.5 * 3.0), 2.0 + 0.5 * 3.0, 3.0]
    assert np.allclose(value + traced(error, keep, 1.0), came)  # with trace 1, values do not matter
    assert np.allclose(traced(reward, keep, 1.0), came)
    assert np.allclose(keeps(np.array([0.0, 10.0, 10.0]), 10.0), [np.exp(-1.0), 1.0, 0.0])


def test_the_order_of_a_set_changes_nothing() -> None:
    seen, rng = drawn(5, 0), np.random.default_rng(1)
    critic = Critic({name: rng.normal(size=size) for name, size in sizes(8).items()})
    bags = {}
    for name, bag in seen.bags.items():
        order = torch.as_tensor(rng.permutation(len(bag.turn)))
        bags[name] = Bag(bag.element[order], bag.turn[order])
    for one, other in zip(critic.judged(seen), critic.judged(Seen(5, bags)), strict=True):
        assert torch.allclose(one, other)


def test_it_begins_with_nothing_to_expect() -> None:
    value, gain = Critic(fresh(8, np.random.default_rng(0))).judged(drawn(4, 0))
    assert not value.any() and not gain.any()


def test_what_actions_add_is_for_q_to_know_and_not_for_v() -> None:
    """The target is a number of the jobs that wait, plus one of the places that were chosen."""
    seen = drawn(500, 2)
    for name, column in (("jobs", 5), ("machines", 0), ("priorities", 0), ("starts", 0), ("places", -1)):
        held = seen.bags[name].element[:, column].clone()
        seen.bags[name].element[:] = 0.0  # or what is of no use would be learned by heart
        seen.bags[name].element[:, column] = held if name in ("jobs", "places") else 0.0
    jobs, places = seen.bags["jobs"], seen.bags["places"]
    from_jobs = torch.zeros(500, dtype=torch.float64).index_add(0, jobs.turn, 0.3 * jobs.element[:, 5].tanh())
    from_places = torch.zeros(500, dtype=torch.float64).index_add(0, places.turn, 0.3 * places.element[:, -1].tanh())
    target = from_jobs + from_places
    value, gain = (part.detach() for part in taught(seen, target, 250).judged(seen))
    assert float((value + gain - target).var() / target.var()) < 0.1
    assert np.corrcoef(gain.numpy(), from_places.numpy())[0, 1] > 0.8
    assert np.corrcoef(value.numpy(), from_jobs.numpy())[0, 1] > 0.7


def test_td_errors_with_an_old_network_find_the_known_value() -> None:
    """A chain of 8 turns that each are worth 1, half of what comes later: V = 2 - 2^-(turns left - 1)."""
    turns = 8
    element = torch.zeros((turns, SETS["jobs"]), dtype=torch.float64)
    element[:, 5] = torch.linspace(-1.0, 1.0, turns)
    nothing = torch.zeros(0, dtype=torch.int64)
    bags = {name: Bag(torch.zeros((0, columns), dtype=torch.float64), nothing) for name, columns in SETS.items()}
    seen = Seen(turns, bags | {"jobs": Bag(element, torch.arange(turns))})
    reward, keep = np.ones(turns), np.append(np.full(turns - 1, 0.5), 0.0)
    held = fresh(16, np.random.default_rng(0))
    old, adam = dict(held), Adam(held, 0.01)
    for _ in range(600):
        before = Critic(old).judged(seen)[0].detach().numpy()
        critic = Critic(held)
        critic.error(seen, torch.as_tensor(before + td_errors(reward, before, keep))).mean().backward()
        adam.step(held, {name: value.grad.numpy() for name, value in critic.named.items()}, 10.0)
        old = {name: 0.9 * old[name] + 0.1 * value for name, value in held.items()}
    found = Critic(held).judged(seen)[0].detach().numpy()
    assert found == pytest.approx(2.0 - 0.5 ** np.arange(turns - 1, -1, -1.0), abs=0.1)
