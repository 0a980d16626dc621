"""`dovetail run gpu --engine slurm`: what a person would type wrong, and a machine without Slurm."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.execution.slurm.paper_slurm import START_S, a_job, a_node

from dovetail.cli import main
from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.nodes import SlurmNode
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
        (["--partition", "gpu", "--lease", "1", "--interval", "0.1"], "--lease 1; expected 10"),
        (["--partition", "gpu", "--patience", "0"], "--patience 0; expected 1"),
        (["--partition", "gpu", "--untyped", "zzz"], "--untyped: unknown type of GPU 'zzz'"),
        (["--release", "--act"], "expected one of them"),
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

        def nodes(self) -> tuple[SlurmNode, ...]:
            return (a_node("n1"),)

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


class Idle(SlurmClient):
    """Two partitions, nobody waits, no accounting; whoever looks has seen enough."""

    def check(self) -> str:
        return "slurm on paper"

    def nodes(self) -> tuple[SlurmNode, ...]:
        return (a_node("n1"), a_node("n2", partitions=frozenset({"gpu", "night"})))

    def history(self, days: int) -> str | None:
        return None

    def racks(self) -> dict[str, int]:
        raise SlurmError("enough")


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.execution.engines.slurm.client.SlurmClient", Idle)
    monkeypatch.setattr("dovetail.execution.engines.slurm.rehearsal.rehearse", lambda scheduler: None)


@pytest.mark.usefixtures("idle")
def test_a_partition_that_is_not_there_is_refused_with_those_that_are(capsys: Capture) -> None:
    assert main(["run", "gpu", "--partition", "nosuch"]) == 2
    printed = capsys.readouterr()
    assert "--partition nosuch" in printed.err and "expected one of gpu, night" in printed.err and not printed.out
    assert main(["run", "gpu", "--partition", "night"]) == 2
    assert "enough" in capsys.readouterr().err


COMPLETED = (
    "JobId=36 UserId=bob(65534) GroupId=nogroup(65534) Name=a job JobState=COMPLETED Partition=gpu TimeLimit=10 "
    "StartTime=2026-11-18T01:48:15 EndTime=2026-11-18T01:48:45 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/tmp "
)


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\nsome log\nof something else\n", "line 2 is 'some log'; expected lines of jobcomp/filetxt: JobId=N"),
        (bytes(range(256)), "no line is about a job"),
        (b"36|bob|train\n", "no line is about a job"),
    ],
    ids=["log", "binary", "sacct"],
)
def test_a_history_that_is_something_else_is_refused(text: bytes, said: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "history"
    file.write_bytes(text)
    assert main(["run", "gpu", "--partition", "gpu", "--history", str(file)]) == 2
    printed = capsys.readouterr().err
    assert f"--history {file}" in printed and said in printed and "enough" not in printed


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COMPLETED + "\n", "1 completed jobs"),
        ("", "0 completed jobs"),
        (COMPLETED + "\n" + COMPLETED[:40], "1 of 2 lines are not about a job: line 2 is 'JobId=36"),
    ],
    ids=["whole", "empty", "cut off"],
)
def test_a_history_is_read(text: str, said: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "history"
    file.write_text(text)
    assert main(["run", "gpu", "--partition", "gpu", "--history", str(file)]) == 2
    printed = capsys.readouterr().err
    assert said in printed and "enough" in printed


def test_a_slurm_out_of_reach_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    for name in ("squeue", "scontrol"):
        script = tmp_path / name
        script.write_text(
            "#!/bin/sh\n"
            "echo 'scontrol: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host' >&2\n"
            "echo 'scontrol: fatal: Could not establish a configuration source' >&2\n"
            "exit 1\n"
        )
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for options in (["--partition", "gpu"], ["--release"]):
        assert main(["run", "gpu", *options]) == 2
        printed = capsys.readouterr().err
        assert "(scontrol: Could not establish a configuration source); expected a running slurmctld" in printed
        assert "res_nsearch" not in printed and len(printed.splitlines()) == 1
