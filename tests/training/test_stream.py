"""Learning autoscalers: a toy with a known optimum, gradients, what is kept on disk."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

pytest.importorskip("torch", reason="learning needs torch: pip install 'dovetail[learn]'")

from dovetail.cli import main
from dovetail.core.errors import CheckpointError, ConfigError, DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamDecision
from dovetail.evaluation.setting_stream import StreamSetting
from dovetail.evaluation.stream_networks import Times, made_for
from dovetail.features.stream import COLUMNS, StreamFeatures
from dovetail.schedulers.learned.stream.arrays import NUMPY
from dovetail.schedulers.learned.stream.checkpoint import BUNDLED, load_checkpoint
from dovetail.schedulers.learned.stream.graph import graph_of
from dovetail.schedulers.learned.stream.kinds import KINDS, draw, forward, fresh_parameters
from dovetail.schedulers.learned.stream.scheduler import POLICIES
from dovetail.schedulers.learned.stream.shape import StreamShape
from dovetail.sim.stream import StreamOptions
from dovetail.training import stream_run
from dovetail.training.stream_losses import OBJECTIVE
from dovetail.training.stream_plan import StreamPlan
from dovetail.training.stream_run import (
    LEAST_SPREAD,
    LEVEL,
    StreamTrainJob,
    StreamTrainRun,
    standardised,
    start_workers,
)
from dovetail.training.stream_worker import StreamWorker, faded, spread_out

STEADY = StreamSetting(
    "nexmark-q2",
    rates="step:low=1,high=1,noise=0",
    duration_s=7200.0,
    interval_s=600.0,
    options=StreamOptions(history=10, noise=0.0, step_s=5.0),
)
SHAPE = StreamShape(width=8, hidden=12, layers=1, snapshots=3)
PLAN = StreamPlan(
    lessons=2, lesson_steps=5, iterations=4, sequences=2, episodes=2, decisions=6, validation=1, every=2, epochs=2
)
JOB = StreamTrainJob((STEADY,), (STEADY,), "sure", SHAPE, PLAN)


def train(directory, job=JOB, *, resume=False, steps=None, workers=1):
    run = StreamTrainRun(directory, job, "the command", resume=resume)
    crew = start_workers(job, workers)
    try:
        for _ in itertools.islice(run.go_on(crew, lambda: False), steps):
            pass
    finally:
        crew.close()
    return run


class Always:
    """These instances, from the first decision on."""

    def __init__(self, parallelism):
        self.parallelism = parallelism

    def reset(self, info, rng):
        pass

    def decide(self, view):
        changed = np.flatnonzero(self.parallelism != view.parallelism)
        return [StreamDecision(int(k), int(self.parallelism[k])) for k in changed]


def played(scheduler, seed=5):
    opened = STEADY.open()
    return opened.run(opened.world(opened.sequence(seed), SeedTree(seed)), scheduler, np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["sure", "tvw-rl"])
def test_it_finds_the_optimum_of_a_steady_job(tmp_path, kind):
    """Nothing changes, so the best is a fixed parallelism, which can be enumerated.

    With `demand`: what `bursts` begins with is nearly the best here, and there would be little to learn.
    """
    best = max(played(Always(np.array(each))).reward.mean() for each in product((1, 2), (3, 4, 5, 6, 7), (1, 2)))
    plan = replace(PLAN, lessons=6, lesson_steps=60, iterations=4, episodes=6, decisions=10, rate=5e-3, epochs=3)
    run = train(tmp_path / "run", replace(JOB, kind=kind, plan=plan, shape=replace(JOB.shape, action="demand")))
    network = load_checkpoint(tmp_path / "run" / "checkpoint")
    found = played(POLICIES[kind](network=network)).reward[2:].mean()  # it takes a moment from where it starts
    untrained = float(run.untrained.mean())
    assert untrained < best - 0.03  # there is something to learn
    assert found > best - 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_loss(tmp_path, kind):
    """Against finite differences, with what was drawn held fixed."""
    torch = pytest.importorskip("torch")
    job = replace(JOB, kind=kind, plan=replace(PLAN, entropy=0.1, algorithm="reinforce"))
    run = StreamTrainRun(tmp_path, job, "", resume=False)
    worker = StreamWorker(job.settings, job.validation, kind, job.shape, job.plan)
    rng = np.random.default_rng(3)
    parameters = {
        name: (value + 0.1 * rng.normal(size=value.shape)).astype(np.float32) for name, value in run.parameters.items()
    }
    worker.play(parameters, [(0, 1)], 7)
    gradient, _ = worker.gradient(parameters)
    name = "head.out.weight"  # the choice of snapshots does not depend on it, so the loss is smooth in it
    direction = rng.normal(size=parameters[name].shape)

    def loss(distance):
        moved = parameters | {name: (parameters[name] + distance * direction).astype(np.float32)}
        named = {key: torch.as_tensor(value) for key, value in moved.items()}
        total = 0.0
        for each in worker._round:
            density = worker._piece(named, each, slice(0, 99))[0].numpy()
            total -= (density * each.advantage).mean() * len(each.features)
        return total / sum(len(each.features) for each in worker._round)

    slope = (loss(1e-2) - loss(-1e-2)) / 2e-2
    assert slope == pytest.approx(float((gradient[name] * direction).sum()), rel=2e-2, abs=1e-4)


@pytest.mark.parametrize("windows", [1, 4])
def test_the_first_layer_is_scaled_by_what_it_sees(windows):
    """So that it says of columns as they come what it said of standardised ones; one that stands still is left."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3)) * [0.2, 30.0, 0.0] + [5.0, -2.0, 1.0]
    spread = np.array([rows[:, 0].std(), rows[:, 1].std(), LEAST_SPREAD])
    layer = {
        "project.weight": rng.normal(size=(3 * windows, 4)).astype(np.float32),
        "project.bias": rng.normal(size=4).astype(np.float32),
    }
    seen = np.stack([np.full(3, 500.0), rows.sum(axis=0), (rows**2).sum(axis=0)])
    scaled = standardised(layer, seen)
    alike = np.tile((rows - rows.mean(axis=0)) / spread, windows)
    expected = alike @ layer["project.weight"] + layer["project.bias"]
    found = np.tile(rows, windows) @ scaled["project.weight"] + scaled["project.bias"]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_columns_are_counted_over_all_lessons():
    worker = StreamWorker((STEADY,), (STEADY,), "dream", SHAPE, PLAN)
    run_parameters = fresh_parameters("dream", SHAPE, np.random.default_rng(0))
    worker.teach(run_parameters, [(0, 1), (0, 2)], 3)
    rows = np.concatenate([each.features.reshape(-1, len(COLUMNS)) for each in worker._lessons]).astype(float)
    count, total, squares = worker.columns()
    assert (count == len(rows)).all()
    np.testing.assert_allclose(total / count, rows.mean(axis=0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(squares / count, (rows**2).mean(axis=0), rtol=1e-6, atol=1e-9)


def test_a_step_learns_from_several_sequences(monkeypatch):
    plan = replace(PLAN, moments=10, sources=4)
    worker = StreamWorker((STEADY,), (STEADY,), "dream", SHAPE, plan)
    parameters = fresh_parameters("dream", SHAPE, np.random.default_rng(0))
    worker.teach(parameters, [(0, seed) for seed in range(4)], 3)
    asked = []
    whole = worker._loss_of_lesson
    monkeypatch.setattr(worker, "_loss_of_lesson", lambda *given: asked.append(given[1]) or whole(*given))
    worker.gradient_of_lessons(parameters, 5)
    assert asked == [3, 3, 2, 2]
    with pytest.raises(ConfigError, match="moments is 3, fewer than sources, 4"):
        replace(PLAN, moments=3)


def test_returns_fade_and_are_compared_at_the_same_moment():
    assert faded(np.array([1.0, 2.0, 4.0]), 0.5).tolist() == [3.0, 4.0, 4.0]
    returns = np.array([[1.0, 3.0], [10.0, 14.0]])  # two moments, two times
    assert np.sign(spread_out(returns)).tolist() == [[-1, 1], [-1, 1]]
    assert np.sqrt((spread_out(returns) ** 2).mean()) == pytest.approx(1.0, rel=1e-4)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    whole = train(tmp_path / "whole")
    for steps in (1, 3):  # while it is taught, and after
        train(tmp_path / str(steps), steps=steps)
        parts = train(tmp_path / str(steps), resume=True)
        assert all((whole.parameters[name] == parts.parameters[name]).all() for name in whole.parameters)
        assert whole.curve == parts.curve
        lines = (tmp_path / str(steps) / "progress.jsonl").read_text().splitlines()
        assert [json.loads(line)["iteration"] for line in lines] == [-1, 0, 1, 2, 3, 4]  # none of them twice


def test_the_best_network_of_the_lessons_is_kept(tmp_path, monkeypatch):
    rewards = {-4: 0.1, -2: 0.4, 0: 0.3}  # untrained, and after two and four lessons
    plan = replace(PLAN, lessons=4, check_lessons=2, iterations=0, level=0.0)
    run = StreamTrainRun(tmp_path, replace(JOB, plan=plan), "", resume=False)
    monkeypatch.setattr(stream_run, "scores", lambda *given: np.array([rewards[run.iteration]]))
    crew = start_workers(run.job, 1)
    at = {progress.iteration: dict(run.parameters) for progress in run.go_on(crew, lambda: False)}
    assert run.curve == [{"iteration": -2, "validation": 0.4}, {"iteration": 0, "validation": 0.3}]
    kept = load_checkpoint(tmp_path / "checkpoint")
    assert kept.card["validation"]["reward"] == 0.4 and kept.card["curve"] == run.curve
    assert all((value == at[-2][name]).all() for name, value in kept.parameters.items())
    assert any((value != at[0][name]).any() for name, value in kept.parameters.items())


def test_the_card_says_how_it_was_made(tmp_path):
    train(tmp_path / "run")
    card = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    assert card["kind"] == "stream-sure"
    assert card["command"] == "the command" and card["objective"] == "reward"
    assert [point["iteration"] for point in card["curve"] if "level" not in point] == [0, 2, 4]
    kept = load_checkpoint(tmp_path / "run" / "checkpoint")
    assert not any(name.startswith(OBJECTIVE) for name in kept.parameters)


def test_refusals(tmp_path):
    train(tmp_path / "run", steps=1)
    with pytest.raises(ConfigError, match="a run is there already"):
        train(tmp_path / "run")
    with pytest.raises(DovetailError):
        train(tmp_path / "run", replace(JOB, seed=1), resume=True)
    train(tmp_path / "whole")
    with pytest.raises(CheckpointError, match="a network of kind sure; stream/dream takes its own only"):
        load_checkpoint(tmp_path / "whole" / "checkpoint", "dream")


LONGER = replace(JOB, plan=replace(PLAN, lesson_steps=25, iterations=0, level=0.0))


def actions(run):
    """What the network says of the same hours when its lessons are over."""
    opened = STEADY.open()
    world, said = opened.world(opened.sequence(5), SeedTree(5)), []
    rows, graph = StreamFeatures(world.info), graph_of(world.info, SHAPE.hops, SHAPE.neighbours)
    rng = np.random.default_rng(1)
    while (view := world.advance()) is not None:
        noise = draw("sure", rng, run.job.shape, 1, world.info.history, graph)
        seen = rows.of(view)[None]
        said.append(forward(NUMPY, "sure", run.job.shape, run.parameters, seen, graph, noise).mean[0])
        world.apply([])
    return np.array(said)


@pytest.fixture(scope="module")
def plain_actions(tmp_path_factory):
    return actions(train(tmp_path_factory.mktemp("plain") / "run", LONGER))


@pytest.mark.parametrize(
    "ablation",
    [
        {"sampler": "random"},
        {"sampler": "none"},
        {"action": "relative"},
        {"past": "sampled"},
        {"past": "weighed"},
        {"faults": True},
        {"information": 0.0},
    ],
    ids=str,
)
def test_ablations_change_the_outcome(tmp_path, ablation, plain_actions):
    """What the trained network says, not only what is in it."""
    if "information" in ablation:
        job = replace(LONGER, plan=replace(LONGER.plan, **ablation))
    else:
        job = replace(LONGER, shape=replace(SHAPE, **ablation))
    assert np.abs(actions(train(tmp_path / "run", job)) - plain_actions).max() > 1e-3


def test_the_command(tmp_path, capsys):
    setting = ["--workload", "nexmark-q2", "--interval", "600", "--duration", "7200"]
    words = ["train", "stream", *setting, "--history", "10"]
    plan = ["sequences=1", "episodes=2", "decisions=4", "validation=1", "width=8", "hidden=8"]
    words += [word for each in plan for word in ("--set", each)]
    words += ["--network", "dream", "--iterations", "1", "--workers", "1", "--out", str(tmp_path / "run"), "--json"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["network"] == "dream" and said["iterations"] == 1
    card = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    assert card["command"].endswith(f"--out {tmp_path / 'run'} --workers 1")  # it decides the run, too
    spec = f"stream/dream:checkpoint={said['checkpoint']}"
    assert main(["compare", "stream", *setting, "--seeds", "1", "--schedulers", f"stream/fixed,{spec}", "--json"]) == 0
    assert main([*words[:-1], "--network", "dreem", "--out", str(tmp_path / "no")]) == 2
    assert "did you mean 'dream'" in capsys.readouterr().err and not (tmp_path / "no").exists()


@pytest.mark.parametrize(("best_at", "level"), [(-0.1, -0.1), (0.05, 0.05), (0.0, 0.0)])
def test_the_level_of_actions_is_set_by_validation(tmp_path, monkeypatch, best_at, level):
    """Up or down by steps, as far as it gains; everything else stays as it was taught."""
    plan = replace(PLAN, lessons=1, check_lessons=1, iterations=0, level=0.05)
    run = StreamTrainRun(tmp_path, replace(JOB, plan=plan), "", resume=False)
    taught = []

    def scores(workers, parameters, tasks):
        if run.iteration < 0:
            return np.array([-9.0])
        taught.append(parameters)
        return np.array([-abs(float(parameters[LEVEL][0] - taught[0][LEVEL][0]) - best_at)])

    monkeypatch.setattr(stream_run, "scores", scores)
    for _ in run.go_on(start_workers(run.job, 1), lambda: False):
        pass
    kept = load_checkpoint(tmp_path / "checkpoint")
    assert kept.parameters[LEVEL][0] - taught[0][LEVEL][0] == pytest.approx(level, abs=1e-6)
    assert all((kept.parameters[name] == taught[0][name]).all() for name in kept.parameters if name != LEVEL)
    assert kept.card["curve"][-1].get("level", 0.0) == pytest.approx(level)


def recorded(folder, minutes, name="rates", first=0):
    """A directory of rates with a count in each of so many minutes."""
    rows = "".join(f"{60 * minute},{50 + (first + minute) % 7}\n" for minute in range(minutes))
    (folder / f"{name}.csv").write_text("time,count\n" + rows)
    assert main(["workload", "import", "rates", str(folder / f"{name}.csv"), "--out", str(folder / name)]) == 0
    return str(folder / name)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("decisions=5000",), "decisions=5000 and two more, one every 600 s.*expected decisions=38 at most"),
        (("decisions=39",), "expected decisions=38 at most"),
        (("lessons=0", "iterations=0"), "lessons and iterations are 0"),
    ],
)
def test_what_cannot_be_trained_is_said_before_it_starts(tmp_path, capsys, given, says):
    words = ["train", "stream", "--workload", "nexmark-q2", "--interval", "600", "--duration", "7200"]
    words += ["--rates", recorded(tmp_path, 400), "--out", str(tmp_path / "run"), "--workers", "1"]
    assert main([*words, *(word for each in given for word in ("--set", each))]) == 2
    said = capsys.readouterr().err
    assert re.search(says, said) and "Traceback" not in said
    assert not (tmp_path / "run").exists()


