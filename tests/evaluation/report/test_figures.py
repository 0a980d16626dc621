from __future__ import annotations

from pathlib import Path

from dovetail.evaluation.report import write_figures
from dovetail.records import read_records


def test_figures(shared_records: Path, tmp_path: Path) -> None:
    records = read_records(shared_records)
    written = write_figures(records, tmp_path / "a")
    names = {path.name for path in written}
    assert names == {"table.png", "cdf.png", "jobs.png"} | {f"gantt-{run.run}.png" for run in records.runs}
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(names)
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) > 5000
    again = write_figures(records, tmp_path / "b")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]
