"""What is expected of neighbours, and of starting now, against plain arithmetic over the same views."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest

from dovetail import SCHEDULERS
from dovetail.cluster.gpu_speed import default_speeds
from dovetail.core.gpu import Floats, GpuInfo, GpuView, Ints
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.features.gpu import NEIGHBOUR_COLUMNS, START_COLUMNS, Arrivals, GpuFeatures, Queue, Room
from dovetail.features.gpu_neighbours import (
    Neighbours,
    Pressure,
    add_pressure,
    device_for,
    measure_neighbours,
    measure_pressure,
    measure_surprise,
)
from dovetail.sim.gpu import GpuOptions

SETTING = GpuSetting("small", jobs=80, options=GpuOptions(mood_sigma=0.0))
MIXED = GpuSetting("small-mixed", jobs=80, options=GpuOptions(mood_sigma=0.0))
GANGS = GpuSetting("small-mixed:gang_share=0.9,shared_share=0,cpu_share=0.05", jobs=80)
"""Some of them larger than all machines of one type."""


def truth(info: GpuInfo) -> Neighbours:
    """The numbers of the world itself, network cards left out."""
    model = default_speeds().rows(info.kind_name)
    host = (np.ascontiguousarray(part[:, :2]) for part in (model.host_pressure, model.host_sensitivity))
    return Neighbours(*host, model.device_pressure, model.device_sensitivity)


def seen(setting: GpuSetting, name: str, every: int = 10) -> Iterator[tuple[GpuInfo, GpuView]]:
    """Some views of a run; each is valid until the next is asked for."""
    opened = setting.open()
    world = opened.world(opened.sequence(3), SeedTree(3))
    scheduler = SCHEDULERS.create(name)
    scheduler.reset(world.info, np.random.default_rng(0))
    number = 0
    while (view := world.advance()) is not None:
        number += 1
        if number % every == 0:
            yield world.info, view
        world.apply(scheduler.decide(view))


def alone_in(view: GpuView) -> np.ndarray:
    """Runs of one row."""
    return np.bincount(view.row_run, minlength=len(view.run_id)) == 1


@pytest.mark.parametrize("setting", [SETTING, MIXED])
def test_with_the_worlds_own_numbers_nothing_is_a_surprise(setting: GpuSetting) -> None:
    checked = 0
    for info, view in seen(setting, "gpu/fifo+pack"):
        features, about = GpuFeatures(info), truth(info)
        ratio, _ = features.speeds(view)
        pressure = Pressure(*measure_pressure(view, about))
        surprise = measure_surprise(view, features.known, about, pressure, ratio)
        one = alone_in(view)
        assert np.allclose(surprise[one], 0.0, atol=1e-9)
        checked += int(one.sum())
    assert checked > 50


def test_kinds_that_are_not_known_are_expected_to_do_nothing() -> None:
    info, view = next(seen(SETTING, "gpu/fifo+pack"))
    about = Neighbours(*(np.ones((1, rank)) for rank in (2, 2, 5, 5))).rows(("others",), info.kind_name)
    assert all(not part.any() for part in about)
    ratio, _ = GpuFeatures(info).speeds(view)
    pressure = Pressure(*measure_pressure(view, about))
    one = alone_in(view)
    assert np.allclose(measure_surprise(view, GpuFeatures(info).known, about, pressure, ratio)[one], ratio[one])


def test_who_slows_whom_is_what_it_would_be_if_the_job_stood_there() -> None:
    """Slow-downs before and after the job has taken its place, worked out row by row."""
    checked = 0
    for info, view in seen(SETTING, "gpu/srtf+topology", every=3):
        features, about, room = GpuFeatures(info), truth(info), Room.of(view)
        fits, possible = features.fitting(view, room)
        for job in np.flatnonzero(possible & (view.job_workers == 1)).tolist()[:3]:
            pressure = Pressure(*measure_pressure(view, about))
            found = measure_neighbours(view, room, about, pressure, job, fits[job])
            assert found.shape[1] == len(NEIGHBOUR_COLUMNS)
            for m in np.flatnonzero(fits[job] > 0).tolist():
                kind, gpus = int(view.job_kind[job]), float(view.job_gpus[job])
                device = device_for(room, m, gpus)
                before = slowed(view, about, pressure, m)
                after = Pressure(pressure.host.copy(), pressure.device.copy())
                add_pressure(after, about, room, m, kind, gpus)
                others = {p: slowed(view, about, after, m)[p] - before[p] for p in before}
                own = np.log1p(about.host_feel[kind] @ pressure.host[m])
                if device >= 0:
                    own += np.log1p(about.device_feel[kind] @ pressure.device[m, device])
                left_s = float(view.job_left_s[job])
                harm = sum(more * min(view.run_left_s[view.row_run[p]], left_s) / left_s for p, more in others.items())
                assert found[m, 0] == pytest.approx(own)
                assert found[m, 1] == pytest.approx(np.log1p(harm))
                checked += 1
    assert checked > 50


def slowed(view: GpuView, about: Neighbours, pressure: Pressure, machine: int) -> dict[int, float]:
    """Row -> log of how much slower its company makes it."""
    found = {}
    for p in np.flatnonzero(view.row_machine == machine).tolist():
        run, workers = view.row_run[p], view.row_workers[p]
        kind = view.run_kind[run]
        host = pressure.host[machine] - workers * view.run_gpus[run] * about.host_press[kind]
        found[p] = float(np.log1p(about.host_feel[kind] @ host))
        if view.row_device[p] >= 0:
            device = pressure.device[machine, view.row_device[p]] - workers * about.device_press[kind]
            found[p] += float(np.log1p(about.device_feel[kind] @ device))
    return found


def test_columns_of_starting() -> None:
    checked, not_on_the_fastest = 0, 0
    for info, view in chain(seen(MIXED, "gpu/srtf+topology", every=2), seen(GANGS, "gpu/fifo+first-fit", every=2)):
        features, room, queue, arrivals = GpuFeatures(info), Room.of(view), Queue.of(view), Arrivals.empty()
        queue.passed[0] = 3.0
        features.notice(view, arrivals)
        fits, possible = features.fitting(view, room)
        for job in np.flatnonzero(possible).tolist():
            row = dict(zip(START_COLUMNS, features.start(view, room, queue, arrivals, job, fits[job]), strict=True))
            workers, need = int(view.job_workers[job]), float(view.job_workers[job] * view.job_gpus[job])
            total = float(info.machine_gpus.sum())
            fewest, left = 0, workers
            for taken in sorted(np.minimum(fits[job], workers).tolist(), reverse=True):
                if left > 0:
                    fewest, left = fewest + 1, left - taken
            speed = info.kind_speed[view.job_kind[job]]
            gpus, whole = float(view.job_gpus[job]), info.machine_gpus
            ever = np.full(len(whole), workers) if gpus == 0 else whole // gpus if gpus >= 1 else whole * (1 // gpus)
            ever = np.minimum(ever, info.machine_cpus // view.job_cpus[job])
            ever = np.minimum(ever, info.machine_memory // view.job_memory[job])

            def speed_on(room: Ints, speed: Floats = speed, workers: int = workers, info: GpuInfo = info) -> float:
                """The fastest type with room for all; the slowest with any, if none has."""
                takes = np.bincount(info.machine_type, np.minimum(room, workers), minlength=len(speed))
                enough = takes >= workers
                return float(speed[enough].max() if enough.any() else speed[takes > 0].min())

            best = speed_on(fits[job]) / speed_on(ever)
            left_s = view.run_left_s / view.run_speed
            longer = (view.run_workers * view.run_gpus * left_s / (left_s + view.job_left_s[job])).sum()
            assert row["one"] == 1.0 and row["needs no gpu"] == (need == 0)
            assert row["gpus free after it"] == pytest.approx((view.device_free.sum() - need) / total)
            assert row["slower for want of one machine"] == pytest.approx(
                np.log1p(info.kind_network[view.job_kind[job]] * (1 - 1 / fewest))
            )
            assert row["speed of the types free, of the best"] == pytest.approx(np.log(best))
            not_on_the_fastest += speed_on(ever) < speed[np.unique(info.machine_type)].max()
            assert row["gpus of the largest passed over"] == pytest.approx(3.0 / total)
            assert row["gpus held by those that last longer"] == pytest.approx(longer / total)
            came = float(view.job_arrival_s.min()) - float(view.job_left_s.mean())
            work = view.job_workers * view.job_gpus * view.job_left_s
            short = (work / (1 + (2 * view.job_left_s / view.job_left_s[job]) ** 2)).sum()
            asked = min(short / (view.time_s - came) / total, 2.0)
            assert row["gpus that much shorter ones ask for"] == pytest.approx(asked)
            checked += 1
    assert checked > 20 and not_on_the_fastest > 0
