import numpy as np
import pytest
from tests.workloads.samples import DATA, needs_data

from dovetail.core.errors import ConfigError, DovetailError, InvalidWorkload, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.workloads.readers.stream_alibaba import StreamAlibabaOptions, read_stream_alibaba
from dovetail.workloads.stream_check import work_faults

TRACE = (
    "5,j_1,M1,10,100,0.2,3\n5,j_1,M2,20,100,0.2,3\n5,j_1,J3_1_2,5,700,0.3,1\n5,j_1,R4_3,40,100,0.3,1\n"
    "5,j_1,task_x,9,100,0.3,1\n8,j_2,M1,2,100,0.2,3\n8,j_2,R2_1,4,100,0.2,3\n9,j_3,M1,2,100,0.2,3\n"
)


@pytest.fixture
def trace(tmp_path):
    (tmp_path / "tasks.csv").write_text(TRACE)
    return tmp_path / "tasks.csv"


def read(path, **options):
    return read_stream_alibaba(path, StreamAlibabaOptions(**options))


def test_a_task_is_an_operator(trace):
    found = read(trace, jobs="j_1", rate=200.0, demand=4.0, runtime="cold")
    jobs = found.source.table
    assert jobs.op_name == ("M1", "M2", "J3_1_2", "R4_3")
    assert list(zip(jobs.edge_from, jobs.edge_to, strict=True)) == [(0, 2), (1, 2), (2, 3)]
    np.testing.assert_allclose(jobs.op_service_s / jobs.op_service_s[0], [1, 2, 0.5, 4])
    np.testing.assert_allclose(jobs.at_mean_rate().gain, [1, 1, 2, 1])
    np.testing.assert_allclose(jobs.demand(), [1, 2, 1, 4])
    assert jobs.job_restart_s.tolist() == [1.5]
    assert "1 tasks of these jobs that have nothing to do with others were left out" in found.notes
    assert work_faults(found.source.sequence(None, SeedTree(0))) == []


def test_jobs_by_name_or_drawn(trace):
    assert read(trace, jobs="j_2,j_1").source.table.job_name == ("j_2", "j_1")
    assert set(read(trace, jobs="2", operators=(2, 9)).source.table.job_name) == {"j_1", "j_2"}
    assert read(trace).source.table.job_name == ("j_1",)  # the only one with 4 operators or more
    assert read(trace, rates="step").source.rates.name == "step"


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"jobs": "j_9"}, UnknownName, "did you mean"),
        ({"jobs": "j_3"}, DovetailError, "none of its tasks waits for another one"),
        ({"jobs": "j_1,j_1"}, ConfigError, "named twice"),
        ({"jobs": ","}, ConfigError, "none given"),
        ({"jobs": "3"}, DovetailError, "1 jobs of the trace have 4 to 40 operators; expected 1 to 1"),
        ({"jobs": "0"}, DovetailError, "expected 1 to 1"),
        ({"operators": (9, 3)}, ConfigError, "expected a range"),
        ({"runtime": "hot"}, UnknownName, "unknown runtime"),
        ({"rate": 0.0}, ConfigError, "--rate is 0"),
        ({"rates": "wbe"}, UnknownName, "did you mean 'web'"),
    ],
)
def test_what_cannot_be_is_refused(trace, options, error, says):
    with pytest.raises(error, match=says):
        read(trace, **options)


def test_faults_of_the_trace(tmp_path):
    (tmp_path / "t.csv").write_text(TRACE + "9,j_4,M1_2,2,100,0.2,3\n9,j_4,M2_1,2,100,0.2,3\n")
    with pytest.raises(InvalidWorkload, match="cycle in job j_4"):
        read(tmp_path / "t.csv")
    assert read(tmp_path / "t.csv", skip_faulty=True).source.jobs == 1


@needs_data("alibaba2018")
def test_the_public_trace():
    found = read(DATA / "alibaba2018", jobs="6", operators=(10, 30), skip_faulty=True)
    assert found.source.jobs == 6
    assert work_faults(found.source.sequence(86_400.0, SeedTree(0))) == []
    demand, job = found.source.table.demand(), found.source.table.op_job
    assert [demand[job == each].max() for each in range(6)] == pytest.approx([4.5] * 6)
