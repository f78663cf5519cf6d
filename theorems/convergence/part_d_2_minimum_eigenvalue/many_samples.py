"""Gram matrices of more samples than dimensions: Lemmas 17 and 18.

A Gram matrix of N > d vectors in R^d is singular, and lambda_0 is bounded in N: neither grows like N/d.
"""

from __future__ import annotations

import math
from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Samples, mean_tokens
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import expected_gram, lambda_0, smallest_eigenvalue
from theorems.convergence.settings import Features, Hidden, Square, Support, Variance, drawn
from verify.matrix import (
    concatenate, each, rational, smallest_singular_value, stack_rows, summed, symmetric_eigenvalues, trace,
)  # fmt: skip
from verify.oracles import LawTest, at_most_probability
from verify.vocabulary import (
    Assumption, AtMost, Claim, Construction, Definition, Equal, FollowsLaw, PowerRate, Setting, TendsTo,
)  # fmt: skip

HIDDEN = Assumption("c > 0, the constant hidden in Theta or Omega", positive=lambda c: c)
ASSUMPTION_4 = Definition(
    "samples of a law that meets Assumption 4: Sigma = E[x x^T] is positive definite, x the sum of the tokens",
    by=mean_tokens,
)


MANY = Assumption("N > d, as N >= Omega(d^4) has it for large d", sizes=lambda sizes: sizes["N"] > sizes["d"])
MORE_SAMPLES = Setting(
    CONVERGENCE, "Lemmas 17-19: N > d", assumptions=[MANY], sizes={"N": (2, 6), "d_s": (1, 3), "d": (1, 3)},
)  # fmt: skip
LAWS = Setting(CONVERGENCE, "Proof of Lemma 17", sizes={"m": (1, 3), "d_s": (1, 3), "d": (1, 3)}, exact=True)

LEMMA_17 = Claim(MORE_SAMPLES, "convergence.lemma-17", label="Lemma 17",
    statement=r"N\ge\Omega(d^4):\ \text{w.p.}\ge1-e^{-d}:\ \lambda_{\min}(\Phi^*\Phi^{*\top})\ge\Theta(N/d)",
    name="smallest eigenvalue of the mean-token Gram matrix", assumptions=[ASSUMPTION_4, HIDDEN],
    relation=AtMost(left="c N / d", ascent=False, signed=True), expects="refuted", severity="error",
    correction="convergence.lemma-17-chernoff", proof=("convergence.lemma-17-eig-swap", "convergence.lemma-17-zcov"),
    note=r"""$\Phi^* \Phi^{*\top}$ has $N$ rows and rank at most $d$, so for $N > d$ its smallest eigenvalue is 0 for
        all data: the event has probability 0. What grows like $N$ is the smallest eigenvalue of the $d \times d$ matrix
        $\Phi^{*\top} \Phi^*$. With the smallest nonzero eigenvalue for $\lambda_{\min}$ the statement would be that of
        convergence.lemma-17-gram; Table 2 has $\lambda_{\min}$ as the minimum eigenvalue, and Lemmas 18 and 19 use it
        as a bound below all $N$ of them.""",
    consequence=r"""For more samples than dimensions the $N \times N$ matrix is singular, so no width or rate may rest
        on this bound; for the $d \times d$ matrix use convergence.lemma-17-chernoff.""",
)  # fmt: skip


data_and_constant = drawn(X=Samples, c=Hidden)
LEMMA_17.inputs(data_and_constant)


@LEMMA_17.formula
def eigenvalue_of_mean_tokens(X: Samples) -> Any:
    """lambda_min(Phi^* Phi^{*T}), which the printed bound may not exceed; a scalar (Lemma 17)."""
    Phi = mean_tokens(X)
    return smallest_eigenvalue(Phi @ Phi.T)


LEMMA_17.oracle(lambda X, c: c * X.shape[0] / X.shape[2])
LEMMA_17.mutant("the d x d matrix Phi^{*T} Phi^*", "Phi -> Phi.T; Phi.T -> Phi")
LEMMA_17.mutant("largest eigenvalue", "smallest_eigenvalue(Phi @ Phi.T) -> symmetric_eigenvalues(Phi @ Phi.T)[-1]")
LEMMA_17.counterexample("d = 1, N = 2, samples 1 and -1, which the fair law on {1, -1} gives; hidden constant 10^-9",
    X=[[[1]], [[-1]]], c="1/1000000000")  # fmt: skip
