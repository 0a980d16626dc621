"""Numbers that compiled schedulers of GPU jobs and their interpreted twins share; importing them compiles nothing."""

from __future__ import annotations

from enum import IntEnum


class OrderCode(IntEnum):
    FIFO = 0
    SJF = 1
    SRTF = 2
    SMALLEST = 3
    DRF = 4
    LAS = 5
    EASY_BACKFILL = 6
    TETRIS = 7
    RANDOM = 8


class PlaceCode(IntEnum):
    FIRST_FIT = 0
    BEST_FIT = 1
    LOAD_BALANCE = 2
    PACK = 3
    LEAST_ALLOCATED = 4
    MOST_ALLOCATED = 5
    FGD = 6
    TOPOLOGY = 7
    ALIGNMENT = 8
    RANDOM = 9
    FASTEST = 10


GOLDEN, SECOND, MIX1, MIX2 = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Of the hash that random numbers come from."""
MOST_WORKERS = 1 << 20  # of a job; only so that no two draws are the same
MOST_CLASSES = 64  # demands that fragmentation is counted for
LEAST_GPUS = 0.1  # that a worker counts as where work is GPU-time
SECOND_QUEUE_S = 1e12  # added to arrivals, so that the second queue comes after all of the first
SLOWEST = 1e-6  # speed, so that nothing divides by nothing

# `params` of the kernel, in this order
ORDER, PLACE, ORDER_NUMBERS, PLACE_NUMBERS = 0, 1, 2, 6  # four numbers each
MOST_GPUS, MOST_CPUS, MOST_MEMORY, TOTAL_GPUS, TOTAL_CPUS, TOTAL_MEMORY = 10, 11, 12, 13, 14, 15
TYPES, KINDS, WHY, REASON = 16, 17, 18, 19
ARRAYS = 20  # from here on: GPUs, processors, memory of each machine; speed of each kind and type; network of each kind

# `state` of the kernel, in this order
COUNT, ORDER_KEY, PLACE_KEY, LAST_SEEN, SEEN, CLASSES = 0, 1, 2, 3, 4, 5
MACHINES = CLASSES + 5 * MOST_CLASSES  # from here on: type and rack of each machine; mask of types of each kind
