"""Colours, the same in the page and in the figures."""

from __future__ import annotations

import math

# One per scheduler, best first, for light and for dark grounds.  Beyond these, lines are dashed.
SERIES: tuple[tuple[str, str], ...] = (
    ("#2563eb", "#6ea0ff"),
    ("#d9480f", "#ff9457"),
    ("#0b8a5f", "#3ecf9a"),
    ("#a626a4", "#e07be0"),
    ("#b58105", "#eec04b"),
    ("#0e8aa8", "#4fcbe6"),
    ("#d6336c", "#ff7fae"),
    ("#5f7a12", "#a9cc52"),
    ("#6741d9", "#a78bfa"),
    ("#8a5a3b", "#d0a07c"),
    ("#53627a", "#a3b1c6"),
    ("#1f7a8c", "#8ad0d8"),
)
DASHES: tuple[str, ...] = ("", "7 3", "2 3", "9 3 2 3")

REFERENCE = -1  # the place of a curve that is no scheduler's, such as a limit
REFERENCE_SERIES = ("#8a96a8", "#76849a", "5 4")

_GOLDEN_ANGLE = 137.50776405003785
_LIGHTNESS = (0.66, 0.56, 0.76)
NUM_JOB_COLOURS = 24


def series(index: int) -> tuple[str, str, str]:
    """Light colour, dark colour and dash pattern of the scheduler at this place of the table."""
    if index == REFERENCE:
        return REFERENCE_SERIES
    light, dark = SERIES[index % len(SERIES)]
    return light, dark, DASHES[index // len(SERIES) % len(DASHES)]


def job_colours() -> list[str]:
    """Colours for jobs, used in turn: neighbours in number are far apart in hue."""
    return [
        _oklch(_LIGHTNESS[number % 3], 0.125, (250.0 + number * _GOLDEN_ANGLE) % 360.0)
        for number in range(NUM_JOB_COLOURS)
    ]


def _oklch(lightness: float, chroma: float, hue: float) -> str:
    """An OKLCH colour as #rrggbb: equal lightness here looks equally light, whatever the hue."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1.0, max(0.0, channel)))):02x}" for channel in linear)


def _gamma(value: float) -> float:
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055
