"""`python -m dovetail` is the same as the `dovetail` command."""

import sys

from dovetail.cli import main

sys.exit(main())
