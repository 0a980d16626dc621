"""Elastic training for real: jobs of workers and parameter servers whose numbers change from slot to slot.

A `TrainingJob` is trained by worker processes that fetch parameters from, and send gradients to, parameter servers,
each of which owns a shard of them.  Its `Coordinator` adds and removes both; the `Controller` asks an `elastic/...`
scheduler who gets how many, where and when, as the simulated world does.  Workers and servers are processes of this
machine (`engines.local_fleet`) or Ray actors (`engines.ray_fleet`).
"""
