import pytest
from tests.workloads.spark_logs import SparkLog, stage, two_stages

from dovetail.core.errors import ConfigError, InvalidWorkload, UnknownName
from dovetail.workloads.check import check_source
from dovetail.workloads.dag import FIRST, FRESH, REST
from dovetail.workloads.readers.spark_eventlog import SparkOptions, read_spark_eventlog


def read(tmp_path, *logs, **options):
    for position, log in enumerate(logs):
        (tmp_path / f"log-{position}").write_bytes(log.text() if isinstance(log, SparkLog) else log)
    path = tmp_path / "log-0" if len(logs) == 1 else tmp_path
    imported = read_spark_eventlog(path, SparkOptions(**options))
    check_source(imported.source)
    return imported


def faults_of(tmp_path, *logs, **options):
    with pytest.raises(InvalidWorkload) as caught:
        read(tmp_path, *logs, **options)
    return [(fault.row, fault.field, fault.problem) for fault in caught.value.faults]


def dags(imported):
    """Dag -> stages with their tasks, and edges, by name."""
    c = imported.source.catalogue
    found = {}
    for dag, name in enumerate(c.dag_name):
        own = c.stage_name[c.stage_ptr[dag] : c.stage_ptr[dag + 1]]
        tasks = c.num_tasks[c.stage_ptr[dag] : c.stage_ptr[dag + 1]].tolist()
        rows = range(c.edge_ptr[dag], c.edge_ptr[dag + 1])
        edges = {(own[c.edge_parent[row]], own[c.edge_child[row]]) for row in rows}
        found[name] = (dict(zip(own, tasks, strict=True)), edges)
    return found


def groups(imported):
    """(stage, wave, executors) -> durations."""
    c = imported.source.catalogue
    columns = zip(c.duration_stage, c.duration_wave, c.duration_executors, strict=True)
    samples = [c.duration_s[a:b].tolist() for a, b in zip(c.duration_ptr, c.duration_ptr[1:], strict=False)]
    return {(int(s), int(w), int(e)): each for (s, w, e), each in zip(columns, samples, strict=True)}


def test_a_job_of_two_stages(tmp_path):
    imported = read(tmp_path, two_stages())
    assert dags(imported) == {"app-1-job-0": ({"0": 3, "1": 2}, {("0", "1")})}
    assert groups(imported) == {
        (0, FRESH, 2): [1.0, 1.2],
        (0, REST, 2): [0.5],
        (1, FIRST, 2): [0.3, 0.4],
    }
    assert imported.source.recorded.arrival_s.tolist() == [0]
    (note,) = imported.notes
    assert "1 applications with 1 jobs of 1 kinds and 5 tasks" in note


def test_jobs_come_when_they_were_submitted(tmp_path):
    imported = read(tmp_path, two_stages("app-2", start=5000), two_stages("app-1"))
    assert imported.source.recorded.job_name == ("app-1-job-0", "app-2-job-0")
    assert imported.source.recorded.arrival_s.tolist() == [0, 5]


def test_attempts_of_an_application_are_told_apart(tmp_path):
    logs = [two_stages().text().replace(b'"App Name"', b'"App Attempt ID":"%d","App Name"' % n) for n in (1, 2)]
    assert read(tmp_path, *logs).source.recorded.job_name == ("app-1_1-job-0", "app-1_2-job-0")


def test_one_application_of_several(tmp_path):
    logs = (two_stages("app-2", start=5000), two_stages("app-1"))
    assert read(tmp_path, *logs, application="app-2").source.recorded.job_name == ("app-2-job-0",)
    with pytest.raises(UnknownName, match="did you mean 'app-"):
        read(tmp_path, *logs, application="app-3")


