"""The Lyapunov spectrum of Appendix B.3, and the time averages of Section 5.3."""

from __future__ import annotations

import itertools
from math import prod
from typing import Annotated, Any

import flint
import numpy as np

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens, rms_norm
from theorems.dynamics.lyapunov import HANDED_ON, handed_on
from theorems.dynamics.normalisation import Step, updated
from theorems.dynamics.oscillations import Generator, StepSize
from theorems.matrices import orthogonal_matrix
from verify.arithmetics import is_tensor
from verify.matrix import block_diag, concatenate, determinant, eye, log, rational, singular_values, trace
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Equal, PowerRate, Shape, TendsTo

Spectrum = Annotated[Any, Shape("1", "D")]
Pair = Annotated[Any, Shape("1", "2")]
Four = Annotated[Any, Shape("4", "4")]

#: log of the dimension over 2^SQUARINGS is by how much the enclosure of a largest eigenvalue's logarithm can be off.
SQUARINGS = 40


def compound_matrix(A: np.ndarray, k: int) -> np.ndarray:
    """C_k(A): all k x k minors of A (n, n), shape (n choose k, n choose k); multiplicative in A."""
    subsets = list(itertools.combinations(range(A.shape[0]), k))
    minors = [[determinant(A[np.ix_(rows, columns)]) for columns in subsets] for rows in subsets]
    return np.array(minors, dtype=object)


def _repeatedly_squared(M: Any, times: int) -> tuple[Any, Any]:
    """(N, l) with M^(2^times) = e^l N for a ball matrix M, N of Frobenius norm about 1."""
    logarithm_of_factor = flint.arb(0)
    for _ in range(times):
        size = sum((entry * entry for row in M.tolist() for entry in row), flint.arb(0)).sqrt()
        M = M / size
        M, logarithm_of_factor = M * M, 2 * (logarithm_of_factor + size.log())
    return M, logarithm_of_factor


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
        top = (sum((M[i, i] for i in range(n)), flint.arb(0)).log() + rest) / 2**SQUARINGS + 2 * scale
        partial.append(top.union(top - flint.arb(n).log() / 2**SQUARINGS) / (2 * T))
    return np.array([b - a for a, b in itertools.pairwise(partial)], dtype=object)


# -- Eqs. (89)-(91) ----------------------------------------------------------------------------------------------------

EQ_89 = Claim(
    DYNAMICS,
    "dynamics.eq-89",
    label="Eqs. (89)-(91)",
    statement=r"\lambda_i=\lim_{T\to\infty}\frac1{2T}\log|\alpha_i^{(T)}|,\ \alpha_i^{(T)}\text{ eigenvalues of"
    r" }\Lambda^{(T)}=\Big(\frac{df^T(x^{(0)})}{dx^{(0)}}\Big)^\top\frac{df^T(x^{(0)})}{dx^{(0)}}\succeq0,"
    r"\ \lambda_{\max}=\max_i\lambda_i",
    assumptions=[
        r"x^{(t+1)} = A x^{(t)}, nonsingular",
        Assumption("no real eigenvalue vanishes", positive=lambda spectrum: spectrum * spectrum),
    ],
    # A defective A costs a logarithm, which leaves the exponent within the slack only at large T; and its powers, close to
    # nilpotent in a rotated basis, lose log2(T) bits at every squaring.
    relation=TendsTo(scales=tuple(4**k for k in range(15, 20)), rate=PowerRate(1.0, deterministic=True), bits=6000),
    sizes={"D": (1, 3)},
    expects="reading",
    reading=r"a definition, judged on linear systems x -> A x: the limit exists there and is \ln|eig_i(A)|, for non-normal"
    r" and defective A too, and for (17), with unequal or vanishing frequencies too, it is \frac12\ln(1+\eta^2\omega_j^2)",
    note=r"The error falls like 1/T, like log(T)/T for defective A; observed for T from 4^15 to 4^19. For a singular"
    r" Jacobian alpha = 0 and the exponent is -infinity, which is the case of every normalised update"
    r" (dynamics.sec-5.3-mean). For a general system the limit need not exist: in (s, y) -> (s + 1, g(s) y) let the smooth"
    r" g be e at the integers in [4^k, 2\cdot4^k) and 1 at the others; along (s, 0) the average of ln g oscillates between"
    r" 1/3 and 2/3.",
)


