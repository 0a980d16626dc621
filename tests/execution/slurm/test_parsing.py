"""What Slurm's commands print: as version 22.05.8 did, as later ones do, and damaged."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.slurm.paper_slurm import RECORDED, recorded_jobs, recorded_nodes

from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.engines.slurm.gres import Gres, parse_gres, parse_tres
from dovetail.execution.engines.slurm.hostlist import expand, fold
from dovetail.execution.engines.slurm.jobs import parse_jobs
from dovetail.execution.engines.slurm.nodes import parse_nodes, parse_racks


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("(null)", []),
        ("n1", ["n1"]),
        ("n[1,3-5],login", ["n1", "n3", "n4", "n5", "login"]),
        ("gpu-[08-11]", ["gpu-08", "gpu-09", "gpu-10", "gpu-11"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_lists_of_nodes(text: str, names: list[str]) -> None:
    assert list(expand(text)) == names


@given(st.lists(st.from_regex(r"[a-c][0-9]{0,3}", fullmatch=True), unique=True, max_size=12))
def test_lists_of_nodes_are_folded_and_expanded(names: list[str]) -> None:
    assert sorted(expand(fold(names))) == sorted(names)


def test_lists_of_nodes_are_short() -> None:
    assert fold([f"n{number}" for number in (1, 2, 3, 5, 9, 10, 11)]) == "n[1-3,5,9,10-11]"
    assert fold(["gpu-08", "gpu-09", "gpu-10", "login"]) == "login,gpu-[08-09],gpu-10"
    assert fold(["n7"]) == "n7" and fold([]) == ""


@pytest.mark.parametrize("text", ["n[1-", "n1]", "n[1-x]", "n[5-1]", "n[]", "a,,b", "n[1-999999999]", "n[[1]]"])
def test_damaged_lists_of_nodes(text: str) -> None:
    with pytest.raises(SlurmError, match="list of nodes"):
        expand(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(null)", ()),
        ("gpu:4", (Gres("gpu", "", 4),)),
        ("gres:gpu", (Gres("gpu", "", 1),)),
        ("gres/gpu:a100:2", (Gres("gpu", "a100", 2),)),
        ("gres/gpu=2", (Gres("gpu", "", 2),)),
        ("gpu:tesla_v100-sxm2:4(S:0-1)", (Gres("gpu", "tesla_v100-sxm2", 4),)),
        ("gpu:3g.20gb:2", (Gres("gpu", "3g.20gb", 2),)),
        ("gpu:V100:3(IDX:0,2-3),shard:V100:0(IDX:N/A)", (Gres("gpu", "V100", 3, (0, 2, 3)), Gres("shard", "V100", 0))),
        ("shard:V100:3(IDX:0(2/4),1(1/4))", (Gres("shard", "V100", 3, (0, 1)),)),
    ],
)
def test_generic_resources(text: str, found: tuple[Gres, ...]) -> None:
    assert parse_gres(text) == found


@pytest.mark.parametrize("text", ["gpu:V100:x y", ":4", "gpu:2(IDX:a)", "gpu:2(IDX:0", "4"])
def test_damaged_generic_resources(text: str) -> None:
    with pytest.raises(SlurmError, match="generic resources"):
        parse_gres(text)


def test_resources() -> None:
    assert parse_tres("cpu=4,mem=62.50G,node=2,gres/gpu:v100=4") == {
        "cpu": 4,
        "mem": 64_000,
        "node": 2,
        "gres/gpu:v100": 4,
    }
    assert parse_tres("") == {}
    with pytest.raises(SlurmError, match="'mem=lots' is no name=number"):
        parse_tres("cpu=1,mem=lots")


def test_recorded_jobs() -> None:
    jobs = recorded_jobs()
    assert (jobs["resnet"].state, jobs["resnet"].nodes) == ("RUNNING", ("n1", "n3"))
    assert jobs["resnet"].gres_held == ("gpu:V100:2(IDX:0-1)", "gpu:A100:2(IDX:0-1)")
    assert jobs["resnet"].holds_nodes and not jobs["short"].holds_nodes and jobs["short"].is_ended
    assert [name for name, job in jobs.items() if job.is_held] == ["held", "admin-held", "cancelled", "nolimit"]
    assert (jobs["held"].reason, jobs["admin-held"].reason) == ("JobHeldUser", "JobHeldAdmin")
    assert jobs["sweep"].wishes == ("is a job array",)
    assert jobs["next"].wishes == ("waits for another job",)
    assert jobs["alone"].wishes == ("says whether it shares its nodes",)
    assert not jobs["queued"].wishes and jobs["queued"].tres["mem"] == 32_000
    assert jobs["cpu"].limit_s == 86_400 and jobs["nolimit"].limit_s == math.inf
    assert jobs["queued"].user == "nobody" and jobs["queued"].comment == "dovetail"


def test_the_forms_of_later_versions() -> None:
    record = next(
        job for job in json.loads((RECORDED / "squeue-22.05.8.json").read_text())["jobs"] if job["name"] == "queued"
    )
    for field in ("priority", "time_limit", "cpus", "tasks", "node_count", "max_nodes", "submit_time", "eligible_time"):
        record[field] = {"set": True, "infinite": False, "number": record[field]}
    unlimited = {**record, "time_limit": {"set": True, "infinite": True, "number": 0}, "job_id": 99}
    for job in (record, unlimited):
        job["job_state"] = ["PENDING"]
        job["memory_per_cpu"] = {"set": False, "infinite": False, "number": 0}
    unlimited["job_state"] = ["RUNNING", "COMPLETING"]
    unlimited["nice"] = -100
    first, second = parse_jobs(json.dumps({"jobs": [record, unlimited]}))
    assert first == recorded_jobs()["queued"]
    assert second.limit_s == math.inf and second.state == "COMPLETING" and second.nice == -100


def test_negative_niceness_is_printed_as_if_unsigned() -> None:
    text = (RECORDED / "squeue-22.05.8.json").read_text().replace('"nice": null', '"nice": 4294967196')
    assert {job.nice for job in parse_jobs(text)} == {-100}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[: len(text) // 2], "no JSON"),
        (lambda text: "[]", "a list `jobs`"),
        (lambda text: '{"jobs": 3}', "a list `jobs`"),
        (lambda text: '{"jobs": [{"name": "x"}]}', "job_id"),
        (lambda text: text.replace('"cpus":', '"cpuz":'), "field 'cpus' is missing"),
        (lambda text: text.replace('"time_limit": 10', '"time_limit": "ten"'), "field 'time_limit' is 'ten'"),
        (lambda text: text.replace('"job_state": "PENDING"', '"job_state": 7'), "expected a word such as PENDING"),
        (lambda text: text.replace('"nodes": "n[1,3]"', '"nodes": "n[1,"'), "job 22: list of nodes"),
        (lambda text: text.replace('"name": "bert"', '"name": 5'), "job 23: field 'name' is 5; expected text"),
    ],
)
def test_damaged_jobs(damage: object, said: str) -> None:
    assert callable(damage)
    with pytest.raises(SlurmError, match=said.replace("[", "\\[")):
        parse_jobs(damage((RECORDED / "squeue-22.05.8.json").read_text()))


def test_recorded_nodes() -> None:
    first, second, third = recorded_nodes()
    assert (first.name, first.gpus, first.gpu_type, first.shards) == ("n1", 4, "V100", 4)
    assert (first.gpus_used, first.devices_used, first.cpus_used, first.memory_used_mb) == (2, (0, 1), 3, 200)
    assert first.partitions == {"gpu", "other"} and not first.trouble
    assert second.trouble == "is mixed+drain" and third.gpu_type == "A100"


@pytest.mark.parametrize(
    ("state", "usable"),
    [
        ("IDLE", True),
        ("MIXED+PLANNED", True),
        ("ALLOCATED+COMPLETING", True),
        ("IDLE+DRAIN", False),
        ("MIXED+NOT_RESPONDING", False),
        ("DOWN", False),
        ("DOWN*", False),
        ("IDLE*", False),
        ("UNKNOWN", False),
        ("IDLE+MAINT", False),
        ("FUTURE", False),
    ],
)
def test_states_of_nodes(state: str, usable: bool) -> None:
    line = (RECORDED / "nodes-22.05.8.txt").read_text().splitlines()[0].replace("State=MIXED", f"State={state}")
    (node,) = parse_nodes(line)
    assert bool(node.trouble) != usable


def test_a_reason_may_say_anything() -> None:
    lines = (
        (RECORDED / "nodes-22.05.8.txt").read_text().replace("Reason=bad fan = loud", "Reason=x State=IDLE CPUTot=0")
    )
    assert parse_nodes(lines)[1].trouble == "is mixed+drain"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NodeName=n1", "Nodename=n1", "has no NodeName"),
        ("CPUEfctv=16", "CPUEfctv=many", "n1: CPUEfctv=many; expected a number"),
        ("AllocMem=200 ", "", "n1: AllocMem is missing"),
        ("Gres=gpu:V100:4", "Gres=:4", "n1: generic resources"),
    ],
)
def test_damaged_nodes(old: str, new: str, said: str) -> None:
    with pytest.raises(SlurmError, match=said):
        parse_nodes((RECORDED / "nodes-22.05.8.txt").read_text().replace(old, new))


def test_racks_are_the_lowest_switches() -> None:
    text = (
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
        "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n3\n"
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=s[0-1]\n"
    )
    assert parse_racks(text) == {"n1": 0, "n2": 0, "n3": 1}
