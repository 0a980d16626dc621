"""Nothing is left behind: processes that die with their parent, and orphans that can be found.  Linux only."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def die_with_parent(parent_pid: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel signal this process when its parent ends, or the thread of it that started us; it is killed at
    once if that has happened already."""
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> None:
    """Descendants that lose their parent become children of this process instead of init's."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def prctl(option: int, value: int) -> None:
    if _libc().prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


@functools.cache  # also so that a freshly forked process has nothing to load
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def children(pid: int) -> list[int]:
    """Direct children of a single-threaded process; none where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def marked(name: str, value: str) -> list[int]:
    """Processes of this user that were given such an environment, or that descend from one; but for this one."""
    mark = f"{name}={value}".encode()
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read().split(b"\0") and pid != os.getpid():
                    found.append(pid)
        except OSError:  # it is gone, or somebody else's
            continue
    return found


def session(pid: int) -> int:
    """The session of a process; 0 if it is gone."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