LEMMA_17.counterexample("d = 2, N = 16 = d^4, samples e_1 and e_2 in turn; hidden constant 10^-9",
    X=[[[1, 0]], [[0, 1]]] * 8, c="1/1000000000")  # fmt: skip


def sums_of_tokens(support: Any) -> Any:
    return stack_rows(each(support.shape[0], lambda a: support[a].sum(0)))


LEMMA_17_GRAM = Claim(CONVERGENCE, "convergence.lemma-17-gram", label="Lemma 17, for the d x d matrix",
    statement=r"""\tfrac1N\Phi^{*\top}\Phi^*\to\Sigma/d_s^2\ (N\to\infty),\text{ hence
        }\lambda_{\min}(\Phi^{*\top}\Phi^*)\sim N\lambda_{\min}(\Sigma)/d_s^2""",
    assumptions=[
        Definition(
            "Assumption 4: Sigma = E[x x^T], x the sum of the tokens; samples independent and uniform on the rows of `support`",
            by=sums_of_tokens,
        ),
    ],
    name="second moment of mean tokens, limit",
    relation=TendsTo((64, 256, 1024, 4096, 16384), PowerRate(0.5), instances=4),
    sizes={"m": (3, 4), "d_s": (1, 3), "d": (1, 3)}, of_project=True,
    note="$N$ takes the place of the scale. The eigenvalue follows from the matrices by Weyl's inequality.",
)  # fmt: skip


@LEMMA_17_GRAM.formula
def limitingsecond_moment(support: Support) -> Any:
    """Sigma / d_s^2, shape (d, d)."""
    m, d_s = support.shape[:2]
    sums = sums_of_tokens(support)
    return sums.T @ sums * rational(1, m * d_s**2)


@LEMMA_17_GRAM.part("sequence")
def empiricalsecond_moment(support: Support, scale: int, generator: Any) -> Any:
    import torch

    chosen = torch.randint(support.shape[0], (scale,), generator=generator, device=support.device)
    Phi = support[chosen].mean(1)
    return Phi.T @ Phi / scale


LEMMA_17_GRAM.mutant("Sigma / d_s, as for independent centred tokens", "d_s ** 2 -> d_s")
LEMMA_17_GRAM.mutant("square of the mean", "sums -> sums.sum(0).reshape(1, -1); m * d_s ** 2 -> m ** 2 * d_s ** 2")


