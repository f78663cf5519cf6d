"""Folders that one worker makes for all workers of a run, where to make them takes long."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.opened import add_opened, watching


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of this name, which `make` fills for whoever asks first; the others wait for it, and write nothing there.

    What was opened to make it counts as opened by every test that it serves, in whichever worker.
    """
    here = factory.getbasetemp()
    ours = here.parent if "PYTEST_XDIST_WORKER" in os.environ else here
    folder, opened = ours / name, ours / f"{name}.opened"
    with (ours / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not opened.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that was stopped
            folder.mkdir()
            seen = set[str]()
            with watching(seen):
                make(folder)
            opened.write_text("\n".join(sorted(seen)), encoding="utf-8", errors="surrogateescape")
    add_opened(opened.read_text(encoding="utf-8", errors="surrogateescape").splitlines())
    return folder
