"""Schedulers that search: they weigh several decisions before taking one."""
