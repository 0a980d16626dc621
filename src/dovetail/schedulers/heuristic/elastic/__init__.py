"""Schedulers of elastic training jobs that follow a fixed rule, slot by slot: see `slot_scheduler`."""
