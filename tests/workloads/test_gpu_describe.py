import json

import numpy as np
import pytest
from tests.workloads.gpu_samples import recorded

from dovetail.cluster.gpu import GpuCluster
from dovetail.core.errors import ConfigError
from dovetail.workloads.gpu_describe import GROUPS, beside, describe_gpu, gpu_as_text
from dovetail.workloads.gpu_plot import save_gpu_plot
from dovetail.workloads.gpu_source import open_gpu


def test_what_is_said_of_recorded_jobs():
    summary = describe_gpu(recorded())
    assert summary["counts"] == {"recorded_jobs": 4, "described_jobs": 4, "users": 2, "kinds": 3}
    shares = summary["gpus_per_job"]
    assert [shares[name] for name in GROUPS] == [0.25, 0.25, 0.25, 0, 0.25, 0, 0, 0]
    assert summary["setting"]["gpus"] == {"V100": 8}
    assert summary["load"]["interval_s"] == pytest.approx(70 / 3)
    gpu_seconds = (100 + 100 + 1200) / 4
    assert summary["load"]["gpus"] == pytest.approx(gpu_seconds / (70 / 3 * 8))
    assert summary["per_job"]["cpus_per_gpu"]["max"] == 4.0
    assert summary["per_job"]["gap_s"]["mean"] == pytest.approx(70 / 3)
    json.dumps(summary, allow_nan=False)


def test_text_for_people():
    text = gpu_as_text(describe_gpu(open_gpu("small"), cluster=GpuCluster(16)))
    assert "16 machines in 1 racks (64 V100)" in text
    assert "100.0% of the jobs fit" in text
    assert "load: a job every" in text
    assert "all jobs come at once" in gpu_as_text(describe_gpu(recorded((0.0, 0.0))))
    one = gpu_as_text(describe_gpu(recorded((0.0,))))
    assert "1 recorded jobs" in one


def test_side_by_side():
    text = beside(describe_gpu(open_gpu("small")), describe_gpu(recorded((0.0,))))
    lines = text.splitlines()
    assert lines[0].split()[-2:] == ["small", "toy"]
    assert any(line.split()[-1] == "-" for line in lines)  # one job has no gaps
    assert sum(line.strip().startswith("50% at most") for line in lines) == 4


def test_a_number_of_jobs_is_needed():
    with pytest.raises(ConfigError, match="at least 1"):
        describe_gpu(recorded(), jobs=0)


def test_pictures(tmp_path):
    save_gpu_plot(recorded(), tmp_path / "one.png")
    save_gpu_plot(
        open_gpu("small:cpu_share=1,shared_share=0,gang_share=0,arrivals=batch"), tmp_path / "two.png", other=recorded()
    )
    for name in ("one.png", "two.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert np.unique([path.stat().st_size for path in tmp_path.iterdir()]).size == 2
