"""Engines: where executors really are.  `local`: processes of this machine; `ray`: actors of a Ray cluster."""
