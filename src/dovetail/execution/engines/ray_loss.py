"""Why a Ray actor was lost, in a line; and whether what it ran may be to blame."""

from __future__ import annotations

import re

LONGEST_CHARACTERS = 300


def reason(error: BaseException) -> str:
    """Ray's explanations go over many lines, with advice."""
    text = str(error)
    if type(error).__name__ == "ActorUnavailableError" or "node has died" in text:
        return "its node was lost, or is out of reach"
    detail = re.search(r"Worker exit detail: (.*?)(\. Some common causes|\. There are some potential|$)", text, re.S)
    if detail is not None:
        return _line(f"its process died: {detail[1]}")
    return _line(f"{type(error).__name__}: {text}")


def is_blameless(error: BaseException) -> bool:
    """The loss of a process is told by its node.  If nobody tells, it is the node that is lost."""
    return type(error).__name__ in ("ActorUnavailableError", "NodeDiedError") or "node has died" in str(error)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CHARACTERS else line[: LONGEST_CHARACTERS - 3] + "..."
