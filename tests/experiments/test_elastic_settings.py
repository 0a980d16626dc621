"""The experiments over settings of elastic jobs: what they compare, and how they read what they kept."""

from __future__ import annotations

import sys
from argparse import Namespace

import commands
import elastic_sensitivity
import elastic_settings
import numpy as np
import pytest
from elastic_settings import OASIS, REPLAN, Point, axis_table, measured, scheduler_table

from dovetail.evaluation.contenders import Contender

SMALL = ("--workload", "oasis-small", "--jobs", "5", "--slots", "20")


def point(tuned=(), **utility):
    values = {
        f"elastic/{name}": {
            "total_utility": np.array(values, dtype=float),
            "completed_share": np.full(len(values), 0.5),
            "avg_jct_s": np.full(len(values), 7200.0),
            "p95_jct_s": np.full(len(values), 10800.0),
        }
        for name, values in utility.items()
    }
    return Point("made up", values, tuned)


def test_the_best_and_what_lies_between():
    made_up = point(fifo=[1, 1], drf=[2, 9], dorm=[4, 4])
    assert made_up.best(("elastic/fifo", "elastic/drf", "elastic/dorm", "elastic/rrh")) == "elastic/drf"
    assert made_up.best(("elastic/fifo", "elastic/dorm")) == "elastic/dorm"
    assert made_up.difference("elastic/dorm", "elastic/fifo").startswith("+300.0 %")


def test_tables():
    made_up = point(**{"oasis": [6, 8], "oasis-replan": [8, 9], "fifo": [1, 1], "drf": [4, 5], "srtf": [6, 7]})
    rows = scheduler_table(made_up).splitlines()
    assert [row.split("`")[1] for row in rows[2:]][:3] == ["elastic/oasis-replan", "elastic/oasis", "elastic/srtf"]
    assert "to `elastic/drf`, best published" in rows[0] and "to `elastic/srtf`, best heuristic" in rows[0]
    assert "to `elastic/drf`, best published, tuned" in rows[0]
    assert "| 7 [6, 8] | +55.6 % " in rows[3] and "| 50 % | 2.0 | 3.0 | 2 |" in rows[3]
    along = axis_table("jobs", {5: made_up, 10: made_up})
    assert "| jobs | 5 | 10 |" in along and "| `elastic/oasis` to the best published | +55.6 % " in along
    assert "| **best published, tuned** | `elastic/drf` | `elastic/drf` |" in along


def test_what_was_tuned_is_a_yardstick_of_its_own():
    spec = elastic_settings.TUNED["small"][0]
    made_up = point((spec,), **{"oasis": [6, 8], "drf": [4, 5], spec.removeprefix("elastic/"): [5, 5]})
    head = scheduler_table(made_up).splitlines()[0]
    assert f"to `elastic/drf`, best published | to `{spec}`, best published, tuned |" in head


@pytest.mark.parametrize("preset", list(elastic_settings.PRESETS))
def test_what_was_tuned_is_named_as_the_records_name_it(preset):
    for spec in elastic_settings.TUNED[preset]:
        assert elastic_settings.spec_of(Contender.of(spec).entry) == spec


def test_comparisons_are_run_kept_and_gone_on_with(tmp_path, monkeypatch):
    asked = []
    run = elastic_settings.dovetail
    monkeypatch.setattr(elastic_settings, "dovetail", lambda *words: asked.append(words) or run(*words))
    args = Namespace(out=tmp_path, seeds=2, workers=1)
    found = measured("tiny", SMALL, ["elastic/fifo", OASIS, "elastic/dorm"], args)
    assert len(asked) == 1
    assert {name: len(one["total_utility"]) for name, one in found.values.items()} == {
        "elastic/dorm": 2,
        "elastic/fifo": 2,
        OASIS: 2,
    }
    again = measured("tiny", SMALL, ["elastic/fifo", OASIS], args)
    assert again.mean(OASIS) == found.mean(OASIS) > 0


