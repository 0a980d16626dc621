"""The server from the inside: journal trouble, schedulers that fail or are swapped, the log of a run."""

from __future__ import annotations

import json
import pickle
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.execution import work
from tests.execution.in_process import finish, results, server_in, step_until, submit

from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.execution import Job
from dovetail.execution.controller.controller import Controller
from dovetail.execution.controller.messages import BeliefsGiven, Run, SchedulerReplaced, TasksEnded
from dovetail.execution.controller.tape import TapeError, TapeWriter, replay
from dovetail.execution.engines.local_options import LocalOptions
from dovetail.execution.errors import InvalidJob, RequestRefused
from dovetail.execution.journal import Journal, JournalError
from dovetail.execution.serve import ServerOptions, prepare, serve
from dovetail.execution.server import INCARNATIONS, Server
from dovetail.execution.service import ServerService
from dovetail.schedulers import SCHEDULERS


def squares(tasks: int, name: str = "squares") -> Job:
    job = Job(name)
    job.stage(work.square, tasks=range(tasks))
    return job


def test_a_full_disk_stops_the_start_of_new_work_until_there_is_room(directory: Path) -> None:
    path = directory / "journal.sqlite"
    Journal.open(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages + 4}")  # SQLite's own error of a full disk
    with server_in(directory, journal=Journal(path, connection)) as server:
        job = submit(server, squares(20_000))
        step_until(server, lambda: bool(server.journal_trouble), "the journal to be full")
        assert "full" in server.journal_trouble
        with pytest.raises(JournalError, match="no job is accepted now"):
            submit(server, squares(1))
        assert ServerService(server).status().trouble
        for _ in range(50):
            server.step()
        assert not server.jobs[job].has_ended
        connection.execute("PRAGMA max_page_count=1000000")
        finish(server, job)
        assert not server.journal_trouble
        assert [pickle.loads(one) for one in results(server, job)] == [n * n for n in range(20_000)]
        assert connection.execute("SELECT count(*) FROM completions").fetchone() == (20_000,)


def test_a_full_disk_for_results_stops_the_start_of_new_work_and_fails_nothing(directory: Path) -> None:
    """With a timeout and without retries: time spent waiting for room is nobody's fault either."""
    noted = directory / "noted"
    (directory / "jobs" / "1").mkdir(parents=True)
    outs = [directory / "jobs" / "1" / f"out-{executor}-{INCARNATIONS + 1}" for executor in range(2)]
    for out in outs:
        out.symlink_to("/dev/full")
    job = Job("noting")
    job.stage(work.note, tasks=[(str(noted), n, 0.01) for n in range(12)], name="note", timeout_s=0.5, retries=0)
    with server_in(directory) as server:
        number = submit(server, job)
        step_until(server, lambda: bool(server.trouble), "the disk to be full")
        assert "disk full" in ServerService(server).status().trouble
        with pytest.raises(JournalError, match="no job is accepted now: disk full"):
            submit(server, squares(1))
        until_s = time.monotonic() + 1.5
        step_until(server, lambda: time.monotonic() > until_s, "time to pass")
        assert not server.jobs[number].has_ended
        for out in outs:
            out.unlink()
        finish(server, number)
        assert server.jobs[number].state == "succeeded" and not server.trouble
        assert sorted(work.runs(noted)) == list(range(12))
        finish(server, submit(server, squares(3)))
        said = [text for _, _, kind, text in server.notices if kind == "disk"]
        assert "nothing new is started" in said[0] and said[-1] == "results can be written again"


class Broken:
    """Decides rightly for a while, then fails in its own way."""

    def __init__(self, how: str, after: int) -> None:
        self._how, self._after = how, after
        self._good = SCHEDULERS.create("dag/fifo")

    def reset(self, info: Any, rng: Any) -> None:
        self._good.reset(info, rng)

    def decide(self, view: Any) -> Any:
        self._after -= 1
        if self._after >= 0:
            return self._good.decide(view)
        if self._how == "raises":
            raise ZeroDivisionError("too clever")
        return [(10**6, 1, -1, 0)]


@pytest.mark.parametrize("how", ["raises", "answers nonsense"])
def test_a_scheduler_that_fails_is_replaced_and_the_jobs_go_on(directory: Path, how: str) -> None:
    def spoil(controller: Controller) -> None:
        controller.handle(SchedulerReplaced("broken", Broken(how, after=1)), 0.0)

    with server_in(directory, change=spoil) as server:
        jobs = [submit(server, squares(50, f"job {n}")) for n in range(4)]
        finish(server, *jobs)
        assert all(server.jobs[job].state == "succeeded" for job in jobs)
        assert server.controller.incumbent.name == "dag/fair-spill"
        assert any(kind == "scheduler" and "broken failed" in text for _, _, kind, text in server.notices)


