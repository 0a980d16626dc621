import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workloads.elastic_samples import recorded

from dovetail.cli import main
from dovetail.core.seeds import SeedTree
from dovetail.workloads.elastic_source import open_elastic
from dovetail.workloads.elastic_store import write_elastic

CSV = "job,arrival,epochs,chunks,batches,batch_s\na,0,1,2,3,400\nb,3,1,2,3,400\n"
SPEEDS = "".join(
    f"('net', 'dist_sync', 32, {p}, {w}, {[8.0 / (1 + w / p)] * w})\n" for p in (1, 2, 4) for w in (1, 2, 4)
)


@pytest.fixture
def stored(tmp_path):
    write_elastic(recorded(), tmp_path / "w")
    return tmp_path / "w"


def run(*words):
    return main(["workload", *map(str, words)])


def refused(capsys, *words):
    """The error message of a command that must fail and print no result."""
    assert run(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dovetail: error: ")
    return captured.err


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_describe(capsys, stored, tmp_path):
    assert run("describe", stored) == 0
    assert "4 recorded jobs" in capsys.readouterr().out
    assert run("describe", "oasis-small", "--servers", 40, "--jobs", 30, "--slots", 50, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["family"] == "elastic"
    assert summary["setting"]["worker_hosts"] == 20
    assert (summary["setting"]["jobs"], summary["setting"]["slots"]) == (30, 50)
    assert run("describe", stored, "--plot", tmp_path / "p.png") == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("oasis-smal",), "did you mean 'oasis-small'"),
        (("oasis-small", "--executors", 5), "--executors is for dag workloads; oasis-small is elastic"),
        (("chains", "--servers", 5), "--servers is for elastic workloads; chains is dag"),
        (("oasis-small", "--servers", 1), "at least 2"),
        (("oasis-small", "--slots", 0), "at least 1"),
        (("oasis-small:epochs=[5,1]",), "epochs must be a range"),
    ],
)
def test_describe_refuses(capsys, words, says):
    assert says in refused(capsys, "describe", *words)


