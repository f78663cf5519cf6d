"""Claims that make every attack go its less usual ways: vectors, values that are constants, points without a value, sizes.

They are sound unless their names say otherwise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any

import torch

from tests.claims_that_fail import (
    Row,
    Square,
    norm_of_product,
    product_of_norms,
    product_transposed,
    toy,
    transposed_product,
    with_standard_mutants,
)
from verify.arithmetics import Surd
from verify.matrix import absolute, exp, expm, eye, frobenius_norm, ones, rational, softmax, spectral_norm, sqrt, total
from verify.oracles import LawTest, Moments, moment_test
from verify.vocabulary import (
    Assumption,
    AtMost,
    Equal,
    FollowsLaw,
    HasStructure,
    OrderOfGrowth,
    PowerRate,
    QuadraticRate,
    Real,
    Shape,
    Size,
    TendsTo,
)

A_mn = Annotated[Any, Shape("m", "n")]
SCALES = (64, 128, 256, 512, 1024)
STEPS = tuple(range(3, 11))
POWERS = tuple(4**k for k in range(3, 11))

# -- equalities --------------------------------------------------------------------------------------------------------

WHERE_ALL_DOMAINS_APPLY = toy("all-domains", Equal(), sizes={"m": (1, 3), "n": (1, 4)})


@WHERE_ALL_DOMAINS_APPLY.formula
def scaled_logits(
    W: Annotated[Any, Shape("m", "n", role="query")],
    X: Annotated[Any, Shape("n", "m")],
    t: Annotated[Any, Real(-2, 3, avoid_zero=True)],
    u: Annotated[Any, Shape("n")],
) -> Any:
    return t * (W @ X) + total(u)


@WHERE_ALL_DOMAINS_APPLY.oracle
def scaled_logits_transposed(W: Any, X: Any, t: Any, u: Any) -> Any:
    return (X.T @ W.T).T * t + total(u)


with_standard_mutants(WHERE_ALL_DOMAINS_APPLY)

CONSTANT = toy("constant", Equal(), exact=True)


@CONSTANT.formula
def identity_matrix(A: A_mn) -> Any:
    return eye(A.shape[0])


@CONSTANT.oracle
def rows_of_ones_on_the_diagonal(A: A_mn) -> Any:
    return eye(A.shape[0]) @ eye(A.shape[0]) + 0 * (A @ A.T)


@CONSTANT.mutant("ones everywhere, and one too many")
def _(A: A_mn) -> Any:
    return ones(A.shape[0], A.shape[0]) * 2


@CONSTANT.mutant("doubled")
def _(A: A_mn) -> Any:
    return eye(A.shape[0]) * 2


ROOT_OF_A_SIZE = toy("root-of-a-size", Equal(), exact=True)


@ROOT_OF_A_SIZE.formula
def root(A: A_mn, n: Annotated[int, Size("n")]) -> Any:
    return Surd(1, n)


@ROOT_OF_A_SIZE.oracle
def size_by_its_root(A: A_mn, n: int) -> Any:
    return n / Surd(1, n)


@ROOT_OF_A_SIZE.mutant("doubled")
def _(A: A_mn, n: int) -> Any:
    return 2 * Surd(1, n)


@ROOT_OF_A_SIZE.mutant("of nine times the size")
def _(A: A_mn, n: int) -> Any:
    return Surd(1, 9 * n)


NO_ENTRIES = toy("no-entries", Equal(), exact=True)


@NO_ENTRIES.formula
def all_but_the_first_column(A: A_mn) -> Any:
    return A[:, 1:] * 1


@NO_ENTRIES.oracle
def the_same_columns(A: A_mn) -> Any:
    return A.T[1:].T


with_standard_mutants(NO_ENTRIES)

DIVIDED = toy("divided", Equal(), exact=True, assumptions=[Assumption("t >= -1", nonnegative=lambda t: t + 1)])


@DIVIDED.formula
def quotient(t: Row) -> Any:
    return (t * t) / t


@DIVIDED.oracle
def numerator(t: Row) -> Any:
    return t * 1


with_standard_mutants(DIVIDED)

NEARLY_EQUAL = toy("nearly-equal", Equal())


@NEARLY_EQUAL.formula
def with_a_small_part_too_many(t: Row) -> Any:
    return t + total(t) * rational(1, 10**12)


@NEARLY_EQUAL.oracle
def without_it(t: Row) -> Any:
    return 1 * t


with_standard_mutants(NEARLY_EQUAL)

UNBATCHED = toy("unbatched", Equal(), batched=False)
UNBATCHED.formula(numerator)
UNBATCHED.oracle(lambda t: t.T.T)
with_standard_mutants(UNBATCHED)

ORTHOGONAL = toy("orthogonal", HasStructure(), sizes={"n": (2, 4)})


@ORTHOGONAL.formula
def rotation(S: Square) -> Any:
    return expm((S - S.T) * rational(1, 4))


@ORTHOGONAL.part("structure")
def defect_of_orthogonality(value: Any, S: Any) -> Any:
    return value.T @ value - eye(S.shape[0])


@ORTHOGONAL.mutant("not skew")
def _(S: Square) -> Any:
    return expm(S * rational(1, 4))


@ORTHOGONAL.mutant("doubled")
def _(S: Square) -> Any:
    return 2 * expm((S - S.T) * rational(1, 4))


FALSE_STRUCTURE = toy("false-structure", HasStructure(), sizes={"n": (2, 4)}, expects="refuted", severity="error")
FALSE_STRUCTURE.formula(lambda S: S @ S.T)
FALSE_STRUCTURE._formula.__annotations__ = {"S": Square}  # type: ignore[union-attr]
FALSE_STRUCTURE.part("structure")(lambda value: value.T @ value - eye(value.shape[0]))
with_standard_mutants(FALSE_STRUCTURE)

REFUTED_IN_BALLS = toy("refuted-in-balls", Equal(), sizes={"n": (1, 4)}, expects="refuted", severity="slip")


@REFUTED_IN_BALLS.formula
def exponential_entry_by_entry(t: Row) -> Any:
    return exp(t)


@REFUTED_IN_BALLS.oracle
def its_series_to_the_second_order(t: Row) -> Any:
    return 1 + t + t * t * rational(1, 2)


with_standard_mutants(REFUTED_IN_BALLS)


@REFUTED_IN_BALLS.counterexample("the largest entry is farthest off")
def _() -> dict[str, Any]:
    return {"t": [[1, 0, 2, "-1/2"]]}


# -- at given sizes ----------------------------------------------------------------------------------------------------

AT_SIZES = toy("at-sizes", Equal(), sizes={"n": (1, 3)}, at_sizes={"n": 2})


@AT_SIZES.formula
def square_of_a_sum(S: Square, T: Square) -> Any:
    return (S + T) @ (S + T)


@AT_SIZES.oracle
def its_four_terms(S: Square, T: Square) -> Any:
    return S @ S + S @ T + T @ S + T @ T


@AT_SIZES.mutant("as if they commuted")
def _(S: Square, T: Square) -> Any:
    return S @ S + 2 * (S @ T) + T @ T


@AT_SIZES.mutant("with a root")
def _(S: Square, T: Square) -> Any:
    return (S + T) @ (S + T) + sqrt(1 + total(S * S))


NO_MUTANTS_AT_SIZES = toy("same-at-sizes", Equal(), sizes={"n": (1, 3)}, at_sizes={"n": 1})
NO_MUTANTS_AT_SIZES.formula(square_of_a_sum)
NO_MUTANTS_AT_SIZES.oracle(its_four_terms)
NO_MUTANTS_AT_SIZES.mutant("as if they commuted")(lambda S, T: S @ S + 2 * (S @ T) + T @ T)
NO_MUTANTS_AT_SIZES.mutant("in the other order")(lambda S, T: S @ S + 2 * (T @ S) + T @ T)

FALSE_AT_SIZES = toy("false-at-sizes", Equal(), sizes={"n": (1, 3)}, at_sizes={"n": 2})
FALSE_AT_SIZES.formula(square_of_a_sum)
FALSE_AT_SIZES.oracle(lambda S, T: S @ S + 2 * (S @ T) + T @ T)
with_standard_mutants(FALSE_AT_SIZES)

EXPONENTIAL_AT_SIZES = toy("exponential-at-sizes", Equal(), sizes={"n": (1, 3)}, at_sizes={"n": 2})


@EXPONENTIAL_AT_SIZES.formula
def exponential_of_the_double(S: Square) -> Any:
    return expm(2 * S)


@EXPONENTIAL_AT_SIZES.oracle
def squared_exponential(S: Square) -> Any:
    return expm(S) @ expm(S)


@EXPONENTIAL_AT_SIZES.mutant("not squared")
def _(S: Square) -> Any:
    return 2 * expm(S)


@EXPONENTIAL_AT_SIZES.mutant("of the transposed")
def _(S: Square) -> Any:
    return expm(2 * S.T)


ROOTS_OF_EXPONENTIALS = toy("roots-of-exponentials", Equal(), sizes={"n": (1, 3)}, at_sizes={"n": 2})


@ROOTS_OF_EXPONENTIALS.formula
def exponential_of_the_entries(t: Row) -> Any:
    return exp(t)


@ROOTS_OF_EXPONENTIALS.oracle
def cube_of_exponentials_of_thirds(t: Row) -> Any:
    third = exp(t * rational(1, 3))
    return third * third * third


@ROOTS_OF_EXPONENTIALS.mutant("squared only")
def _(t: Row) -> Any:
    return exp(t * rational(2, 3))


@ROOTS_OF_EXPONENTIALS.mutant("doubled")
def _(t: Row) -> Any:
    return 2 * exp(t)


# -- for all sizes -----------------------------------------------------------------------------------------------------

PROVED = toy("proved", Equal(), all_sizes=True)
PROVED.formula(product_transposed)
PROVED.oracle(transposed_product)
with_standard_mutants(PROVED)

PROVED_BOUND = toy("proved-bound", AtMost(), all_sizes=True)
PROVED_BOUND.formula(product_of_norms)
PROVED_BOUND.oracle(norm_of_product)
PROVED_BOUND.mutant("half of it")(lambda A, B: product_of_norms(A, B) * rational(1, 2))
PROVED_BOUND.mutant("a third of it")(lambda A, B: product_of_norms(A, B) * rational(1, 3))

# -- bounds ------------------------------------------------------------------------------------------------------------

ENTRYWISE_BOUND = toy("entrywise-bound", AtMost(), sizes={"n": (2, 4)})


@ENTRYWISE_BOUND.formula
def half_a_softmax_and_a_half(t: Row) -> Any:
    return (softmax(t).T + ones(t.shape[1], 1)) * rational(1, 2)


@ENTRYWISE_BOUND.oracle
def softmax_of(t: Row) -> Any:
    return softmax(t).T


@ENTRYWISE_BOUND.mutant("a quarter less")
def _(t: Row) -> Any:
    return (softmax(t).T + ones(t.shape[1], 1)) * rational(3, 8)


@ENTRYWISE_BOUND.mutant("half the softmax")
def _(t: Row) -> Any:
    return softmax(t).T * rational(1, 2)


SIGNED_BOUND = toy("signed-bound", AtMost(signed=True), sizes={"n": (2, 3)})


@SIGNED_BOUND.formula
def nothing(t: Row) -> Any:
    return total(t * 0)


@SIGNED_BOUND.oracle
def minus_the_square(t: Row) -> Any:
    return -total(t * t)


@SIGNED_BOUND.mutant("minus three halves of it")
def _(t: Row) -> Any:
    return -total(t * t) * rational(3, 2)


@SIGNED_BOUND.mutant("less than all of it")
def _(t: Row) -> Any:
    return -total(t * t) - 1


QUOTIENT_BOUND = toy(
    "quotient-bound",
    AtMost(ascent=False),
    sizes={"n": (1, 3)},
    assumptions=[Assumption("t has no large sum", positive=lambda t: 8 - total(t))],
)


@QUOTIENT_BOUND.formula
def one(t: Row) -> Any:
    return total(t * 0) + 1


@QUOTIENT_BOUND.oracle
def length_by_itself(t: Row) -> Any:
    return spectral_norm(t) / frobenius_norm(t)


@QUOTIENT_BOUND.mutant("a half")
def _(t: Row) -> Any:
    return total(t * 0) + rational(1, 2)


@QUOTIENT_BOUND.mutant("nine tenths")
def _(t: Row) -> Any:
    return total(t * 0) + rational(9, 10)


REFUTED_BOUND = toy(
    "refuted-bound", AtMost(), sizes={"n": (1, 3)}, expects="refuted", severity="error", correction="toy.right-bound"
)


@REFUTED_BOUND.formula
def length(t: Row) -> Any:
    return frobenius_norm(t)


@REFUTED_BOUND.oracle
def sum_of_squares(t: Row) -> Any:
    return total(t * t)


@REFUTED_BOUND.mutant("twice the length")
def _(t: Row) -> Any:
    return 2 * frobenius_norm(t)


@REFUTED_BOUND.mutant("half the length")
def _(t: Row) -> Any:
    return frobenius_norm(t) * rational(1, 2)


@REFUTED_BOUND.counterexample("one entry")
def _() -> dict[str, Any]:
    return {"t": [["3/2"]]}


@REFUTED_BOUND.counterexample("two entries")
def _() -> dict[str, Any]:
    return {"t": [[1, -1]]}


RIGHT_BOUND = toy("right-bound", AtMost(), sizes={"n": (1, 3)}, corrects="toy.refuted-bound", of_project=True)
RIGHT_BOUND.formula(lambda t: frobenius_norm(t) * frobenius_norm(t))
RIGHT_BOUND._formula.__annotations__ = {"t": Row}  # type: ignore[union-attr]
RIGHT_BOUND.oracle(sum_of_squares)
RIGHT_BOUND.mutant("the length")(length)
RIGHT_BOUND.mutant("half of it")(lambda t: frobenius_norm(t) * frobenius_norm(t) * rational(1, 2))

UNSEEN_VIOLATION = toy("unseen-violation", AtMost(), sizes={"n": (1, 3)}, expects="refuted", severity="error")
UNSEEN_VIOLATION.formula(sum_of_squares)
UNSEEN_VIOLATION.oracle(lambda t: total(t * t))
UNSEEN_VIOLATION.mutant("the length")(length)
UNSEEN_VIOLATION.mutant("half of it")(lambda t: total(t * t) * rational(1, 2))

REFUTED_WHERE_ENTRIES_ARE_SMALL = toy(
    "refuted-where-entries-are-small", AtMost(), sizes={"n": (1, 3)}, domains=["generic", "repeated singular values"],
    expects="refuted", severity="error",
)  # fmt: skip
REFUTED_WHERE_ENTRIES_ARE_SMALL.formula(sum_of_squares)


@REFUTED_WHERE_ENTRIES_ARE_SMALL.oracle
def sum_of_sizes(t: Row) -> Any:
    """What a search draws first has entries 0, 1 and -1, where both sides are equal."""
    return total(absolute(t))


REFUTED_WHERE_ENTRIES_ARE_SMALL.mutant("half of it", lambda value: value * rational(1, 2))
REFUTED_WHERE_ENTRIES_ARE_SMALL.mutant("a third of it", lambda value: value * rational(1, 3))


@REFUTED_WHERE_ENTRIES_ARE_SMALL.counterexample("a half")
def _() -> dict[str, Any]:
    return {"t": [["1/2"]]}


# -- limits ------------------------------------------------------------------------------------------------------------

LIMIT_OF_A_MATRIX = toy("limit-of-a-matrix", TendsTo(scales=SCALES, rate=PowerRate(0.5)), sizes={"n": (2, 3)})


@LIMIT_OF_A_MATRIX.formula
def outer_product(v: Row) -> Any:
    return v.T @ v


@LIMIT_OF_A_MATRIX.part("sequence")
def sampled_outer_product(scale: int, generator: Any, v: Row) -> Any:
    noise = torch.randn(scale, *v.shape, generator=generator, dtype=torch.float64, device=v.device)
    moved = v + noise
    return (moved.transpose(1, 2) @ moved).mean(0) - torch.eye(v.shape[1], dtype=v.dtype, device=v.device)


with_standard_mutants(LIMIT_OF_A_MATRIX)

LIMIT_WITHOUT_SPREAD = toy("limit-without-spread", TendsTo(scales=SCALES, rate=PowerRate(1.0)), sizes={"n": (2, 3)})
LIMIT_WITHOUT_SPREAD.formula(lambda v: v * 1)
LIMIT_WITHOUT_SPREAD._formula.__annotations__ = {"v": Row}  # type: ignore[union-attr]
LIMIT_WITHOUT_SPREAD.part("sequence")(lambda scale, generator, v: v * (1 + 1 / scale))
with_standard_mutants(LIMIT_WITHOUT_SPREAD)

INVERSE = toy(
    "inverse-by-newton",
    TendsTo(scales=STEPS, rate=QuadraticRate()),
    sizes={"n": (2, 3)},
    assumptions=[Assumption("the first entry is not negative", nonnegative=lambda v: v[0, 0])],
)


@INVERSE.formula
def inverse_and_quotient(v: Row) -> Any:
    return v / ((1 + v * v) * v)


@INVERSE.part("sequence")
def newton(scale: int, v: Row) -> Any:
    """Newton's iterates for 1 / a, a = 1 + v^2, from 1 / a^2; undefined where v is 0, as the formula is."""
    a = 1 + v * v
    x = 1 / (a * a) * (v / v)
    for _ in range(scale):
        x = x * (2 - a * x)
    return x


