"""One thread per process, as with busy neighbours a second one costs more than it brings; and tests that take too long."""

import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

pytest_plugins = ["tests.kept", "tests.durations"]
