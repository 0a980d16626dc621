"""The queue in front of Slurm, step by step on paper: who is leased, told, given back, and never touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.execution.slurm.paper_slurm import OWNER, START_S, PaperSlurm, a_job, a_node
from tests.execution.slurm.schedulers import FifoFirstFit, Idle, ShortestMostFree

from dovetail.cluster.gpu_speed import default_speeds
from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView
from dovetail.execution.engines.slurm.asking import GpuScheduler
from dovetail.execution.engines.slurm.cluster import Kinds
from dovetail.execution.engines.slurm.controller import SlurmController
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.messages import Instruction, Lease, LetGo, Note, Retrace, SlurmOptions, Tell
from dovetail.execution.engines.slurm.trace import trace_of
from dovetail.schedulers import SCHEDULERS

ACTING = SlurmOptions(partition="gpu", act=True)
HELD = {"is_held": True, "reason": "JobHeldUser", "eligible_s": 0.0}


def controller(options: SlurmOptions = ACTING, scheduler: GpuScheduler | None = None) -> SlurmController:
    return SlurmController(scheduler or FifoFirstFit(), np.random.default_rng(0), options, OWNER)


def paper(*jobs: SlurmJob, nodes: int = 2) -> PaperSlurm:
    return PaperSlurm(jobs, [a_node(f"n{number + 1}") for number in range(nodes)])


def step(slurm: PaperSlurm, control: SlurmController, seconds: float = 1.0) -> list[Instruction]:
    """Look, decide, act, and let Slurm begin what it may."""
    slurm.now_s += seconds
    instructions = control.step(slurm.seen())
    slurm.apply(instructions)
    slurm.begin()
    return instructions


def acts(instructions: Sequence[Instruction]) -> list[Instruction]:
    return [one for one in instructions if not isinstance(one, Note)]


def told(instructions: Sequence[Instruction]) -> dict[int, tuple[str, ...]]:
    return {one.job: one.nodes for one in instructions if isinstance(one, Tell)}


def test_a_job_is_leased_and_told_in_one_go_and_lands() -> None:
    slurm, control = paper(a_job(1)), controller()
    lease, tell = acts(step(slurm, control))
    assert isinstance(lease, Lease) and lease.until_s == slurm.now_s + 120.0
    assert isinstance(tell, Tell) and tell.nodes == ("n1",)
    step(slurm, control)
    (landed,) = slurm.events("landed")
    assert landed.facts["nodes"] == ["n1"] and control.counts["running"] == 1
    slurm.end(1)
    step(slurm, control)
    assert slurm.events("ended") and sum(control.counts.values()) == 0


def test_what_does_not_fit_waits_under_a_lease_that_is_renewed() -> None:
    slurm, control = paper(a_job(1, "gres:gpu:4"), a_job(2, "gres:gpu:4"), nodes=1), controller()
    assert told(step(slurm, control)) == {1: ("n1",)}
    assert not acts(step(slurm, control)), "the lease is young, and nothing has changed"
    (renewal,) = acts(step(slurm, control, seconds=70.0))
    assert isinstance(renewal, Lease) and renewal.comment is None and renewal.job == 2
    slurm.end(1)
    assert told(step(slurm, control)) == {2: ("n1",)}


def test_told_jobs_take_room_before_they_begin() -> None:
    slurm, control = paper(a_job(1, "gres:gpu:3"), nodes=1), controller()
    slurm.stuck = {1}
    step(slurm, control)
    slurm.jobs[2] = a_job(2, "gres:gpu:2")
    assert not told(step(slurm, control)), "three of four GPUs are promised"


def test_schedulers_differ_in_order_and_place() -> None:
    jobs = [a_job(1, limit_s=900.0), a_job(2, limit_s=60.0), a_job(3, limit_s=300.0)]
    first = told(step(paper(*jobs), controller()))
    second = told(step(paper(*jobs), controller(scheduler=ShortestMostFree())))
    assert list(first.items()) == [(1, ("n1",)), (2, ("n1",)), (3, ("n1",))]
    assert list(second.items()) == [(2, ("n1",)), (3, ("n2",)), (1, ("n1",))]


@pytest.mark.parametrize(
    "job",
    [
        a_job(1, partition="other"),
        a_job(1, **HELD),
        a_job(1, is_held=True, reason="JobHeldAdmin", comment="dovetail"),
        a_job(1, is_held=True, reason="JobHeldUser", comment="dovetail"),
        a_job(1, eligible_s=START_S + 5000.0),
        a_job(1, eligible_s=START_S + 5000.0, comment="dovetail"),
        a_job(1, state="RUNNING", nodes=("n1",), gres_held=("gpu:V100:1(IDX:0)",)),
        a_job(1, admin_comment="[dovetail elsewhere/7/7 queued]"),
        a_job(1, admin_comment="[dovetail here/9/9 back]"),
        a_job(1, admin_comment="[dovetail here/9/9 free]", comment="dovetail", **HELD),
        a_job(1, wishes=("is a job array",)),
        a_job(1, required_nodes=("n2",)),
        a_job(1, excluded_nodes=("n2",)),
        a_job(1, "gres:gpu:5"),
        a_job(1, "gres:gpu:MI300:1"),
    ],
    ids=lambda job: f"{job.partition} {job.reason} {job.admin_comment} {job.wishes} {job.gres_per_node}",
)
def test_jobs_that_are_never_touched(job: SlurmJob) -> None:
    slurm, control = paper(job), controller()
    slurm.stuck = {1}
    for _ in range(5):
        assert not acts(step(slurm, control))
    assert slurm.jobs[1] == job


def test_what_is_left_to_slurm_is_said_once_with_its_reason() -> None:
    slurm, control = paper(a_job(1, "gres:gpu:5"), a_job(2, wishes=("is a job array",))), controller()
    step(slurm, control)
    step(slurm, control)
    assert [note.text for note in slurm.notes] == [
        "job 1 is left to Slurm: needs more than the partition gpu has, even if all of it were free",
        "job 2 is left to Slurm: is a job array",
    ]


@pytest.mark.parametrize("entry", [HELD, {"eligible_s": START_S + 300.0}], ids=["held", "begin"])
def test_jobs_that_are_handed_in(entry: dict[str, object]) -> None:
    slurm, control = paper(a_job(1, comment="dovetail", **entry)), controller()
    assert told(step(slurm, control)) == {1: ("n1",)}
    assert not slurm.jobs[1].is_held and slurm.jobs[1].state == "RUNNING"


def test_by_marker_in_any_partition_but_on_its_own_nodes() -> None:
    nodes = [a_node("n1", partitions=frozenset({"a"})), a_node("n2", partitions=frozenset({"b"}))]
    jobs = [a_job(1, partition="b", comment="ml"), a_job(2, partition="a", name="ml-x"), a_job(3, partition="a")]
    slurm, control = PaperSlurm(jobs, nodes), controller(SlurmOptions(marker="ml", act=True))
    assert told(step(slurm, control)) == {2: ("n1",), 1: ("n2",)}


def test_a_job_that_its_user_holds_is_let_go_and_taken_again_when_released() -> None:
    slurm, control = (
        paper(a_job(1, "gres:gpu:4"), a_job(2, "gres:gpu:4", comment="dovetail", **HELD), nodes=1),
        controller(),
    )
    step(slurm, control)
    assert not slurm.jobs[2].is_held
    slurm.jobs[2] = replace(slurm.jobs[2], is_held=True, reason="JobHeldUser")
    (letting_go,) = acts(step(slurm, control))
    assert isinstance(letting_go, LetGo) and slurm.jobs[2].is_held
    slurm.end(1)
    for _ in range(3):
        assert not acts(step(slurm, control)), "its hold is its user's now"
    slurm.jobs[2] = replace(slurm.jobs[2], is_held=False, reason="None")
    assert told(step(slurm, control)) == {2: ("n1",)}


def test_a_job_that_does_not_begin_is_given_back_for_good() -> None:
    slurm, control = paper(a_job(1)), controller()
    slurm.stuck = {1}
    step(slurm, control)
    step(slurm, control, seconds=119.0)
    (back,) = acts(step(slurm, control, seconds=10.0))
    assert isinstance(back, LetGo) and back.clear
    assert not slurm.jobs[1].required_nodes
    trace = trace_of(slurm.jobs[1])
    assert trace is not None and trace.state == "back"
    assert not acts(step(slurm, control)) and not acts(step(slurm, controller()))
    assert "did not begin on n1 within 120 s" in slurm.events("back")[0].text


def test_a_node_that_is_lost_before_the_job_begins() -> None:
    slurm, control = paper(a_job(1)), controller()
    slurm.stuck = {1}
    step(slurm, control)
    slurm.nodes["n1"] = replace(slurm.nodes["n1"], trouble="is down")
    again = acts(step(slurm, control))
    assert isinstance(again[0], Lease) and again[0].clear
    assert told(again) == {1: ("n2",)}


def test_a_requeued_job_waits_until_slurm_is_ready_and_goes_elsewhere() -> None:
    slurm, control = paper(a_job(1), nodes=3), controller()
    step(slurm, control)
    step(slurm, control)
    slurm.nodes["n1"] = replace(slurm.nodes["n1"], trouble="is down")
    slurm.requeue(1)
    (lease,) = acts(step(slurm, control))
    assert isinstance(lease, Lease) and lease.clear and not slurm.jobs[1].required_nodes
    assert not acts(step(slurm, control, seconds=2.0)), "what is left of it may still be somewhere"
    assert told(step(slurm, control, seconds=6.0)) == {1: ("n2",)}
    assert slurm.events("requeued")


def test_a_lease_that_slurm_overwrites_while_it_requeues_is_renewed() -> None:
    slurm, control = paper(a_job(1), nodes=2), controller()
    step(slurm, control)
    step(slurm, control)
    slurm.requeue(1)
    step(slurm, control)
    slurm.jobs[1] = replace(slurm.jobs[1], eligible_s=slurm.now_s + 6.0)
    (renewal,) = acts(step(slurm, control, seconds=3.0))
    assert isinstance(renewal, Lease) and slurm.jobs[1].eligible_s > slurm.now_s + 100.0
    assert not acts(step(slurm, control)), "and the new time is kept to"
    assert told(step(slurm, control, seconds=3.0)) == {1: ("n1",)}


def test_where_slurm_put_a_job_instead_is_said() -> None:
    slurm, control = (
        paper(a_job(1), a_job(2, "gres:gpu:4"), a_job(3, "gres:gpu:4"), a_job(4, "gres:gpu:4")),
        controller(),
    )
    slurm.stuck = {1}
    step(slurm, control)
    slurm.start(1, ("n2",))
    slurm.start(4, ("n1",))
    step(slurm, control)
    assert [note.text for note in slurm.events("astray", "early")] == [
        "job 1 runs on n2, not on n1",
        "Slurm began job 4 on n1 before it was told to",
    ]


def test_cancelled_and_vanished_jobs_are_forgotten() -> None:
    slurm, control = (
        paper(a_job(1, "gres:gpu:4"), a_job(2, "gres:gpu:4"), a_job(3, "gres:gpu:4"), nodes=1),
        controller(),
    )
    step(slurm, control)
    slurm.end(2, "CANCELLED")
    del slurm.jobs[3]
    assert not acts(step(slurm, control))
    assert control.counts == {"queued": 0, "told": 0, "running": 1}


def test_a_job_that_its_user_changes_is_looked_at_anew() -> None:
    changing = {2: {"gres_per_node": "gres:gpu:1"}, 3: {"gres_per_node": "gres:gpu:5"}, 4: {"partition": "other"}}
    jobs = [a_job(1, "gres:gpu:3"), *(a_job(number, "gres:gpu:4") for number in changing)]
    slurm, control = PaperSlurm(jobs, [a_node("n1", partitions=frozenset({"gpu", "other"}))]), controller()
    assert told(step(slurm, control)) == {1: ("n1",)}
    for number, change in changing.items():
        slurm.jobs[number] = replace(slurm.jobs[number], **change)
    instructions = step(slurm, control)
    assert told(instructions) == {2: ("n1",)}, "it fits now"
    assert [one.job for one in instructions if isinstance(one, LetGo)] == [3, 4]
    assert [note.text.partition(": ")[2] for note in slurm.events("back")] == [
        "needs more than the partition gpu has, even if all of it were free",
        "it is not in our partition any more",
    ]


def test_a_job_of_several_tasks_gets_no_other_nodes_and_loses_that_with_its_place() -> None:
    tasks = {"tasks": 2, "cpus": 2, "gres_per_node": "", "gres_per_task": "gres:gpu:2", "memory_per_node": False}
    slurm, control = paper(a_job(1, **tasks), a_job(2)), controller()
    first, second = (one for one in step(slurm, control) if isinstance(one, Tell))
    assert (first.nodes, first.not_on) == (("n1",), ("n2",))
    assert (second.nodes, second.not_on) == (("n2",), ())
    step(slurm, control)
    slurm.requeue(1)
    step(slurm, control)
    assert not slurm.jobs[1].required_nodes and not slurm.jobs[1].excluded_nodes


def test_a_gang_on_different_nodes() -> None:
    gang = a_job(1, "gres:gpu:2", max_nodes=2, tres={"node": 2.0, "mem": 2048.0}, cpus=2, tasks=2)
    slurm, control = paper(gang, a_job(2, "gres:gpu:2"), nodes=2), controller()
    assert told(step(slurm, control)) == {1: ("n1", "n2"), 2: ("n1",)}


def test_a_gang_for_which_there_are_not_enough_nodes_waits() -> None:
    gang = a_job(1, "gres:gpu:2", max_nodes=2, tres={"node": 2.0, "mem": 2048.0}, cpus=2, tasks=2)
    slurm, control = paper(gang, a_job(2, "gres:gpu:2"), nodes=2), controller()
    slurm.nodes["n2"] = replace(slurm.nodes["n2"], trouble="is drained")
    assert told(step(slurm, control)) == {2: ("n1",)}


def test_without_acting_nothing_is_asked_for_and_all_is_said() -> None:
    slurm = paper(a_job(1, "gres:gpu:4"), a_job(2, "gres:gpu:4", comment="dovetail", **HELD), a_job(3, "gres:gpu:1"))
    control = controller(replace(ACTING, act=False))
    before = dict(slurm.jobs)
    for _ in range(3):
        instructions = step(slurm, control)
        assert not acts(instructions)
    assert slurm.jobs == before
    assert [note.text.partition(":")[0] for note in slurm.events("told")] == [
        "job 1 (job1) would be told to begin on n1",
        "job 2 (job2) would be told to begin on n2",
    ], "each once"
    slurm.start(1, ("n2",))
    step(slurm, control)
    assert slurm.events("slurm")[0].text == "Slurm began job 1 on n2, Dovetail would have taken n1"


def test_what_an_earlier_run_left_behind() -> None:
    dead = "here/9/9"
    slurm = paper(
        a_job(1, admin_comment=f"[dovetail {dead} queued]", eligible_s=START_S + 9000.0),
        a_job(2, admin_comment=f"[dovetail {dead} told nice=3]", required_nodes=("n9",), nice=-50),
        a_job(
            3, admin_comment=f"[dovetail {dead} told nice=0]", state="RUNNING", nodes=("n1",), required_nodes=("n1",)
        ),
        a_job(4, admin_comment=f"site [dovetail {dead} told nice=0]", required_nodes=("n9",), partition="other"),
        a_job(5, admin_comment=f"[dovetail {dead} taking]", comment="dovetail", **HELD),
        a_job(6, admin_comment=f"[dovetail {dead} queued]", comment="dovetail", **HELD),
        nodes=3,
    )
    slurm.dead = frozenset({dead})
    control = controller(replace(ACTING, nice=-9))
    instructions = step(slurm, control)
    assert set(told(instructions)) == {1, 2, 5}
    assert [one.job for one in instructions if isinstance(one, Retrace)] == [3]
    assert [one.job for one in instructions if isinstance(one, LetGo)] == [4, 6]
    assert slurm.jobs[4].admin_comment == f"site [dovetail {OWNER} free]" and not slurm.jobs[4].required_nodes
    assert slurm.jobs[6].is_held and not slurm.jobs[5].is_held
    leases = {one.job: one for one in instructions if isinstance(one, Lease)}
    assert leases[2].clear and leases[2].nice == 3, "as nice as before the earlier run"


def test_farewell_gives_back_what_has_not_begun() -> None:
    slurm, control = paper(a_job(1, "gres:gpu:4"), a_job(2, "gres:gpu:4"), nodes=1), controller()
    step(slurm, control)
    step(slurm, control)
    goodbye = control.farewell()
    assert [one.job for one in goodbye] == [2]
    slurm.apply(goodbye)
    assert slurm.jobs[2].eligible_s <= slurm.now_s and slurm.jobs[2].admin_comment == f"[dovetail {OWNER} free]"


def test_what_slurm_refuses_is_tried_again_with_clean_nodes() -> None:
    slurm, control = paper(a_job(1)), controller()
    slurm.now_s += 1.0
    lease, tell = acts(control.step(slurm.seen()))
    slurm.apply([lease])
    assert isinstance(tell, Tell)
    control.refused(tell, "busy")
    again = acts(step(slurm, control))
    assert isinstance(again[0], Lease) and again[0].clear and told(again) == {1: ("n1",)}


def test_a_lease_that_is_refused_leaves_the_job_alone_until_next_time() -> None:
    slurm, control = paper(a_job(1)), controller()
    slurm.now_s += 1.0
    for act in acts(control.step(slurm.seen())):
        assert isinstance(act, Lease | Tell)
        control.refused(act, "busy")
    assert sum(control.counts.values()) == 0
    assert told(step(slurm, control)) == {1: ("n1",)}


class OnlyTheFirst(FifoFirstFit):
    """One job at a time, for those whom nobody told that there is room."""

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return super().decide(view)[: 0 if len(view.run_id) else 1]


@pytest.mark.parametrize("act", [True, False])
def test_a_job_that_fits_and_is_let_wait_is_named_once(act: bool) -> None:
    slurm = paper(a_job(1), a_job(2), a_job(3, "gres:gpu:4"), nodes=1)
    control = controller(replace(ACTING, act=act), OnlyTheFirst())
    step(slurm, control)
    (waits,) = slurm.events("waits")
    assert waits.job == 2 and waits.facts["waited_s"] > 0, "of the third job, not all would fit"
    assert waits.text == f"job 2 (job2) fits, and {'is' if act else 'would be'} let wait by the scheduler"
    slurm.jobs[4] = a_job(4, "gres:gpu:4")
    step(slurm, control)
    assert len(slurm.events("waits")) == 1


def test_a_scheduler_that_starts_nothing_loses_the_jobs() -> None:
    slurm, control = paper(a_job(1), a_job(2)), controller(scheduler=Idle())
    for _ in range(3):
        assert control.counts["queued"] in (0, 2)
        last = step(slurm, control)
    assert [one.job for one in last if isinstance(one, LetGo)] == [1, 2]
    assert "starts nothing" in slurm.events("back")[0].text


@pytest.mark.parametrize("trouble", ["", "is drained"])
def test_a_scheduler_may_wait_for_somebody_elses_job(trouble: str) -> None:
    """And is asked again when it has ended, even where no room comes of it."""
    others = a_job(9, state="RUNNING", nodes=("n2",), start_s=START_S, partition="other")
    slurm, control = paper(a_job(1), others), controller(scheduler=OnlyTheFirst())
    slurm.nodes["n2"] = replace(slurm.nodes["n2"], trouble=trouble)
    for _ in range(6):
        assert not told(step(slurm, control)) and control.counts["queued"] == 1
    assert slurm.events("waits") and not slurm.events("back")
    slurm.end(9)
    assert told(step(slurm, control)) == {1: ("n1",)}


class Wrong(FifoFirstFit):
    """Answers what it is made with."""

    def __init__(self, *answer: GpuDecision) -> None:
        self.answer = answer

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([GpuDecision(0, np.array([0])), GpuDecision(0, np.array([1]))], "each once"),
        ([GpuDecision(7, np.array([0]))], "expected one of 1"),
        ([GpuDecision(0, np.array([0, 1]))], "2 machines for its 1 workers"),
        ([GpuDecision(0, np.array([9]))], "there is no machine 9"),
        ([GpuDecision(0, np.array([1]))], "job 1 on n2: a worker needs 2 GPUs"),
        ([GpuDecision(0, np.array([], np.int64), stops=True)], "never stopped"),
    ],
)
def test_wrong_decisions_are_refused_as_a_whole(answer: list[GpuDecision], said: str) -> None:
    slurm, control = paper(a_job(1, "gres:gpu:2")), controller(scheduler=Wrong(*answer))
    slurm.nodes["n2"] = replace(slurm.nodes["n2"], trouble="is down")
    with pytest.raises(InvalidDecision, match=said):
        step(slurm, control)
    assert [one.job for one in control.farewell()] == [1]


class Noting(FifoFirstFit):
    def __init__(self) -> None:
        self.infos: list[GpuInfo] = []
        self.views = 0

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self.infos.append(info)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        self.views += 1
        return super().decide(view)


def test_it_is_asked_when_something_has_changed_and_begins_anew_with_other_machines() -> None:
    scheduler = Noting()
    slurm, control = paper(a_job(1, "gres:gpu:4"), a_job(2, "gres:gpu:4"), nodes=1), controller(scheduler=scheduler)
    for _ in range(6):
        step(slurm, control)
    assert len(scheduler.infos) == 1 and scheduler.views == 2
    slurm.nodes["n2"] = a_node("n2")
    assert told(step(slurm, control)) == {2: ("n2",)}
    assert len(scheduler.infos) == 2 and slurm.events("cluster")


@pytest.mark.parametrize("name", SCHEDULERS.names("gpu"))
def test_every_scheduler_gets_everything_done(name: str) -> None:
    """On two types of GPUs, with gangs on different nodes, shares of GPUs and jobs without any."""
    nodes = [a_node("n1"), a_node("n2", gpu_type="A100"), a_node("n3", gpus=8)]
    gang = {"max_nodes": 2, "tres": {"node": 2.0, "mem": 2048.0}, "cpus": 2, "tasks": 2}
    jobs = [a_job(number, f"gres:gpu:{number % 4 + 1}", user=f"u{number % 3}") for number in range(1, 9)]
    jobs += [
        a_job(9, "gres:gpu:2", **gang),
        a_job(10, "gres:gpu:A100:1"),
        a_job(11, ""),
        a_job(12, "gres:gpu:4", **gang),
    ]
    slurm = PaperSlurm(jobs, nodes)
    speeds = Kinds.of(default_speeds())
    control = SlurmController(SCHEDULERS.create(name), np.random.default_rng(0), ACTING, OWNER, speeds)
    for moment in range(60):
        step(slurm, control, seconds=20.0)
        for number in [number for number, job in slurm.jobs.items() if job.state == "RUNNING"][: moment % 2]:
            slurm.end(number)
    assert all(job.state == "COMPLETED" for job in slurm.jobs.values())
    assert len(slurm.events("landed")) == 12 and not slurm.events("astray", "early", "back", "refused")
    assert all(note.facts["reason"] != "unstated" for note in slurm.events("told"))


def test_a_run_can_be_replayed() -> None:
    """The same observations make the same instructions: nothing else goes in."""

    def run() -> list[list[Instruction]]:
        slurm, control = paper(*(a_job(number, f"gres:gpu:{number % 4 + 1}") for number in range(1, 12))), controller()
        story = []
        for moment in range(40):
            story.append(step(slurm, control, seconds=7.0))
            running = [number for number, job in slurm.jobs.items() if job.state == "RUNNING"]
            if moment % 3 == 2 and running:
                slurm.end(running[0])
        assert all(job.state == "COMPLETED" for job in slurm.jobs.values())
        return story

    assert run() == run()