def test_what_it_was_trained_on_is_not_held_out(tmp_path, capsys):
    """`evaluate` takes other rates, and refuses, or tells, what the network knows; `train` says what to type."""
    known, later = recorded(tmp_path, 400), recorded(tmp_path, 300, "later", first=3)
    words = ["--workload", "nexmark-q2", "--interval", "600", "--duration", "7200", "--history", "10"]
    plan = ["sequences=1", "decisions=4", "validation=1", "width=8", "hidden=8", "lessons=1", "lesson_steps=2"]
    words += ["--rates", known, "--network", "dream", "--iterations", "0", "--workers", "1"]
    words += [word for each in plan for word in ("--set", each)]
    assert main(["train", "stream", *words, "--out", str(tmp_path / "run")]) == 0
    assert "--rates LATER" in capsys.readouterr().out
    judge = ["evaluate", str(tmp_path / "run" / "checkpoint"), "--seeds", "1", "--schedulers", "stream/fixed"]
    judge += ["--workers", "1"]
    assert main(judge) == 2
    assert "it was trained on windows of" in capsys.readouterr().err
    assert main([*judge, "--rates", known]) == 0
    assert "says how well it knows them" in capsys.readouterr().err
    assert main([*judge, "--rates", known, "--write"]) == 2
    assert "--write keeps what was held out" in capsys.readouterr().err
    moved = shutil.copytree(known, tmp_path / "moved")  # the same series by another name
    assert main([*judge, "--rates", str(moved)]) == 0
    assert "says how well it knows them" in capsys.readouterr().err
    assert main([*judge, "--rates", later]) == 0
    assert "knows" not in capsys.readouterr().err
    assert main([*judge[:-2], "--rates", later, "--jobs", "5"]) == 2
    assert "error: --jobs means nothing to stream/dream" in capsys.readouterr().err
    for name, value in (("--seeds", "0"), ("--seed", "-1")):
        assert main([*judge, "--rates", later, name, value]) == 2
        assert f"error: {name} is {value}; expected" in capsys.readouterr().err


