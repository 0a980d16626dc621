import pickle

import pytest

from dovetail.execution import inputs
from dovetail.execution.inputs import Index, Inputs, OutFiles, Results, write_index
from dovetail.execution.outfile import OutFile, OutFileError


def places(folder, values, files=3):
    """Results spread over several out files, in task order."""
    outs = [OutFile(str(folder / f"out-{number}-0")) for number in range(files)]
    found = []
    for task, value in enumerate(values):
        out, blob = outs[task % files], pickle.dumps(value)
        found.append((out.path, out.add(0, task, 1, blob, 0.0, 1.0), len(blob)))
    for out in outs:
        out.flush()
        out.close()
    return found


@pytest.mark.parametrize("as_index", [False, True])
def test_results_are_a_sequence_in_task_order(tmp_path, as_index):
    where = places(tmp_path, list(range(10)))
    if as_index:
        write_index(str(tmp_path / "index"), where)
    files = OutFiles()
    given = Inputs({"parent": str(tmp_path / "index") if as_index else where}, files)
    results = given["parent"]
    assert list(given) == ["parent"] and len(given) == 1
    assert len(results) == 10
    assert list(results) == list(range(10))
    assert results[-1] == 9
    assert list(results[2:5]) == [2, 3, 4]
    with pytest.raises(IndexError, match="no number 10"):
        results[10]
    with pytest.raises(KeyError, match=r"parents are \['parent'\]"):
        given["other"]
    files.close()


def test_nothing_is_read_before_it_is_looked_at_and_few_files_stay_open(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "OPEN_FILES", 2)
    where = places(tmp_path, list("abcdefgh"), files=4)
    files = OutFiles()
    results = Results(where, files)
    (tmp_path / "out-0-0").unlink()
    assert results[1] == "b"
    with pytest.raises(OutFileError, match="out-0-0: cannot be opened"):
        list(results)
    assert [results[task] for task in (1, 2, 3, 5)] == list("bcdf")
    assert len(files._fds) == 2
    files.close()


def test_an_index_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "index"
    write_index(str(path), [("file", 1, 2), ("other", 3, 4)])
    assert list(Index.open(str(path))) == [("file", 1, 2), ("other", 3, 4)]
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(OutFileError, match="index"):
            Index.open(str(path))
