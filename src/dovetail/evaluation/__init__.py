"""Judging schedulers: metrics, paired statistics, comparisons and the report."""
