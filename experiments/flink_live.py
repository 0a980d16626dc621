"""Autoscalers on a real Flink: a job whose rate triples and falls again, by turns under each of them.

    .venv/bin/python experiments/flink_live.py --write

The cluster and the job are those of `make test-engines`: one task manager of eight slots on this machine, a source that
is a replayable log, `enrich` (10 ms for a record) and `score` (25 ms, keyed, with state), which wait as those do that
ask another service, so that two cores are enough, and a sink that commits with checkpoints.  Latency is measured at
`score`, from when a record was due; lost and doubled records are counted at the sink.  Time is scaled: a snapshot is
1 s and an interval 5 s, instead of a minute and an hour (docs/flink.md says what that means to `stream/sure`).

Repetitions take turns, so that what else the machine does falls on all alike.  Runs are kept in OUT and not repeated.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from commands import publish, table

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.engines.virtual_flink import VirtualFlink, lost_and_doubled, wait_until, why_not  # noqa: E402

from dovetail.evaluation.statistics import bootstrap_mean  # noqa: E402

SCHEDULERS = {
    "stream/ds2": "stream/ds2:utilisation=0.7",
    "stream/sure": "stream/sure",
    "stream/quantile": "stream/quantile:ahead_s=5",
    "stream/hpa": "stream/hpa:metric_s=5,stabilisation_s=15",
    "stream/flink": "stream/flink:window_s=5,catch_up_s=10,backlog_s=5,grace_s=10",
    "fixed, for the peak": "stream/fixed:parallelism=3",
    "fixed, for the start": "stream/fixed",
}
LOW, HIGH = 20, 60  # records a second
FAST = ("--snapshot", "1", "--interval", "5", "--cooldown", "5", "--max-rescales", "1000", "--slo", "1")
LEAD_S = 15.0  # before the first record comes: for the autoscaler to be there
TAIL_S = 180.0  # for a job that did not keep up to end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=int, nargs=3, default=[30, 60, 45], help="low, high and low again")
    parser.add_argument("--only", nargs="+", choices=SCHEDULERS, default=list(SCHEDULERS), metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("runs/flink_live"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    reason = why_not()
    if reason:
        raise SystemExit(f"no Flink can be started here: {reason}")
    args.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in args.only}
    cluster: VirtualFlink | None = None
    try:
        for repetition in range(args.repetitions):
            turn = repetition % len(args.only)
            for name in [*args.only[turn:], *args.only[:turn]]:
                kept = args.out / f"{name.replace('/', '-').replace(', ', '-').replace(' ', '-')}-{repetition}.json"
                if not kept.exists():
                    if cluster is None:
                        cluster = VirtualFlink()
                        cluster.start()
                    kept.write_text(json.dumps(played(cluster, args, name, kept.stem)))
                found[name].append(json.loads(kept.read_text()))
    finally:
        if cluster is not None:
            cluster.stop()
    publish("flink_live", "Autoscalers on a real Flink", text_of(args, found), write=args.write)


def played(flink: VirtualFlink, args: argparse.Namespace, name: str, run: str) -> dict[str, float]:
    """One job under one autoscaler, from its first record to its last."""
    seconds = args.seconds
    schedule = f"{seconds[0]}:{LOW},{seconds[1]}:{HIGH},{seconds[2]}:{LOW}"
    total = seconds[0] * LOW + seconds[1] * HIGH + seconds[2] * LOW
    print(f"{run}: {schedule}", file=sys.stderr)
    job = flink.submit(schedule, name=run, parallelism=1, enrich_ms=10, score_ms=25, lead_s=LEAD_S)
    words = [sys.executable, "-m", "dovetail", "autoscale", "--flink", flink.url, "--job", job, "--act"]
    words += [*FAST, "--latency", "queues", "--scheduler", SCHEDULERS[name], "--json"]
    began_s = time.time()
    running = subprocess.Popen(words, cwd=ROOT, text=True, stdout=subprocess.PIPE)
    try:
        wait_until(lambda: flink.state(job) == "FINISHED", run, LEAD_S + sum(seconds) + TAIL_S)
        lines = [json.loads(line) for line in running.communicate(timeout=120)[0].splitlines()]
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
            running.communicate()
    written = flink.written(run)
    late_s = sorted(late for _, late, _ in written)
    lost, doubled, forgot = lost_and_doubled(written, total)
    rescales = [line for line in lines if line["event"] == "rescaled"]
    return {
        "mean_latency_s": sum(late_s) / len(late_s),
        "p99_latency_s": late_s[int(0.99 * len(late_s))],
        "above_slo": sum(late > 1.0 for late in late_s) / len(late_s),
        "lost": lost,
        "doubled": doubled,
        "forgot": forgot,
        "rescales": len(rescales),
        "down_s": sum(line["down_s"] for line in rescales),
        "instance_hours": instance_s(lines, began_s) / 3600.0,
    }


def instance_s(lines: list[dict[str, Any]], began_s: float) -> float:
    """Instances over time, from the first look to the end of the job."""
    now = sum(one["parallelism"] for one in next(line for line in lines if line["event"] == "job")["operators"])
    at_s, spent = began_s, 0.0
    for line in lines:
        if line["event"] in ("rescaled", "ended"):
            spent += now * (line["time_s"] - at_s)
            at_s = line["time_s"]
            now = sum(line["parallelism"].values()) if line["event"] == "rescaled" else now
    return spent


def text_of(args: argparse.Namespace, found: dict[str, list[dict[str, float]]]) -> str:
    head = ["autoscaler", "latency, s", "p99 latency, s", "above 1 s", "rescales", "down, s", "instance-hours", "lost"]
    rows = []
    for name, runs in found.items():
        names = ("mean_latency_s", "p99_latency_s", "above_slo", "rescales", "down_s", "instance_hours")
        cells = [interval([run[key] for run in runs], 100.0 if key == "above_slo" else 1.0) for key in names]
        cells[2] += " %"
        lost = f"{sum(run['lost'] + run['doubled'] + run['forgot'] for run in runs):.0f}"
        rows.append([f"`{SCHEDULERS[name]}`" + (f" ({name})" if "," in name else ""), *cells, lost])
    low_s, high_s, end_s = args.seconds
    return (
        f"{LOW} records a second for {low_s} s, {HIGH} for {high_s} s, {LOW} for {end_s} s; {args.repetitions} "
        "repetitions by turns, means with 95 % intervals (bootstrap).  Latency is that of every record, measured at "
        "the last operator with a cost; lost: records that are missing or doubled at the sink, and keys that lost "
        f"count.\n\n{table(head, rows)}"
    )


def interval(values: list[float], scale: float) -> str:
    if len(values) < 2:
        return f"{scale * values[0]:.3g}"
    found = bootstrap_mean([scale * value for value in values])
    return f"{found.mean:.3g} [{found.low:.3g}, {found.high:.3g}]"


if __name__ == "__main__":
    main()
