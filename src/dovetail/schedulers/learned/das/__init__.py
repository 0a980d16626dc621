"""DAS (KDD 2023): two agents that order jobs and place their workers."""