def test_a_thousand_swaps_under_load_lose_and_double_nothing(directory: Path) -> None:
    """No run of a task is lost or doubled, and 99 of 100 swaps take less than 10 ms of this thread's time."""
    names = [
        "dag/fifo",
        "dag/adaptive",
        "dag/adaptive:window_jobs=5",
        "dag/composed:order=las",
        "dag/hesrpt",
        "dag/srtf",
    ]
    noted = directory / "noted"
    with server_in(directory, executors=3, batch_s=0.0) as server:
        jobs, made, took_s = [], 0, []
        for number in range(10):
            job = Job(f"job {number}")
            first = job.stage(work.note, tasks=[(str(noted), 1000 * number + n, 0.0) for n in range(500)], name="note")
            job.stage(work.add_up, after=[first], inputs=True, name="add up")
            jobs.append(submit(server, job))
        while made < 1000:
            assert server.controller.jobs, "the work was over before the swaps were"
            name = names[made % len(names)]
            scheduler = SCHEDULERS.create(name)
            start_s = time.thread_time()  # others may use the machine
            server.handle(SchedulerReplaced(name, scheduler))
            took_s.append(time.thread_time() - start_s)
            made += 1
            server.step()
        finish(server, *jobs)
        assert Counter(work.runs(noted)) == Counter(1000 * number + n for number in range(10) for n in range(500))
        sums = [pickle.loads(results(server, job, 1)[0]) for job in jobs]
        assert sums == [sum(range(1000 * number, 1000 * number + 500)) for number in range(10)]
        assert sorted(took_s)[990] < 0.010


def test_what_was_learned_is_kept_from_one_engine_to_the_next(directory: Path, tmp_path: Path) -> None:
    file, tape = tmp_path / "beliefs.json", tmp_path / "tape.jsonl"
    asked = "dag/adaptive:window_jobs=2"
    with server_in(directory, beliefs=file, scheduler=asked) as server:
        for number in range(6):
            finish(server, submit(server, squares(20, f"job {number}")))
    kept = json.loads(file.read_text())
    assert kept["classes"] and kept["classes"][0]["rewards"]
    with server_in(directory, beliefs=file, scheduler=asked, tape=TapeWriter(tape)) as server:
        finish(server, submit(server, squares(20)))
        adaptation = server.controller.incumbent.adaptation()
        assert adaptation is not None and "classes of work are known" in adaptation["events"][0]["why"]
    assert kept in [event.beliefs for _, event, _ in replay(tape, SCHEDULERS.create) if isinstance(event, BeliefsGiven)]
    for spoil, says in [("{", "cannot be read as JSON"), ("[]", r"beliefs.json: beliefs: expected an object")]:
        file.write_text(spoil)
        with pytest.raises(DovetailError, match=says), server_in(directory, beliefs=file, scheduler=asked):
            pass
        assert file.read_text() == spoil
    file.unlink()
    said = pytest.raises(ConfigError, match="dag/fifo has no use")
    with said, server_in(directory, beliefs=file, scheduler="dag/fifo"):
        pass


class Unprepared(Broken):
    """Is not made before the test lets it, and does not decide for the first time before the test lets it."""

    may_be_made = threading.Event()
    may_decide = threading.Event()

    def __init__(self) -> None:
        assert self.may_be_made.wait(30.0), "while it is being made, nothing else happens"
        super().__init__("", 0)

    def decide(self, view: Any) -> Any:
        assert self.may_decide.wait(30.0), "while it decides for the first time, nothing else happens"
        return self._good.decide(view)


def test_the_old_scheduler_goes_on_until_the_new_one_is_ready(directory: Path, monkeypatch: Any) -> None:
    create = SCHEDULERS.create
    monkeypatch.setattr(SCHEDULERS, "create", lambda name: Unprepared() if name == "dag/unprepared" else create(name))
    with server_in(directory, executors=2) as server:
        service = ServerService(server)
        told: list[Any] = []
        service.swap("dag/unprepared", told.append)
        service.swap("dag/unprepared", told.append)  # of a client that has lost patience
        for gate in (Unprepared.may_be_made, Unprepared.may_decide):
            for number in range(3):
                finish(server, submit(server, squares(3, f"job {number}")))
            assert not told
            assert server.controller.incumbent.name == "dag/fair-spill"
            gate.set()
        step_until(server, lambda: bool(told), "a new scheduler")
        assert told == ["dag/unprepared takes over from dag/fair-spill"] * 2
        assert server.controller.incumbent.name == "dag/unprepared"
        finish(server, submit(server, squares(3)))


def test_a_swap_to_nobody_changes_nothing(directory: Path) -> None:
    with server_in(directory, executors=1) as server:
        told: list[Any] = []
        ServerService(server).swap("dag/no-such", told.append)
        step_until(server, lambda: bool(told), "an answer")
        assert isinstance(told[0], UnknownName)
        assert server.controller.incumbent.name == "dag/fair-spill"


