"""What work runs on: machines of several kinds, and how much of everything they have."""
