import dataclasses
import enum
import math
from dataclasses import dataclass, field
from typing import Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.config import build, describe, load, read_toml, to_plain, type_name
from dovetail.core.errors import ConfigError


class Order(enum.Enum):
    ARRIVAL = "arrival"
    WORK = "work"


@dataclass(frozen=True)
class Learner:
    rate: float = 0.01
    steps: int = 100

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise ValueError(f"rate must be above 0, got {self.rate}")


@dataclass(frozen=True)
class Run:
    name: str
    executors: int = 50
    load: float = 0.85
    quiet: bool = False
    order: Order = Order.ARRIVAL
    arrivals: Literal["batch", "poisson"] = "batch"
    limit: int | None = None
    deadline_s: Optional[float] = None  # noqa: UP045 (both spellings must work)
    sizes: tuple[int, ...] = (2, 5)
    pair: tuple[str, float] = ("a", 1.0)
    learner: Learner = Learner(rate=0.5)
    second: Learner | None = None


def message(values, source="run.toml"):
    with pytest.raises(ConfigError) as caught:
        build(Run, {"name": "x", **values}, source)
    return str(caught.value)


def test_defaults_fill_what_is_not_given():
    assert build(Run, {"name": "x"}) == Run("x")


def test_every_supported_type_is_read(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        'name = "full"\nexecutors = 10\nload = 1\nquiet = true\norder = "work"\narrivals = "poisson"\n'
        'limit = 3\ndeadline_s = 2.5\nsizes = [1, 2, 3]\npair = ["b", 2]\n[learner]\nsteps = 7\n'
        "[second]\nrate = 1\n"
    )
    run = load(Run, path)
    assert run == Run(
        "full",
        10,
        1.0,
        True,
        Order.WORK,
        "poisson",
        3,
        2.5,
        (1, 2, 3),
        ("b", 2.0),
        Learner(rate=0.5, steps=7),
        Learner(rate=1.0),
    )
    assert type(run.load) is float
    assert type(run.pair[1]) is float


def test_partial_table_lies_over_the_default_of_its_field_not_of_its_class():
    assert build(Run, {"name": "x", "learner": {"steps": 1}}).learner == Learner(rate=0.5, steps=1)


def test_unknown_key_suggests_the_nearest():
    assert message({"executor": 3}) == "run.toml: executor: unknown key; did you mean 'executors'?"


def test_unknown_nested_key_gives_its_whole_path():
    assert message({"learner": {"rat": 1.0}}) == "run.toml: learner.rat: unknown key; did you mean 'rate'?"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"executors": "ten"}, "run.toml: executors: expected int, got 'ten'"),
        ({"executors": 1.0}, "run.toml: executors: expected int, got 1.0"),
        ({"executors": True}, "run.toml: executors: expected int, got True"),
        ({"load": "0.5"}, "run.toml: load: expected float, got '0.5'"),
        ({"load": False}, "run.toml: load: expected float, got False"),
        ({"quiet": 1}, "run.toml: quiet: expected bool, got 1"),
        ({"name": 3}, "run.toml: name: expected str, got 3"),
        ({"limit": "no"}, "run.toml: limit: expected int | none, got 'no'"),
        ({"sizes": 3}, "run.toml: sizes: expected [int, ...], got 3"),
        ({"sizes": "12"}, "run.toml: sizes: expected [int, ...], got '12'"),
        ({"sizes": [1, "b"]}, "run.toml: sizes[1]: expected int, got 'b'"),
        ({"pair": ["a"]}, "run.toml: pair: expected [str, float], got ['a']"),
        ({"learner": 3}, "run.toml: learner: expected a table, got 3"),
        ({"learner": {"steps": "x"}}, "run.toml: learner.steps: expected int, got 'x'"),
        ({"second": {"steps": "x"}}, "run.toml: second.steps: expected int, got 'x'"),
        ({"order": "size"}, "run.toml: order: expected one of arrival, work, got 'size'"),
        (
            {"arrivals": "poison"},
            "run.toml: arrivals: expected one of batch, poisson, got 'poison'; did you mean 'poisson'?",
        ),
    ],
)
def test_wrong_type_says_source_key_expected_and_value(values, expected):
    assert message(values) == expected


