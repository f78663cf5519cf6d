"""What workers share is made by one of them, whole, and what was opened for it counts for all."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.opened import watching
from tests.shared import made_once


def worker(folder: Path, number: int) -> Any:
    """A factory of temporary folders as that worker has it."""
    here = folder / f"popen-gw{number}"
    here.mkdir(exist_ok=True)
    return SimpleNamespace(getbasetemp=lambda: here)


def ask(folder: Path, number: int) -> None:
    """Ask for a folder that takes a while to make, and say beside it who made it."""
    os.environ["PYTEST_XDIST_WORKER"] = f"gw{number}"

    def make(place: Path) -> None:
        (folder / f"made by {number}").touch()
        time.sleep(0.5)
        (place / "thing").touch()

    assert (made_once(worker(folder, number), "things", make) / "thing").exists()


def test_workers_that_ask_at_once_get_one_folder(tmp_path: Path) -> None:
    asking = [multiprocessing.get_context("fork").Process(target=ask, args=(tmp_path, number)) for number in range(4)]
    for process in asking:
        process.start()
    for process in asking:
        process.join()
    assert [process.exitcode for process in asking] == [0] * 4 and len(list(tmp_path.glob("made by *"))) == 1


def test_what_one_worker_opened_counts_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    source = tmp_path / "source"
    source.touch()
    for number in range(2):
        opened = set[str]()
        with watching(opened):
            made_once(worker(tmp_path, number), "things", lambda folder: source.read_text())
        assert str(source) in opened


def test_what_was_left_unfinished_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")

    def half(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError

    with pytest.raises(OSError):
        made_once(worker(tmp_path, 0), "things", half)
    made_once(worker(tmp_path, 1), "things", lambda folder: (folder / "whole").touch())
    assert [path.name for path in (tmp_path / "things").iterdir()] == ["whole"]
