import importlib
import sys
import textwrap

import pytest

from dovetail.core.errors import ConfigError, MissingExtra, RegistryError, UnknownName
from dovetail.core.registry import Registry

MODULE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class FairParams:
    alpha: float = 1.0
    window: int = 5

class Fair:
    Params = FairParams
    def __init__(self, params: FairParams = FairParams()) -> None:
        self.params = params

class Plain:
    pass

class Wrong:
    Params = dict
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A package outside the project, importable as `sample_schedulers` during the test."""
    (tmp_path / "sample_schedulers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "sample_schedulers"
    sys.modules.pop("sample_schedulers", None)


@pytest.fixture
def registry(module):
    registry = Registry("scheduler")
    registry.register("dag/fair", f"{module}:Fair", "equal shares")
    registry.register("dag/plain", f"{module}:Plain", "no parameters")
    registry.register("gpu/wrong", f"{module}:Wrong", "its Params are no dataclass")
    return registry


def install(site, distribution, version, entry_points):
    """Lay down the metadata of an installed package with these entry points."""
    info = site / f"{distribution}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))
    importlib.invalidate_caches()


class TestNames:
    def test_listing_imports_nothing(self, registry, module):
        assert registry.names() == ["dag/fair", "dag/plain", "gpu/wrong"]
        assert registry.families() == ["dag", "gpu"]
        assert registry.entry("dag/fair").summary == "equal shares"
        assert module not in sys.modules

    def test_by_family(self, registry):
        assert registry.names("dag") == ["dag/fair", "dag/plain"]

    def test_unknown_family_suggests(self, registry):
        with pytest.raises(UnknownName, match="unknown family 'dga'; did you mean 'dag'"):
            registry.names("dga")

    def test_unknown_name_suggests(self, registry):
        with pytest.raises(UnknownName, match="unknown scheduler 'dag/fiar'; did you mean 'dag/fair'"):
            registry.resolve("dag/fiar")

    def test_taken_name_names_both_targets(self, registry, module):
        with pytest.raises(RegistryError, match=r"'dag/fair' is taken: .*:Fair'.*'other:Thing'"):
            registry.register("dag/fair", "other:Thing", "again")
        assert registry.entry("dag/fair").target == f"{module}:Fair"

    @pytest.mark.parametrize("name", ["fair", "dag/", "/fair", "Dag/fair", "dag/fair/x", "dag/a b", "dag/a_b", ""])
    def test_malformed_name(self, registry, name):
        with pytest.raises(RegistryError, match="expected family/name"):
            registry.register(name, "module:Thing", "")

    @pytest.mark.parametrize("target", ["module", "module.Thing", "module:", ":Thing", "a b:C", "m:a.b", "m:1", ""])
    def test_malformed_target(self, registry, target):
        with pytest.raises(RegistryError, match=r"malformed target .* expected 'module:attribute'"):
            registry.register("dag/new", target, "")
        assert "dag/new" not in registry.names()


class TestResolve:
    def test_imports_on_demand(self, registry, module):
        assert registry.resolve("dag/fair").__name__ == "Fair"
        assert module in sys.modules

    def test_module_that_is_not_there(self, registry):
        registry.register("dag/lost", "absent_package_of_nobody.x:Y", "")
        with pytest.raises(RegistryError, match="scheduler 'dag/lost' from dovetail cannot be imported"):
            registry.resolve("dag/lost")

    def test_attribute_that_is_not_there(self, registry, module):
        registry.register("dag/lost", f"{module}:Missing", "")
        with pytest.raises(RegistryError, match="has no 'Missing'"):
            registry.resolve("dag/lost")

    def test_missing_optional_package_says_which_extra(self, registry, tmp_path, monkeypatch):
        (tmp_path / "learned_sample.py").write_text("import torch\n")
        monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
        registry.register("dag/learned", "learned_sample:X", "")
        with pytest.raises(MissingExtra, match=r"scheduler 'dag/learned' needs .*dovetail\[learn\]"):
            registry.resolve("dag/learned")


class TestCreate:
    def test_defaults(self, registry):
        assert registry.create("dag/fair").params.alpha == 1.0

    def test_overrides_in_the_spec(self, registry):
        params = registry.create("dag/fair:alpha=-0.5,window=3").params
        assert (params.alpha, params.window) == (-0.5, 3)

    def test_overrides_as_a_mapping_of_texts_or_values(self, registry):
        params = registry.create("dag/fair", {"alpha": "2", "window": 7}).params
        assert (params.alpha, params.window) == (2.0, 7)

    def test_spec_and_mapping_add_up(self, registry):
        params = registry.create("dag/fair:alpha=3", {"window": 2}).params
        assert (params.alpha, params.window) == (3.0, 2)

    def test_spec_and_mapping_may_not_contradict(self, registry):
        with pytest.raises(ConfigError, match="'alpha' is given twice"):
            registry.create("dag/fair:alpha=3", {"alpha": 2})

    def test_unknown_parameter_suggests(self, registry):
        with pytest.raises(ConfigError, match="dag/fair: alpa: unknown key; did you mean 'alpha'"):
            registry.create("dag/fair:alpa=3")

    def test_wrong_type_says_what_is_right(self, registry):
        with pytest.raises(ConfigError, match="dag/fair: window: expected int, got 'wide'"):
            registry.create("dag/fair:window=wide")

    def test_without_params(self, registry):
        assert type(registry.create("dag/plain")).__name__ == "Plain"
        assert registry.params_type("dag/plain") is None
        with pytest.raises(ConfigError, match=r"takes no parameters, got \['a'\]"):
            registry.create("dag/plain:a=1")

    def test_params_that_are_no_dataclass_are_a_fault_of_the_target(self, registry):
        with pytest.raises(RegistryError, match="Params must be a frozen dataclass"):
            registry.create("gpu/wrong")


COMPOSED = """
from dataclasses import dataclass, make_dataclass

