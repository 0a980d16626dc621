"""Learned autoscalers of streaming jobs: SURE, and those it was compared with."""
