"""Expectations over normal matrices: in numbers, by pairings, against samples, and what declares them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any

import flint
import numpy as np
import pytest
import sympy
import torch

from tests.claims_that_fail import toy
from verify.arithmetics.symbols import named, pairings
from verify.arithmetics.symbols.difference import float_values
from verify.arithmetics.symbols.hypothesis_rules import HypothesisRule, hypothesis_on
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.symbols.sums import extra_rules
from verify.checks.proofs import proved
from verify.checks.record import UPHELD, VIOLATED
from verify.checks.settings import EFFORTS, Settings
from verify.matrix import rational, sqrt
from verify.oracles import Normal, expectation
from verify.vocabulary import ArithmeticUnsupported, Claim, Equal, InputError, RegistryError, Shape, Size
from verify.vocabulary.hypotheses import NORMAL_ENTRIES, normal_entries

pytestmark = pytest.mark.kept


def granted(name: str) -> HypothesisRule:
    """That a matrix has normal entries."""
    return hypothesis_on(name, NORMAL_ENTRIES, ())


n, d = (sympy.Symbol(name, positive=True, integer=True) for name in "nd")


def gram(X: Any, A: Any) -> Any:
    return X @ X.T @ A


def quartic(X: Any, Z: Any, A: Any) -> Any:
    return X @ Z @ X.T @ A @ X @ Z.T @ X.T


def sixth(X: Any, A: Any) -> Any:
    return X @ X.T @ A @ X @ X.T @ X @ X.T


def first_row_cubed(X: Any, A: Any) -> Any:
    entry = (X @ X.T)[:1, :1] - (X @ X.T @ A)[:1, 1:2]
    return entry * entry * entry


def odd(X: Any, A: Any) -> Any:
    return A @ X + A @ X @ X.T @ X


CASES = {"gram": gram, "quartic": quartic, "sixth": sixth, "cubed": first_row_cubed, "odd": odd}
VARIANCES = {"X": Fraction(3, 2), "Z": Fraction(1, 4)}


def normals(f: Any, rows: Any, columns: Any) -> dict[str, Normal]:
    shapes = {"X": (rows, columns), "Z": (columns, columns)}
    return {name: Normal(*shapes[name], rational(v.numerator, v.denominator)) for name, v in VARIANCES.items()
            if name in f.__code__.co_varnames[: f.__code__.co_argcount]}  # fmt: skip


def in_numbers(f: Any, A: Any, columns: int) -> Any:
    return expectation(f, **normals(f, A.shape[0], columns))(A=A)


def in_symbols(f: Any, A: np.ndarray, columns: int) -> np.ndarray:
    with extra_rules([rule for name in VARIANCES for rule in granted(name).rules]):
        found = expectation(f, **normals(f, len(A), d))(A=named("A", len(A), len(A)))
    shape = (len(A), d) if f is odd else (1, 1) if f is first_row_cubed else A.shape
    return float_values(found, NumericPoint({d: columns}, {"A": A})).reshape(
        [columns if size is d else size for size in shape]
    )


def difference(name: str, rows: int, columns: int) -> float:
    """Between the expectation in floats and its normal form, evaluated."""
    f, A = CASES[name], np.random.default_rng([rows, columns]).standard_normal((rows, rows))
    numbers = np.asarray(in_numbers(f, torch.as_tensor(A), columns))
    return float(np.abs(numbers - in_symbols(f, A, columns)).max() / max(1.0, np.abs(numbers).max()))


@pytest.mark.parametrize("name", sorted(CASES))
def test_pairings_equal_the_numbers(name: str) -> None:
    assert all(difference(name, 2, columns) < 1e-12 for columns in (1, 2, 3))


@pytest.mark.parametrize("name", sorted(CASES))
def test_numbers_equal_sampled_means(name: str) -> None:
    f, A, samples = CASES[name], torch.tensor([[1.0, 0.5], [-0.25, 2.0]], dtype=torch.float64), 200_000
    generator = torch.Generator().manual_seed(5)
    drawn = {
        key: torch.randn(samples, int(normal.rows), int(normal.columns), generator=generator, dtype=torch.float64)
        * float(VARIANCES[key]) ** 0.5
        for key, normal in normals(f, 2, 2).items()
    }
    values = torch.func.vmap(lambda kwargs: f(A=A, **kwargs))(drawn)
    spread = values.std(0) / samples**0.5
    assert ((values.mean(0) - in_numbers(f, A, 2)).abs() <= 6 * spread + 1e-12).all()


def test_rationals_stay_rational() -> None:
    A = np.array([[flint.fmpq(1, 3), 0], [0, 1]], dtype=object)
    assert (in_numbers(gram, A, 3) == A * flint.fmpq(9, 2)).all()


# -- planted wrong rules -----------------------------------------------------------------------------------------------


def test_a_lost_pairing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = pairings._pairings

    def but_for_the_last(factors: Any) -> Iterator[Any]:
        found = list(right(factors))
        yield from found[:-1] or found

    monkeypatch.setattr(pairings, "_pairings", but_for_the_last)
    assert any(difference(name, 2, 2) > 1e-8 for name in CASES)


def test_a_lost_variance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = pairings._over_one
    monkeypatch.setattr(pairings, "_over_one", lambda value, name, variance: right(value, name, variance * variance))
    assert any(difference(name, 2, 2) > 1e-8 for name in CASES)


# -- what declares an expectation --------------------------------------------------------------------------------------


def second_moments(**options: Any) -> Claim:
    """E X X^T = d I for two rows of standard normal entries, times a square."""
    claim = toy("second-moments", Equal(), all_sizes=True, sizes={"d": (1, 3)}, **options)

    @claim.formula
    def multiple(s: Annotated[Any, Shape("1", "1")], d: Annotated[int, Size("d")]) -> Any:
        return s * s * d

    claim.oracle(lambda s, d: expectation(_square, X=Normal(2, d))(s=s))
    claim.mutant("variance 2", lambda value: 2 * value)
    claim.mutant("without d", lambda s: s * s)
    return claim


def _square(X: Any, s: Any) -> Any:
    return ((X * s) @ (X * s).T)[:1, :1]


def test_an_expectation_is_proved_by_a_quoted_assumption_alone() -> None:
    assumptions = ["X has independent standard normal entries"]
    record = proved(second_moments(assumptions=assumptions), Settings(EFFORTS["quick"]))
    assert record.outcome == VIOLATED
    assert "no hypothesis says that it has independent normal entries" in record.message
    given = (normal_entries("X", stated="independent standard normal entries"),)
    record = proved(second_moments(assumptions=assumptions, hypotheses=given), Settings(EFFORTS["quick"]))
    assert record.outcome == UPHELD, record.message
    assert record.details["hypotheses"] == ["X has independent normal entries"]
    assert not record.surviving
    with pytest.raises(RegistryError, match="no assumption states"):
        second_moments(hypotheses=given)


def test_an_input_with_the_name_of_a_random_matrix_is_not_random() -> None:
    with extra_rules(granted("X").rules):
        own, other = (expectation(gram, X=Normal(n, d))(A=named(name, n, n)) for name in "XA")
        assert {head.name for head in own.value.heads()} - {""} == {"X"}
        assert {head.name for head in other.value.heads()} - {""} == {"A"}
        captured = expectation(lambda X: X @ named("X", n, d).T, X=Normal(n, d))()
        assert not captured.value  # E X Y^T = 0, whatever Y is called


def test_bad_input_is_named() -> None:
    one = torch.ones(1, 1, dtype=torch.float64)
    with pytest.raises(InputError, match="normals: expected some of"):
        expectation(gram, W=Normal(1, 1))
    with pytest.raises(InputError, match="variance: expected a rational number"):
        expectation(gram, X=Normal(1, 1, sqrt(2)))(A=one)
    with pytest.raises(InputError, match="f: expected a matrix"):
        expectation(lambda X, A: (X @ X.T * A)[0], X=Normal(1, 1))(A=one)
    with (
        extra_rules(granted("X").rules),
        pytest.raises(ArithmeticUnsupported, match="the expectation of power of the random X"),
    ):
        expectation(lambda X, A: A / (X @ X.T), X=Normal(n, n))(A=named("A", n, n))
