"""Schedulers of gang-scheduled training jobs on machines with GPUs: an order, and a place."""
