"""Defects planted in the provers, which the fuzzer has to find."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Defect:
    """A text in the source of a function of a prover, and what is planted in its place."""

    name: str
    where: str
    old: str
    new: str
    #: a statement in which it shows
    source: str
    number: int

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        """The prover with this defect; raises `AssertionError` where the text does not occur once."""
        module, _, name = self.where.rpartition(".")
        function = inspect.unwrap(getattr(import_module(module), name))
        source = inspect.getsource(function)
        assert source.count(self.old) == 1, f"{self.where} has {self.old!r} {source.count(self.old)} times, not once"
        before, wrong = function.__code__, _compiled(function, source.replace(self.old, self.new))
        _forget()
        function.__code__ = wrong
        try:
            yield
        finally:
            function.__code__ = before
            _forget()


def _compiled(function: Callable[..., Any], source: str) -> types.CodeType:
    """The code of a function of this source, without its decorators."""
    body = source[source.index("def ") :]
    whole = compile("from __future__ import annotations\n" + body, inspect.getfile(function), "exec")
    return next(item for item in whole.co_consts if isinstance(item, types.CodeType))


def _forget() -> None:
    """Empty what the provers remember of earlier proofs."""
    for name, module in list(sys.modules.items()):
        if name.startswith("verify.arithmetics"):
            for item in vars(module).values():
                if isinstance(item, functools._lru_cache_wrapper):
                    item.cache_clear()


SYMBOLS, NORMS = "verify.arithmetics.symbols", "verify.arithmetics.norms"
#: Each with the number of a statement, of seed 0, that finds it.
DEFECTS = (
    Defect("a step of unknown sign is 1", f"{SYMBOLS}.function_heads.step_of",
           "ONE if coefficient.is_positive else -ONE if (-coefficient).is_positive else coefficient", "ONE", "law", 30),
    Defect("rows are of unit norm, whichever rows they are", f"{SYMBOLS}.hypothesis_rules.hypothesis_on",
           "equation.difference", "BothSides(equation.left, equation.right).difference", "law", 62),
    Defect("a summed index is private though it is used elsewhere", f"{SYMBOLS}.product_rules.match",
           "return not outside & set(inside.values())", "return True", "law", 31),
    Defect("a slice that follows another is the same slice", f"{SYMBOLS}.product_rules.selections",
           "if other is made:", "if True:", "law", 103),
    Defect("a step is idempotent at any indices", f"{SYMBOLS}.product_rules.idempotent_step",
           "(made.number, tuple(indices[i] for i in perm))", "(made.number, ())", "law", 185),
    Defect("the rows of a softmax have norm 1 together", f"{NORMS}.rules._softmax",
           "sympy.sqrt(node.shape[0])", "sympy.Integer(1)", "inequality", 380),
    Defect("the Frobenius norm is at most the spectral one", f"{NORMS}.rules._rank",
           "sympy.sqrt(size) * norm", "norm", "inequality", 252),
)  # fmt: skip
