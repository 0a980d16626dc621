"""The options of the elastic family: workload, arrivals, horizon, and hosts for workers and parameter servers."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dovetail.cli.arguments import Arguments, add_config, check_range

if TYPE_CHECKING:
    from dovetail.cluster.elastic import ElasticCluster
    from dovetail.evaluation.setting_elastic import ElasticSetting


@dataclass(frozen=True)
class ElasticArguments(Arguments):
    """All of a comparison, as configuration file and command line say it.  None: as the workload was made for."""

    FAMILY: ClassVar = "elastic"
    EXAMPLE: ClassVar = "elastic/fifo,elastic/drf"
    INSTEAD: ClassVar = (
        ("servers", "worker_hosts", "server_hosts"),
        ("worker_hosts", "servers"),
        ("server_hosts", "servers"),
    )

    workload: str = "oasis-small"
    jobs: int | None = None
    arrivals: str | None = None
    slots: int | None = None
    servers: int | None = None
    worker_hosts: int | None = None
    server_hosts: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, ("jobs", 1, 10**7), ("slots", 1, 10**6), ("servers", 2, 2 * 10**5))
        check_range(self, ("worker_hosts", 1, 10**5), ("server_hosts", 1, 10**5))
        hosts = (self.worker_hosts, self.server_hosts)
        if self.servers is not None and hosts != (None, None):
            raise ValueError("servers and worker_hosts or server_hosts are given; expected one or the other")
        if (self.worker_hosts is None) != (self.server_hosts is None):
            raise ValueError("only one of worker_hosts and server_hosts is given; expected both")

    @staticmethod
    def add_setting(parser: argparse.ArgumentParser) -> None:
        work = parser.add_argument_group("workload")
        work.add_argument(
            "--workload", metavar="NAME|DIR", help="bundled name, with parameters, or directory (oasis-small)"
        )
        work.add_argument("--jobs", type=int, metavar="N", help="jobs in a sequence (that of the workload)")
        work.add_argument(
            "--arrivals",
            metavar="KIND",
            help="poisson, uniform, batch, bursts, counts:file=FILE, or trace: as recorded (that of the workload)",
        )
        work.add_argument("--slots", type=int, metavar="N", help="slots of the horizon (that of the workload)")
        cluster = parser.add_argument_group("cluster")
        cluster.add_argument(
            "--servers", type=int, metavar="N", help="hosts in all, half of them for workers (those of the workload)"
        )
        cluster.add_argument("--worker-hosts", type=int, metavar="N", help="hosts for workers, instead")
        cluster.add_argument("--server-hosts", type=int, metavar="N", help="hosts for parameter servers, with it")
        add_config(parser)

    def setting(self) -> ElasticSetting:
        """What every scheduler meets; errors of value are found here."""
        from dovetail.evaluation.setting_elastic import ElasticSetting
        from dovetail.workloads.elastic_arrivals import read_arrivals

        arrivals = None if self.arrivals is None else read_arrivals(self.arrivals)
        return ElasticSetting(self.workload, self.jobs, arrivals, self.slots, self._cluster())

    def _cluster(self) -> ElasticCluster | None:
        from dovetail.cluster.elastic import ElasticCluster, halves

        if self.worker_hosts is not None and self.server_hosts is not None:
            return ElasticCluster(self.worker_hosts, self.server_hosts)
        return None if self.servers is None else halves(self.servers)
