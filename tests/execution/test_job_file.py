"""Job files: what they say, what is refused, and that reading them runs nothing."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from dovetail.core.errors import ConfigError
from dovetail.execution.errors import InvalidJob
from dovetail.execution.job_file import load_job
from dovetail.execution.payload import Payload
from dovetail.execution.tasks import Call, Command

WHOLE = """
name = "count words"
weight = 2
deadline_s = 600
[[stage]]
name = "sum"
after = ["count"]
inputs = true
call = "my_package.counting:total"
[[stage]]
name = "count"
tasks = "texts/*.txt"
command = ["wc", "-w", "{task}"]
cpus = 2
memory = "200MB"
retries = 1
timeout = 60
expected = 1.5
[[stage]]
name = "list"
tasks = [1, "two", {three = 3}]
call = "os.path:join"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "words.toml"
    path.write_text(text)
    return path


def test_a_whole_job(tmp_path):
    (tmp_path / "texts").mkdir()
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / "texts" / name).write_text("x")
    job = load_job(written(tmp_path, WHOLE))
    spec = job.spec()
    assert (spec.name, spec.weight, spec.deadline_s, spec.sys_path) == ("count words", 2, 600, (str(tmp_path),))
    summed, count, listed = spec.stages
    assert (summed.after, summed.inputs, summed.tasks) == ((1,), True, 1)
    assert (count.tasks, count.cpus, count.memory_gb, count.retries) == (2, 2.0, 0.2, 1)
    assert (count.timeout_s, count.expected_s, listed.tasks) == (60.0, 1.5, 3)
    payload = Payload.from_bytes(job.payload())
    arguments = [pickle.loads(payload.argument_blob(1, task)) for task in range(2)]
    assert arguments == [str(tmp_path / "texts" / name) for name in ("a.txt", "b.txt")]
    command = pickle.loads(payload.function(1))
    assert isinstance(command, Command) and command.directory == str(tmp_path)
    assert command(arguments[0]).split() == ["1", arguments[0]]
    assert pickle.loads(payload.function(0)) == Call("my_package.counting:total")
    assert pickle.loads(payload.argument_blob(2, 2)) == {"three": 3}


def test_reading_imports_and_runs_nothing(tmp_path):
    (tmp_path / "trap_module_x.py").write_text("raise SystemExit('imported')")
    text = '[[stage]]\nname = "a"\ncall = "trap_module_x:f"\n[[stage]]\nname = "b"\ncommand = ["touch", "made"]\n'
    job = load_job(written(tmp_path, text))
    job.payload()
    assert job.name == "words" and "trap_module_x" not in sys.modules and not (tmp_path / "made").exists()


def test_patterns_with_a_root(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    job = load_job(written(tmp_path, f'[[stage]]\nname = "a"\ncommand = ["cat"]\ntasks = "{tmp_path}/*.txt"\n'))
    assert job.stages[0].arguments == [str(tmp_path / "a.txt")]


STAGE = '[[stage]]\nname = "a"\n'
RUN = 'command = ["true"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"no stages; expected one or more \[\[stage\]\] tables"),
        ('stage = "a"', "no stages"),
        ("[stage]\nname = 'a'", "no stages"),
        ("name = 3\n" + STAGE + RUN, "name: expected str, got 3"),
        ("nmae = 'x'\n" + STAGE + RUN, "nmae: unknown key; did you mean 'name'"),
        ("[[stages]]\nname = 'a'", "stages: unknown key; did you mean 'stage'"),
        (STAGE + RUN + "taks = 3", r"stage\[0\].taks: unknown key; did you mean 'tasks'"),
        (STAGE + RUN + "timeout_s = 3", "timeout_s: unknown key; did you mean 'timeout'"),
        (STAGE, r"stage\[0\]: expected either command"),
        (STAGE + RUN + 'call = "a:b"', "expected either command"),
        (STAGE + 'command = "rm -rf /"', "command: expected"),
        (STAGE + "command = []", "command: empty"),
        (STAGE + 'command = [""]', "command: empty"),
        (STAGE + 'command = ["a\\u0000"]', "NUL"),
        (STAGE + 'call = "os.system"', "call: cannot read 'os.system'; expected module:function"),
        (STAGE + 'call = "a b:c"', "cannot read 'a b:c'"),
        (STAGE + 'call = ":f"', "cannot read ':f'"),
        ("[[stage]]\n" + RUN, r"stage\[0\]: missing 'name'"),
        (STAGE + RUN + "inputs = true", "inputs: a command cannot be given inputs"),
        (STAGE + RUN + "tasks = 0", "tasks: is 0; expected 1 to"),
        (STAGE + RUN + "tasks = 2.5", "tasks: expected a number, a list of arguments, or a pattern"),
        (STAGE + RUN + "tasks = true", "tasks: expected a number"),
        (STAGE + RUN + "tasks = []", "tasks: an empty list"),
        (STAGE + RUN + 'tasks = "*.none"', r"tasks: no file matches '\*.none' in"),
        (STAGE + RUN + 'tasks = ""', "tasks: "),
        (STAGE + RUN + 'cpus = "two"', "cpus: expected float"),
        (STAGE + RUN + "retries = 1.5", "retries: expected int"),
        ("name = ", "not valid TOML"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as found:
        load_job(path)
    assert str(found.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STAGE + RUN + 'after = ["b"]', "comes after 'b', which does not exist"),
        (STAGE + RUN + 'after = ["a"]', "circle: 'a' -> 'a'"),
        (STAGE + RUN + STAGE + RUN, "two stages are named 'a'"),
        (STAGE + RUN + 'memory = "much"', "memory is 'much'"),
        (STAGE + RUN + "timeout = -1", "timeout_s is -1"),
    ],
)
def test_jobs_that_cannot_be_are_named_too(tmp_path, text, message):
    with pytest.raises(InvalidJob, match=message):
        load_job(written(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_job(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_job(tmp_path / "bytes.toml")
