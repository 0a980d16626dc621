import pytest

from dovetail.execution.failure import LINE_CHARACTERS, Failure


class NeedsTwo(Exception):
    """Is pickled without complaint and cannot be loaded."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class Mute(Exception):
    def __str__(self):
        raise SystemExit("no text")


def caught(error) -> Failure:
    try:
        raise error
    except BaseException as raised:
        return Failure.from_bytes(Failure.of(raised).to_bytes())


def test_an_exception_comes_back_with_its_traceback():
    failure = caught(KeyError("missing"))
    assert failure.line == "KeyError: 'missing'"
    assert "raise error" in failure.traceback
    assert failure.exception().args == ("missing",)


def test_the_line_is_one_line_of_bounded_length():
    assert caught(ValueError("one\n  two")).line == "ValueError: one two"
    assert caught(ValueError()).line == "ValueError"
    assert len(caught(ValueError("x" * 10_000)).line) == LINE_CHARACTERS


def test_an_exception_that_cannot_be_loaded_is_told_as_text():
    failure = caught(NeedsTwo(1, 2))
    assert failure.exception() is None
    assert failure.line == "NeedsTwo: 1 and 2"


def test_an_exception_without_text_is_still_told():
    assert caught(Mute()).line == "Mute: (its message cannot be shown: SystemExit)"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_exceptions_that_are_no_errors_are_told_too(error):
    assert caught(error).line.startswith(type(error).__name__)
