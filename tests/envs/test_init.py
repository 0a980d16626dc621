"""Registration, and what is said when gymnasium is missing."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from tests.envs.play import SMALL

import dovetail.envs
from dovetail.features import FEATURE_SETS, elastic, gpu, stream

IDS = {
    "Dovetail/Dag-v0": SMALL,
    "Dovetail/DagPadded-v0": SMALL,
    "Dovetail/Elastic-v0": {"jobs": 3, "slots": 10},
    "Dovetail/Gpu-v0": {"jobs": 3},
    "Dovetail/Stream-v0": {"workload": "nexmark-q1", "duration_s": 7200.0},
}


def in_a_fresh_interpreter(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_exported_names():
    assert set(dovetail.envs.__all__) == {
        "DagEnv",
        "DagSetting",
        "DagVectorEnv",
        "ElasticEnv",
        "ElasticSetting",
        "GpuEnv",
        "GpuParallelEnv",
        "GpuSetting",
        "PaddedDagEnv",
        "StreamEnv",
        "StreamParallelEnv",
        "StreamSetting",
        "register_envs",
    }
    for name in dovetail.envs.__all__:
        assert getattr(dovetail.envs, name).__name__ == name
        assert name in dir(dovetail.envs)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = dovetail.envs.Nothing


@pytest.mark.parametrize("env_id", IDS)
def test_environments_can_be_made_by_name(env_id):
    env = gymnasium.make(env_id, **IDS[env_id])
    assert env.spec.id == env_id
    env.reset(seed=0)
    env.close()


def test_registering_twice_is_silent():
    dovetail.envs.register_envs()


def test_the_module_can_be_named_with_the_id():
    program = "import gymnasium; gymnasium.make('dovetail.envs:Dovetail/Dag-v0', jobs=2, executors=2).reset()"
    result = in_a_fresh_interpreter(program)
    assert result.returncode == 0, result.stderr


def test_listing_the_environments_compiles_nothing():
    program = (
        "import sys, gymnasium, dovetail.envs\n"
        "assert 'Dovetail/Dag-v0' in gymnasium.registry\n"
        "assert 'numba' not in sys.modules and 'torch' not in sys.modules"
    )
    result = in_a_fresh_interpreter(program)
    assert result.returncode == 0, result.stderr


def test_a_missing_gymnasium_is_explained():
    program = "import sys; sys.modules['gymnasium'] = None; import dovetail.envs"
    result = in_a_fresh_interpreter(program)
    assert "MissingExtra" in result.stderr
    assert "pip install 'dovetail[envs]'" in result.stderr


def test_a_missing_pettingzoo_is_explained():
    program = "import sys; sys.modules['pettingzoo'] = None; import dovetail.envs; dovetail.envs.GpuParallelEnv"
    result = in_a_fresh_interpreter(program)
    assert "MissingExtra" in result.stderr and "pip install 'dovetail[envs]'" in result.stderr


def test_the_documentation_names_every_setting_and_every_feature():
    text = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    columns = {column.name for one in FEATURE_SETS.values() for column in one.columns}
    columns |= {*elastic.COLUMNS, *gpu.JOB_COLUMNS, *gpu.MACHINE_COLUMNS, *gpu.PAIR_COLUMNS, *stream.COLUMNS}
    names = ("DagSetting", "ElasticSetting", "GpuSetting", "StreamSetting")
    kinds = [getattr(dovetail.envs, name) for name in names]
    settings = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    assert [name for name in sorted(columns | settings) if f"`{name}`" not in text] == []
