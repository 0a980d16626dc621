"""Schedulers that search or solve, one folder a kind of work."""
