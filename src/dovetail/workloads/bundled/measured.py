"""Opens measured workloads that are shipped: the stored catalogue, or a part of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail.core.errors import ConfigError, DovetailError
from dovetail.workloads.dag import DagCatalogue
from dovetail.workloads.readers.native import read_source

FOLDER = Path(__file__).parent

_NAME = re.compile(r"tpch-(\d+(?:\.\d+)?)g-q(\d+)")


@dataclass(frozen=True)
class TpchSpark:
    """What to take of `tpch-spark`, the queries of TPC-H as measured on Spark by `experiments/spark_tpch.py`."""

    sizes_gb: tuple[float, ...] = ()  # scale factors, one of which is about one GB; none given: all
    queries: tuple[int, ...] = ()  # 1 to 22; none given: all

    def catalogue(self) -> DagCatalogue:
        catalogue = read_bundle("tpch-spark")
        dags = [(float(found[1]), int(found[2])) for found in map(_NAME.fullmatch, catalogue.dag_name) if found]
        for name, asked, there in (
            ("sizes_gb", self.sizes_gb, {size for size, _ in dags}),
            ("queries", self.queries, {query for _, query in dags}),
        ):
            if not set(asked) <= there:
                known = ", ".join(f"{value:g}" for value in sorted(there))
                raise ConfigError(f"tpch-spark: {name} that were measured are {known}, not {list(asked)}")
        kept = [
            dag
            for dag, (size, query) in enumerate(dags)
            if (not self.sizes_gb or size in self.sizes_gb) and (not self.queries or query in self.queries)
        ]
        return catalogue if len(kept) == len(dags) else catalogue.select(kept)


def read_bundle(name: str) -> DagCatalogue:
    """The catalogue that is shipped under this name."""
    folder = FOLDER / name.replace("-", "_")
    if not folder.is_dir():
        raise DovetailError(f"workload {name} is not part of this installation; experiments/ has what measures it")
    return replace(read_source(folder).catalogue, name=name)
