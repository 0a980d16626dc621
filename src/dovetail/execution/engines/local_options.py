"""What a cluster on this machine is to be."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError


@dataclass(frozen=True)
class LocalOptions:
    """The cluster that this machine is to be."""

    executors: int = 0  # in all; 0: as many as the machine has processors
    nodes: int = 1  # pretended machines: node managers, each with its share of the executors
    cpus: float = 1.0  # of an executor
    memory_gb: float = 0.0  # of an executor; 0: what the machine has, shared equally, and nobody is killed for it
    classes: tuple[ExecutorClass, ...] = ()  # executors of several sizes instead
    limit_memory: bool = True  # kill an executor that uses more than it has, where that was said

    def __post_init__(self) -> None:
        if self.executors < 0 or self.nodes < 1 or self.cpus <= 0.0 or self.memory_gb < 0.0:
            raise ConfigError("executors and memory_gb must be 0 or more, nodes 1 or more, cpus above 0")
        if self.nodes > self.count:
            raise ConfigError(f"{self.nodes} nodes for {self.count} executors; expected one executor or more on each")

    @property
    def count(self) -> int:
        return sum(kind.count for kind in self.classes) or self.executors or os.cpu_count() or 1

    def executor_classes(self) -> tuple[ExecutorClass, ...]:
        if self.classes:
            return self.classes
        machine_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        return (ExecutorClass(self.count, self.cpus, self.memory_gb or machine_gb / self.count),)
