"""Running many checks in worker processes, with live progress; survives workers that are killed, and leaves none behind."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TextIO

from verify.checks import checks_of
from verify.checks.record import ERROR, Record, blank
from verify.checks.settings import Settings
from verify.evidence.cluster import Finish, Task, attempt, connected, run_on_cluster
from verify.evidence.failure import describe_failure
from verify.evidence.fingerprints import fingerprint
from verify.evidence.progress import Progress
from verify.evidence.runner import Judgement, judge
from verify.evidence.store import EvidenceWriter, current, in_force, rank_of
from verify.vocabulary.claims import Claim

#: The checks that may take long, longest first.
LONGEST = ("law", "proved", "attacked float64", "at scale", "rate", "sampled float32", "sampled float64")
#: Seconds between two looks of a worker at whether its parent lives.
HEARTBEAT = 0.5


def _work(package: str, task: Task, settings: Settings, recorder: EvidenceWriter) -> tuple[Task, Record, Judgement]:
    """One check in a worker: run it, judge it, record it."""
    task, record, judgement = attempt(package, task, settings)
    EvidenceWriter(recorder.folder, recorder.run).append(record)
    return task, record, judgement


def already_found(claims: Iterable[Claim], records: Iterable[Record], settings: Settings) -> set[Task]:
    """Checks that need not run again: `records`, which stand about the present code, have them on this device.

    They were made with at least this effort, and say what the source expects; those that draw anything were made with
    this seed, if one is asked for.
    """
    by_id = {claim.id: claim for claim in claims}
    drawn = {(claim.id, check.name) for claim in by_id.values() for check in checks_of(claim, settings) if check.draws}
    return {
        (record.claim, record.check)
        for record in records
        if record.claim in by_id
        and record.device == settings.device
        and rank_of(record.effort) >= rank_of(settings.effort.name)
        and (not settings.seeded or record.seed == settings.seed or (record.claim, record.check) not in drawn)
        and judge(by_id[record.claim], record).ok
    }


def kept_evidence(claims: Iterable[Claim], records: Iterable[Record], settings: Settings) -> dict[Task, Record]:
    """The records that stand in the place of checks which need not run again, of all that were ever written."""
    chosen = list(claims)
    present = in_force(current(records, {claim.id: fingerprint(claim) for claim in chosen}))
    found = already_found(chosen, present, settings)
    own = [record for record in present if record.device == settings.device]
    return {(record.claim, record.check): record for record in own if (record.claim, record.check) in found}


def tasks_of(claims: Iterable[Claim], settings: Settings, seconds: Mapping[Task, float]) -> list[Task]:
    """Every check of `claims`, those first that took longest before, so that no worker is left alone at the end.

    What has not run before comes by its kind.
    """
    tasks = [(claim.id, check.name) for claim in claims for check in checks_of(claim, settings)]
    rank = {name: place for place, name in enumerate(LONGEST)}
    return sorted(tasks, key=lambda task: (-seconds.get(task, 0.0), rank.get(task[1], len(LONGEST))))


def run_tasks(
    package: str,
    claims: Sequence[Claim],
    tasks: Sequence[Task],
    settings: Settings,
    recorder: EvidenceWriter,
    jobs: int,
    stream: TextIO,
    scheduler: str | None = None,
    seconds: Mapping[Task, float] | None = None,
) -> list[str]:
    """Run checks of `claims`; returns a description of each that failed.  Finished checks are on disk at once.

    They run in `jobs` processes of this machine, or on the workers of the dask scheduler at the address `scheduler`.
    `seconds` is what checks took before, from which the time that is left is estimated.
    """
    by_id = {claim.id: claim for claim in claims}
    progress = Progress(tasks, stream, seconds or {}, jobs)
    with progress:
        return _run(package, by_id, tasks, settings, recorder, jobs, scheduler, progress)


def _run(
    package: str,
    by_id: Mapping[str, Claim],
    tasks: Sequence[Task],
    settings: Settings,
    recorder: EvidenceWriter,
    jobs: int,
    scheduler: str | None,
    progress: Progress,
) -> list[str]:
    failures: list[str] = []

    def finish(task: Task, record: Record, judgement: Judgement) -> None:
        progress.step(record, judgement)
        if not judgement.ok:
            failures.append(describe_failure(by_id[task[0]], record, judgement.why))

    def died(task: Task) -> None:
        claim = by_id[task[0]]
        record = blank(claim, task[1], "unknown", ERROR, message="the worker process died during this check")
        record.fingerprint, record.effort, record.seed = fingerprint(claim), settings.effort.name, settings.seed
        recorder.append(record)
        finish(task, record, judge(claim, record))

    def brought_home(task: Task, record: Record, judgement: Judgement) -> None:
        recorder.append(record)
        finish(task, record, judgement)

    if scheduler is not None:
        with connected(scheduler) as client:
            for task in run_on_cluster(client, package, by_id, tasks, settings, brought_home):
                # alone, so that no neighbour is blamed for what another check did to their worker
                if run_on_cluster(client, package, by_id, [task], settings, brought_home):
                    died(task)
        return failures
    if jobs == 1:
        for task in tasks:
            progress.begin(task)
            finish(*_work(package, task, settings, recorder))
        return failures
    left = list(tasks)
    while left:
        suspects, left = _pooled(package, left, settings, recorder, jobs, finish, progress.begin)
        for task in suspects:  # a worker died: each check that was under way alone, so that the culprit has a name
            if any(_pooled(package, [task], settings, recorder, 1, finish, progress.begin)):
                died(task)
    return failures


def _pooled(
    package: str,
    tasks: Sequence[Task],
    settings: Settings,
    recorder: EvidenceWriter,
    jobs: int,
    finish: Finish,
    begin: Callable[[Task], None],
) -> tuple[list[Task], list[Task]]:
    """Run tasks in a pool of processes; returns those under way when a worker died, and those not begun then."""
    waiting = deque(tasks)
    under_way: dict[concurrent.futures.Future[tuple[Task, Record, Judgement]], Task] = {}
    with worker_pool(jobs) as pool, contextlib.suppress(BrokenProcessPool):
        while waiting or under_way:
            while waiting and len(under_way) < jobs:
                under_way[pool.submit(_work, package, waiting[0], settings, recorder)] = waiting[0]
                begin(waiting.popleft())
            done, _ = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                result = future.result()
                del under_way[future]
                finish(*result)
    return list(under_way.values()), list(waiting)


@contextlib.contextmanager
def worker_pool(jobs: int) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    """Worker processes that end with this block, however it is left, and with this process, however it dies."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_end_with_parent, initargs=(os.getpid(),)
    )
    try:
        yield pool
    except BaseException:
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _end_with_parent(parent: int) -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(HEARTBEAT)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
