import json

import pytest

from dovetail.core import extras
from dovetail.core.errors import MissingExtra


def test_module_that_is_there_is_returned():
    assert extras.require("json", "the test") is json


def test_missing_module_of_an_extra_says_which(monkeypatch):
    monkeypatch.setitem(extras.EXTRA_OF, "absent_package", "learn")
    with pytest.raises(MissingExtra, match=r"the test needs the extra 'learn'.*dovetail\[learn\]"):
        extras.require("absent_package", "the test")


def test_missing_module_of_no_extra_stays_a_plain_error():
    with pytest.raises(ModuleNotFoundError):
        extras.require("absent_package_of_nobody", "the test")


def test_submodule_belongs_to_the_extra_of_its_package():
    error = ModuleNotFoundError("no", name="torch.nn")
    missing = extras.explain(error, "x")
    assert missing is not None
    assert missing.extra == "learn"