def test_required_key_missing():
    with pytest.raises(ConfigError, match=r"^run\.toml: missing 'name'$"):
        build(Run, {}, "run.toml")


def test_range_check_of_the_dataclass_gets_its_place():
    assert message({"learner": {"rate": -1}}) == "run.toml: learner: rate must be above 0, got -1.0"


def test_true_is_not_the_literal_one():
    @dataclass(frozen=True)
    class Choice:
        n: Literal[1, 2] = 1

    with pytest.raises(ConfigError, match="expected one of 1, 2, got True"):
        build(Choice, {"n": True})


def test_field_of_an_unsupported_type_is_a_bug_not_a_user_error():
    @dataclass(frozen=True)
    class Odd:
        table: dict[str, int] = field(default_factory=dict)
        raw: bytes = b""

    with pytest.raises(TypeError, match="cannot be configured"):
        build(Odd, {"table": {"a": 1}})
    with pytest.raises(TypeError, match="cannot be configured"):
        build(Odd, {"raw": "a"})


def test_fields_the_constructor_does_not_take_are_not_keys():
    @dataclass(frozen=True)
    class Derived:
        n: int = 1
        twice: int = field(init=False, default=2)

    with pytest.raises(ConfigError, match="unknown key"):
        build(Derived, {"twice": 3})


def test_missing_file_names_it(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read: No such file"):
        load(Run, tmp_path / "absent.toml")


def test_directory_is_not_a_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load(Run, tmp_path)


def test_bad_toml_names_file_and_line(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("name = \n")
    with pytest.raises(ConfigError, match=r"bad\.toml: not valid TOML: .*line 1"):
        load(Run, path)


def test_toml_that_is_nested_too_deeply_is_refused(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(f"name = {'[' * 3000}{']' * 3000}\n")
    with pytest.raises(ConfigError, match=r"deep\.toml: not usable: its values are nested too deeply"):
        load(Run, path)


def test_wrong_encoding_is_said(tmp_path):
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.toml: not UTF-8"):
        load(Run, path)


def test_describe_lists_nested_fields_with_effective_defaults():
    fields = {info.name: info for info in describe(Run)}
    assert fields["name"].is_required
    assert fields["executors"].type == "int"
    assert fields["learner.rate"].default == 0.5
    assert fields["learner.steps"].default == 100
    assert fields["sizes"].default == (2, 5)
    assert "learner" not in fields


def test_describe_reads_help_and_factories():
    @dataclass(frozen=True)
    class Params:
        alpha: float = field(default=-1.0, metadata={"help": "exponent of the job's work"})
        sizes: tuple[int, ...] = field(default_factory=lambda: (1, 2))

    alpha, sizes = describe(Params)
    assert alpha.help == "exponent of the job's work"
    assert sizes.default == (1, 2)


def test_type_names_read_as_written():
    hints = {f.name: f.type for f in dataclasses.fields(Run)}
    assert type_name(hints["limit"]) == "int | none"
    assert type_name(hints["deadline_s"]) == "float | none"
    assert type_name(hints["sizes"]) == "[int, ...]"


RUNS = st.builds(
    Run,
    name=st.text(),
    executors=st.integers(),
    load=st.floats(allow_nan=False),
    quiet=st.booleans(),
    order=st.sampled_from(Order),
    arrivals=st.sampled_from(["batch", "poisson"]),
    limit=st.none() | st.integers(),
    deadline_s=st.none() | st.floats(allow_nan=False),
    sizes=st.lists(st.integers()).map(tuple),
    pair=st.tuples(st.text(), st.floats(allow_nan=False)),
    learner=st.builds(Learner, st.floats(min_value=1e-9, max_value=math.inf), st.integers()),
    second=st.none() | st.just(Learner()),
)


@given(RUNS)
def test_plain_form_builds_the_same_again(run):
    assert build(Run, to_plain(run)) == run


def test_numbers_too_large_for_a_float_are_said(tmp_path):
    assert "a number of 401 digits" in message({"learner": {"rate": 10**400}})
    path = tmp_path / "run.toml"
    path.write_text(f"executors = {'9' * 5000}")
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_toml(path)
