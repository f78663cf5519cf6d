"""Claims about nothing in particular, each with one defect that a run must find; and sound ones to compare with."""

from __future__ import annotations

import math
from typing import Annotated, Any

import flint
import numpy as np
import torch

from verify.matrix import ROW, absolute, expm, eye, frobenius_norm, kron, rational, softmax, spectral_norm, total
from verify.oracles import Moments, jacobian
from verify.vocabulary import (
    Assumption,
    AtMost,
    Claim,
    Equal,
    FollowsLaw,
    HasStructure,
    Paper,
    PowerRate,
    QuadraticRate,
    Shape,
    Size,
    TendsTo,
)

PAPER = Paper("toy", "A paper that does not exist", "nobody, never", "row-major")
A_mn = Annotated[Any, Shape("m", "n")]
B_nm = Annotated[Any, Shape("n", "m")]
Row = Annotated[Any, Shape("1", "n")]
Square = Annotated[Any, Shape("n", "n")]
SIZES = {"m": (1, 3), "n": (1, 4)}


def toy(name: str, relation: Any, **options: Any) -> Claim:
    """A claim of the toy paper; `Claim` records this module's caller as its home."""
    settings = {"label": name, "name": f"toy {name}", "statement": name, "sizes": SIZES, **options}
    return Claim(PAPER, f"toy.{name}", relation=relation, **settings)


def with_standard_mutants(claim: Claim) -> None:
    """Two mutants that any check kills: twice the formula, and the formula plus one."""
    formula = claim.the_formula

    def doubled(**inputs: Any) -> Any:
        return formula(**inputs) * 2

    def shifted(**inputs: Any) -> Any:
        return formula(**inputs) + 1

    import inspect

    for function in (doubled, shifted):
        function.__signature__ = inspect.signature(formula)  # type: ignore[attr-defined]
    claim.mutant("doubled")(doubled)
    claim.mutant("shifted")(shifted)


# -- sound claims ------------------------------------------------------------------------------------------------------

TRUE_IDENTITY = toy("true-identity", Equal(), exact=True)


@TRUE_IDENTITY.formula
def product_transposed(A: A_mn, B: B_nm) -> Any:
    return B.T @ A.T


@TRUE_IDENTITY.oracle
def transposed_product(A: A_mn, B: B_nm) -> Any:
    return (A @ B).T


with_standard_mutants(TRUE_IDENTITY)

TRUE_BOUND = toy("true-bound", AtMost())


@TRUE_BOUND.formula
def product_of_norms(A: A_mn, B: B_nm) -> Any:
    return spectral_norm(A) * spectral_norm(B)


@TRUE_BOUND.oracle
def norm_of_product(A: A_mn, B: B_nm) -> Any:
    return spectral_norm(A @ B)


@TRUE_BOUND.mutant("a tenth too small")
def _(A: A_mn, B: B_nm) -> Any:
    return spectral_norm(A) * spectral_norm(B) * rational(9, 10)


@TRUE_BOUND.mutant("norm of the sum of entries")
def _(A: A_mn, B: B_nm) -> Any:
    return total(A) * total(B)


# -- defects -----------------------------------------------------------------------------------------------------------

FALSE_IDENTITY = toy("false-identity", Equal())


@FALSE_IDENTITY.formula
def product_transposed_wrongly(A: A_mn, B: B_nm) -> Any:
    return A @ B  # equals (A B)^T only for symmetric products


@FALSE_IDENTITY.oracle
def transposed_product_again(A: A_mn, B: B_nm) -> Any:
    return (A @ B).T


with_standard_mutants(FALSE_IDENTITY)

CORNER_BOUND = toy("corner-bound", AtMost(), sizes={"n": (2, 4)})


@CORNER_BOUND.formula
def bound_that_forgets_a_corner(t: Row) -> Any:
    """||softmax Jacobian||_2 <= 0.45 fails only where two entries share the mass, near 1/2 each."""
    return total(t * 0) + rational(45, 100)


