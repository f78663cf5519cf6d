"""Running checks on the workers of a dask scheduler: evidence comes home and is written here, by one process.

A worker runs one check at a time, whatever its number of threads, because the precision of balls belongs to its process.
What it finds counts only if it has the code and the libraries that this process has.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import gc
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from verify.checks import checks_of
from verify.checks.record import Record
from verify.checks.settings import Settings
from verify.evidence.fingerprints import fingerprint
from verify.evidence.runner import Judgement, judge, run_check
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.registry import Registry, load

if TYPE_CHECKING:
    from distributed import Client

Task = tuple[str, str]  #: A claim's id and the name of a check.
Finish = Callable[[Task, Record, Judgement], None]

#: Seconds in which a scheduler has to answer, and in which workers have to come, or to come back.
PATIENCE = 30.0
#: Seconds between two looks at how many workers there are.
LOOK = 2.0

_ALONE = threading.Lock()


#: Allocations between two looks for cycles; at the default, a twentieth of the time goes into looking.
BETWEEN_LOOKS = 50_000


@functools.cache
def claims_of(package: str) -> Registry:
    """The claims of a package, which last as long as the process and are never looked through for cycles."""
    claims = load(package)
    gc.collect()
    gc.freeze()
    gc.set_threshold(BETWEEN_LOOKS)
    return claims


def attempt(package: str, task: Task, settings: Settings) -> tuple[Task, Record, Judgement]:
    """One check, run and judged where this is called."""
    claim_id, check_name = task
    claim = claims_of(package)[claim_id]
    check = next(check for check in checks_of(claim, settings) if check.name == check_name)
    record = run_check(claim, check, settings)
    return task, record, judge(claim, record)


def _attempt_alone(package: str, task: Task, settings: Settings) -> tuple[Task, Record, Judgement]:
    """One check on a worker, while no other thread of its process runs one."""
    with _ALONE:
        return attempt(package, task, settings)


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A connection to the scheduler at an address; `InputError` where none answers or has workers."""
    try:
        import distributed
    except ImportError:
        raise InputError("--scheduler", "the extra 'distributed' to be installed", "no module distributed") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is said here, in one line
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        what = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(
            "--scheduler", "the address of a dask scheduler that answers", f"{address!r} ({what})"
        ) from None
    with client:
        yield client


def run_on_cluster(
    client: Client, package: str, claims: Mapping[str, Claim], tasks: Sequence[Task], settings: Settings, finish: Finish
) -> list[Task]:
    """Run tasks on all workers, as many at a time as there are processes; returns those during which workers kept dying.

    A task whose worker dies is begun again elsewhere, as often as the scheduler's settings say.
    """
    from distributed import CancelledError, KilledWorker

    waiting, lost = deque(tasks), list[Task]()
    under_way: dict[concurrent.futures.Future[tuple[Task, Record, Judgement]], Task] = {}
    pool = client.get_executor(pure=False)
    seen = time.monotonic()
    try:
        while waiting or under_way:
            workers = len(client.nthreads())
            seen = time.monotonic() if workers else seen
            if time.monotonic() - seen > PATIENCE:
                raise InputError("--scheduler", "a scheduler with workers", f"none for {PATIENCE:g} s")
            while waiting and len(under_way) < workers:
                task = waiting.popleft()
                under_way[pool.submit(_attempt_alone, package, task, settings)] = task
            if not under_way:
                time.sleep(LOOK)  # until a worker comes
            done, _ = concurrent.futures.wait(under_way, LOOK, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                task = under_way.pop(future)
                try:
                    found = future.result()
                except KilledWorker:
                    lost.append(task)
                    continue
                except (CancelledError, concurrent.futures.CancelledError):
                    raise InputError("--scheduler", "a scheduler that stays", "one that is gone") from None
                except Exception as problem:  # of whatever a worker lacks
                    what = f"{type(problem).__name__}: {problem}".splitlines()[0]
                    raise InputError("--scheduler", f"workers that can run the checks of {package}", what) from None
                _require_this_code(claims[task[0]], found[1])
                finish(*found)
    finally:
        pool.shutdown(wait=False)  # what is under way there is cancelled
    return lost


def _require_this_code(claim: Claim, record: Record) -> None:
    """Raise `InputError` for evidence about other code, or from other versions of the libraries, than this process has."""
    if record.fingerprint != fingerprint(claim):
        raise InputError(
            "--scheduler",
            "workers with this code, this Python and these versions of the libraries that compute",
            f"evidence about other code of {claim.id} (fingerprint {record.fingerprint}, here {fingerprint(claim)})",
        )
