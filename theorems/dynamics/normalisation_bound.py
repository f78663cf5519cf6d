"""Around Proposition 5.1's bound: the gains of Table S.2, and the bound that the Limitations refer to."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, Gain, SquareWeights, Tokens, unit_rows
from theorems.dynamics.energy import POSITIVE_BETA, UNIT_TOKENS, energy_loss
from theorems.dynamics.normalisation import update_jacobian_bound, update_jacobian_norm
from verify.matrix import absolute, concatenate, eye, maximum, rational, row_sums, zeros
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape, Size

#: Table S.2: |gamma| and max_j |gamma_j| as printed, for N = 4, 8, ..., 512.
TABLE_S2 = tuple(
    (Fraction(norm), Fraction(largest))
    for norm, largest in (
        ("0.229", "0.229"),
        ("0.031", "0.052"),
        ("0.098", "0.098"),
        ("0.348", "0.348"),
        ("0.489", "0.489"),
        ("0.841", "0.841"),
        ("0.738", "0.738"),
        ("0.811", "0.811"),
    )
)

Row = Annotated[int, Size("row")]
Rounding = Annotated[Any, Real(-1.0, 1.0)]

TABLE = Claim(
    DYNAMICS,
    "dynamics.table-s2",
    label="Table S.2 and text",
    statement=r"(N;\|\gamma\|,\max_j|\gamma_j|):\ (4;0.229,0.229),(8;0.031,0.052),(16;0.098,0.098),(32;0.348,0.348)"
    r",(64;0.489,0.489),(128;0.841,0.841),(256;0.738,0.738),(512;0.811,0.811);\ \max_j|\gamma_j|<1",
    assumptions=[
        "each entry is right up to the rounding to three digits, drawn as a share of half a unit",
        Assumption("|gamma| is rounded by at most half a unit", nonnegative=lambda u: 1 - u * u),
        Assumption("max_j |gamma_j| is rounded by at most half a unit", nonnegative=lambda v: 1 - v * v),
    ],
    relation=AtMost(ascent=False),
    sizes={"row": (1, 8)},
    expects="refuted",
    severity="error",
    correction="dynamics.table-s2-norms",
    reading="the two columns are norms of the same gamma, or averages of them over seeds: the second is then at most the first",
    note=r"The row N = 8 has 0.052 above 0.031; its standard deviations (0.0017 and 0.0000) do not bridge the gap. In the"
    r" seven other rows the two agree to three digits, so that all other entries of gamma together have a norm of at most"
    r" \sqrt{0.002\|\gamma\|}, 0.041 for N = 128: one entry dominates, or gamma has a single"
    r" entry, or the column headings do not say what was measured. A root mean square of the entries is at most the largest and"
    r" equals it where all are of one size: under that heading all eight rows would be possible. So they would be if one of the"
    r" two numbers is a misprint; which is not evident."
    r" That all maxima are below 1 is as printed.",
)


@TABLE.inputs
def table_row(row: Row, u: Rounding, v: Rounding) -> dict[str, Any]:
    """The row of Table S.2 by number, from 1, and the shares of half a unit by which its entries were rounded."""
    return {"row": row, "u": u, "v": v}


@TABLE.formula
def printed_norm_of_gamma(row: Row, u: Rounding) -> Any:
    """|gamma| of one row, a scalar, somewhere in the interval that rounds to the printed value."""
    return _within_rounding(TABLE_S2[row - 1][0], u)


TABLE.oracle(lambda row, v: _within_rounding(TABLE_S2[row - 1][1], v))


def _within_rounding(value: Fraction, share: Any) -> Any:
    return share * rational(1, 2000) + rational(value.numerator, value.denominator)


TABLE.counterexample("N = 8, rounded in favour of the table", row=2, u=1, v=-1)


@TABLE.mutant("square of the norm")
def _(row: Row, u: Rounding) -> Any:
    norm = _within_rounding(TABLE_S2[row - 1][0], u)
    return norm * norm


TABLE.mutant("columns exchanged", lambda row, u: _within_rounding(TABLE_S2[row - 1][1], u))


TABLE_NORMS = Claim(
    DYNAMICS,
    "dynamics.table-s2-norms",
    label="Table S.2, what any gamma satisfies",
    statement=r"\max_j\gamma_j^2\le\|\gamma\|^2\le D\max_j\gamma_j^2",
    relation=AtMost(),
    sizes={"D": (1, 6)},
    of_project=True,
    corrects="dynamics.table-s2",
)


def _as_rows(*values: Any) -> Any:
    return concatenate([value.reshape(1, 1) for value in values], axis=0)


def _sum_of_squares(gamma: Any) -> Any:
    return row_sums((gamma * gamma).reshape(1, -1))


def _largest_square(gamma: Any) -> Any:
    return _sum_of_squares(gamma) * 0 + maximum(gamma * gamma)


@TABLE_NORMS.formula
def bounds_on_gamma(gamma: Gain) -> Any:
    """(|gamma|^2, D max gamma_j^2), shape (2, 1)."""
    return _as_rows(_sum_of_squares(gamma), _largest_square(gamma) * gamma.shape[0])


TABLE_NORMS.oracle(lambda gamma: concatenate([_largest_square(gamma), _sum_of_squares(gamma)], axis=0))
TABLE_NORMS.mutant(
    "mean of the squares", "_sum_of_squares(gamma) -> _sum_of_squares(gamma) * rational(1, gamma.shape[0])"
)
TABLE_NORMS.mutant("largest square alone", lambda gamma: _as_rows(_sum_of_squares(gamma), _largest_square(gamma)))


# -- Limitations -------------------------------------------------------------------------------------------------------

REFERENCE = Claim(
    DYNAMICS,
    "dynamics.sec-7-reference",
    label="Limitations, text",
    statement=r"\text{``the upper bound provided by Proposition 4.1 provides a conservative upper bound that is looser than"
    r" empirical observations''}",
    assumptions=[UNIT_TOKENS, POSITIVE_BETA, "W^V = W^Q symmetric, W^K = I: the case of Proposition 4.1 that holds"],
    relation=AtMost(signed=True, ascent=False),
    sizes={"S": (1, 2), "D": (1, 3)},
    expects="refuted",
    severity="slip",
    correction="dynamics.sec-7-looseness",
    presumes=("dynamics.prop-4.1",),
    reading=r"the only upper bound in Proposition 4.1 is dE/dt \le 0; loose would mean that it is never attained, dE/dt <"
    r" -\kappa with some \kappa > 0, tested at 10^{-6}",
    note="Proposition 4.1 bounds no Jacobian. Its 0 is attained at every fixed point, so it is not loose. The sentence goes"
    " on with 'existing analyses of SA's Jacobians without normalization', that is Eq. (15), beside which stands"
    " Proposition 5.1: it is meant. Its bound (14) can be loose by any factor (dynamics.sec-7-looseness), and it is also"
    " attained (see dynamics.prop-5.1).",
)


@REFERENCE.inputs
def symmetric_unit_tokens(directions: Tokens, B: SquareWeights, beta: Beta) -> dict[str, Any]:
    """Unit tokens and A = B + B^T."""
    return {"X": unit_rows(directions), "A": B + B.T, "beta": beta}


def _margin(X: Any, A: Any, W_V: Any, beta: Any) -> Any:
    """-dE/dt - 10^-6, shape (1, 1)."""
    return energy_loss(X, A, A * 0 + eye(A.shape[0]), W_V, beta)[:1] - rational(1, 10**6)


@REFERENCE.formula
def loss_beyond_a_margin(X: Tokens, A: SquareWeights, beta: Beta) -> Any:
    """-dE/dt - 10^-6 along (3) with W^V = A, shape (1, 1): nonnegative if the bound 0 is never nearly attained."""
    return _margin(X, A, A, beta)


REFERENCE.oracle(lambda: zeros(1, 1))
REFERENCE.counterexample("a single token on an axis, A = I: a fixed point", X=[[1, 0]], A=[[1, 0], [0, 1]], beta=1)
REFERENCE.mutant("a margin of 1", lambda value: value - 1)
REFERENCE.mutant("a negative margin", lambda value: value + rational(2, 10**6))


LOOSENESS = Claim(
    DYNAMICS,
    "dynamics.sec-7-looseness",
    label="Limitations, how loose the bound of Proposition 5.1 is",
    statement=r"S=1,\ W^VW^O=Kx^\top x,\ \gamma=\mathbf 1,\ C=0:\quad\frac{\text{bound"
    r" (14)}}{\|\partial\operatorname{RMSNorm}(X+\eta\Delta X)/\partial X\|_2}=1+|\eta|K",
    assumptions=["D > 1, unit x, K > 0, eta > 0"],
    relation=Equal(),
    sizes={"D": (2, 3)},
    of_project=True,
    corrects="dynamics.sec-7-reference",
    uses=("dynamics.prop-5.1",),
    note="Attention amplifies x, the direction that normalisation removes; across it nothing is amplified. So no constant"
    " factor turns the bound into an estimate from below.",
)


@LOOSENESS.inputs
def amplified_direction(
    direction: Annotated[Any, Shape("1", "D")],
    K: Annotated[Any, Real(0.125, 8.0)],
    eta: Annotated[Any, Real(0.125, 2.0)],
) -> dict[str, Any]:
    """One unit token x, W^V = K x^T x, W^O = I, W^Q = W^K = O, gamma = 1."""
    X = unit_rows(direction)
    D = X.shape[1]
    O = X.T @ X * 0
    weights = {"W_Q": O, "W_K": O, "W_V": X.T @ X * K, "W_O": O + eye(D), "beta": K * 0 + 1, "H": 1}
    return {"X": X, "C": X * 0, "gamma": X[0] * 0 + 1, "K": K, "eta": eta, **weights}


@LOOSENESS.formula
def overestimate(K: Any, eta: Any) -> Any:
    """1 + |eta| K, a scalar."""
    return 1 + absolute(eta) * K


@LOOSENESS.oracle
def bound_over_norm(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    arguments = (X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return update_jacobian_bound(*arguments) / update_jacobian_norm(*arguments)


LOOSENESS.mutant("no loss", lambda K, eta: 1 + absolute(eta) * K * 0)
LOOSENESS.mutant("K alone", lambda K: 1 + K)