@CORNER_BOUND.oracle
def softmax_jacobian_norm(t: Row) -> Any:
    p = softmax(t * 3)
    from verify.matrix import diag

    return spectral_norm(diag(p) - p.T @ p)


@CORNER_BOUND.mutant("0.1")
def _(t: Row) -> Any:
    return total(t * 0) + rational(1, 10)


@CORNER_BOUND.mutant("0.2")
def _(t: Row) -> Any:
    return total(t * 0) + rational(1, 5)


WRONG_LIMIT = toy("wrong-limit", TendsTo(scales=(64, 128, 256, 512, 1024), rate=PowerRate(0.5)))


def mean_of_squares(scale: int, generator: Any, v: Row) -> Any:
    """Mean of squares of Gaussians with standard deviation |v|: tends to |v|^2."""
    draws = torch.randn(scale, generator=generator, dtype=torch.float64)
    return (draws.square().mean() * total(v * v)).reshape(1)


@WRONG_LIMIT.formula
def squared_norm_and_a_bit(v: Row) -> Any:
    return (total(v * v) * rational(3, 2)).reshape(1)


WRONG_LIMIT.part("sequence")(mean_of_squares)
with_standard_mutants(WRONG_LIMIT)

RIGHT_LIMIT = toy("right-limit", TendsTo(scales=(64, 128, 256, 512, 1024), rate=PowerRate(0.5)))


@RIGHT_LIMIT.formula
def squared_norm(v: Row) -> Any:
    return total(v * v).reshape(1)


RIGHT_LIMIT.part("sequence")(mean_of_squares)
with_standard_mutants(RIGHT_LIMIT)

#: Half of its inputs have no error at any scale, which tells no exponent.
OFTEN_REACHED = toy("often-reached", TendsTo(scales=(64, 128, 256, 512, 1024), rate=PowerRate(0.5), instances=4))
OFTEN_REACHED.formula(squared_norm)


@OFTEN_REACHED.part("sequence")
def mean_of_squares_or_the_limit(scale: int, generator: Any, v: Row) -> Any:
    exact = (v.reshape(-1)[0] * 256).round() % 2 == 0
    return squared_norm(v) if exact else mean_of_squares(scale, generator, v)


with_standard_mutants(OFTEN_REACHED)

#: Never below the limit: its mean is off by more than it spreads, at every scale.
ONE_SIDED_LIMIT = toy("one-sided-limit", TendsTo(scales=(64, 128, 256, 512, 1024), rate=PowerRate(0.5)))
ONE_SIDED_LIMIT.formula(squared_norm)


@ONE_SIDED_LIMIT.part("sequence")
def squared_norm_and_the_size_of_a_mean(scale: int, generator: Any, v: Row) -> Any:
    off = torch.randn(8, scale, generator=generator, dtype=torch.float64).mean(1).abs().mean()
    return (total(v * v) * (1 + off)).reshape(1)


with_standard_mutants(ONE_SIDED_LIMIT)

WRONG_EXPONENT = toy("wrong-exponent", TendsTo(scales=(64, 128, 256, 512, 1024), rate=PowerRate(1.0)))
WRONG_EXPONENT.formula(squared_norm)
WRONG_EXPONENT.part("sequence")(mean_of_squares)
with_standard_mutants(WRONG_EXPONENT)

WRONG_DETERMINISTIC_LIMIT = toy(
    "wrong-deterministic-limit", TendsTo(scales=tuple(range(3, 11)), rate=QuadraticRate()), sizes={"n": (1, 3)}
)


@WRONG_DETERMINISTIC_LIMIT.formula
def square_roots(v: Row) -> Any:
    return (1 + v * v) * rational(1, 2)


@WRONG_DETERMINISTIC_LIMIT.part("sequence")
def heron(scale: int, v: Row) -> Any:
    """Heron's iterates for sqrt(1 + v^2)."""
    a = 1 + v * v
    x = a
    for _ in range(scale):
        x = (x + a / x) * rational(1, 2)
    return x


