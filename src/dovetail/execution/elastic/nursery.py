"""The node manager of training jobs: has torch in memory, forks workers and parameter servers in milliseconds.

    python -m dovetail.execution.elastic.nursery --socket DIR/roles.sock --node NAME

It never computes anything itself, so no thread of torch's exists when it forks.
"""

from __future__ import annotations

from dovetail.execution.elastic.network import load_torch
from dovetail.execution.elastic.role_process import RoleProcess
from dovetail.execution.node_manager import Child, NodeManager, main


class Nursery(NodeManager):
    occupant = "role"

    def run(self) -> int:
        load_torch()
        return super().run()

    def occupy(self, child: Child) -> int:
        return RoleProcess(self.socket_path, child.executor).run()


if __name__ == "__main__":
    raise SystemExit(main(Nursery))
