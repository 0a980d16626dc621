"""What a live run came to, beside the simulation of the same jobs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.core.elastic import SERVER, WORKER
from dovetail.execution.elastic.live_run import LiveResult
from dovetail.execution.elastic.live_workload import LiveWorkload
from dovetail.sim.elastic.result import ElasticResult


@dataclass(frozen=True, eq=False)
class LiveSummary:
    workload: LiveWorkload
    live: LiveResult
    simulated: ElasticResult

    def to_json(self) -> dict[str, Any]:
        live = self.live.result
        return {
            "utility": live.total_utility,
            "simulated_utility": self.simulated.total_utility,
            "jobs_completed": int((live.finish >= 0).sum()),
            "simulated_jobs_completed": int((self.simulated.finish >= 0).sum()),
            "batches_done": sum(story.batches_done for story in self.live.jobs),
            "wall_s": self.live.wall_s,
            "between_slots_s": {"mean": _mean(self._between_s()), "max": max(self._between_s(), default=0.0)},
            "late_jobs": [self.workload.table.job_name[job] for job in self.live.late],
            "notices": list(self.live.notices),
            "jobs": [self._job(job) for job in range(self.workload.table.num_jobs)],
            "slots": self._slots(),
        }

    def _job(self, job: int) -> dict[str, Any]:
        table, story, live = self.workload.table, self.live.jobs[job], self.live.result
        tally = story.tally
        return {
            "name": table.job_name[job],
            "arrival": int(table.arrival[job]),
            "work": int(table.work[job]),
            "rejected": bool(live.rejected[job] >= 0),
            "finish": _slot(int(live.finish[job])),
            "simulated_finish": _slot(int(self.simulated.finish[job])),
            "utility": float(live.utility[job]),
            "simulated_utility": float(self.simulated.utility[job]),
            "batches": int(self.workload.total_batches[job]),
            "batches_done": story.batches_done,
            "batches_undone": tally.undone,
            "lost_workers": tally.lost_workers,
            "lost_servers": tally.lost_servers,
            "mean_staleness": tally.stale / tally.pushes if tally.pushes else None,
            "losses": [[slot, loss] for slot, loss in story.losses],
        }

    def _slots(self) -> list[dict[str, Any]]:
        names = self.workload.table.job_name
        found = []
        for story in self.live.slots:
            rows = self.live.result.used[self.live.result.used[:, 0] == story.slot]
            standing: dict[str, list[int]] = {names[job]: [0, 0] for job in np.unique(rows[:, 1]).tolist()}
            for _, job, role, _, amount in rows.tolist():
                standing[names[job]][role] += amount
            found.append(
                {
                    "slot": story.slot,
                    "began_s": story.began_s,
                    "ended_s": story.ended_s,
                    "workers": {name: counts[WORKER] for name, counts in standing.items()},
                    "servers": {name: counts[SERVER] for name, counts in standing.items()},
                }
            )
        return found

    def _between_s(self) -> list[float]:
        """From the end of training in one slot to its start in the next."""
        slots = self.live.slots
        return [later.began_s - earlier.halted_s for earlier, later in pairwise(slots)]

    def to_text(self) -> str:
        facts = self.to_json()
        width = max(len(job["name"]) for job in facts["jobs"])
        lines = [
            f"utility {facts['utility']:.2f}, simulated {facts['simulated_utility']:.2f}",
            f"{facts['jobs_completed']} of {len(facts['jobs'])} jobs completed, "
            f"simulated {facts['simulated_jobs_completed']}",
            f"{facts['wall_s']:.1f} s, {1000 * facts['between_slots_s']['mean']:.0f} ms between slots "
            f"({1000 * facts['between_slots_s']['max']:.0f} ms at most)",
            f"{'':{width}}  arrived  finished (simulated)  mini-batches          loss  utility",
        ]
        for job in facts["jobs"]:
            finish = "rejected" if job["rejected"] else "-" if job["finish"] is None else str(job["finish"])
            simulated = "-" if job["simulated_finish"] is None else str(job["simulated_finish"])
            losses = job["losses"]
            loss = f"{losses[0][1]:.3f} > {losses[-1][1]:.3f}" if losses else "-"
            done = f"{job['batches_done']} of {job['batches']}"
            lines.append(
                f"{job['name']:{width}}  {job['arrival']:>7}  {finish:>8} {f'({simulated})':>11}  "
                f"{done:>12}  {loss:>14}  {job['utility']:>7.2f}"
            )
        lost = [sum(job[name] for job in facts["jobs"]) for name in ("lost_workers", "lost_servers", "batches_undone")]
        if any(lost):
            lines.append(f"lost: {lost[0]} workers, {lost[1]} servers; {lost[2]} mini-batches were trained again")
        if facts["late_jobs"]:
            lines.append(f"slower than planned, promise not kept: {', '.join(facts['late_jobs'])}")
        lines.append("workers by slot (parameter servers)")
        for name in (job["name"] for job in facts["jobs"]):
            cells = (
                f"{slot['workers'][name]}({slot['servers'][name]})" if name in slot["workers"] else "."
                for slot in facts["slots"]
            )
            lines.append(f"{name:{width}}  " + " ".join(f"{cell:>4}" for cell in cells))
        lines.append(f"{'slot':{width}}  " + " ".join(f"{slot['slot']:>4}" for slot in facts["slots"]))
        return "\n".join(lines)


def _slot(number: int) -> int | None:
    return None if number < 0 else number


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
