"""Generators: parameters and a seed become kinds of job."""
