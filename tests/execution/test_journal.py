"""The journal when it does not say what it should."""

import sqlite3
from pathlib import Path

import pytest

from dovetail.execution.journal import Journal, JournalDamaged, JournalError
from dovetail.execution.spec import JobSpec, StageSpec


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.sqlite"
    journal = Journal.open(path)
    for number in range(200):
        job = journal.begin_job(JobSpec(f"job {number}", (StageSpec("s", 100),)), f"key {number}", 0.0)
        journal.commit_job()
        journal.add([(job, 0, task, 0, 1, 50 * task, 5) for task in range(100)])
    journal.commit()
    journal.close()
    return path


def read_all(path: Path) -> int:
    journal = Journal.open(path)
    try:
        journal.count_start()
        return sum(len(journal.completions(job.job)) + len(journal.counts(job.job)) for job in journal.jobs())
    finally:
        journal.close()


def test_a_journal_damaged_anywhere_is_an_error_that_names_it(path: Path) -> None:
    whole = path.read_bytes()
    assert read_all(path) == 200 * 101
    said = []
    for page in range(4096, len(whole), 3 * 4096):
        path.write_bytes(whole[: page + 8] + b"\xff" * 4000 + whole[page + 4008 :])
        try:
            read_all(path)
        except (JournalDamaged, JournalError) as error:
            said.append(str(error))
    assert len(said) > 10
    assert all(str(path) in text for text in said)
    assert any("cannot be read" in text and "move it away" in text for text in said)


def test_a_job_that_makes_no_sense_is_named(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE jobs SET spec = '{]' WHERE job = 7")
    db.close()
    with pytest.raises(JournalDamaged, match=r"journal\.sqlite, job 7: the journal cannot be read"):
        read_all(path)


def test_orders_hold_until_others_are_given(path: Path) -> None:
    journal = Journal.open(path)
    assert journal.order("draining") is None
    journal.set_order("draining", "yes")
    journal.set_order("draining", "indeed")
    journal.close()
    journal = Journal.open(path)
    assert journal.order("draining") == "indeed"
    journal.set_order("draining", None)
    assert journal.order("draining") is None
    journal.close()