def test_a_network_that_is_asked_at_other_times_than_it_learned_to_is_told_of(tmp_path, capsys):
    train(tmp_path / "run", steps=2)  # every 600 s, ten snapshots
    words = ["compare", "stream", "--workload", "nexmark-q2", "--duration", "3600", "--seeds", "1", "--workers", "1"]
    words += ["--schedulers", f"stream/fixed,stream/sure:checkpoint={tmp_path / 'run' / 'checkpoint'}", "--step", "5"]
    for other in (
        ("--interval", "300", "--history", "10"),
        ("--interval", "600"),
        ("--interval", "600", "--snapshot", "30"),
    ):
        assert main([*words, *other]) == 0
        assert "learned to decide every 600 s with 10 snapshots of 60 s, and is asked here" in capsys.readouterr().err
    assert main([*words, "--interval", "600", "--history", "10"]) == 0
    assert "learned to decide" not in capsys.readouterr().err


def test_cards_that_do_not_say_for_what_times_are_read_from_their_settings():
    card = json.loads((BUNDLED / "sure.json").read_text())
    card.pop("times", None)
    assert made_for(card) == [Times(3600.0, 60.0, 60)]
    assert made_for({}) == [] == made_for({"settings": [{"options": None}]})


def test_what_the_card_says_can_be_typed_again(tmp_path, capsys):
    rates = recorded(tmp_path, 400)
    words = [
        "train",
        "stream",
        "--workload",
        "nexmark-q2",
        "--interval",
        "600",
        "--duration",
        "7200",
        "--history",
        "10",
    ]
    words += ["--rates", rates, "--validate-rates", rates, "--network", "dream", "--iterations", "0"]
    for each in ("sequences=1", "decisions=4", "validation=1", "width=8", "lessons=1", "lesson_steps=2"):
        words += ["--set", each]
    assert main([*words, "--out", str(tmp_path / "once"), "--workers", "1"]) == 0
    card = json.loads((tmp_path / "once" / "checkpoint.json").read_text())
    typed = shlex.split(card["command"].replace(str(tmp_path / "once"), str(tmp_path / "again")))
    assert main(typed[1:]) == 0
    once, again = (load_checkpoint(tmp_path / name / "checkpoint").parameters for name in ("once", "again"))
    assert all((once[name] == again[name]).all() for name in once)
