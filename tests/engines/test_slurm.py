"""A real Slurm of three virtual nodes that obeys schedulers, while nodes and Dovetail itself are killed."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.engines.virtual_slurm import USER, VirtualSlurm, wait_until, why_not

from dovetail import SCHEDULERS
from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.engines.slurm.hostlist import expand
from dovetail.execution.engines.slurm.jobs import parse_jobs
from dovetail.execution.engines.slurm.rehearsal import rehearse
from dovetail.execution.engines.slurm.trace import trace_of

FIFO, LEARNED = "gpu/fifo+first-fit", "gpu/das"
SECOND_USER = "daemon"
HANDED_IN = (["--hold", "--comment=dovetail"], ["--begin=now+300", "--comment=dovetail:kind=resnet50"])
ROOT = Path(__file__).parents[2]
SMALL = ("-n1", "--mem=100", "--gres=gpu:1")


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", "gpu", "--engine", "slurm", *options]


class Queue:
    """The command, running."""

    def __init__(self, slurm: VirtualSlurm, out: Path, *options: str) -> None:
        self.events_file = out / "slurm.jsonl"
        env = {**slurm.env, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        words = command("--partition", "gpu", "--interval", "0.4", "--out", str(out), *options)
        self.process = subprocess.Popen(
            words,
            env=env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's `&` ignores it
        )

    def events(self, *names: str) -> list[dict[str, Any]]:
        text = self.events_file.read_text() if self.events_file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if line["event"] in names]

    def wait_for(self, many: int, *names: str) -> None:
        def came() -> bool:
            assert self.process.poll() is None, self.output()
            return len(self.events(*names)) >= many

        wait_until(came, f"{many} times {names}")

    def kill(self) -> None:
        """As if the power of the process had gone; nothing of it runs any more."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def output(self) -> str:
        return "\n".join(text.decode() for text in self.process.communicate(timeout=60))


@contextmanager
def queue(slurm: VirtualSlurm, out: Path, *options: str) -> Iterator[Queue]:
    running = Queue(slurm, out, *options)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()