def test_generate_is_the_sequence_of_its_seed(tmp_path, capsys):
    words = ("generate", "oasis-small", "--jobs", 12, "--slots", 60, "--seed", 5, "--arrivals", "uniform:span=0.5")
    assert run(*words, "--out", tmp_path / "w") == 0
    assert "12 jobs, 200 history" in capsys.readouterr().out
    source = open_elastic("oasis-small")
    from dovetail.workloads.elastic_arrivals import read_arrivals

    drawn = source.sequence(12, read_arrivals("uniform:span=0.5"), 60, SeedTree(5))
    stored = open_elastic(tmp_path / "w")
    again = stored.sequence(stored.jobs, stored.arrivals, stored.slots, SeedTree(0))
    assert again.work.tolist() == drawn.work.tolist()
    assert again.arrival.tolist() == drawn.arrival.tolist()
    assert again.history.work.tolist() == drawn.history.work.tolist()
    assert run("validate", tmp_path / "w") == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("oasis-small", "--jobs", 0), "1 to"),
        (("oasis-small", "--arrivals", "trace"), "no recorded jobs"),
        (("oasis-small", "--arrivals", "weekly"), "kind of arrivals"),
        (("oasis-small", "--load", 0.5), "--load is for dag workloads"),
        (("chains", "--slots", 5), "--slots is for elastic workloads"),
    ],
)
def test_generate_refuses_and_writes_nothing(capsys, tmp_path, words, says):
    assert says in refused(capsys, "generate", *words, "--out", tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_validate_lists_every_fault(capsys, stored):
    table = pq.read_table(stored / "jobs.parquet")
    place = table.column_names.index("worth")
    pq.write_table(table.set_column(place, "worth", pa.array([0.0, 1.0, -1.0, 1.0])), stored / "jobs.parquet")
    assert run("validate", stored) == 2
    captured = capsys.readouterr()
    assert f"{stored / 'jobs.parquet'}, row 2, field 'worth'" in captured.out
    assert "3 faults" in captured.err


def test_validate_warns_of_jobs_that_fit_no_host(capsys, tmp_path):
    text = "job,epochs,chunks,batches,batch_s,worker_memory\na,1,2,3,400,8\nhuge,1,2,3,400,100000\n"
    assert run("import", "elastic-csv", write(tmp_path, "jobs.csv", text), "--out", tmp_path / "w") == 0
    capsys.readouterr()
    assert run("validate", tmp_path / "w") == 0
    told = capsys.readouterr()
    assert told.out.endswith("valid\n")
    assert "warning: job huge can never run on the 20 servers" in told.err and "memory" in told.err
    assert run("validate", tmp_path / "w", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] and len(found["warnings"]) == 1


def test_import_a_table_of_jobs(capsys, tmp_path):
    path = write(tmp_path, "j.csv", CSV)
    words = ("import", "elastic-csv", path, "--slot-s", 600, "--slots", 20, "--servers", 6, "--name", "mine")
    assert run(*words, "--out", tmp_path / "w", "--json") == 0
    captured = capsys.readouterr()
    manifest = json.loads(captured.out)
    assert "defaults" in captured.err
    assert manifest["provenance"]["slot_s"] == 600
    source = open_elastic(tmp_path / "w")
    assert (source.name, source.jobs, source.slots, source.slot_s, source.servers) == ("mine", 2, 20, 600.0, 6)
    assert source.recorded.workload(20).work.tolist() == [4, 4]


def test_import_of_a_faulty_table_names_every_row_and_writes_nothing(capsys, tmp_path):
    path = write(tmp_path, "j.csv", CSV.replace("a,0,1", "a,0,x").replace("b,3,1,2", "b,3,1,0"))
    message = refused(capsys, "import", "elastic-csv", path, "--out", tmp_path / "w")
    assert "row 2, field 'epochs'" in message
    assert "row 3, field 'chunks'" in message
    assert [each.name for each in tmp_path.iterdir()] == ["j.csv"]


def test_import_arrival_counts(capsys, tmp_path):
    path = write(tmp_path, "c.json", '{"low": [1, 2], "high": [1, 0, 9]}')
    words = ("import", "arrival-counts", path, "--out", tmp_path / "w", "--jobs-from", "oasis-small:jobs=10")
    assert "choose a pattern" in refused(capsys, *words)
    assert run(*words, "--pattern", "high") == 0
    assert "10 arrivals in 3 slots" in capsys.readouterr().err
    source = open_elastic(tmp_path / "w")
    assert (source.name, source.jobs, source.arrivals.counts) == ("c", 10, (1.0, 0.0, 9.0))
    assert source.sequence(10, source.arrivals, 3, SeedTree(1)).arrival.tolist() == [0, *[2] * 9]
    assert run("describe", tmp_path / "w") == 0


def test_import_speeds(capsys, tmp_path):
    path = write(tmp_path, "s.txt", SPEEDS)
    assert run("import", "elastic-speeds", path, "--at", "2,4", "--out", tmp_path / "w") == 0
    captured = capsys.readouterr()
    assert "1 kinds" in captured.out
    assert "9 measurements fitted with a median error of 0.0%" in captured.err
    source = open_elastic(tmp_path / "w")
    # two workers at 8 / 1.5 samples per second each: 32 samples in 3 s, so 6 worker-seconds
    assert source.kinds[0].batch_s == pytest.approx(6.0, rel=1e-3)
    assert (source.slot_s, source.kinds[0].name) == (60.0, "net")


def test_import_seals_edited_tables_anew(stored, tmp_path):
    table = pq.read_table(stored / "jobs.parquet")
    place = table.column_names.index("worth")
    pq.write_table(table.set_column(place, "worth", pa.array([9.0] * 4)), stored / "jobs.parquet")
    assert run("import", "dovetail", stored, "--out", tmp_path / "sealed") == 0
    assert set(open_elastic(tmp_path / "sealed").recorded.jobs.utility[:, 0]) == {9}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("elastic-cs", "."), "did you mean 'elastic-csv'"),
        (("elastic-csv", "."), "cannot be read"),
        (("elastic-csv", "no/such"), "no such file"),
        (("elastic-csv", ".", "--pattern", "3"), "--pattern means nothing to elastic-csv"),
        (("elastic-csv", ".", "--slot-s", "0"), "slot length"),
        (("arrival-counts", ".", "--strict"), "--strict means nothing"),
        (("arrival-counts", ".", "--jobs-from", "oasis"), "unknown workload"),
        (("elastic-speeds", ".", "--at", "3"), "--at"),
        (("elastic-speeds", ".", "--at", "0,1"), "at least 1 worker"),
        (("tpch", ".", "--slots", "3"), "--slots means nothing to tpch"),
    ],
)
def test_import_refuses(capsys, tmp_path, words, says):
    assert says in refused(capsys, "import", *words, "--out", tmp_path / "w")
