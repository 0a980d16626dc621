import json

import numpy as np
import pytest
from tests.workloads.stream_samples import recorded, series

from dovetail.workloads.stream_describe import describe_rates, describe_stream, rate_summary, stream_as_text
from dovetail.workloads.stream_plot import save_stream_plot
from dovetail.workloads.stream_rates import RecordedRates
from dovetail.workloads.stream_source import open_stream


def test_what_is_said_of_jobs():
    rate = tuple([1.0] * 60 + [3.0] * 60)
    summary = describe_stream(recorded(rates=series(rate)))
    assert summary["counts"] == {"jobs": 1, "operators": 4, "edges": 4}
    job = summary["jobs"][0]
    assert (job["operators"], job["sources"], job["joins"], job["sinks"], job["depth"]) == (4, 1, 1, 1, 3)
    assert job["demand"] == pytest.approx(4.25) and job["demand_at_peak"] == pytest.approx(1.5 * 4.25)
    assert summary["rates"]["a"]["peak_hour"] == pytest.approx(150.0)
    left, join = summary["operators"][1], summary["operators"][3]
    assert left["fed_by"] == ["read"] and join["fed_by"] == ["left", "right"]
    assert left["at_peak"] == 5  # 3 busy at the peak
    json.dumps(summary, allow_nan=False)


def test_figures_of_rates():
    hours = np.repeat([2.0, 4.0, 2.0, 0.0], 60) * np.tile([0.5, 1.5], 120)
    found = rate_summary(hours, 60.0)
    assert (found["peak_hour"], found["quiet_hour"]) == (4.0, 0.0)
    assert found["cv_within_hour"] == pytest.approx(0.5)
    assert found["hour_change"] == pytest.approx(np.log(2))
    short = rate_summary(np.array([1.0, 2.0]), 60.0)
    assert short["max"] == 2.0 and short["peak_hour"] is None
    assert rate_summary(np.ones(5), 7200.0)["hour_change"] is None
    assert rate_summary(np.array([1.0, 2.0]), 3600.0)["cv_within_hour"] is None


def test_text_for_people():
    text = stream_as_text(describe_stream(open_stream("shared"), duration_s=86_400.0, seed=1))
    assert text.startswith("shared: 3 jobs of 18 operators")
    assert "sensors" in text and "fed by" in text and "rates: 24 hours from" in text
    text = stream_as_text(describe_rates(RecordedRates("mine", series())))
    assert text.startswith("mine: rates, 120 bins; no jobs") and "from Tuesday 0 h on" in text
    assert "-" in stream_as_text(describe_stream(recorded(), duration_s=60.0))


def test_pictures(tmp_path):
    save_stream_plot(open_stream("shared"), tmp_path / "many.png")
    save_stream_plot(recorded(rates=series((1.0, 2.0, 3.0))), tmp_path / "few.png")
    save_stream_plot(RecordedRates("mine", series()), tmp_path / "rates.svg")
    assert (tmp_path / "many.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "rates.svg").read_bytes()
