from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from dovetail.schedulers.learned.decima.network import Judgement, segment_choice  # noqa: E402
from dovetail.training.losses import imitation_loss, ppo_loss, reinforce_loss, search_loss  # noqa: E402


def judged(*probabilities: float) -> Judgement:
    log_p = torch.log(torch.tensor(probabilities)).requires_grad_()
    return Judgement(log_p, torch.zeros(len(probabilities)))


def test_reinforce_and_imitation() -> None:
    one = judged(0.5, 0.25)
    assert reinforce_loss(one, torch.tensor([2.0, -1.0])).tolist() == pytest.approx([2 * 0.6931, -1.3863], abs=1e-4)
    assert imitation_loss(one).tolist() == pytest.approx([0.6931, 1.3863], abs=1e-4)


def test_ppo_stops_where_the_policy_has_moved_far_enough() -> None:
    # ratios 2, 2, 0.5, 0.5 with gains of both signs: clipped to 1.2 and 0.8 where moving on would help
    one = judged(0.8, 0.8, 0.2, 0.2)
    old = torch.log(torch.tensor([0.4, 0.4, 0.4, 0.4]))
    loss = ppo_loss(one, torch.tensor([1.0, -1.0, 1.0, -1.0]), old, 0.2)
    assert loss.tolist() == pytest.approx([-1.2, 2.0, -0.5, 0.8])
    loss.sum().backward()
    assert one.log_probability.grad.tolist() == pytest.approx([0, 2, -0.5, 0])


def test_search_counts_what_the_policy_can_expect_among_what_was_tried() -> None:
    # state 0: probabilities 0.1 and 0.3 become 1/4 and 3/4; state 1: one decision only
    one = judged(0.1, 0.3, 0.2)
    loss = search_loss(one, torch.tensor([4.0, -4.0, 7.0]), torch.tensor([0, 0, 1]), 2)
    assert loss.tolist() == pytest.approx([-(1 - 3), -7])
    loss.sum().backward()
    gradient = one.log_probability.grad.tolist()
    assert gradient == pytest.approx([-1.5, 1.5, 0])  # the better one up, the worse one down, by as much


def test_segment_choice_is_a_softmax_in_each_segment() -> None:
    scores = torch.tensor([1.0, 1.0, 5.0, 0.0])
    log_p, entropy = segment_choice(scores, torch.tensor([0, 0, 1, 1]), 2, torch.tensor([1, 3]))
    assert log_p.exp().tolist() == pytest.approx([0.5, 1 / (1 + torch.e**5)])
    assert entropy[0].item() == pytest.approx(0.6931, abs=1e-4)