with_standard_mutants(INVERSE)

EXACTLY_REACHED = toy("exactly-reached", TendsTo(scales=POWERS, rate=PowerRate(1.0, deterministic=True)))
EXACTLY_REACHED.formula(lambda v: v * 1)
EXACTLY_REACHED._formula.__annotations__ = {"v": Row}  # type: ignore[union-attr]
EXACTLY_REACHED.part("sequence")(lambda scale, v: v + 0 * scale)
with_standard_mutants(EXACTLY_REACHED)

# -- laws --------------------------------------------------------------------------------------------------------------

GAUSSIAN = toy("gaussian", FollowsLaw(samples=4000, instances=3), sizes={"n": (1, 3), "m": (1, 2)})


@GAUSSIAN.formula
def gaussian(n: Annotated[int, Size("n")], generator: Any, samples: int) -> Any:
    return math.sqrt(n) * torch.randn(samples, generator=generator, dtype=torch.float64)


@GAUSSIAN.inputs
def sizes_and_a_scale(n: Annotated[int, Size("n")], m: Annotated[int, Size("m")]) -> Any:
    return {"n": n, "m": m}


@GAUSSIAN.part("laws")
def mean_zero_variance_n(formula: Any, generator: Any, samples: int, n: int) -> list[LawTest]:
    x = formula(n, generator=generator, samples=samples)
    return [*Moments(0.0, float(n)).tests("x", x), moment_test("third moment", x**3, 0.0)]