@EQ_89.inputs
def real_schur_forms(
    G: Generator, upper: Generator, spectrum: Spectrum, pair: Pair, W: Four, eta: StepSize
) -> dict[str, Any]:
    """Three systems in rotated bases: real eigenvalues; a complex pair first (D > 1); I + eta Omega with two frequencies."""
    Q, D = orthogonal_matrix(G), G.shape[0]
    strict = np.triu(np.ones((D, D), dtype=int), 1).astype(object)
    real = upper * strict + eye(D) * spectrum
    rotating = real
    if D > 1:
        b, c = (rational(1, 8) + pair * pair)[0]
        rotating = real + np.zeros((D, D), dtype=object)
        rotating[0, 1], rotating[1, 0], rotating[1, 1] = b, -c, rotating[0, 0]
    basis, K = orthogonal_matrix(W), np.array([[0, 1], [-1, 0]], dtype=object)
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
    D = spectrum.shape[1]
    b, c = (rational(1, 8) + pair * pair)[0]
    moduli = [entry for entry in spectrum[0] * spectrum[0]]
    rotating = [moduli[0] + b * c] * 2 + moduli[2:] if D > 1 else moduli
    oscillating = [1 + abs(eta * omega) ** power for omega in pair[0] for _ in range(2)]
    rows = [sorted(row, key=lambda square: -float(square.mid())) for row in (moduli, rotating, oscillating)]
    return log(np.array([square for row in rows for square in row], dtype=object)) / 2


@EQ_89.formula
def logarithms_of_moduli(spectrum: Spectrum, pair: Pair, eta: Any) -> Any:
    """ln|eig_i| of the three systems, shape (2 D + 4,): the limits (89)."""
    return _known_exponents(spectrum, pair, eta)


@EQ_89.part("sequence")
def finite_time_exponents(scale: int, real: Any, rotating: Any, Omega: Any, eta: Any) -> Any:
    oscillating = eye(Omega.shape[0]) + Omega * eta
    return np.concatenate([lyapunov_exponents(A, scale) for A in (real, rotating, oscillating)])


EQ_89.mutant("1/T instead of 1/(2T)", lambda value: value * 2)


@EQ_89.mutant("ln sigma_i, the time average of Section 5.3")
def _(real: Any, rotating: Any, Omega: Any, eta: Any) -> Any:
    oscillating = eye(Omega.shape[0]) + Omega * eta
    return np.concatenate([log(singular_values(A)) for A in (real, rotating, oscillating)])


EQ_89.mutant("(17) with the frequency not squared", power=1)


EQ_90_CHAIN = Claim(
    DYNAMICS,
    "dynamics.eq-90-chain",
    label="Eq. (90) by the chain rule",
    statement=r"\frac{df^2(x^{(0)})}{dx^{(0)}}=J(x^{(1)})J(x^{(0)})\ \text{for the update (9)}",
    assumptions=["ItrSA (9) with RMSNorm (6)"],
    relation=Equal(),
    sizes={"S": (1, 2), "D": (1, 2), "H": (1, 1)},
    of_project=True,
    note=r"Hence \Lambda^{(T)} = J_0^\top\cdots J_{T-1}^\top J_{T-1}\cdots J_0, which is positive semi-definite as printed.",
)


def itrsa_step(X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int) -> Any:
    """RMSNorm(X + eta (C + MSA(X))), shape (S, D) (Eq. (9))."""
    return rms_norm(updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H), gamma)


