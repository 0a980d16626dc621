from itertools import pairwise

import pytest
from tests.workloads.readers.test_spark_eventlog import dags
from tests.workloads.spark_logs import SparkLog, lz4_blocks, snappy_blocks, stage, stream, two_stages

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.readers import spark_codecs
from dovetail.workloads.readers.spark_eventlog import read_spark_eventlog

CODECS = {
    "zstd": lambda data: stream(data, "zstd"),
    "gzip": lambda data: stream(data, "gzip"),
    "lz4-frame": lambda data: stream(data, "lz4"),
    "lz4": lz4_blocks,
    "snappy": snappy_blocks,
}


def faults_of(path):
    with pytest.raises(InvalidWorkload) as caught:
        read_spark_eventlog(path)
    return caught.value.faults


def running(jobs):
    """A log without an end, large enough for several blocks of any codec."""
    log = SparkLog()
    log.executor("1", 2)
    for job in range(jobs):
        log.job(job, job * 100, stage(job, 1))
        log.task(job, job * 100, job * 100 + 50)
        log.job_end(job, job * 100 + 60)
    return log.text()


@pytest.mark.parametrize("codec", CODECS)
def test_codecs(tmp_path, codec):
    (tmp_path / "log").write_bytes(CODECS[codec](two_stages().text()))
    assert set(dags(read_spark_eventlog(tmp_path / "log"))) == {"app-1-job-0"}


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_logs_that_break_off(tmp_path, codec):
    packed = CODECS[codec](running(400))
    (tmp_path / "log").write_bytes(packed[: len(packed) * 3 // 4])
    imported = read_spark_eventlog(tmp_path / "log")
    assert 100 < imported.source.recorded.num_jobs < 400
    assert "1 logs end in the middle of a line" in " ".join(imported.notes)
    (tmp_path / "log").write_bytes(packed[:20])
    assert "break off" in faults_of(tmp_path / "log")[0].problem


@pytest.mark.parametrize("codec", ["lz4", "snappy"])
def test_damaged_blocks(tmp_path, codec):
    packed = bytearray(CODECS[codec](two_stages().text()))
    packed[17:25] = b"\xff" * 8
    (tmp_path / "log").write_bytes(bytes(packed))
    assert "break off" in faults_of(tmp_path / "log")[0].problem


def test_a_codec_that_is_not_there(tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(CODECS["zstd"](two_stages().text()))
    monkeypatch.setattr(spark_codecs, "is_available", lambda codec: False)
    (fault,) = faults_of(tmp_path)
    assert "compressed with zstd, which this pyarrow was built without" in fault.problem


def rolled(folder, *parts, status="appstatus_app-1"):
    folder.mkdir(parents=True)
    (folder / status).write_bytes(b"")
    (folder / f".{status}.crc").write_bytes(b"crc")
    for name, text in parts:
        (folder / name).write_bytes(text)
    return folder


def split(text, *shares):
    lines = text.splitlines(keepends=True)
    edges = [0, *(int(share * len(lines)) for share in shares), len(lines)]
    return [b"".join(lines[a:b]) for a, b in pairwise(edges)]


def test_a_rolling_log(tmp_path):
    one, two, three = split(two_stages().text(), 0.3, 0.7)
    folder = rolled(
        tmp_path / "eventlog_v2_app-1",
        ("events_10_app-1", three),
        ("events_2_app-1.zstd", CODECS["zstd"](two)),
        ("events_1_app-1", one),
    )
    assert set(dags(read_spark_eventlog(folder))) == {"app-1-job-0"}
    assert set(dags(read_spark_eventlog(tmp_path))) == {"app-1-job-0"}


def test_compacted_files_stand_for_those_before(tmp_path):
    whole = two_stages().text()
    one, two = split(whole, 0.7)
    folder = rolled(
        tmp_path / "eventlog_v2_app-1",
        ("events_1_app-1", b"would be a fault\n"),
        ("events_2_app-1", b"would be a fault\n"),
        ("events_2_app-1.compact", one),
        ("events_3_app-1", two),
    )
    assert set(dags(read_spark_eventlog(folder))) == {"app-1-job-0"}


def test_a_rolling_log_that_is_written(tmp_path):
    text = running(20)
    folder = rolled(
        tmp_path / "eventlog_v2_app-1",
        ("events_1_app-1", text),
        ("events_2_app-1", b'{"Event":"SparkLis'),
        ("events_3_app-1", b""),
        status="appstatus_app-1.inprogress",
    )
    # Only the very last line may be cut; an empty file after it has none.
    assert faults_of(folder)[0].file.endswith("events_2_app-1")
    (folder / "events_3_app-1").unlink()
    assert read_spark_eventlog(folder).source.recorded.num_jobs == 20
    (folder / "events_2_app-1").write_bytes(b"")
    assert "1 files of a rolling log are empty" in " ".join(read_spark_eventlog(folder).notes)


def test_a_folder_of_applications(tmp_path):
    (tmp_path / "app-1").write_bytes(two_stages("app-1").text())
    (tmp_path / "app-2.inprogress").write_bytes(two_stages("app-2", start=1000).text())
    rolled(tmp_path / "eventlog_v2_app-3", ("events_1_app-3", two_stages("app-3").text()))
    (tmp_path / ".app-1.crc").write_bytes(b"crc")
    (tmp_path / "README").write_text("logs")
    (tmp_path / "other").mkdir()
    imported = read_spark_eventlog(tmp_path)
    assert set(dags(imported)) == {"app-1-job-0", "app-2-job-0", "app-3-job-0"}
    assert "1 files that do not begin as event logs were passed over: README" in " ".join(imported.notes)


def test_folders_without_logs(tmp_path):
    assert "no event logs in this folder" in faults_of(tmp_path)[0].problem
    assert "no files of events" in faults_of(rolled(tmp_path / "eventlog_v2_app-1"))[0].problem


def test_lines_may_be_written_by_others(tmp_path):
    text = two_stages().text().replace(b'{"Event":', b' { "Event" : ').replace(b"\n", b"\r\n\r\n")
    (tmp_path / "log").write_bytes(text)
    assert set(dags(read_spark_eventlog(tmp_path / "log"))) == {"app-1-job-0"}