def test_the_log_of_a_run_replays_every_step(directory: Path) -> None:
    told: list[tuple[Any, list[Any]]] = []

    def listen(controller: Controller) -> None:
        handle = controller.handle

        def heard(event: Any, now_s: float) -> list[Any]:
            out = handle(event, now_s)
            told.append((event, list(out)))
            return out

        controller.handle = heard  # type: ignore[method-assign]

    tape = directory / "tape.jsonl"
    with server_in(directory, tape=TapeWriter(tape), change=listen, scheduler="dag/hesrpt") as server:
        jobs = [submit(server, squares(300, "a")), submit(server, squares(40, "b"))]
        finish(server, *jobs)
    replayed = list(replay(tape, SCHEDULERS.create))
    assert [out for _, _, out in replayed] == [out for _, out in told]
    assert sum(isinstance(event, TasksEnded) for _, event, _ in replayed) >= 10
    assert sum(isinstance(one, Run) for _, _, out in replayed for one in out) >= 10
    with tape.open("a") as file:
        file.write('[1.0, "Tasks')  # killed while it wrote
    assert len(list(replay(tape, SCHEDULERS.create))) == len(told)
    (directory / "other").write_text("[1, 2, 3]\n")
    with pytest.raises(TapeError, match="no options"):
        list(replay(directory / "other", SCHEDULERS.create))


def test_refusals(directory: Path) -> None:
    with server_in(directory) as server:
        service = ServerService(server)
        huge = Job("huge")
        huge.stage(work.square, tasks=1, cpus=1000)
        with pytest.raises(InvalidJob, match=r"1000 cpus.*no executor is that large"):
            submit(server, huge)
        one, two = squares(3), squares(4)
        with pytest.raises(InvalidJob, match="its payload has stages of"):
            service.submit(one.spec(), two.payload(), "")
        with pytest.raises(InvalidJob, match="not a payload"):
            service.submit(one.spec(), b"rubbish", "")
        with pytest.raises(RequestRefused, match="there is no job 99"):
            service.job(99)
        service.drain(True)
        with pytest.raises(RequestRefused, match="draining"):
            service.submit(one.spec(), one.payload(), "")
        service.drain(False)
        assert service.submit(one.spec(), one.payload(), "key") == service.submit(one.spec(), one.payload(), "key")
        assert len(server.jobs) == 1


def test_results_of_ended_jobs_are_not_kept_in_memory(directory: Path) -> None:
    many = Job("many")
    first = many.stage(work.square, tasks=12_000, name="many")  # so many that their places are told by a file
    many.stage(work.add_up, after=[first], inputs=True, name="sum")
    total = sum(n * n for n in range(12_000))
    with server_in(directory) as server:
        jobs = [submit(server, many), submit(server, squares(10))]
        finish(server, *jobs)
        assert all(server.jobs[job].is_released for job in jobs)
        service = ServerService(server)
        assert pickle.loads(service.results(jobs[0], 1, 0, 1).payloads[0]) == total
        assert len(service.results(jobs[0], 0, 11_990, 100).payloads) == 10
        assert not server.jobs[jobs[0]].is_released
        assert pickle.loads(service.results(jobs[1], 0, 9, 1).payloads[0]) == 81
        assert server.jobs[jobs[0]].is_released and not server.jobs[jobs[1]].is_released
    with server_in(directory) as server:  # the same after a restart
        assert [stage.finished for stage in ServerService(server).job(jobs[0]).stages] == [12_000, 1]
        assert server.jobs[jobs[0]].is_released
        assert pickle.loads(results(server, jobs[0], 1)[0]) == total


def test_no_time_runs_out_while_the_journal_is_full(directory: Path) -> None:
    with server_in(directory, executors=2) as server:
        job = Job("timed")
        job.stage(work.nap, tasks=[0.2] * 6, timeout_s=1.0, retries=0)
        number = submit(server, job)
        commit, full_until_s = server.journal.commit, time.monotonic() + 2.5

        def fails() -> None:
            if time.monotonic() < full_until_s:
                raise JournalError("the disk is full")
            commit()

        server.journal.commit = fails  # type: ignore[method-assign]
        finish(server, number)
        assert server.jobs[number].state == "succeeded"


def timed(lasts_s: float, tasks: int, timeout_s: float) -> Job:
    job = Job("timed")
    job.stage(work.nap, tasks=[lasts_s] * tasks, timeout_s=timeout_s, retries=0, expected_s=lasts_s)
    return job


