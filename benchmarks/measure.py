"""Measuring side by side: warm-up, interleaved runs, medians, ratios, growth exponents and goals."""

from __future__ import annotations

import functools
import math
import statistics
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Run = Callable[[], Any]

#: Who is compared: what this project offers, others' ways to the same numbers, and what no way can undercut.
OURS, PEER, FLOOR = "ours", "peer", "floor"


@dataclass(frozen=True)
class Entry:
    """One way to a result: its name, whose it is, and how to run it; None with the reason if it cannot be run."""

    name: str
    whose: str
    run: Run | None
    absent: str = ""


@dataclass
class Case:
    """Ways to the same result at one size of a series; `size` is what growth is measured in.

    `cold`: each run stands alone, as among other work, with other numbers in the caches and other code before it.
    """

    series: str
    label: str
    size: float
    entries: list[Entry]
    seconds: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)
    cold: bool = False

    def best_peer(self) -> tuple[str, float]:
        """The fastest peer and its time."""
        peers = [entry.name for entry in self.entries if entry.whose == PEER and entry.name in self.seconds]
        return min(((name, self.seconds[name]) for name in peers), key=lambda pair: pair[1])


@dataclass(frozen=True)
class Error:
    """Relative errors of several ways to one result, against balls."""

    label: str
    errors: Mapping[str, float]


@dataclass(frozen=True)
class Goal:
    """A number to reach, and the one measured; `least` says on which side of the target it has to lie."""

    text: str
    target: float
    measured: float
    least: bool = True

    @property
    def met(self) -> bool:
        return self.measured >= self.target if self.least else self.measured <= self.target


@dataclass(frozen=True)
class Breakdown:
    """Where the time of a run goes, by a profile: operations called, and the share of each kind of them."""

    label: str
    calls: int
    shares: Mapping[str, float]


@dataclass
class Topic:
    """All that is measured of one subject."""

    name: str
    cases: list[Case]
    errors: list[Error]
    goals: list[Goal]
    notes: list[str] = field(default_factory=list)
    breakdowns: list[Breakdown] = field(default_factory=list)


def by_series(cases: Iterable[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.series, []).append(case)
    return found


#: A turn of a fast entry is repeated for as many seconds; one untimed run before it fills the caches for all alike.
TURN = 0.005
#: Numbers in float32, 128 MB of them, that push all others out of the caches.
OTHER_NUMBERS = 2**25


def measure(cases: Iterable[Case], device: str, quick: bool, least: int = 3) -> None:
    """Fill in the seconds of every entry: a warm-up of each, then rounds in which all take turns, and their medians.

    An entry that has had its time takes no further part once it has had its least number of turns.
    """
    rounds, budget = (5, 0.5) if quick else (25, 3.0)
    for case in cases:
        runs = {entry.name: entry.run for entry in case.entries if entry.run is not None}
        times: dict[str, list[float]] = {name: [] for name in runs}
        spent = dict.fromkeys(runs, 0.0)
        for run in runs.values():
            run()
        for _ in range(rounds):
            for name, run in runs.items():
                if len(times[name]) < least or spent[name] < budget:
                    seconds, repeats = _cold_turn(run, device) if case.cold else _turn(run, device)
                    times[name].append(seconds / repeats)
                    spent[name] += seconds
        case.seconds = {name: statistics.median(values) for name, values in times.items()}
        case.spread = {name: min(values) for name, values in times.items()}


def _turn(run: Run, device: str) -> tuple[float, int]:
    """Seconds of a turn and the runs in it."""
    untimed = _timed(run, 1, device)
    if untimed > 10 * TURN:
        return untimed, 1
    repeats = max(1, round(TURN / untimed))
    return _timed(run, repeats, device), repeats


def _cold_turn(run: Run, device: str) -> tuple[float, int]:
    """Seconds of one run behind a pass over more numbers than caches hold."""
    _other_numbers().add_(1.0)
    return _timed(run, 1, device), 1


@functools.cache
def _other_numbers() -> torch.Tensor:
    return torch.zeros(OTHER_NUMBERS)


def _timed(run: Run, repeats: int, device: str) -> float:
    """Seconds of processor time, in which the turns of other processes do not count; on a GPU, of the clock."""
    if device != "cpu":
        torch.cuda.synchronize()
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    for _ in range(repeats):
        run()
    if device != "cpu":
        torch.cuda.synchronize()
    return clock() - started


def growth(cases: Iterable[Case]) -> dict[str, float]:
    """The exponent p of time ~ size^p between the smallest and the largest size of a series, by entry."""
    points: dict[str, list[tuple[float, float]]] = {}
    for case in cases:
        for name, seconds in case.seconds.items():
            points.setdefault(name, []).append((case.size, seconds))
    ends = {name: (min(found), max(found)) for name, found in points.items()}
    return {
        name: math.log(last[1] / first[1]) / math.log(last[0] / first[0])
        for name, (first, last) in ends.items()
        if first[0] != last[0]
    }


#: Operations by what they cost; those that only make views, and what none of the names fits, come last.
KINDS = {
    "matrix products": ("mm", "bmm", "addmm", "addmm_", "baddbmm", "baddbmm_", "dot", "mv", "addmv"),
    "copies and fills": ("copy_", "cat", "fill_", "zero_"),
    "entrywise and sums": (
        *(
            "mul",
            "mul_",
            "div",
            "div_",
            "add",
            "add_",
            "sub",
            "sub_",
            "neg",
            "addcmul",
            "addcmul_",
            "exp",
            "sum",
            "mean",
        ),
        *("_softmax", "linalg_vector_norm", "le", "all", "isfinite", "abs", "ne", "eq", "amax", "maximum"),
    ),
}
OTHER = "views, memory, the rest"


def breakdown(label: str, run: Run) -> Breakdown:
    """The profile of thirty runs behind a warm-up; time between operations is not in it."""
    from torch.profiler import ProfilerActivity, profile

    repeats = 30
    for _ in range(repeats):
        run()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(repeats):
            run()
    kind_of = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}
    found, calls = dict.fromkeys([*KINDS, OTHER], 0.0), 0
    for event in profiled.key_averages():
        found[kind_of.get(event.key, OTHER)] += event.self_cpu_time_total
        calls += event.count if event.key.startswith("aten::") else 0
    total = sum(found.values())
    return Breakdown(label, calls // repeats, {kind: spent / total for kind, spent in found.items()})


class _Allocations(TorchDispatchMode):
    """Follows the storages that operations return for as long as they live."""

    def __init__(self) -> None:
        super().__init__()
        self.live, self.peak, self.known = 0, 0, set[int]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {
            leaf.untyped_storage()._cdata for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)
        }
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                storage = leaf.untyped_storage()
                if storage._cdata not in given and storage._cdata not in self.known:
                    self.live += storage.nbytes()
                    self.known.add(storage._cdata)
                    weakref.finalize(storage, self._freed, storage._cdata, storage.nbytes())
        self.peak = max(self.peak, self.live)
        return result

    def _freed(self, key: int, size: int) -> None:
        self.live -= size
        self.known.discard(key)


def peak_memory(run: Run) -> int:
    """The largest number of bytes that results of operations take at once during a run, its own result included.

    In a thread of its own, so that memory that is kept for a thread counts.
    """

    def followed() -> int:
        with _Allocations() as allocations:
            run()
        return allocations.peak

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(followed).result()


def relative_error(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.detach().cpu().double() - exact).norm() / exact.norm())