def run(slurm: VirtualSlurm, *options: str) -> subprocess.CompletedProcess[str]:
    env = {**slurm.env, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    return subprocess.run(
        command(*options), env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


def submit_forty(slurm: VirtualSlurm) -> list[int]:
    """Of all shapes, from two users, handed in in both ways; a few just submitted, as anybody would."""
    shapes = (
        ["-n1", "--mem=500", "--gres=gpu:1"],
        ["-n1", "-c4", "--mem=500", "--gres=gpu:2"],
        ["-N2", "--ntasks-per-node=1", "--mem=500", "--gres=gpu:2"],
        ["-n1", "--mem=500", "--gres=gpu:A100:1"],
        ["-n3", "--mem-per-cpu=200", "--gpus-per-task=1"],
        ["-n1", "--mem=500", "--gres=shard:2"],
        ["-n1", "--mem=500", "--gpus=4"],
        ["-n2", "--mem-per-cpu=500"],
    )
    jobs = []
    for number in range(40):
        entry = HANDED_IN[number % 2] if number < 36 else []
        limit = f"--time={10 + number % 7}"
        name = f"--job-name=train-{number % 5}"
        user = SECOND_USER if number % 3 == 0 else USER
        jobs.append(slurm.submit(*shapes[number % len(shapes)], *entry, limit, name, lasts_s=4 + number % 3, user=user))
    return jobs


def check_landings(slurm: VirtualSlurm, events: Sequence[dict[str, Any]]) -> int:
    """Every job that was told where to begin began there, by Slurm's words and by its own; how many there were.

    Of one that was requeued only its last start counts: the node may have been dead before it could say a word.
    """
    ran: dict[int, list[list[str]]] = {}
    for line in slurm.ran.read_text().splitlines():
        job, *_, nodes = line.split()
        ran.setdefault(int(job), []).append(sorted(expand(nodes)))
    landed: dict[int, list[str]] = {}
    told: dict[int, list[str]] = {}
    for event in events:
        if event["event"] == "told":
            told[event["job"]] = sorted(event["nodes"])
        elif event["event"] == "landed":
            assert sorted(event["nodes"]) == told[event["job"]]
            landed[event["job"]] = told[event["job"]]
        elif event["event"] == "requeued":
            landed.pop(event["job"], None)
    for job, nodes in landed.items():
        assert nodes == ran[job][-1]
    return len(landed)


def is_free(job: dict[str, Any]) -> bool:
    """As if nobody stood in front of Slurm."""
    no_lease = job["eligible_time"] <= time.time() + 1
    trace = job["admin_comment"]
    untied = not job["required_nodes"] and not job["excluded_nodes"]
    return no_lease and untied and (not trace or trace.endswith(" free]")) and job["priority"] > 0


@pytest.mark.parametrize("scheduler", [FIFO, LEARNED])
def test_forty_jobs_while_a_node_and_dovetail_are_killed(slurm: VirtualSlurm, tmp_path: Path, scheduler: str) -> None:
    rehearse(SCHEDULERS.create(scheduler))  # compiled once, for all processes: jobs must not wait for that
    held = slurm.submit(*SMALL, "--hold")
    jobs = submit_forty(slurm)
    other = slurm.submit(*SMALL, "-p", "other", "--begin=now+600", "--comment=dovetail")
    acting = ("--act", "--scheduler", scheduler, "--lease", "300", "--patience", "60")

    with queue(slurm, tmp_path, *acting) as first:
        first.wait_for(8, "landed")
        first.kill()
    known = slurm.jobs()
    waiting = [job for job in jobs if known[job]["job_state"] == "PENDING"]
    assert len(waiting) > 10
    began_s = time.monotonic()
    wait_until(
        lambda: all(is_free(job) for job in slurm.jobs().values() if job["job_id"] in jobs and _waits(job)),
        "every job to be Slurm's",
        patience_s=15,
    )
    print(f"{len(waiting)} jobs were given back {time.monotonic() - began_s:.1f} s after Dovetail was killed")

    with queue(slurm, tmp_path, *acting) as second:
        second.wait_for(14, "landed")
        wait_until(lambda: bool(_just_begun(slurm)), "a job that has just begun")
        node = _just_begun(slurm)[0]
        slurm.kill_node(node)
        wait_until(lambda: "DOWN" in slurm.node_state(node), "Slurm to miss the node")
        slurm.start_node(node)
        wait_until(lambda: set(slurm.states(jobs)) == {"COMPLETED"}, "all jobs", patience_s=180)
        events = second.events("told", "landed", "astray", "early", "requeued", "back", "refused")
        assert second.interrupt() == 130

    landed = check_landings(slurm, events)
    assert landed >= 20
    assert {event["event"] for event in events} >= {"told", "landed", "requeued"}
    assert [event["text"] for event in events if event["event"] in ("astray", "back")] == []
    early = [event for event in events if event["event"] == "early"]
    assert len(early) <= 3, "Slurm may be faster only with what was just its own, after Dovetail was killed"
    assert len({line.split()[0] for line in slurm.ran.read_text().splitlines()}) == 40
    untouched = slurm.jobs()
    assert (untouched[held]["job_state"], untouched[held]["state_reason"]) == ("PENDING", "JobHeldUser")
    assert untouched[other]["job_state"] == "PENDING" and not untouched[other]["admin_comment"]
    assert untouched[other]["eligible_time"] > time.time() + 60


def _just_begun(slurm: VirtualSlurm) -> list[str]:
    """Nodes of jobs that began where they were told to, and will run for some seconds more."""
    jobs = [job for job in slurm.jobs().values() if job["job_state"] == "RUNNING" and " told " in job["admin_comment"]]
    return [expand(job["nodes"])[0] for job in jobs if time.time() - job["start_time"] < 2.0]


def _waits(job: dict[str, Any]) -> bool:
    return bool(job["job_state"] == "PENDING")


def test_shadow_mode_changes_nothing(slurm: VirtualSlurm, tmp_path: Path) -> None:
    jobs = [slurm.submit(*SMALL, *entry) for entry in (*HANDED_IN, ["--begin=now+500"])]
    fields = ("admin_comment", "eligible_time", "priority", "required_nodes", "nice", "job_state")
    before = {job: [slurm.jobs()[job][field] for field in fields] for job in jobs}
    done = run(slurm, "--partition", "gpu", "--scheduler", FIFO, "--for", "2", "--interval", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    assert {job: [slurm.jobs()[job][field] for field in fields] for job in jobs} == before
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    told = {line["job"]: line for line in lines if line["event"] == "told"}
    assert set(told) == set(jobs[:2]), "what may not begin yet is nobody's business"
    assert told[jobs[0]]["nodes"] == ["n1"] and "would be told" in told[jobs[0]]["text"]
    assert lines[-1]["counts"]["told"] == 2, "what was said is not said again"
    assert "nothing is touched" in done.stderr
    assert not _guardians(slurm), "there is nothing to guard"


def test_a_job_that_its_user_holds_stays_held(slurm: VirtualSlurm, tmp_path: Path) -> None:
    blockers = [slurm.submit("-N1", "-w", name, "--mem=100", "--gres=gpu:4", lasts_s=60) for name in slurm.names]
    wait_until(lambda: set(slurm.states(blockers)) == {"RUNNING"}, "the cluster to be full")
    job = slurm.submit(*SMALL, "--hold", "--comment=dovetail")
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO) as running:
        running.wait_for(1, "queued")
        slurm.run(["scontrol", "hold", str(job)], user=USER)
        running.wait_for(1, "back")
        slurm.run(["scancel", *map(str, blockers)])
        wait_until(lambda: "RUNNING" not in slurm.states(blockers), "room")
        time.sleep(2.0)
        found = slurm.jobs()[job]
        assert (found["job_state"], found["state_reason"]) == ("PENDING", "JobHeldUser")
        slurm.run(["scontrol", "release", str(job)], user=USER)
        wait_until(lambda: slurm.states([job]) == ["COMPLETED"], "the job")
        assert running.interrupt() == 130


def test_a_job_that_cannot_begin_where_it_was_told_is_slurms(slurm: VirtualSlurm, tmp_path: Path) -> None:
    where = ("Nodes=n1", "Users=root", "StartTime=now+5minutes", "Duration=60")
    slurm.run(["scontrol", "create", "reservation", "ReservationName=later", *where])
    job = slurm.submit(*SMALL, *HANDED_IN[1])
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO, "--patience", "3") as running:
        running.wait_for(1, "back")
        (back,) = running.events("back")
        assert "did not begin on n1" in back["text"]
        wait_until(lambda: slurm.states([job]) == ["COMPLETED"], "Slurm to begin it")
        assert running.interrupt() == 130
    assert slurm.jobs()[job]["nodes"] != "n1"
    assert len(running.events("told")) == 1, "given back means for good"


def test_a_drained_node_gets_nothing(slurm: VirtualSlurm, tmp_path: Path) -> None:
    slurm.run(["scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=fan"])
    jobs = [slurm.submit(*SMALL, *HANDED_IN[0], lasts_s=1) for _ in range(6)]
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO) as running:
        wait_until(lambda: set(slurm.states(jobs)) == {"COMPLETED"}, "the jobs")
        slurm.run(["scancel", str(slurm.submit(*SMALL, *HANDED_IN[0]))])
        assert running.interrupt() == 130
    assert {slurm.jobs()[job]["nodes"] for job in jobs} <= {"n2", "n3"}


