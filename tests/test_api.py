"""The public names are exactly the intended ones."""

import re
from importlib.metadata import version

import pytest

import dovetail

PUBLIC = {
    "SCHEDULERS",
    "Arrivals",
    "DagDecision",
    "DagInfo",
    "DagOptions",
    "DagView",
    "DagWorld",
    "DovetailError",
    "Reason",
    "SeedTree",
    "__version__",
    "open_source",
    "run",
    "steer_spark",
}


def test_exported_names_are_exactly_those_intended():
    assert set(dovetail.__all__) == PUBLIC
    assert len(dovetail.__all__) == len(PUBLIC)


def test_every_exported_name_can_be_had_and_is_shown():
    for name in PUBLIC:
        assert getattr(dovetail, name) is not None
        assert name in dir(dovetail)


def test_names_are_the_originals():
    from dovetail.core.seeds import SeedTree
    from dovetail.schedulers import SCHEDULERS

    assert dovetail.SeedTree is SeedTree
    assert dovetail.SCHEDULERS is SCHEDULERS


def test_other_names_are_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = dovetail.Nothing


def test_version_is_the_installed_one():
    assert re.fullmatch(r"\d+\.\d+\.\d+", dovetail.__version__)
    assert version("dovetail") == dovetail.__version__
