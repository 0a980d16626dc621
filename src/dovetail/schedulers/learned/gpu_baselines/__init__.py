"""Learned schedulers of GPU jobs that others have published: gpu/rifling and gpu/dl2, as far as they are known."""
