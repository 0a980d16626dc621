import os
import pickle
import sys
from pathlib import Path

import numpy
import pytest
from tests.execution.fake_server import FakeServer, stage_of

from dovetail.execution.job_modules import JobModules
from dovetail.execution.tasks import Call


@pytest.fixture
def server():
    with FakeServer() as server:
        yield server


class Submitted:
    """A job of one stage that stays, so that batches of several jobs can take turns."""

    def __init__(self, server, peer, function, folder):
        self.server, self.peer = server, peer
        self.job, settings = server.write_job(stage_of(function, 100))
        peer.send("stage", self.job, 0, settings | {"sys_path": [str(folder)]})

    def run(self):
        (entry,) = self.server.done(self.server.send_batch(self.peer, self.job, 0, [0]), 1)
        return pickle.loads(self.server.payload(entry, job=self.job)) if entry[1] == 1 else entry[6]


def module(folder, text, name="counting"):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(text)
    return folder


def late(_):
    import counting  # only now

    return counting.total(0)


def test_jobs_with_modules_of_the_same_name_each_run_their_own(server, tmp_path):
    peer = server.start_executor(server.start_manager())
    one = module(tmp_path / "one", "import parts\ndef total(_): return 'one', parts.NAME, __file__")
    module(one, "NAME = 'part of one'", "parts")
    two = module(tmp_path / "two", "import parts\ndef total(_): return 'two', parts.NAME, __file__")
    module(two, "NAME = 'part of two'", "parts")
    jobs = [Submitted(server, peer, Call("counting:total"), folder) for folder in (one, two)]
    jobs += [Submitted(server, peer, late, folder) for folder in (one, two)]
    expected = [(name, f"part of {name}", str(tmp_path / name / "counting.py")) for name in ("one", "two")] * 2
    for _ in range(3):
        assert [job.run() for job in jobs] == expected


def test_an_edited_module_is_loaded_anew_for_the_next_job_and_not_for_this_one(server, tmp_path):
    peer = server.start_executor(server.start_manager())
    module(tmp_path / "one", "def total(_): return 'before'")
    first = Submitted(server, peer, Call("counting:total"), tmp_path / "one")
    assert first.run() == "before"
    module(tmp_path / "one", "def total(_): return 'after it was edited'")
    second = Submitted(server, peer, Call("counting:total"), tmp_path / "one")
    assert [second.run(), first.run(), second.run()] == ["after it was edited", "before", "after it was edited"]
    peer.send("forget", second.job)
    assert first.run() == "before"


def test_what_a_module_remembers_stays_with_its_job(server, tmp_path):
    peer = server.start_executor(server.start_manager())
    module(tmp_path / "one", "calls = []\ndef total(_):\n    calls.append(1)\n    return len(calls)")
    first, second = (Submitted(server, peer, Call("counting:total"), tmp_path / "one") for _ in range(2))
    assert [first.run(), first.run(), second.run(), first.run()] == [1, 2, 1, 3]


def test_a_job_s_own_module_comes_before_an_installed_one_and_only_for_that_job(server, tmp_path):
    peer = server.start_executor(server.start_manager())
    own = module(tmp_path / "own", "def total(_): return 'mine'\nrgb_to_hsv = total", "colorsys")
    plain = module(tmp_path / "plain", "import colorsys\ndef total(_): return colorsys.__file__")
    before = Submitted(server, peer, Call("counting:total"), plain)
    standard = before.run()
    assert Submitted(server, peer, Call("colorsys:total"), own).run() == "mine"
    assert Submitted(server, peer, Call("counting:total"), plain).run() == standard == before.run()


def test_a_name_that_the_executor_needs_itself_is_an_error_that_says_so(server, tmp_path):
    peer = server.start_executor(server.start_manager())
    own = module(tmp_path / "own", "def total(_): return 'mine'", "selectors")
    said = Submitted(server, peer, Call("selectors:total"), own).run()
    assert f"the module 'selectors' in {own} is not used" in said and "a name of its own" in said
    plain = Submitted(server, peer, Call("selectors:no_such_function"), tmp_path).run()
    assert plain == "AttributeError: module 'selectors' has no attribute 'no_such_function'"


def test_extension_modules_in_a_job_s_folder_are_loaded_once(server, tmp_path):
    peer = server.start_executor(server.start_manager())
    os.symlink(Path(numpy.__file__).parent, tmp_path / "numpy")
    module(tmp_path, "import numpy\ndef total(_): return numpy.__file__, int(numpy.arange(4).sum())")
    for _ in range(2):
        found = Submitted(server, peer, Call("counting:total"), tmp_path).run()
        assert found == (str(tmp_path / "numpy" / "__init__.py"), 6)


def test_path_and_modules_are_as_before_when_the_last_job_is_gone(tmp_path):
    module(tmp_path / "one", "")
    path, modules = list(sys.path), set(sys.modules)
    mine = JobModules()
    mine.enter(1, [str(tmp_path / "one")])
    assert sys.path[0] == str(tmp_path / "one")
    import counting  # type: ignore[import-not-found]

    sys.path.append("/somewhere")
    mine.enter(2, [])
    assert sys.path == path and "counting" not in sys.modules
    mine.enter(1, [str(tmp_path / "one")])
    assert sys.path[-1] == "/somewhere" and sys.modules["counting"] is counting
    del sys.modules["pickle"]  # whatever a task does
    mine.forget(1)
    sys.modules["pickle"] = pickle
    assert sys.path == path and set(sys.modules) == modules
