"""Learning schedulers: roll-outs, credit, losses, workers, and the loop that drives them.  Needs torch."""
