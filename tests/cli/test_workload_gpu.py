import json

import pytest
from tests.workloads.gpu_samples import recorded

from dovetail.cli import main
from dovetail.cli.workload_gpu import IMPORT, READ
from dovetail.core.seeds import SeedTree
from dovetail.workloads.gpu_source import open_gpu
from dovetail.workloads.gpu_store import write_gpu
from dovetail.workloads.readers import READERS

CSV = "job,arrival_s,work_s,gpus\na,0,60,1\nb,30,90,0.5\n"
TRACE = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p0,12000,16384,1,1000,,LS,Running,100,400,150\np1,6000,12288,1,460,,BE,Failed,120,190,120\n"
)


@pytest.fixture
def stored(tmp_path):
    write_gpu(recorded(), tmp_path / "w")
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


def test_every_reader_has_options_and_a_line():
    assert set(IMPORT) == set(READ) <= set(READERS)


def test_describe(capsys, stored, tmp_path):
    assert run("describe", stored) == 0
    assert "4 recorded jobs" in capsys.readouterr().out
    assert run("describe", "small", "--cluster", "medium:rack=8", "--jobs", 30, "--seed", 2, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["family"], summary["setting"]["machines"], summary["setting"]["racks"]) == ("gpu", 32, 4)
    assert summary["setting"]["jobs"] == 30
    assert run("describe", stored, "--plot", tmp_path / "p.png") == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_describe_with_speeds_of_ones_own(capsys, tmp_path):
    speeds = write(tmp_path, "s.csv", "type,kind,speed\nV100,mine,10\nT4,mine,5\n")
    words = ("describe", "small:kinds=[mine],cluster=small-mixed", "--speeds", speeds)
    assert run(*words, "--json") == 0
    assert json.loads(capsys.readouterr().out)["speed"]["T4"] == 0.5
    assert "did you mean" in refused(capsys, "describe", "small:kinds=[mina]", "--speeds", speeds)
    write(tmp_path, "s.csv", "type,kind,speed\nV100,mine,x\n")
    assert "row 2, field 'speed'" in refused(capsys, *words)


def test_describe_beside_another(capsys, stored, tmp_path):
    write(tmp_path, "openb_pod_list_default.csv", TRACE)
    assert run("describe", "small", "--beside", tmp_path, "--plot", tmp_path / "p.svg") == 0
    text = capsys.readouterr().out
    assert "alibaba-gpu2023" in text and "cv of seconds between arrivals" in text
    assert run("describe", "small", "--beside", stored, "--json") == 0
    assert json.loads(capsys.readouterr().out)["beside"]["name"] == "toy"


def test_generate_is_the_sequence_of_the_seed(stored, tmp_path):
    assert run("generate", "small", "--jobs", 20, "--seed", 5, "--load", 0.5, "--out", tmp_path / "g") == 0
    made, source = open_gpu(tmp_path / "g"), open_gpu("small:load=0.5")
    expected = source.sequence(20, source.arrivals, source.cluster, SeedTree(5))
    assert made.recorded.arrival_s.tolist() == expected.arrival_s.tolist()
    assert made.recorded.work_s.tolist() == expected.work_s.tolist()
    assert run("validate", tmp_path / "g") == 0
    words = ("generate", stored, "--jobs", 30, "--arrivals", "poisson:interval_s=5", "--cluster", "small")
    assert run(*words, "--out", tmp_path / "h") == 0
    again = open_gpu(tmp_path / "h")
    assert (again.jobs, len(again.cluster.arrays().name)) == (30, 8)


def test_import(capsys, stored, tmp_path):
    path = write(tmp_path, "j.csv", CSV)
    assert (
        run(
            "import",
            "gpu-csv",
            path,
            "--kind",
            "lm-b5",
            "--cluster",
            "small",
            "--name",
            "mine",
            "--out",
            tmp_path / "i",
        )
        == 0
    )
    source = open_gpu(tmp_path / "i")
    assert source.name == "mine" and source.recorded.kind_name == ("lm-b5",)
    manifest = json.loads((tmp_path / "i" / "manifest.json").read_text())
    assert manifest["provenance"]["kind"] == "lm-b5" and manifest["provenance"]["notes"]
    assert run("import", "gpu-csv", path, "--cluster", "small", "--to", "50%", "--out", tmp_path / "p") == 0
    assert 0 < open_gpu(tmp_path / "p").recorded.num_jobs < source.recorded.num_jobs
    assert json.loads((tmp_path / "p" / "manifest.json").read_text())["provenance"]["to"] == "50%"
    capsys.readouterr()
    assert run("import", "dovetail", stored, "--out", tmp_path / "k") == 0
    assert "note: checksums" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("describe", "smal"), "did you mean 'small'"),
        (("describe", "small", "--executors", 5), "--executors is for dag workloads; small is gpu"),
        (("describe", "small", "--cluster", "smal"), "did you mean 'small'"),
        (("describe", "chains", "--beside", "small"), "--beside is for gpu workloads; chains is dag"),
        (
            (
                "describe",
                "small:gang_shar=1",
            ),
            "did you mean 'gang_share'",
        ),
        (("generate", "small", "--slots", 3, "--out", "x"), "--slots is for elastic workloads; small is gpu"),
        (("generate", "small", "--arrivals", "bursts", "--out", "x"), "unknown kind of arrivals"),
        (("generate", "small", "--load", 1, "--interval", 3, "--out", "x"), "one or the other"),
        (("import", "gpu-csv", ".", "--strict", "--out", "x"), "--strict means nothing to gpu-csv"),
        (("import", "helios", ".", "--cpus-per-gpu", 3, "--out", "x"), "--cpus-per-gpu means nothing to helios"),
        (("import", "slurm-sact", ".", "--out", "x"), "did you mean 'slurm-sacct'"),
        (("import", "gpu-csv", ".", "--from", "noon", "--out", "x"), "--from noon: expected seconds"),
        (("import", "tpch", ".", "--to", "60%", "--out", "x"), "--to means nothing to tpch"),
    ],
)
def test_refusals(capsys, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    assert says in refused(capsys, *words)
    assert not (tmp_path / "x").exists()


def test_faults_are_listed(capsys, stored, tmp_path):
    path = write(tmp_path, "j.csv", CSV.replace("60", "-1").replace("0.5", "1.5"))
    message = refused(capsys, "import", "gpu-csv", path, "--out", tmp_path / "x")
    assert "row 2, field 'work_s'" in message
    (stored / "machines.parquet").write_bytes(b"")
    assert run("validate", stored) == 2
    assert "empty file" in capsys.readouterr().out
