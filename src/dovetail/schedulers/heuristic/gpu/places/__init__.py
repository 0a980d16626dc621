"""On which machines the workers of a job stand, a file for each answer."""
