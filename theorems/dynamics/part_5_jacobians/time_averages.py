"""Sections 5.1 and 5.3: Lyapunov exponents beside time averages of logarithms of singular values.

Surprising: exact only where the singular vectors of one step are those of the next; in general a bound on partial sums.
"""

from __future__ import annotations

import itertools
from math import prod
from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.settings import Generator
from theorems.shared.matrices import orthogonal_matrix
from verify.arithmetics import is_tensor, rational
from verify.matrix import (
    concatenate, determinant, eye, frobenius_norm, log, rational, row_sums, singular_values, smallest_singular_value,
    spectral_norm, spectral_radius, trace,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Setting, Shape, realises

Jacobian = Annotated[Any, Shape("D", "D")]
Spectrum = Annotated[Any, Shape("1", "D")]


# -- Section 5.1 -------------------------------------------------------------------------------------------------------


@realises(
    {"every Q_t is orthogonal": reached.ROTATIONS, "with orthogonal Q_t": "J_t is computed as the product stated"}
)
def handed_on(
    U_0: Jacobian, U_1: Jacobian, U_2: Jacobian, U_3: Jacobian, s_0: Spectrum, s_1: Spectrum, s_2: Spectrum
) -> dict[str, Any]:
    """J_t = Q_{t+1} diag(sigma^(t)) Q_t^T with orthogonal Q_t and descending sigma^(t), sums of squares of entries of s_t."""
    bases = [orthogonal_matrix(U) for U in (U_0, U_1, U_2, U_3)]
    jacobians: dict[str, Any] = {}
    for t, s in enumerate((s_0, s_1, s_2)):
        squares = s * s
        sigma = concatenate([row_sums(squares[:, k:]) for k in range(s.shape[1])], axis=1)
        jacobians |= {f"J_{t}": (bases[t + 1] * sigma) @ bases[t].T, f"sigma_{t}": sigma}
    return {**jacobians, **{f"Q_{t}": basis for t, basis in enumerate(bases)}}


def _distance_from_orthogonal(Q_0: Any, Q_1: Any, Q_2: Any, Q_3: Any) -> Any:
    return concatenate([Q.T @ Q - eye(Q.shape[0]) for Q in (Q_0, Q_1, Q_2, Q_3)], axis=0)


def _distance_from_products(
    J_0: Any, J_1: Any, J_2: Any, Q_0: Any, Q_1: Any, Q_2: Any, Q_3: Any, sigma_0: Any, sigma_1: Any, sigma_2: Any
) -> Any:
    steps = ((J_0, Q_1, sigma_0, Q_0), (J_1, Q_2, sigma_1, Q_1), (J_2, Q_3, sigma_2, Q_2))
    return concatenate([J - (left * sigma) @ right.T for J, left, sigma, right in steps], axis=0)


def _drops(sigma_0: Any, sigma_1: Any, sigma_2: Any) -> Any:
    """sigma_i - sigma_{i+1} and the last one, for every step, shape (3, D)."""
    rows = [concatenate([sigma[:, :-1] - sigma[:, 1:], sigma[:, -1:]], axis=1) for sigma in (sigma_0, sigma_1, sigma_2)]
    return concatenate(rows, axis=0)


#: What makes the sentences about time averages true.
HANDED_ON = Assumption(
    r"J_t = Q_{t+1}\operatorname{diag}(\sigma_1(J_t),\ldots,\sigma_D(J_t))Q_t^\top with orthogonal Q_t: the directions into which"
    " one step stretches are those that the next one stretches, in the same order",
    zero=_distance_from_products,
)
THREE_STEPS = Setting(DYNAMICS, "Section 5.3, three Jacobians", sizes={"D": (1, 3)})
SHARED_DIRECTIONS = THREE_STEPS.extended("Section 5.3, where averages are exact", inputs=handed_on)
REGULAR = Assumption(
    "J is regular, so that the exponents are finite", positive=lambda J: determinant(J) * determinant(J)
)

LYAPUNOV_SINGULAR_VALUES = Claim(DYNAMICS, "dynamics.sec-5.1-lyapunov-sv",
    label="Section 5.1, text (Fig. 2 discussion)", name="maximum Lyapunov exponent as average singular value",
    statement=r"""\text{``This exponent [the maximum Lyapunov exponent] corresponds to a time-averaged maximum singular
        vale of }J\text{, which is further explained and analyzed in Section 5.3''}""",
    assumptions=[
        Definition("definition (89)-(91) for f(x) = Jx, whose Jacobian is J at every time", by=spectral_radius),
        REGULAR,
    ],
    relation=Equal(), sizes={"D": (1, 4)}, expects="refuted", severity="error",
    correction="dynamics.sec-5.1-lyapunov-sv-bound", uses=("dynamics.eq-89",),
    consequence="""Averaged singular values can report instability where there is none; they bound the exponent from
        above (dynamics.sec-5.1-lyapunov-sv-bound), itself computed by QR (dynamics.lyapunov-qr).""",
    note=r"""Compared are $\lambda_{\max}$, here the logarithm of the spectral radius of $J$ (Gelfand), and the average
        of a constant. The first counterexample lacks only the logarithm, which Section 5.3 has. With it the sentence is
        still false: at the second $\lambda_{\max} = 0$, while $\ln\sigma_{\max}$ is $\ln 2$ at every time; a
        contracting map may have singular values above 1 at all times. The average of $\ln\sigma_{\max}$ is an upper
        bound. It is the exponent where the singular vectors of one step are those of the next
        (dynamics.sec-5.3-average-aligned), and for a constant normal $J$.""")  # fmt: skip


@LYAPUNOV_SINGULAR_VALUES.formula
def averaged_largest_singular_value(J: Jacobian) -> Any:
    """The largest singular value of J, a scalar: at every time, so on average."""
    return spectral_norm(J)


# lambda_max of x -> J x
LYAPUNOV_SINGULAR_VALUES.oracle(lambda J: log(spectral_radius(J)))
# By hand: the exponent is -ln 2 = -0.693..., the average 1/2
LYAPUNOV_SINGULAR_VALUES.counterexample("numbers: x -> x/2", J=[["1/2"]])


# By hand: every orbit has period 2, so lambda_max = 0, while the largest singular value is 2 at all times
LYAPUNOV_SINGULAR_VALUES.counterexample("[[0, 2], [1/2, 0]], whose square is the identity",
    J=[["0", "2"], ["1/2", "0"]])  # fmt: skip
LYAPUNOV_SINGULAR_VALUES.mutant("smallest singular value", lambda J: smallest_singular_value(J))
LYAPUNOV_SINGULAR_VALUES.mutant("Frobenius norm, sign lost", lambda J: -frobenius_norm(J))


SINGULAR_VALUE_BOUND = Claim(THREE_STEPS, "dynamics.sec-5.1-lyapunov-sv-bound",
    label="Lyapunov exponent and averaged singular values", name="maximum Lyapunov exponent bounded by singular values",
    statement=r"""\frac1{2T}\log\max_i\alpha_i^{(T)}=\frac1T\log\sigma_{\max}(J_{T-1}\cdots
        J_0)\le\frac1T\sum_t\log\sigma_{ \max}(J_t)""",
    relation=AtMost(left="sigma_max(J_2 J_1 J_0)"), all_sizes=True, of_project=True,
    corrects="dynamics.sec-5.1-lyapunov-sv",
    note=r"""Compared at $T = 3$ without the logarithms; longer products by induction. So $\lambda_{\max}$ is at most the
        time average of $\ln\sigma_{\max}(J_t)$, hence the logarithm of that of
        $\sigma_{\max}(J_t)$. Attained for a constant normal $J$.""")  # fmt: skip


@SINGULAR_VALUE_BOUND.formula
def product_of_largest_singular_values(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    """sigma_max(J_0) sigma_max(J_1) sigma_max(J_2), a scalar."""
    return spectral_norm(J_0) * spectral_norm(J_1) * spectral_norm(J_2)


SINGULAR_VALUE_BOUND.oracle(lambda J_0, J_1, J_2: spectral_norm(J_2 @ J_1 @ J_0))
SINGULAR_VALUE_BOUND.mutant("spectral radii", "spectral_norm -> spectral_radius")
SINGULAR_VALUE_BOUND.mutant("first Jacobian cubed", "J_1 -> J_0; J_2 -> J_0")


AVERAGE = Claim(DYNAMICS, "dynamics.sec-5.3-average", label="Section 5.3, text",
    statement=r"""\text{``Intuitively, it [the Lyapunov exponent] corresponds to the time-averaged value of
        }\ln\sigma_i(J)\text{, where }\sigma_i(J)\text{ denotes the Jacobian's singular values''}""",
    assumptions=[
        Definition("definition (89), at T = 2", by=singular_values),
        Assumption(
            r"x^{(t+1)} = A x^{(t)} with A^2 = -\det(A) I, so that \Lambda^{(T)} is a multiple of I at every even T and the"
            r" limit (89) is reached at T = 2",
            zero=lambda A: A @ A + eye(2) * determinant(A),
        ),
        Assumption("A is nonsingular", positive=lambda A: determinant(A) * determinant(A)),
    ],
    name="Lyapunov exponents as averaged singular values", relation=Equal(), sizes={"D": (2, 2)}, expects="refuted",
    severity="error", correction="dynamics.sec-5.3-average-majorised", uses=("dynamics.eq-89",),
    consequence=r"""Averages of $\ln\sigma_i(J)$ are not the exponents; they bound their partial sums from above
        (dynamics.sec-5.3-average-majorised), and the exponents themselves come by QR (dynamics.lyapunov-qr).""",
    note=r"""$A = [[0, 2], [1/2, 0]]$ has $A^2 = I$, so both exponents are 0, while $\ln\sigma_1$ and $\ln\sigma_2$ are
        $\pm\ln 2$ at every time. 'Intuitively' says how the sentence is meant, but not when it is true: where the
        singular vectors of one step are those of the next (dynamics.sec-5.3-average-aligned), and for a constant normal
        $J$. For every $J$ the averages bound the partial sums of the exponents from above, and give the sum of all
        (dynamics.sec-5.3-average-sum).""")  # fmt: skip


@AVERAGE.inputs
@realises(
    {
        "A^2 = -": (
            "G - tr(G)/2 I leaves matrices of trace 0 as they are, and by the theorem of "
            "Cayley and Hamilton A^2 = tr(A) A - det(A) I"
        )
    }
)
def traceless(G: Annotated[Any, Shape("2", "2")]) -> dict[str, Any]:
    """A = G - tr(G)/2 I: by Cayley-Hamilton A^2 = -det(A) I."""
    return {"A": G - eye(2) * (trace(G) * rational(1, 2))}


@AVERAGE.formula
def averaged_log_singular_values(A: Any) -> Any:
    """ln sigma_i(J) averaged over time, which is its constant value; shape (2,) (Section 5.3)."""
    return log(singular_values(A))


AVERAGE.oracle(lambda A: log(singular_values(A @ A)) / 2)
AVERAGE.counterexample("a matrix whose square is I, with singular values 2 and 1/2", A=[[0, 2], ["1/2", 0]])
AVERAGE.mutant("ln of the squares, as alpha_i would have it without the 1/2", lambda value: value * 2)
AVERAGE.mutant("ln of the largest singular value for every i", lambda value: value * 0 + value[0])


ALIGNED = Claim(SHARED_DIRECTIONS, "dynamics.sec-5.3-average-aligned", label="Section 5.3, where averages are exact",
    statement=r"""J_t=Q_{t+1}\operatorname{diag}(\sigma_1(J_t),\ldots,\sigma_D(J_t))Q_t^\top,\ Q_t\text{ orthogonal}\
        \Rightarrow\ \tfrac1{2T}\log\alpha_i^{(T)}=\tfrac1T\sum_{t<T}\ln\sigma_i(J_t)\text{ for every }i""",
    assumptions=[
        HANDED_ON,
        Assumption("every Q_t is orthogonal", zero=_distance_from_orthogonal),
        Assumption(r"\sigma_i(J_t) descending, not negative", nonnegative=_drops),
    ],
    name="averaged singular values, aligned Jacobians", relation=Equal(), of_project=True,
    note=r"""Compared at $T = 3$ without the logarithms; of every $T$ the product is $Q_T\operatorname{diag}(\prod_{t<T}
        \sigma_i(J_t))Q_0^\top$. Exponent by exponent, the maximum among them. For a constant
        positive semi-definite $J$ it is so; for a
        constant normal $J$ as well, since then $\sigma_i(J^T) = \sigma_i(J)^T$.""")  # fmt: skip


@ALIGNED.formula
def products_over_time(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    """prod_t sigma_i(J_t), shape (D,): the exponentials of T times the averages of ln sigma_i (Section 5.3)."""
    return singular_values(J_0) * singular_values(J_1) * singular_values(J_2)


# sqrt(alpha_i^(T)), shape (D,)
ALIGNED.oracle(lambda J_0, J_1, J_2: singular_values(J_2 @ J_1 @ J_0))
ALIGNED.mutant("largest singular value for every i", lambda value: value * 0 + value[0])
ALIGNED.mutant("singular values of the first Jacobian at every time", "J_1 -> J_0; J_2 -> J_0")
ALIGNED.mutant("squares, as alpha_i would have it without the 1/2", lambda value: value * value)


MAJORISED = Claim(THREE_STEPS, "dynamics.sec-5.3-average-majorised", label="Section 5.3, partial sums of time averages",
    statement=r"""\prod_{i\le k}\sigma_i(J_{T-1}\cdots J_0)\le\prod_{t<T}\prod_{i\le k}\sigma_i(J_t),\ \text{so that
        }\lambda_1+\dots+\lambda_k\le\text{the time average of }\sum_{i\le k}\ln\sigma_i(J)""",
    name="partial sums of Lyapunov exponents bounded", relation=AtMost(left="prod_{i <= k} sigma_i(J_2 J_1 J_0)"),
    of_project=True, corrects="dynamics.sec-5.3-average",
    note=r"""Compared at $T = 3$, singular Jacobians included; longer products by induction. Horn's inequality: the
        spectral norm of compound matrices is submultiplicative. Equality for $k = D$, which
        is dynamics.sec-5.3-average-sum, and for a constant normal $J$. Not for normal $J$ that merely commute:
        $\operatorname{diag}(2, 1)$ and $\operatorname{diag}(1, 2)$ have the product $2I$.""")  # fmt: skip


def _partial_products(values: Any) -> list[Any]:
    return list(itertools.accumulate(values, lambda a, b: a * b))


def _stacked(values: list[Any]) -> Any:
    return concatenate([value.reshape(1, 1) if is_tensor(value) else np.array([[value]]) for value in values], axis=0)


@MAJORISED.formula
def products_of_singular_values(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    """prod_t prod_{i <= k} sigma_i(J_t) for k = 1, ..., D, shape (D, 1)."""
    a, b, c = (_partial_products(singular_values(J)) for J in (J_0, J_1, J_2))
    return _stacked([x * y * z for x, y, z in zip(a, b, c, strict=True)])


MAJORISED.oracle(lambda J_0, J_1, J_2: _stacked(_partial_products(singular_values(J_2 @ J_1 @ J_0))))
MAJORISED.mutant("smallest singular values instead of largest", "singular_values(J) -> list(singular_values(J))[::-1]")
MAJORISED.mutant("the first Jacobian at every time", "J_1 -> J_0; J_2 -> J_0")


SUM = Claim(THREE_STEPS, "dynamics.sec-5.3-average-sum", label="Section 5.3, sum of the exponents",
    statement=r"""\prod_i\alpha_i^{(T)}=\prod_{t<T}\prod_i\sigma_i(J_t)^2,\ \text{so that }\sum_i\lambda_i\text{ is the
        time average of }\sum_i\ln\sigma_i(J)=\ln|\det J|""",
    name="sum of all Lyapunov exponents", relation=Equal(), at_sizes=True, exact=True, of_project=True,
    note="Compared at $T = 3$ without the logarithms.")  # fmt: skip


@SUM.formula
def product_of_squared_determinants(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    """prod_t det(J_t)^2, a scalar."""
    return prod(determinant(J) * determinant(J) for J in (J_0, J_1, J_2))


@SUM.oracle
def determinant_of_lambda(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    derivative = J_2 @ J_1 @ J_0
    return determinant(derivative.T @ derivative)


SUM.mutant("determinants not squared", lambda J_0, J_1, J_2: prod(determinant(J) for J in (J_0, J_1, J_2)))
SUM.mutant("determinant of the last Jacobian left out", "(J_0, J_1, J_2) -> (J_0, J_1)")
