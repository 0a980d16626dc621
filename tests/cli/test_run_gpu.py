"""`dovetail run gpu --engine slurm`: what a person would type wrong, and a machine without Slurm."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.execution.slurm.paper_slurm import START_S, a_job

from dovetail.cli import main
from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.trace import this_owner

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "either --partition P or --marker M"),
        (["--partition", "gpu", "--marker", "ml"], "either --partition P or --marker M"),
        (["--partition", "gpu", "--engine", "local"], "unknown engine 'local'"),
        (["--partition", "gpu", "--scheduler", "gpu/fifo+first-fat"], "did you mean 'first-fit'"),
        (["--partition", "gpu", "--speeds", "nowhere.csv"], "nowhere.csv"),
        (["--partition", "gpu", "--scheduler", "dag/fifo"], "unknown gpu scheduler 'dag/fifo'"),
        (["--partition", "a,b"], "the name of one"),
        (["--marker", "two words"], "one word of letters"),
        (["--partition", "gpu", "--interval", "0"], "expected 0.1 to 3600"),
        (["--partition", "gpu", "--interval", "60"], "too long for --lease 120"),
        (["--partition", "gpu", "--lease", "1", "--interval", "0.1"], "lease_s is 1; expected 10"),
        (["--partition", "gpu", "--patience", "0"], "patience_s is 0"),
        (["--partition", "gpu", "--for", "nan"], "expected seconds above 0"),
        (["--partition", "gpu", "--seed", "-1"], "expected 0 or more"),
        (["--partition", "gpu", "--of", "login2"], "expected --release with it"),
    ],
)
def test_bad_options_are_explained(options: list[str], said: str, capsys: Capture) -> None:
    assert main(["run", "gpu", *options]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and not printed.out


@pytest.mark.parametrize("options", [["--partition", "gpu"], ["--release"]])
def test_without_slurm_it_says_what_is_missing(
    options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["run", "gpu", *options]) == 2
    assert "squeue is not installed" in capsys.readouterr().err


HERE = socket.gethostname()


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        ([], {2, 3}, "2 jobs are left to a run on afar; if none is alive there: --release --of afar"),
        (["--of", HERE], {2, 3}, "2 jobs are left to a run on afar"),
        (["--of", "afar"], {2, 3, 4}, "3 jobs were given back to Slurm, 1 run where they were told to\n"),
    ],
    ids=["here", "of here", "of another"],
)
def test_release_leaves_jobs_of_living_runs_alone(
    options: list[str], given: set[int], said: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    traces = {
        1: f"{this_owner(HERE)} queued",
        2: f"{HERE}/1/never queued",
        3: f"{HERE}/1/never told nice=0",
        4: "afar/7/7 queued",
        5: "afar/7/7 told nice=0",
        6: "elsewhere/7/7 free",
    }
    jobs = [a_job(job, admin_comment=f"[dovetail {trace}]", eligible_s=START_S) for job, trace in traces.items()]
    jobs[4] = a_job(5, admin_comment=jobs[4].admin_comment, state="RUNNING", nodes=("n1",))
    touched: set[int] = set()

    class Fake(SlurmClient):
        def check(self) -> str:
            return "slurm on paper"

        def jobs(self) -> tuple[SlurmJob, ...]:
            return tuple(jobs)

        def update(self, jobs: Iterable[int], **settings: str) -> dict[int, str]:
            touched.update(jobs)
            return {}

    monkeypatch.setattr("dovetail.execution.engines.slurm.client.SlurmClient", Fake)
    assert main(["run", "gpu", "--release", *options]) == 0
    assert touched == given
    assert said in capsys.readouterr().out


def test_a_scheduler_rehearses_before_the_first_look(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    story: list[str] = []

    class Fake(SlurmClient):
        def check(self) -> str:
            story.append("checked")
            return "slurm on paper"

        def history(self, days: int) -> str | None:
            return None

        def racks(self) -> dict[str, int]:
            story.append("looked")
            raise SlurmError("enough")

    monkeypatch.setattr("dovetail.execution.engines.slurm.client.SlurmClient", Fake)
    monkeypatch.setattr(
        "dovetail.execution.engines.slurm.rehearsal.rehearse", lambda scheduler: story.append("rehearsed")
    )
    assert main(["run", "gpu", "--partition", "gpu"]) == 2
    assert "enough" in capsys.readouterr().err
    assert story == ["checked", "rehearsed", "looked"]
