import pytest

from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.readers.alibaba_pai2020 import read_pai2020
from dovetail.workloads.readers.gpu_rows import GpuReadOptions

JOBS = "j0,i0,ada,Terminated,100.0,900.0\nj1,i1,bob,Terminated,50.0,80.0\nj2,i2,bob,Failed,60.0,80.0\n"
JOBS += "j3,i3,bob,Terminated,70.0,80.0\n"
TASKS = (
    "j0,ps,1.0,Terminated,110.0,890.0,600.0,10.0,0.0,\n"
    "j0,worker,2.0,Terminated,110.0,890.0,400.0,29.0,50.0,T4\n"
    "j1,tensorflow,1.0,Terminated,51.0,80.0,600.0,29.0,150.0,V100\n"
    "j2,tensorflow,1.0,Failed,51.0,80.0,600.0,29.0,50.0,V100\n"
)
INSTANCES = "j0,worker,n0,w0,i0,Terminated,120.0,800.0,m0\nj0,worker,n1,w1,i0,Terminated,130.0,880.0,m1\n"
MACHINES = "m0,T4,96,512.0,2\nm1,MISC,96,512.0,8\nm2,CPU,64,256.0,0\n"


def folder(tmp_path, **tables):
    default = {"pai_job_table": JOBS, "pai_task_table": TASKS}
    for name, text in {**default, **tables}.items():
        if text is not None:
            (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def faults_of(path):
    with pytest.raises(InvalidWorkload) as caught:
        read_pai2020(path)
    return [(fault.file.rpartition("/")[2], fault.row, fault.field) for fault in caught.value.faults]


def test_a_job_is_a_gang_of_the_workers_of_its_main_task(tmp_path):
    imported = read_pai2020(folder(tmp_path))
    jobs = imported.source.recorded
    assert jobs.job_name == ("j1", "j0")
    assert jobs.arrival_s.tolist() == [0, 50]
    assert jobs.work_s.tolist() == [29, 780]
    assert jobs.workers.tolist() == [1, 2]
    assert jobs.gpus.tolist() == [2, 0.5]  # one and a half are two
    assert jobs.cpus.tolist() == [6, 4 + 6 / 2]  # the parameter server is shared out
    assert jobs.memory.tolist() == [29, 29 + 10 / 2]
    assert [jobs.user_name[user] for user in jobs.user] == ["bob", "ada"]
    notes = " ".join(imported.notes)
    assert "1 jobs did not terminate" in notes and "1 jobs have no task" in notes and "rounded up" in notes


def test_instances_and_machines_where_they_are_there(tmp_path):
    path = folder(tmp_path, pai_instance_table=INSTANCES, pai_machine_spec=MACHINES)
    imported = read_pai2020(path, GpuReadOptions(longest_s=1e6))
    jobs = imported.source.recorded
    assert jobs.work_s.tolist() == [29, 760]
    machines = imported.source.cluster.arrays()
    assert (machines.name, machines.gpus.tolist()) == (("m0", "m1", "m2"), [2, 8, 0])


def test_tables_may_have_a_header(tmp_path):
    path = folder(tmp_path, pai_job_table="job_name,inst_id,user,status,start_time,end_time\n" + JOBS)
    assert read_pai2020(path).source.recorded.num_jobs == 2


@pytest.mark.parametrize(
    ("tables", "faults"),
    [
        ({"pai_job_table": "j0,i0,ada,Terminated,x,9\n"}, [("pai_job_table.csv", 1, "start_time")]),
        ({"pai_job_table": "j0,i0,ada\n"}, [("pai_job_table.csv", 1, None)]),
        (
            {"pai_task_table": TASKS.replace("600.0,10.0", "-1,x")},
            [("pai_task_table.csv", 1, n) for n in ("plan_cpu", "plan_mem")],
        ),
        ({"pai_task_table": TASKS.replace("2.0,Term", "2.0,Term,x")}, [("pai_task_table.csv", 2, None)]),
        ({"pai_instance_table": INSTANCES.replace("120.0", "y")}, [("pai_instance_table.csv", 1, "start_time")]),
        (
            {"pai_machine_spec": "m0,Z9,96,512,2\nm1,T4,0,512,2\n"},
            [("pai_machine_spec.csv", 1, "gpu_type"), ("pai_machine_spec.csv", 2, "cap_cpu")],
        ),
        ({"pai_job_table": JOBS + "j0,i0,ada,Terminated,100.0,900.0\n"}, [("pai_job_table.csv", 5, "job")]),
    ],
)
def test_every_fault_is_found(tmp_path, tables, faults):
    assert faults_of(folder(tmp_path, **tables)) == faults


def test_a_folder_is_needed(tmp_path):
    with pytest.raises(InvalidWorkload, match="not a folder"):
        read_pai2020(tmp_path / "x.csv")
    with pytest.raises(InvalidWorkload, match="no such file"):
        read_pai2020(tmp_path)
