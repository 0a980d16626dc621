"""What the jobs of the tests do; importable by executors."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def square(number: int) -> int:
    return number * number


def note(argument: tuple[str, int, float]) -> int:
    """Leaves a line for every run, so that tests can count them."""
    path, number, lasts_s = argument
    time.sleep(lasts_s)
    with open(path, "a") as file:
        file.write(f"{number}\n")
    return number


def add_up(_: int, inputs: Any) -> int:
    return sum(sum(results) for results in inputs.values())


def fail(number: int) -> None:
    raise ValueError(f"number {number} is no good")


def first_time(path: str, number: int) -> bool:
    """Whether nobody asked this before."""
    try:
        os.close(os.open(f"{path}-{number}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def fail_once(argument: tuple[str, int]) -> int:
    if first_time(*argument):
        raise RuntimeError("not this time")
    return argument[1]


def fail_then_hang(argument: tuple[str, int]) -> int:
    if first_time(*argument):
        raise RuntimeError("not this time")
    time.sleep(600.0)
    return 0


def hang_once(argument: tuple[str, int]) -> int:
    if argument[1] == 3 and first_time(*argument):
        time.sleep(600.0)
    time.sleep(0.02)
    return argument[1]


def hang_deaf(argument: tuple[str, int]) -> int:
    """Hangs, and does not react to being cancelled."""
    if first_time(*argument):
        while True:
            try:
                time.sleep(600.0)
            except BaseException:
                continue
    return argument[1]


def nap(lasts_s: float) -> None:
    time.sleep(lasts_s)


def deaf(number: int) -> int:
    """Goes on for a while after it was cancelled, then ends well."""
    until_s = time.monotonic() + 60.0
    while time.monotonic() < until_s:
        try:
            time.sleep(60.0)
        except BaseException:
            until_s = time.monotonic() + 0.3
    return number


def kill_executor(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_executor_once(argument: tuple[str, int]) -> int:
    if first_time(*argument):
        os._exit(7)
    return argument[1]


def eat(megabytes: int) -> int:
    return len(bytearray(megabytes * 10**6))


def runs(path: str | Path) -> list[int]:
    """Which numbers `note` noted, in order."""
    return [int(line) for line in Path(path).read_text().split()] if Path(path).exists() else []


def fail_every_seventh(number: int) -> int:
    if number % 7 == 3:
        raise ValueError(str(number))
    return number