def test_tasks_that_ended_in_time_are_not_late_because_the_server_was(directory: Path) -> None:
    with server_in(directory, executors=2) as server:
        number = submit(server, timed(0.1, 6, timeout_s=0.5))
        step_until(server, lambda: len(list(server.sent.running())) == 2, "work to begin")
        time.sleep(1.0)  # tasks end meanwhile, and their time is up, but they say so only afterwards
        finish(server, number)
        assert server.jobs[number].state == "succeeded"


class Slow(Broken):
    """Takes a second for some decisions."""

    def decide(self, view: Any) -> Any:
        self._after -= 1
        if self._after % 3 == 0:
            time.sleep(1.0)
        return self._good.decide(view)


def test_tasks_have_their_full_time_although_they_were_sent_late(directory: Path) -> None:
    def slow_down(controller: Controller) -> None:
        controller.handle(SchedulerReplaced("slow", Slow("", after=6)), 0.0)

    with server_in(directory, executors=2, change=slow_down) as server:
        jobs = [submit(server, timed(0.1, 4, timeout_s=0.5)) for _ in range(3)]
        finish(server, *jobs)
        assert [server.jobs[job].state for job in jobs] == ["succeeded"] * 3


def test_a_server_that_is_always_busy_still_cuts_off_what_hangs(directory: Path) -> None:
    with server_in(directory, executors=1) as server:
        number = submit(server, timed(600.0, 1, timeout_s=0.5))

        def busy() -> None:
            time.sleep(0.1)
            server.at(0.0, busy)

        busy()
        finish(server, number)
        assert server.jobs[number].state == "failed"
        failure = server.jobs[number].failure
        assert failure is not None and "TimeoutError" in failure.message


def test_a_server_that_fails_for_no_known_reason_starts_again(directory: Path, monkeypatch: Any) -> None:
    failures = [RuntimeError("a bug"), None]
    step = Server.step

    def faulty(self: Server) -> None:
        if len(self.executors_up) == 1 and failures and self.jobs:
            error = failures.pop(0)
            if error is not None:
                raise error
        step(self)
        if self.jobs and all(job.has_ended for job in self.jobs.values()):
            self.is_running = False

    monkeypatch.setattr(Server, "step", faulty)
    starts = []

    def ready(server: Server, address: str) -> None:
        starts.append(server)
        if len(starts) == 1:
            submit(server, squares(50))

    serve(directory, ServerOptions(local=LocalOptions(1)), ready)
    assert len(starts) == 2
    assert [job.state for job in starts[1].jobs.values()] == ["succeeded"]


def test_nothing_is_made_for_an_address_that_cannot_be_listened_at(directory: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot listen at 192\.0\.2\.1:5555"):
        serve(directory / "engine", ServerOptions(listen="192.0.2.1:5555"))
    assert not (directory / "engine").exists()


def test_a_job_can_be_cancelled_while_its_work_is_held(directory: Path) -> None:
    with server_in(directory, executors=2) as server:
        step_until(server, lambda: len(server.executors_up) == 2, "executors")
        before = dict(server.executors_up)
        commit, is_full = server.journal.commit, True

        def fails() -> None:
            if is_full:
                raise JournalError("the disk is full")
            commit()

        job = submit(server, squares(20_000))
        server.journal.commit = fails  # type: ignore[method-assign]
        step_until(server, lambda: bool(server.journal_trouble), "trouble")
        step_until(server, lambda: not any(server.sent.running()), "what was sent to end")
        service = ServerService(server)
        assert not service.cancel(job), "that is only known here"
        with pytest.raises(RequestRefused, match="cannot be forgotten now"):
            service.forget(job)
        step_until(server, lambda: not server.controller.busy_executors(), "executors to be free")
        is_full = False
        finish(server, job)
        assert service.cancel(job)
        assert server.jobs[job].state == "cancelled"
        assert server.executors_up == before
        assert not [text for _, _, kind, text in server.notices if kind == "executor"], "no executor was restarted"


def test_an_existing_directory_keeps_its_mode_and_must_not_be_others_to_write(directory: Path) -> None:
    directory.chmod(0o755)
    assert prepare(directory) == directory
    assert directory.stat().st_mode & 0o777 == 0o755
    assert (directory / "jobs").stat().st_mode & 0o777 == 0o700
    assert prepare(directory / "new").stat().st_mode & 0o777 == 0o700
    directory.chmod(0o775)
    with pytest.raises(ConfigError, match="others may write there"):
        prepare(directory)


def test_a_job_that_never_was_cannot_be_forgotten_but_one_that_is_gone_can(directory: Path) -> None:
    with server_in(directory, executors=1) as server:
        service, job = ServerService(server), submit(server, squares(2))
        finish(server, job)
        for _ in range(2):  # the second time as a repeated request
            service.forget(job)
        with pytest.raises(RequestRefused, match=f"there is no job {job + 1}"):
            service.forget(job + 1)
