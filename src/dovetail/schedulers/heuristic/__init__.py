"""Schedulers that follow a fixed rule, one folder a kind of work."""