def test_after_ctrl_c_everything_is_slurms(slurm: VirtualSlurm, tmp_path: Path) -> None:
    jobs = [slurm.submit("-n1", "--mem=100", "--gres=gpu:4", *HANDED_IN[n % 2], lasts_s=30) for n in range(6)]
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO, "--nice", "-50") as running:
        running.wait_for(3, "landed")
        assert running.interrupt() == 130
    waiting = [job for job in slurm.jobs().values() if job["job_id"] in jobs and _waits(job)]
    assert len(waiting) == 3 and all(is_free(job) and job["nice"] is None for job in waiting)
    slurm.run(["scancel", *map(str, jobs)])
    wait_until(lambda: not _guardians(slurm), "the guardian to see that nothing is left")


def test_a_requeued_job_is_not_tied_to_its_lost_node_when_dovetail_is_gone(slurm: VirtualSlurm, tmp_path: Path) -> None:
    job = slurm.submit(*SMALL, *HANDED_IN[0], lasts_s=20)
    done = run(slurm, "--partition", "gpu", "--scheduler", FIFO, "--act", "--once", "--out", str(tmp_path))
    assert done.returncode == 0 and "the guardian" in done.stdout, done.stdout
    assert slurm.states([job]) == ["RUNNING"] and slurm.jobs()[job]["required_nodes"] == "n1"
    slurm.kill_node("n1")
    wait_until(lambda: slurm.jobs()[job]["restart_cnt"] == 1 and slurm.states([job]) == ["RUNNING"], "a second start")
    assert slurm.jobs()[job]["nodes"] in ("n2", "n3")


