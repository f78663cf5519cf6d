"""The Lyapunov spectrum computed by repeated QR, and the maximum exponent against singular values (Sections 5.1, B.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from theorems.dynamics import DYNAMICS
from theorems.dynamics.oscillations import spectral_radius
from theorems.matrices import orthogonal_matrix
from verify.arithmetics import is_tensor, rational
from verify.matrix import (
    concatenate,
    determinant,
    eye,
    frobenius_norm,
    log,
    ones,
    row_norms,
    row_sums,
    smallest_singular_value,
    spectral_norm,
    total,
)
from verify.vocabulary import AtMost, Claim, Equal, InputError, Shape

Jacobian = Annotated[Any, Shape("D", "D")]
Spectrum = Annotated[Any, Shape("1", "D")]


def orthonormalised(M: Any) -> tuple[Any, Any]:
    """Q (n, n) with orthonormal columns, and the absolute diagonal (n,) of R, for M = Q R (n, n) regular."""
    if is_tensor(M):
        import torch

        Q, R = torch.linalg.qr(M)
        return Q, R.diagonal().abs()
    columns: list[Any] = []
    lengths: list[Any] = []
    for i in range(M.shape[1]):
        column = M[:, i : i + 1].T
        for done in columns:
            column = column - done * total(column * done)
        lengths.append(row_norms(column))
        columns.append(column / lengths[-1])
    return concatenate(columns, axis=0).T, concatenate(lengths, axis=1).reshape(-1)


def lyapunov_spectrum(jacobians: Sequence[Any]) -> Any:
    """Finite-time Lyapunov exponents by QR, shape (D,), descending for long sequences, in units of 1/step (Eq. (89)).

    `jacobians` are J_0, ..., J_{T-1} of shape (D, D) along a trajectory, in floats or balls.  The sum of the first k
    exponents is the growth rate, over T steps, of the volume spanned by the first k unit vectors; its limit is the sum of the
    first k exponents of Eq. (89) for all but exceptional bases.  Nothing overflows.  A singular Jacobian gives -infinity.
    """
    if not jacobians:
        raise InputError("jacobians", "at least one matrix", "none")
    first = jacobians[0]
    Q, sums = first * 0 + eye(first.shape[0]), 0
    for J in jacobians:
        Q, growth = orthonormalised(J @ Q)
        sums = sums + log(growth)
    return sums * rational(1, len(jacobians))


# -- the QR method -----------------------------------------------------------------------------------------------------

QR_METHOD = Claim(
    DYNAMICS,
    "dynamics.lyapunov-qr",
    label="Lyapunov exponents by QR",
    statement=r"J_t Q_t=Q_{t+1}R_{t+1},\ Q_0=I\ \Rightarrow\ \sum_{i\le k}\frac1T\sum_t\log|(R_t)_{ii}|=\frac1{2T}\log\det"
    r"\Lambda^{(T)}_{[1:k,1:k]},\ \Lambda^{(T)}=(J_{T-1}\cdots J_0)^\top J_{T-1}\cdots J_0",
    assumptions=["T = 3; the product of the Jacobians is regular"],
    relation=Equal(),
    sizes={"D": (1, 3)},
    of_project=True,
)


def _partial_sums(exponents: Any) -> Any:
    if is_tensor(exponents):
        return exponents.cumsum(0)
    return np.cumsum(exponents)


@QR_METHOD.formula
def volume_growth(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    """Sums of the first k finite-time exponents for k = 1, ..., D, shape (D,)."""
    return _partial_sums(lyapunov_spectrum([J_0, J_1, J_2]))


@QR_METHOD.oracle
def logarithms_of_gram_minors(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    product = J_2 @ J_1 @ J_0
    size = frobenius_norm(product)
    gram = (product / size).T @ (product / size)
    logs = []
    for k in range(1, gram.shape[0] + 1):
        minor, volume = determinant(gram[:k, :k]), log(size) * (2 * k)
        logs.append(ones(1, 1) * (log(minor) + volume))
    return concatenate(logs, axis=1).reshape(-1) * rational(1, 6)


QR_METHOD.mutant("Jacobians in reverse order", lambda J_0, J_1, J_2: _partial_sums(lyapunov_spectrum([J_2, J_1, J_0])))
QR_METHOD.mutant("factor 1/2 dropped", lambda value: value * 2)


@QR_METHOD.mutant("averages without orthonormalisation in between")
def _(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    return _partial_sums(sum(lyapunov_spectrum([J]) for J in (J_0, J_1, J_2)) * rational(1, 3))


# -- Section 5.1 -------------------------------------------------------------------------------------------------------


def handed_on(
    U_0: Jacobian, U_1: Jacobian, U_2: Jacobian, U_3: Jacobian, s_0: Spectrum, s_1: Spectrum, s_2: Spectrum
) -> dict[str, Any]:
    """J_t = Q_{t+1} diag(sigma^(t)) Q_t^T with orthogonal Q_t and descending sigma^(t), sums of squares of entries of s_t."""
    bases = [orthogonal_matrix(U) for U in (U_0, U_1, U_2, U_3)]
    jacobians = {}
    for t, s in enumerate((s_0, s_1, s_2)):
        squares = s * s
        sigma = concatenate([row_sums(squares[:, k:]) for k in range(s.shape[1])], axis=1)
        jacobians[f"J_{t}"] = (bases[t + 1] * sigma) @ bases[t].T
    return jacobians


#: What makes the sentences about time averages true.
HANDED_ON = [
    r"J_t = Q_{t+1}\operatorname{diag}(\sigma_1(J_t),\ldots,\sigma_D(J_t))Q_t^\top with orthogonal Q_t: the directions into which"
    " one step stretches are those that the next one stretches, in the same order",
    "T = 3; compared without the logarithms",
]

LYAPUNOV_SINGULAR_VALUES = Claim(
    DYNAMICS,
    "dynamics.sec-5.1-lyapunov-sv",
    label="Section 5.1, text (Fig. 2 discussion)",
    statement=r"\text{``This exponent [the maximum Lyapunov exponent] corresponds to a time-averaged maximum singular value of }J"
    r"\text{, which is further explained and analyzed in Section 5.3''}",
    assumptions=HANDED_ON,
    relation=Equal(),
    sizes={"D": (1, 3)},
    expects="reading",
    reading=r"of \ln\sigma_{\max}(J_t), as Section 5.3 has it, which calls the correspondence intuitive: exact where the singular"
    " vectors of one step are those of the next, as for a constant positive semi-definite J; in general an upper bound"
    " (dynamics.sec-5.1-lyapunov-sv-bound) that can be off by any factor (dynamics.sec-5.1-lyapunov-sv-literal)",
    note=r"For normal J, too, if it is constant, since then \sigma_{\max}(J^T) = \sigma_{\max}(J)^T.",
)

LYAPUNOV_SINGULAR_VALUES.inputs(handed_on)


@LYAPUNOV_SINGULAR_VALUES.formula
def product_of_handed_on_singular_values(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    """sigma_max(J_0) sigma_max(J_1) sigma_max(J_2), a scalar: the exponential of T times the average of ln sigma_max."""
    return spectral_norm(J_0) * spectral_norm(J_1) * spectral_norm(J_2)


@LYAPUNOV_SINGULAR_VALUES.oracle
def growth_over_three_steps(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    """e^(T lambda_max^(T)): the largest singular value of df^T/dx."""
    return spectral_norm(J_2 @ J_1 @ J_0)


LYAPUNOV_SINGULAR_VALUES.mutant("smallest singular values", "spectral_norm -> smallest_singular_value")
LYAPUNOV_SINGULAR_VALUES.mutant("spectral radii", "spectral_norm -> spectral_radius")


@LYAPUNOV_SINGULAR_VALUES.mutant("average of the singular values, without the logarithm")
def _(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    mean = (spectral_norm(J_0) + spectral_norm(J_1) + spectral_norm(J_2)) * rational(1, 3)
    return mean * mean * mean


LITERAL = Claim(
    DYNAMICS,
    "dynamics.sec-5.1-lyapunov-sv-literal",
    label="Section 5.1, an equality for every J",
    statement=r"e^{\lambda_{\max}}=\sigma_{\max}(J)\text{ for }x\to Jx",
    assumptions=["definition (89)-(91) for f(x) = Jx, whose Jacobian is J at every time"],
    relation=Equal(),
    sizes={"D": (1, 4)},
    expects="refuted",
    severity="error",
    correction="dynamics.sec-5.1-lyapunov-sv-bound",
    of_project=True,
    note=r"Compared are e^{\lambda_{\max}}, by Gelfand's formula the spectral radius of J, and the maximum singular value: of a"
    r" constant, so whether it or its logarithm is averaged does not matter. The two agree for normal J. The average of"
    r" \ln\sigma_{\max} is an upper bound only; a contracting map may have singular values above 1 at all times.",
    uses=("dynamics.sec-5.3-average-majorised",),
)


@LITERAL.formula
def averaged_largest_singular_value(J: Jacobian) -> Any:
    """The largest singular value of J, a scalar: at every time, so on average."""
    return spectral_norm(J)


@LITERAL.oracle
def growth_per_step(J: Jacobian) -> Any:
    """e^{lambda_max} of x -> J x."""
    return spectral_radius(J)


@LITERAL.counterexample("[[0, 2], [1/2, 0]], whose square is the identity")
def _() -> dict[str, Any]:
    """By hand: every orbit has period 2, so lambda_max = 0, while the largest singular value is 2 at all times."""
    return {"J": [["0", "2"], ["1/2", "0"]]}


LITERAL.mutant("smallest singular value", lambda J: smallest_singular_value(J))
LITERAL.mutant("Frobenius norm", lambda J: frobenius_norm(J))


SINGULAR_VALUE_BOUND = Claim(
    DYNAMICS,
    "dynamics.sec-5.1-lyapunov-sv-bound",
    label="Lyapunov exponent and averaged singular values",
    statement=r"\frac1{2T}\log\alpha_{\max}^{(T)}=\frac1T\log\sigma_{\max}(J_{T-1}\cdots "
    r"J_0)\le\frac1T\sum_t\log\sigma_{\max}(J_t)",
    assumptions=["T = 3, any Jacobians; compared without the logarithms"],
    relation=AtMost(),
    sizes={"D": (1, 3)},
    of_project=True,
    corrects="dynamics.sec-5.1-lyapunov-sv-literal",
    note=r"So \lambda_{\max} is at most the time average of \ln\sigma_{\max}(J_t), hence the logarithm of that of"
    r" \sigma_{\max}(J_t). Attained for a constant normal J.",
)


@SINGULAR_VALUE_BOUND.formula
def product_of_largest_singular_values(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    """sigma_max(J_0) sigma_max(J_1) sigma_max(J_2), a scalar."""
    return spectral_norm(J_0) * spectral_norm(J_1) * spectral_norm(J_2)


SINGULAR_VALUE_BOUND.oracle(lambda J_0, J_1, J_2: spectral_norm(J_2 @ J_1 @ J_0))
SINGULAR_VALUE_BOUND.mutant("spectral radii", "spectral_norm -> spectral_radius")


@SINGULAR_VALUE_BOUND.mutant("first Jacobian cubed")
def _(J_0: Jacobian, J_1: Jacobian, J_2: Jacobian) -> Any:
    first = spectral_norm(J_0)
    return first * first * first
