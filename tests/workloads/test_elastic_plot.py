import numpy as np
import pytest
from tests.workloads.elastic_samples import recorded

from dovetail.core.errors import DovetailError
from dovetail.workloads.elastic_plot import save_elastic_plot
from dovetail.workloads.elastic_source import open_elastic

HOSTS = {name: np.array([[2.0, 10.0, 100.0, 100.0, 10.0]]) for name in ("worker_capacity", "server_capacity")}


@pytest.mark.parametrize("source", [recorded(), open_elastic("oasis-small:worker_gpu=[0,0]")])
def test_a_picture_is_drawn(tmp_path, source):
    save_elastic_plot(source, tmp_path / "p.png", **HOSTS)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(DovetailError, match="cannot be written"):
        save_elastic_plot(recorded(), tmp_path / "none" / "p.png", **HOSTS)
