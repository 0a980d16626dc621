"""The story of a job of the stream family."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.stream_toys import MAP, toy_run

from dovetail.evaluation.explain_stream import explain_json, explain_text, timeline
from dovetail.evaluation.job_story_stream import JobStory


def test_one_that_was_late_and_rescaled() -> None:
    story = JobStory(toy_run(), 0)
    text = explain_text(story)
    assert text.startswith("job 0 (a) under stream/ds2 (run stream-ds2-s0, seed 0)")
    assert "measured        6 intervals of 60 s, from 60 s on" in text
    assert "records         1,920 came, 1,920 left, 1 waited at the end" in text
    assert "late            in 2 intervals, 33.3 % of all" in text
    assert "rescaled        2 times: stood still for 4 s in all" in text
    assert "a rescale       takes 2 s and goes back to the last checkpoint, 10 s ago at most" in text
    assert "180 – 300  late: 9.66 s on average, 11.4 s at worst; <map> held it up, 86.6 % full on average, and " in text
    assert "blocked source 55 % of the time; it stood still for 2 s; 2 records waited at the end" in text
    assert "240  rescaled, 3 → 5 instances: <map> 1 → 3 for 1.5 (so many instances process" in text
    assert "stood still for 2 s, latency 20.7 s just before, 21.1 s just after, late for 30 s" in text
    assert "(nobody was held up, and it was mostly idle); stood still for 2 s, latency 0.22 s just before" in text
    assert [one.kind for one in timeline(story)] == ["late", "rescaled", "rescaled"]


def test_one_that_was_left_alone() -> None:
    text = explain_text(JobStory(toy_run(), 1))
    assert "rescaled        0 times: nothing was ever changed" in text
    assert "nothing: it was neither rescaled nor late" in text


def test_what_held_it_up() -> None:
    (late,) = JobStory(toy_run(), 0).late
    assert (late.first, late.last, late.start_s, late.end_s) == (2, 3, 180.0, 300.0)
    assert late.operator == MAP and late.blocked == 0 and late.blocked_share == pytest.approx(0.55, abs=0.01)


def test_an_operator_with_skew_is_full_before_it_is_busy() -> None:
    """All records go to one of three instances: a third of the time busy is all it can do."""
    run = toy_run({60.0: {MAP: 3}})
    skew = np.array([0.0, 1.0, 0.0, 0.0])
    story = JobStory(replace(run, operators=replace(run.operators, skew=skew)), 0)
    busy = run.of_operators("busy")[:, MAP]
    assert story._full[:, MAP].tolist() == pytest.approx((3 * busy).tolist())


def test_what_it_cost() -> None:
    first, second = JobStory(toy_run(), 0).rescales
    assert (first.before, first.after, second.before, second.after) == (3, 5, 5, 4)
    assert first.down_s == second.down_s == pytest.approx(2.0)
    assert first.late_s == pytest.approx(30.0) and second.late_s == pytest.approx(10.0)
    never = JobStory(toy_run({180.0: {MAP: 2}, 240.0: {MAP: 1}}), 0).rescales[1]
    assert never.late_s == pytest.approx(60.0)  # not before the next decision
    assert "late until the next decision" in explain_text(JobStory(toy_run({180.0: {MAP: 2}, 240.0: {MAP: 1}}), 0))


def test_json() -> None:
    document = explain_json(JobStory(toy_run(), 0))
    json.dumps(document, allow_nan=False)
    assert document["family"] == "stream" and document["name"] == "a" and document["summary"]["rescales"] == 2
    assert [one["name"] for one in document["operators"]] == ["source", "<map>", "sink"]
    late, first, _ = document["timeline"]
    assert late["kind"] == "late" and late["operator"] == MAP and late["blocked_operator"] == 0
    assert first["changes"] == [
        {
            "operator": MAP,
            "name": "<map>",
            "before": 1,
            "after": 3,
            "reason": first["changes"][0]["reason"],
            "demand": 1.5,
        }
    ]


def test_many_changes_are_summed_up() -> None:
    run = toy_run({240.0: {0: 2, 1: 4, 2: 1}})
    (rescale,) = JobStory(run, 0).rescales
    assert rescale.rows.tolist() == [0, 1]  # the sink has what it is told to have already
    text = explain_text(JobStory(run, 0))
    assert "<map> 1 → 4 for 2, source 1 → 2 for 1 (" in text
