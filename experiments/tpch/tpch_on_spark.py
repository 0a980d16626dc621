"""TPC-H as it is put to Spark: schemas, queries, and how Spark is configured."""

from __future__ import annotations

import re
from pathlib import Path

MONEY = "decimal(15, 2)"
SCHEMAS = {
    "region": "r_regionkey bigint, r_name string, r_comment string",
    "nation": "n_nationkey bigint, n_name string, n_regionkey bigint, n_comment string",
    "supplier": "s_suppkey bigint, s_name string, s_address string, s_nationkey bigint, s_phone string, "
    f"s_acctbal {MONEY}, s_comment string",
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string, "
    f"c_acctbal {MONEY}, c_mktsegment string, c_comment string",
    "part": "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int, "
    f"p_container string, p_retailprice {MONEY}, p_comment string",
    "partsupp": f"ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost {MONEY}, ps_comment string",
    "orders": f"o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice {MONEY}, o_orderdate date, "
    "o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, "
    f"l_quantity {MONEY}, l_extendedprice {MONEY}, l_discount {MONEY}, l_tax {MONEY}, l_returnflag string, "
    "l_linestatus string, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, "
    "l_shipmode string, l_comment string",
}
"""Given, not inferred: inferring takes a Spark job, which would warm the executors up before they are measured."""

CONFIGURATION = {
    "spark.executor.cores": "1",
    "spark.sql.files.maxPartitionBytes": "16m",
    "spark.sql.files.openCostInBytes": "512k",
    "spark.sql.shuffle.partitions": "64",
    "spark.sql.autoBroadcastJoinThreshold": "1280k",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "512k",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.default.parallelism": "16",
}
"""Sizes are an eighth of Spark's own or less, so that a GB has the tasks that a cluster's data sets have.  The rest
keeps plans from depending on the number of executors and on which stage happens to end first."""


def queries(scale_factor: float) -> dict[int, str]:
    text = (Path(__file__).parent / "queries.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- q(\d+)$", text, flags=re.MULTILINE)
    fraction = f"{0.0001 / scale_factor:.10f}"
    return {int(n): sql.replace(":FRACTION", fraction) for n, sql in zip(parts[1::2], parts[2::2], strict=True)}