def test_failed_killed_and_speculative_tasks_are_no_durations(tmp_path):
    log = SparkLog()
    log.executor("1", 1)
    log.executor("2", 2)
    log.job(0, 0, stage(0, 2))
    log.task(0, 0, 900, failed=True)
    log.task(0, 900, 1900)  # the same task again; its slot ran this stage before
    log.task(0, 0, 5000, "2", killed=True)
    log.task(0, 3000, 4000, "2", copy=True)  # which is why the one above was killed
    log.stage_completed(0, "a fetch failed")
    log.job_end(0, 5000)
    imported = read(tmp_path, log)
    assert dags(imported)["app-1-job-0"] == ({"0": 2}, set())
    assert groups(imported) == {(0, REST, 3): [1.0]}
    notes = " ".join(imported.notes)
    for words in ("1 tasks failed", "1 tasks were killed", "1 tasks were speculative", "1 stages failed at least once"):
        assert words in notes


def test_time_ends_when_the_core_is_free(tmp_path):
    log = SparkLog()
    log.executor("1", 1)
    log.job(0, 0, stage(0, 1))
    log.task(0, 0, 900, fetched=700, result=True)
    log.job_end(0, 900)
    assert groups(read(tmp_path, log)) == {(0, FRESH, 1): [0.7]}


def test_a_task_may_be_launched_before_the_end_of_the_last_one_is_noted(tmp_path):
    log = SparkLog()
    log.executor("1", 1)
    log.job(0, 0, stage(0, 2))
    log.task(0, 0, 905)
    log.task(0, 900, 1900)
    log.job_end(0, 2000)
    assert groups(read(tmp_path, log)) == {(0, FRESH, 1): [0.905], (0, REST, 1): [1.0]}


def test_slots_are_counted_where_the_log_does_not_say_how_many_there_are(tmp_path):
    log = SparkLog()
    log.job(0, 0, stage(0, 3))
    for launch in (0, 10, 20):
        log.task(0, launch, 1000)
    log.job_end(0, 2000)
    assert set(groups(read(tmp_path, log))) == {(0, FRESH, 3)}


def test_slots_of_other_jobs_do_not_count(tmp_path):
    log = SparkLog()
    log.executor("1", 4)
    log.executor("2", 4, at=5000)
    log.job(0, 0, stage(0, 3))
    log.job(1, 10, stage(1, 2))
    for _ in range(3):
        log.task(0, 0, 1000)
    log.task(1, 10, 500)  # one slot is left
    log.task(1, 6000, 6500, "2")  # seven that nobody uses, and this one
    log.job_end(0, 1000)
    log.job_end(1, 7000)
    assert groups(read(tmp_path, log)) == {(0, FRESH, 4): [1, 1, 1], (1, FRESH, 1): [0.49], (1, FRESH, 8): [0.5]}


def test_executors_that_are_gone_do_not_count(tmp_path):
    log = SparkLog()
    log.executor("1", 2, removed=1000)
    log.executor("2", 3)
    log.job(0, 0, stage(0, 2))
    log.task(0, 0, 900)
    log.task(0, 2000, 2500, "2")
    log.job_end(0, 3000)
    assert set(groups(read(tmp_path, log))) == {(0, FRESH, 5), (0, FRESH, 3)}


def test_tasks_of_several_cores(tmp_path):
    log = SparkLog(properties={"spark.task.cpus": "2", "spark.executor.memory": "4g"})
    log.executor("1", 4)
    log.job(0, 0, stage(0, 2))
    log.task(0, 0, 1000, peak=2**30)
    log.task(0, 10, 1000)
    log.job_end(0, 2000)
    imported = read(tmp_path, log)
    assert imported.source.catalogue.cpu.tolist() == [2]
    assert imported.source.catalogue.memory.tolist() == [0.5]  # of the half of 4 GB that a slot has
    assert set(groups(imported)) == {(0, FRESH, 2)}
    assert read(tmp_path, log, one_core=True).source.catalogue.cpu.tolist() == [1]


