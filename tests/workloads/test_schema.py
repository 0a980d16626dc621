"""The documentation of the schema says what the code says."""

from pathlib import Path

import pytest

from dovetail.workloads.schema import TABLES

DOCS = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", TABLES)
def test_every_table_and_column_is_documented(file):
    section = DOCS.partition(f"### `{file}`")[2].partition("\n#")[0]
    for column in TABLES[file]:
        assert f"| `{column.name}` |" in section
