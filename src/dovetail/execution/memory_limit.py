"""How much memory one task may take, enforced by the kernel: beyond it, allocating fails with MemoryError."""

from __future__ import annotations

import errno
import os
import resource

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def amount(size_bytes: int) -> str:
    """200000000 as "200 MB"."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes} bytes"


def resident_bytes(pid: int | str = "self") -> int:
    """Memory that belongs to the process alone: resident, without file and shared pages.  0 if there is no such
    process any more."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            fields = file.read().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * PAGE_BYTES


class MemoryLimit:
    """RLIMIT_DATA around a task: what the process has mapped when the task starts, plus the task's limit.

    It counts private writable memory when it is mapped, whether touched or not; the stack of every thread counts.
    Processes that the task starts inherit it, each for itself.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._before: tuple[int, int] | None = None
        self._statm = -1

    def impose(self) -> None:
        if self._statm < 0:
            self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        mapped_bytes = int(os.pread(self._statm, 200, 0).split()[5]) * PAGE_BYTES
        before = resource.getrlimit(resource.RLIMIT_DATA)
        soft = mapped_bytes + self.limit_bytes
        hard = before[1]
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        self._before = before
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))

    def lift(self) -> None:
        if self._before is not None:
            resource.setrlimit(resource.RLIMIT_DATA, self._before)
            self._before = None

    def close(self) -> None:
        if self._statm >= 0:
            os.close(self._statm)
            self._statm = -1

    @staticmethod
    def is_cause_of(error: BaseException) -> bool:
        """Whether an exception is what running into a limit looks like."""
        return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
