"""Counts the words of all files that match a pattern: one task for each file, then one that adds up.

    python examples/word_count.py                       # the Python files of this repository
    python examples/word_count.py '/usr/share/doc/**/*' 20

The second stage is declared with `inputs=True`, so it is given what the first one returned.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from glob import glob
from pathlib import Path

from dovetail.execution import Engine, Job

EVERYTHING_HERE = str(Path(__file__).parents[1] / "**" / "*.py")


def count_words(path: str) -> Counter[str]:
    return Counter(re.findall(r"[a-z]+", Path(path).read_text(errors="replace").lower()))


def merge(_: int, inputs: dict[str, list[Counter[str]]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counts in inputs["count"]:
        total.update(counts)
    return total


def main(pattern: str = EVERYTHING_HERE, most: str = "10") -> None:
    paths = sorted(path for path in glob(pattern, recursive=True) if Path(path).is_file())
    job = Job("word count")
    counts = job.stage(count_words, tasks=paths, name="count", memory="500MB", timeout_s=60)
    total = job.stage(merge, after=[counts], inputs=True)
    with Engine() as engine:
        (words,) = engine.submit(job).results(total)
    print(f"{words.total():,} words, {len(words):,} different ones, in {len(paths):,} files")
    for word, count in words.most_common(int(most)):
        print(f"{count:8,}  {word}")


if __name__ == "__main__":
    main(*sys.argv[1:])
