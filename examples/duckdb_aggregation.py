"""Sales by region and product with DuckDB, in three stages: make the data, aggregate each part, combine the parts.

    pip install 'dovetail[examples]'
    python examples/duckdb_aggregation.py               # 8 parts of 500,000 rows
    python examples/duckdb_aggregation.py 32 2000000

Rows never travel between tasks: parts are Parquet files, and what is combined are sums.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from dovetail.execution import Engine, Job

Sums = list[tuple[str, str, float, int]]  # region, product, amount, sales


def make_part(part: tuple[int, int, str]) -> str:
    """A table of sales, the same every time."""
    number, rows, path = part
    duckdb.sql(f"""
        COPY (SELECT ['north', 'east', 'south', 'west'][(1 + hash(i) % 4)::INT] AS region,
                     'product ' || hash(i + 1) % 5 AS product,
                     (hash(i + 2) % 10000) / 100 AS amount
              FROM range({number * rows}, {(number + 1) * rows}) AS t(i))
        TO '{path}' (FORMAT parquet)""")
    return path


def aggregate(number: int, inputs: dict[str, Any]) -> Sums:
    path = inputs["make"][number]
    return duckdb.sql(f"SELECT region, product, sum(amount), count(*) FROM '{path}' GROUP BY ALL").fetchall()


def combine(_: int, inputs: dict[str, Any]) -> Sums:
    with duckdb.connect() as database:
        database.sql("CREATE TABLE sums (region TEXT, product TEXT, amount DOUBLE, sales BIGINT)")
        for part in inputs["aggregate"]:
            database.executemany("INSERT INTO sums VALUES (?, ?, ?, ?)", part)
        query = "SELECT region, product, sum(amount) AS total, sum(sales)::BIGINT FROM sums GROUP BY ALL"
        return database.sql(f"{query} ORDER BY total DESC").fetchall()


def main(parts: str = "8", rows: str = "500000") -> None:
    with tempfile.TemporaryDirectory() as folder, Engine() as engine:
        wanted = [(part, int(rows), str(Path(folder) / f"part-{part}.parquet")) for part in range(int(parts))]
        job = Job("sales")
        made = job.stage(make_part, tasks=wanted, name="make")
        summed = job.stage(aggregate, tasks=len(wanted), name="aggregate", after=[made], inputs=True)
        total = job.stage(combine, name="combine", after=[summed], inputs=True)
        (sums,) = engine.submit(job).results(total)
    print(f"{sum(row[3] for row in sums):,} sales in {len(wanted)} files")
    for region, product, amount, sales in sums[:5]:
        print(f"{region:6} {product}  {amount:16,.2f}  {sales:10,} sales")


if __name__ == "__main__":
    main(*sys.argv[1:])
