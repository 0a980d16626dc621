import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workloads.samples import recorded, write_tpch

from dovetail.cli import main
from dovetail.workloads.arrivals import load_for
from dovetail.workloads.readers.native import read_source
from dovetail.workloads.source import open_source
from dovetail.workloads.store import write_source

TRACE = "5,j_1,M1,5,100,0.2,3\n5,j_1,R2_1,7,700,0.3,1\n8,j_2,M1,2,100,0.2,3\n"


@pytest.fixture
def stored(tmp_path):
    write_source(recorded(), tmp_path / "w")
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


def test_describe(capsys, stored):
    assert run("describe", stored) == 0
    captured = capsys.readouterr()
    assert "3 recorded jobs" in captured.out
    assert captured.err == ""


def test_describe_json_with_a_cluster(capsys):
    assert run("describe", "chains", "--executors", 10, "--interval", 100, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["counts"]["dags"] == 64
    assert summary["load"]["load"] == pytest.approx(load_for(100, 10, open_source("chains").mean_work_s))


def test_describe_with_a_picture(capsys, stored, tmp_path):
    assert run("describe", stored, "--plot", tmp_path / "p.png") == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "p.png" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("tpch-lik",), "did you mean 'tpch-like'"),
        (("no/such",), "no such directory"),
        (("chains", "--executors", "0"), "executors"),
        (("chains", "--interval", "nan"), "interval"),
        (("chains", "--plot", "p.txt"), "must end in .png"),
        (("chains", "--plot", "no/such/p.png"), "no such directory"),
    ],
)
def test_describe_refuses(capsys, words, says):
    assert says in refused(capsys, "describe", *words)


def break_weights(stored, count=1):
    table = pq.read_table(stored / "jobs.parquet")
    weights = [0.0] * count + [1.0] * (3 - count)
    pq.write_table(table.set_column(3, "weight", pa.array(weights)), stored / "jobs.parquet")


def test_validate(capsys, stored):
    assert run("validate", stored) == 0
    assert "valid" in capsys.readouterr().out


def test_validate_lists_every_fault_with_file_row_and_field(capsys, stored):
    break_weights(stored, 2)
    assert run("validate", stored) == 2
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert len(lines) == 3  # two weights, and the checksum
    assert f"{stored / 'jobs.parquet'}, row 1, field 'weight'" in captured.out
    assert "3 faults" in captured.err


def test_validate_says_how_many_are_not_shown(capsys, stored):
    break_weights(stored, 3)
    assert run("validate", stored, "--limit", 1) == 2
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert "3 of them not shown" in captured.err


def test_validate_json(capsys, stored):
    break_weights(stored)
    assert run("validate", stored, "--json") == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["valid"], found["count"]) == (False, 2)
    assert {fault["field"] for fault in found["faults"]} == {"weight", None}
    assert run("validate", stored / "none", "--json") == 2


def test_validate_needs_a_directory(capsys, tmp_path, stored):
    assert "no such directory" in refused(capsys, "validate", tmp_path / "none")
    assert "not a directory" in refused(capsys, "validate", stored / "manifest.json")


def test_generate_a_sequence(capsys, tmp_path):
    words = ("generate", "fork-joins", "--jobs", 30, "--load", 0.7, "--executors", 20, "--seed", 5)
    assert run(*words, "--weights", "1,2", "--deadlines", "2,3", "--out", tmp_path / "w") == 0
    captured = capsys.readouterr()
    assert "30 jobs" in captured.out
    assert captured.err == ""
    source = read_source(tmp_path / "w")
    assert source.recorded.num_jobs == 30
    assert set(source.recorded.weight) == {1, 2}
    assert (source.recorded.deadline_s < float("inf")).all()
    manifest = json.loads((tmp_path / "w" / "manifest.json").read_text())
    assert manifest["provenance"]["seed"] == 5
    assert manifest["provenance"]["arrivals"]["load"] == 0.7
    assert run("validate", tmp_path / "w") == 0


def test_generate_is_seeded(tmp_path, capsys):
    manifests = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run("generate", "chains", "--jobs", 9, "--seed", seed, "--out", tmp_path / name, "--json") == 0
        manifests.append(json.loads(capsys.readouterr().out)["files"])
    assert manifests[0] == manifests[1] != manifests[2]


def test_generate_only_the_kinds_of_job(tmp_path):
    assert run("generate", "layered:dags=5", "--out", tmp_path / "w") == 0
    source = read_source(tmp_path / "w")
    assert source.recorded is None
    assert source.catalogue.num_dags == 5
    assert source.name == "layered:dags=5"


