import json

import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.core.errors import DovetailError, InvalidWorkload
from dovetail.workloads.readers.arrival_counts import read_counts

ALIBABA = "5,j_1,M1,5,100,0.2,3\n5,j_1,R2_1,7,700,0.3,1\n8,j_2,M1,2,100,0.2,3\n25,j_3,M1,2,100,0.2,3\n"


def write(folder, text, name="counts.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


@pytest.mark.parametrize(
    ("text", "options", "counts"),
    [
        ("[1, 0, 2.5]", {}, (1, 0, 2.5)),
        ('{"5": [1, 2], "6": [3]}', {"pattern": "6"}, (3,)),
        ('{"5": [1, 2]}', {}, (1, 2)),
        ("1\n0\n\n2\n", {}, (1, 0, 2)),
        ("\ufeffcount\r\n1\r\n2\r\n", {}, (1, 2)),
        ("time,count\n0,1\n60,2\n", {}, (1, 2)),
        ("10,1\n20,2\n50,3\n", {}, (1, 2, 0, 0, 3)),
        ("7,4\n", {}, (4,)),
        ("date,count\n1995-08-28 00:00:00,3\n1995-08-28T00:01:00,4\n1995-08-28 02:03:00+02:00,5\n", {}, (3, 4, 0, 5)),
        ("100\n130\n101\n160\n", {"times": True, "slot_s": 30.0}, (2, 1, 1)),
        (ALIBABA, {"slot_s": 10.0}, (2, 0, 1)),
        ("M1,3,j_1,1,Terminated,10,15,100,0.2\nM1,1,j_2,1,Terminated,31,35,100,0.2\n", {"slot_s": 10.0}, (1, 0, 1)),
    ],
)
def test_series_of_every_form(tmp_path, text, options, counts):
    assert read_counts(write(tmp_path, text), **options).counts == counts


def test_what_should_be_known_is_noted(tmp_path):
    assert "2 slots without a row" in read_counts(write(tmp_path, "10,1\n20,2\n50,3\n")).notes[0]
    text = ALIBABA.replace("25,j_3", "25,j_3")
    assert "3 arrivals counted in slots of 10 s" in read_counts(write(tmp_path, text), slot_s=10.0).notes[0]
    text = "M1,3,j_1,1,Terminated,10,15,100,0.2\nM1,1,j_2,1,Failed,31,35,100,0.2\n"
    assert "1 jobs that did not finish" in read_counts(write(tmp_path, text), slot_s=10.0).notes[-1]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", {}, "empty file"),
        (b"\xff1\n", {}, "UTF-8"),
        ("[1, 2", {}, "not JSON"),
        ("[" * 100_000, {}, "not JSON"),
        ("{}", {}, "without any series"),
        ("[]", {}, "not a list of counts"),
        ('{"a": 3}', {}, "not a list of counts"),
        ('[1, "x", -1, true, null]', {}, "4 faults"),
        ("[1, NaN]", {}, "entry 1"),
        ('{"5": [1], "6": [2]}', {}, "choose a pattern: 5, 6"),
        ('{"five": [1], "six": [2]}', {"pattern": "fiv"}, "did you mean 'five'"),
        ("[1]", {"pattern": "5"}, "leave the pattern out"),
        ("1\n2\n", {"pattern": "5"}, "no JSON"),
        ("[1]", {"times": True}, "this is JSON"),
        ("0,1\n1,2\n", {"times": True}, "2 columns"),
        ("0\n0\n", {}, "all counts are 0"),
        ("1\nx\n-2\n", {}, "2 faults"),
        ("1\nnan\n", {}, "row 2, field 'count'"),
        ("0,1\n1,2020-01-01\n", {}, "row 2, field 'count'"),
        ("0,1\nsoon,1\n", {}, "row 2, field 'time': not a number from 0 or a date"),
        ("0,1\n1,2,3\n", {}, "row 2: 3 columns"),
        ("0,1\n1,1\n1,1\n", {}, "row 3, field 'time': not later"),
        ("0,1\n10,1\n25,1\n", {}, "row 3: 15 after"),
        ("0,1\n1,1\n99999999,1\n", {}, "slots"),
        ("1,2,3\n", {}, "3 columns"),
        ("0\n1e9\n", {"times": True, "slot_s": 1.0}, "longer slots"),
        ("1\n", {"slot_s": 0.0}, "slot length"),
        (ALIBABA.replace("8,j_2", "x,j_2"), {}, "field 'arrival_s'"),
        ("M1,1,j_2,1,Failed,31,35,100,0.2\n", {}, "no job finished"),
    ],
)
def test_what_is_no_series_is_refused(tmp_path, text, options, says):
    with pytest.raises(DovetailError, match=says):
        read_counts(write(tmp_path, text), **options)


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidWorkload, match="cannot be read"):
        read_counts(tmp_path / "none")


@needs_data("elastic")
def test_the_counts_of_the_google_trace():
    path = DATA / "elastic" / "google_arrival_patterns.json"
    patterns = json.loads(path.read_text())
    assert len(patterns) == 11
    for key in patterns:
        assert len(read_counts(path, pattern=key).counts) == 75


@needs_data("alibaba2018")
def test_arrivals_of_the_alibaba_trace():
    found = read_counts(DATA / "alibaba2018" / "sample_tasks.csv", slot_s=60.0)
    assert sum(found.counts) > 1000
    assert 30 < len(found.counts) < 100
