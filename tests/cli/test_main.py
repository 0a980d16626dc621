"""The command line's frame: dispatch, exit codes, and what goes to which stream."""

import argparse
import os
import subprocess
import sys
import types

import pytest

import dovetail
from dovetail import cli
from dovetail.core.errors import ConfigError


@pytest.fixture
def verb(monkeypatch):
    """A verb `sample` whose run function the test chooses: `verb(run)`."""

    def install(run, configure=lambda parser: None):
        module = types.ModuleType("sample_verb")
        module.configure = configure
        module.run = run
        monkeypatch.setitem(sys.modules, "sample_verb", module)
        monkeypatch.setitem(cli.VERBS, "sample", ("sample_verb", "a verb for the test"))

    return install


def test_arguments_reach_the_verb_and_its_code_comes_back(verb):
    seen = []

    def configure(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--jobs", type=int)

    def run(args: argparse.Namespace) -> int:
        seen.append(args.jobs)
        return 7

    verb(run, configure)
    assert cli.main(["sample", "--jobs", "3"]) == 7
    assert seen == [3]


def test_user_error_is_one_message_on_stderr_and_code_2(verb, capsys):
    def run(args):
        raise ConfigError("run.toml: jobs: expected int, got 'x'")

    verb(run)
    assert cli.main(["sample"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "dovetail: error: run.toml: jobs: expected int, got 'x'\n"


def test_a_bug_keeps_its_traceback(verb):
    verb(lambda args: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["sample"])


def test_interrupt_is_130_and_one_line(verb, capsys):
    def run(args):
        raise KeyboardInterrupt

    verb(run)
    assert cli.main(["sample"]) == 130
    assert capsys.readouterr().err.strip() == "dovetail: interrupted"


def test_missing_optional_package_names_the_extra(verb, capsys):
    def run(args):
        raise ModuleNotFoundError("No module named 'gymnasium'", name="gymnasium")

    verb(run)
    assert cli.main(["sample"]) == 2
    assert "pip install 'dovetail[envs]'" in capsys.readouterr().err


def test_missing_module_of_our_own_is_a_bug(verb):
    def run(args):
        raise ModuleNotFoundError("No module named 'dovetail.lost'", name="dovetail.lost")

    verb(run)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["sample"])


def test_unknown_verb_suggests(capsys):
    assert cli.main(["compair"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "dovetail: error: unknown command 'compair'; did you mean 'compare'?\n"


def test_no_verb_shows_help_on_stderr(capsys):
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "commands:" in err


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"dovetail {dovetail.__version__}\n"


def test_help_shows_every_verb_in_order(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    shown = [line.split()[0] for line in capsys.readouterr().out.split("commands:\n")[1].split("\n\n")[0].splitlines()]
    assert shown == [
        "demo", "compare", "simulate", "adapt", "report", "export", "explain", "workload", "train", "evaluate", "tune",
        "run", "autoscale", "calibrate", "up", "submit", "status", "cancel", "forget", "swap", "drain", "down", "list",
        "doctor", "bench",
    ]  # fmt: skip


def test_options_may_not_be_abbreviated(verb):
    verb(lambda args: 0, lambda parser: parser.add_argument("--schedulers"))
    with pytest.raises(SystemExit) as stop:
        cli.main(["sample", "--sched", "x"])
    assert stop.value.code == 2


@pytest.mark.parametrize("lines", [1, 500_000])
def test_reader_that_goes_away_is_not_a_traceback(lines):
    """Less output than is flushed before the end, and more than a pipe holds."""
    program = (
        "import sys, types; from dovetail import cli\n"
        "m = types.ModuleType('m'); m.configure = lambda p: None\n"
        f"m.run = lambda a: sys.stdin.read() or print('x\\n' * {lines}) or 0\n"
        "sys.modules['m'] = m; cli.VERBS['m'] = ('m', 'floods'); sys.exit(cli.main(['m']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": ""},  # the short output must still be in the buffer at the end
    ) as process:
        process.stdout.close()
        process.stdin.close()  # only now does the verb print
        err = process.stderr.read()
        assert process.wait(timeout=30) == 141
    assert err == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_output_that_cannot_be_written_is_an_error_not_a_traceback():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dovetail", "list"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", cli.VERBS)
def test_every_verb_exists_and_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert f"usage: dovetail {name}" in capsys.readouterr().out


def test_a_closed_standard_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert cli.main(["list"]) == 2
    assert "standard output is closed" in capsys.readouterr().err
