"""One thread per process, as with busy neighbours a second one costs more than it brings; and what all tests have in common."""

import os

import pytest

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

pytest_plugins = ["tests.kept", "tests.durations"]


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis draws the same numbers for a test whatever modules other tests have loaded; nor does it read them all."""
    from verify.checks.search import without_numbers_of_code

    inside = without_numbers_of_code()
    inside.__enter__()
    config.add_cleanup(lambda: inside.__exit__(None, None, None))
