import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.elastic import RESOURCES
from dovetail.core.errors import ConfigError, InvalidWorkload
from dovetail.core.seeds import SeedTree
from dovetail.workloads.elastic_schema import INTEGERS, NUMBERS
from dovetail.workloads.readers.elastic_csv import ElasticCsvOptions, read_elastic_csv

PLAIN = "epochs,chunks,batches,batch_s\n2,3,4,100\n"
FULL = ("job", *INTEGERS, *NUMBERS)
ROW = ["a", "5", "2", "3", "4", "100", "50", "1", "2", "3", "4", "1", "0", "2", "3", "4", "2", "9", "0.5", "6"]


def write(folder, text):
    (folder / "jobs.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "jobs.csv"


def read(folder, text, **options):
    return read_elastic_csv(write(folder, text), ElasticCsvOptions(**options))


def faults_of(folder, text, **options):
    with pytest.raises(InvalidWorkload) as caught:
        read(folder, text, **options)
    return caught.value.faults


def full(**changed):
    return ",".join(str(changed.get(name, value)) for name, value in zip(FULL, ROW, strict=True))


def table(*rows):
    return ",".join(FULL) + "\n" + "\n".join(rows) + "\n"


def test_all_columns(tmp_path):
    source = read(tmp_path, table(full()), slot_s=600.0, slots=40, servers=8).source
    assert (source.name, source.jobs, source.slots, source.slot_s, source.servers) == ("jobs", 1, 40, 600.0, 8)
    assert source.arrivals.kind == "trace"
    record = source.recorded
    assert record.job_name == ("a",)
    assert record.arrival.tolist() == [5]
    assert (record.jobs.epochs[0], record.jobs.chunks[0], record.jobs.batches[0]) == (2, 3, 4)
    assert record.jobs.worker_demand[0].tolist() == [1, 2, 3, 4, 1]
    assert record.jobs.server_demand[0].tolist() == [0, 2, 3, 4, 2]
    assert record.jobs.utility[0].tolist() == [9, 0.5, 6]
    # 24 batches of 100 s and twice 0.4 s of transfer
    assert record.workload(40).work[0] == math.ceil(24 * (100 + 0.8) / 600)


def test_the_least_there_can_be_and_its_notes(tmp_path):
    imported = read(tmp_path, PLAIN)
    record = imported.source.recorded
    assert record.job_name == ("job-1",)
    assert record.arrival.tolist() == [0]
    assert dict(zip(RESOURCES, record.jobs.worker_demand[0], strict=True)) == {
        "gpu": 0,
        "cpu": 1,
        "memory": 0,
        "storage": 0,
        "bandwidth": 1,
    }
    assert record.jobs.utility[0].tolist() == [1, 0, 0]
    assert len(imported.notes) == 1
    assert "defaults: gradient_mb, worker_gpu" in imported.notes[0]


def test_a_server_has_the_bandwidth_of_a_worker_unless_told_otherwise(tmp_path):
    text = PLAIN.replace("batch_s", "batch_s,worker_bandwidth").replace("100", "100,7")
    assert read(tmp_path, text).source.recorded.jobs.server_demand[0, 4] == 7


def test_order_of_columns_case_byte_order_mark_and_blank_lines(tmp_path):
    text = "\ufeff\nBatch_S, batches ,chunks,epochs\r\n\r\n100,4,3,2\r\n , ,,\n\n"
    plain = read(tmp_path, PLAIN).source.recorded.jobs
    other = read(tmp_path, text).source.recorded.jobs
    assert [getattr(other, name)[0] for name in ("epochs", "chunks", "batches")] == [2, 3, 4]
    assert other.batch_s.tolist() == plain.batch_s.tolist()


def test_quoted_names_may_hold_commas(tmp_path):
    assert read(tmp_path, table(full(job='"a, b"'))).source.recorded.job_name == ("a, b",)


def test_arrivals_in_seconds_and_in_any_order(tmp_path):
    text = "job,arrival_s,epochs,chunks,batches,batch_s\nlate,1300,1,1,1,1\nearly,599.9,1,1,1,1\nsame,0,1,1,1,1\n"
    imported = read(tmp_path, text, slot_s=600.0)
    assert imported.source.recorded.job_name == ("early", "same", "late")
    assert imported.source.recorded.arrival.tolist() == [0, 0, 2]
    assert "jobs were put in order of arrival" in imported.notes
    assert imported.source.slots == 13


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("gpuu", "worker_gpu or server_gpu"),
        ("memory", "worker_memory"),
        ("server_gpus", "server_gpu"),
        ("decays", "decay"),
    ],
)
def test_a_column_that_is_nearly_one_is_refused(tmp_path, column, meant):
    (fault,) = faults_of(tmp_path, PLAIN.replace("batch_s", f"batch_s,{column}").replace("100", "100,2"))
    assert (fault.row, fault.field) == (1, column)
    assert f"did you mean {meant}" in fault.problem


def test_names_of_what_is_there_may_have_neighbours(tmp_path):
    text = PLAIN.replace("batch_s", "batch_s,worker_gpu,gpu").replace("100", "100,2,V100")
    assert read(tmp_path, text).source.recorded.jobs.worker_demand[0, 0] == 2


