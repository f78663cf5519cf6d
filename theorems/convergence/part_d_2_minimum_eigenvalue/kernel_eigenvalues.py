"""The smallest eigenvalue of the limiting kernel: Lemma 19, its proof, and the remark after it.

lambda_min(K) is at most C_x^2 at any number of samples, so it cannot grow like N/d.
"""

from __future__ import annotations

from math import factorial, prod
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights, expected_relu_products, expected_step_products,
    last_hidden_layer, mean_tokens, outputs,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import ASSUMPTION_1, NOT_NARROW, sample_bound, stacked
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import pi_in, smallest_eigenvalue
from theorems.convergence.part_d_2_minimum_eigenvalue.many_samples import (
    ASSUMPTION_4, HIDDEN, MORE_SAMPLES, REPEATING, data_and_constant,
)  # fmt: skip
from theorems.convergence.settings import Dimension, Features, Scale, drawn
from verify.matrix import (
    absolute, concatenate, hadamard, rational, row_sums, singular_values, sqrt, symmetric_eigenvalues, trace,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, Equal, Real, checked


def limiting_kernel_of_means(Phi: Features) -> Any:
    """E relu relu^T + E relu' relu'^T o Phi Phi^T, shape (N, N): the limiting kernel for average pooling.

    For the sum over tokens it is d_s^2 times this (convergence.lemma-1-sum-pooling).
    """
    return expected_relu_products(Phi, Phi) + hadamard(expected_step_products(Phi, Phi), Phi @ Phi.T)


LEMMA_19 = Claim(MORE_SAMPLES, "convergence.lemma-19", label="Lemma 19",
    statement=r"""N\ge\Omega(d^4),\ \tau_0=d_m^{-1}:\ \text{w.p.}\ge1-e^{-d}:\
        \lambda_{\min}(K)\ge\mu(\sigma_r)^2\Omega(N/d)""",
    assumptions=[
        ASSUMPTION_4,
        Definition(
            "K the limiting kernel of Lemma 1 for the sum over tokens, which the proofs use; d_s^2 times that for the average",
            by=limiting_kernel_of_means,
        ),
        HIDDEN,
    ],
    name="smallest eigenvalue of the limiting kernel", relation=AtMost(left="c N / (4 d)", ascent=False, signed=True),
    expects="refuted", severity="error", correction="convergence.lemma-19-two-sided",
    proof=("convergence.lemma-17", "convergence.lemma-19-hermite", "convergence.lemma-19-numeric"),
    consequence="""More data do not raise the smallest eigenvalue of the limiting kernel, hence not the rate of
        training; use the bounds of convergence.lemma-19-two-sided.""",
    note=r"""The diagonal of $K$ is $d_s^2 |\phi_n|^2 \le d_s^2 C_x^2$, so $\lambda_{\min}(K) \le d_s^2 C_x^2$ for every
        $N$, and $N/d$ exceeds that. Samples uniform on $e_i$ and $-e_i$, $i \le d$, make $\lambda_{\min}(K) = 0$ with
        certainty as soon as $N > 2d$.""")  # fmt: skip


LEMMA_19.inputs(data_and_constant)


@LEMMA_19.formula
def smallest_eigenvalue_of_limiting_kernel(X: Samples) -> Any:
    """lambda_min(K) for the sum over tokens, which the printed bound may not exceed; a scalar (Lemma 19)."""
    return _of_limiting_kernel(X)


def _of_limiting_kernel(X: Any, of_spectrum: Any = smallest_eigenvalue) -> Any:
    return of_spectrum(limiting_kernel_of_means(mean_tokens(X))) * X.shape[1] ** 2


LEMMA_19.oracle(lambda X, c: c * rational(X.shape[0], 4 * X.shape[2]))
LEMMA_19.mutant("trace for smallest eigenvalue", of_spectrum=trace)
LEMMA_19.mutant("largest eigenvalue", of_spectrum=lambda K: symmetric_eigenvalues(K)[-1])
for title, samples in REPEATING:
    LEMMA_19.counterexample(title, X=samples, c="1/1000000000")


TWO_SIDED = Claim(CONVERGENCE, "convergence.lemma-19-two-sided", label="Lemma 19, bounds from both sides",
    statement=r"\tfrac12\lambda_{\min}(\Phi^*\Phi^{*\top})\le\lambda_{\min}(K)\le\tfrac1N\sum_n\|\phi_n\|_2^2\le C_x^2",
    assumptions=[
        Definition("K the limiting kernel for average pooling", by=limiting_kernel_of_means),
        Definition("phi_n the rows of Phi^*", by=mean_tokens), ASSUMPTION_1,
    ],
    name="smallest eigenvalue of the limiting kernel, corrected", relation=AtMost(),
    sizes={"N": (1, 4), "d_s": (1, 3), "d": (1, 4)}, uses=("convergence.eq-38",), corrects="convergence.lemma-19",
    of_project=True,
    note=r"""For the sum over tokens all members are $d_s^2$ times as large. $\mathrm{relu}' = (1 + \mathrm{sign})/2$
        gives the second part of $K$ the same lower bound $\Phi^* \Phi^{*\top}/4$ as the first. The lower bound says
        something for $N \le d$ only, and no lower bound can grow with $N$.""")  # fmt: skip


@TWO_SIDED.formula
def kernel_eigenvalue_bounds(X: Samples) -> Any:
    """lambda_min(K), the mean of |phi_n|^2, C_x^2; shape (3,)."""
    Phi = mean_tokens(X)
    C_x = sample_bound(X)
    mean = (Phi * Phi).sum() / X.shape[0]
    return stacked([smallest_eigenvalue(limiting_kernel_of_means(Phi)), mean, C_x * C_x])


def _bounded(X: Any) -> Any:
    Phi = mean_tokens(X)
    least = smallest_eigenvalue(limiting_kernel_of_means(Phi))
    half = smallest_eigenvalue(Phi @ Phi.T) * rational(1, 2)
    return stacked([half, least, (Phi * Phi).sum() / X.shape[0]])


TWO_SIDED.oracle(_bounded)
TWO_SIDED.mutant("first expectation only, with 1/2",
    "limiting_kernel_of_means(Phi) -> expected_relu_products(Phi, Phi)")  # fmt: skip
TWO_SIDED.mutant("C_x^2 / d_s", "C_x * C_x -> C_x * C_x / X.shape[1]")


HERMITE_ORDER = 8


def hermite_square(s: int, like: Any) -> Any:
    """mu_s(relu)^2 for the orthonormal Hermite polynomials: 1/(2 pi), 1/4, and ((s-3)!!)^2 / (2 pi s!) for even s >= 2."""
    if s == 1:
        return like * 0 + rational(1, 4)
    if s % 2:
        return like * 0
    odd = prod(range(1, s - 2, 2))
    return (like * 0 + rational(odd**2, 2 * factorial(s))) / pi_in(like)


def _chain(Phi: Any) -> tuple[Any, Any, Any]:
    gram = expected_relu_products(Phi, Phi)
    K = limiting_kernel_of_means(Phi)
    return smallest_eigenvalue(K), smallest_eigenvalue(gram), stacked([gram[n, n] for n in range(Phi.shape[0])])


def hermite_lower_members(Phi: Features) -> Any:
    """lambda_min of the expectation, lambda_min(Phi Phi^T)/4, and the diagonal of the partial sums."""
    _, gram, _ = _chain(Phi)
    squares = row_sums(Phi * Phi)
    partial = [sum(hermite_square(s, r) * r**s for s in range(HERMITE_ORDER + 1)) for r in squares[:, 0]]
    lower = stacked([gram, smallest_eigenvalue(Phi @ Phi.T) * rational(1, 4)])
    return concatenate([lower.reshape(1, -1), stacked(partial).reshape(1, -1)], axis=1)


HERMITE = Claim(CONVERGENCE, "convergence.lemma-19-hermite", label="Proof of Lemma 19, first display",
    statement=r"""\lambda_{\min}(K)>\lambda_{\min}(\mathbb
        E(\sigma_r(\Phi^*w)\sigma_r(\Phi^*w)^\top))=\lambda_{\min}\Big(
        \sum_{s=0}^\infty\mu_s(\sigma_r)^2\bigcirc_{i=1}^s(\Phi^*\Phi^{*\top})\Big)\ge\mu(\sigma_r)^2\lambda_{\min}(
        \Phi^*\Phi^{*\top})""",
    assumptions=[
        Construction("Phi^* as in Lemma 1: any N x d matrix is one, of samples of one token", shapes={"Phi": ("N", "d")}),
        Definition("mu_s(sigma_r): s-th Hermite coefficient of ReLU", by=hermite_square),
        Definition("circle: Hadamard product, whose diagonal is compared", by=hermite_lower_members),
    ],
    name="Hermite expansion of the ReLU kernel", relation=AtMost(ascent=False), sizes={"N": (1, 3), "d": (1, 3)},
    expects="refuted", severity="error", correction="convergence.lemma-19-hermite-normalised",
    note="""The series is the expectation for rows of norm 1 only; a row of norm $r$ has the diagonal $r^2/2$, the
        series another value or none. The diagonal of the partial sums, all terms of which are nonnegative, is compared
        here; with the identity every partial sum of a single row would be at most the expectation. The first inequality
        is not strict for repeated samples (both sides 0). First and last member compare as stated, by
        convergence.eq-38.""")  # fmt: skip


@HERMITE.formula
def hermite_upper_members(Phi: Features) -> Any:
    """lambda_min(K), lambda_min of the expectation, its diagonal; shape (1, N + 2) (proof of Lemma 19)."""
    K, gram, diagonal = _chain(Phi)
    return concatenate([stacked([K, gram]).reshape(1, -1), diagonal.reshape(1, -1)], axis=1)


HERMITE.oracle(hermite_lower_members)
HERMITE.mutant("diagonal halved", "diagonal.reshape(1, -1) -> diagonal.reshape(1, -1) / 2")
HERMITE.mutant("second part of the kernel only",
    "K -> smallest_eigenvalue(hadamard(expected_step_products(Phi, Phi), Phi @ Phi.T)) / 2")  # fmt: skip
HERMITE.counterexample(
    "one row of norm^2 1/2, (1/2, 1/2): the expectation is 1/4, two terms of the series already 0.28",
    Phi=[["1/2", "1/2"]],
)
HERMITE.counterexample("one row of norm 2: the expectation is 2, the partial sums exceed 4", Phi=[[2]])


NORMALISED = Claim(CONVERGENCE, "convergence.lemma-19-hermite-normalised",
    label="Proof of Lemma 19, Hermite series with the norms of the rows",
    statement=r"""\Big|\mathbb E\,\sigma_r(\phi_n^\top w)\sigma_r(\phi_r^\top
        w)-\|\phi_n\|\|\phi_r\|\sum_{s=0}^8\mu_s(\sigma_r)^2
        \cos^s\angle(\phi_n,\phi_r)\Big|
        \le\|\phi_n\|\|\phi_r\|\Big(\tfrac12-\sum_{s=0}^8\mu_s(\sigma_r)^2\Big),\text{ as the whole series has it, whose sum
        is the expectation}""",
    assumptions=[Assumption("no row vanishes", positive=lambda Phi: row_sums(Phi * Phi))],
    name="Hermite expansion of the ReLU kernel, corrected", relation=AtMost(), sizes={"N": (1, 3), "d": (1, 3)},
    corrects="convergence.lemma-19-hermite", of_project=True,
    note=r"""The bound is the rest of the series at a cosine of 1. The constant follows from $\sum_s \mu_s^2 = E
        \mathrm{relu}(g)^2 = 1/2$ for a standard normal $g$.""")  # fmt: skip


def _norms(Phi: Any) -> Any:
    return sqrt(row_sums(Phi * Phi))


def _remainder(Phi: Any, order: int, norms_of: Any = _norms) -> Any:
    """|phi_n| |phi_r| (1/2 - sum_{s <= order} mu_s^2), shape (N, N)."""
    norms = norms_of(Phi)
    like = norms[0, 0]
    rest = rational(1, 2) - sum(hermite_square(s, like) for s in range(order + 1))
    return norms @ norms.T * rest


@NORMALISED.formula
def remainder_of_hermite_series(Phi: Features) -> Any:
    """The largest possible rest of the series after s = 8, shape (N, N)."""
    return _remainder(Phi, HERMITE_ORDER)


@NORMALISED.oracle
def deviation_from_partial_sum(Phi: Features) -> Any:
    norms = _norms(Phi)
    sizes = norms @ norms.T
    cosines = Phi @ Phi.T / sizes
    power, series = cosines * 0 + 1, cosines * 0
    for s in range(HERMITE_ORDER + 1):
        series = series + power * hermite_square(s, norms[0, 0])
        power = power * cosines
    return absolute(expected_relu_products(Phi, Phi) - series * sizes)


NORMALISED.mutant("rest after s = 10", order=HERMITE_ORDER + 2)
NORMALISED.mutant("norms dropped", norms_of=lambda Phi: _norms(Phi) / _norms(Phi))


Ratio = Annotated[Any, Real(1.0, 12.0)]
LargeRatio = Annotated[Any, Real(18.0, 64.0)]


def _printed_growth(t: Any, d: int) -> Any:
    """N/d - 9 N^{2/3} d^{1/3} at N = t^3 d^4."""
    return (t**3 - t * t * 9) * d**3


@checked
def mean_diagonal_of_kernel(t: Ratio, d: Dimension) -> Any:
    """E relu(w_1)^2 + E relu'(w_1)^2 = 1, the mean of the diagonal of K for tokens of norm 1; a scalar (Lemma 19)."""
    return t * 0 + 1


NUMERIC = Claim(CONVERGENCE, "convergence.lemma-19-numeric", label="Proof of Lemma 19, last display",
    statement=r"""\lambda_{\min}(K)\ge\mu(\sigma_r)^2\Big(\frac Nd-9N^{2/3}d^{1/3}\Big)=\mu(\sigma_r)^2\Theta(N/d)\
        \text{when }N\ge\Omega(d^4)""",
    assumptions=[
        Definition("N = t^3 d^4", by=_printed_growth),
        Definition(
            "d_s = 1 and tokens of norm 1; lambda_min(K) is at most the mean of the diagonal of K, which then is 1",
            by=mean_diagonal_of_kernel,
        ),
        Assumption("t > 0", positive=lambda t: t),
    ],
    name="growth of the limiting kernel's eigenvalue",
    relation=AtMost(left="the printed lower bound on lambda_min(K)", ascent=False, signed=True), sizes={"d": (1, 4)},
    expects="refuted", severity="error", correction="convergence.lemma-19-numeric-order",
    presumes=("convergence.lemma-17",),
    note=r"""Use convergence.lemma-19-two-sided in its place; the linked form keeps the arithmetic alone. The bound is
        negative, and empty, for $N \le 729 d^4$, and beyond that it outgrows the diagonal of $K$: from $t = 10$ on it
        is at least $25 d^3$. The arithmetic alone is right (convergence.lemma-19-numeric-order).""")  # fmt: skip
NUMERIC.formula(mean_diagonal_of_kernel)
NUMERIC.oracle(lambda t, d: _printed_growth(t, d) * rational(1, 4))
NUMERIC.mutant("first expectation only", "1 -> rational(1, 2)")
NUMERIC.mutant("trace instead of mean", lambda t, d: t**3 * d**4)
NUMERIC.counterexample("d = 1, N = 1000: the bound is 25, the diagonal of K is 1", t="10", d=1)


NUMERIC_ORDER = Claim(CONVERGENCE, "convergence.lemma-19-numeric-order",
    label="Proof of Lemma 19, last display, the arithmetic", name="growth of the printed eigenvalue bound",
    statement=r"N\ge5832d^4\ \Rightarrow\ \frac{N}{2d}\le\frac Nd-9N^{2/3}d^{1/3}\le\frac Nd",
    assumptions=[Assumption("t = (N / d^4)^{1/3} >= 18", nonnegative=lambda t: t - 18)],
    relation=AtMost(left="N / (2d), and the printed bound"), all_sizes=True, sizes={"d": (1, 4)},
    corrects="convergence.lemma-19-numeric", of_project=True,
    note=r"""$N = t^3 d^4$ with $t \ge 18$ gives $9 N^{2/3} d^{1/3} = 9 t^2 d^3 \le t^3 d^3/2$. Equality at $t = 18$;
        the sign changes at $t = 9$.""")  # fmt: skip


@NUMERIC_ORDER.formula
def larger_growth(t: LargeRatio, d: Dimension) -> Any:
    """N/d - 9 N^{2/3} d^{1/3}, and N/d; shape (2,)."""
    return stacked([_printed_growth(t, d), t**3 * d**3])


NUMERIC_ORDER.oracle(lambda t, d: stacked([t**3 * d**3 * rational(1, 2), _printed_growth(t, d)]))
NUMERIC_ORDER.mutant("18 for 9", lambda t, d: stacked([(t**3 - t * t * 18) * d**3, t**3 * d**3]))
NUMERIC_ORDER.mutant("N^{2/3} d^{1/3} for N/d", "t ** 3 * d ** 3 -> t * t * d ** 3")


BY_SAMPLES = Definition("F_pre in R^{N x d_m}", by=last_hidden_layer)

REMARK_ALPHA = Claim(CONVERGENCE, "convergence.remark-alpha", label="Remark after Lemma 19",
    statement=r"""d_m\ge N:\ \alpha^2=\lambda_{\min}((F_{pre}^0)^\top F_{pre}^0),\ \text{which is the exact minimum
        eigenvalue of the empirical NTK with respect to the output-layer weight},\ \alpha=\sigma_{\min}(F_{pre}^0)""",
    assumptions=[BY_SAMPLES, NOT_NARROW],
    name="hidden-layer singular value and output kernel", relation=Equal(),
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 4)},
    expects="refuted", severity="slip", correction="convergence.remark-alpha-transposed",
    note=r"""The transpose belongs to the second factor: $F_{pre}$ is $N \times d_m$ (Section 3.2, Table 2),
        $F_{pre}^\top F_{pre}$ is $d_m \times d_m$ and singular for $d_m > N$, where the lemma speaks of $d_m \ge N$;
        Appendix C.3 writes $F_{pre} F_{pre}^\top$. Right for the $d_m \times N$ matrix $[f_{pre}(X_1), \dots,
        f_{pre}(X_N)]$ of Appendix C.7, and for $d_m = N$.""")  # fmt: skip


