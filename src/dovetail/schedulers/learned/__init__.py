"""Learned schedulers.  Deciding needs numpy and numba only; torch is for training."""
