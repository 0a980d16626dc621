"""Readers of foreign sources, one file each.  A reader takes a path and gives `Imported`."""

from __future__ import annotations

READERS = {
    "tpch": "the TPC-H folders that Decima was published with (adj_mat_*.npy, task_duration_*.npy)",
    "alibaba2018": "the Alibaba cluster trace of 2018: batch_task.csv, or an hour sample of it",
    "spark-eventlog": "what Spark ran: an event log, a rolling directory of one, or a folder of both",
    "elastic-csv": "elastic training jobs, one in each line of a CSV file with a header",
    "arrival-counts": "arrivals per slot: JSON, CSV, or the jobs of an Alibaba trace; jobs are drawn (--jobs-from)",
    "elastic-speeds": "measured speeds of parameter-server training: fitted, and made kinds of job (--jobs-from)",
    "alibaba-gpu2023": "the Alibaba GPU cluster trace of 2023: pods, and machines if their list is beside it",
    "alibaba-pai2020": "the Alibaba PAI trace of 2020: tables of jobs, tasks, instances and machines",
    "philly": "the job log of the Philly trace (JSON)",
    "helios": "a Helios trace: cluster_log.csv",
    "slurm-sacct": "what Slurm remembers: output of sacct -P or sacct --json",
    "gpu-csv": "GPU training jobs, one in each line of a CSV file with a header",
    "rates": "requests or records in each second, minute or hour: CSV with times, or counts only; packed or not",
    "stream-alibaba": "streaming jobs with the graphs of jobs of the Alibaba cluster trace of 2018",
    "dovetail": "a workload directory whose tables were edited by hand: checked and sealed anew",
}
"""Name on the command line -> what it reads."""
