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
    #: statements in which it shows
    source: str

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
DEFECTS = (
    Defect("a power of a power is always multiplied", f"{SYMBOLS}.functions.power",
           "(whole or made.parameter.denominator == 2 or (len(key) == 1 and plain))", "True", "law"),
    Defect("a step of unknown sign is 1", f"{SYMBOLS}.functions.step_of",
           "ONE if coefficient.is_positive else -ONE if (-coefficient).is_positive else coefficient", "ONE", "law"),
    Defect("a step is idempotent at any indices", f"{SYMBOLS}.rules.idempotent_step",
           "(made.number, tuple(indices[i] for i in perm))", "(made.number, ())", "law"),
    Defect("rows of unit norm, whichever rows", f"{SYMBOLS}.hypotheses.unit_rows", "one == other and", "one[1] == other[1] and", "law"),
    Defect("a summed index used elsewhere is private", f"{SYMBOLS}.hypotheses._on_pairs",
           "return index in summed and counts[index] == 2", "return index in summed", "law"),
    Defect("a product is found where an index of it is used elsewhere", f"{SYMBOLS}.rules.match",
           "return not outside & set(inside.values())", "return True", "law"),
    Defect("a slice that follows another is the same slice", f"{SYMBOLS}.rules.selections", "if other is made:", "if True:", "law"),
    Defect("push-through where the index is used elsewhere", f"{SYMBOLS}.exponential_rules.push_through",
           "counts[j] != 2 or ", "", "law"),
    Defect("the leading term is all that is inverted", f"{SYMBOLS}.rules.inverse_product",
           "results += instance(remainder, at, -scale, [*rest, (made, indices)], kept)", "pass", "law"),
    Defect("softmax rows of norm 1 at most, however many", f"{NORMS}.rules._softmax", "sympy.sqrt(node.shape[0])", "sympy.Integer(1)", "inequality"),
    Defect("the Frobenius norm of a product by spectral norms", f"{NORMS}.rules._product", "norm(FROBENIUS, piece), *spectral", "norm(SPECTRAL, piece), *spectral", "inequality"),
    Defect("one size is missing of a rank", f"{NORMS}.rules._by_another_norm", 'yield "rank", sympy.sqrt(size) * norm', 'yield "rank", norm', "inequality"),
    Defect("entrywise products by largest entries alone", f"{NORMS}.rules._entrywise",
           "norm(LARGEST, A) * norm(FROBENIUS, B)", "norm(LARGEST, A) * norm(LARGEST, B)", "inequality"),
)  # fmt: skip
MONO = (
    Defect("everything grows with everything", f"{NORMS}.monotone.grows_with", "return direction(value, part)[0]", "return True", "inequality"),
    Defect("1/x grows with x", f"{NORMS}.monotone._of_power", "return _times(sign, inner)", "return _times(1, inner)", "inequality"),
    Defect("-x grows with x", f"{NORMS}.monotone._times", "given if sign == 1 else given[::-1]", "given", "inequality"),
    Defect("sums have the sign of a term", f"{NORMS}.signs._sign_of_sum", "if all(sign_of(term) == sign or term == 0 for term in value.args)", "if any(sign_of(term) == sign for term in value.args)", "inequality"),
    Defect("sign of number", f"{NORMS}.signs._sign_of_number", "return 1 if ball > 0 else -1", "return 1", "inequality"),
    Defect("only the first block", f"{SYMBOLS}.proof.difference", "return found", "return found[:1]", "identity"),
    Defect("conditions lost", f"{SYMBOLS}.conditions.rely_on_at_least", "_note(Condition(sympy.sympify(expression), least))", "pass", "identity"),
    Defect("same signs", f"{NORMS}.proof.same_signs_in", 'core.kind != "entrywise" or coefficient != 1', 'core.kind != "entrywise"', "bound"),
    Defect("orthonormal_in", f"{NORMS}.proof.orthonormal_in", "d == -c and is_nonzero(c) and", "", "bound"),
)  # fmt: skip
