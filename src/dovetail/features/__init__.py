"""Views as arrays: the only feature code, shared by environments, learned policies and live engines."""

from dovetail.features.dag import FEATURE_SETS, Column, FeatureSet, FlatDags, feature_set, flatten
from dovetail.features.dag_window import cut_to_size, select_jobs

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
