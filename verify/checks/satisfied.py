"""Whether inputs satisfy the tested assumptions of a claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flint

from verify.arithmetics import DEFAULT_BITS
from verify.checks.evaluation import all_in_batch, at_only_seed, flat_objects
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import NotFiniteError


def satisfies(claim: Claim, inputs: Mapping[str, Any]) -> bool | None:
    """Whether ball or exact inputs satisfy every tested assumption: True, False, or None when balls cannot tell.

    An equality holds as far as balls can ever tell when its enclosure contains zero and is tight.
    """
    undecided = False
    for assumption in claim.tested_assumptions:
        for test, accept in (
            (assumption.positive, _positive),
            (assumption.nonnegative, _nonnegative),
            (assumption.zero, _zero),
        ):
            if test is None:
                continue
            try:
                values = flat_objects(claim.evaluate(test, inputs))
            except (ZeroDivisionError, NotFiniteError):
                return False
            for entry in values:
                verdict = accept(entry)
                if verdict is False:
                    return False
                undecided = undecided or verdict is None
    return None if undecided else True


def _positive(x: Any) -> bool | None:
    return True if x > 0 else (False if x <= 0 else None)


def _nonnegative(x: Any) -> bool | None:
    if x >= 0:
        return True
    if x < 0:
        return False
    return True if isinstance(x, flint.arb) and float(x.rad()) < 2.0 ** (-DEFAULT_BITS / 2) else None


def _zero(x: Any) -> bool | None:
    if not isinstance(x, flint.arb):
        return bool(x == 0)
    if not x.contains(0):
        return False
    return True if float(x.rad()) < 2.0 ** (-DEFAULT_BITS / 2) else None


def float_satisfies(claim: Claim, raw: Mapping[str, Any]) -> Any:
    """For a batch of tensors, which seeds satisfy the tested inequalities; shape (batch,), boolean."""
    import torch

    like = next(value for value in raw.values() if not isinstance(value, int))
    everywhere = torch.ones(like.shape[0], dtype=torch.bool, device=like.device)
    return floats_meet(claim, all_in_batch(claim, float_tests(claim), raw), everywhere)


def one_satisfies(claim: Claim, raw: Mapping[str, Any]) -> bool:
    """Whether the only seed of a batch of tensors satisfies the tested inequalities."""
    import torch

    return bool(floats_meet(claim, at_only_seed(claim, float_tests(claim), raw), torch.ones(1, dtype=torch.bool)).all())


def float_tests(claim: Claim) -> list[Callable[..., Any]]:
    """The tests of inequalities that floats can decide.

    Equalities are built into the inputs and hold to rounding, so they are tested in balls, not here.
    """
    tests = (test for item in claim.tested_assumptions for test in (item.positive, item.nonnegative))
    return [test for test in tests if test is not None]


def floats_meet(claim: Claim, values: Sequence[Any], finite: Any) -> Any:
    """Which seeds of `finite` (batch,) satisfy the tested inequalities, given the values of `float_tests`; boolean."""
    ok, values_left = finite.clone(), iter(values)
    for assumption in claim.tested_assumptions:
        if assumption.positive is not None:
            ok &= (next(values_left) > 0).all(1)
        if assumption.nonnegative is not None:
            found = next(values_left)
            ok &= (found >= -1e-9 * (1 + found.abs())).all(1)
    return ok