def test_generate_from_a_stored_workload(stored, tmp_path):
    assert run("generate", stored, "--jobs", 2, "--arrivals", "trace", "--out", tmp_path / "t") == 0
    assert read_source(tmp_path / "t").recorded.num_jobs == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("tpch-lik", "--jobs", 3), "did you mean"),
        (("chains", "--jobs", 0), "at least 1 job"),
        (("chains", "--jobs", 3, "--arrivals", "poisson"), "interval"),
        (("chains", "--jobs", 3, "--arrivals", "trace"), "no recorded arrivals"),
        (("chains", "--jobs", 3, "--arrivals", "weekly"), "batch, poisson, trace"),
        (("chains", "--interval", 3), "need --jobs"),
        (("chains", "--jobs", 3, "--weights", "a"), "--weights"),
        (("chains", "--jobs", 3, "--weights", "-1"), "above 0"),
        (("chains", "--jobs", 3, "--deadlines", "1"), "LOW,HIGH"),
        (("chains", "--jobs", 3, "--deadlines", "3,1"), "low <= high"),
    ],
)
def test_generate_refuses_and_writes_nothing(capsys, tmp_path, words, says):
    assert says in refused(capsys, "generate", *words, "--out", tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_target_needs_force(capsys, stored):
    before = (stored / "manifest.json").read_bytes()
    assert "--force" in refused(capsys, "generate", "chains", "--out", stored)
    assert (stored / "manifest.json").read_bytes() == before
    assert run("generate", "chains", "--out", stored, "--force") == 0
    assert read_source(stored).name == "chains"


def test_import_tpch(capsys, tmp_path):
    (tmp_path / "tpch").mkdir()
    write_tpch(tmp_path / "tpch")
    words = (
        "import",
        "tpch",
        tmp_path / "tpch",
        "--memory-seed",
        1,
        "--name",
        "mine",
        "--out",
        tmp_path / "w",
    )
    assert run(*words) == 0
    captured = capsys.readouterr()
    assert "1 dags" in captured.out
    assert "2 GB" in captured.err
    source = read_source(tmp_path / "w")
    assert source.name == "mine"
    assert source.catalogue.memory.min() > 0


def test_import_alibaba(capsys, tmp_path):
    (tmp_path / "t.csv").write_text(TRACE)
    assert run("import", "alibaba2018", tmp_path / "t.csv", "--out", tmp_path / "w") == 0
    captured = capsys.readouterr()
    assert "2 jobs" in captured.out
    assert "7 cores" in captured.err
    assert read_source(tmp_path / "w").recorded.arrival_s.tolist() == [0, 3]


def test_import_of_a_faulty_trace_names_every_row_and_writes_nothing(capsys, tmp_path):
    (tmp_path / "t.csv").write_text(TRACE.replace("R2_1", "R2_").replace("8,j_2", "x,j_2"))
    message = refused(capsys, "import", "alibaba2018", tmp_path / "t.csv", "--out", tmp_path / "w")
    assert "row 2, field 'task_name'" in message
    assert "row 3, field 'arrival_s'" in message
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_import_seals_edited_tables_anew(capsys, stored, tmp_path):
    table = pq.read_table(stored / "jobs.parquet")
    pq.write_table(table.set_column(3, "weight", pa.array([9.0] * 3)), stored / "jobs.parquet")
    assert run("import", "dovetail", stored, "--out", tmp_path / "sealed") == 0
    assert set(read_source(tmp_path / "sealed").recorded.weight) == {9}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("tpc", "."), "did you mean 'tpch'"),
        (("tpch", "no/such"), "no such file or folder"),
        (("tpch", ".", "--strict"), "--strict means nothing to tpch"),
        (("dovetail", ".", "--memory-seed", "3"), "--memory-seed means nothing"),
    ],
)
def test_import_refuses(capsys, tmp_path, words, says):
    assert says in refused(capsys, "import", *words, "--out", tmp_path / "w")


def test_help_lists_the_actions_and_sources(capsys):
    for words, says in ((("--help",), "validate"), (("import", "--help"), "alibaba2018")):
        with pytest.raises(SystemExit) as ended:
            run(*words)
        assert ended.value.code == 0
        assert says in capsys.readouterr().out


def test_a_damaged_copy_cannot_be_described(capsys, stored, tmp_path):
    shutil.copytree(stored, tmp_path / "copy")
    data = (tmp_path / "copy" / "durations.parquet").read_bytes()
    (tmp_path / "copy" / "durations.parquet").write_bytes(data[: len(data) // 2])
    assert "truncated" in refused(capsys, "describe", tmp_path / "copy")


@pytest.mark.parametrize("seed", ["-4", "99999999999999999999999", "x"])
def test_a_bad_seed_is_refused(seed, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["workload", "generate", "chains", "--out", str(tmp_path / "w"), "--jobs", "2", f"--seed={seed}"])
    assert stop.value.code == 2
    assert "seed" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()
