"""Gymnasium environments over the simulator: thin shells, the rules of the world stay in `sim`.

Importing this package registers them (and imports gymnasium, which only this layer may do):

    import gymnasium
    import dovetail.envs

    env = gymnasium.make("Dovetail/Dag-v0", jobs=10, executors=20)
    worlds = gymnasium.make_vec("Dovetail/Dag-v0", num_envs=16, threads=2)
    boxed = gymnasium.make("Dovetail/DagPadded-v0", jobs=10, executors=20)
    prices = gymnasium.make("Dovetail/Elastic-v0", jobs=30)
    queue = gymnasium.make("Dovetail/Gpu-v0", jobs=50)
    both = dovetail.envs.GpuParallelEnv(jobs=50)  # two agents, by PettingZoo
    scaling = gymnasium.make("Dovetail/Stream-v0", workload="nexmark-q5")
    operators = dovetail.envs.StreamParallelEnv(workload="nexmark-q5")  # an agent for each operator

`gymnasium.make("dovetail.envs:Dovetail/Dag-v0")` imports the package by itself.  `docs/environments.md` has
the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.core.extras import require
from dovetail.core.lazy import lazy_exports

if TYPE_CHECKING:
    from dovetail.envs.dag import DagEnv as DagEnv
    from dovetail.envs.dag_setting import DagSetting as DagSetting
    from dovetail.envs.elastic import ElasticEnv as ElasticEnv
    from dovetail.envs.elastic_setting import ElasticSetting as ElasticSetting
    from dovetail.envs.gpu import GpuEnv as GpuEnv
    from dovetail.envs.gpu_parallel import GpuParallelEnv as GpuParallelEnv
    from dovetail.envs.gpu_setting import GpuSetting as GpuSetting
    from dovetail.envs.padded_dag import PaddedDagEnv as PaddedDagEnv
    from dovetail.envs.stream import StreamEnv as StreamEnv
    from dovetail.envs.stream_parallel import StreamParallelEnv as StreamParallelEnv
    from dovetail.envs.stream_setting import StreamSetting as StreamSetting
    from dovetail.envs.vector_dag import DagVectorEnv as DagVectorEnv

_EXPORTS = {
    "DagEnv": "dovetail.envs.dag",
    "DagSetting": "dovetail.envs.dag_setting",
    "DagVectorEnv": "dovetail.envs.vector_dag",
    "ElasticEnv": "dovetail.envs.elastic",
    "ElasticSetting": "dovetail.envs.elastic_setting",
    "GpuEnv": "dovetail.envs.gpu",
    "GpuParallelEnv": "dovetail.envs.gpu_parallel",
    "GpuSetting": "dovetail.envs.gpu_setting",
    "PaddedDagEnv": "dovetail.envs.padded_dag",
    "StreamEnv": "dovetail.envs.stream",
    "StreamParallelEnv": "dovetail.envs.stream_parallel",
    "StreamSetting": "dovetail.envs.stream_setting",
}

__all__ = [
    "DagEnv",
    "DagSetting",
    "DagVectorEnv",
    "ElasticEnv",
    "ElasticSetting",
    "GpuEnv",
    "GpuParallelEnv",
    "GpuSetting",
    "PaddedDagEnv",
    "StreamEnv",
    "StreamParallelEnv",
    "StreamSetting",
    "register_envs",
]


def register_envs() -> None:
    """Make the environments known to Gymnasium; does nothing the second time."""
    require("gymnasium", "dovetail.envs")
    from gymnasium.envs.registration import register, registry

    if "Dovetail/Dag-v0" not in registry:
        register(
            "Dovetail/Dag-v0",
            entry_point="dovetail.envs.dag:DagEnv",
            vector_entry_point="dovetail.envs.vector_dag:DagVectorEnv",
        )
    if "Dovetail/DagPadded-v0" not in registry:
        register("Dovetail/DagPadded-v0", entry_point="dovetail.envs.padded_dag:PaddedDagEnv")
    if "Dovetail/Elastic-v0" not in registry:
        register("Dovetail/Elastic-v0", entry_point="dovetail.envs.elastic:ElasticEnv")
    if "Dovetail/Gpu-v0" not in registry:
        register("Dovetail/Gpu-v0", entry_point="dovetail.envs.gpu:GpuEnv")
    if "Dovetail/Stream-v0" not in registry:
        register("Dovetail/Stream-v0", entry_point="dovetail.envs.stream:StreamEnv")


__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)

register_envs()
