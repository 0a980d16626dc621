"""Schedulers of streaming jobs that search, by a model of the queues, for what is best."""