def test_memory_and_cores_of_profiles(tmp_path):
    log = SparkLog()
    asked = {
        "Task Resource Requests": {"cpus": {"Amount": 1.0}},
        "Executor Resource Requests": {"memory": {"Amount": 1024}},
    }
    log.event("SparkListenerResourceProfileAdded", **{"Resource Profile Id": 0, **asked})
    log.event("SparkListenerEnvironmentUpdate", **{"Spark Properties": {}})
    large = {"Task Resource Requests": {"cpus": {"Amount": 4.0}}}
    log.event("SparkListenerResourceProfileAdded", **{"Resource Profile Id": 1, **large})
    log.executor("1", 4)
    log.job(0, 0, {**stage(0, 1), "Resource Profile Id": 1})
    log.task(0, 0, 100, peak=2**26)
    log.job_end(0, 200)
    catalogue = read(tmp_path, log).source.catalogue
    assert catalogue.cpu.tolist() == [4]
    assert catalogue.memory.tolist() == [0.25]


def test_runs_of_one_description_and_shape_are_one_kind(tmp_path):
    logs = [two_stages(f"app-{number}", start=number * 10_000) for number in range(3)]
    other = SparkLog("app-9")
    other.executor("1", 2)
    other.job(0, 0, stage(0, 1), description="words")
    other.task(0, 0, 500)
    other.job_end(0, 500)
    imported = read(tmp_path, *logs, other, merge_runs=True, samples=4)
    assert dags(imported) == {"words": ({"0": 3, "1": 2}, {("0", "1")}), "words (2)": ({"0": 1}, set())}
    assert groups(imported)[0, FRESH, 2] == pytest.approx([1.0, 1.1, 1.2, 1.2])
    assert groups(imported)[0, REST, 2] == [0.5] * 3
    assert imported.source.recorded.job_name[:2] == ("app-9-job-0", "app-0-job-0")
    assert imported.source.recorded.job_dag.tolist() == [1, 0, 0, 0]


def test_incomplete_jobs_are_left_out(tmp_path):
    log = two_stages()
    log.lines.pop()
    log.job(1, 3000, stage(2, 2))
    log.task(2, 3000, 4000)
    log.job(2, 5000, stage(3, 1))
    log.task(3, 5000, 6000, failed=True)
    log.job_end(2, 6000, "JobFailed")
    log.job(3, 7000, stage(4, 0))
    log.job_end(3, 7000)
    imported = read(tmp_path, log)
    assert set(dags(imported)) == {"app-1-job-0"}
    assert "2 jobs that did not succeed, or had not ended" in " ".join(imported.notes)
    assert "1 jobs had no task" in " ".join(imported.notes)


def test_cancelled_stages_count_with_what_they_finished(tmp_path):
    log = SparkLog()
    log.executor("1", 1)
    log.sql(0, 0)
    log.job(0, 0, stage(0, 5), execution=0)
    log.task(0, 0, 1000)
    log.job_end(0, 1000, "JobFailed")
    log.sql_end(0, 2000)
    imported = read(tmp_path, log)
    assert dags(imported)["app-1-sql-0"] == ({"0": 1}, set())
    assert "1 stages of complete jobs were cancelled" in " ".join(imported.notes)


def test_oddities_are_counted(tmp_path):
    log = two_stages()
    log.lines.pop()
    log.event("SparkListenerOfTomorrow", value=3)
    log.task(77, 2000, 2100)  # of a job that began before the log
    log.task(0, 2000, 1000)  # the clock went back
    log.lines.append(log.lines[-1])
    log.job_end(9, 3000)
    imported = read(tmp_path, log)
    notes = " ".join(imported.notes)
    for words in (
        "1 events of kinds",
        "1 tasks belong to no job",
        "1 tasks ended before",
        "1 tasks were reported twice",
    ):
        assert words in notes
    assert "1 Spark jobs ended whose start" in notes


def test_the_end_of_a_live_application_may_be_missing(tmp_path):
    log = two_stages()
    log.lines.pop()
    cut = log.text() + b'{"Event":"SparkListenerTaskEnd","Stage ID":3,"Task Ty'
    imported = read(tmp_path, cut)
    assert set(dags(imported)) == {"app-1-job-0"}
    assert "1 logs end in the middle of a line" in " ".join(imported.notes)


