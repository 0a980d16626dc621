"""Real work in real time: the same schedulers, on this machine or on many."""
