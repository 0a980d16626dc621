"""The "did you mean" of every error about a name: registry, configuration and command line share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_LISTED = 12  # beyond this, a list of all known names hides the message


def did_you_mean(word: str, known: Iterable[str], listed: int = _LISTED) -> str:
    """The end of an error message: the nearest known name, else the first `listed` of them.

    Names of the form `family/name` are also matched on the part after the slash, so that
    `fifo` finds `dag/fifo`.  A family that is right says nothing about the name: with one, only
    what comes after it is compared.
    """
    names = sorted(known)
    if not names:
        return " (none are known)"
    family, _, own = word.lower().rpartition("/")
    relatives = [name for name in names if family and _parts(name)[0] == family]
    if relatives:
        meant = _nearest(own, {_parts(name)[1]: [name] for name in relatives})
        meant = meant or [name for name in names if _parts(name)[1] == own]  # of another family
    else:
        by_key: dict[str, list[str]] = {}
        for name in names:
            for key in {name.lower(), _parts(name)[1]}:
                by_key.setdefault(key, []).append(name)
        meant = _nearest(word.lower(), by_key)
    if meant:
        return f"; did you mean {' or '.join(map(repr, meant))}?"
    choice = relatives or names
    more = "" if len(choice) <= listed else f", and {len(choice) - listed} more"
    return f" (known: {', '.join(choice[:listed])}{more})"


def _parts(name: str) -> tuple[str, str]:
    """Family, which may be empty, and what comes after it."""
    family, _, own = name.lower().rpartition("/")
    return family, own


def _nearest(word: str, names: Mapping[str, list[str]]) -> list[str]:
    from difflib import get_close_matches  # only needed once something has gone wrong

    close = get_close_matches(word, list(names), n=1, cutoff=0.6)
    return names[close[0]] if close else []
