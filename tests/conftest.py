"""What every test shares: the Hypothesis profiles.

`dovetail`, the default, draws the same examples on every machine, so a failure seen anywhere can be
repeated anywhere. `explore` looks for new ones: `pytest --hypothesis-profile=explore`.
Deadlines are off because the first call of a numba kernel compiles it.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "dovetail",
    derandomize=True,
    deadline=None,
    max_examples=60,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", settings.get_profile("dovetail"), derandomize=False, max_examples=1000)
settings.load_profile("dovetail")
