"""Every family has all of its parts, under the same name everywhere."""

from __future__ import annotations

import argparse
import pickle

import pytest

from dovetail.cli.arguments import read_arguments
from dovetail.cli.options import OPTIONS, arguments_of
from dovetail.core.errors import UnknownName
from dovetail.evaluation.family import FAMILIES, family_named
from dovetail.records.formats import FORMATS, run_type
from dovetail.schedulers import SCHEDULERS
from dovetail.testing.conformance import KITS, check_scheduler


def test_the_same_families_everywhere() -> None:
    assert list(FAMILIES) == list(FORMATS) == list(OPTIONS) == list(KITS)
    assert set(SCHEDULERS.families()) <= set(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_its_parts_know_their_family(name: str) -> None:
    family, kind = family_named(name), arguments_of(name)
    assert family.name == run_type(name).FAMILY == kind.FAMILY == name
    assert family.yardstick in family.metrics
    assert all("{mean}" in words for words in family.verdict)
    assert all(word.startswith(f"{name}/") for word in kind.EXAMPLE.split(","))


@pytest.mark.parametrize("name", FAMILIES)
def test_options_make_a_setting_that_goes_to_workers(name: str) -> None:
    kind = arguments_of(name)
    parser = argparse.ArgumentParser()
    kind.add_setting(parser)
    asked = read_arguments(kind, parser.parse_args([]))
    assert asked == kind() and asked.command(f"compare {name}") == f"dovetail compare {name}"
    setting = pickle.loads(pickle.dumps(asked.setting()))
    assert setting == asked.setting() and name == setting.FAMILY
    opened = setting.open()
    assert opened.jobs >= 1 and opened.facts()["jobs"] == opened.jobs
    assert opened.facts() == setting.open().facts()


@pytest.mark.parametrize("find", [family_named, run_type, arguments_of])
def test_an_unknown_family(find) -> None:
    with pytest.raises(UnknownName, match="unknown family 'elastc'; did you mean 'elastic'"):
        find("elastc")
    with pytest.raises(UnknownName, match="unknown family"):
        check_scheduler(object, family="elastc")
