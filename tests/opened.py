"""What is opened while a test runs, by the audit events of the interpreter, in this process and in forks of the loaded one."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_WATCHES: list[set[str]] = []
#: By module, what was opened when it was imported.
IMPORTED: dict[str, set[str]] = {}


def _see(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
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


def add_opened(paths: Iterable[str]) -> None:
    """What another process has opened for the test that is under way."""
    for opened in _WATCHES:
        opened.update(paths)
