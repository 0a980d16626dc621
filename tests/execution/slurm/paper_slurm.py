"""A Slurm on paper: jobs and nodes as values, to which instructions are applied as Slurm would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dovetail.execution.engines.slurm.jobs import SlurmJob, parse_jobs
from dovetail.execution.engines.slurm.messages import Instruction, Lease, LetGo, Note, Observation, Retrace, Tell
from dovetail.execution.engines.slurm.nodes import SlurmNode, parse_nodes

RECORDED = Path(__file__).parent / "recorded"
OWNER = "here/1/1"
START_S = 1_000_000.0


def recorded_jobs() -> dict[str, SlurmJob]:
    """By name."""
    return {job.name: job for job in parse_jobs((RECORDED / "squeue-22.05.8.json").read_text())}


def recorded_nodes() -> tuple[SlurmNode, ...]:
    return parse_nodes((RECORDED / "nodes-22.05.8.txt").read_text())


def a_job(number: int, gres: str = "gres:gpu:1", **changes: Any) -> SlurmJob:
    """As Slurm would describe `sbatch -n1 --mem=1G --gres=...`, but for the changes."""
    record = next(
        job for job in json.loads((RECORDED / "squeue-22.05.8.json").read_text())["jobs"] if job["name"] == "queued"
    )
    fresh = {"comment": "", "max_nodes": 0, "cpus": 1, "tres_req_str": "cpu=1,mem=1G,node=1", "tres_per_node": gres}
    record |= {"job_id": number, "name": f"job{number}", "state_reason": "None", **fresh}
    (job,) = parse_jobs(json.dumps({"jobs": [record]}))
    fields = {"submit_s": START_S + number, "eligible_s": START_S + number, "start_s": 0.0, "end_s": 0.0, **changes}
    return replace(job, **fields)


def a_node(name: str, gpus: int = 4, **changes: Any) -> SlurmNode:
    fields: dict[str, Any] = {
        "state": "IDLE",
        "trouble": "",
        "partitions": frozenset({"gpu"}),
        "cpus": 16,
        "cpus_used": 0,
        "memory_mb": 32_000,
        "memory_used_mb": 0,
        "gpus": gpus,
        "gpu_type": "V100",
        "gpus_used": 0,
        "devices_used": (),
        "shards": 4,
    }
    return SlurmNode(name=name, **{**fields, **changes})


class PaperSlurm:
    """Begins every job that may begin where it was told to, at once; never any other."""

    def __init__(self, jobs: Sequence[SlurmJob], nodes: Sequence[SlurmNode]) -> None:
        self.now_s = START_S + 100.0
        self.jobs = {job.job_id: job for job in jobs}
        self.nodes = {node.name: node for node in nodes}
        self.dead: frozenset[str] = frozenset()
        self.stuck: set[int] = set()  # never begin
        self.notes: list[Note] = []

    def seen(self) -> Observation:
        nodes = tuple(self._with_load(node) for node in self.nodes.values())
        return Observation(self.now_s, tuple(self.jobs.values()), nodes, {}, self.dead)

    def apply(self, instructions: Sequence[Instruction]) -> None:
        for one in instructions:
            if isinstance(one, Note):
                self.notes.append(one)
                continue
            job = self.jobs[one.job]
            if isinstance(one, Lease):
                job = replace(job, eligible_s=one.until_s, is_held=job.is_held and not one.release)
                job = replace(job, required_nodes=(), excluded_nodes=()) if one.clear else job
                job = job if one.comment is None else replace(job, admin_comment=one.comment)
            elif isinstance(one, Tell):
                job = replace(job, required_nodes=one.nodes, excluded_nodes=one.not_on)
                job = replace(job, admin_comment=one.comment, eligible_s=self.now_s)
            elif isinstance(one, LetGo):
                job = replace(job, required_nodes=(), excluded_nodes=()) if one.clear else job
                job = replace(job, admin_comment=one.comment, eligible_s=self.now_s)
            elif isinstance(one, Retrace):
                job = replace(job, admin_comment=one.comment)
            self.jobs[one.job] = job

    def begin(self) -> None:
        for number, job in self.jobs.items():
            may = job.is_pending and not job.is_held and job.eligible_s <= self.now_s and number not in self.stuck
            if may and job.required_nodes:
                self.start(number, job.required_nodes)

    def start(self, number: int, nodes: tuple[str, ...]) -> None:
        self.jobs[number] = replace(self.jobs[number], state="RUNNING", nodes=nodes, start_s=self.now_s)

    def end(self, number: int, state: str = "COMPLETED") -> None:
        self.jobs[number] = replace(self.jobs[number], state=state, end_s=self.now_s)

    def requeue(self, number: int) -> None:
        """As after the loss of a node: its list of nodes stays, and it may not begin for a few seconds."""
        job = self.jobs[number]
        back = {"state": "PENDING", "nodes": (), "restarts": job.restarts + 1, "eligible_s": self.now_s + 6.0}
        self.jobs[number] = replace(job, **back)

    def events(self, *names: str) -> list[Note]:
        return [note for note in self.notes if note.event in names]

    def _with_load(self, node: SlurmNode) -> SlurmNode:
        here = [job for job in self.jobs.values() if job.holds_nodes and node.name in job.nodes]
        gpus = sum(int(job.gres_per_node.rpartition(":")[2]) for job in here if job.gres_per_node)
        cpus = sum(job.cpus // len(job.nodes) for job in here)
        memory_mb = sum(int(job.tres["mem"]) // len(job.nodes) for job in here)
        load = {"gpus_used": gpus, "devices_used": tuple(range(gpus)), "cpus_used": cpus, "memory_used_mb": memory_mb}
        return replace(node, **load)
