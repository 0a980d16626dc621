"""Readers of foreign sources, one file each.  A reader takes a path and gives `Imported`."""

from __future__ import annotations

READERS = {
    "tpch": "the TPC-H folders that Decima was published with (adj_mat_*.npy, task_duration_*.npy)",
    "alibaba2018": "the Alibaba cluster trace of 2018: batch_task.csv, or an hour sample of it",
    "elastic-csv": "elastic training jobs, one in each line of a CSV file with a header",
    "arrival-counts": "arrivals per slot: JSON, CSV, or the jobs of an Alibaba trace; jobs are drawn (--jobs-from)",
    "elastic-speeds": "measured speeds of parameter-server training: fitted, and made kinds of job (--jobs-from)",
    "dovetail": "a workload directory whose tables were edited by hand: checked and sealed anew",
    # "spark": Spark event logs, in readers/spark.py
}
"""Name on the command line -> what it reads."""