def _jacobians(X: Any, *rest: Any) -> tuple[Any, Any]:
    """J(x^(0)) and J(x^(1))."""
    J = jacobian(itrsa_step, "X")
    return J(X, *rest), J(itrsa_step(X, *rest), *rest)


@EQ_90_CHAIN.formula
def product_of_step_jacobians(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """J(x^(1)) J(x^(0)), shape (S D, S D)."""
    first, second = _jacobians(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return second @ first


@EQ_90_CHAIN.oracle
def two_steps_differentiated(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    rest = (C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)

    def twice(X: Any) -> Any:
        return itrsa_step(itrsa_step(X, *rest), *rest)

    return jacobian(twice, "X")(X)


EQ_90_CHAIN.mutant("factors in the order of time", "second -> first; first -> second")


@EQ_90_CHAIN.mutant("Jacobian frozen at the first state")
def _(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    first, _ = _jacobians(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return first @ first


# -- "the time-averaged value of ln sigma_i(J)" ------------------------------------------------------------------------

AVERAGE = Claim(
    DYNAMICS,
    "dynamics.sec-5.3-average",
    label="Section 5.3, text",
    statement=r"\text{``Intuitively, it [the Lyapunov exponent] corresponds to the time-averaged value of }\ln\sigma_i(J)"
    r"\text{, where }\sigma_i(J)\text{ denotes the Jacobian's singular values''}",
    assumptions=["definition (89)", *HANDED_ON],
    relation=Equal(),
    sizes={"D": (1, 3)},
    expects="reading",
    reading="the text calls it intuitive: exact, exponent by exponent, where the singular vectors of one step are those of the"
    " next, as for a constant positive semi-definite J; in general the averages bound the partial sums of the exponents from"
    " above (dynamics.sec-5.3-average-majorised) and give the sum of all (dynamics.sec-5.3-average-sum), while single exponents"
    " differ from them (dynamics.sec-5.3-average-literal)",
    uses=("dynamics.eq-89",),
    note=r"For a constant normal J as well, since then \sigma_i(J^T) = \sigma_i(J)^T.",
)

AVERAGE.inputs(handed_on)


def _products(J_0: Any, J_1: Any, J_2: Any) -> Any:
    """sigma_i(J_0) sigma_i(J_1) sigma_i(J_2) for i = 1, ..., D, shape (D,)."""
    return singular_values(J_0) * singular_values(J_1) * singular_values(J_2)


@AVERAGE.formula
def products_over_time(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    """prod_t sigma_i(J_t), shape (D,): the exponentials of T times the averages of ln sigma_i (Section 5.3)."""
    return _products(J_0, J_1, J_2)


@AVERAGE.oracle
def singular_values_over_time(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    """sqrt(alpha_i^(T)), shape (D,)."""
    return singular_values(J_2 @ J_1 @ J_0)


@AVERAGE.mutant("largest singular value for every i")
def _(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    values = _products(J_0, J_1, J_2)
    return values * 0 + values[0]


AVERAGE.mutant("singular values of the first Jacobian at every time", lambda J_0: _products(J_0, J_0, J_0))


@AVERAGE.mutant("squares, as alpha_i would have it without the 1/2")
def _(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    values = _products(J_0, J_1, J_2)
    return values * values


AVERAGE_LITERAL = Claim(
    DYNAMICS,
    "dynamics.sec-5.3-average-literal",
    label="Section 5.3, an equality for every J",
    statement=r"\lambda_i=\lim_{T\to\infty}\frac1T\sum_{t<T}\ln\sigma_i(J_t)\text{ for every }i",
    assumptions=[
        "definition (89)",
        Assumption(
            r"x^{(t+1)} = A x^{(t)} with A^2 = -\det(A) I, so that \Lambda^{(T)} is a multiple of I at every even T and the"
            r" limit (89) is reached at T = 2",
            zero=lambda A: A @ A + eye(2) * determinant(A),
        ),
        Assumption("A is nonsingular", positive=lambda A: determinant(A) * determinant(A)),
    ],
    relation=Equal(),
    sizes={"D": (2, 2)},
    expects="refuted",
    severity="error",
    correction="dynamics.sec-5.3-average-majorised",
    of_project=True,
    uses=("dynamics.eq-89",),
    note=r"What the intuition of Section 5.3 must not be taken for: A = [[0, 2], [1/2, 0]] has A^2 = I, so both"
    r" exponents are 0, while \ln\sigma_1 and \ln\sigma_2 are \pm\ln 2 at every time. The average bounds the partial sums"
    r" of the exponents from above, and gives the sum of all; singular values multiply where the singular vectors of"
    r" one step meet those of the next (dynamics.sec-5.3-average).",
)


@AVERAGE_LITERAL.inputs
def traceless(G: Annotated[Any, Shape("2", "2")]) -> dict[str, Any]:
    """A = G - tr(G)/2 I: by Cayley-Hamilton A^2 = -det(A) I."""
    return {"A": G - eye(2) * (trace(G) * rational(1, 2))}


@AVERAGE_LITERAL.formula
def averaged_log_singular_values(A: Any) -> Any:
    """ln sigma_i(J) averaged over time, which is its constant value; shape (2,) (Section 5.3)."""
    return log(singular_values(A))


AVERAGE_LITERAL.oracle(lambda A: log(singular_values(A @ A)) / 2)
AVERAGE_LITERAL.counterexample("a matrix whose square is I, with singular values 2 and 1/2", A=[[0, 2], ["1/2", 0]])
AVERAGE_LITERAL.mutant("ln of the squares, as alpha_i would have it without the 1/2", lambda value: value * 2)


@AVERAGE_LITERAL.mutant("ln of the largest singular value for every i")
def _(A: Any) -> Any:
    values = log(singular_values(A))
    return values * 0 + values[0]


MAJORISED = Claim(
    DYNAMICS,
    "dynamics.sec-5.3-average-majorised",
    label="Section 5.3, partial sums of time averages",
    statement=r"\prod_{i\le k}\sigma_i(J_{T-1}\cdots J_0)\le\prod_{t<T}\prod_{i\le k}\sigma_i(J_t),\ \text{so that"
    r" }\lambda_1+\dots+\lambda_k\le\text{the time average of }\sum_{i\le k}\ln\sigma_i(J)",
    assumptions=["T = 3 arbitrary Jacobians, singular ones included; longer products by induction"],
    relation=AtMost(),
    sizes={"D": (1, 3)},
    of_project=True,
    corrects="dynamics.sec-5.3-average-literal",
    note="Horn's inequality: the spectral norm of compound matrices is submultiplicative. Equality for k = D, which is"
    " dynamics.sec-5.3-average-sum, and for a constant normal J. Not for normal J that merely commute: diag(2, 1) and diag(1, 2)"
    " have the product 2 I.",
)


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


@MAJORISED.mutant("the first Jacobian at every time")
def _(J_0: Generator, J_1: Generator, J_2: Generator) -> Any:
    return _stacked([x * x * x for x in _partial_products(singular_values(J_0))])


SUM = Claim(
    DYNAMICS,
    "dynamics.sec-5.3-average-sum",
    label="Section 5.3, sum of the exponents",
    statement=r"\prod_i\alpha_i^{(T)}=\prod_{t<T}\prod_i\sigma_i(J_t)^2,\ \text{so that }\sum_i\lambda_i\text{ is the time"
    r" average of }\sum_i\ln\sigma_i(J)=\ln|\det J|",
    assumptions=["T = 3 arbitrary Jacobians"],
    relation=Equal(),
    sizes={"D": (1, 3)},
    exact=True,
    of_project=True,
)


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
