import json
from dataclasses import dataclass

import pytest

from dovetail.cli import list as list_verb
from dovetail.cli import main
from dovetail.core.extras import EXTRA_OF
from dovetail.core.registry import Registry


@dataclass(frozen=True)
class Params:
    alpha: float = -1.0
    limit: int | None = None
    sizes: tuple[int, ...] = (1, 2)
    greedy: bool = True


class Tuned:
    Params = Params


class Plain:
    pass


@pytest.fixture
def registry(monkeypatch):
    registry = Registry("scheduler")
    registry.register("dag/tuned", f"{__name__}:Tuned", "has parameters")
    registry.register("gpu/plain", f"{__name__}:Plain", "has none")
    monkeypatch.setattr(list_verb, "SCHEDULERS", registry)
    return registry


def test_table(registry, capsys):
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "dag/tuned  has parameters\ngpu/plain  has none\n"


def test_twice_in_one_process(registry, capsys):
    """The module `list` must not hide the built-in from the rest of the command line."""
    assert main(["list"]) == 0
    assert main(["list"]) == 0


def test_one_family(registry, capsys):
    assert main(["list", "gpu"]) == 0
    assert capsys.readouterr().out == "gpu/plain  has none\n"


def test_unknown_family(registry, capsys):
    assert main(["list", "dga"]) == 2
    assert "did you mean 'dag'" in capsys.readouterr().err


def test_params_are_shown_as_they_are_typed(registry, capsys):
    assert main(["list", "dag", "--params"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "dag/tuned  has parameters",
        "alpha: float = -1.0",
        "limit: int | none = none",
        "sizes: [int, ...] = [1,2]",
        "greedy: bool = true",
    ]


def test_json(registry, capsys):
    assert main(["list", "dag", "--json", "--params"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    (row,) = document["schedulers"]
    assert (row["name"], row["family"], row["summary"]) == ("dag/tuned", "dag", "has parameters")
    assert row["origin"] == "dovetail"
    assert row["params"][0] == {
        "name": "alpha",
        "type": "float",
        "required": False,
        "default": -1.0,
        "help": "",
    }
    assert row["params"][2]["default"] == [1, 2]


def test_json_without_params_does_not_ask_for_them(registry, capsys):
    assert main(["list", "--json"]) == 0
    assert all("params" not in row for row in json.loads(capsys.readouterr().out)["schedulers"])


def test_problems_of_plugins_are_warnings_on_stderr(registry, capsys, monkeypatch):
    monkeypatch.setattr(registry, "problems", lambda: ["name 'dag/x' is taken"])
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert err == "dovetail: warning: name 'dag/x' is taken\n"
    assert "taken" not in out


def test_scheduler_whose_extra_is_not_installed_does_not_spoil_the_list(registry, capsys, monkeypatch):
    monkeypatch.setitem(EXTRA_OF, "absent_package", "learn")
    registry.register("dag/learned", "absent_package:Net", "needs a package")
    assert main(["list", "--params"]) == 0
    out = capsys.readouterr().out
    assert "(parameters are shown when the extra 'learn' is installed)" in out
    assert "alpha: float = -1.0" in out
    assert main(["list", "--params", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["schedulers"]
    assert [row.get("missing_extra") for row in rows] == [None, None, "learn"]


def test_parts_of_both_families(capsys):
    assert main(["list", "--parts", "--params"]) == 0
    out = capsys.readouterr().out
    assert "\norder/las " in out and "\nlearner/ucb1 " in out
    assert "\ngpu/order/fifo " in out and "strict: bool = false" in out


def test_parts_of_one_family_or_one_verb(capsys):
    assert main(["list", "gpu", "--parts"]) == 0
    assert all(line.startswith("gpu/") for line in capsys.readouterr().out.splitlines())
    assert main(["list", "place", "--parts", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["parts"]]
    assert "place/smallest-fit" in names and "gpu/place/fgd" in names and "order/fifo" not in names


def test_parts_of_an_unknown_family(capsys):
    assert main(["list", "plaec", "--parts"]) == 2
    assert "did you mean 'place'" in capsys.readouterr().err
