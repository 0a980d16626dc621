"""What the exit codes of the commands mean; 0 is done."""

from __future__ import annotations

EXIT_FAILED = 1  # some scheduler failed; the results of the others are complete
EXIT_ERROR = 2  # the user can mend it
EXIT_INTERRUPTED = 130  # 128 + SIGINT
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE: the reader of our output went away
