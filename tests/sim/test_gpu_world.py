"""The gpu world: runs solved by hand, every rule by its name, and nothing changed by what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.sim.gpu_toys import ToyJob, toy_model, toy_workload

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.errors import ConfigError, InvalidDecision, UnknownName
from dovetail.core.gpu import GpuDecision, GpuView, Place, Reason
from dovetail.core.seeds import SeedTree
from dovetail.sim.gpu import GpuOptions, GpuResult, GpuWorld
from dovetail.sim.kernels.gpu_state import COMPLETED, MACHINE_LOST, STOPPED

V100, T4 = 0, 2
NONE = np.zeros(0, np.int64)


def world_of(
    jobs: list[ToyJob], cluster: GpuCluster, model: SpeedModel | None = None, *, seed: int = 0, **options: object
) -> GpuWorld:
    given = GpuOptions(cluster, **{"mood_sigma": 0.0, **options})  # type: ignore[arg-type]
    return GpuWorld(toy_workload(jobs), model or toy_model(), given, SeedTree(seed), record=True)


def start(job: int, *machines: int) -> GpuDecision:
    return GpuDecision(job, np.array(machines), reason=Reason.FIRST_ARRIVED, place=Place.FIRST_FIT)


def stop(run: int) -> GpuDecision:
    return GpuDecision(run, NONE, stops=True, reason=Reason.MAKES_ROOM)


def played(world: GpuWorld, *answers: list[GpuDecision]) -> GpuResult:
    """Give these answers, then nothing more, to the end."""
    left = list(answers)
    while world.advance() is not None:
        world.apply(left.pop(0) if left else [])
    assert not left, f"{len(left)} answers were not asked for"
    return world.result()


# --- speed --------------------------------------------------------------------------------------------------------


def test_alone_a_job_takes_its_work_at_the_speed_of_the_type() -> None:
    speed = np.ones((2, len(GPU_TYPES)))
    speed[0, T4] = 0.25
    jobs = [ToyJob(work=100), ToyJob(work=100)]
    result = played(
        world_of(jobs, GpuCluster(2, ("v100x4", "t4x4")), toy_model(speed=speed)), [start(0, 0), start(1, 1)]
    )
    assert result.finish_s.tolist() == [100.0, 400.0]
    assert result.mean_speed.tolist() == [1.0, 0.25]
    assert result.relative_speed.tolist() == [1.0, 1.0]


def test_a_neighbour_on_the_host_slows_down_until_it_leaves() -> None:
    """Two GPUs of it press with 2 x 0.3 on processors and 2 x 0.1 on PCIe; sensitivity 0.5 and 1: 1 + 0.5."""
    model = toy_model(
        host_pressure=[[0.0, 0.0, 0.0], [0.3, 0.1, 5.0]], host_sensitivity=[[0.5, 1.0, 5.0], [1.0, 1.0, 1.0]]
    )
    jobs = [ToyJob(work=100, kind=0), ToyJob(work=60, gpus=2, kind=1)]
    world = world_of(jobs, GpuCluster(1), model)
    result = played(world, [start(0, 0), start(1, 0)])
    assert result.finish_s[1] == 60.0  # what the other presses is 0
    assert result.finish_s[0] == pytest.approx(60 + (100 - 60 / 1.5))
    assert [row["speed"] for row in result.speeds if row["job"] == 0] == pytest.approx([1 / 1.5, 1.0])
    assert result.relative_speed[0] == pytest.approx(100 / result.finish_s[0])


def test_the_network_card_is_pressed_and_felt_only_by_jobs_on_several_machines() -> None:
    model = toy_model(host_pressure=[[0, 0, 1.0], [0, 0, 1.0]], host_sensitivity=[[0, 0, 1.0], [0, 0, 1.0]])
    jobs = [ToyJob(workers=2, work=100), ToyJob(workers=2, work=100), ToyJob(work=100)]
    world = world_of(jobs, GpuCluster(2), model)
    world.advance()
    world.apply([start(0, 0, 1), start(1, 0, 1), start(2, 0)])
    result = played(world)
    assert result.finish_s.tolist() == [200.0, 200.0, 100.0]  # each of the two feels one GPU of the other


def test_own_workers_do_not_slow_each_other_down() -> None:
    press = {"host_pressure": np.ones((2, 3)), "host_sensitivity": np.ones((2, 3))}
    share = {"device_pressure": np.ones((2, 2)), "device_sensitivity": np.ones((2, 2))}
    jobs = [ToyJob(workers=3, gpus=0.3, work=100)]
    result = played(world_of(jobs, GpuCluster(1), toy_model(**press, **share)), [start(0, 0, 0, 0)])
    assert result.finish_s.tolist() == [100.0]


def test_sharing_a_device_slows_down_by_the_pressure_of_each_worker_there() -> None:
    """Two workers of the other job on the same device, each pressing 0.5 and 0.25; sensitivity 1 and 2."""
    model = toy_model(device_pressure=[[0, 0], [0.5, 0.25]], device_sensitivity=[[1, 2], [1, 1]])
    jobs = [ToyJob(gpus=0.2, work=100), ToyJob(gpus=0.3, workers=2, work=1000, kind=1)]
    world = world_of(jobs, GpuCluster(1), model)
    result = played(world, [start(0, 0), start(1, 0, 0)])
    assert result.rows["device"].tolist() == [0, 0]
    assert result.finish_s[0] == pytest.approx(100 * (1 + 2 * 0.5 + 2 * 2 * 0.25))
    assert result.finish_s[1] == 1000.0


def test_a_gang_is_as_fast_as_its_slowest_worker_and_the_network_lets_it() -> None:
    speed = np.ones((2, len(GPU_TYPES)))
    speed[:, T4] = 0.5
    model = toy_model(speed=speed, network=[0.4, 0.0], machine_hop=1.0, rack_hop=2.0)
    jobs = [ToyJob(workers=4, work=100)]
    cluster = GpuCluster(3, ("v100x4", "v100x4", "t4x4"), rack=2)
    result = played(world_of(jobs, cluster, model), [start(0, 0, 0, 1, 2)])
    apart = (1 - 1 / 3) + 2 * (1 - 1 / 2)
    assert result.finish_s[0] == pytest.approx(100 / 0.5 * (1 + 0.4 * apart))
    assert result.rows[["machine", "device", "workers"]].tolist() == [(0, -1, 2), (1, -1, 1), (2, -1, 1)]
    assert result.rows["mask"].tolist() == [0b11, 0b1, 0b1]


# --- money and time -----------------------------------------------------------------------------------------------


def test_fee_waiting_and_use() -> None:
    jobs = [ToyJob(work=3600, workers=2, gpus=2), ToyJob(work=60, gpus=0), ToyJob(work=1800, gpus=4, arrival=100)]
    world = world_of(jobs, GpuCluster(2, ("v100x4", "t4x4")))
    result = played(world, [start(0, 0, 1), start(1, 0)], [], [start(0, 0)])
    assert result.fee[0] == pytest.approx(2 * 3.06 + 2 * 0.526)
    assert result.fee[2] == pytest.approx(0.5 * 4 * 3.06)
    assert result.fee[1] == 0.0
    assert result.start_s.tolist() == [0.0, 0.0, 3600.0]
    assert result.waiting_s.tolist() == [0.0, 0.0, 3500.0]
    assert result.served_s.tolist() == [4 * 3600, 0, 4 * 1800]
    assert result.makespan_s == result.end_s == 5400.0
    assert result.gpu_utilisation == pytest.approx((4 * 3600 + 4 * 1800) / (8 * 5400))


def test_left_is_what_was_thought_minus_what_is_done_but_a_tenth_at_least() -> None:
    jobs = [ToyJob(work=100, estimate=50), *(ToyJob(arrival=t, cpus=32) for t in (20.0, 60.0))]
    world = world_of(jobs, GpuCluster(1))
    world.advance()
    world.apply([start(0, 0)])
    assert world.advance().run_left_s.tolist() == [30.0]
    world.apply([])
    view = world.advance()
    assert view.time_s == 60.0 and view.run_left_s.tolist() == [5.0]
    assert view.run_served_s.tolist() == [60.0] and view.run_speed.tolist() == [1.0]


# --- gangs, devices -----------------------------------------------------------------------------------------------


def test_a_gang_waits_until_all_its_workers_fit() -> None:
    jobs = [ToyJob(work=100, gpus=2), ToyJob(work=10, gpus=2, workers=2)]
    world = world_of(jobs, GpuCluster(1))
    world.advance()
    with pytest.raises(InvalidDecision, match=r"worker 1 does not fit machine 0 .*needs 2 whole GPUs, 0 are free"):
        world.apply([start(0, 0), start(1, 0, 0)])
    world.apply([start(0, 0)])
    view = world.advance()
    assert view.time_s == 100.0
    world.apply([start(0, 0, 0)])
    assert played(world).finish_s.tolist() == [100.0, 110.0]


def test_a_share_goes_to_the_fullest_device_that_takes_it() -> None:
    jobs = [ToyJob(gpus=gpus, work=100 + number) for number, gpus in enumerate((0.5, 1, 0.7, 0.3, 0.5, 0.2, 0.25))]
    world = world_of(jobs, GpuCluster(1))
    world.advance()
    world.apply([start(job, 0) for job in range(len(jobs))])
    devices = world.result().rows
    #  0.5 -> 0;  1 -> device 1 whole;  0.7 -> 2 (0 has only 0.5);  0.3 -> 2;  0.5 -> 0;  0.2 -> 3;  0.25 -> 3
    assert devices["device"].tolist() == [0, -1, 2, 2, 0, 3, 3]
    assert devices["mask"].tolist() == [0, 0b10, 0, 0, 0, 0, 0]


def test_equal_devices_are_taken_by_number_whatever_the_rounding() -> None:
    """0.1 + 0.2 and 0.3 leave the same, though not to the last bit."""
    jobs = [ToyJob(gpus=gpus) for gpus in (0.1, 0.2, 0.8, 0.3, 0.05, 0.65)]
    world = world_of(jobs, GpuCluster(1))
    world.advance()
    world.apply([start(job, 0) for job in range(len(jobs))])
    assert world.result().rows["device"].tolist() == [0, 0, 1, 0, 1, 2]


# --- preemption, failures -----------------------------------------------------------------------------------------


def test_a_stopped_job_keeps_its_work_and_pays_for_starting_again() -> None:
    jobs = [ToyJob(work=100, gpus=4), ToyJob(work=20, gpus=4, arrival=30)]
    world = world_of(jobs, GpuCluster(1), preemption=True, restart_s=7.0, quantum_s=1e6)
    world.advance()
    world.apply([start(0, 0)])
    view = world.advance()
    assert view.time_s == 30.0
    world.apply([stop(0)])
    view = world.advance()
    assert view.time_s == 30.0 and view.job_id.tolist() == [0, 1]
    assert view.job_stops.tolist() == [1, 0] and view.job_left_s.tolist() == [70.0, 20.0]
    assert view.job_served_s.tolist() == [120.0, 0.0]
    with pytest.raises(InvalidDecision, match="when asked again at the same time none may be stopped"):
        world.apply([stop(0)])
    world.apply([start(1, 0)])
    result = played(world, [start(0, 0)])
    assert result.finish_s.tolist() == [50 + 70 + 7, 50]
    assert result.stops.tolist() == [1, 0]
    assert result.segments["why"].tolist() == [STOPPED, COMPLETED, COMPLETED]
    assert result.fee[0] == pytest.approx(4 * 3.06 * (30 + 77) / 3600)


def test_places_of_a_stopped_job_can_be_taken_in_the_same_answer() -> None:
    jobs = [ToyJob(work=100, gpus=4), ToyJob(work=20, gpus=4, arrival=30)]
    world = world_of(jobs, GpuCluster(1), preemption=True, restart_s=0.0, quantum_s=1e6)
    result = played(world, [start(0, 0)], [stop(0), start(0, 0)], [], [start(0, 0)])
    assert result.finish_s.tolist() == [120, 50]


def test_with_preemption_it_asks_every_quantum_while_jobs_wait_and_others_run() -> None:
    jobs = [ToyJob(work=100, gpus=4), ToyJob(work=20, gpus=4, arrival=10)]
    world = world_of(jobs, GpuCluster(1), preemption=True, quantum_s=30.0)
    times = []
    while (view := world.advance()) is not None:
        times.append(view.time_s)
        world.apply([start(0, 0)] if not len(view.run_id) else [])
    assert times == [0.0, 10.0, 30.0, 60.0, 90.0, 100.0]


def test_a_restart_that_is_stopped_is_not_paid_for_twice_nor_counted_as_work() -> None:
    jobs = [ToyJob(work=100, gpus=4), *(ToyJob(work=1, gpus=0, arrival=t) for t in (40.0, 43.0))]
    world = world_of(jobs, GpuCluster(1), preemption=True, restart_s=10.0, quantum_s=1e6)
    # stopped at 40, runs again at once, stopped at 43 in the middle of its restart, runs again
    result = played(world, [start(0, 0)], [stop(0), start(0, 0)], [start(0, 0)], [stop(0), start(0, 0)], [start(0, 0)])
    assert result.finish_s[0] == 43 + 10 + 60
    assert result.work_run_s[0] == pytest.approx(100 + 10 + 3)


def test_a_lost_machine_takes_what_was_done_since_the_last_checkpoint() -> None:
    jobs = [ToyJob(work=1000, gpus=2, workers=2)]
    world = world_of(
        jobs, GpuCluster(2), seed=5, mean_time_to_failure_s=700.0, repair_s=50.0, checkpoint_s=100.0, restart_s=30.0
    )
    first = None
    while (view := world.advance()) is not None:
        if len(view.job_id) and view.job_stops[0] == 1 and first is None:
            first = view.time_s
            assert view.job_left_s[0] == 1000 - math.floor(first / 100) * 100
            assert view.job_served_s[0] == pytest.approx(4 * first)
            assert not view.machine_up.all() and view.device_free[~view.machine_up].sum() == 0
        up = np.flatnonzero(view.machine_up)
        world.apply([start(0, up[0], up[0])] if len(view.job_id) and len(up) else [])
    result = world.result()
    assert first is not None and result.stops[0] >= 1
    assert MACHINE_LOST in result.segments["why"]
    assert len(result.machine_log) >= 1 and result.machine_log["up"][0] == 0
    lost = result.work_run_s[0] - 1000 - 30 * result.stops[0]
    assert 0 <= lost <= 100 * result.stops[0] + 1e-6


# --- when it asks -------------------------------------------------------------------------------------------------


def test_it_asks_at_multiples_of_the_interval_only() -> None:
    jobs = [ToyJob(work=25, gpus=4), ToyJob(work=10, gpus=4, arrival=3), ToyJob(work=10, gpus=4, arrival=20)]
    world = world_of(jobs, GpuCluster(1), interval_s=10.0)
    times = []
    while (view := world.advance()) is not None:
        times.append(view.time_s)
        world.apply([start(0, 0)] if view.machine_whole_free[0] == 4 else [])
    assert times == [0.0, 10.0, 20.0, 30.0, 40.0]


def test_jobs_that_arrive_together_are_seen_together_and_after_completions() -> None:
    jobs = [ToyJob(work=10, gpus=4), ToyJob(arrival=10), ToyJob(arrival=10)]
    world = world_of(jobs, GpuCluster(1))
    world.advance()
    world.apply([start(0, 0)])
    view = world.advance()
    assert view.time_s == 10.0 and view.job_id.tolist() == [1, 2] and view.machine_whole_free.tolist() == [4]


# --- what is refused ----------------------------------------------------------------------------------------------


def busy_world(**options: object) -> GpuWorld:
    """A machine with one GPU free of four, one of another type, and four jobs that wait."""
    speed = np.ones((2, len(GPU_TYPES)))
    speed[1, T4] = 0.0
    jobs = [
        ToyJob(gpus=3, work=1000, cpus=20, memory=200),
        ToyJob(gpus=2, arrival=1),
        ToyJob(arrival=1, types=1 << V100, cpus=13),
        ToyJob(arrival=1, kind=1, memory=45),
        ToyJob(arrival=1, gpus=0.5, workers=3),
    ]
    world = world_of(jobs, GpuCluster(2, ("v100x4", "t4x4")), toy_model(speed=speed), **options)
    world.advance()
    world.apply([start(0, 0)])
    assert world.advance().job_id.tolist() == [1, 2, 3, 4]
    return world


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([start(4, 0)], r"decision 0 \(job index 4\): no such job: the view has waiting jobs 0 to 3"),
        ([start(-1, 0)], "no such job"),
        ([start(0, 1), start(0, 1)], r"decision 1 .*job 1 \('job-1'\): named twice"),
        ([start(0, 1, 1)], "machines for 2 workers were given; the job has 1"),
        ([start(0)], "machines for 0 workers were given; the job has 1"),
        ([start(0, 2)], "no such machine: 2; there are machines 0 to 1"),
        ([start(0, -1)], "no such machine: -1"),
        ([start(0, 0)], r"worker 0 does not fit machine 0 \(m0\): it needs 2 whole GPUs, 1 are free"),
        ([start(1, 1)], r"may not run on GPUs of type T4 \(its mask is 1\)"),
        ([start(1, 0)], "it needs 13 processors, 12 are free"),
        ([start(2, 1)], "kind 'kind-1' cannot run on GPUs of type T4"),
        ([start(2, 0)], "it needs 45 GB of memory, 44 are free"),
        ([start(3, 0, 0, 0)], "worker 2 .*it needs 0.5 of a GPU, the most that is free of one is 0"),
        ([start(0, 1), start(3, 1, 1, 0), start(9, 0)], "decision 2 .*no such job"),
        ([stop(0)], "preemption is off"),
        ([start(0, 1)._replace(reason=99)], "reason 99, place 1 are unknown"),
        ([start(0, 1)._replace(machines=np.array([1.0]))], "expected a GpuDecision"),
        ([start(0, 1)._replace(job=0.5)], "expected a GpuDecision"),
        ([None], "expected a GpuDecision"),
        (None, "expected a sequence of GpuDecision"),
    ],
)
def test_refused(answer: list[GpuDecision], says: str) -> None:
    world = busy_world()
    before = [np.array(part) for part in world.advance()]
    with pytest.raises(InvalidDecision, match=says):
        world.apply(answer)
    for name, now, was in zip(GpuView._fields, world.advance(), before, strict=True):
        assert np.array_equal(now, was), name
    world.apply([start(0, 1)])  # it goes on as if nothing had been said
    assert world.result().decisions == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([stop(1)], "no such run: the view has running jobs 0 to 0"),
        ([stop(0)._replace(machines=np.array([0]))], "a stop names no machines, but 1 were given"),
        ([stop(0), stop(0)], "named twice"),
        ([stop(0), start(0, 0), start(3, 0, 0, 0), start(2, 1)], "kind 'kind-1' cannot run"),
    ],
)
def test_stops_refused(answer: list[GpuDecision], says: str) -> None:
    world = busy_world(preemption=True)
    before = [np.array(part) for part in world.advance()]
    with pytest.raises(InvalidDecision, match=says):
        world.apply(answer)
    for name, now, was in zip(GpuView._fields, world.advance(), before, strict=True):
        assert np.array_equal(now, was), name
    world.apply([stop(0)])
    assert len(world.advance().job_id) == 5
    with pytest.raises(InvalidDecision, match="when asked again at the same time none may be stopped"):
        world.apply([stop(0)])


def test_stalled() -> None:
    world = world_of([ToyJob()], GpuCluster(1))
    world.advance()
    with pytest.raises(InvalidDecision, match="stalled: 1 jobs wait, nothing runs, nothing will arrive"):
        world.apply([])
    world.apply([start(0, 0)])
    assert world.advance() is None
    with pytest.raises(InvalidDecision, match="nothing to decide"):
        world.apply([])


def test_views_cannot_be_written_to() -> None:
    view = busy_world().advance()
    for name, part in zip(GpuView._fields[1:], view[1:], strict=True):
        assert not part.flags.writeable, name


# --- what no world can be made of ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "says"),
    [
        (ToyJob(gpus=8), r"'job-0' \(number 0\) can never start: of its 1 workers .* only 0 fit the 2 machines"),
        (ToyJob(workers=9), "only 8 fit"),
        (ToyJob(gpus=0.4, workers=17), "only 16 fit"),
        (ToyJob(cpus=33, types=1), "only 0 fit"),
        (ToyJob(types=1 << T4), "only 0 fit .*|types T4"),
        (ToyJob(gpus=1.5), "gpus is 1.5; expected 0, a share below 1, or a whole number"),
        (ToyJob(work=0), "work_s is 0.0; expected above 0"),
        (ToyJob(workers=0), "workers is 0; expected 1 or more"),
        (ToyJob(kind=2), "kind is 2; expected 0 to 1"),
        (ToyJob(arrival=-1), "arrival_s is -1.0"),
        (ToyJob(memory=math.nan), "memory is nan"),
    ],
)
def test_jobs_that_cannot_be(job: ToyJob, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        world_of([job], GpuCluster(2))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"interval_s": -1.0}, "interval_s is -1.0; expected 0 s"),
        ({"quantum_s": 0.0}, "quantum_s"),
        ({"mood_sigma": math.nan}, "mood_sigma is nan"),
        ({"repair_s": 1e12}, "repair_s"),
        ({"mean_time_to_failure_s": 10.0}, "fail every 10 s .* would hardly ever complete"),
    ],
)
def test_options_that_cannot_be(change: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        world_of([ToyJob(work=1e6)], GpuCluster(1), **change)


def test_models_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match=r"speed model: network has the shape \(3,\); expected \(2,\)"):
        world_of([ToyJob()], GpuCluster(1), toy_model(network=[0, 0, 0]))
    with pytest.raises(ConfigError, match="speed model: network has nan"):
        world_of([ToyJob()], GpuCluster(1), toy_model(network=[0, math.nan]))
    with pytest.raises(UnknownName, match="kind of training 'kind-1'"):
        GpuWorld(toy_workload([ToyJob()]), toy_model(1), GpuOptions(GpuCluster(1)), SeedTree(0))