with_standard_mutants(WRONG_DETERMINISTIC_LIMIT)

SLOW_LIMIT = toy(
    "slow-limit", TendsTo(scales=tuple(4**k for k in range(3, 11)), rate=PowerRate(1.0, deterministic=True))
)


@SLOW_LIMIT.formula
def exponent_of_growth(v: Row) -> Any:
    return v


def mean_of_increments(scale: int, v: Row) -> Any:
    """log(n e^(n v)) / n = v + log(n) / n; the first entry is v at once."""
    n = flint.arb(scale)
    return v + np.array([flint.arb(0)] + [n.log() / n] * (v.size - 1), dtype=object).reshape(v.shape)


SLOW_LIMIT.part("sequence")(mean_of_increments)
with_standard_mutants(SLOW_LIMIT)

LIMIT_MISSED = toy(
    "limit-missed", TendsTo(scales=tuple(4**k for k in range(3, 11)), rate=PowerRate(1.0, deterministic=True))
)


@LIMIT_MISSED.formula
def nearly_the_exponent(v: Row) -> Any:
    return v + rational(1, 1000)


LIMIT_MISSED.part("sequence")(mean_of_increments)
with_standard_mutants(LIMIT_MISSED)

RATE_MISSED = toy(
    "rate-missed", TendsTo(scales=tuple(4**k for k in range(3, 11)), rate=PowerRate(1.0, deterministic=True))
)


@RATE_MISSED.formula
def exponent_reached_slowly(v: Row) -> Any:
    return v


@RATE_MISSED.part("sequence")
def square_root_rate(scale: int, v: Row) -> Any:
    return v + 1 / flint.arb(scale).sqrt()


with_standard_mutants(RATE_MISSED)

WRONG_VARIANCE = toy("wrong-variance", FollowsLaw(samples=5000), sizes={"n": (1, 3)})


@WRONG_VARIANCE.formula
def sampler(n: Annotated[int, Size("n")], generator: Any, samples: int) -> Any:
    """Right mean 0, variance 1.2 instead of 1."""
    return math.sqrt(1.2) * torch.randn(samples, generator=generator, dtype=torch.float64)


@WRONG_VARIANCE.inputs
def just_n(n: Annotated[int, Size("n")]) -> Any:
    return {"n": n}


@WRONG_VARIANCE.part("laws")
def mean_zero_variance_one(formula: Any, generator: Any, samples: int, n: int) -> Any:
    return Moments(0.0, 1.0).tests("x", formula(n, generator, samples))


@WRONG_VARIANCE.mutant("mean 1")
def _(n: Annotated[int, Size("n")], generator: Any, samples: int) -> Any:
    return 1 + torch.randn(samples, generator=generator, dtype=torch.float64)


@WRONG_VARIANCE.mutant("variance 4")
def _(n: Annotated[int, Size("n")], generator: Any, samples: int) -> Any:
    return 2 * torch.randn(samples, generator=generator, dtype=torch.float64)


SURVIVING_MUTANT = toy("surviving-mutant", Equal())


@SURVIVING_MUTANT.formula
def sum_of_entries(A: A_mn) -> Any:
    return total(A)


@SURVIVING_MUTANT.oracle
def sum_by_ones(A: A_mn) -> Any:
    from verify.matrix import ones

    return (ones(1, A.shape[0]) @ A @ ones(A.shape[1], 1)).reshape(-1)


@SURVIVING_MUTANT.mutant("transposed first, which changes nothing")
def _(A: A_mn) -> Any:
    return total(A.T)


@SURVIVING_MUTANT.mutant("doubled")
def _(A: A_mn) -> Any:
    return total(A) * 2


CRASHING_MUTANT = toy("crashing-mutant", Equal())


@CRASHING_MUTANT.formula
def the_matrix(A: A_mn) -> Any:
    return A * 1


