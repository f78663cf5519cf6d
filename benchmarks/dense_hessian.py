"""The whole attention Hessian as a matrix: the fused closed form beside automatic differentiation."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import Any

import torch
from attention_loss import curvlinops_hessian, instance, loss
from measure import FLOOR, OURS, PEER, Case, Entry, Error, Goal, Topic, breakdown, measure, relative_error

from theorems.hessian.fast.dense import attention_hessian
from theorems.hessian.part_3_structure.whole_hessian import full_hessian
from verify.arithmetics import midpoints, precision, to_balls

OURS_NAME, IN_PLACE, FLOOR_NAME = "attention_hessian", "  into a given matrix", "floor: its products and the writing"
CHUNK = 256


def chunked_jvp_of_grad(w: Any, X: Any, Y: Any, d_K: int) -> Any:
    """Columns of the Hessian by forward over reverse mode, a few hundred at a time."""
    gradient = torch.func.grad(loss)
    identity = torch.eye(len(w), dtype=w.dtype, device=w.device)

    def column(v: Any) -> Any:
        return torch.func.jvp(lambda w: gradient(w, X, Y, d_K), (w,), (v,))[1]

    return torch.func.vmap(column, chunk_size=CHUNK)(identity)


def floor(L: int, d_V: int, d_K: int, out: Any) -> Any:
    """The products that the moments and the seven sums over tokens are, in one piece each, and one writing of the matrix."""
    like = {"dtype": out.dtype, "device": out.device}
    tokens, pairs, values = (torch.randn(L, size, **like) for size in (d_V * d_V, d_V * d_K, d_K * d_K))
    attention = torch.randn(L, L, **like)
    sides = [(tokens, values), (tokens, values), (pairs, pairs), *[(tokens, pairs)] * 4, *[(attention, tokens)] * 2]
    room = [torch.empty(left.shape[1], right.shape[1], **like) for left, right in sides]

    def run() -> None:
        for (left, right), product in zip(sides, room, strict=True):
            torch.mm(left.T, right, out=product)
        out.fill_(1.0)

    return run


def _case(L: int, d: int, device: str) -> Case:
    arguments = instance(L, d, d, device)
    X, W_Q, W_K, W_V, Y = arguments
    w = torch.cat([W.flatten() for W in (W_Q, W_K, W_V)])
    n = len(w)
    out, plain = torch.empty(n, n, dtype=X.dtype, device=device), torch.empty(n, n, dtype=X.dtype, device=device)
    of_loss = partial(loss, X=X, Y=Y, d_K=d)
    operator = curvlinops_hessian(*arguments)
    identity = torch.eye(n, dtype=X.dtype, device=device)
    entries = [
        Entry(OURS_NAME, OURS, lambda: attention_hessian(*arguments)),
        Entry(IN_PLACE, OURS, lambda: attention_hessian(*arguments, out=out)),
        Entry("torch.func.hessian", PEER, lambda: torch.func.hessian(of_loss)(w)),
        Entry(
            "torch.autograd.functional, vectorised",
            PEER,
            lambda: torch.autograd.functional.hessian(of_loss, w, vectorize=True),
        ),
        Entry("jvp of grad, chunked", PEER, lambda: chunked_jvp_of_grad(w, X, Y, d)),
        Entry("curvlinops", PEER, None if operator is None else lambda: operator @ identity, "not installed"),
        Entry(FLOOR_NAME, FLOOR, floor(L, d, d, plain)),
    ]
    return Case("whole Hessian, d_V = d_K = d, float64", f"L = {L}, d = {d}", n, entries)


def _error(label: str, change: Any) -> Error:
    """Errors in float64 against the certified closed form in balls."""
    X, W_Q, W_K, W_V, Y = change(*instance(6, 3, 2, "cpu", seed=3))
    with precision(200):
        exact = torch.from_numpy(midpoints(full_hessian(*(to_balls(value.numpy()) for value in (X, W_Q, W_K, W_V, Y)))))
    w = torch.cat([W.flatten() for W in (W_Q, W_K, W_V)])
    forms = {
        OURS_NAME: attention_hessian(X, W_Q, W_K, W_V, Y),
        "torch.func.hessian": torch.func.hessian(partial(loss, X=X, Y=Y, d_K=2))(w),
    }
    return Error(f"whole Hessian, {label}", {name: relative_error(H, exact) for name, H in forms.items()})


def conditions() -> dict[str, Any]:
    """Inputs that are hard on differences of moments, by what is the matter with them."""
    return {
        "generic": lambda X, W_Q, W_K, W_V, Y: (X, W_Q, W_K, W_V, Y),
        "attention near one-hot": lambda X, W_Q, W_K, W_V, Y: (X, 8 * W_Q, 4 * W_K, W_V, Y),
        "tokens 10^4 from the origin": lambda X, W_Q, W_K, W_V, Y: (X + 1e4, W_Q * 1e-4, W_K, W_V, Y),
        "nearly equal tokens": lambda X, W_Q, W_K, W_V, Y: (X[:1] + 1e-6 * X, W_Q, W_K, W_V, Y),
        "tokens of rank one": lambda X, W_Q, W_K, W_V, Y: (X[:, :1] @ X[:1], W_Q, W_K, W_V, Y),
    }


REACH = """
import resource, sys, torch
sys.path.insert(0, {folder!r})
from attention_loss import instance
from theorems.hessian.fast.dense import attention_hessian
H = attention_hessian(*instance({L}, {d}, {d}, "cpu"))
assert bool(H[::97].isfinite().all())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def peak_gibibytes(L: int, d: int) -> float:
    """The resident memory of a process that computes one Hessian, in GiB."""
    program = REACH.format(folder=os.path.dirname(os.path.abspath(__file__)), L=L, d=d)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def topic(device: str, quick: bool) -> Topic:
    """The four sizes of the goals, and the two that have to fit 8 GiB."""
    points = ((8, 8), (16, 16)) if quick else ((8, 8), (16, 16), (32, 32), (128, 16))
    cases = [_case(L, d, device) for L, d in points]
    measure(cases, device, quick)
    goals = []
    for (L, d), case in zip(points, cases, strict=True):
        peer, seconds = case.best_peer()
        for wanted, target in (((32, 32), 10.0), ((128, 16), 55.0)):
            if (L, d) == wanted:
                goals.append(
                    Goal(f"best peer ({peer}) over ours, {case.label}", target, seconds / case.seconds[OURS_NAME])
                )
                share = case.seconds[FLOOR_NAME] / case.seconds[IN_PLACE]
                goals.append(Goal(f"share of the floor, {case.label}, into a given matrix", 0.6, share))
    if not quick and device == "cpu":
        for L, d in ((32, 96), (8192, 16)):
            goals.append(Goal(f"GiB of a process at L = {L}, d = {d}", 8.0, peak_gibibytes(L, d), least=False))
    errors = [_error(label, change) for label, change in conditions().items()]
    worst = max(error.errors[OURS_NAME] / error.errors["torch.func.hessian"] for error in errors)
    goals.append(Goal("error of ours over that of torch.func.hessian, worst", 4.0, worst, least=False))
    runs = {case.label: next(entry.run for entry in case.entries if entry.name == IN_PLACE) for case in cases}
    profiles = [] if device != "cpu" else [breakdown(label, run) for label, run in runs.items() if run is not None]
    return Topic("Attention Hessian", cases, errors, goals, breakdowns=profiles)
