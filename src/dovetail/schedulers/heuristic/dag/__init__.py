"""Schedulers that follow a fixed rule.  Most are list schedulers: see `list_scheduling`."""
