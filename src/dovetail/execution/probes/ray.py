"""Ray: one process on this machine, or a cluster."""

from __future__ import annotations

from dovetail.execution.probes.finding import Finding, package_version


def probe() -> Finding:
    there = package_version("ray")
    if there is None:
        return Finding("ray", missing=("the package ray: pip install 'dovetail[ray]'",), use=_USE)
    return Finding("ray", (there,), use=_USE)


_USE = "dovetail up --engine ray"
