"""`dovetail adapt` on a running engine: what its adaptive scheduler does, as it happens, until Ctrl-C."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from dovetail.cli.engine_options import open_client
from dovetail.core.errors import ConfigError

PAUSE_S = 0.5


def watch(args: argparse.Namespace) -> int:
    """Show the latest events, then every new one; with `--json`, print what there is and end."""
    from dovetail.adaptation.events import Event
    from dovetail.cli.adapt_display import AdaptDisplay

    with open_client(args) as client:
        told = _told(client.events(0), client.status().scheduler)
        if args.json:
            print(json.dumps(told, indent=2, ensure_ascii=False))
            return 0
        with AdaptDisplay(told["compositions"], live=sys.stdout.isatty()) as display:
            shown = told["first"]
            while True:
                for number, event in enumerate(told["events"], told["first"]):
                    if number >= shown:
                        display.show(Event.from_json(event))
                        shown = number + 1
                time.sleep(PAUSE_S)
                told = _told(client.events(0), client.status().scheduler)
                shown = min(shown, told["first"] + len(told["events"]))  # another scheduler took over, and began anew


def _told(events: Any, scheduler: str) -> dict[str, Any]:
    told: dict[str, Any] | None = events["adaptation"]
    if told is None:
        raise ConfigError(
            f"the engine runs {scheduler}, which does not adapt; expected dag/adaptive: `dovetail swap dag/adaptive`"
        )
    return told