class First:
    @dataclass(frozen=True)
    class Params:
        strict: bool = False

class Second:
    pass

def together(order, place):
    return type(order.__name__ + place.__name__, (), {"ORDER": order, "PLACE": place})
"""


class TestComposed:
    @pytest.fixture
    def composed(self, tmp_path, monkeypatch):
        (tmp_path / "sample_parts.py").write_text(COMPOSED)
        monkeypatch.syspath_prepend(tmp_path)
        parts = Registry("part")
        parts.register("order/fifo", "sample_parts:First", "first come")
        parts.register("order/far-off", "sample_parts:First", "whoever is far off")
        parts.register("place/pack", "sample_parts:Second", "close together")
        registry = Registry("scheduler")
        registry.register("gpu/whole", "sample_parts:First", "not made of parts")
        registry.compose("gpu", parts, ("order", "place"), "sample_parts:together")
        registry.register_composed("gpu/fifo+pack", "the usual one")
        yield registry
        sys.modules.pop("sample_parts", None)

    def test_listing_imports_nothing_and_shows_what_is_registered(self, composed):
        assert composed.names("gpu") == ["gpu/whole", "gpu/fifo+pack"]
        assert composed.entry("gpu/fifo+pack").summary == "the usual one"
        assert composed.entry("gpu/fifo+pack").parts == ("order/fifo", "place/pack")
        assert "sample_parts" not in sys.modules

    def test_any_combination_can_be_made(self, composed):
        entry = composed.entry("gpu/far-off+pack")
        assert (entry.summary, entry.family) == ("whoever is far off; close together", "gpu")
        made = composed.create("gpu/far-off+pack")
        assert (type(made).ORDER.__name__, type(made).PLACE.__name__) == ("First", "Second")

    def test_unknown_part_suggests(self, composed):
        with pytest.raises(
            UnknownName, match=r"unknown order in scheduler 'gpu/fiof\+pack': 'fiof'; did you mean 'fifo'"
        ):
            composed.resolve("gpu/fiof+pack")
        with pytest.raises(UnknownName, match=r"unknown place .* 'pakc'; did you mean 'pack'"):
            composed.resolve("gpu/fifo+pakc")

    def test_a_part_alone_finds_the_combination(self, composed):
        with pytest.raises(UnknownName, match=r"unknown scheduler 'gpu/fifo'; did you mean 'gpu/fifo\+pack'"):
            composed.resolve("gpu/fifo")

    @pytest.mark.parametrize("name", ["gpu/fifo+pack+pack", "gpu/fifo+", "gpu/+pack"])
    def test_wrong_number_of_parts(self, composed, name):
        with pytest.raises(ConfigError, match=r"expected gpu/order\+place"):
            composed.entry(name)

    def test_other_families_have_no_parts(self, composed):
        with pytest.raises(UnknownName, match=r"unknown scheduler 'dag/fifo\+pack'"):
            composed.entry("dag/fifo+pack")

    def test_registered_twice(self, composed):
        with pytest.raises(RegistryError, match="is taken"):
            composed.register_composed("gpu/fifo+pack", "again")


class TestPlugins:
    @pytest.fixture
    def open_registry(self, module):
        registry = Registry("scheduler", entry_point_group="dovetail.test_plugins")
        registry.register("dag/fair", f"{module}:Fair", "equal shares")
        return registry

    def test_joins_without_being_imported(self, open_registry, tmp_path, module):
        install(tmp_path, "acme", "1.2", "[dovetail.test_plugins]\ndag/mine = sample_schedulers:Fair\n")
        assert open_registry.names("dag") == ["dag/fair", "dag/mine"]
        assert open_registry.entry("dag/mine").summary == "plug-in from acme 1.2"
        assert module not in sys.modules
        assert open_registry.create("dag/mine:alpha=4").params.alpha == 4.0
        assert open_registry.problems() == []

    def test_other_groups_are_left_alone(self, open_registry, tmp_path):
        install(tmp_path, "acme", "1.2", "[other.group]\ndag/mine = sample_schedulers:Fair\n")
        assert open_registry.names() == ["dag/fair"]

    def test_clash_with_ours_blocks_that_name_only_and_names_both(self, open_registry, tmp_path):
        install(tmp_path, "acme", "1.2", "[dovetail.test_plugins]\ndag/fair = acme.x:Fair\ndag/ok = acme.x:Ok\n")
        assert open_registry.names() == ["dag/ok"]
        with pytest.raises(RegistryError, match=r"'dag/fair' is taken: dovetail .*acme 1\.2 as 'acme\.x:Fair'"):
            open_registry.create("dag/fair")
        assert len(open_registry.problems()) == 1

    def test_clash_between_two_plugins(self, open_registry, tmp_path):
        install(tmp_path, "acme", "1.2", "[dovetail.test_plugins]\ndag/new = acme.x:New\n")
        install(tmp_path, "zeta", "3", "[dovetail.test_plugins]\ndag/new = zeta.y:New\n")
        with pytest.raises(RegistryError, match=r"acme 1\.2 .* zeta 3"):
            open_registry.resolve("dag/new")

    @pytest.mark.parametrize("line", ["dag/mine = no_attribute", "Mine = acme.x:Mine"])
    def test_malformed_plugin_is_reported_and_the_rest_works(self, open_registry, tmp_path, line):
        install(tmp_path, "acme", "1.2", f"[dovetail.test_plugins]\n{line}\n")
        assert open_registry.names() == ["dag/fair"]
        (problem,) = open_registry.problems()
        assert "malformed" in problem
        assert "acme 1.2" in problem
