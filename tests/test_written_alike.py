"""What a proof writes down depends neither on what ran before it in the process nor on the hash seed of Python."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sympy

from tests.written_by_proofs import certificate
from verify.arithmetics.symbols import heads, jacobians, summation
from verify.arithmetics.symbols.indexed import named
from verify.arithmetics.symbols.latex import normal_form_latex
from verify.checks.proofs import details_of, prove_claim
from verify.matrix import softmax
from verify.vocabulary import load

pytestmark = pytest.mark.kept

REGISTRY = load()
#: One with functions that only the number of an index tells apart in length, one with many terms, one with neither.
CLAIMS = ("convergence.h-qk-product-rule", "hessian.thm-3.2-qk", "hessian.eq-21")
#: Numbers go on from proof to proof: within these, they become longer.
STARTS = (10**9 - 3, 10**12 - 40)


def records(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], start: int) -> dict[str, Any]:
    """What is recorded of claims that are proved one after the other, where so much has been numbered before."""
    for module, counter in ((heads, "_count"), (summation, "_variables"), (jacobians, "_numbers")):
        monkeypatch.setattr(module, counter, itertools.count(start))
    found = {}
    for name in names:
        found[name] = details_of(REGISTRY[name], prove_claim(REGISTRY[name], 0), [], [])
        del found[name]["seconds"]
    return found


def test_records_do_not_depend_on_what_ran_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert records(monkeypatch, CLAIMS, STARTS[0]) == records(monkeypatch, CLAIMS[::-1], STARTS[1])


def test_terms_of_one_name_stand_as_they_were_met(monkeypatch: pytest.MonkeyPatch) -> None:
    n, shown = sympy.Symbol("n", integer=True, positive=True), set()
    for start in range(10**15 - 8, 10**15):
        monkeypatch.setattr(heads, "_count", itertools.count(start))
        with heads.met_afresh():
            U, V, W = (named(name, n, n) for name in "UVW")
            shown.add(normal_form_latex(softmax(U) + softmax(V) + softmax(W), 1000))
    assert len(shown) == 1


@pytest.mark.kept(".")
def test_a_certificate_does_not_depend_on_the_hash_seed() -> None:
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    found = subprocess.run(
        [sys.executable, "-m", "tests.written_by_proofs"],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    here = certificate()
    assert found.stdout.strip() == here == certificate()  # of 120 orders of five norms
