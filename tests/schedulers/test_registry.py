"""The registry of schedulers as it ships."""

from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.gpu_parts import GPU_PARTS

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
GPU = [
    "gpu/fifo+first-fit",
    "gpu/fifo+load-balance",
    "gpu/drf+first-fit",
    "gpu/drf+load-balance",
    "gpu/tetris",
    "gpu/sjf+topology",
    "gpu/srtf+pack",
    "gpu/srtf+topology",
    "gpu/tetris+topology",
    "gpu/tetris+fastest",
    "gpu/las+topology",
    "gpu/max-min+topology",
    "gpu/easy-backfill+topology",
    "gpu/fifo+least-allocated",
    "gpu/fifo+most-allocated",
    "gpu/fifo+fgd",
    "gpu/mosa",
    "gpu/malo",
    "gpu/rifling",
    "gpu/dl2",
    "gpu/das",
    "gpu/random",
]
STREAM = [
    "stream/fixed",
    "stream/hpa",
    "stream/ds2",
    "stream/flink",
    "stream/dhalion",
    "stream/quantile",
    "stream/static",
    "stream/oracle",
    "stream/sure",
    "stream/deepwave",
    "stream/dream",
    "stream/tvw-rl",
    "stream/astgcn",
    "stream/ccrnn",
    "stream/random",
]


def test_the_projects_own_schedulers_in_the_order_shown():
    for family, names in (("dag", DAG), ("elastic", ELASTIC), ("gpu", GPU), ("stream", STREAM)):
        assert [entry.name for entry in SCHEDULERS.entries(family) if entry.origin == "dovetail"] == names


def test_summaries_fit_one_line_beside_the_name():
    for entry in SCHEDULERS.entries() + GPU_PARTS.entries():
        assert 10 <= len(entry.summary) <= 70, entry.name
        assert "\n" not in entry.summary


def test_module_names_follow_scheduler_names():
    """`dag/sjf-cp` is found in a file or folder called sjf_cp, so nobody has to search."""
    entries = [SCHEDULERS.entry(name) for name in DAG + ELASTIC + GPU] + GPU_PARTS.entries()
    for entry in entries:
        module = entry.target.partition(":")[0]
        if not entry.parts:
            assert entry.name.partition("/")[2].replace("-", "_") in module.split(".")[-2:]


def test_every_order_goes_with_every_place():
    for order in GPU_PARTS.names("order"):
        for place in GPU_PARTS.names("place"):
            name = f"gpu/{order.partition('/')[2]}+{place.partition('/')[2]}"
            made = SCHEDULERS.create(name)
            assert type(made) is SCHEDULERS.resolve(name)
            assert (type(made.order), type(made.place)) == (GPU_PARTS.resolve(order), GPU_PARTS.resolve(place))
