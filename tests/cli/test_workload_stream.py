import gzip
import json

import numpy as np
import pytest
from tests.workloads.stream_samples import recorded, series

from dovetail.cli import main
from dovetail.cli.workload_stream import IMPORT
from dovetail.core.seeds import SeedTree
from dovetail.workloads.readers import READERS
from dovetail.workloads.stream_rates import RecordedRates, read_rates
from dovetail.workloads.stream_source import open_stream
from dovetail.workloads.stream_store import write_stream

CSV = "datetime,view\n" + "".join(f"1995-08-28 00:{minute:02}:00,{60 + minute}\n" for minute in range(60))
TRACE = "5,j_1,M1,10,100,0.2,3\n5,j_1,R2_1,20,100,0.2,3\n5,j_1,R3_2,5,700,0.3,1\n5,j_1,R4_3,40,100,0.3,1\n"


@pytest.fixture
def stored(tmp_path):
    write_stream(recorded(2), tmp_path / "w")
    return tmp_path / "w"


@pytest.fixture
def rates(tmp_path):
    write_stream(RecordedRates("mine", series()), tmp_path / "r")
    return tmp_path / "r"


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


def test_every_reader_has_options_and_a_line():
    assert set(IMPORT) <= set(READERS)


def test_describe(capsys, stored, rates, tmp_path):
    assert run("describe", stored) == 0
    assert "toy: 2 jobs of 8 operators" in capsys.readouterr().out
    assert run("describe", "small-1", "--rates", "step:low=1,high=2", "--duration", 7200, "--seed", 2, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["family"], summary["setting"]["duration_s"]) == ("stream", 7200.0)
    assert summary["setting"]["rates"] == "step:low=1,high=2"
    assert run("describe", "small-1", "--rates", rates, "--plot", tmp_path / "p.png") == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert run("describe", rates, "--plot", tmp_path / "r.svg") == 0
    assert "mine: rates, 120 bins; no jobs" in capsys.readouterr().out
    assert run("describe", rates, "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"series": 1, "bins": 120}


def test_generate_is_the_sequence_of_the_seed(tmp_path):
    words = ("generate", "shared:jitter=0.1", "--rates", "bursty", "--duration", 86_400, "--seed", 5)
    assert run(*words, "--out", tmp_path / "g") == 0
    expected = open_stream("shared:jitter=0.1", "bursty").sequence(86_400.0, SeedTree(5))
    made = open_stream(tmp_path / "g").sequence(None, SeedTree(0))
    np.testing.assert_array_equal(made.rate, expected.rate)
    assert (made.clock_s, made.job_name, made.slots) == (expected.clock_s, expected.job_name, expected.slots)
    np.testing.assert_array_equal(made.op_start, expected.op_start)
    assert run("validate", tmp_path / "g") == 0
    made_how = json.loads((tmp_path / "g" / "manifest.json").read_text())["provenance"]
    assert (made_how["seed"], made_how["rates"], made_how["jitter"]) == (5, "bursty", 0.1)


def test_import_rates(capsys, tmp_path):
    path = write(tmp_path, "r.csv", CSV)
    words = ("import", "rates", path, "--from", "50%", "--to", "75%", "--name", "third")
    assert run(*words, "--out", tmp_path / "i") == 0
    captured = capsys.readouterr()
    assert "15 rates" in captured.out and "note: 15 bins of 60 s from Monday 0.5 h on" in captured.err
    found = read_rates(str(tmp_path / "i"))
    assert found.name == "third" and found.recorded.rate[0, 0] * 60 == pytest.approx(90.0)
    made = json.loads((tmp_path / "i" / "manifest.json").read_text())["provenance"]
    assert (made["from"], made["to"], made["path"]) == ("50%", "75%", "r.csv")
    assert run("import", "rates", path, "--from", "1995-08-28 00:30:00", "--out", tmp_path / "d") == 0
    assert read_rates(str(tmp_path / "d")).duration_s == 1800.0
    (tmp_path / "s.txt.gz").write_bytes(gzip.compress(b"1 " * 300))
    words = ("import", "rates", tmp_path / "s.txt.gz", "--start", "1995-07-01", "--bin-s", 30, "--step-s", 1)
    assert run(*words, "--out", tmp_path / "s") == 0
    assert read_rates(str(tmp_path / "s")).recorded.clock_s == 5 * 86_400.0
    assert run("validate", tmp_path / "s") == 0


def test_import_jobs_of_a_trace(capsys, rates, tmp_path):
    path = write(tmp_path, "t.csv", TRACE)
    words = ("import", "stream-alibaba", path, "--jobs", "j_1", "--rate", 500, "--rates", rates, "--runtime", "python")
    assert run(*words, "--demand", 3, "--out", tmp_path / "i") == 0
    source = open_stream(tmp_path / "i")
    assert source.table.job_rate.tolist() == [500.0] and source.table.job_restart_s.tolist() == [7.0]
    assert source.table.demand().max() == pytest.approx(3.0)
    assert source.duration_s == 7200.0  # no longer than its rates
    assert run("validate", tmp_path / "i") == 0
    words = ("import", "stream-alibaba", path, "--operators", "2,5", "--seed", 3, "--out", tmp_path / "j")
    assert run(*words) == 0
    assert open_stream(tmp_path / "j").rates.name == "web"


def test_import_of_edited_tables(capsys, stored, rates, tmp_path):
    assert run("import", "dovetail", stored, "--out", tmp_path / "k") == 0
    assert run("import", "dovetail", rates, "--out", tmp_path / "l") == 0
    assert capsys.readouterr().err.count("note: checksums") == 2
    assert open_stream(tmp_path / "k", rates=str(tmp_path / "l")).jobs == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("describe", "small-3"), "did you mean 'small-"),
        (("describe", "small-1", "--executors", 5), "--executors is for dag workloads; small-1 is stream"),
        (("describe", "small", "--rates", "web"), "--rates is for stream workloads; small is gpu"),
        (("describe", "small-1", "--rates", "wbe"), "did you mean 'web'"),
        (("describe", "small-1", "--duration", 61), "expected a multiple of 60 s"),
        (("describe", "r", "--duration", 60), "--duration is for workloads with jobs; r has rates only"),
        (("generate", "r", "--out", "x"), "has rates, but no jobs"),
        (("generate", "small-1", "--jobs", 3, "--out", "x"), "--jobs means nothing to stream workloads"),
        (("generate", "small-1", "--arrivals", "batch", "--out", "x"), "--arrivals means nothing to stream"),
        (("generate", "small-1", "--cluster", "small", "--out", "x"), "--cluster is for gpu workloads"),
        (("generate", "chains", "--duration", 60, "--out", "x"), "--duration is for stream workloads"),
        (("generate", "small-1", "--rates", "r", "--duration", 86400, "--out", "x"), "7,200 s were recorded"),
        (("import", "rates", ".", "--strict", "--out", "x"), "--strict means nothing to rates"),
        (("import", "rates", "bad.csv", "--out", "x"), "bad.csv, row 3, field 'view': not a count: '-1'"),
        (("import", "rates", "none.csv", "--out", "x"), "none.csv: no such file or folder"),
        (("import", "rates", "bad.csv", "--bin-s", 0, "--out", "x"), "--bin-s is 0; expected whole seconds"),
        (("import", "rate", "bad.csv", "--out", "x"), "did you mean 'rates'"),
        (("import", "stream-alibaba", "t.csv", "--operators", "4", "--out", "x"), "--operators 4: expected two"),
        (("import", "stream-alibaba", "t.csv", "--rate", 0, "--out", "x"), "--rate is 0"),
        (("import", "stream-alibaba", "t.csv", "--from", "5", "--out", "x"), "--from means nothing"),
        (("import", "tpch", ".", "--runtime", "warm", "--out", "x"), "--runtime means nothing to tpch"),
    ],
)
def test_refusals(capsys, tmp_path, rates, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "bad.csv", CSV.replace(",61\n", ",-1\n"))
    write(tmp_path, "t.csv", TRACE)
    there = sorted(tmp_path.iterdir())
    assert says in refused(capsys, *words)
    assert sorted(tmp_path.iterdir()) == there


def test_faults_are_listed(capsys, stored):
    (stored / "operators.parquet").write_bytes(b"")
    assert run("validate", stored) == 2
    assert "empty file" in capsys.readouterr().out
