import numpy as np
import pytest
from matplotlib.image import imread
from tests.workloads.samples import diamond, recorded

from dovetail.core.errors import DovetailError
from dovetail.workloads.build import CatalogueBuilder
from dovetail.workloads.plot import save_plot
from dovetail.workloads.source import DagSource, open_source


def instant() -> DagSource:
    """A job that takes no time at all."""
    builder = CatalogueBuilder("instant")
    builder.start_dag("d")
    builder.add_stage("s", tasks=1)
    builder.add_durations(2, 1, np.array([0.0]))
    return DagSource("instant", builder.build())


@pytest.mark.parametrize(
    "source",
    [
        DagSource("toy", diamond()),
        recorded(),
        DagSource("one", diamond().single(1)),
        open_source("layered"),
        instant(),
    ],
    ids=lambda source: source.name,
)
def test_any_workload_gives_a_picture(tmp_path, source):
    save_plot(source, tmp_path / "p.png")
    pixels = imread(tmp_path / "p.png")
    assert pixels.shape[:2] == (960, 1440)
    assert pixels[..., :3].std() > 0.05


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "p.png").mkdir()
    with pytest.raises(DovetailError, match="cannot be written"):
        save_plot(recorded(), tmp_path / "p.png")
