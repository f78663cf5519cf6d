"""Calls of what `import verify` offers that are refused, with what the message contains."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch

import verify
from theorems.adapters import orthogonal_initialiser, sdpa
from verify.checks.settings import settings_for
from verify.gate.adapters import batched, call_module, from_numpy
from verify.vocabulary import load


class Something:
    """An object that is nothing any argument takes; a test is called after it."""

    def __repr__(self) -> str:
        return "something else"


def right(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """Attention as it should be."""
    return torch.softmax(X @ W_Q @ W_K.T @ X.T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V


def _check(**changed: Any) -> Callable[[], Any]:
    given = {"subject": "hessian.attention", "implementation": right, **changed}
    return lambda: verify.check(given.pop("subject"), given.pop("implementation"), **given)


def _raises(function: Any) -> Any:
    raise LookupError("no head")


def _leaves(function: Any) -> Any:
    raise SystemExit(0)


def _pairs(*pairs: Any, **options: Any) -> Callable[[], Any]:
    return lambda: verify.parametrize_with_theorems(list(pairs), **options)


def _replay(claim_id: Any, **drawn: Any) -> Callable[[], Any]:
    return lambda: verify.replay(claim_id, **drawn)


def _at(claim_id: Any, **inputs: Any) -> Callable[[], Any]:
    return lambda: verify.at_inputs(claim_id, **inputs)


ENTRY = "hessian.lem-C.1-entry"
IDS = "claim id: expected one of the ids that `verify list` prints"
NESTED = 't: expected integers, fractions or text such as "3/5", in nested lists of equal lengths; got '
LISTS = "t: expected nested lists of numbers, shape (1, L); got "

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    # arguments of check
    **{f"subject {value!r}": (_check(subject=value), "subject: expected text; got ")
       for value in (None, 1, ["hessian.attention"], {"a"}, b"hessian.attention")},
    "subject unknown": (_check(subject="attention"), "subject: expected one of"),
    **{f"implementation {type(value).__name__}": (_check(implementation=value), "implementation: expected a callable")
       for value in (None, 1, [right], {"a": right}, torch.ones(2), b"m:f", "", "m", ":")},
    **{f"claims {value!r}": (_check(claims=value), "claims: expected text, or a list of texts; got ")
       for value in (None, 1, {"a"}, b"*")},
    "claims of another subject": (_check(claims="osa.*"), "claims: expected a glob that matches one of"),
    **{f"effort {value!r}": (_check(effort=value), "effort: expected one of ['ci', 'deep', 'quick']; got ")
       for value in (None, 1, ["quick"], {"quick"}, {}, "", b"quick", True)},
    **{f"device {value!r}": (_check(device=value), "device: expected cpu, or an accelerator that torch can use here; got ")
       for value in (None, 0, ["cpu"], "", "meta", "abacus", "cuda:99", b"cpu", {})},
    **{f"dtypes {value!r}": (_check(dtypes=value), "dtypes: expected a list of precisions by name, or None; got ")
       for value in ("float64", 64, [], (), {}, {"float64"}, torch.float64, True)},
    **{f"dtypes of {value!r}": (_check(dtypes=[value]), "dtypes: expected float64, float32, float16 or bfloat16; got ")
       for value in ("float8", "double", torch.float64, None, ["float64"], 64)},
    **{f"package {value!r}": (_check(package=value), "package: expected the name of a package that can be imported; got ")
       for value in (None, 1, ["theorems"], "", "no_such_package", ".theorems", b"theorems")},
    "package json": (_check(package="json"), "package: expected a package whose modules declare claims; got 'json'"),
    "package torch.version": (_check(package="torch.version"), "package: expected a package whose modules declare claims"),
    # adapters
    "adapter raises": (_check(adapter=_raises), "which raised LookupError: no head"),
    "adapter leaves": (_check(adapter=_leaves), "which raised SystemExit: 0"),
    "adapter of nothing": (_check(adapter=lambda: right), "adapter: expected a function that returns a callable; got"),
    "adapter returns a tensor": (_check(adapter=lambda f: torch.ones(2)), "got one that returns tensor([1., 1.])"),
    **{f"adapter {type(value).__name__}": (_check(adapter=value), "adapter: expected a callable, or text")
       for value in (1, ["m:f"], "m", "math:pi", "math:absent", b"m:f")},
    **{f"axes {value!r}": (lambda value=value: batched(value), "axes: expected an integer >= 1; got ")
       for value in (0, -1, 1.5, None, "1")},
    "weights that a module lacks": (
        lambda: call_module(torch.nn.Linear(2, 2), {"weight": torch.ones(2, 2)}, torch.ones(2)), "parameters: expected exact"),
    # lists of implementations
    "no pairs": (_pairs(), "pairs: expected pairs (subject, implementation) or triples"),
    **{f"backend {value!r}": (lambda value=value: sdpa(value), "backend: expected one of ['math', ")
       for value in (["math"], None, "fast")},
    "an initialiser that is a number": (lambda: orthogonal_initialiser(5), "initialise: expected a function that fills a matrix"),
    "pairs a text": (lambda: verify.parametrize_with_theorems("hessian.attention"), "pairs: expected pairs"),
    "pairs None": (lambda: verify.parametrize_with_theorems(None), "pairs: expected pairs"),
    "a pair of one": (_pairs(("hessian.attention",)), "pairs: expected pairs"),
    "a pair of four": (_pairs(("hessian.attention", right, from_numpy, 1)), "pairs: expected pairs"),
    "a pair that is text": (_pairs("hessian.attention"), "pairs: expected pairs"),
    "a pair with an unknown subject": (_pairs(("attention", right)), "subject: expected one of"),
    "an argument that is no name": (_pairs(("hessian.attention", right), argument="a b"), "argument: expected the name of"),
    "an argument that is no text": (_pairs(("hessian.attention", right), argument=1), "argument: expected the name of"),
    "pairs with an unknown option": (_pairs(("hessian.attention", right), speed=2), "unexpected keyword argument 'speed'"),
    "pairs with an effort": (_pairs(("hessian.attention", right), effort="heroic"), "effort: expected one of"),
    # lists of subjects
    **{f"subjects of {value!r}": (lambda value=value: verify.subjects(value), "package: expected ")
       for value in ("json", "no_such_package", None, 1, "")},
    # settings of runs
    **{f"seed {value!r}": (lambda value=value: settings_for(seed=value), "seed: expected an integer >= 0; got ")
       for value in (-1, 1.5, "1", True, [1], math.nan)},
    # claims by id
    **{f"claim {value!r}": (_replay(value), IDS) for value in ("", "nothing", "hessian.*", None, 1, ["a"], {"a"}, b"a")},
    **{f"claim {value!r} at inputs": (_at(value), IDS) for value in ("", "nothing", None, 1, ["a"])},
    "a claim of another package": (lambda: verify.replay(ENTRY, package="json", t=[[0.0]]), "package: expected a package"),
    "a package of no name": (lambda: verify.at_inputs(ENTRY, package=None, t=[[0]]), "package: expected the name"),
    **{f"globs {value!r}": (lambda value=value: load().matching(value), "claims: expected text, a glob of claim ids; got ")
       for value in (None, 1, ["*"])},
    # names of inputs
    "replay of nothing": (_replay(ENTRY), f"inputs: expected those of {ENTRY}, ['t']; got missing ['t'], unknown []"),
    "replay of another name": (_replay(ENTRY, T=[[0.0]]), "got missing ['t'], unknown ['T']"),
    "replay of one name more": (_replay(ENTRY, t=[[0.0]], X=[[0.0]]), "got missing [], unknown ['X']"),
    "at inputs of nothing": (_at(ENTRY), f"inputs: expected those of {ENTRY}, ['t']; got missing ['t'], unknown []"),
    "at inputs of another name": (_at(ENTRY, T=[[0]]), "got missing ['t'], unknown ['T']"),
    "at inputs of one name more": (_at(ENTRY, t=[[0]], X=[[0]]), "got missing [], unknown ['X']"),
    "at inputs of a law": (_at("osa.alg-1", n=3, m=2), "claim id: expected a claim about values at its inputs; got 'osa.alg"),
    "replay of a law": (_replay("osa.alg-1", n=3, m=2), "claim id: expected a claim about values at its inputs"),
    "replay of a count": (_replay("osa.alg-1", n=3.5, m=2), "n: expected an integer >= 0, the size n; got 3.5"),
    "replay at sizes of no claim": (_replay("osa.alg-1", n=1, m=2), "inputs: expected sizes that osa.alg-1 admits; got"),
    # values of inputs
    **{f"replay at {value!r:.40}": (_replay(ENTRY, t=value), LISTS)
       for value in (None, "text", [["a"]], [[0.0], [1.0, 2.0]], [[math.nan]], [[math.inf]], [], [[]], {"a": 1}, [[1j]],
                     Something())},
    "replay at a vector": (_replay(ENTRY, t=[0.0, 1.0]), "t: expected shape (1, L); got shape (2,)"),
    "replay at two rows": (_replay(ENTRY, t=[[0.0], [1.0]]), "t: expected shape (1, L) with 1 = 1; got shape (2, 1)"),
    **{f"at inputs {value!r:.40}": (_at(ENTRY, t=value), NESTED)
       for value in (None, "text", [["a"]], [[0], [1, 2]], [[math.nan]], [[math.inf]], {"a": 1}, [[1j]], [["1/0"]], Something(),
                     [[None]])},
    "at inputs that are a number": (_at(ENTRY, t=Fraction(1, 2)), "t: expected a torch tensor or numpy object array of shape"),
    "at inputs that are a vector": (_at(ENTRY, t=[0, 1]), "t: expected shape (1, L); got shape (2,)"),
    "at inputs of disagreeing shapes": (
        _at("hessian.lem-B.1", X=[[1, 2]], W_Q=[[1], [2], [3]], W_K=[[1], [2]], W_V=[[1, 0], [0, 1]]),
        "W_Q: expected shape (d_V, d_K) with d_V = 2, from X; got shape (3, 1)",
    ),
    "replay at disagreeing shapes": (
        _replay("hessian.lem-B.1", X=[[1.0, 2.0]], W_Q=[[1.0]], W_K=[[1.0], [2.0]], W_V=np.eye(2)),
        "W_Q: expected shape (d_V, d_K) with d_V = 2, from X; got shape (1, 1)",
    ),
}  # fmt: skip