def test_nothing_else_may_be_broken(tmp_path):
    log = two_stages()
    log.lines[4] = log.lines[4][:30]
    log.lines[6] = log.lines[6].replace('"Launch Time":1700000000110', '"Launch Time":NaN')
    faults = faults_of(tmp_path, log)
    assert [(row, field) for row, field, _ in faults] == [(5, None), (7, "Launch Time")]
    assert "not JSON" in faults[0][2]
    ended = two_stages().text() + b'{"Event":"SparkListenerTas'
    assert faults_of(tmp_path, ended)[0][0] == len(two_stages().lines) + 1


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"Job ID":0', '"Job ID":"0"', "Job ID"),
        ('"Submission Time":1700000000100', '"Submission Time":-5', "Submission Time"),
        ('"Parent IDs":[0]', '"Parent IDs":["a"]', "Parent IDs"),
        ('"Total Cores":2', '"Cores":2', "Total Cores"),
        ('"Spark Properties":{}', '"Spark Properties":{"spark.task.cpus":"x"}', "spark.task.cpus"),
        ('"Failed":false', '"Failed":"no"', "Failed"),
        ('"Event":"SparkListenerLogStart"', '"Evnt":"SparkListenerLogStart"', "Event"),
        ('"Stage Infos":[{', '"Stage Infos":[7,{', "Stage Infos"),
        ('"Job Result":{"Result":"JobSucceeded"}', '"Job Result":7', "Job Result"),
    ],
)
def test_fields_have_to_be_what_they_are(tmp_path, old, new, field):
    text = two_stages().text()
    assert old.encode() in text
    faults = faults_of(tmp_path, text.replace(old.encode(), new.encode(), 1))
    assert field in [where for _, where, _ in faults]


def test_stages_in_a_circle(tmp_path):
    text = two_stages().text().replace(b'"Parent IDs":[]', b'"Parent IDs":[1]')
    ((_, field, problem),) = faults_of(tmp_path, text)
    assert field == "Parent IDs" and "cycle of stages in app-1-job-0" in problem


def test_a_job_that_starts_twice(tmp_path):
    log = two_stages()
    log.job(0, 3000, stage(7, 1))
    ((row, field, _),) = faults_of(tmp_path, log)
    assert (row, field) == (len(log.lines), "Job ID")


def test_an_application_that_is_there_twice(tmp_path):
    ((_, field, problem),) = faults_of(tmp_path, two_stages(), two_stages())
    assert field == "App ID" and "log-0, too" in problem


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "empty file"),
        (b"\n\n", "empty file"),
        (b"hello\n", "not JSON"),
        (b"\x00\x01\xff\xfe" * 50, "not JSON"),
        (b'{"Event":"SparkListenerTaskStart"}\n', "no jobs"),
        (b'{"Event":"\xff\xfe"', "wrong encoding"),
        (b"[1]\n", "missing"),
        (b"PK\x03\x04something", "zip archive"),
        (b"ZV\x01\x00\x10", "lzf"),
    ],
)
def test_files_that_are_no_event_logs(tmp_path, text, says):
    assert says in faults_of(tmp_path, text)[0][2]


def test_no_job_that_ended(tmp_path):
    log = SparkLog()
    log.job(0, 0, stage(0, 1))
    log.task(0, 0, 100)
    assert "no jobs: 1 were started, none came to its end" in faults_of(tmp_path, log)[0][2]


def test_a_file_full_of_faults_is_not_read_to_the_end(tmp_path):
    assert len(faults_of(tmp_path, b"{}\n" * 5000)) == 1000


def test_options():
    with pytest.raises(UnknownName, match="sql-execution"):
        SparkOptions(jobs_are="sql-executions")
    with pytest.raises(ConfigError, match="--samples is 0"):
        SparkOptions(samples=0)
