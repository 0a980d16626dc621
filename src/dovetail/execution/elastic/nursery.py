"""The node manager of training jobs: has torch in memory, forks workers and parameter servers in milliseconds.

    python -m dovetail.execution.elastic.nursery --socket DIR/roles.sock --node NAME

It never computes anything itself, so no thread of torch's exists when it forks.  If whoever started it is killed, it
removes the folder of the socket, which nobody else would.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

from dovetail.execution.elastic.network import load_torch
from dovetail.execution.elastic.role_process import RoleProcess
from dovetail.execution.node_manager import Child, NodeManager, main


class Nursery(NodeManager):
    occupant = "role"

    def run(self) -> int:
        parent = os.getppid()
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # torch takes seconds; then it is heard below
        try:
            load_torch()
            return super().run()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which comes with the parent's death, perhaps only now
            if is_gone(parent):
                shutil.rmtree(os.path.dirname(self.socket_path), ignore_errors=True)

    def occupy(self, child: Child) -> int:
        return RoleProcess(self.socket_path, child.executor).run()


def is_gone(parent: int) -> bool:
    """Whether it has ended or is about to: its sockets close a moment before its children have another parent."""
    if os.getppid() != parent:
        return True
    try:
        return not Path(f"/proc/{parent}/cmdline").read_bytes()  # its memory is given back before its sockets close
    except OSError:
        return False  # nobody can tell


if __name__ == "__main__":
    raise SystemExit(main(Nursery))
