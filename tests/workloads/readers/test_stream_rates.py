import bz2
import gzip
import io
import itertools
import tarfile

import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.core.errors import ConfigError, DovetailError, InvalidWorkload
from dovetail.core.stream import DAY_S
from dovetail.workloads.readers.stream_rates import RateOptions, read_rates_file

CSV = "datetime,view\n1995-08-28 00:00:00,60\n1995-08-28 00:01:00,120\n1995-08-28 00:02:00,180\n"


def write(folder, text, name="rates.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def archive(*names):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:bz2") as file:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 8
            file.addfile(entry, io.BytesIO(b"60 120\n\n"))
    return data.getvalue()


def read(path, **options):
    return read_rates_file(path, RateOptions(**options))


@pytest.mark.parametrize(
    ("text", "name", "options", "bin_s", "rate", "clock_s"),
    [
        (CSV, "r.csv", {}, 60, (1, 2, 3), 0),
        (CSV, "r.csv", {"start": "1995-08-28 00:01:00"}, 60, (2, 3), 60),
        (CSV, "r.csv", {"start": "60", "end": "120"}, 60, (2,), 60),
        (CSV, "r.csv", {"end": "67%"}, 60, (1, 2), 0),
        (CSV, "r.csv", {"bin_s": 180}, 180, (2,), 0),
        ("\ufeff" + CSV.replace("\n", "\r\n\r\n"), "r.csv", {}, 60, (1, 2, 3), 0),
        ("0,60\n60,120\n", "r.csv", {}, 60, (1, 2), 0),
        ("809568000,60\n809568060,120\n", "r.csv", {}, 60, (1, 2), 0),  # the same Monday, since 1970
        ("809568000,60\n809568060,120\n", "r.csv", {"start": "1995-08-28T00:01:00"}, 60, (2,), 60),
        ("t,host,n,bytes\n0,x,60,7\n60,y,60,8\n", "r.csv", {"count_column": "n"}, 60, (1, 1), 0),
        ("n,t\n60,1995-08-29 00:00:00\n0,1995-08-29 01:00:00\n", "r.csv", {}, 3600, (1 / 60, 0), DAY_S),
        ("a,b\n60,0\n120,60\n", "r.csv", {"time_column": "b"}, 60, (1, 2), 0),
        ("60\n120\n", "r.txt", {"step_s": 60}, 60, (1, 2), 0),
        ("count\n60\n120\n", "r.txt", {"step_s": 60, "begins": "1995-08-29"}, 60, (1, 2), DAY_S),
        ("1 " * 120, "r.txt", {}, 60, (1, 1), 0),
        ("1 2 3 4\n", "r.txt", {"bin_s": 2}, 2, (1.5, 3.5), 0),
        (gzip.compress(b"60 120"), "r.txt.gz", {"step_s": 60}, 60, (1, 2), 0),
        (bz2.compress(CSV.encode()), "r.csv.bz2", {}, 60, (1, 2, 3), 0),
        (archive("r.txt"), "r.tbz2", {"step_s": 60}, 60, (1, 2), 0),
    ],
    ids=itertools.count(),  # packed files hold the time they were made, so no two processes would name them alike
)
def test_series_of_every_form(tmp_path, text, name, options, bin_s, rate, clock_s):
    series = read(write(tmp_path, text, name), **options).source.recorded
    np.testing.assert_allclose(series.rate, [rate])
    assert (series.bin_s, series.clock_s, series.name) == (bin_s, clock_s, ("r",))


def test_gaps_and_disorder_are_mended_and_counted(tmp_path):
    found = read(write(tmp_path, "0,60\n180,240\n60,120\n300,0\n360,0\n420,0\n"))
    np.testing.assert_allclose(found.source.recorded.rate * 60, [[60, 120, 180, 240, 120, 0, 0, 0]])
    assert "1 rows were earlier than the row before; sorted" in found.notes
    assert "2 of 8 bins of 60 s have no row (up to 1 in a row); joined by a line" in found.notes[1]
    assert "8 bins of 60 s from Monday 0 h on" in found.notes[-1]


