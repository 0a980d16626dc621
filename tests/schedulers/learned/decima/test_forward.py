"""The compiled network and the one in torch are the same function; choices follow their probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from tests.schedulers.learned.decima.networks import SHAPES, random_parameters

from dovetail.features import feature_set
from dovetail.schedulers.learned.decima.forward import choose, pack
from dovetail.schedulers.learned.decima.inputs import DecimaInput, class_sizes, decima_input
from dovetail.schedulers.learned.decima.shape import DecimaShape
from dovetail.testing.dag_views import ANY_SIZE, FOUR_SIZES, JobSketch, StageSketch, info_for, make_view, random_view

CLUSTERS = {"one size": ANY_SIZE, "four sizes": FOUR_SIZES}


def inputs_of(shape: DecimaShape, cluster: str, count: int = 30) -> list[DecimaInput]:
    classes = CLUSTERS[cluster]
    views = [random_view(np.random.default_rng(seed), classes) for seed in range(count)]
    return [decima_input(view, info_for(classes), feature_set(shape.features)) for view in views]


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", SHAPES)
def test_the_probability_of_a_choice_is_the_one_that_torch_computes(name: str, cluster: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from dovetail.schedulers.learned.decima.network import Chosen, DecimaNetwork, collate

    shape = SHAPES[name]
    parameters = random_parameters(shape)
    network = DecimaNetwork(shape)
    network.load_arrays(parameters)
    packed = pack(shape, parameters)
    inputs = inputs_of(shape, cluster)
    rng = np.random.default_rng(1)
    for greedy in (True, False):
        chosen = [choose(packed, given, None if greedy else rng.random((1, 3))) for given in inputs]
        with torch.no_grad():
            judged = network(collate(inputs, [Chosen.taken(choice) for choice in chosen]))
        ours = np.concatenate([choice.log_probability[choice.node >= 0] for choice in chosen])
        np.testing.assert_allclose(ours, judged.log_probability.numpy(), atol=2e-5)
        assert (judged.entropy.numpy() > -1e-6).all()


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", SHAPES)
def test_the_likeliest_choice_is_the_likeliest_in_torch(name: str, cluster: str) -> None:
    """Of all stages; then of all classes for that stage; then of all limits for that class."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from dovetail.schedulers.learned.decima.network import Chosen, DecimaNetwork, collate

    shape = SHAPES[name]
    network = DecimaNetwork(shape)
    network.load_arrays(random_parameters(shape, 3))
    packed = pack(shape, random_parameters(shape, 3))

    def probability(given: DecimaInput, decisions: list[tuple[int, int, int]]) -> dict[tuple[int, int, int], float]:
        world = np.zeros(len(decisions), dtype=np.int64)
        with torch.no_grad():
            judged = network(collate([given], [Chosen(world, *np.array(decisions).T)]))
        return dict(zip(decisions, judged.log_probability.exp().tolist(), strict=True))

    compared = 0
    for given in inputs_of(shape, cluster, 12):
        best = choose(packed, given)
        if best.node[0] < 0:
            continue
        all_of_them = probability(given, every_decision(given))
        assert sum(all_of_them.values()) == pytest.approx(1.0, abs=1e-4)
        taken = int(best.node[0]), int(best.executor_class[0]), int(best.limit[0])
        for depth in range(3):  # of those that agree with the choice so far, what is likeliest at this one
            chance: dict[int, float] = {}
            for decision, p in all_of_them.items():
                if decision[:depth] == taken[:depth]:
                    chance[decision[depth]] = chance.get(decision[depth], 0.0) + p
            assert chance[taken[depth]] >= max(chance.values()) - 1e-5
            compared += len(chance)
    assert compared > 60


def every_decision(given: DecimaInput) -> list[tuple[int, int, int]]:
    found = []
    for node in np.flatnonzero(given.valid).tolist():
        fitting = given.offered[0] * given.fits[node]
        for kind in [-1, *np.flatnonzero(fitting).tolist()] if len(fitting) > 1 else [-1]:
            room = min(int(fitting.sum() if kind == -1 else fitting[kind]), int(given.unclaimed[node]))
            found += [(node, kind, int(given.held[node]) + g) for g in range(1, room + 1)]
    return found


def test_luck_draws_by_probability() -> None:
    shape = SHAPES["informed"]
    packed = pack(shape, random_parameters(shape, 5))
    view = make_view(
        [JobSketch([StageSketch(tasks=9), StageSketch(tasks=4)]), JobSketch([StageSketch(tasks=2)])], offered=2
    )
    given = decima_input(view, info_for(), feature_set(shape.features))
    rng = np.random.default_rng(0)
    seen: dict[tuple[int, int], tuple[int, float]] = {}
    for _ in range(4000):
        choice = choose(packed, given, rng.random((1, 3)))
        key = (int(choice.node[0]), int(choice.limit[0]))
        seen[key] = (seen.get(key, (0, 0.0))[0] + 1, float(np.exp(choice.log_probability[0])))
    assert sum(probability for _, probability in seen.values()) == pytest.approx(1.0, abs=0.02)
    for count, probability in seen.values():
        assert count / 4000 == pytest.approx(probability, abs=4 * np.sqrt(probability / 4000) + 1e-3)


def test_many_worlds_at_once_are_the_same_as_one_by_one() -> None:
    from tests.features.test_dag import batch_views

    shape = SHAPES["informed"]
    packed = pack(shape, random_parameters(shape, 2))
    features = feature_set(shape.features)
    for views, info in batch_views(40):
        many = decima_input(views, info, features)
        together = choose(packed, many)
        for w in range(4):
            if not views.active[w]:
                assert together.node[w] == -1
                continue
            one = decima_input(views.world(w), info, features)
            alone = choose(packed, one)
            assert many.stage[together.node[w]] == one.stage[alone.node[0]]
            assert together.limit[w] == alone.limit[0]


def test_finished_stages_and_saturated_jobs_are_left_out() -> None:
    done = JobSketch([StageSketch(tasks=5, left=0), StageSketch(tasks=5, parents=(0,))])
    saturated = JobSketch([StageSketch(tasks=2, running=2)])
    view = make_view([saturated, done], offered=1)
    given = decima_input(view, info_for(), feature_set("decima-1"))
    assert given.stage.tolist() == [2]
    assert (given.node_job.tolist(), given.job_ptr.tolist()) == ([0], [0, 1])
    assert given.edges.shape == (0, 2)


def test_class_sizes_are_shares_of_the_largest() -> None:
    assert class_sizes(info_for(FOUR_SIZES)).tolist() == [[1, 0.25], [1, 0.5], [1, 0.75], [1, 1]]
    assert class_sizes(info_for(ANY_SIZE)).tolist() == [[1, 1]]
