"""Elastic schedulers that price resources, or solve for the best."""
