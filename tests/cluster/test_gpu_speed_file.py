import json

import numpy as np
import pytest

from dovetail.cluster.gpu import TYPE_INDEX
from dovetail.cluster.gpu_speed import DEFAULT_FILE, default_speeds
from dovetail.cluster.gpu_speed_file import kind_name, read_measured, read_speeds, write_speeds
from dovetail.core.errors import InvalidWorkload

V100, P100 = TYPE_INDEX["V100"], TYPE_INDEX["P100"]
CSV = """type,kind,speed,workers,apart,beside
V100,a,10,,,
V100,b,4,,,
V100,a,5,,,b
V100,a,18,2,,
V100,a,9,2,1,
p100,a,7,,,
"""
ONE, TWO = "('ResNet-18 (batch size 16)', 1)", "('A3C', 1)"
JSON = {
    "v100": {
        ONE: {"null": 10.0, TWO: [5.0, 3.0], ONE: [0.0, 0.0]},
        TWO: {"null": 4.0, ONE: [3.0, 5.0]},
        ONE.replace("1)", "2)"): {"null": 18.0, TWO: [0.0, 0.0]},
    },
    "v100_unconsolidated": {ONE.replace("1)", "2)"): {"null": 9.0}},
}


def write(folder, text, name="s.csv"):
    text = json.dumps(text) if isinstance(text, dict) else text
    (folder / name).write_text(text)
    return folder / name


def faults_of(path, read=read_speeds):
    with pytest.raises(InvalidWorkload) as caught:
        read(path)
    return [(fault.row, fault.field) for fault in caught.value.faults]


def test_measurements_in_lines(tmp_path):
    found = read_measured(write(tmp_path, CSV))
    assert found.kinds == ("a", "b")
    assert found.alone["a", V100, 2, True] == 9.0
    assert found.alone["a", P100, 1, False] == 7.0
    assert found.pairs == {("a", "b", V100): 5.0}


def test_measurements_in_the_published_layout(tmp_path):
    found = read_measured(write(tmp_path, JSON, "s.json"))
    assert found.kinds == ("resnet-18-b16", "a3c")
    assert found.pairs == {("resnet-18-b16", "a3c", V100): 5.0, ("a3c", "resnet-18-b16", V100): 3.0}
    assert found.alone["resnet-18-b16", V100, 2, True] == 9.0


def test_measurements_of_ones_own_become_a_model(tmp_path):
    model = read_speeds(write(tmp_path, CSV))
    assert model.kind_name == ("a", "b", "cpu")
    assert model.speed[0, P100] == pytest.approx(0.7)
    assert model.network[0] == pytest.approx(2.0, abs=0.01)
    slow = model.device_sensitivity @ model.device_pressure.T
    assert slow[0, 1] == pytest.approx(1.0, abs=0.05)


def test_a_fitted_model_survives_the_round_trip(tmp_path):
    model = default_speeds()
    write_speeds(model, tmp_path / "m.json", {"by": "hand"})
    again = read_speeds(tmp_path / "m.json")
    assert again.kind_name == model.kind_name
    for name in ("speed", "network", "host_pressure", "host_sensitivity", "device_pressure", "device_sensitivity"):
        np.testing.assert_allclose(getattr(again, name), getattr(model, name), rtol=1e-3)
    assert again.rack_hop == model.rack_hop
    assert (tmp_path / "m.json").stat().st_size < 20_000


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("type,kind\nV100,a\n", [(1, "speed")]),
        ("type,kind,speed,with\nV100,a,1,b\n", [(1, "with")]),
        ("type,kind,speed\n", [(None, None)]),
        ("type,kind,speed\nV100,a\nV99,a,1\nV100,a,x\nV100,,1\n", [(2, None), (3, "type"), (4, "speed"), (5, "kind")]),
        (
            "type,kind,speed,workers,apart\nV100,a,1,1.5,0\nV100,a,1,0,0\nV100,a,1,1,2\n",
            [(2, "workers"), (3, "workers"), (4, "workers")],
        ),
        ("type,kind,speed\nV100,a,1\nV100,a,2\n", [(3, "kind")]),
        ("type,kind,speed,beside\nV100,a,1,b\n", [(None, "kind"), (None, "kind")]),
        ("type,kind,speed,beside,workers\nV100,a,1,,\nV100,a,1,a,2\n", [(3, "beside")]),
    ],
)
def test_every_fault_is_found_in_lines(tmp_path, text, faults):
    assert faults_of(write(tmp_path, text)) == faults


@pytest.mark.parametrize(
    ("speed", "says"),
    [("-1", "-1 is below 0"), ("x", "not a number: 'x'"), ("nan", "not a number"), ("1e13", "above 1e+12")],
)
def test_what_is_wrong_with_a_speed_is_said(tmp_path, speed, says):
    with pytest.raises(InvalidWorkload) as error:
        read_speeds(write(tmp_path, f"type,kind,speed\nV100,a,{speed}\n"))
    assert says in str(error.value) and "a number from 0 upwards" in str(error.value)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ("[1]", None),
        ("{", None),
        ('{"v100": 3}', "v100"),
        ('{"v101": {"(\'A3C\', 1)": {"null": 1}}}', "v101.('A3C', 1).null"),
        ('{"v100": {"__import__(1)": {"null": 1}}}', "v100.__import__(1)"),
        ('{"v100": {"(\'A3C\', 1)": 3}}', "v100.('A3C', 1)"),
        ('{"v100": {"(\'A3C\', 1)": {"null": "x"}}}', "v100.('A3C', 1).null"),
        ('{"v100": {"(\'A3C\', 1)": {"null": 1, "(\'A3C\', 1)": [1]}}}', "v100.('A3C', 1).('A3C', 1)"),
        ('{"schema": 9, "kinds": [{}]}', "schema"),
        ('{"schema": 1, "kinds": 3}', "kinds"),
    ],
)
def test_every_fault_is_found_in_json(tmp_path, values, field):
    assert faults_of(write(tmp_path, values, "s.json"))[0][1] == field


def test_faults_of_a_fitted_model(tmp_path):
    values = json.loads(DEFAULT_FILE.read_text())
    values["kinds"][0]["speed"]["V100"] = -1
    values["kinds"][1]["network"] = None
    values["kinds"][2]["host_pressure"] = [1]
    values["kinds"][3]["name"] = values["kinds"][2]["name"]
    path = write(tmp_path, values, "m.json")
    assert faults_of(path) == [(0, "speed.V100"), (1, "network"), (2, "host_pressure"), (3, "name")]


def test_names_of_kinds():
    assert kind_name("ResNet-18 (batch size 16)") == "resnet-18-b16"
    assert kind_name("A3C") == "a3c"