def test_without_a_guardian_leases_run_out_and_the_rest_is_found(slurm: VirtualSlurm, tmp_path: Path) -> None:
    """Loop and guardian are killed at once: what waits is Slurm's when its lease has run out."""
    jobs = [slurm.submit("-n1", "--mem=100", "--gres=gpu:4", *HANDED_IN[0], lasts_s=6) for _ in range(5)]
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO, "--lease", "10") as running:
        running.wait_for(3, "landed")
        (guardian,) = _guardians(slurm)
        running.process.send_signal(signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        running.kill()
    leased = [job for job in slurm.jobs().values() if "queued]" in job["admin_comment"] and _waits(job)]
    assert len(leased) == 2
    done = run(slurm, "--release")
    assert done.returncode == 0 and done.stdout.startswith("2 jobs were given back")
    assert all(is_free(job) for job in slurm.jobs().values() if _waits(job))
    wait_until(lambda: set(slurm.states(jobs)) == {"COMPLETED"}, "all jobs")


def test_a_guardian_that_is_killed_is_replaced(slurm: VirtualSlurm, tmp_path: Path) -> None:
    job = slurm.submit("-n1", "--mem=100", "--gres=gpu:1", "--hold", "--comment=dovetail", lasts_s=30)
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO) as running:
        running.wait_for(1, "landed")
        (guardian,) = _guardians(slurm)
        os.kill(guardian, signal.SIGKILL)
        running.wait_for(1, "guardian")
        wait_until(lambda: _guardians(slurm) not in ([], [guardian]), "another")
        running.kill()
    slurm.run(["scancel", str(job)])
    wait_until(lambda: not _guardians(slurm), "it to see that nothing is left")


def test_a_slurm_that_is_away_for_a_while(slurm: VirtualSlurm, tmp_path: Path) -> None:
    jobs = [slurm.submit("-n1", "--mem=100", "--gres=gpu:4", *HANDED_IN[0], lasts_s=4) for _ in range(6)]
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO) as running:
        running.wait_for(3, "landed")
        slurm.stop_controller()
        running.wait_for(1, "slurm")
        slurm.start_controller()
        wait_until(lambda: set(slurm.states(jobs)) == {"COMPLETED"}, "all jobs", patience_s=120)
        assert running.interrupt() == 130
    away, back = running.events("slurm")
    assert "does not answer" in away["text"] and "answers again" in back["text"]
    assert len(running.events("landed")) == 6


def test_two_at_once_leave_each_others_jobs_alone(slurm: VirtualSlurm, tmp_path: Path) -> None:
    jobs = [slurm.submit(*SMALL, "--gres=gpu:4", *HANDED_IN[n % 2], lasts_s=2) for n in range(9)]
    options = ("--act", "--scheduler", FIFO)
    with queue(slurm, tmp_path / "one", *options) as one, queue(slurm, tmp_path / "two", *options) as two:
        wait_until(lambda: set(slurm.states(jobs)) == {"COMPLETED"}, "all jobs", patience_s=120)
        assert one.interrupt() == 130 and two.interrupt() == 130
    assert len(slurm.ran.read_text().splitlines()) == 9


