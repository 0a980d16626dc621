"""What networks of streaming jobs were made for, and whether that is what they are asked to do.

A network has seen one time between decisions and one form of history; asked every minute, one that learned to decide
every hour takes each minute's noise for an hour's.  And one that learned from a recorded series knows its windows, so
what it does on them says nothing of what it would do later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.core.errors import DovetailError
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.setting_stream import StreamSetting
from dovetail.workloads.stream_rates import RecordedRates, read_rates
from dovetail.workloads.stream_source import STREAM, open_stream

LEARNED, CHOSEN = "trained on", "chosen by"


@dataclass(frozen=True)
class Times:
    """When a scheduler is asked, and what it is shown."""

    interval_s: float
    snapshot_s: float
    history: int

    def __str__(self) -> str:
        return f"every {self.interval_s:,g} s with {self.history:,} snapshots of {self.snapshot_s:,g} s"


def times_of(setting: StreamSetting) -> Times:
    opened = setting.open()
    return Times(opened.interval_s, opened.options.snapshot_s, opened.options.history)


def facts_of_network(settings: Sequence[StreamSetting], validation: Sequence[StreamSetting]) -> dict[str, Any]:
    """What its card keeps of these."""
    return {
        "times": [asdict(times) for times in dict.fromkeys(map(times_of, settings))],
        "series": {LEARNED: _series(settings), CHOSEN: _series(validation)},
    }


def notes_on_times(setting: StreamSetting, contenders: Collection[Contender]) -> list[str]:
    """A sentence for each network that was made for something else."""
    found = []
    for contender in contenders:
        card = getattr(contender.create(), "card", None) if contender.kind == "learned" else None
        known = [] if card is None else made_for(card)
        asked = times_of(setting) if known else None
        if asked is not None and asked not in known:
            found.append(
                f"{contender.spec} learned to decide {' or '.join(map(str, known))}, and is asked here {asked}: expect "
                "it to do badly; train one for that, or take stream/quantile, which needs no training"
            )
    return found


def made_for(card: Mapping[str, Any]) -> list[Times]:
    """Empty where its card does not say; older ones have settings, in which a time of the workload is left out."""
    try:
        if "times" in card:
            return [Times(**times) for times in card["times"]]
        found = []
        for setting in card["settings"]:
            options = setting["options"]
            interval_s = setting["interval_s"]
            if interval_s is None:
                interval_s = open_stream(setting["workload"]).interval_s
            found.append(Times(float(interval_s), float(options["snapshot_s"]), int(options["history"])))
        return list(dict.fromkeys(found))
    except (KeyError, TypeError, ValueError, DovetailError):
        return []


def known_to(card: Mapping[str, Any], rates: str | None) -> str | None:
    """What a network did with the recorded series of these rates, if anything: was `trained on`, or `chosen by`."""
    digest = None if rates is None else _digest(rates)
    if digest is None:
        return None
    for use, digests in dict(card.get("series") or {}).items():
        if digest in digests:
            return str(use)
    for use, name in ((LEARNED, "settings"), (CHOSEN, "validated_on")):  # of older cards
        if "series" not in card and rates in [setting.get("rates") for setting in card.get(name) or ()]:
            return use
    return None


def _series(settings: Sequence[StreamSetting]) -> list[str]:
    found = (_rates_of(setting) for setting in settings)
    return sorted({rates.digest for rates in found if isinstance(rates, RecordedRates)})


def _rates_of(setting: StreamSetting) -> object:
    if setting.rates is None and setting.workload in STREAM:
        return None  # drawn
    return setting.open().source.rates


def _digest(rates: str) -> str | None:
    found = read_rates(rates)
    return found.digest if isinstance(found, RecordedRates) else None
