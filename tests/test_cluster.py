"""Checks on the workers of a dask scheduler: the same evidence, also after a worker was killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import loaded
from tests.conftest import write_claim
from tests.test_cli import verify, wait_for
from verify.checks.settings import settings_for
from verify.evidence import cluster
from verify.vocabulary.errors import InputError

pytestmark = pytest.mark.kept(".")

WITHOUT = "distributed is not installed (it comes with the extra 'distributed')"


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder with claims, and the address of a scheduler with two workers of one thread each that know them."""
    pytest.importorskip("distributed", reason=WITHOUT)
    folder: Path = tmp_path_factory.mktemp("cluster")
    write_claim(folder / "demo_claims", "sound")
    waiting = f"from tests.test_cluster import held; held({str(folder)!r})"
    write_claim(folder / "demo_claims", "waiting", before=waiting)
    deadly = "import os, signal; 'float' in str(A.dtype) or os.kill(os.getpid(), signal.SIGKILL)"
    write_claim(folder / "demo_claims", "deadly", before=deadly)
    known = os.pathsep.join([str(folder), str(Path(__file__).parents[1])])
    dask = {"SCHEDULER__ALLOWED_FAILURES": "0", "WORKER__MULTIPROCESSING_METHOD": "fork"}
    settings = {f"DASK_DISTRIBUTED__{name}": value for name, value in dask.items()}
    environment = {**os.environ, "PYTHONPATH": known, **settings}

    def start(module: str, *options: str) -> contextlib.AbstractContextManager[None]:
        file = ["--scheduler-file", "scheduler.json"]
        return loaded.started(f"distributed.cli.{module}", [*file, *options], folder, environment)

    with (
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
        start("dask_worker", "--nworkers", "2", "--nthreads", "1", "--no-dashboard"),
    ):
        wait_for((folder / "scheduler.json").is_file)
        yield folder, json.loads((folder / "scheduler.json").read_text())["address"]


def held(folder: str) -> None:
    """Where a check waits while the file `wait` is in the folder, with its process in the name of another."""
    while (Path(folder) / "wait").exists():
        (Path(folder) / f"{os.getpid()}.held").touch()
        time.sleep(0.1)


def records_in(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Records by claim and check, without what differs from run to run."""
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    found = {}
    for record in map(json.loads, lines):
        for name in ("duration", "run", "when"):
            del record[name]
        record["details"].pop("seconds", None)
        found[record["claim"], record["check"]] = record
    assert len(found) == len(lines)
    return found


def test_evidence_from_a_cluster_is_what_a_run_here_finds_also_after_a_worker_was_killed(at: tuple[Path, str]) -> None:
    folder, address = at
    # workers find the module that the claim imports, so the code is theirs only where it is found here too
    known = {"PYTHONPATH": str(Path(__file__).parents[1])}
    ran = verify(folder, "--evidence", "here", "run", "demo.[sw]*", "--effort", "quick", "--jobs", "1", **known)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (folder / "wait").touch()
    options = ["--evidence", "there", "run", "demo.[sw]*", "--effort", "quick", "--scheduler", address]
    with ThreadPoolExecutor(1) as aside:
        running = aside.submit(verify, folder, *options, **known)
        try:
            wait_for(lambda: len(list(folder.glob("*.held"))) == 2)
            os.kill(int(next(folder.glob("*.held")).stem), signal.SIGKILL)
        finally:
            (folder / "wait").unlink()
        run = running.result()
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 holds" in run.stdout and "[8/8]" in run.stderr
    assert len(list((folder / "there").iterdir())) == 1, "this process alone writes"
    here, there = records_in(folder / "here"), records_in(folder / "there")
    assert here == there and any(record["details"].get("witnesses") for record in there.values())


def test_a_check_that_kills_its_workers_is_named_and_the_rest_goes_on(at: tuple[Path, str]) -> None:
    folder, address = at
    options = ["--effort", "quick", "--scheduler", address]
    ran = verify(folder, "--evidence", "deadly", "run", "demo.[sd]*", *options)
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    assert "demo.deadly" in ran.stdout and "the worker process died during this check" in ran.stdout
    assert "1 open, 1 holds" in ran.stdout


def test_evidence_about_other_code_does_not_count(at: tuple[Path, str], tmp_path: Path) -> None:
    _, address = at
    write_claim(tmp_path / "demo_claims", "sound", formula="B.T @ A.T * 1")
    ran = verify(tmp_path, "run", "--effort", "quick", "--scheduler", address)
    assert ran.returncode == 2 and "expected workers with this code" in ran.stderr
    assert not (tmp_path / ".verify").exists()


def test_a_package_that_workers_lack_is_named(at: tuple[Path, str], tmp_path: Path) -> None:
    _, address = at
    write_claim(tmp_path / "unknown_there", "sound")
    options = ["--package", "unknown_there", "run", "--effort", "quick", "--scheduler", address]
    ran = verify(tmp_path, *options)
    assert (
        ran.returncode == 2 and "--scheduler: expected workers that can run the checks of unknown_there" in ran.stderr
    )


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "abacus://here", "127.0.0.1:port"])
def test_an_address_at_which_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    pytest.importorskip("distributed", reason=WITHOUT)
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    expected = "--scheduler: expected the address of a dask scheduler that answers"
    with pytest.raises(InputError, match=expected), cluster.connected(address):
        pass


def test_a_scheduler_without_workers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason=WITHOUT)
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    monkeypatch.setattr(cluster, "LOOK", 0.1)
    client = SimpleNamespace(nthreads=dict, get_executor=lambda **_: ThreadPoolExecutor(1))
    with pytest.raises(InputError, match="--scheduler: expected a scheduler with workers; got none"):
        cluster.run_on_cluster(client, "theorems", {}, [("a", "b")], settings_for("quick"), print)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    expected = "--scheduler: expected the extra 'distributed' to be installed"
    with pytest.raises(InputError, match=expected), cluster.connected("tcp://127.0.0.1:1"):
        pass


def test_a_process_runs_one_check_at_a_time_whatever_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = 0, 0

    def slow(*_: object) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.05)
        inside -= 1

    monkeypatch.setattr(cluster, "attempt", slow)
    threads = [threading.Thread(target=cluster._attempt_alone, args=("", ("", ""), None)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
