from dovetail.execution.controller.messages import Run
from dovetail.execution.engines.local_slot import Node, Slot
from dovetail.execution.failure import Failure
from dovetail.execution.outfile import CANCELLED, FAILED, OutFile, out_path


def test_a_failure_that_was_reported_is_not_found_again_after_a_cancelled_task(tmp_path):
    """The report ends with a task that has no record, and the executor dies while it has more to do."""
    slot = Slot(0, 0, Node("node"))
    run = Run(0, 5, 1, 0, [0, 1, 2], 0, 0, 1)
    slot.sent(run)
    out = OutFile(out_path(str(tmp_path), 0, 0))
    failure = Failure.of(ValueError("once"))
    payload = failure.to_bytes()
    offset = out.add(0, 0, FAILED, payload, 1.0, 2.0)
    out.flush()
    out.close()
    slot.reported(5, [(0, FAILED, offset, len(payload), 1.0, 2.0, failure.line), (1, CANCELLED, -1, 0, 2.0, 2.0, "")])
    again = Run(0, 6, 1, 0, [0], 0, 0, 1)
    slot.sent(again)
    assert slot.unreported(again, {0}, str(tmp_path)) == []
