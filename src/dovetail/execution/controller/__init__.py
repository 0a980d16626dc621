"""The pure controller: events in, instructions out; no I/O, no clock of its own."""

from dovetail.execution.controller.controller import Controller
from dovetail.execution.controller.options import ControllerOptions

__all__ = ["Controller", "ControllerOptions"]
