"""Autoscaling of a job on a Flink cluster with the adaptive scheduler, by any `stream/...` scheduler.

client, messages              asks the job manager over REST; job, metrics, rescales: what it answers, parsed
snapshot, latency             counters of two looks become what was measured between them
view                          the job and its last snapshots, as schedulers see them
downtime, guards, controller  who gets how many instances, within limits, and what came of it; without any I/O
prometheus, record            what happened, for a monitor and for `dovetail report`
rehearsal                     one decision about a made-up job, to have everything compiled
looking, loop                 looks, asks and acts, again and again
watch, calibrate              only looks, and makes a stream workload that is like the job
"""