def _descending(B: Any) -> Any:
    """The eigenvalues of a symmetric matrix from the largest on."""
    return -symmetric_eigenvalues(-B)


@REMARK_ALPHA.formula
def smallest_eigenvalue_as_printed(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale,
                                   tau_1: Scale) -> Any:  # fmt: skip
    """lambda_min(F_pre^T F_pre) of the d_m x d_m matrix, beside alpha^2 and beside the kernel; shape (2,)."""
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1)
    least = _descending(F.T @ F)[-1]
    return stacked([least, least])


@REMARK_ALPHA.oracle
def alpha_squared_and_output_kernel(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                                    w_O: OutputWeights, tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    """sigma_min(F_pre)^2, and the smallest eigenvalue of the kernel of the output weights."""
    J = jacobian(outputs, "w_O")(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    alpha = singular_values(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1))[-1]
    return stacked([alpha * alpha, _descending(J @ J.T)[-1]])


weights_and_samples = drawn(
    X=Samples, W_Q=QueryWeights, W_K=KeyWeights, W_V=ValueWeights, w_O=OutputWeights, tau_0=Scale, tau_1=Scale
)
REMARK_ALPHA.inputs(weights_and_samples)
REMARK_ALPHA.mutant("largest eigenvalue", "_descending(F.T @ F)[-1] -> _descending(F.T @ F)[0]")
REMARK_ALPHA.mutant("trace", "_descending(F.T @ F)[-1] -> (F * F).sum()")
REMARK_ALPHA.counterexample(
    "F_pre = [[1, 0, 0], [0, 2, 0]]: alpha^2 = 1, the smallest eigenvalue of F_pre^T F_pre is 0",
    X=[[[1, 0]], [[0, 1]]], W_Q=[[0, 0]] * 3, W_K=[[0, 0]] * 3, W_V=[[1, 0], [0, 2], [0, 0]], w_O=[[1], [1], [1]],
    tau_0=1, tau_1=1,
)  # fmt: skip


ALPHA_TRANSPOSED = Claim(CONVERGENCE, "convergence.remark-alpha-transposed",
    label="Remark after Lemma 19, with the transpose on the second factor",
    statement=r"""d_m\ge N:\ \alpha^2=\sigma_{\min}(F_{pre}^0)^2=\lambda_{\min}(F_{pre}^0(F_{pre}^0)^\top),\
        F_{pre}\in\mathbb R^{N\times d_m},\text{ the minimum eigenvalue of the empirical NTK with respect to }w_O""",
    name="hidden-layer singular value and output kernel, corrected", assumptions=[BY_SAMPLES, NOT_NARROW],
    general="It holds of every matrix in the place of the hidden layer.",
    relation=Equal(), sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 4)},
    corrects="convergence.remark-alpha", of_project=True,
    note="""All squared singular values are compared with the eigenvalues, which gives the least of them the rounding of
        the largest; the kernel is formed from the derivatives of all outputs in $w_O$.""",
)  # fmt: skip


@ALPHA_TRANSPOSED.formula
def squared_singular_values(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale,
                            tau_1: Scale) -> Any:  # fmt: skip
    """The squared singular values of F_pre, descending, alpha^2 the last; shape (N,) (after Lemma 19)."""
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1)
    return singular_values(F) ** 2


@ALPHA_TRANSPOSED.oracle
def eigenvalues_of_output_kernel(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                                 tau_0: Scale, tau_1: Scale) -> Any:  # fmt: skip
    J = jacobian(outputs, "w_O")(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return _descending(J @ J.T)


ALPHA_TRANSPOSED.inputs(weights_and_samples)
ALPHA_TRANSPOSED.mutant("alpha instead of alpha^2", "singular_values(F) ** 2 -> singular_values(F)")
ALPHA_TRANSPOSED.mutant("transposed: the d_m x d_m matrix",
    "singular_values(F) ** 2 -> _descending(F.T @ F)[F.shape[1] - F.shape[0]:]")  # fmt: skip