@CRASHING_MUTANT.oracle
def the_matrix_again(A: A_mn) -> Any:
    return A.T.T


@CRASHING_MUTANT.mutant("shape error")
def _(A: A_mn) -> Any:
    return A @ A @ A.T @ A.T @ eye(97)


@CRASHING_MUTANT.mutant("doubled")
def _(A: A_mn) -> Any:
    return A * 2


VACUOUS = toy("vacuous", Equal(), assumptions=[Assumption("||A||_F < 0", positive=lambda A: -1 - total(A * A))])
VACUOUS.formula(lambda A: A)
VACUOUS._formula.__annotations__ = {"A": A_mn}  # type: ignore[union-attr]
VACUOUS.oracle(lambda A: A.T.T)
with_standard_mutants(VACUOUS)


def _refuted(name: str, **options: Any) -> Claim:
    claim = toy(name, Equal(), expects="refuted", severity="error", **options)

    def formula(A: A_mn, B: B_nm) -> Any:
        return A @ B

    def oracle(A: A_mn, B: B_nm) -> Any:
        return (A @ B).T

    claim.formula(formula)
    claim.oracle(oracle)
    with_standard_mutants(claim)
    return claim


GOOD_COUNTEREXAMPLE = _refuted("good-counterexample", correction="toy.good-correction")


@GOOD_COUNTEREXAMPLE.counterexample("two by two")
def _() -> dict[str, Any]:
    return {"A": [[0, 1], [0, 0]], "B": [[1, 0], [0, 2]]}


GOOD_CORRECTION = toy("good-correction", Equal(), corrects="toy.good-counterexample", of_project=True)
GOOD_CORRECTION.formula(product_transposed)
GOOD_CORRECTION.oracle(transposed_product)
with_standard_mutants(GOOD_CORRECTION)

ASSUMPTION_BREAKING = _refuted(
    "assumption-breaking-counterexample",
    assumptions=[Assumption("A has a positive sum", positive=lambda A: 1 * total(A))],
)


@ASSUMPTION_BREAKING.counterexample("negative sum")
def _() -> dict[str, Any]:
    return {"A": [[0, -1], [0, 0]], "B": [[1, 0], [0, 2]]}


HARMLESS_COUNTEREXAMPLE = _refuted("harmless-counterexample")


@HARMLESS_COUNTEREXAMPLE.counterexample("the identity, at which the statement is true")
def _() -> dict[str, Any]:
    return {"A": [[1, 0], [0, 1]], "B": [[1, 0], [0, 1]]}


MISSHAPEN_COUNTEREXAMPLE = _refuted("misshapen-counterexample")


@MISSHAPEN_COUNTEREXAMPLE.counterexample("B does not fit A")
def _() -> dict[str, Any]:
    return {"A": [[0, 1], [0, 0]], "B": [[1, 0, 0], [0, 2, 0]]}


BADLY_CORRECTED = _refuted("badly-corrected", correction="toy.false-correction")


@BADLY_CORRECTED.counterexample("two by two")
def _() -> dict[str, Any]:
    return {"A": [[0, 1], [0, 0]], "B": [[1, 0], [0, 2]]}


FALSE_CORRECTION = toy("false-correction", Equal(), corrects="toy.badly-corrected", of_project=True)


@FALSE_CORRECTION.formula
def still_wrong(A: A_mn, B: B_nm) -> Any:
    return A.T @ B.T * 1 if A.shape[0] == A.shape[1] else B.T @ A.T + 1


FALSE_CORRECTION.oracle(transposed_product)
with_standard_mutants(FALSE_CORRECTION)

HAND_WRITTEN_VERDICT = toy("hand-written-verdict", Equal(), expects="refuted", severity="error")
HAND_WRITTEN_VERDICT.formula(product_transposed)
HAND_WRITTEN_VERDICT.oracle(transposed_product)
with_standard_mutants(HAND_WRITTEN_VERDICT)


