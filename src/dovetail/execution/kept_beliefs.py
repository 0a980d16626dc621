"""What a scheduler learned, between engines: read before the first event, written every minute and at the end."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.core.errors import ConfigError, RecordError
from dovetail.execution.agenda import Agenda
from dovetail.execution.controller.incumbent import Incumbent
from dovetail.execution.controller.messages import BeliefsGiven
from dovetail.records.beliefs import BeliefsFile

EVERY_S = 60.0


class KeptBeliefs:
    def __init__(self, file: BeliefsFile, incumbent: Incumbent, notice: Callable[[str, str], None]) -> None:
        self._file = file
        self._incumbent = incumbent
        self._notice = notice
        self._was_read = False  # what could not be read is not overwritten

    def read(self, handle: Callable[[BeliefsGiven], None], agenda: Agenda) -> None:
        beliefs = self._file.load()
        if beliefs is None:
            beliefs = self._incumbent.beliefs()  # none yet, but it must be somebody who has any
        try:
            handle(BeliefsGiven(beliefs))
        except ConfigError as error:
            raise ConfigError(f"{self._file.path}: {error}") from error
        self._was_read = True
        agenda.at(EVERY_S, lambda: self._write_again(agenda))

    def write(self) -> None:
        beliefs = self._incumbent.beliefs() if self._was_read else None
        if beliefs is not None:
            try:
                self._file.save(beliefs)
            except RecordError as error:  # the work is worth more than what was learned from it
                self._notice("beliefs", str(error))

    def _write_again(self, agenda: Agenda) -> None:
        self.write()
        agenda.at(EVERY_S, lambda: self._write_again(agenda))
