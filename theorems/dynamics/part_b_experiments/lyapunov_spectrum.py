"""Appendix B.3, Eqs. (89)-(91): the Lyapunov spectrum, by QR (`lyapunov_spectrum`) or enclosed (`lyapunov_exponents`)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Any

import flint
import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens
from theorems.dynamics.part_5_jacobians.normalisation_bound import itrsa_step, two_step_jacobian
from theorems.dynamics.part_5_jacobians.time_averages import Jacobian
from theorems.dynamics.settings import UPDATE, Generator, Step
from theorems.shared.matrices import orthogonal_matrix
from verify.arithmetics import Constant, Kind, absolute, is_tensor, kind_of
from verify.matrix import (
    basis_vector, block_diag, concatenate, determinant, eye, frobenius_norm, hadamard, kron, log, ones, rational,
    row_norms, singular_values, total,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, InputError, PowerRate, Shape, TendsTo, realises


def orthonormalised(M: Any) -> tuple[Any, Any]:
    """Q (n, n) with orthonormal columns, and the absolute diagonal (n,) of R, for M = Q R (n, n) regular."""
    if is_tensor(M):
        import torch

        Q, R = torch.linalg.qr(M)
        return Q, R.diagonal().abs()
    if kind_of(M) is Kind.BALL:
        M = M + _roundings_of_reflections(M)
    columns: list[Any] = []
    lengths: list[Any] = []
    for i in range(M.shape[1]):
        column = M[:, i : i + 1].T
        for done in columns:
            column = column - done * total(column * done)
        lengths.append(row_norms(column))
        columns.append(column / lengths[-1])
    return concatenate(columns, axis=0).T, concatenate(lengths, axis=1).reshape(-1)


def _roundings_of_reflections(M: np.ndarray) -> np.ndarray:
    """Balls about 0 (n, n), n roundings of the length of each column of M.

    torch's QR, by Householder reflections, is right for a matrix whose columns are off by as much: an entry that is small
    beside its column loses digits, which the next Jacobian may bring to light.  Orthogonalising in balls keeps them.
    """
    lengths = [sum((entry * entry for entry in column), flint.arb(0)).sqrt().abs_upper() for column in M.T]
    rounding = M.shape[0] * flint.arb(2) ** -flint.ctx.prec
    return np.array([[flint.arb(0, length * rounding) for length in lengths]] * M.shape[0], dtype=object)


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

QR_METHOD = Claim(DYNAMICS, "dynamics.lyapunov-qr", label="Lyapunov exponents by QR", name="Lyapunov spectra by QR",
    statement=r"""
        J_t Q_t=Q_{t+1}R_{t+1},\ Q_0=I\ \Rightarrow\ \sum_{i\le k}\frac1T\sum_t\log|(R_t)_{ii}|=\frac1{2T}\log\det
        \Lambda^{(T)}_{[1:k,1:k]},\ \Lambda^{(T)}=(J_{T-1}\cdots J_0)^\top J_{T-1}\cdots J_0""",
    assumptions=[
        Assumption(
            "the product of the Jacobians is regular",
            positive=lambda J_0, J_1, J_2: determinant(J_2 @ J_1 @ J_0) * determinant(J_2 @ J_1 @ J_0),
        ),
    ],
    without_domains={
        "tied": "from D = 2 on equal rows make the Jacobians singular, and for D = 1 there is one row",
        "rank deficient": "from D = 2 on the Jacobians are singular, and for D = 1 any number is drawn",
    },
    relation=Equal(), sizes={"D": (1, 3)}, of_project=True, note="Compared at $T = 3$.")  # fmt: skip


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
QR_METHOD.mutant("averages without orthonormalisation in between",
    lambda J_0, J_1, J_2: _partial_sums(sum(lyapunov_spectrum([J]) for J in (J_0, J_1, J_2)) * rational(1, 3))
)  # fmt: skip


Spectrum = Annotated[Any, Shape("1", "D")]
Pair = Annotated[Any, Shape("1", "2")]
Four = Annotated[Any, Shape("4", "4")]

#: log of the dimension over 2^SQUARINGS is by how much the enclosure of a largest eigenvalue's logarithm can be off.
SQUARINGS = 24


def compound_matrix(A: np.ndarray, k: int) -> np.ndarray:
    """C_k(A): all k x k minors of A (n, n), shape (n choose k, n choose k); multiplicative in A."""
    subsets = list(itertools.combinations(range(A.shape[0]), k))
    minors = [[determinant(A[np.ix_(rows, columns)]) for columns in subsets] for rows in subsets]
    return np.array(minors, dtype=object)


def _repeatedly_squared(M: Any, times: int) -> tuple[Any, int]:
    """(N, l) with M^(2^times) = 2^l N for a ball matrix M, the entries of N neither large nor all small."""
    exponent = 0
    for _ in range(times):
        # a power of two is divided by without rounding, and needs no logarithm
        bits = max(_bits(entry) for entry in M.entries())
        M = M * flint.arb(2) ** -bits
        M, exponent = M * M, 2 * (exponent + bits)
    return M, exponent


def _bits(x: flint.arb) -> int:
    """The least k with |m| < 2^k for the midpoint m of x; 0 where it is 0 or not finite."""
    mantissa, exponent = x.mid().man_exp() if x.is_finite() else (0, 0)
    return int(mantissa).bit_length() + int(exponent) if mantissa else 0


def lyapunov_exponents(A: np.ndarray, T: int) -> np.ndarray:
    """Enclosures of log(alpha_i) / 2T, descending, for Lambda^(T) = (A^T)^t A^T with A (D, D) in balls; shape (D,).

    T is a power of 2.  The largest eigenvalue of C_k(A^T)^t C_k(A^T) is alpha_1 ... alpha_k, so no small eigenvalue is
    ever computed beside a large one.  For M positive semi-definite of size n and m = 2^SQUARINGS it lies between
    (tr(M^m) / n)^(1/m) and tr(M^m)^(1/m).
    """
    partial = [flint.arb(0)]
    for k in range(1, A.shape[0] + 1):
        power, scale = _repeatedly_squared(flint.arb_mat(compound_matrix(A, k).tolist()), T.bit_length() - 1)
        M, rest = _repeatedly_squared(power.transpose() * power, SQUARINGS)
        n = M.nrows()
        trace = sum((M[i, i] for i in range(n)), flint.arb(0))
        top = (trace.log() + rest * flint.arb.const_log2()) / 2**SQUARINGS + 2 * scale * flint.arb.const_log2()
        partial.append(top.union(top - flint.arb(n).log() / 2**SQUARINGS) / (2 * T))
    return np.array([b - a for a, b in itertools.pairwise(partial)], dtype=object)


def _squared_determinants(real: Any, rotating: Any) -> Any:
    return concatenate([ones(1, 1) * determinant(A) * determinant(A) for A in (real, rotating)], axis=1)


EQ_89 = Claim(DYNAMICS, "dynamics.eq-89", label="Eqs. (89)-(91)", name="Lyapunov spectrum",
    statement=r"\lambda_i=\lim_{T\to\infty}\frac1{2T}\log|\alpha_i^{(T)}|,\ \alpha_i^{(T)}\text{ eigenvalues of }"
    r"\Lambda^{(T)}=\Big(\frac{df^T(x^{(0)})}{dx^{(0)}}\Big)^\top\frac{df^T(x^{(0)})}{dx^{(0)}}\succeq0,\ \lambda_{"
    r"\max}=\max_i\lambda_i",
    assumptions=[
        Definition(r"x^{(t+1)} = A x^{(t)}", by=lyapunov_exponents),
        Assumption("A is nonsingular", positive=lambda real, rotating: _squared_determinants(real, rotating)),
        Assumption(r"\Omega is skew", zero=lambda Omega: Omega + Omega.T),
        Assumption("no real eigenvalue vanishes", positive=lambda spectrum: spectrum * spectrum),
    ],
    relation=TendsTo(scales=tuple(4**k for k in range(8, 41, 8)), rate=PowerRate(1.0, deterministic=True), bits=4000),
    sizes={"D": (1, 3)},
    note=r"""A definition is checked by what it is for, 'the exponential rate at which nearby trajectories in a
        dynamical system diverge': where rates are known, in linear systems $x \to Ax$, it returns them. The limit
        exists there and is $\ln|\operatorname{eig}_i(A)|$, for non-normal and defective $A$ too, and for (17), with
        unequal or vanishing frequencies too, it is $\frac12\ln(1+\eta^2\omega_j^2)$. The error falls like $1/T$, like
        $\log(T)/T$ for defective $A$; observed for $T$ from $4^8$ to $4^{40}$, with the logarithm of a
        largest eigenvalue enclosed by 24 squarings. For a singular Jacobian $\alpha = 0$
        and the exponent is $-\infty$, which is the case of every normalised update (dynamics.sec-5.3-mean). For a
        general system the limit need not exist, and then the definition gives nothing: in $(s, y) \to (s + 1, g(s)y)$
        let the smooth $g$ be $e$ at the integers in $[4^k, 2\cdot4^k)$ for every $k$ and 1 at the others; along
        $(s, 0)$ the average
        of $\ln g$ oscillates between 1/3 and 2/3.""")  # fmt: skip


@EQ_89.inputs
@realises(
    {"Omega is skew": reached.SKEW},
    but=(
        "the systems are made of their eigenvalues, spectrum and pair: Schur forms with real eigenvalues, or with one complex"
        " pair first, in any orthonormal basis. Up to a factor, whose logarithm is added to every exponent, every real regular"
        " matrix of at most three rows has such a form"
    ),
)
def real_schur_forms(
    G: Generator, upper: Generator, spectrum: Spectrum, pair: Pair, W: Four, eta: Step
) -> dict[str, Any]:
    """Three systems in rotated bases: real eigenvalues; a complex pair first (D > 1); I + eta Omega with two frequencies."""
    Q, D = orthogonal_matrix(G), G.shape[0]
    real = hadamard(Constant([[int(i < j) for j in range(D)] for i in range(D)]), upper) + eye(D) * spectrum
    basis, K = orthogonal_matrix(W), basis_vector(2, 0) @ basis_vector(2, 1).T
    K, rotating = K - K.T, real
    if D > 1:
        b, c = (rational(1, 8) + pair * pair)[0]
        pair_first = basis_vector(2, 0) @ basis_vector(2, 1).T * b - basis_vector(2, 1) @ basis_vector(2, 0).T * c
        top = concatenate([pair_first + eye(2) * real[0, 0], real[:2, 2:]], axis=1)
        rotating = concatenate([top, real[2:]], axis=0)
    return {
        "real": Q @ real @ Q.T,
        "rotating": Q @ rotating @ Q.T,
        "spectrum": spectrum,
        "pair": pair,
        "Omega": basis @ block_diag([K * pair[0, 0], K * pair[0, 1]]) @ basis.T,
        "eta": eta,
    }


@EQ_89.domain("equal eigenvalues, defective")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["spectrum"][:] = arrays["spectrum"][:, :, :1]


def _known_exponents(spectrum: Any, pair: Any, eta: Any, power: int = 2) -> Any:
    """The logarithms of the moduli of the eigenvalues of the three systems, each descending; shape (2 D + 4,)."""
    b, c = (rational(1, 8) + pair * pair)[0]
    moduli, growth = spectrum * spectrum, 1 + absolute(pair * eta) ** power
    rotating = moduli
    if spectrum.shape[1] > 1:
        rotating = concatenate([ones(1, 2) * (moduli[0, 0] + b * c), moduli[:, 2:]], axis=1)
    rows = [_descending(row.reshape(-1)).reshape(1, -1) for row in (moduli, rotating, kron(growth, ones(1, 2)))]
    return log(concatenate(rows, axis=1)).reshape(-1) * rational(1, 2)


def _descending(values: Any) -> Any:
    """Balls or floats of shape (n,), the largest first."""
    if is_tensor(values):
        return values.sort(descending=True).values
    return np.array(sorted(values, key=lambda square: -float(square.mid())), dtype=object)


@EQ_89.formula
def logarithms_of_moduli(spectrum: Spectrum, pair: Pair, eta: Any) -> Any:
    """ln|eig_i| of the three systems, shape (2 D + 4,): the limits (89)."""
    return _known_exponents(spectrum, pair, eta)


@EQ_89.part("sequence")
def finite_time_exponents(scale: int, real: Any, rotating: Any, Omega: Any, eta: Any) -> Any:
    oscillating = eye(Omega.shape[0]) + Omega * eta
    return np.concatenate([lyapunov_exponents(A, scale) for A in (real, rotating, oscillating)])


EQ_89.mutant("1/T instead of 1/(2T)", lambda value: value * 2)
EQ_89.mutant(
    "ln sigma_i, the time average of Section 5.3",
    lambda real, rotating, Omega, eta: concatenate(
        [log(singular_values(A)).reshape(-1, 1) for A in (real, rotating, eye(Omega.shape[0]) + Omega * eta)], axis=0
    ),
)
EQ_89.mutant("(17) with the frequency not squared", power=1)


EQ_90_CHAIN = Claim(UPDATE, "dynamics.eq-90-chain", label="Eq. (90) by the chain rule",
    statement=r"\frac{df^2(x^{(0)})}{dx^{(0)}}=J(x^{(1)})J(x^{(0)})\ \text{for the update (9)}",
    name="Lyapunov matrix by the chain rule", general="It is the chain rule, for every differentiable update.",
    relation=Equal(), sizes={"S": (1, 3), "D": (1, 2), "H": (1, 2)},
    of_project=True,
    note=r"""Hence $\Lambda^{(T)} = J_0^\top\cdots J_{T-1}^\top J_{T-1}\cdots J_0$, which is positive semi-definite as
        printed.""")  # fmt: skip


@EQ_90_CHAIN.formula
def product_of_step_jacobians(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """J(x^(1)) J(x^(0)), shape (S D, S D)."""
    J, rest = jacobian(itrsa_step, "X"), (C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    first, second = J(X, *rest), J(itrsa_step(X, *rest), *rest)
    return second @ first


EQ_90_CHAIN.oracle(
    lambda X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H: two_step_jacobian(
        X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H
    )
)
EQ_90_CHAIN.mutant("factors in the order of time", "second -> first; first -> second")
EQ_90_CHAIN.mutant("Jacobian frozen at the first state", "second -> first")
