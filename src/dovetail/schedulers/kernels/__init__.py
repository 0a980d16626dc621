"""Compiled loops of schedulers."""
