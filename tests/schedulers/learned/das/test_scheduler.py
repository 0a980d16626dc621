"""DAS in the world: whole episodes compiled, decision by decision and recorded, all alike."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.errors import CheckpointError, DovetailError
from dovetail.core.gpu import GpuDecision, Place, Reason
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.learned.das.checkpoint import DasCheckpoint, load_checkpoint, save_checkpoint
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.kernel import Nudge
from dovetail.schedulers.learned.das.scheduler import Das
from dovetail.schedulers.learned.das.shape import DasShape
from dovetail.sim.gpu import GpuResult, run
from dovetail.training.das_recorder import Recorder

SETTINGS = [GpuSetting("small", jobs=60), GpuSetting("medium-mixed", jobs=80)]


def network(shape: DasShape = DasShape()) -> DasForward:
    """None of its parameters zero, so that every part counts."""
    rng = np.random.default_rng(3)
    held = {name: value + 0.3 * rng.normal(size=value.shape) for name, value in shape.fresh(rng).items()}
    return DasForward(shape, held)


def played(setting: GpuSetting, scheduler, *, compiled: bool = True, seed: int = 5) -> GpuResult:
    opened = setting.open()
    world = opened.world(opened.sequence(seed), SeedTree(seed), record=True)
    return run(world, scheduler, np.random.default_rng(0), compiled=compiled)


def said(result: GpuResult) -> list[tuple[int, int]]:
    return [(int(row["job"]), round(float(row["time_s"]), 6)) for row in result.decision_log]


@pytest.mark.parametrize("setting", SETTINGS)
def test_compiled_in_python_and_recorded_are_the_same(setting: GpuSetting) -> None:
    whole = played(setting, Das(network=network()))
    by_hand = played(setting, Das(network=network()), compiled=False)
    recorded = played(setting, Recorder(network()))
    for other in (by_hand, recorded):
        assert said(other) == said(whole)
        assert other.rows["machine"].tolist() == whole.rows["machine"].tolist()
    assert np.isfinite(whole.finish_s).all()
    assert set(whole.decision_log["reason"].tolist()) == {Reason.LEARNED_PRIORITY}
    assert set(whole.decision_log["place"].tolist()) == {Place.LEARNED_AFFINITY}


def nudged(jobs: int, machines: int, **parts: np.ndarray) -> Nudge:
    nothing = Nudge(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, machines)))
    return nothing._replace(**parts)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_nudge_changes_what_becomes_of_a_job_and_of_no_other_before_it(compiled: bool) -> None:
    usual = played(SETTINGS[0], Das(network=network()), compiled=compiled)
    jobs, late = len(usual.fee), int(usual.workload.arrival_s.argmax())
    nothing = played(SETTINGS[0], Das(network=network(), nudge=nudged(jobs, 8)), compiled=compiled)
    assert said(nothing) == said(usual)
    back = np.zeros(jobs)
    back[late] = -1e9  # nothing would start it while others run
    waits = played(SETTINGS[0], Das(network=network(), nudge=nudged(jobs, 8, start=back)), compiled=compiled)
    before = usual.start_s < usual.workload.arrival_s[late]
    assert np.array_equal(waits.start_s[before], usual.start_s[before])
    assert waits.start_s[late] > usual.start_s[late] and int(waits.start_s.argmax()) == late
    there = np.zeros((jobs, 8))
    there[:, 3] = 1e9
    chosen = played(SETTINGS[0], Das(network=network(), nudge=nudged(jobs, 8, place=there)), compiled=compiled)
    assert (chosen.rows["machine"] == 3).sum() > (usual.rows["machine"] == 3).sum()


def test_it_forgets_at_reset() -> None:
    das = Das(network=network())
    assert said(played(SETTINGS[0], das)) == said(played(SETTINGS[0], das))


def test_its_parts_change_what_it_does() -> None:
    found = {
        str(said(played(SETTINGS[0], Das(network=network(DasShape(communicate=mc, random_walk=rw))))))
        for mc in (False, True)
        for rw in (False, True)
    }
    assert len(found) == 4


def test_rules_that_see_the_machines_order_otherwise() -> None:
    """Before anything is learned, so that it is they that decide; in a queue long enough for some to wait."""
    setting = GpuSetting("small", jobs=200)
    shapes = DasShape(), DasShape(aware=False)
    aware, unaware = (DasForward(shape, shape.fresh(np.random.default_rng(0))) for shape in shapes)
    assert said(played(setting, Das(network=aware))) != said(played(setting, Das(network=unaware)))


def test_what_it_saw_of_machines_changes_where_it_puts_the_next() -> None:
    """The history matters: with a noise so large that nothing is learned from it, places differ."""
    plain = network()
    deaf = DasForward(plain.shape, plain.parameters | {"place.walk.noise": np.array([30.0])})
    here, there = (played(SETTINGS[1], Das(network=one)).rows["machine"].tolist() for one in (plain, deaf))
    assert here != there


def test_a_kernel_before_there_is_a_cluster() -> None:
    with pytest.raises(DovetailError, match="reset"):
        Das(network=network()).kernel()


def test_decisions_of_one_view_are_valid_and_say_why() -> None:
    opened = SETTINGS[0].open()
    world = opened.world(opened.sequence(1), SeedTree(1))
    das = Das(network=network())
    das.reset(world.info, np.random.default_rng(0))
    view = world.advance()
    assert view is not None
    decisions = das.decide(view)
    assert decisions and all(isinstance(one, GpuDecision) for one in decisions)
    assert all(np.isfinite([one.priority, one.affinity]).all() for one in decisions)
    world.apply(decisions)


def test_a_checkpoint_comes_back_as_it_was(tmp_path) -> None:
    before = network(DasShape(layers=2))
    save_checkpoint(tmp_path / "net", DasCheckpoint(before, {"command": "by hand"}))
    after = load_checkpoint(tmp_path / "net.json")
    assert after.card == {"command": "by hand"} and after.network.shape == before.shape
    for name, value in before.parameters.items():
        assert np.allclose(after.network.parameters[name], value, atol=1e-6)


def test_a_checkpoint_of_another_size_is_refused(tmp_path) -> None:
    path = save_checkpoint(tmp_path / "net", DasCheckpoint(network(), {}))
    path.write_text(path.read_text().replace('"rank": 12', '"rank": 13'))
    with pytest.raises(CheckpointError, match=r"place\.walk"):
        load_checkpoint(path)
