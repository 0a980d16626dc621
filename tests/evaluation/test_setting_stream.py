"""Settings of the stream family: what is given, and what the workload says."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix_cell import Row, run_cell
from dovetail.evaluation.metrics_stream import METRICS
from dovetail.evaluation.setting_stream import StreamSetting
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.stream import StreamOptions

SHORT = {"workload": "nexmark-q1", "duration_s": 6 * 3600.0}


def test_as_the_workload_was_made_for() -> None:
    opened = StreamSetting().open()
    facts = opened.facts()
    assert facts["name"] == "small-1" and opened.jobs == facts["jobs"] == 1 and facts["rates"] == "web"
    assert opened.duration_s == 604_800.0 and opened.options == StreamOptions(interval_s=3600.0)
    assert "runtime" not in facts and opened.notes() == []


def test_what_is_given_instead() -> None:
    setting = StreamSetting(**SHORT, rates="step", interval_s=600.0, slots=30, runtime="python")
    opened = setting.open()
    sequence = opened.sequence(0)
    assert sequence.duration_s == 6 * 3600.0 and sequence.slots == 30 and (sequence.job_restart_s == 7.0).all()
    assert opened.options.interval_s == 600.0 and opened.facts()["runtime"] == "python"
    assert opened.facts()["content"] != StreamSetting(**SHORT).open().facts()["content"]


def test_seeds() -> None:
    opened = StreamSetting(**SHORT).open()
    assert np.array_equal(opened.sequence(3).rate, opened.sequence(3).rate)
    assert not np.array_equal(opened.sequence(3).rate, opened.sequence(4).rate)


def test_a_cell() -> None:
    opened = StreamSetting(**SHORT).open()
    row = run_cell(opened, opened.sequence(1), Contender.of("stream/ds2"), 1, keep=True)
    assert isinstance(row, Row) and list(row.metrics) == list(METRICS)
    assert row.run is not None and row.run.end_s == 6 * 3600.0 and row.timings["decision_s"] > 0
    assert row.events == 5 * 3600 * opened.source.table.num_operators


def test_rehearsal_needs_no_whole_week() -> None:
    opened = StreamSetting().open()
    scheduler = SCHEDULERS.create("stream/ds2")
    opened.rehearse(scheduler, set())


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"workload": "smal-1"}, UnknownName, "did you mean 'small-1'"),
        ({"runtime": "worm"}, UnknownName, "unknown runtime 'worm'; did you mean 'warm'"),
        ({"slots": 0}, ConfigError, "slots is 0; expected more than 0"),
        ({"slots": 2}, ConfigError, "2 slots, but small-1 starts with"),
        ({"duration_s": -1.0}, ConfigError, "duration_s is -1.0; expected more than 0"),
        ({"interval_s": 0.0}, ConfigError, "interval_s is 0.0; expected more than 0"),
        ({"duration_s": 61.0}, DovetailError, "expected a multiple of 60 s"),
    ],
)
def test_what_makes_no_sense(given, error, message) -> None:
    with pytest.raises(error, match=message):
        StreamSetting(**given).open().check(0)


def test_too_short_for_a_decision() -> None:
    with pytest.raises(DovetailError, match="interval"):
        StreamSetting(duration_s=3600.0).open().check(0)
