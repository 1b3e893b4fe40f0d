"""Hypothesis profiles: the number of examples that a property is tried with, in one place.

`quick` is for every run, `full` for `make test-all`; both try the same examples each time. `make stress` draws new ones
with `random`. `--hypothesis-profile` chooses one.
"""

from hypothesis import HealthCheck, given, settings, strategies

__all__ = ["heavy", "register", "warm"]


def register():
    """Register the profiles and load `quick`."""
    # A fixture of a test's folder or database is shared by its examples on purpose.
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    checks = [*slow, HealthCheck.function_scoped_fixture]
    steady = settings(deadline=None, derandomize=True, database=None, suppress_health_check=checks)
    settings.register_profile("quick", steady, max_examples=20, stateful_step_count=6)
    settings.register_profile("full", steady, max_examples=300, stateful_step_count=25)
    settings.register_profile("random", steady, max_examples=300, stateful_step_count=25, derandomize=False)
    settings.load_profile("quick")


def warm():
    """Let Hypothesis make its table of Unicode and read constants of the sources, for which the first property pays."""

    @settings(max_examples=1)
    @given(strategies.text())
    def first(_text):
        pass

    first()


def heavy():
    """Return the settings of a property of which one example takes 10 ms or more: a quarter of the examples."""
    return settings(max_examples=settings().max_examples // 4)
