"""Clusters by name, and as a person writes them: `medium`, `small:machines=12,kinds=[v100x4,t4x4]`, `machines.csv`."""

from __future__ import annotations

from pathlib import Path

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.config import build
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_spec, read_overrides

MIXED = ("v100x4", "a100x4", "t4x4", "a10x4")
UNEVEN = 0.1  # docs/gpu-model.md says what was measured of real ones

CLUSTERS = {
    "small": GpuCluster(8),
    "medium": GpuCluster(32),
    "large": GpuCluster(128),
    "small-mixed": GpuCluster(8, MIXED),
    "medium-mixed": GpuCluster(32, MIXED),
    "large-mixed": GpuCluster(128, MIXED),
    "small-uneven": GpuCluster(8, uneven=UNEVEN),
    "medium-uneven": GpuCluster(32, uneven=UNEVEN),
    "large-uneven": GpuCluster(128, uneven=UNEVEN),
    "cloud-2023": GpuCluster(
        machines=1213,
        kinds=(
            "g2x8",
            "t4x2",
            "p100x2",
            "g3x8",
            "v100x4-small",
            "p100x2-large",
            "v100m32x8",
            "v100x1",
            "t4x4-large",
            "v100m32x4",
            "v100x8-small",
        ),
        shares=(0.453, 0.319, 0.092, 0.032, 0.023, 0.018, 0.017, 0.016, 0.014, 0.008, 0.007),
    ),
}
"""The last one looks like the cluster of the public trace of 2023: its kinds of machines, in about their shares."""


def read_cluster(text: str) -> GpuCluster:
    """A name of `CLUSTERS` with what differs from it, or a file with a list of machines."""
    name, overrides = parse_spec(text)
    if name in CLUSTERS:
        base = CLUSTERS[name]
        given = read_overrides(GpuCluster, overrides, f"cluster {name}")
        if "listed" in given:
            raise ConfigError(f"cluster {name}: machines are listed in a file (.toml or .csv)")
        plain: dict[str, object] = {
            "machines": base.machines,
            "kinds": base.kinds,
            "rack": base.rack,
            "uneven": base.uneven,
        }
        if "kinds" not in given:
            plain["shares"] = base.shares
        try:
            return build(GpuCluster, {**plain, **given}, f"cluster {name}")
        except ConfigError as error:  # of a value, which names its key alone
            known = str(error).startswith(f"cluster {name}")
            raise error if known else ConfigError(f"cluster {text}: {error}") from error
    if Path(text).suffix.lower() in (".toml", ".csv") or Path(text).exists():
        from dovetail.cluster.gpu_file import read_machines

        return read_machines(Path(text))
    raise UnknownName("cluster", name, CLUSTERS)
