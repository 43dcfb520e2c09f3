"""Settings of all tests: hypothesis draws the same examples in every run, so that nothing is flaky."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
