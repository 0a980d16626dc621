"""The experiments on streaming jobs: windows that have nothing in common, and intervals over networks and windows."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest
import stream_sensitivity
from gpu_settings import Point, with_mean_of
from stream_settings import JOBS, NETWORKS, OURS, lead, reward_table, rewards, side_by_side, windows
from train_stream_bundled import words_of

from dovetail.cli import main
from dovetail.core.config import build
from dovetail.core.spec import parse_assignments, read_overrides
from dovetail.schedulers.learned.stream.kinds import KINDS
from dovetail.schedulers.learned.stream.shape import StreamShape

GROUPS = {OURS: ["sure-0", "sure-1"], "stream/dream": ["dream-0", "dream-1"]}


def point(name, **values):
    made = Point(name, {key.replace("_", "-"): {"reward": np.array(each, float)} for key, each in values.items()})
    return with_mean_of(made, GROUPS)


POINTS = [
    point("one", sure_0=[1, 2], sure_1=[3, 4], dream_0=[1, 2], dream_1=[1, 2], rule=[0, 1]),
    point("two", sure_0=[3, 4], sure_1=[5, 6], dream_0=[3, 4], dream_1=[3, 4], rule=[2, 3]),
]


def test_rewards_have_a_row_for_each_network_and_a_column_for_each_window():
    assert rewards(POINTS, OURS, GROUPS).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert rewards(POINTS, "rule", GROUPS).tolist() == [[1.0, 2.0]]


def test_intervals_are_over_networks_too():
    """Windows differ by the same everywhere, so all that is left of a lead is what networks differ by."""
    assert lead(POINTS, "rule", GROUPS) == "+2.000 [+1.000, +3.000]"
    assert lead(POINTS, "stream/dream", GROUPS) == "+1.000 [+0.000, +2.000]"
    assert lead(POINTS, OURS, GROUPS) == ""
    table = reward_table(POINTS, ["rule", *GROUPS], GROUPS)
    assert table.splitlines()[2].startswith(f"| `{OURS}` | **2.500 [1.")


def test_windows_lie_side_by_side(tmp_path):
    rows = "".join(f"{3600 * hour},{1 + hour}\n" for hour in range(60))
    (tmp_path / "counts.csv").write_text("time,count\n" + rows)
    assert main(["workload", "import", "rates", str(tmp_path / "counts.csv"), "--out", str(tmp_path / "rates")]) == 0
    assert windows(tmp_path / "rates", 20) == 2 and windows(tmp_path / "rates", 1) == 1
    assert "in-turn" in side_by_side(tmp_path / "rates", 2)


def test_bundled_networks_are_trained_alike():
    assert set(NETWORKS) == set(KINDS)
    words = {kind: words_of(kind, "full", []) for kind in KINDS}
    assert all([w for w in words[kind] if w != kind] == [w for w in words["sure"] if w != "sure"] for kind in KINDS)
    assert words["sure"][1] == JOBS[0]


def test_what_is_left_to_chance_is_the_same_networks(monkeypatch):
    monkeypatch.setattr(
        stream_sensitivity, "train", lambda changed, seed, rates, args: f"stream/sure:checkpoint={seed}"
    )
    found = stream_sensitivity.members(stream_sensitivity.LEFT_TO_CHANCE, {}, Namespace(training_seeds=2))
    assert found == ["stream/sure:checkpoint=0,sampler=random", "stream/sure:checkpoint=1,sampler=random"]


@pytest.mark.parametrize("study", stream_sensitivity.STUDIES)
def test_values_can_be_set(study):
    names = set(StreamShape.__dataclass_fields__)
    for changed in stream_sensitivity.STUDIES[study].values():
        if changed != stream_sensitivity.LEFT_TO_CHANCE:
            given = parse_assignments("--set", [each for each in changed if each.partition("=")[0] in names])
            build(StreamShape, read_overrides(StreamShape, given, "--set"), "--set")
