"""Rules of thumb for streaming jobs."""
