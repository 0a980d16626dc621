"""Trains one model for real while its workers and parameter servers change in number, and two of them are killed.

    python examples/elastic_training.py            # needs the extra `learn`

Every line is a slot: who was there, how many mini-batches are done, how fast, and the loss on samples that nobody
trains on.  Each mini-batch pretends to need a GPU for 5 ms, so that more workers help even on a small machine.
"""

from __future__ import annotations

import sys

from dovetail.execution.elastic.coordinator import Coordinator
from dovetail.execution.elastic.drive import one_slot
from dovetail.execution.elastic.live_run import Yardstick
from dovetail.execution.elastic.snapshot import Snapshot
from dovetail.execution.elastic.training_job import TrainingJob
from dovetail.execution.engines.local_fleet import LocalFleet

SLOTS = [(1, 1, ""), (4, 1, ""), (4, 2, ""), (2, 2, "worker"), (4, 2, "server"), (3, 3, ""), (1, 1, "")]
"""Workers, servers, and who is killed in the middle of the slot."""


def main(slot_s: str = "1") -> None:
    job = TrainingJob("mlp", seed=0, epochs=1_000, chunks=4, batches=25, learning_rate=0.002, pad_s=0.005)
    yardstick = Yardstick(job)
    fleet = LocalFleet()
    try:
        fleet.open()
        coordinator = Coordinator(job, Snapshot.first(job), fleet)
        print(f"loss {yardstick.loss(coordinator.snapshot):.3f} at first")
        for workers, servers, victim in SLOTS:

            def meanwhile(victim: str = victim) -> None:
                roles = {"worker": coordinator.worker_roles, "server": coordinator.server_roles}
                for role in roles.get(victim, ())[:1]:
                    fleet.kill(role, "on purpose")

            tally, elapsed_s = one_slot(fleet, coordinator, workers, servers, float(slot_s), meanwhile)
            print(
                f"{workers} workers, {servers} servers: {coordinator.snapshot.batches_done:5} mini-batches done, "
                f"{tally.batches / elapsed_s:4.0f}/s, loss {yardstick.loss(coordinator.snapshot):.3f}"
                + (f"; a {victim} was killed, {tally.undone} mini-batches were undone" if victim else "")
            )
        coordinator.end()
    finally:
        fleet.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
