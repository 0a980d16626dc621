from dovetail.core.suggest import did_you_mean

NAMES = ["dag/fifo", "dag/fair", "dag/weighted-fair"]


def test_nearest_name_is_suggested():
    assert did_you_mean("dag/fiffo", NAMES) == "; did you mean 'dag/fifo'?"


def test_name_without_its_family_is_found():
    assert did_you_mean("weighted-fair", NAMES) == "; did you mean 'dag/weighted-fair'?"


def test_name_in_two_families_suggests_both():
    assert did_you_mean("fair", ["dag/fair", "gpu/fair"]) == "; did you mean 'dag/fair' or 'gpu/fair'?"


def test_a_family_that_is_right_does_not_make_a_name_similar():
    names = ["dag/fifo", "elastic/drf", "elastic/edf", "elastic/oasis"]
    assert did_you_mean("elastic/nope", names) == " (known: elastic/drf, elastic/edf, elastic/oasis)"
    assert did_you_mean("elastic/oases", names) == "; did you mean 'elastic/oasis'?"
    assert did_you_mean("elastik/oasis", names) == "; did you mean 'elastic/oasis'?"
    assert did_you_mean("dag/oasis", names) == "; did you mean 'elastic/oasis'?"


def test_case_does_not_matter():
    assert "'dag/fifo'" in did_you_mean("DAG/FIFO", NAMES)


def test_nothing_near_lists_what_is_known():
    assert did_you_mean("zzz", ["b", "a"]) == " (known: a, b)"


def test_long_lists_are_cut():
    text = did_you_mean("zzz", [f"q{i:02d}" for i in range(20)])
    assert text.endswith("q11, and 8 more)")


def test_nothing_known():
    assert did_you_mean("x", []) == " (none are known)"
