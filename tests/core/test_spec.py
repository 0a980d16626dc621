import enum
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.config import build
from dovetail.core.errors import ConfigError
from dovetail.core.spec import parse_spec, read_overrides, read_text, split_specs


class Order(enum.Enum):
    ARRIVAL = "arrival"


@dataclass(frozen=True)
class Inner:
    rate: float = 0.1
    steps: int = 1


@dataclass(frozen=True)
class Params:
    alpha: float = 0.0
    n: int = 1
    inner: Inner = Inner()


def test_name_alone():
    assert parse_spec(" dag/fair ") == ("dag/fair", {})


def test_overrides_are_kept_as_text():
    assert parse_spec("dag/x:alpha=-0.5, foo = 3") == ("dag/x", {"alpha": "-0.5", "foo": "3"})


def test_commas_in_brackets_and_further_signs_belong_to_the_value():
    assert parse_spec("dag/x:sizes=[1,2],rule=a=b:c") == ("dag/x", {"sizes": "[1,2]", "rule": "a=b:c"})


@pytest.mark.parametrize("text", ["dag/x:", "dag/x: ", "dag/x:alpha", "dag/x:=3", "dag/x:a=1,", "dag/x:a=1,b"])
def test_anything_but_key_value_is_an_error_that_shows_the_spec(text):
    with pytest.raises(ConfigError, match="expected key=value") as caught:
        parse_spec(text)
    assert repr(text) in str(caught.value)


def test_same_key_twice():
    with pytest.raises(ConfigError, match="'a' is given twice"):
        parse_spec("dag/x:a=1,a=2")


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("dag/a,dag/b", ["dag/a", "dag/b"]),
        ("dag/a:x=1,y=2,dag/b", ["dag/a:x=1,y=2", "dag/b"]),
        ("dag/a:p=u/v,q=[1,2], dag/b:z=1", ["dag/a:p=u/v,q=[1,2]", "dag/b:z=1"]),
        ("a:x=1,a:x=[2,3],y=u:v,b", ["a:x=1", "a:x=[2,3],y=u:v", "b"]),
        ("all", ["all"]),
        ("dag/a,,", ["dag/a"]),
        ("", []),
        ("dag/a,x=1", ["dag/a", "x=1"]),
    ],
)
def test_lists_of_specs(text, specs):
    assert split_specs(text) == specs


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        ("-0.5", float, -0.5),
        ("1e3", float, 1000.0),
        ("True", bool, True),
        ("false", bool, False),
        ("3", str, "3"),
        ("none", int | None, None),
        ("3", int | None, 3),
        ("none", str | None, None),
        ("3", str | int, 3),
        ("x", str | int, "x"),
        ("batch", Literal["batch", "poisson"], "batch"),
        ("2", Literal[1, 2], 2),
        ("arrival", Order, Order.ARRIVAL),
        ("[1, 2]", tuple[int, ...], (1, 2)),
        ("[]", tuple[int, ...], ()),
        ("[[1],[2,3]]", tuple[tuple[int, ...], ...], ((1,), (2, 3))),
        ("[a,2]", tuple[str, float], ("a", 2.0)),
        ("[1.5]", tuple[float, ...] | None, (1.5,)),
    ],
)
def test_text_is_read_as_the_annotated_type(text, hint, value):
    read = read_text(text, hint)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "hint"), [("x", int), ("1.5", int), ("x", float), ("1", bool), ("2", tuple[int, ...])]
)
def test_text_that_does_not_fit_is_left_for_the_error_message(text, hint):
    assert read_text(text, hint) == text


def test_dotted_keys_reach_into_nested_dataclasses():
    values = read_overrides(Params, {"alpha": "2", "inner.rate": "0.5", "inner.steps": "4"}, "here")
    assert build(Params, values) == Params(2.0, 1, Inner(0.5, 4))


def test_values_that_are_not_text_stay_as_they_are():
    assert read_overrides(Params, {"alpha": 1, "inner": {"rate": "2"}}, "here") == {
        "alpha": 1,
        "inner": {"rate": 2.0},
    }


@pytest.mark.parametrize(
    "overrides",
    [{"inner": "x", "inner.rate": "1"}, {"inner.rate": "1", "inner": {"steps": 2}}],
)
def test_whole_and_part_contradict(overrides):
    with pytest.raises(ConfigError, match="both as a whole and in part"):
        read_overrides(Params, overrides, "here")


def test_unknown_keys_are_left_for_build_to_report():
    with pytest.raises(ConfigError, match="did you mean 'alpha'"):
        build(Params, read_overrides(Params, {"alfa": "1"}, "here"))


@given(st.floats(allow_nan=False), st.integers())
def test_what_python_prints_is_read_back(alpha, n):
    name, overrides = parse_spec(f"dag/x:alpha={alpha},n={n}")
    assert build(Params, read_overrides(Params, overrides, name)) == Params(alpha, n)
