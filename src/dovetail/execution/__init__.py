"""Real work in real time, decided by the same schedulers as the simulator's."""
