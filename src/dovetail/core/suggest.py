"""The "did you mean" of every error about a name: registry, configuration and command line share it."""

from __future__ import annotations

from collections.abc import Iterable

_LISTED = 12  # beyond this, a list of all known names hides the message


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest known name, else all of them when they are few.

    Names of the form `family/name` are also matched on the part after the slash, so that
    `fifo` finds `dag/fifo`.
    """
    from difflib import get_close_matches  # only needed once something has gone wrong

    names = sorted(known)
    if not names:
        return " (none are known)"
    by_key: dict[str, list[str]] = {}
    for name in names:
        for key in {name.lower(), name.rpartition("/")[2].lower()}:
            by_key.setdefault(key, []).append(name)
    close = get_close_matches(word.lower(), list(by_key), n=1, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(repr(name) for name in by_key[close[0]])}?"
    listed = ", ".join(names[:_LISTED])
    more = "" if len(names) <= _LISTED else f", and {len(names) - _LISTED} more"
    return f" (known: {listed}{more})"