def test_what_is_left_over_is_dropped_and_said(tmp_path):
    found = read(write(tmp_path, "1 " * 130))
    assert found.source.recorded.rate.shape == (1, 2)
    assert "10 bins of 1 s at the end" in found.notes[1]
    assert "taken to begin on a Monday" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "name", "options", "says"),
    [
        ("", "r.csv", {}, "empty file"),
        (b"\xff1,2\n", "r.csv", {}, "UTF-8"),
        ("datetime,view\n", "r.csv", {}, "a header line only"),
        (CSV + "1995-08-28 00:02:00,7\n", "r.csv", {}, r"row 5, field 'datetime': the same time as in row 4"),
        (CSV.replace("120", "-1"), "r.csv", {}, r"row 3, field 'view': not a count: '-1'"),
        (CSV.replace("120", "nan"), "r.csv", {"count_column": "view"}, "row 3, field 'view'"),
        (CSV.replace(",60", ",nan"), "r.csv", {}, "row 2, field 'view': not a count: 'nan'"),
        (CSV.replace("120", "inf"), "r.csv", {}, "row 3, field 'view': not a count: 'inf'"),
        (CSV.replace("120", ""), "r.csv", {}, "row 3, field 'view': not a count: ''"),
        (CSV.replace("120", "1e308"), "r.csv", {}, "row 3, field 'view': not a count: '1e308' .expected 0 to 1e"),
        ("5 1e308\n", "r.txt", {}, "row 1, field 'count': not a count: '1e308'"),
        ("0,1\n60,1\n120,1\n130,1\n180,1\n", "r.csv", {}, "row 4: not a multiple of 60 s"),
        ("time;count\n0;5\n60;7\n", "r.csv", {}, "row 1: values between semicolons .expected values between commas"),
        (CSV + "noon,7\n" * 50, "r.csv", {"time_column": "datetime"}, "50 faults"),
        (CSV.replace("00:01:00", "00:01:07"), "r.csv", {}, "row 3.*not a multiple|rows are"),
        (CSV + "1995-08-28 00:03:00\n", "r.csv", {}, "row 5: 1 columns"),
        ("0,1\n", "r.csv", {}, "1 rows"),
        ("a,b,c\n0,1,2\n60,1,2\n", "r.csv", {}, "cannot tell which column holds counts: a, b, c"),
        ("a,b\nx,1\ny,2\n", "r.csv", {}, "cannot tell"),
        (CSV.replace("60", "0").replace("120", "0").replace("180", "0"), "r.csv", {}, "all counts are 0"),
        ("1 2 x 4\n5 -6\n", "r.txt", {}, "row 1, field 'count': not a count: 'x'"),
        ("0,1\n0.5,1\n1,1\n", "r.csv", {}, "whole seconds"),
        ("0,1\n60,1\n1e12,1\n", "r.csv", {}, "at most|multiple"),
        (b"BZh9", "r.bz2", {}, "cannot be read"),
        (b"\x1f\x8b", "r.gz", {}, "cannot be read"),
        (b"nothing", "r.tar", {}, "cannot be read"),
        (archive("a", "b"), "r.tbz2", {}, "an archive of 2 files"),
        ('"a,1\n', "r.csv", {}, "not readable as CSV"),
    ],
    ids=itertools.count(),
)
def test_faults_name_file_and_row(tmp_path, text, name, options, says):
    path = write(tmp_path, text, name)
    with pytest.raises(InvalidWorkload, match=says) as error:
        read(path, **options)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (CSV, {"step_s": 1}, "says itself"),
        (CSV, {"begins": "1995-07-01"}, "says itself"),
        (CSV, {"time_column": "when"}, "there are datetime, view"),
        (CSV, {"start": "noon"}, "--from noon: expected seconds after the first bin .*or a date"),
        (CSV, {"end": "150%"}, "--to 150%: expected seconds after the first bin"),
        (CSV, {"time_column": "view", "count_column": "view"}, "are both view; expected two columns of datetime, view"),
        (CSV, {"start": "80%", "end": "20%"}, "nothing is left"),
        (CSV, {"bin_s": 90}, "expected a multiple of 60 s"),
        (CSV, {"bin_s": 0.5}, "whole seconds"),
        (CSV, {"bin_s": 3600}, "do not make one of 3600 s"),
        ("1 2 3", {"start": "1995-07-01"}, "has no dates"),
        ("1 2 3", {"begins": "summer"}, "--start summer: expected a date"),
        ("1 2 3", {"count_column": "n"}, "has no columns with names"),
    ],
)
def test_options_that_do_not_fit(tmp_path, text, options, says):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=says):
        read(path, **options)


def test_no_such_file(tmp_path):
    with pytest.raises(DovetailError, match="cannot be read"):
        read(tmp_path / "r.csv")


@needs_data("rates")
def test_the_public_logs():
    clarknet = read(DATA / "rates" / "clarknet_per_min.csv")
    series = clarknet.source.recorded
    assert series.rate.shape == (1, 20_160) and series.clock_s == 0.0
    assert series.rate.mean() * 60 == pytest.approx(166.04, abs=0.01)
    parts = [read(DATA / "rates" / "clarknet_per_min.csv", start=a, end=b) for a, b in ((None, "50%"), ("50%", None))]
    np.testing.assert_array_equal(np.hstack([part.source.recorded.rate for part in parts]), series.rate)
    nasa = read(DATA / "rates" / "nasa_workload.tbz2", begins="1995-07-01").source.recorded
    assert nasa.rate.shape == (1, 84_332) and nasa.clock_s == 5 * DAY_S
