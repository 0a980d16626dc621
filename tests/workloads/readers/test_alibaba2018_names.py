import pytest

from dovetail.workloads.readers.alibaba2018_names import parse_name


@pytest.mark.parametrize(
    ("name", "number", "parents"),
    [
        ("M1", 1, ()),
        ("R3_1_2", 3, (1, 2)),
        ("J25_16_18_24", 25, (16, 18, 24)),
        ("R3_2_2_1", 3, (1, 2)),
        ("M2_Stg6", 2, ()),
        ("J4_2_3_Stg1", 4, (2, 3)),
        ("task_LTg0MTUwNTA5Mjg4MDkwNjIzMA==", -1, ()),
        ("MergeTask", -1, ()),
        ("task_", -2, ()),
        ("3_1", -2, ()),
        ("R3_", -2, ()),
        ("R3__1", -2, ()),
        ("R3_1 ", -2, ()),
        ("R1234567", -2, ()),
        ("", -2, ()),
    ],
)
def test_names(name, number, parents):
    assert parse_name(name) == (number, parents)
