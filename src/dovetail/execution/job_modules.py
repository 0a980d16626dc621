"""Modules that belong to a job: those that lie in folders of its own, beside its file or its script.

Executors outlive jobs, and two jobs may each have a `counting.py`, or the same one before and after it was edited.  So
while a task runs, `sys.path` begins with the folders of its job, and `sys.modules` has what this job loaded from there
and nothing that another job loaded from its own.  What is installed is loaded once, for all; and so is what the
executor itself had loaded before the first job, which therefore cannot be replaced by a module of the same name.
"""

from __future__ import annotations

import importlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from itertools import islice
from types import ModuleType

NOBODY = -1


class Belongings:
    """What one job has, while another runs."""

    def __init__(self, folders: Sequence[str], path: Sequence[str]) -> None:
        self.folders = [folder for folder in folders if folder not in _installed()]
        self.path = [*self.folders, *path]
        self.modules: dict[str, ModuleType] = {}
        self.hides = set(_names_in(self.folders))  # modules from elsewhere that are not meant when the job names them


class JobModules:
    """`enter` a job before anything of it is loaded or run; that costs little if it is the one that ran last."""

    def __init__(self) -> None:
        self._job = NOBODY
        self._jobs: dict[int, Belongings] = {}
        self._compiled: dict[str, dict[str, ModuleType]] = {}  # by folder; extension modules cannot be loaded twice
        self._hidden: dict[str, ModuleType] = {}  # from elsewhere, while this job runs
        self._path: list[str] | None = None  # without any job
        self._everybodys: frozenset[str] = frozenset()
        self._last_before = ""  # the newest module when the job was entered, and how many there were
        self._count_before = 0

    def enter(self, job: int, folders: Sequence[str]) -> None:
        if job == self._job:
            return
        if self._path is None:
            self._path = list(sys.path)
            self._everybodys = frozenset(map(_top, sys.modules))
        self._leave()
        if job not in self._jobs:
            self._jobs[job] = Belongings(folders, self._path)
            importlib.invalidate_caches()  # a file may be new
        self._job, now = job, self._jobs[job]
        sys.path[:] = now.path
        self._hidden = _take_out({name for name in now.hides if name in sys.modules} - self._everybodys)
        self._last_before, self._count_before = next(reversed(sys.modules)), len(sys.modules)
        for folder in now.folders:
            sys.modules.update(self._compiled.get(folder, {}))
        sys.modules.update(now.modules)

    def forget(self, job: int) -> None:
        if job == self._job:
            self._leave()
        self._jobs.pop(job, None)

    def _leave(self) -> None:
        if self._job == NOBODY or self._path is None:
            return
        left = self._jobs[self._job]
        self._job = NOBODY
        left.path, sys.path[:] = list(sys.path), self._path
        own = {name for name in self._new() if "." not in name and _folder_of(sys.modules[name]) in left.folders}
        left.modules = _take_out(own - self._everybodys)
        for name in {_top(name) for name, module in left.modules.items() if _is_compiled(module)}:
            tree = {each: module for each, module in left.modules.items() if _top(each) == name}
            self._compiled.setdefault(_folder_of(tree[name]), {}).update(tree)
        sys.modules.update(self._hidden)

    def _new(self) -> Iterator[str]:
        """Names of modules that were not there before; modules are kept in the order in which they came."""
        if next(islice(sys.modules, self._count_before - 1, None), "") == self._last_before:
            return iter(list(islice(sys.modules, self._count_before, None)))
        return iter(list(sys.modules))  # a task took some out


def hidden_in(name: str, folders: Iterable[str]) -> str:
    """The folder of a job that has a module of this name, though another one is loaded; empty: none."""
    top = _top(name)
    loaded = sys.modules.get(top)
    for folder in folders:
        if folder in _installed():
            continue
        if top in _names_in([folder]) and loaded is not None and _folder_of(loaded) != folder:
            return folder
    return ""


def _take_out(tops: set[str]) -> dict[str, ModuleType]:
    if not tops:
        return {}
    return {name: sys.modules.pop(name) for name in list(sys.modules) if _top(name) in tops}


def _top(name: str) -> str:
    return name.partition(".")[0]


def _folder_of(module: ModuleType) -> str:
    """Where a top-level module lies; empty if that is nowhere, or in several places."""
    spec = getattr(module, "__spec__", None)
    if spec is None:
        return ""
    if spec.submodule_search_locations is None:
        return os.path.dirname(spec.origin) if spec.origin and spec.has_location else ""
    folders = {os.path.dirname(folder) for folder in spec.submodule_search_locations}
    return folders.pop() if len(folders) == 1 else ""


def _names_in(folders: Iterable[str]) -> Iterator[str]:
    """Modules that lie there without doubt: a folder without `__init__.py` gives way to any other module."""
    for folder in folders:
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        for entry in entries:
            name, dot, _ = entry.partition(".")
            if dot:
                if entry.endswith((".py", *EXTENSION_SUFFIXES)):
                    yield name
            elif os.path.exists(os.path.join(folder, entry, "__init__.py")):
                yield name


def _is_compiled(module: ModuleType) -> bool:
    return isinstance(getattr(getattr(module, "__spec__", None), "loader", None), ExtensionFileLoader)


@cache
def _installed() -> frozenset[str]:
    """Folders that are everybody's, should a job name them."""
    return frozenset([*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()])
