import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workloads.gpu_samples import record, recorded
from tests.workloads.samples import assert_same

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.errors import DovetailError, InvalidWorkload
from dovetail.core.seeds import SeedTree
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_check import gpu_faults
from dovetail.workloads.gpu_schema import MACHINES
from dovetail.workloads.gpu_source import GpuSource, open_gpu
from dovetail.workloads.gpu_store import write_gpu
from dovetail.workloads.gpu_tables import gpu_to_tables, mask_text, text_mask
from dovetail.workloads.readers.gpu_native import find_gpu_faults, read_edited_gpu, read_gpu
from dovetail.workloads.schema import JOBS


def by_name(jobs: GpuWorkload) -> list[tuple[str, str]]:
    return [(jobs.user_name[u], jobs.kind_name[k]) for u, k in zip(jobs.user, jobs.kind, strict=True)]


def test_what_is_written_is_read(tmp_path):
    manifest = write_gpu(recorded(), tmp_path / "w", provenance={"by": "hand"})
    assert manifest["counts"] == {"jobs": 4, "machines": 2}
    again = open_gpu(tmp_path / "w")
    assert_same(again.recorded, record())
    assert (again.jobs, again.arrivals) == (4, GpuArrivals("trace"))
    for one, other in zip(again.cluster.arrays(), GpuCluster(2).arrays(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_drawn_sequence_survives(tmp_path):
    source = open_gpu("small-mixed:restricted_share=0.3")
    jobs = source.sequence(60, source.arrivals, source.cluster, SeedTree(2))
    write_gpu(GpuSource("x", 60, source.cluster, source.arrivals, recorded=jobs), tmp_path / "w")
    again = read_gpu(tmp_path / "w")
    assert by_name(again.recorded) == by_name(jobs)
    assert again.arrivals == source.arrivals
    for name in ("arrival_s", "workers", "gpus", "cpus", "memory", "types", "work_s", "estimate_s"):
        np.testing.assert_array_equal(getattr(again.recorded, name), getattr(jobs, name))


def test_types_between_bars():
    assert mask_text(-1) == "any" and text_mask("any") == -1
    assert text_mask(mask_text(0b1011)) == 0b1011
    assert text_mask("V100M16|v100m32") == 1 << 0 | 1 << 6


def test_a_distribution_is_not_stored(tmp_path):
    with pytest.raises(DovetailError, match="no recorded jobs to store"):
        write_gpu(open_gpu("small"), tmp_path / "w")
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("file", "column", "values", "rows"),
    [
        (JOBS, "arrival_s", [0.0, -1.0, 5.0, 3.0], {1, 3}),
        (JOBS, "arrival_s", [0.0, 1.0, float("nan"), 3.0], {2}),
        (JOBS, "workers", [0, 1, 1, 10**6], {0, 3}),
        (JOBS, "gpus", [1.5, 17.0, -0.5, 0.5], {0, 1, 2}),
        (JOBS, "cpus", [-1.0, 0.0, 1e9, 1.0], {0, 2}),
        (JOBS, "memory", [-1.0, 0.0, 1.0, None], {0, 3}),
        (JOBS, "work_s", [0.0, 1.0, 1e12, 1.0], {0, 2}),
        (JOBS, "estimate_s", [-1.0, 1.0, 1.0, 1.0], {0}),
        (JOBS, "types", ["any", "V100|V99", "", "T4"], {1, 2}),
        (JOBS, "job", ["a", "b", "a", "c"], {2}),
        (JOBS, "user", ["a", "", None, "c"], {1, 2}),
        (MACHINES, "gpus", [17, -1], {0, 1}),
        (MACHINES, "cpus", [0.0, 1.0], {0}),
        (MACHINES, "rack", [-1, 0], {0}),
        (MACHINES, "type", ["V100", "V99"], {1}),
        (MACHINES, "machine", ["a", "a"], {1}),
    ],
)
def test_every_fault_is_placed(file, column, values, rows):
    tables = gpu_to_tables(record(), GpuCluster(2))
    table = tables[file]
    place = table.column_names.index(column)
    tables[file] = table.set_column(place, column, pa.array(values, table[column].type))
    found = gpu_faults(tables)
    assert {fault.row for fault in found} == rows
    assert {(fault.file, fault.field) for fault in found} == {(file, column)}


def test_damaged_directories(tmp_path):
    write_gpu(recorded(), tmp_path / "w")
    jobs = pq.read_table(tmp_path / "w" / JOBS)
    pq.write_table(jobs.drop_columns(["kind"]), tmp_path / "w" / JOBS)
    with pytest.raises(InvalidWorkload, match="missing column"):
        read_gpu(tmp_path / "w")
    pq.write_table(jobs.set_column(9, "work_s", pa.array([1.0, 2.0, 3.0, 4.0])), tmp_path / "w" / JOBS)
    assert "checksum" in str(find_gpu_faults(tmp_path / "w")[0])
    edited = read_edited_gpu(tmp_path / "w")
    assert edited.source.recorded.work_s.tolist() == [1, 2, 3, 4] and edited.notes
    manifest = json.loads((tmp_path / "w" / "manifest.json").read_text())
    for setting, says in (({"jobs": 0, "arrivals": {"kind": "trace"}}, "expected 1"), (None, "no setting")):
        (tmp_path / "w" / "manifest.json").write_text(json.dumps({**manifest, "setting": setting}))
        assert any(says in str(fault) for fault in find_gpu_faults(tmp_path / "w"))
    (tmp_path / "w" / MACHINES).unlink()
    assert any("missing file" in str(fault) for fault in find_gpu_faults(tmp_path / "w"))
