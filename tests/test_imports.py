"""What is loaded when: the heavy libraries only when asked for, and only where the design allows them."""

import ast
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dovetail

SOURCE = Path(dovetail.__file__).parent
HEAVY = {"torch", "numba", "ray", "gymnasium", "pyspark"}
NOT_FOR_HELP = HEAVY | {"pyarrow", "matplotlib", "rich"}

COMMANDS = {
    "import dovetail": (HEAVY, "import dovetail"),
    "dovetail --help": (NOT_FOR_HELP, "from dovetail.cli import main; main(['--help'])"),
    "dovetail --version": (NOT_FOR_HELP, "from dovetail.cli import main; main(['--version'])"),
    "dovetail list": (NOT_FOR_HELP, "from dovetail.cli import main; main(['list'])"),
    "dovetail list --json": (NOT_FOR_HELP, "from dovetail.cli import main; main(['list', '--json'])"),
    "dovetail list --params": (
        HEAVY,
        "from dovetail.cli import main; assert main(['list', '--params']) == 0",
    ),
}


def loaded_by(program: str) -> set[str]:
    """Top-level packages in memory after `program` has run in an interpreter of its own."""
    report = (
        "import atexit, json, sys\natexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", report + program], capture_output=True, text=True, timeout=60, check=False
    )
    *errors, modules = result.stderr.splitlines()
    assert result.returncode == 0, errors
    return {name.partition(".")[0] for name in json.loads(modules)}


@pytest.mark.parametrize("command", COMMANDS)
def test_light_commands_load_no_heavy_library(command):
    heavy, program = COMMANDS[command]
    loaded = loaded_by(program)
    assert "dovetail" in loaded
    assert not loaded & heavy


def test_help_answers_in_half_a_second():
    """Best of five, because other processes may hold the machine."""
    times_s = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "dovetail", "--help"], capture_output=True, check=True)
        times_s.append(time.perf_counter() - start)
    assert min(times_s) < 0.5


def imported_in(path: Path) -> set[str]:
    """Top-level packages that the file imports anywhere, even inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    return found


def test_core_imports_only_the_standard_library_and_numpy():
    files = sorted((SOURCE / "core").rglob("*.py"))
    assert len(files) > 5
    for path in files:
        assert imported_in(path) <= sys.stdlib_module_names | {"numpy", "dovetail"}, path


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("numba", ("sim/kernels/", "schedulers/kernels/", "schedulers/learned/", "features/")),
        ("torch", ("schedulers/learned/", "training/")),
        ("ray", ("execution/engines/", "training/")),
        ("gymnasium", ("envs/", "park/")),
        ("pyspark", ("execution/engines/",)),
        ("py4j", ("execution/engines/spark/",)),
        ("pettingzoo", ("envs/",)),
    ],
)
def test_library_stays_in_its_home(library, homes):
    strays = [
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*.py"))
        if library in imported_in(path) and not str(path.relative_to(SOURCE)).startswith(homes)
    ]
    assert strays == []
