"""A trained network as an ONNX graph, for programs that have neither torch nor this package.

One decision at a time.  Inputs (N nodes, J jobs, E edges, Q and K questions):

    nodes (N, F) float32       features of the stages, as `decima_input` makes them
    node_job (N,) int64        job of each, 0 .. J - 1
    jobs (J,) int64            0 .. J - 1, there for their number
    parent, child (E,) int64   dependencies between nodes
    height (N,) int64          edges on the longest way down from each node
    limits_of (Q,) int64       nodes that limits are asked for
    limits (Q, 5) float32      features of those limits, as `limit_columns` makes them
    classes_of (K,) int64      nodes that executor classes are asked for
    classes (K, 4) float32     features of those classes, as `class_columns` makes them

Outputs: `stage_score` (N,), to be compared among the stages that may be chosen; `limit_score` (Q,) and `class_score`
(K,), to be compared among those of one node.  Ask for the stages first (any Q, K), then, where there are several, for
the classes on offer that the best fits on and any of them, then for the limits.
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dovetail.core.dag import Ints
from dovetail.core.errors import CheckpointError
from dovetail.core.extras import require
from dovetail.core.seeds import SeedTree
from dovetail.features import feature_set
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint
from dovetail.schedulers.learned.decima.inputs import DecimaInput, decima_input
from dovetail.schedulers.learned.decima.network import DecimaNetwork
from dovetail.schedulers.learned.decima.shape import CLASS_FEATURES, LIMIT_FEATURES, DecimaShape
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.workloads import Arrivals, open_source

LEVELS = 24  # messages go this far; deeper jobs are refused by `onnx_inputs`
TOLERANCE = 1e-4


class SingleDecision(nn.Module):
    """The network for one decision, with loops of fixed length only."""

    def __init__(self, network: DecimaNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        nodes: Tensor,
        node_job: Tensor,
        jobs: Tensor,
        parent: Tensor,
        child: Tensor,
        height: Tensor,
        limits_of: Tensor,
        limits: Tensor,
        classes_of: Tensor,
        classes: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        through, shape = self.network._through, self.network.shape
        width = shape.embedding
        by_job = torch.zeros(jobs.shape[0], width)
        embedded = torch.zeros(nodes.shape[0], width)
        whole = torch.zeros(1, width)
        if shape.graph:
            embedded = through("prepare", nodes)
            for level in range(1, LEVELS + 1):
                arriving = (height[parent] == level).to(nodes.dtype).unsqueeze(1)
                messages = through("message", embedded[child]) * arriving
                total = torch.zeros_like(embedded).index_add(0, parent, messages)
                receiving = (height == level).to(nodes.dtype).unsqueeze(1)
                embedded = embedded + through("gather", total) * receiving
            parts = through("job_in", torch.cat([nodes, embedded], dim=1))
            sums = by_job.index_add(0, node_job, parts)
            by_job = through("job_out", sums)
            whole = through("all_out", through("all_in", by_job).sum(dim=0, keepdim=True))
        everywhere = whole.expand(nodes.shape[0], width)
        about = torch.cat([nodes, embedded, by_job[node_job], everywhere], dim=1)
        stage_score = through("stage", about).squeeze(1)
        chosen = about if shape.limit_sees_stage else about[:, -2 * width :]
        shown = limits[:, : shape.limit_columns]
        limit_score = through("limit", torch.cat([chosen[limits_of], shown], dim=1)).squeeze(1)
        class_score = through("class", torch.cat([chosen[classes_of], classes], dim=1)).squeeze(1)
        return stage_score, limit_score, class_score


class Asked(NamedTuple):
    """Limits or classes to be scored."""

    node: Ints  # (Q,)
    features: NDArray[np.float32]  # (Q, 5) or (Q, 4)


NO_LIMITS = Asked(np.zeros(0, dtype=np.int64), np.zeros((0, LIMIT_FEATURES), dtype=np.float32))
NO_CLASSES = Asked(np.zeros(0, dtype=np.int64), np.zeros((0, CLASS_FEATURES), dtype=np.float32))


def onnx_inputs(given: DecimaInput, limits: Asked = NO_LIMITS, classes: Asked = NO_CLASSES) -> dict[str, NDArray[Any]]:
    """What the graph takes, for one world, and what it is asked besides the stages."""
    height = np.zeros(len(given.nodes), dtype=np.int64)
    parent, child = given.edges[:, 0], given.edges[:, 1]
    for _ in range(LEVELS + 1):
        np.maximum.at(height, parent, height[child] + 1)
    if height.max(initial=0) > LEVELS:
        raise CheckpointError(f"a job has more than {LEVELS} stages in a row, which the exported graph cannot follow")
    return {
        "nodes": given.nodes,
        "node_job": given.node_job,
        "jobs": np.arange(int(given.job_ptr[-1])),
        "parent": np.ascontiguousarray(parent),
        "child": np.ascontiguousarray(child),
        "height": height,
        "limits_of": limits.node,
        "limits": limits.features,
        "classes_of": classes.node,
        "classes": classes.features,
    }


def sample_input(shape: DecimaShape) -> DecimaInput:
    """A state of the bundled workload to try a graph on."""
    workload = open_source("tpch-like").sequence(8, Arrivals("batch"), SeedTree(0))
    world = DagWorld(workload, DagOptions(executors=20), SeedTree(0))
    view = world.advance()
    assert view is not None
    return decima_input(view, world.info, feature_set(shape.features))


def export_onnx(checkpoint: Checkpoint, file: Path, given: DecimaInput) -> float:
    """Write the graph, run it on `given`, and return by how much its scores differ from torch's at most."""
    require("onnx", "exporting to ONNX")
    onnxruntime: Any = require("onnxruntime", "exporting to ONNX")
    network = DecimaNetwork(checkpoint.shape)
    network.load_arrays(checkpoint.parameters)
    single = SingleDecision(network).eval()
    asked = np.flatnonzero(given.valid)[:2]
    some = np.random.default_rng(0).random((len(asked), LIMIT_FEATURES + CLASS_FEATURES), dtype=np.float32)
    inputs = onnx_inputs(given, Asked(asked, some[:, :LIMIT_FEATURES]), Asked(asked, some[:, LIMIT_FEATURES:]))
    tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
    many = {name: torch.export.Dim(name) for name in ("N", "J", "E", "Q", "K")}
    sizes = {
        "nodes": "N",
        "node_job": "N",
        "jobs": "J",
        "parent": "E",
        "child": "E",
        "height": "N",
        "limits_of": "Q",
        "limits": "Q",
        "classes_of": "K",
        "classes": "K",
    }
    partial = file.with_name(file.name + ".part")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # or it complains of packages that are not needed
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names of axes that are used twice
        torch.onnx.export(
            single,
            tuple(tensors.values()),
            str(partial),
            input_names=list(tensors),
            output_names=["stage_score", "limit_score", "class_score"],
            dynamic_shapes=tuple({0: many[sizes[name]]} for name in tensors),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        expected = single(*tensors.values())
    session = onnxruntime.InferenceSession(str(partial), providers=["CPUExecutionProvider"])
    found = session.run(None, inputs)
    error = max(float(np.abs(ours - theirs.numpy()).max()) for ours, theirs in zip(found, expected, strict=True))
    if not error < TOLERANCE:
        partial.unlink()
        raise CheckpointError(f"{file}: the exported graph differs from the network by {error:g}; nothing was written")
    partial.replace(file)
    return error