@pytest.mark.parametrize("preset", list(elastic_settings.PRESETS))
def test_labels_of_the_sensitivity_are_those_of_the_records(preset):
    """Every value that a table asks for is one that is run."""
    run = {Contender.of(spec).entry for spec in elastic_sensitivity.specs(preset)}
    ran = {elastic_settings.spec_of(one) for one in run}
    inf, label, errors = float("inf"), elastic_sensitivity.label, elastic_sensitivity.ERRORS
    wanted = {label(error=error, trust=trust) for error in errors for trust in (10.0, inf)}
    wanted |= {label(REPLAN, error=error) for error in errors}
    wanted |= {label(REPLAN, error=error, trust=10.0) for error in elastic_sensitivity.ERRORS}
    wanted |= {label("elastic/learned", error=error) for error in elastic_sensitivity.ERRORS}
    wanted |= {label(error=error, fill=inf, trust=inf) for error in errors}
    wanted |= {label(fill=float(fill), trust=inf) for fill in elastic_sensitivity.FILLS}
    if preset in elastic_sensitivity.WIDE:
        wanted |= {label(error=e, trust=t) for e in elastic_sensitivity.AT for t in elastic_sensitivity.TRUSTS}
        wanted |= {label(fill=float(fill)) for fill in elastic_sensitivity.FILLS}
        wanted |= {label(in_order="arrival"), label(fill=inf, in_order="arrival", trust=inf)}
    wanted |= {*elastic_sensitivity.BASELINES, *elastic_settings.TUNED[preset]}
    assert wanted <= ran
    assert ran - wanted == {"elastic/srtf"}


def test_at_every_error_the_baselines_stand_beside(monkeypatch):
    monkeypatch.setattr(elastic_sensitivity, "ERRORS", (0.5, 1.0))
    tuned = "elastic/rrh:workers=64"
    values = {"oasis": [8, 8], "oasis:error=0.5": [4, 4], "rrh": [2, 2], "drf": [1, 1], "fifo": [1, 1]}
    points = {"small": point((tuned,), **values, **{tuned.removeprefix("elastic/"): [5, 5]})}
    rows = elastic_sensitivity.error_table(OASIS, points).splitlines()
    assert rows[2].startswith("| 0.5 | 4 [4, 4] | -50.0 % [-50.0, -50.0] | +100.0 % ") and "| -20.0 % " in rows[2]
    assert "| 1 | 8 [8, 8] |  | +300.0 % " in rows[3]
    rows = elastic_sensitivity.error_table(REPLAN, points).splitlines()
    assert rows[2] == "| 0.5 |  |  |  |  |"
    assert f"| `oasis-small` | `{tuned}` | tuned | 5 [5, 5] |" in elastic_sensitivity.baseline_table(points)


@pytest.mark.parametrize("preset", list(elastic_settings.PRESETS))
def test_what_is_usual_is_the_presets(preset):
    from dovetail.evaluation.setting_elastic import ElasticSetting

    opened = ElasticSetting(elastic_settings.PRESETS[preset]).open()
    hosts = opened.cluster.worker_hosts + opened.cluster.server_hosts
    usual = {"jobs": opened.jobs, "servers": hosts, "slots": opened.slots}
    assert usual == elastic_settings.USUAL[preset]
    assert all(usual[axis] in values for axis, values in elastic_settings.AXES[preset].items())


def test_it_reports_and_records(tmp_path, monkeypatch, capsys):
    """The whole script, with settings so small that it takes seconds."""
    for module in (commands, elastic_settings):
        monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(elastic_settings, "PRESETS", {"small": "oasis-small:jobs=4,slots=20"})
    monkeypatch.setattr(elastic_settings, "USUAL", {"small": {"jobs": 4, "slots": 20}})
    monkeypatch.setattr(elastic_settings, "AXES", {"small": {"jobs": (4, 6), "slots": (20, 30)}})
    specs = ["elastic/fifo", OASIS, "elastic/oasis-replan", "elastic/fifo:strict=false"]
    monkeypatch.setattr(elastic_settings, "names", lambda preset: specs)
    words = ["--only", "small", "--seeds", "2", "--workers", "1", "--out", str(tmp_path), "--write"]
    monkeypatch.setattr(sys, "argv", ["experiments/elastic_settings.py", *words])
    elastic_settings.main()
    written = (tmp_path / "results" / "elastic_settings.md").read_text()
    assert "## `oasis-small:jobs=4,slots=20`: 4 jobs, 20 slots" in written and "| jobs | 4 | 6 |" in written
    assert (tmp_path / "results" / "elastic_small.png").stat().st_size > 10_000
    assert written.splitlines()[-1] in capsys.readouterr().out
    words[1] = "google"
    monkeypatch.setattr(sys, "argv", ["experiments/elastic_settings.py", *words, "--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="no such file; --data names"):
        elastic_settings.main()
    (tmp_path / "elastic").mkdir()
    (tmp_path / elastic_settings.COUNTS).write_text('{"10": [1, 9, 2]}')
    elastic_settings.main()
    written = (tmp_path / "results" / "elastic_google.md").read_text()
    assert "## Jobs of `oasis-small:jobs=4,slots=20`: 4 jobs, 20 slots" in written and f"| `{OASIS}` |" in written
