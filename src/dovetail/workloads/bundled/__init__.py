"""Workloads that were measured and are shipped as they are stored: a directory for each beside this file."""
