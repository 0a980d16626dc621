"""Schedules that must not change unnoticed, and records that are the same bytes whenever they are made.

If a change of behaviour is meant, say so in the changelog, bump the version that published numbers name, and put the
new digests here.  They are of whole numbers: who stood where in every slot, what was promised, what came of it.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_compare import hashes

from dovetail.cli import main
from dovetail.cluster.elastic import halves
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_elastic import ElasticSetting
from dovetail.records import read_records
from dovetail.schedulers import SCHEDULERS

GOLDEN = {
    "elastic/drf": "4a2e52ecba24d8ea",
    "elastic/fifo": "5eaacfa8e566296a",
    "elastic/oasis": "da4618933f4cbf6e",
    "elastic/oasis:fill=inf,trust=inf": "e4e30824a5733769",
    "elastic/rrh": "35c87fb05f989bb2",
    "elastic/srtf": "347a2b2f414d2e25",
}


def digest(scheduler: str) -> str:
    setting = ElasticSetting("oasis-small", jobs=40, slots=60, cluster=halves(8)).open()
    seeds = SeedTree(2026)
    world = setting.world(setting.sequence(2026), seeds, record=True)
    result = setting.run(world, SCHEDULERS.create(scheduler), seeds.child("scheduler").generator())
    whole = hashlib.sha256(np.ascontiguousarray(result.used).tobytes())
    for column in (result.finish, result.promise, result.rejected):
        whole.update(np.ascontiguousarray(column).tobytes())
    return whole.hexdigest()[:16]


@pytest.mark.parametrize("scheduler", sorted(GOLDEN))
def test_golden(scheduler: str) -> None:
    assert digest(scheduler) == GOLDEN[scheduler]


@pytest.mark.parametrize("scheduler", ["elastic/oasis", "elastic/oasis-replan", "elastic/rrh:preempt=true"])
def test_a_manifest_makes_the_same_bytes_again(scheduler: str, tmp_path: Path) -> None:
    setting = ["--workload", "oasis-small", "--jobs", "12", "--slots", "30", "--servers", "4", "--seed", "7"]
    assert main(["simulate", "elastic", *setting, "--scheduler", scheduler, "--out", str(tmp_path / "a")]) == 0
    command = shlex.split(read_records(tmp_path / "a").manifest["command"])
    assert main([*command[1:], "--out", str(tmp_path / "b")]) == 0
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b") and len(hashes(tmp_path / "a")) == 8