def test_what_can_never_run_is_told(tmp_path):
    text = "job," + PLAIN.replace("batch_s", "batch_s,worker_gpu,server_cpu").replace("2,3,4,100", "big,2,3,4,100,99,2")
    (note,) = [note for note in read(tmp_path, text, servers=4).notes if "never" in note]
    assert "job big can never run on the 4 servers it is for: a worker needs 99 gpu (a host has 16 at most)" in note


def test_other_columns_are_ignored_and_named(tmp_path):
    text = PLAIN.replace("batch_s", "batch_s,colour").replace("100", "100,red")
    assert "ignored: colour" in read(tmp_path, text).notes[0]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("epochs", "0", "less than 1"),
        ("epochs", "", "not a number"),
        ("epochs", "2.5", "not a whole number"),
        ("epochs", "1e30", "not a whole number"),
        ("epochs", "9000000000000000", "too many worker-slots"),
        ("chunks", "two", "not a number: 'two'"),
        ("chunks", "1_0", "not a number"),
        ("batches", "-3", "less than 1"),
        ("batch_s", "0", "takes no time"),
        ("batch_s", "-2", "negative time"),
        ("batch_s", "nan", "not a number"),
        ("batch_s", "inf", "not a number"),
        ("gradient_mb", "-1", "negative"),
        ("worker_gpu", "-1", "negative"),
        ("server_cpu", "-1", "negative"),
        ("worker_bandwidth", "0", "no bandwidth"),
        ("server_bandwidth", "0.5", "less bandwidth than a worker"),
        ("worth", "0", "worth nothing"),
        ("decay", "-0.5", "negative"),
        ("due", "x", "not a number"),
        ("arrival", "-1", "negative arrival"),
        ("arrival", "1.5", "not a whole number"),
        ("arrival", "2000000", "slot 2,000,000"),
    ],
)
def test_every_fault_is_named_with_line_and_field(tmp_path, name, value, says):
    faults = faults_of(tmp_path, table(full(job="x", arrival=99), "", full(**{name: value})))
    assert [(fault.row, fault.field) for fault in faults] == [(4, name)]
    assert says in faults[0].problem
    assert faults[0].file.endswith("jobs.csv")


def test_all_faults_are_listed_by_line(tmp_path):
    faults = faults_of(tmp_path, table(full(due="x", worth=0), full(job="b", chunks=0), "1,2", full()))
    assert [(fault.row, fault.field) for fault in faults] == [
        (2, "due"),
        (2, "worth"),
        (3, "chunks"),
        (4, None),
        (5, "job"),
    ]


def test_a_name_that_is_there_twice(tmp_path):
    faults = faults_of(tmp_path, table(full(), full(arrival=1)))
    assert [(fault.row, fault.field) for fault in faults] == [(2, "job")]  # the later of the two by arrival


@pytest.mark.parametrize(
    ("text", "row", "says"),
    [
        ("", None, "empty file"),
        ("\n \n", None, "empty file"),
        ("epochs,chunks,batches,batch_s\n", None, "no jobs"),
        ("epochs,chunks,batches\n1,1,1\n", 1, "missing column"),
        ("epochs,epochs,chunks,batches,batch_s\n1,1,1,1,1\n", 1, "2 columns of this name"),
        ("arrival,arrival_s,epochs,chunks,batches,batch_s\n1,1,1,1,1,1\n", 1, "slots and seconds"),
        (PLAIN + "1,2\n", 3, "2 values"),
        (PLAIN + '"1,2,3,4\n', 3, "not readable as CSV"),
        (PLAIN.encode() + b"\xff,1,1,1\n", 3, "UTF-8"),
    ],
)
def test_files_that_are_no_table(tmp_path, text, row, says):
    faults = faults_of(tmp_path, text)
    assert faults[0].row == row
    assert says in faults[0].problem


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidWorkload, match="cannot be read"):
        read_elastic_csv(tmp_path)


def test_a_horizon_that_ends_before_the_last_arrival_is_noted(tmp_path):
    assert "arrives in slot 5, after the 4 slots" in read(tmp_path, table(full()), slots=4).notes[-1]


@pytest.mark.parametrize(
    ("options", "says"),
    [({"slot_s": 0.0}, "slot length"), ({"slots": 0}, "slots are 0"), ({"servers": 1}, "servers are 1")],
)
def test_settings_that_cannot_be(options, says):
    with pytest.raises(ConfigError, match=says):
        ElasticCsvOptions(**options)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory, jobs):
    folder = tmp_path_factory.mktemp("csv")
    rows = [full(job=f"n{i}", arrival=a, epochs=e, chunks=c) for i, (a, e, c) in enumerate(jobs)]
    source = read(folder, table(*rows)).source
    expected = sorted(jobs, key=lambda job: job[0])
    record = source.recorded
    found = zip(record.arrival.tolist(), record.jobs.epochs.tolist(), record.jobs.chunks.tolist(), strict=True)
    assert list(found) == expected
    workload = source.sequence(source.jobs, source.arrivals, source.slots, SeedTree(0))
    assert workload.num_jobs == len(jobs)
