"""What is opened and started while a test runs, by the audit events of this process and of forks of the loaded one."""

from __future__ import annotations

import functools
import inspect
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_WATCHES: list[set[str]] = []
#: What precedes a program that was started, among the paths that were opened.
STARTED = "started "
#: By module, what was opened when it was imported.
IMPORTED: dict[str, set[str]] = {}


def _see(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
        program = os.fsdecode(arguments[0])
        if os.path.basename(program) != "uname":  # by which `platform` asks for the processor, an input of every test
            add_opened([f"{STARTED}{shutil.which(program) or program}"])
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        for opened in _WATCHES:
            opened.add(path)
        frame = inspect.currentframe()
        while frame is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        if frame is not None:
            IMPORTED.setdefault(frame.f_code.co_filename, set()).add(path)


@functools.cache
def listen() -> None:
    """Let Python tell what is opened, from now on: such a hook stays."""
    sys.addaudithook(_see)


@contextmanager
def watching(opened: set[str]) -> Iterator[None]:
    """Add what is opened inside."""
    listen()
    _WATCHES.append(opened)
    try:
        yield
    finally:
        _WATCHES.pop()


@contextmanager
def unwatched() -> Iterator[None]:
    """Inside, what is opened and started serves every test, and is none's."""
    watches = _WATCHES[:]
    _WATCHES.clear()
    try:
        yield
    finally:
        _WATCHES[:] = watches


def add_opened(paths: Iterable[str]) -> None:
    """What another process has opened for the test that is under way."""
    for opened in _WATCHES:
        opened.update(paths)
