"""elastic/learned: prices that a network scales, slot by slot."""
