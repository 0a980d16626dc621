from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.schedulers.learned.decima.networks import SHAPES, random_parameters

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnx", reason="the extra onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
pytest.importorskip("onnxscript", reason="the extra onnx is not installed")

from dovetail.cli import main  # noqa: E402
from dovetail.features import feature_set  # noqa: E402
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint, save_checkpoint  # noqa: E402
from dovetail.schedulers.learned.decima.forward import choose, pack  # noqa: E402
from dovetail.schedulers.learned.decima.inputs import decima_input  # noqa: E402
from dovetail.schedulers.learned.decima.network import limit_columns  # noqa: E402
from dovetail.testing.dag_views import info_for, random_view  # noqa: E402
from dovetail.training.onnx_export import onnx_inputs  # noqa: E402

SHAPE = SHAPES["informed"]


def test_the_graph_chooses_what_the_network_chooses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parameters = random_parameters(SHAPE)
    save_checkpoint(tmp_path / "net", Checkpoint(SHAPE, parameters, {}))
    assert main(["export", str(tmp_path / "net"), "--onnx", str(tmp_path / "net.onnx")]) == 0
    assert "differ from torch's by" in capsys.readouterr().err
    session = runtime.InferenceSession(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    packed, decided = pack(SHAPE, parameters), 0
    for seed in range(30):
        given = decima_input(random_view(np.random.default_rng(seed)), info_for(), feature_set(SHAPE.features))
        ours = choose(packed, given)
        if ours.node[0] < 0:
            continue
        nothing = np.zeros(0, dtype=np.int64)
        scores, _ = session.run(None, onnx_inputs(given, nothing, np.zeros((0, 5), dtype=np.float32)))
        node = int(np.argmax(np.where(given.valid, scores, -np.inf)))
        room = min(int(given.offered[0, 0]), int(given.unclaimed[node]))
        steps = np.arange(1, room + 1)
        limits = np.stack(limit_columns(given.held[node], steps, np.full(room, room)), axis=1).astype(np.float32)
        _, scores = session.run(None, onnx_inputs(given, np.full(room, node), limits))
        assert (node, int(given.held[node] + 1 + np.argmax(scores))) == (int(ours.node[0]), int(ours.limit[0]))
        decided += 1
    assert decided > 20


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "./nope", "--onnx", str(tmp_path / "x.onnx")]) == 2
    assert "no such file" in capsys.readouterr().err
    save_checkpoint(tmp_path / "net", Checkpoint(SHAPE, random_parameters(SHAPE), {}))
    assert main(["export", str(tmp_path / "net"), "--onnx", str(tmp_path / "none" / "x.onnx")]) == 2
    assert "no such directory" in capsys.readouterr().err
