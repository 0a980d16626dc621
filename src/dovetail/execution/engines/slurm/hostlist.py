"""Names of nodes as Slurm writes them: `n[1,3-5],login` is n1, n3, n4, n5 and login."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dovetail.execution.engines.slurm.errors import SlurmError

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_NUMBERED = re.compile(r"(.*?)(\d+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
MAX_NODES = 200_000  # of one list: a typing error must not fill the memory


def expand(text: str) -> tuple[str, ...]:
    """All names of a list, in its order; none for an empty one."""
    if not text or text == "(null)":
        return ()
    return tuple(name for word in _words(text) for name in _names(word, text))


def fold(names: Iterable[str]) -> str:
    """A list that `expand` makes these names of again, as short as numbers at the end allow."""
    groups: dict[tuple[str, int], list[int]] = {}  # by what stands before the number, and its digits if padded
    plain = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            plain.append(name)
        else:
            groups.setdefault((match[1], len(match[2]) if match[2].startswith("0") else 0), []).append(int(match[2]))
    for (before, digits), numbers in groups.items():
        parts: list[list[int]] = []
        for number in sorted(set(numbers)):
            if (
                parts
                and number == parts[-1][1] + 1
                and len(f"{number:0{digits}d}") == len(f"{parts[-1][0]:0{digits}d}")
            ):
                parts[-1][1] = number
            else:
                parts.append([number, number])
        words = [f"{low:0{digits}d}" + (f"-{high:0{digits}d}" if high > low else "") for low, high in parts]
        plain.append(f"{before}[{','.join(words)}]" if len(parts) > 1 or "-" in words[0] else f"{before}{words[0]}")
    return ",".join(plain)


def _words(text: str) -> list[str]:
    """Cut at commas that stand outside of brackets."""
    words, depth, deepest = [""], 0, 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        deepest = max(deepest, depth)
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    if depth or deepest > 1 or not all(words):
        raise SlurmError(f"list of nodes {text!r}: expected names such as n[1,3-5],login")
    return words


def _names(word: str, text: str) -> list[str]:
    found = _BRACKET.search(word)
    if found is None:
        if "[" in word or "]" in word:
            raise SlurmError(f"list of nodes {text!r}: brackets that do not match")
        return [word]
    names: list[str] = []
    for part in found.group(1).split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise SlurmError(f"list of nodes {text!r}: {part!r} is no range of numbers")
        low, high = match.group(1), match.group(2) or match.group(1)
        if not int(low) <= int(high) < int(low) + MAX_NODES:
            raise SlurmError(f"list of nodes {text!r}: {part!r} is no range of numbers")
        for number in range(int(low), int(high) + 1):
            names += _names(f"{word[: found.start()]}{number:0{len(low)}d}{word[found.end() :]}", text)
            if len(names) > MAX_NODES:
                raise SlurmError(f"list of nodes {text!r}: more than {MAX_NODES:,} names")
    return names
