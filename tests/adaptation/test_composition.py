from __future__ import annotations

import pytest

from dovetail.adaptation.composition import Composition, parse_composition
from dovetail.core.errors import ConfigError, UnknownName


def test_text_and_back() -> None:
    text = "srtf+hesrpt:speedup=0.8+largest-fit+local"
    assert parse_composition(text) == Composition("srtf", "hesrpt:speedup=0.8", "largest-fit", "local")
    assert str(parse_composition(text)) == text
    assert str(parse_composition("drf")) == "drf+all+smallest-fit+central"
    assert str(parse_composition("dag/decima:checkpoint=batch")) == "dag/decima:checkpoint=batch"


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("drff", UnknownName, "order/drff"),
        ("drf+hesrpt:speedup=2", ConfigError, "speedup is 2"),
        ("drf++smallest-fit", ConfigError, r"expected order\+size"),
        ("a+b+c+d+e", ConfigError, r"expected order\+size"),
        ("dag/decimal", UnknownName, "dag/decima"),
        ("dag/adaptive", ConfigError, "cannot contain itself"),
    ],
)
def test_what_is_wrong_is_said(text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        parse_composition(text)