def test_a_lease_runs_out_by_itself(slurm: VirtualSlurm, tmp_path: Path) -> None:
    blockers = [slurm.submit("-N1", "-w", name, "--mem=100", "--gres=gpu:4", lasts_s=5) for name in slurm.names]
    wait_until(lambda: set(slurm.states(blockers)) == {"RUNNING"}, "the cluster to be full")
    job = slurm.submit(*SMALL, *HANDED_IN[0], lasts_s=1)
    with queue(slurm, tmp_path, "--act", "--scheduler", FIFO, "--lease", "10") as running:
        running.wait_for(1, "queued")
        running.process.send_signal(signal.SIGSTOP)  # it hangs: nothing is renewed, and no guardian sees it
        wait_until(lambda: slurm.states([job]) == ["COMPLETED"], "the lease to run out", patience_s=30)
        assert not slurm.jobs()[job]["required_nodes"]


def test_what_it_was_told_by_slurm_is_understood(slurm: VirtualSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.env[name])
    client = SlurmClient()
    assert client.check().startswith("slurm")
    assert [node.name for node in client.nodes()] == list(slurm.names)
    assert client.racks() == {} and client.history(1) is None
    assert client.update([4711], StartTime="now") == {4711: "Invalid job id specified"}
    for text in ("n[1-3]", "a,b[01-03],c[1,3]", "r1n[098-102]"):
        assert list(expand(text)) == slurm.run(["scontrol", "show", "hostnames", text]).split()
    job = slurm.submit(*SMALL, "--hold", "--comment", "x=[dovetail me told]\nNodeName=evil")
    (found,) = parse_jobs(slurm.run(["squeue", "--json"]))
    assert found.job_id == job and found.is_held and trace_of(found) is None
    monkeypatch.setenv("SLURM_CONF", "/nowhere/slurm.conf")
    with pytest.raises(SlurmError):
        SlurmClient(timeout_s=3.0).jobs()


def test_what_cannot_be_is_refused_before_anything_is_touched(slurm: VirtualSlurm) -> None:
    job = slurm.submit(*SMALL, "--hold", "--comment=dovetail:kind=nosuch,estimate_s=-5,foo")
    done = run(slurm, "--partition", "nosuch", "--act", "--once")
    assert done.returncode == 2 and "--partition nosuch" in done.stderr and "expected one of gpu, other" in done.stderr
    assert not slurm.jobs()[job]["admin_comment"]
    done = run(slurm, "--partition", "gpu", "--scheduler", FIFO, "--once", "--json")
    said = [line for line in map(json.loads, done.stdout.splitlines()) if line["event"] == "comment"]
    assert done.returncode == 0 and [line["job"] for line in said] == [job] * 3
    slurm.stop_controller()
    done = run(slurm, "--partition", "gpu", "--once")
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    assert done.returncode == 2 and len(errors) == 1 and "expected a running slurmctld" in errors[0]


def test_the_example_hands_jobs_in_without_a_hold(tmp_path: Path) -> None:
    """`examples/slurm/job_submit.lua`: a job waits for Dovetail a minute, and no longer."""
    if reason := why_not():
        pytest.skip(reason)
    lua = ROOT / "examples" / "slurm" / "job_submit.lua"
    slurm = VirtualSlurm(1, "JobSubmitPlugins=lua\n", [lua])
    try:
        slurm.start()
        plain, kind = slurm.submit(*SMALL, lasts_s=1), slurm.submit(*SMALL, "--comment=dovetail:kind=bert", lasts_s=1)
        others = [slurm.submit(*SMALL, *more) for more in (["-p", "other"], ["--hold"], ["--begin=now+500"])]
        jobs = slurm.jobs()
        for job in (plain, kind):
            assert jobs[job]["comment"].startswith("dovetail") and jobs[job]["eligible_time"] > time.time() + 30
        assert not any(jobs[job]["comment"] for job in others)
        with queue(slurm, tmp_path, "--act", "--scheduler", FIFO):
            wait_until(lambda: slurm.states([plain, kind]) == ["COMPLETED"] * 2, "the jobs")
    finally:
        slurm.stop()


def _guardians(slurm: VirtualSlurm) -> list[int]:
    return slurm.processes("engines.slurm.guardian")
