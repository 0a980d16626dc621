"""Whatever is decided: nothing is taken twice, work is conserved, fees are what was held, same inputs same bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.gpu_toys import RandomPlacer, ToyJob, random_jobs, random_model, toy_model, toy_workload
from tests.sim.test_gpu_world import start

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster
from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuView
from dovetail.core.seeds import SeedTree
from dovetail.sim.gpu import GpuOptions, GpuResult, GpuWorld
from dovetail.sim.kernels.gpu_state import COMPLETED, MACHINE_LOST, STOPPED

CLUSTER = GpuCluster(5, ("v100x8", "t4x4", "a10x4"), rack=2)
PLAIN = GpuOptions(CLUSTER, mood_period_s=100.0, mood_every_s=20.0)
OPTIONS = st.sampled_from(
    [
        PLAIN,
        replace(PLAIN, interval_s=30.0, mood_sigma=0.0),
        replace(PLAIN, preemption=True, quantum_s=25.0, restart_s=7.0),
        replace(PLAIN, mean_time_to_failure_s=800.0, repair_s=60.0, checkpoint_s=40.0, restart_s=5.0),
        replace(
            PLAIN,
            preemption=True,
            quantum_s=40.0,
            mean_time_to_failure_s=800.0,
            repair_s=60.0,
            checkpoint_s=40.0,
            restart_s=5.0,
        ),
    ]
)
TABLES = ("segments", "rows", "decision_log", "speeds", "machine_log")
COLUMNS = ("start_s", "finish_s", "running_s", "served_s", "fee", "stops", "work_run_s", "alone_run_s")


def random_run(options: GpuOptions, seed: int, jobs: int = 25, look=lambda view: None) -> tuple[GpuWorld, GpuResult]:
    """A run under random decisions; `look` sees every view."""
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    workload = random_jobs(rng, jobs, options.cluster, model, ties=False)
    world = GpuWorld(workload, model, options, SeedTree(seed), record=True)
    placer = RandomPlacer(world.info, rng)
    while (view := world.advance()) is not None:
        look(view)
        decisions = placer.decide(view)
        for choice in (decisions, [one for one in decisions if not one.stops], placer.first_that_fits(view)):
            try:
                world.apply(choice)
            except InvalidDecision as error:
                assert "stalled" in str(error) or "none may be stopped" in str(error), error
            else:
                break
    return world, world.result()


def rows_of(result: GpuResult, segment: np.ndarray) -> np.ndarray:
    return result.rows[segment["first_row"] : segment["first_row"] + segment["rows"]]


@given(OPTIONS, st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_nothing_is_taken_twice(options: GpuOptions, seed: int) -> None:
    """Held devices, processors and memory, summed from the record at every start."""
    world, result = random_run(options, seed)
    job, info = result.workload, world.info
    for moment in np.unique(result.segments["start_s"]):
        devices = np.zeros((len(info.machine_name), 16))
        cpus, memory = np.zeros(len(devices)), np.zeros(len(devices))
        for segment in result.segments:
            if segment["start_s"] <= moment < segment["end_s"]:
                number = segment["job"]
                assert rows_of(result, segment)["workers"].sum() == job.workers[number]
                for row in rows_of(result, segment):
                    m = row["machine"]
                    cpus[m] += row["workers"] * job.cpus[number]
                    memory[m] += row["workers"] * job.memory[number]
                    if row["device"] >= 0:
                        devices[m, row["device"]] += row["workers"] * job.gpus[number]
                    whole = [d for d in range(16) if row["mask"] >> d & 1]
                    assert len(whole) == (row["workers"] * job.gpus[number] if job.gpus[number] >= 1 else 0)
                    devices[m, whole] += 1
                    assert job.types[number] == -1 or job.types[number] >> info.machine_type[m] & 1
        assert (devices <= 1 + 1e-6).all()
        assert all((devices[m, int(gpus) :] == 0).all() for m, gpus in enumerate(info.machine_gpus))
        assert (cpus <= info.machine_cpus + 1e-6).all() and (memory <= info.machine_memory + 1e-6).all()


@given(OPTIONS, st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_work_is_conserved_and_fees_are_what_was_held(options: GpuOptions, seed: int) -> None:
    world, result = random_run(options, seed)
    job, info = result.workload, world.info
    prices = np.array([kind.usd_per_hour for kind in GPU_TYPES])[info.machine_type]
    assert (result.start_s >= job.arrival_s).all() and (result.waiting_s >= -1e-6).all()
    for number in range(job.num_jobs):
        segments = result.segments[result.segments["job"] == number]
        assert segments["why"].tolist()[-1] == COMPLETED
        assert set(segments["why"][:-1]) <= {STOPPED, MACHINE_LOST}
        assert result.stops[number] == len(segments) - 1
        ran, fee, kept, integral = 0.0, 0.0, 0.0, 0.0
        for place, segment in enumerate(segments):
            span = segment["end_s"] - segment["start_s"]
            done = integral_of_speed(result, number, segment["start_s"], segment["end_s"])
            ran += span
            fee += (
                span
                / 3600
                * sum(row["workers"] * job.gpus[number] * prices[row["machine"]] for row in rows_of(result, segment))
            )
            integral += done
            after = max(kept, kept + done - (options.restart_s if place else 0.0))
            if segment["why"] == MACHINE_LOST:
                after = max(kept, np.floor(after / options.checkpoint_s) * options.checkpoint_s)
            kept = after
        np.testing.assert_allclose(kept, job.work_s[number], rtol=1e-6)
        np.testing.assert_allclose(
            [result.running_s[number], result.fee[number], result.work_run_s[number]],
            [ran, fee, integral],
            rtol=1e-6,
            atol=1e-9,
        )
        np.testing.assert_allclose(result.served_s[number], ran * job.workers[number] * job.gpus[number], rtol=1e-9)
    assert (result.relative_speed <= np.exp(options.mood_sigma * 6) + 1e-9).all()
    assert result.makespan_s == result.end_s == result.finish_s.max()


def integral_of_speed(result: GpuResult, job: int, start_s: float, end_s: float) -> float:
    changes = result.speeds[(result.speeds["job"] == job)]
    changes = changes[(changes["time_s"] >= start_s) & (changes["time_s"] < end_s)]
    if not len(changes):
        return 0.0
    assert changes["time_s"][0] == start_s
    return float((np.diff(np.append(changes["time_s"], end_s)) * changes["speed"]).sum())


@given(OPTIONS, st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_what_is_seen_adds_up(options: GpuOptions, seed: int) -> None:
    times: list[float] = []

    def look(view: GpuView) -> None:
        assert not times or view.time_s >= times[-1]
        times.append(view.time_s)
        assert len(view.job_id) and (np.diff(view.job_id) > 0).all()
        assert (view.job_arrival_s <= view.time_s).all()
        assert not set(view.job_id) & set(view.run_id)
        assert (np.diff(view.row_run) >= 0).all() and (np.diff(view.run_start_s) >= 0).all()
        held = np.bincount(view.row_run, view.row_workers, len(view.run_id))
        assert held.tolist() == view.run_workers.tolist()
        np.testing.assert_allclose(view.machine_gpus_free, view.device_free.sum(axis=1), atol=1e-9)
        assert ((view.device_free >= 0) & (view.device_free <= 1)).all()
        assert (view.machine_whole_free == (view.device_free == 1).sum(axis=1)).all()
        used = np.zeros_like(view.user_used)
        np.add.at(used, view.run_user, (view.run_workers * np.array([view.run_gpus, view.run_cpus, view.run_memory])).T)
        np.testing.assert_allclose(view.user_used, used, atol=1e-9)
        assert (view.run_speed > 0).all() and (view.run_left_s > 0).all()

    random_run(options, seed, look=look)


@given(OPTIONS, st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_same_inputs_same_bytes(options: GpuOptions, seed: int) -> None:
    (_, first), (_, again) = (random_run(options, seed) for _ in range(2))
    for name in (*TABLES, *COLUMNS):
        assert getattr(first, name).tobytes() == getattr(again, name).tobytes(), name
    assert (first.events, first.decisions, first.asked) == (again.events, again.decisions, again.asked)


def test_uneven_machines_stay_as_fast_as_they_are() -> None:
    cluster = GpuCluster(400, uneven=0.2)
    jobs = [ToyJob(work=1e4, gpus=4, cpus=32)] * 400
    found = []
    for seed in (2, 2, 3):
        world = GpuWorld(toy_workload(jobs), toy_model(), GpuOptions(cluster, mood_sigma=0.0), SeedTree(seed))
        world.advance()
        world.apply([start(job, job) for job in range(400)])
        assert world.advance() is None
        found.append(np.log(world.result().running_s))
    assert 0.17 < found[0].std() < 0.23
    assert np.array_equal(found[0], found[1]) and abs(np.corrcoef(found[0], found[2])[0, 1]) < 0.2


def test_moods_have_the_spread_that_was_asked_for() -> None:
    """One long job on each of many machines: the log of its speeds is normal with the given deviation at all times."""

    cluster = GpuCluster(400)
    jobs = [ToyJob(work=1e5, gpus=4, cpus=32)] * 400
    options = GpuOptions(cluster, mood_sigma=0.1, mood_period_s=7200.0, mood_every_s=1200.0)
    world = GpuWorld(toy_workload(jobs), toy_model(), options, SeedTree(2), record=True)

    world.advance()
    world.apply([start(job, job) for job in range(400)])
    assert world.advance() is None
    speeds = world.result().speeds
    for look in range(1, 40):
        logs = np.log(speeds["speed"][speeds["time_s"] == look * 1200.0])
        assert len(logs) == 400
        assert abs(logs.mean()) < 0.025 and 0.085 < logs.std() < 0.115
    one = np.log(speeds["speed"][speeds["job"] == 7])
    assert np.corrcoef(one[:-1], one[1:])[0, 1] > 0.7  # slowly varying