@HAND_WRITTEN_VERDICT.counterexample("no counterexample at all")
def _() -> dict[str, Any]:
    return {"A": [[1, 2]], "B": [[1], [2]]}


def _inner(A: Any, B: Any) -> Any:
    return product_transposed_once_more(A, B)


SHARED_ORACLE = toy("shared-oracle", Equal())


@SHARED_ORACLE.formula
def product_transposed_once_more(A: A_mn, B: B_nm) -> Any:
    return B.T @ A.T


@SHARED_ORACLE.oracle
def the_formula_in_disguise(A: A_mn, B: B_nm) -> Any:
    return _inner(A, B)


with_standard_mutants(SHARED_ORACLE)

ONE_MUTANT = toy("one-mutant", Equal())
ONE_MUTANT.formula(product_transposed)
ONE_MUTANT.oracle(transposed_product)


@ONE_MUTANT.mutant("doubled")
def _(A: A_mn, B: B_nm) -> Any:
    return 2 * product_transposed(A, B)


WRONG_LAYOUT = toy("wrong-layout", Equal())


@WRONG_LAYOUT.formula
def jacobian_in_the_other_layout(A: A_mn, B: B_nm) -> Any:
    """d vec(A B) / d vec A is B^T (x) I in column layout, I (x) B^T in row layout."""
    return kron(B.T, eye(A.shape[0]))


@WRONG_LAYOUT.oracle
def row_jacobian(A: A_mn, B: B_nm) -> Any:
    return jacobian(lambda A, B: A @ B, "A", ROW)(A, B)


with_standard_mutants(WRONG_LAYOUT)

BROKEN_STRUCTURE = toy("broken-structure", HasStructure(), sizes={"n": (2, 4)})


@BROKEN_STRUCTURE.formula
def nearly_orthogonal(S: Square) -> Any:
    """exp of a matrix that is not quite skew."""
    return expm((S - S.T) * rational(1, 4) + eye(S.shape[0]) * rational(1, 10**6))


@BROKEN_STRUCTURE.part("structure")
def orthogonality_defect(value: Any) -> Any:
    return value.T @ value - eye(value.shape[0])


@BROKEN_STRUCTURE.mutant("not skew at all")
def _(S: Square) -> Any:
    return expm(S)


@BROKEN_STRUCTURE.mutant("doubled")
def _(S: Square) -> Any:
    return 2 * expm((S - S.T) * rational(1, 4))


# -- true at the sizes that are drawn, false at those that the source names ---------------------------------------------

IDENTITY_FALSE_AT_SCALE = toy("identity-false-at-scale", Equal(), sizes={"n": (2, 4)})


@IDENTITY_FALSE_AT_SCALE.formula
def sum_of_the_first_ten(t: Row) -> Any:
    return total(t[:, :10])


@IDENTITY_FALSE_AT_SCALE.oracle
def sum_of_all(t: Row) -> Any:
    return total(t)


with_standard_mutants(IDENTITY_FALSE_AT_SCALE)

BOUND_FALSE_AT_SCALE = toy("bound-false-at-scale", AtMost(), sizes={"n": (2, 4)})


@BOUND_FALSE_AT_SCALE.formula
def three_euclidean_norms(t: Row) -> Any:
    return 3 * frobenius_norm(t)


@BOUND_FALSE_AT_SCALE.oracle
def sum_norm(t: Row) -> Any:
    """||t||_1 <= sqrt(n) ||t||_2."""
    return total(absolute(t))


@BOUND_FALSE_AT_SCALE.mutant("one Euclidean norm")
def _(t: Row) -> Any:
    return frobenius_norm(t)


@BOUND_FALSE_AT_SCALE.mutant("1.1 Euclidean norms")
def _(t: Row) -> Any:
    return frobenius_norm(t) * rational(11, 10)


for _claim in (IDENTITY_FALSE_AT_SCALE, BOUND_FALSE_AT_SCALE):

    @_claim.at_scale("forty entries", n=40)
    def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
        arrays["t"][:] += 1
