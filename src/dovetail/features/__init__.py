"""Views as arrays: the only feature code, shared by environments, learned policies and live engines."""

from dovetail.core.errors import UnknownName
from dovetail.features.dag import FeatureSet, FlatDags, flatten
from dovetail.features.dag_columns import COLUMNS, COMPRESSED, PICKED, Column
from dovetail.features.dag_window import cut_to_size, select_jobs

FEATURE_SETS = {
    name: FeatureSet(name, tuple(column for column in COLUMNS if column.name in picked), name in COMPRESSED)
    for name, picked in PICKED.items()
}


def feature_set(name: str) -> FeatureSet:
    if name not in FEATURE_SETS:
        raise UnknownName("feature set", name, FEATURE_SETS)
    return FEATURE_SETS[name]


__all__ = [
    "FEATURE_SETS",
    "Column",
    "FeatureSet",
    "FlatDags",
    "cut_to_size",
    "feature_set",
    "flatten",
    "select_jobs",
]
