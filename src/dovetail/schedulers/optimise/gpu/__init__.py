"""Searches over order and places of the waiting GPU jobs."""
