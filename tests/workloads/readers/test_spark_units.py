from tests.workloads.readers.test_spark_eventlog import dags, read
from tests.workloads.spark_logs import SparkLog, stage


def ran(log, number, tasks, launch, end, **changes):
    for _ in range(tasks):
        log.task(number, launch, end, **changes)


def adaptive():
    """A query as Spark runs it adaptively: two shuffles as jobs of their own, a broadcast, then the result."""
    log = SparkLog()
    log.executor("1", 4)
    log.sql(7, 0, description="query")
    log.job(0, 10, stage(0, 2, rdd=50), execution=7)
    log.job(1, 12, stage(1, 3, rdd=60), execution=7)
    log.job(2, 14, stage(2, 1, rdd=70), execution=7)
    ran(log, 2, 1, 20, 300, result=True)
    log.job_end(2, 310)
    ran(log, 0, 2, 20, 1000)
    ran(log, 1, 3, 20, 1100)
    log.job_end(0, 1005)
    log.job_end(1, 1105)
    # The stages that wrote the shuffles have other numbers now, and are skipped.
    log.job(3, 1200, stage(3, 2, rdd=50), stage(4, 3, rdd=60), stage(5, 2, 3, 4, rdd=80), execution=7)
    ran(log, 5, 2, 1210, 1500)
    log.job_end(3, 1505)
    log.job(
        4,
        1600,
        stage(6, 2, rdd=50),
        stage(7, 3, rdd=60),
        stage(8, 2, 6, 7, rdd=80),
        stage(9, 1, 8, rdd=90),
        execution=7,
    )
    ran(log, 9, 1, 1610, 1700, result=True)
    log.job_end(4, 1705)
    log.sql_end(7, 1710)
    return log.end(2000)


def test_the_jobs_of_a_query_are_one_dag(tmp_path):
    imported = read(tmp_path, adaptive())
    through_shuffles = {("0", "5"), ("1", "5"), ("5", "9")}
    after_the_broadcast = {("2", "5")}  # and so before 9, too
    assert dags(imported) == {
        "app-1-sql-7": ({"0": 2, "1": 3, "2": 1, "5": 2, "9": 1}, through_shuffles | after_the_broadcast)
    }
    assert "3 skipped stages were resolved" in " ".join(imported.notes)


def test_every_spark_job_may_be_a_job(tmp_path):
    imported = read(tmp_path, adaptive(), jobs_are="job")
    assert dags(imported) == {
        f"app-1-job-{job}": ({stage: tasks}, set())
        for job, stage, tasks in ((0, "0", 2), (1, "1", 3), (2, "2", 1), (3, "5", 2), (4, "9", 1))
    }
    assert "3 of these belong to earlier jobs" in " ".join(imported.notes)


def test_an_application_may_be_a_job(tmp_path):
    log = adaptive()
    log.lines.pop()
    log.job(9, 3000, stage(20, 2))
    ran(log, 20, 2, 3000, 4000, result=True)
    log.job_end(9, 4000)
    stages, edges = dags(read(tmp_path, log.end(5000), jobs_are="application"))["app-1"]
    assert stages == {"0": 2, "1": 3, "2": 1, "5": 2, "9": 1, "20": 2}
    assert ("9", "20") in edges and ("2", "20") not in edges  # the program went on after the result


def test_an_application_that_has_not_ended_is_none(tmp_path):
    log = adaptive()
    log.lines.pop()
    two = adaptive()
    two.lines = [line.replace("app-1", "app-2") for line in two.lines]
    imported = read(tmp_path, log, two, jobs_are="application")
    assert set(dags(imported)) == {"app-2"}


def test_executions_within_an_execution_belong_to_it(tmp_path):
    log = SparkLog()
    log.executor("1", 1)
    log.sql(1, 0)
    log.sql(2, 5, root=1)
    log.job(0, 10, stage(0, 1), execution=2)
    ran(log, 0, 1, 10, 100, result=True)
    log.job_end(0, 110)
    log.sql_end(2, 115)
    log.sql_end(1, 120)
    assert set(dags(read(tmp_path, log))) == {"app-1-sql-1"}


def test_queries_that_failed_are_left_out(tmp_path):
    log = adaptive()
    log.lines = [line.replace('"errorMessage":""', '"errorMessage":"no space"') for line in log.lines]
    log.job(9, 3000, stage(20, 2))
    ran(log, 20, 2, 3000, 4000)
    log.job_end(9, 4000)
    assert set(dags(read(tmp_path, log))) == {"app-1-job-9"}


def test_queries_of_old_versions_succeed_with_their_jobs(tmp_path):
    log = adaptive()
    log.lines = [line.replace(',"errorMessage":""', "") for line in log.lines]
    assert set(dags(read(tmp_path, log))) == {"app-1-sql-7"}


def test_what_is_kept_comes_before_what_reads_it(tmp_path):
    log = SparkLog()
    log.executor("1", 4)
    log.sql(0, 0)
    log.job(0, 0, stage(0, 2, persisted=(33,)), execution=0)
    ran(log, 0, 2, 0, 100)
    log.job_end(0, 110)
    log.job(1, 200, stage(1, 2, persisted=(33,)), stage(2, 1), execution=0)
    ran(log, 1, 2, 200, 300)
    ran(log, 2, 1, 200, 300)
    log.job_end(1, 310)
    log.sql_end(0, 400)
    assert dags(read(tmp_path, log))["app-1-sql-0"][1] == {("0", "1")}


def test_parents_that_did_not_run_hand_their_parents_on(tmp_path):
    log = SparkLog()
    log.executor("1", 4)
    log.job(0, 0, stage(0, 2), stage(1, 0, 0), stage(2, 1, 1, 77))
    ran(log, 0, 2, 0, 100)
    ran(log, 2, 1, 200, 300)
    log.job_end(0, 310)
    imported = read(tmp_path, log)
    assert dags(imported)["app-1-job-0"] == ({"0": 2, "2": 1}, {("0", "2")})
    assert "1 parents of stages did not run at all" in " ".join(imported.notes)
    assert "1 parents of stages are not in the log" in " ".join(imported.notes)


def test_of_several_candidates_the_latest_is_taken(tmp_path):
    log = SparkLog()
    log.executor("1", 4)
    log.sql(0, 0)
    for job, start in ((0, 0), (1, 200)):  # the files of the first were lost
        log.job(job, start, stage(job, 2, rdd=50), execution=0)
        ran(log, job, 2, start, start + 100)
        log.job_end(job, start + 110)
    log.job(2, 400, stage(2, 2, rdd=50), stage(3, 1, 2), execution=0)
    ran(log, 3, 1, 400, 500, result=True)
    log.job_end(2, 510)
    log.sql_end(0, 600)
    imported = read(tmp_path, log)
    assert dags(imported)["app-1-sql-0"][1] == {("1", "3")}
    assert "1 of these could have been one of several" in " ".join(imported.notes)


def test_a_stage_that_two_jobs_list_belongs_to_the_first(tmp_path):
    log = SparkLog()
    log.executor("1", 4)
    log.job(0, 0, stage(0, 2), stage(1, 1, 0))
    log.job(1, 5, stage(0, 2), stage(2, 1, 0))
    ran(log, 0, 2, 10, 100)
    ran(log, 1, 1, 110, 200)
    ran(log, 2, 1, 110, 200)
    log.job_end(0, 210)
    log.job_end(1, 210)
    assert dags(read(tmp_path, log)) == {
        "app-1-job-0": ({"0": 2, "1": 1}, {("0", "1")}),
        "app-1-job-1": ({"2": 1}, set()),
    }