@GAUSSIAN.mutant("mean 1/4")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    return 0.25 * m / m + gaussian(n, generator, samples)


@GAUSSIAN.mutant("variance 2 n")
def _(n: int, generator: Any, samples: int) -> Any:
    return math.sqrt(2) * gaussian(n, generator, samples)


@GAUSSIAN.at_scale("a width of forty", n=40, m=2)
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Nothing is fixed but the width."""


LAW_WITH_A_SURVIVOR = toy(
    "law-with-a-survivor", FollowsLaw(samples=2000, instances=2), sizes={"n": (1, 3), "m": (1, 2)}
)
LAW_WITH_A_SURVIVOR.formula(gaussian)
LAW_WITH_A_SURVIVOR.inputs(sizes_and_a_scale)
LAW_WITH_A_SURVIVOR.part("laws")(mean_zero_variance_n)
LAW_WITH_A_SURVIVOR.mutant("the same law")(lambda n, generator, samples: -gaussian(n, generator, samples))
LAW_WITH_A_SURVIVOR.mutant("variance 4 n")(lambda n, generator, samples: 2 * gaussian(n, generator, samples))

TOO_FEW_SAMPLES = toy("too-few-samples", FollowsLaw(samples=60, instances=1), sizes={"n": (1, 1), "m": (1, 1)})
TOO_FEW_SAMPLES.formula(gaussian)
TOO_FEW_SAMPLES.inputs(sizes_and_a_scale)
TOO_FEW_SAMPLES.part("laws")(mean_zero_variance_n)
TOO_FEW_SAMPLES.mutant("less likely, but not for certain")(
    lambda n, generator, samples: 0.6 + gaussian(n, generator, samples)
)
TOO_FEW_SAMPLES.mutant("mean 4")(lambda n, generator, samples: 4 + gaussian(n, generator, samples))

# -- orders ------------------------------------------------------------------------------------------------------------

PRODUCT_COST = toy("product-cost", OrderOfGrowth(along=("N", "d", "N d")), sizes={"N": (2, 6), "d": (2, 4)})


@PRODUCT_COST.formula
def order_of_a_product(N: Annotated[int, Size("N")], d: Annotated[int, Size("d")]) -> Any:
    return [N * N * d, Fraction(N * d, 2)]


@PRODUCT_COST.part("cost")
def count_of_a_product(N: int, d: int) -> Any:
    return [2 * N * N * d - N * N + 5 * N, N * d + N + d]


@PRODUCT_COST.mutant("without d")
def _(N: int, d: int) -> Any:
    return [N * N, N * d]


@PRODUCT_COST.mutant("linear")
def _(N: int, d: int) -> Any:
    return [N * d, N]


COST_WITH_A_LOGARITHM = toy("cost-with-a-logarithm", OrderOfGrowth(along=("N",)), sizes={"N": (2, 6)})
COST_WITH_A_LOGARITHM.formula(lambda N: N)
COST_WITH_A_LOGARITHM._formula.__annotations__ = {"N": Annotated[int, Size("N")]}  # type: ignore[union-attr]
COST_WITH_A_LOGARITHM.part("cost")(lambda N: N * N.bit_length())
COST_WITH_A_LOGARITHM.mutant("one")(lambda N: 1)
COST_WITH_A_LOGARITHM.mutant("the root of the root")(lambda N: max(1, math.isqrt(math.isqrt(N))))