def spanning_support(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Tokens near to one unit vector for each row of the support, so that Sigma is well conditioned."""
    support = arrays["support"]
    support[:] = rng.integers(-2, 3, support.shape) / 16
    for a in range(sizes["m"]):
        support[:, a, :, a % sizes["d"]] += 1


LAW_DELTA = 1 / 4

CHERNOFF_17 = Claim(CONVERGENCE, "convergence.lemma-17-chernoff",
    label="Lemma 17, for the d x d matrix and finitely many samples", name="matrix Chernoff bound for mean tokens",
    statement=r"""P\Big(\lambda_{\min}(\Phi^{*\top}\Phi^*)<\frac{N\lambda_{\min}(\Sigma)}{2d_s^2}\Big) \le
        d\exp\Big(-\frac{N\lambda_{ \min}(\Sigma)}{8d_s^2C_x^2}\Big), \quad\Sigma=\mathbb E[xx^\top], \
        x=\sum_{i=1}^{d_s}(X^{(i,:)})^\top, \ \|X\|_F \le \sqrt{d_s}C_x, \ \Phi^*=[\tfrac1{d_s}X_1^\top\mathbf
        1,\dots,\tfrac1{d_s}X_N^\top\mathbf 1]^\top""",
    assumptions=[
        Definition(
            "X_1, ..., X_N independent and uniform on the rows of `support`; N the least number for which the right-hand side is "
            "at most 1/4", by=LAW_DELTA,
        ),
    ],
    relation=FollowsLaw(samples=200, instances=3), domains=[], sizes={"m": (3, 4), "d_s": (1, 3), "d": (1, 3)},
    corrects="convergence.lemma-17", of_project=True,
    note=r"""The matrix Chernoff bound at half of the mean: for the rows $\phi$ of $\Phi^*$, $N$ matrices $\phi
        \phi^\top$ of norm at most $C_x^2$, with the mean $\Sigma / d_s^2$. It holds for any law of bounded
        samples. The $N \times N$ matrix of the lemma has the
        same nonzero eigenvalues.""")  # fmt: skip


@CHERNOFF_17.formula
def half_of_expected_eigenvalue(N: int, least: float, d_s: int) -> float:
    """N lambda_min(Sigma) / (2 d_s^2)."""
    return N * least / (2 * d_s**2)


@CHERNOFF_17.part("laws")
def eigenvalues_of_samples(formula: Any, generator: Any, samples: int, support: Support) -> list[LawTest]:
    """Whether lambda_min(Phi^{*T} Phi^*) falls below the bound too often."""
    import torch

    support = torch.as_tensor(support, dtype=torch.float64, device=generator.device)
    m, d_s, d = support.shape
    sums = support.sum(1)
    least = float(torch.linalg.eigvalsh(sums.T @ sums / m)[0])
    bound = float((support * support).sum((1, 2)).max() / d_s)  # C_x^2
    N = math.ceil(8 * d_s**2 * bound / least * math.log(d / LAW_DELTA))
    Phi = support[torch.randint(m, (samples, N), generator=generator, device=generator.device)].mean(2)
    below = torch.linalg.eigvalsh(Phi.mT @ Phi)[:, 0] < formula(N, least, d_s)
    return [at_most_probability(f"below the bound at N = {N}", int(below.sum()), samples, LAW_DELTA)]


CHERNOFF_17.inputs(drawn(support=Support))
CHERNOFF_17.domain("spanning support", spanning_support)
CHERNOFF_17.mutant("twice the mean", "2 * d_s ** 2 -> d_s ** 2 / 2")
CHERNOFF_17.mutant("3/2 of the mean", "2 * d_s ** 2 -> d_s ** 2 * 2 / 3")


EIG_SWAP = Claim(MORE_SAMPLES, "convergence.lemma-17-eig-swap", label="Proof of Lemma 17, first display",
    statement=r"""\lambda_{\min}(\Phi^*\Phi^{*\top})= \lambda_{\min}(\Phi^{*\top}\Phi^*)=
        \lambda_{\min}(\Sigma^{1/2}Z^{*\top}Z^* \Sigma^{1/2\top})\ge\lambda_{\min}(Z^{*
        \top}Z^*)\lambda_{\min}(\Sigma)\ge \lambda_{\min}(Z^{*\top}Z^*)C_\Sigma""",
    assumptions=[Construction("Phi^* in R^{N x d}", shapes={"Phi": ("N", "d")})],
    name="smallest eigenvalues of both Gram matrices", relation=Equal(), sizes=("N", "d"), expects="refuted",
    severity="error", correction="convergence.lemma-17-eig-swap-nonzero",
    note=r"""The two matrices share their nonzero eigenvalues only. For $N > d$ the first is singular. Judged is
        the first equality; the inequalities are right for the $d \times d$ matrix.""")  # fmt: skip


@EIG_SWAP.formula
def printed_swapped_eigenvalue(Phi: Features) -> Any:
    """lambda_min(Phi^{*T} Phi^*), a scalar: the second member (proof of Lemma 17)."""
    return smallest_eigenvalue(Phi.T @ Phi)


EIG_SWAP.oracle(lambda Phi: smallest_eigenvalue(Phi @ Phi.T))
EIG_SWAP.mutant("largest eigenvalue", lambda Phi: symmetric_eigenvalues(Phi.T @ Phi)[-1])
EIG_SWAP.mutant("singular value for eigenvalue", lambda Phi: smallest_singular_value(Phi))
EIG_SWAP.counterexample("rows (3, 0), (0, 2), (0, 0): 4 and 0", Phi=[[3, 0], [0, 2], [0, 0]])
EIG_SWAP.counterexample("Phi = (1, 1)^T: 2 and 0", Phi=[[1], [1]])


EIG_SWAP_NONZERO = Claim(CONVERGENCE, "convergence.lemma-17-eig-swap-nonzero",
    label="Proof of Lemma 17, first display for the d largest eigenvalues",
    statement=r"""\lambda_d(\Phi^*\Phi^{*\top})= \lambda_{\min}(\Phi^{*\top}\Phi^*)\ge \lambda_{\min}(Z^{*\top}Z^*)
        \lambda_{\min}( \Sigma),\quad\lambda_1\ge\dots\ge\lambda_N""",
    assumptions=[
        Assumption("N >= d", sizes=lambda sizes: sizes["N"] >= sizes["d"]),
        Definition("Phi^* = Z^* S with S = R + R^T symmetric, Sigma = S^2", by=smallest_eigenvalue),
    ],
    name="smallest eigenvalues of both Gram matrices, corrected", relation=AtMost(), sizes={"N": (1, 4), "d": (1, 3)},
    corrects="convergence.lemma-17-eig-swap", of_project=True,
)  # fmt: skip


@EIG_SWAP_NONZERO.formula
def smallest_of_the_d_largest(Z: Features, R: Square) -> Any:
    """lambda_d(Phi^* Phi^{*T}), counted from the largest, a scalar; S = R + R^T."""
    Phi = Z @ (R + R.T)
    return symmetric_eigenvalues(Phi @ Phi.T)[Z.shape[0] - Z.shape[1]]


@EIG_SWAP_NONZERO.oracle
def product_of_smallest_eigenvalues(Z: Features, R: Square) -> Any:
    S = R + R.T
    return smallest_eigenvalue(Z.T @ Z) * smallest_eigenvalue(S @ S)


EIG_SWAP_NONZERO.mutant("halved", lambda value: value * rational(1, 2))
EIG_SWAP_NONZERO.mutant("smallest of all, as printed", "Z.shape[0] - Z.shape[1] -> 0")


def second_moment(rows: Any) -> Any:
    return rows.T @ rows * rational(1, rows.shape[0])


ZCOV = Claim(LAWS, "convergence.lemma-17-zcov", label="Proof of Lemma 17 with Assumption 4",
    statement=r"""\text{Assumption 4: }x=\sum_{i=1}^{d_s}(X^{(i,:)})^\top,\ \Sigma=\mathbb E[xx^\top];\ \text{proof:
        }x=X_n^{(i,:)\top},\ z=\Sigma^{-1/2}x,\ \mathbb E[zz^\top]=I_d;\ \text{rows of }Z^*:\
        \tfrac1{d_s}\sum_iX_n^{(i,:)}\Sigma^{-1/2}""",
    assumptions=[
        Definition("Sigma of Assumption 4, and of single tokens; X uniform on the rows of `support`", by=sums_of_tokens),
        Definition(
            "E[z z^T] = I_d for the rows z of Z^*, as the next step needs it, is E[phi phi^T] = Sigma for the rows phi of Phi^*",
            by=second_moment,
        ),
    ],
    name="covariance of whitened tokens", relation=Equal(), expects="refuted", severity="error",
    correction="convergence.lemma-17-zcov-mean-tokens",
    note=r"""Three vectors are called $x$: the sum of the tokens, one token, and through $\Phi^*$ their mean. With
        Assumption 4 the rows of $Z^*$ have second moment $I/d_s^2$; with the $\Sigma$ of single tokens it is $I$ only
        where all tokens of a sample agree. The loss is a factor $d_s^2$. Taken alone, $E[z z^\top] = I_d$ is true for
        the $z$ and $\Sigma$ of the proof; but the $x$ recalled is not that of Assumption 4, and the rows of $Z^*$, for
        which it is used, are no such $z$.""")  # fmt: skip


@ZCOV.formula
def printed_second_moments_of_rows(support: Support) -> Any:
    """Sigma by the sum of the tokens, and by single tokens, on top of each other; shape (2d, d) (proof of Lemma 17)."""
    m, d_s, d = support.shape
    return concatenate([second_moment(sums_of_tokens(support)), second_moment(support.reshape(m * d_s, d))], axis=0)


def _of_rows(support: Any) -> Any:
    """E[phi phi^T] for phi the mean token, by the mean of outer products, twice; shape (2d, d)."""
    m, d_s, _ = support.shape

    def square(a: int) -> Any:
        mean = support[a].sum(0).reshape(1, -1) * rational(1, d_s)
        return mean.T @ mean

    moment = summed(m, square) * rational(1, m)
    return concatenate([moment, moment], axis=0)


ZCOV.oracle(_of_rows)
ZCOV.mutant(
    "second moment of the sums doubled",
    "second_moment(sums_of_tokens(support)) -> 2 * second_moment(sums_of_tokens(support))",
)
ZCOV.mutant(
    "sum over tokens instead of their average",
    lambda value, support: concatenate([value[: len(value) // 2], value[len(value) // 2 :] * support.shape[1]], axis=0),
)
ZCOV.counterexample("one sample of the tokens 1 and 1: Sigma = 4 for the sum, E[phi^2] = 1", support=[[[1], [1]]])
ZCOV.counterexample(
    "one sample of the tokens 1 and 0: 1 for the sum, 1/2 for single tokens, E[phi^2] = 1/4", support=[[[1], [0]]]
)


ZCOV_MEANS = ZCOV.corrected("convergence.lemma-17-zcov-mean-tokens",
    label="Proof of Lemma 17, second moment of the rows of Phi^*", name="covariance of whitened tokens, corrected",
    statement=r"""\mathbb E[\phi\phi^\top]=\Sigma/d_s^2\text{ for the rows }\phi\text{ of }\Phi^*,\text{ so }\mathbb
        E[zz^\top]=I_d/d_s^2\text{ for those of }Z^*""",
    assumptions=[
        Definition(
            "Assumption 4: Sigma = E[x x^T], x the sum of the tokens; X uniform on the rows of `support`", by=sums_of_tokens
        )
    ],
    all_sizes=True)  # fmt: skip


@ZCOV_MEANS.formula
def second_moment_of_mean_tokens(support: Support) -> Any:
    """Sigma / d_s^2 twice, shape (2d, d)."""
    moment = second_moment(sums_of_tokens(support)) * rational(1, support.shape[1] ** 2)
    return concatenate([moment, moment], axis=0)


ZCOV_MEANS.mutant("Sigma, as the proof needs it", "support.shape[1] ** 2 -> 1")
ZCOV_MEANS.mutant("Sigma / d_s", "support.shape[1] ** 2 -> support.shape[1]")


#: More than 2d samples from {e_i, -e_i}: two of them are equal, and every kernel of them is singular.
REPEATING = (
    ("d = 1, N = 3 samples from {1, -1}, two of them equal; hidden constant 10^-9", [[[1]], [[-1]], [[1]]]),
    (
        "d = 2, N = 5 samples from {e_1, -e_1, e_2, -e_2}; hidden constant 10^-9",
        [[[1, 0]], [[-1, 0]], [[0, 1]], [[0, -1]], [[1, 0]]],
    ),
)

LEMMA_18 = Claim(MORE_SAMPLES, "convergence.lemma-18", label="Lemma 18 (and C.8)",
    statement=r"""N\ge\Omega(d^4),\ d_m=\tilde\Omega(N^2\lambda_*^{-2}):\ \text{w.p.}\ge1-\delta-e^{-d}:\
        \lambda_0=\lambda_{\min}(\mathbb E_{w\sim N(0,\eta_VI_d)}[\sigma_r(\Phi w)\sigma_r(\Phi
        w)^\top])\ge\Theta(\eta_VN/d)""",
    assumptions=[
        ASSUMPTION_4,
        Definition(
            "Phi = Phi^*, the limit of infinite width; for d_s = 1, and in the counterexamples, it is so at every width",
            by=mean_tokens
        ),
        HIDDEN,
    ],
    name="growth of the Gram eigenvalue with samples", relation=AtMost(left="c eta_V N / d", ascent=False, signed=True),
    expects="refuted", severity="error", correction="convergence.lemma-18-closest-pair",
    proof=("convergence.eq-38", "convergence.lemma-16", "convergence.lemma-17"),
    consequence=r"""$\lambda_0$ does not grow with the number of samples, so linear over-parameterisation (Appendix C.8)
        has no support; for the given samples use bounds, from above convergence.lemma-18-closest-pair, from below
        convergence.lemma-15-separated.""",
    note=r"""What holds is an upper bound only (convergence.lemma-18-closest-pair); a lower bound for given separated
        samples, $N \le d$, is convergence.lemma-15-separated, and none grows with $N$. $\lambda_0$ is at most the mean
        of the diagonal, hence at most $\eta_V d_s C_x^2/2$ whatever $N$ (Eq. (42)), so it cannot grow with $N$. For the
        law uniform on the $2d$ vectors $e_i$ and $-e_i$ two of $N > 2d$ samples agree and $\lambda_0 = 0$ with
        certainty. Without repetition it still tends to 0 (convergence.lemma-18-closest-pair). For $N > d$ even
        $\lambda_* = 0$, and no finite width meets $d_m = \tilde\Omega(N^2 \lambda_*^{-2})$ literally; it is read with
        the paper's $\lambda_* = \Theta(N/d)$, or in the limit, as Appendix C.8 does. Taken literally it speaks of $N
        \le d$ only, and fails there too: at $N = d = d_s = 1$ for small $\epsilon$ the law uniform on $\{\epsilon,
        1\}$ has $\Sigma > 1/2$,
        $\lambda_* > 0$, and $\lambda_0 = \eta_V \epsilon^2/2$ with probability 1/2, which exceeds $\delta + 1/e$ for
        small $\delta$. With a constant above 1 hidden in $\Omega(d^4)$ the literal lemma is empty; its proof and its
        uses are not, and $\lambda_0$ at $d_s = 1$ does not depend on $d_m$ at all.""")  # fmt: skip


LEMMA_18.inputs(drawn(X=Samples, eta_V=Variance, c=Hidden))


@LEMMA_18.formula
def lambda_0_of_mean_tokens(X: Samples, eta_V: Variance) -> Any:
    """lambda_0 at Phi = Phi^*, which the printed bound may not exceed; a scalar (Lemma 18)."""
    return lambda_0(mean_tokens(X), eta_V)


LEMMA_18.oracle(lambda X, eta_V, c: c * eta_V * X.shape[0] / X.shape[2])
LEMMA_18.mutant("trace for smallest eigenvalue", lambda X, eta_V: trace(expected_gram(mean_tokens(X), eta_V)))
LEMMA_18.mutant("largest eigenvalue", lambda X, eta_V: symmetric_eigenvalues(expected_gram(mean_tokens(X), eta_V))[-1])
for (title, samples), variance in zip(REPEATING, (1, "1/2"), strict=True):
    LEMMA_18.counterexample(title, X=samples, eta_V=variance, c="1/1000000000")


CLOSEST_PAIR = Claim(CONVERGENCE, "convergence.lemma-18-closest-pair",
    label="Lemma 18, the bound by the closest pair of samples", name="Gram eigenvalue and the closest pair",
    statement=r"\lambda_0\le\frac{\eta_V}{4}\min_{n\ne r}\|\phi_n-\phi_r\|_2^2,\quad\phi_n\text{ the rows of }\Phi,\ \eta_V\ge0",
    assumptions=[
        Assumption("eta_V >= 0, a variance", nonnegative=lambda eta_V: eta_V),
        Assumption("N >= 2", sizes=lambda sizes: sizes["N"] >= 2),
    ],
    relation=AtMost(), sizes={"N": (2, 4), "d": (1, 4)}, corrects="convergence.lemma-18", of_project=True,
    note=r"""Along $(e_n - e_r)/\sqrt2$ the quadratic form is $E(\mathrm{relu}\,a - \mathrm{relu}\,b)^2/2 \le E(a -
        b)^2/4$ for $a = \Phi^{(n,:)}w$, $b = \Phi^{(r,:)}w$. $N$ points in a ball of $R^d$ come ever closer, so
        for bounded data at fixed $d$ it tends to 0 as $N$
        grows, for every width.""")  # fmt: skip


def _pairs(Phi: Any) -> list[tuple[int, int]]:
    return [(n, r) for n in range(Phi.shape[0]) for r in range(n)]


@CLOSEST_PAIR.formula
def quarter_of_squared_distances(Phi: Features, eta_V: Variance) -> Any:
    """eta_V |phi_n - phi_r|^2 / 4 for all pairs, stacked."""
    shifts = [Phi[n] - Phi[r] for n, r in _pairs(Phi)]
    return stacked([(shift * shift).sum() * eta_V * rational(1, 4) for shift in shifts])


@CLOSEST_PAIR.oracle
def lambda_0_for_every_pair(Phi: Features, eta_V: Variance) -> Any:
    least = lambda_0(Phi, eta_V)
    return stacked([least for _ in _pairs(Phi)])


CLOSEST_PAIR.mutant("1/16", denominator=16)
CLOSEST_PAIR.mutant("eta_V^2", "(shift * shift).sum() -> (shift * shift).sum() * eta_V")
