"""pyproject.toml and constraints.txt agree, so a fresh set-up installs what was tested."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTED_EXTRAS = ("envs", "sb3", "peers", "ray", "spark", "examples", "bench", "dev")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    lines = [line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs), "every constraint is name==version"
    return {normal(name): version for name, version in pairs}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_dependency_we_test_with_is_pinned():
    extras = project()["optional-dependencies"]
    wanted = project()["dependencies"] + [need for extra in TESTED_EXTRAS for need in extras[extra]]
    names = {normal(re.match(r"[\w.-]+", need).group()) for need in wanted}
    assert len(names) > 10
    assert names <= pins().keys()


def test_torch_has_one_version_everywhere():
    extras = project()["optional-dependencies"]
    asked = {need for extra in ("learn", "sb3") for need in extras[extra] if need.startswith("torch")}
    assert asked == {f"torch=={pins()['torch']}"}


def test_the_default_install_stays_light():
    names = {normal(re.match(r"[\w.-]+", need).group()) for need in project()["dependencies"]}
    assert names == {"numpy", "numba", "pyarrow", "matplotlib", "rich", "safetensors", "cloudpickle", "highspy"}
