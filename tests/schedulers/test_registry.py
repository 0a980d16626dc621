"""The registry of schedulers as it ships."""

from dovetail.schedulers import SCHEDULERS

DAG = [
    "dag/fifo",
    "dag/sjf-cp",
    "dag/srtf",
    "dag/fair",
    "dag/fair-spill",
    "dag/drf",
    "dag/fair-threads",
    "dag/fair-memory",
    "dag/weighted-fair",
    "dag/hesrpt",
    "dag/critical-path",
    "dag/tetris",
    "dag/graphene",
    "dag/random",
    "dag/rollout",
    "dag/oracle-search",
    "dag/decima",
    "dag/decima-search",
    "dag/composed",
    "dag/adaptive",
]
ELASTIC = [
    "elastic/fifo",
    "elastic/drf",
    "elastic/rrh",
    "elastic/dorm",
    "elastic/edf",
    "elastic/srtf",
    "elastic/offline",
    "elastic/oasis",
    "elastic/oasis-replan",
    "elastic/learned",
]


def test_the_projects_own_schedulers_in_the_order_shown():
    for family, names in (("dag", DAG), ("elastic", ELASTIC)):
        assert [entry.name for entry in SCHEDULERS.entries(family) if entry.origin == "dovetail"] == names


def test_summaries_fit_one_line_beside_the_name():
    for entry in SCHEDULERS.entries():
        assert 10 <= len(entry.summary) <= 70, entry.name
        assert "\n" not in entry.summary


def test_module_names_follow_scheduler_names():
    """`dag/sjf-cp` is found in a file or folder called sjf_cp, so nobody has to search."""
    for name in DAG + ELASTIC:
        module = SCHEDULERS.entry(name).target.partition(":")[0]
        assert name.partition("/")[2].replace("-", "_") in module.split(".")[-2:]
