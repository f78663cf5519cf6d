"""Checks in a process of their own: whatever other people's code does to it, the one that reports stays.

An implementation may call os._exit, crash, or never return, in C code that no signal interrupts.  All of these end the
child; the parent has no report then, and says so.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from verify.vocabulary.errors import InputError, RegistryError

#: Seconds between two looks of a child at whether its parent lives.
HEARTBEAT = 0.5


def each_apart(function: Callable[[Any], Any], items: Sequence[Any], timeout: float) -> Iterator[Any]:
    """``function(item)`` for each of the items, in one child process; each may take `timeout` seconds.

    Results and `InputError`s have to be picklable, and `function` one of a module.  Raises `InputError` for an item whose
    result did not come in time, or without which the child ended.
    """
    # forked where that is safe, before torch has threads and without those of JAX: nothing is imported twice
    safe = sys.platform == "linux" and "jax" not in sys.modules
    context: Any = multiprocessing.get_context("fork" if safe else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_serve, args=(function, list(items), sender, os.getpid()))
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside idle threads of libraries
        child.start()
    sender.close()
    try:
        for _ in items:
            yield _next_of(child, receiver, timeout)
    finally:
        child.kill()
        child.join()
        receiver.close()


def _next_of(child: Any, receiver: Connection, timeout: float) -> Any:
    ready = wait([receiver, child.sentinel], timeout)
    if not ready:
        raise InputError(
            "--timeout", f"an implementation whose checks end within {timeout:g} s", "one that was still running then"
        )
    kind, value = "ended", None
    with contextlib.suppress(EOFError):
        if receiver.poll():
            kind, value = receiver.recv()
    if kind == "ended":
        child.join()
        raise InputError("implementation", "a function that returns, or raises", f"one that {_end_of(child.exitcode)}")
    if isinstance(value, (InputError, RegistryError)):
        raise value
    if kind == "failed":
        raise RuntimeError(f"in the process of the check:\n{value}")
    return value


def _end_of(status: int) -> str:
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"ended its process with {signal.Signals(-status).name}"
    return f"ended its process with exit status {status}"


def _serve(function: Callable[[Any], Any], items: list[Any], sender: Connection, parent: int) -> None:
    """In the child: send each result, or the first error that names an argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends this process
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    own = os.getpid()
    for item in items:
        try:
            result = function(item)
            if os.getpid() != own:  # a copy of this process that other people's code made
                os._exit(1)
            sender.send(("result", result))
        except (InputError, RegistryError) as problem:
            sender.send(("named", problem))
            return
        except Exception:  # an error of this project, not of its arguments
            sender.send(("failed", traceback.format_exc()))
            return
        finally:
            sys.stdout.flush()
            sys.stderr.flush()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(HEARTBEAT)
    os._exit(1)
