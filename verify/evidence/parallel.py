"""Running many checks in worker processes, with live progress; survives workers that are killed."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TextIO

from verify.checks import checks_of
from verify.checks.record import ERROR, Record, blank
from verify.checks.settings import Settings
from verify.evidence.failure import describe_failure
from verify.evidence.runner import Judgement, fingerprint, judge, run_check
from verify.evidence.store import Recorder
from verify.vocabulary.claims import Claim
from verify.vocabulary.registry import load

Task = tuple[str, str]


def _single_threaded() -> None:
    """Before a worker starts: one thread for every numerical library."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def _work(package: str, task: Task, settings: Settings, recorder: Recorder) -> tuple[Task, Record, Judgement]:
    """One check in a worker: run it, record it, judge it."""
    claim_id, check_name = task
    claim = load(package)[claim_id]
    check = next(check for check in checks_of(claim, settings) if check.name == check_name)
    record = run_check(claim, check, settings)
    Recorder(recorder.folder, recorder.run).append(record)
    return task, record, judge(claim, record)


class Progress:
    """A counter that rewrites its line on a terminal and prints one line per check elsewhere."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self.total, self.stream, self.done, self.bad = total, stream, 0, 0
        self.started = time.perf_counter()
        self.live = stream.isatty()

    def step(self, record: Record, judgement: Judgement) -> None:
        self.done += 1
        self.bad += not judgement.ok
        elapsed = time.perf_counter() - self.started
        state = "ok" if judgement.ok else "FAILED"
        line = f"[{self.done}/{self.total}] {elapsed:5.0f} s  {self.bad} failed  {record.claim} {record.check} {state}"
        if self.live:
            self.stream.write("\r\x1b[K" + line[:110] + ("\n" if self.done == self.total else ""))
        else:
            self.stream.write(f"{line} ({record.duration:.2f} s)\n")
        self.stream.flush()


def run_claims(
    package: str, claims: Sequence[Claim], settings: Settings, recorder: Recorder, jobs: int, stream: TextIO
) -> list[str]:
    """Run every check of `claims`; returns a description of each that failed.  Finished checks are on disk at once."""
    by_id = {claim.id: claim for claim in claims}
    tasks = [(claim.id, check.name) for claim in claims for check in checks_of(claim, settings)]
    progress = Progress(len(tasks), stream)
    failures: list[str] = []

    def finish(task: Task, record: Record, judgement: Judgement) -> None:
        progress.step(record, judgement)
        if not judgement.ok:
            failures.append(describe_failure(by_id[task[0]], record, judgement.why))

    if jobs == 1:
        for task in tasks:
            finish(*_work(package, task, settings, recorder))
        return failures
    unfinished = _pooled(package, tasks, settings, recorder, jobs, finish)
    for task in unfinished:  # a worker died: each of its checks alone, so that the culprit is known by name
        if _pooled(package, [task], settings, recorder, 1, finish):
            claim = by_id[task[0]]
            record = blank(claim, task[1], "unknown", ERROR, message="the worker process died during this check")
            record.fingerprint, record.effort, record.seed = fingerprint(claim), settings.effort.name, settings.seed
            recorder.append(record)
            finish(task, record, judge(claim, record))
    return failures


def _pooled(package, tasks, settings, recorder, jobs, finish) -> list[Task]:  # type: ignore[no-untyped-def]
    """Run tasks in a process pool; returns those that were left when a worker died."""
    _single_threaded()
    remaining = list(tasks)
    pool = concurrent.futures.ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        futures = [pool.submit(_work, package, task, settings, recorder) for task in tasks]
        for future in concurrent.futures.as_completed(futures):
            task, record, judgement = future.result()
            remaining.remove(task)
            finish(task, record, judgement)
    except BrokenProcessPool:
        pass
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return remaining
