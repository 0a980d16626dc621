"""Training runs of price networks: on disk, resumed, refused."""

from __future__ import annotations

import itertools
import json
import pkgutil

import numpy as np
import pytest

from dovetail.cli import main
from dovetail.cluster.elastic import halves
from dovetail.core.errors import CheckpointError, ConfigError, DovetailError
from dovetail.evaluation.setting_elastic import ElasticSetting
from dovetail.schedulers.learned.elastic.checkpoint import load_checkpoint
from dovetail.schedulers.learned.elastic.network import PriceNetwork
from dovetail.training.elastic_run import ElasticTrainJob, ElasticTrainRun, start_workers
from dovetail.training.evolution import EvolutionPlan

PLAN = EvolutionPlan(iterations=4, pairs=2, sequences=2, validation=2, every=2, hidden=3)
JOB = ElasticTrainJob((ElasticSetting(jobs=6, slots=20, cluster=halves(4)),), PLAN)


def train(directory, job=JOB, *, resume=False, steps=None, workers=1):
    run = ElasticTrainRun(directory, job, "the command", resume=resume)
    crew = start_workers(job, workers)
    try:
        for _ in itertools.islice(run.go_on(crew, lambda: False), steps):
            pass
    finally:
        crew.close()
    return run


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    whole = train(tmp_path / "whole")
    train(tmp_path / "parts", steps=1)
    parts = train(tmp_path / "parts", resume=True)
    assert (whole.state.parameters == parts.state.parameters).all()
    assert whole.curve == parts.curve
    one, other = (load_checkpoint(tmp_path / name / "checkpoint").network for name in ("whole", "parts"))
    assert (one.vector() == other.vector()).all()


def test_workers_do_not_change_the_result(tmp_path):
    assert (train(tmp_path / "one").state.parameters == train(tmp_path / "two", workers=2).state.parameters).all()


def test_the_card_says_how_it_was_made(tmp_path):
    train(tmp_path / "run")
    card = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    assert card["kind"] == "elastic-prices"
    assert card["command"] == "the command"
    assert card["objective"] == "total-utility"
    assert [point["iteration"] for point in card["curve"]] == [2, 4]
    assert len((tmp_path / "run" / "progress.jsonl").read_text().splitlines()) == 4


def test_refusals(tmp_path):
    train(tmp_path / "run", steps=1)
    with pytest.raises(ConfigError, match="--resume"):
        ElasticTrainRun(tmp_path / "run", JOB, "", resume=False)
    with pytest.raises(ConfigError, match="no run to go on with"):
        ElasticTrainRun(tmp_path / "empty", JOB, "", resume=True)
    other = ElasticTrainJob(JOB.settings, EvolutionPlan(**{**vars(PLAN), "rate": 0.5}))
    with pytest.raises(ConfigError, match=r"plan\.rate"):
        ElasticTrainRun(tmp_path / "run", other, "", resume=True)
    (tmp_path / "run" / "state.json").write_text("{")
    with pytest.raises(DovetailError, match="cannot be read"):
        ElasticTrainRun(tmp_path / "run", JOB, "", resume=True)


def test_an_untrained_network_leaves_prices_alone():
    network = PriceNetwork.fresh(5, np.random.default_rng(0))
    assert (network.scale(np.random.default_rng(1).normal(size=(7, network.w1.shape[0]))) == 1.0).all()
    again = PriceNetwork.of_vector(network.vector(), 5)
    assert all((one == other).all() for one, other in zip(network, again, strict=True))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "decima"}, "elastic-prices"),
        ({"hidden": 0}, "hidden"),
        ({"hidden": 4}, "w1"),
        ({"feature_columns": ["soon"]}, "other features"),
    ],
)
def test_a_damaged_checkpoint_is_refused(tmp_path, change, says):
    train(tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CheckpointError, match=says):
        load_checkpoint(path)


@pytest.mark.parametrize("where", ["dovetail.cli.train_elastic._tell", "dovetail.training.elastic_run.step"])
def test_what_an_interrupt_names_is_there(where, tmp_path, capsys, monkeypatch):
    """After one iteration, long before the first validation."""
    calls = itertools.count()
    real = pkgutil.resolve_name(where)

    def press(*args):
        if next(calls) == (1 if where.endswith("step") else 0):
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(where, press)
    words = ["--jobs", "5", "--slots", "15", "--servers", "4", "--workers", "1", "--iterations", "9"]
    for name in ("pairs=1", "sequences=1", "validation=1", "every=9", "hidden=1"):
        words += ["--set", name]
    assert main(["train", "elastic", *words, "--out", str(tmp_path / "run")]) == 130
    said = capsys.readouterr().out.splitlines()
    assert said[0] == str(tmp_path / "run" / "checkpoint.safetensors") and "+0.00 %" in said[1]
    assert load_checkpoint(tmp_path / "run" / "checkpoint").card["validation"]["iterations"] == 1


def test_the_command(tmp_path, capsys):
    words = ["--jobs", "5", "--slots", "15", "--servers", "4", "--workers", "1", "--iterations", "1", "--json"]
    for name in ("pairs", "sequences", "validation", "every", "hidden"):
        words += ["--set", f"{name}=1"]
    assert main(["train", "elastic", *words, "--out", str(tmp_path / "run")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["iterations"] == 1
    assert set(found["rivals"]) == {"elastic/oasis", "elastic/oasis-replan"}
    for wrong in (["--set", "pairs"], ["--mix", "0"], ["--profile", "huge"], ["--workers", "0"], ["--minutes", "0"]):
        assert main(["train", "elastic", *wrong, "--out", str(tmp_path / "no")]) == 2
        assert not (tmp_path / "no").exists()
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "run")]) == 2
    assert f"its network is {tmp_path / 'run' / 'checkpoint'}" in capsys.readouterr().err
