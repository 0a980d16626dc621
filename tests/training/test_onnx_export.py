from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.schedulers.learned.decima.networks import SHAPES, random_parameters

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnx", reason="the extra onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
pytest.importorskip("onnxscript", reason="the extra onnx is not installed")

from dovetail.cli import main  # noqa: E402
from dovetail.core.dag import ExecutorClass  # noqa: E402
from dovetail.features import feature_set  # noqa: E402
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint, save_checkpoint  # noqa: E402
from dovetail.schedulers.learned.decima.forward import choose, pack  # noqa: E402
from dovetail.schedulers.learned.decima.inputs import DecimaInput, decima_input  # noqa: E402
from dovetail.schedulers.learned.decima.network import class_columns, limit_columns  # noqa: E402
from dovetail.testing.dag_views import ANY_SIZE, FOUR_SIZES, info_for, random_view  # noqa: E402
from dovetail.training.onnx_export import Asked, onnx_inputs  # noqa: E402

SHAPE = SHAPES["informed"]


@pytest.mark.parametrize(
    ("shape", "classes"), [("informed", ANY_SIZE), ("published", ANY_SIZE), ("classes", FOUR_SIZES)]
)
def test_the_graph_chooses_what_the_network_chooses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str, classes: tuple[ExecutorClass, ...]
) -> None:
    parameters = random_parameters(SHAPES[shape])
    save_checkpoint(tmp_path / "net", Checkpoint(SHAPES[shape], parameters, {}))
    assert main(["export", str(tmp_path / "net"), "--onnx", str(tmp_path / "net.onnx")]) == 0
    assert "differ from torch's by" in capsys.readouterr().err
    session = runtime.InferenceSession(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    packed, features, taken = pack(SHAPES[shape], parameters), feature_set(SHAPES[shape].features), []
    for seed in range(30):
        given = decima_input(random_view(np.random.default_rng(seed), classes), info_for(classes), features)
        ours = choose(packed, given)
        if ours.node[0] >= 0:
            taken.append((int(ours.node[0]), int(ours.executor_class[0]), int(ours.limit[0])))
            assert choice_of(session, given) == taken[-1]
    assert len(taken) > 20
    assert len({kind for _, kind, _ in taken}) > 1 or len(classes) == 1


def choice_of(session: Any, given: DecimaInput) -> tuple[int, int, int]:
    """What the graph would choose: stage, then class where there are several, then limit."""
    scores, _, _ = session.run(None, onnx_inputs(given))
    node = int(np.argmax(np.where(given.valid, scores, -np.inf)))
    offered = np.append(given.offered[0] * given.fits[node], 0)
    offered[-1] = offered.sum()
    kind = -1
    if len(offered) > 2:
        kinds = np.array([*np.flatnonzero(offered[:-1]), -1])
        columns = class_columns(given.classes, kinds, offered[kinds], given.memory[[node] * len(kinds)])
        _, _, scores = session.run(None, onnx_inputs(given, classes=Asked(np.full(len(kinds), node), columns)))
        kind = int(kinds[np.argmax(scores)])
    room = min(int(offered[kind]), int(given.unclaimed[node]))
    columns = np.stack(limit_columns(given.held[node], np.arange(1, room + 1), np.full(room, room)), axis=1)
    _, scores, _ = session.run(None, onnx_inputs(given, Asked(np.full(room, node), columns.astype(np.float32))))
    return node, kind, int(given.held[node] + 1 + np.argmax(scores))


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "./nope", "--onnx", str(tmp_path / "x.onnx")]) == 2
    assert "no such file" in capsys.readouterr().err
    save_checkpoint(tmp_path / "net", Checkpoint(SHAPE, random_parameters(SHAPE), {}))
    assert main(["export", str(tmp_path / "net"), "--onnx", str(tmp_path / "none" / "x.onnx")]) == 2
    assert "no such directory" in capsys.readouterr().err
