import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.cluster.gpu import GPU_TYPES
from dovetail.cluster.gpu_clusters import read_cluster
from dovetail.cluster.gpu_file import read_machines
from dovetail.core.errors import ConfigError, InvalidWorkload


def write(folder, text, name="m.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def faults_of(path):
    with pytest.raises(InvalidWorkload) as caught:
        read_machines(path)
    return [(fault.row, fault.field) for fault in caught.value.faults]


def test_a_machine_in_each_line(tmp_path):
    path = write(tmp_path, "name,type,gpus,cpus,memory,rack\na,a100,8,96,1152,2\nb,,0,64,256,\n")
    machines = read_machines(path).arrays()
    assert machines.name == ("a", "b")
    assert GPU_TYPES[machines.type[0]].name == "A100"
    assert machines.rack.tolist() == [2, 0]
    assert read_cluster(str(path)).listed == read_machines(path).listed


def test_so_many_of_a_kind_in_both_forms(tmp_path):
    lines = read_machines(write(tmp_path, "kind,count,name\nv100x4,2,x\nt4x4,,\n"))
    tables = '[[machine]]\nkind = "v100x4"\ncount = 2\nname = "x"\n[[machine]]\nkind = "t4x4"\n'
    assert read_machines(write(tmp_path, tables, "m.toml")) == lines
    assert lines.arrays().name == ("x-0", "x-1", "m2")


def test_the_node_list_of_the_public_trace(tmp_path):
    found = read_machines(
        write(tmp_path, "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,8,G2\nn1,32000,1024,0,\n")
    )
    machines = found.arrays()
    assert (machines.cpus.tolist(), machines.memory.tolist()) == ([96.0, 32.0], [384.0, 1.0])
    assert machines.gpus.tolist() == [8, 0]


@needs_data("alibaba-gpu2023")
def test_the_whole_node_list():
    machines = read_machines(DATA / "alibaba-gpu2023" / "openb_node_list_gpu_node.csv").arrays()
    assert (len(machines.name), machines.gpus.sum()) == (1213, 6212)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("type,gpus,cpus,memory\nV100,4,8\n", [(2, None)]),
        ("type,gpus,cpu,memory\nV100,4,8,8\n", [(1, "cpu")]),
        ("type,gpus,cpus,memory,gpus\nV100,4,8,8,4\n", [(1, "gpus")]),
        ("type,gpus,cpus,memory\nV99,4,8,8\nV100,1.5,8,8\nV100,17,8,8\n", [(2, "type"), (3, "gpus"), (4, "gpus")]),
        ("type,gpus,cpus,memory\nV100,4,nan,8\nV100,4,8,-1\nV100,,8,8\n", [(2, "cpus"), (3, "memory"), (4, "gpus")]),
        ("kind,count,gpus\nv100x4,1,4\nv100x44,1,\nv100x4,0,\n", [(2, "gpus"), (3, "kind"), (4, "count")]),
        ("kind,name\nv100x4,a\nv100x4,a\n", [(3, "name")]),
        ("kind,count\nv100x4,99999\nv100x4,2\n", [(3, "count")]),
        ("kind\n", [(None, None)]),
        ("", [(None, None)]),
        (b"kind\nv100\xff\n", [(2, None)]),
    ],
)
def test_every_fault_is_found(tmp_path, text, faults):
    assert faults_of(write(tmp_path, text)) == faults


def test_toml_that_is_not_a_list_of_machines(tmp_path):
    assert faults_of(write(tmp_path, "machine = 3\n", "m.toml")) == [(None, None)]
    assert faults_of(write(tmp_path, '[[machine]]\nkind="v100x4"\n[other]\n', "n.toml")) == [(None, None)]
    assert faults_of(write(tmp_path, '[[machine]]\nkind="v100x4"\nmemori=3\n', "o.toml")) == [(1, "memori")]
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_machines(write(tmp_path, "[[machine", "p.toml"))
