"""Which waiting job is taken next, a file for each answer."""
