"""Eq. (31) and the last sentences of the proof in Section A.4.3: that K is well-conditioned.

A small E alone says nothing: the inference needs E small beside the smallest singular value of B, and a gap of the logits
suffices for that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theorems.shared import reached
from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens, Weights
from theorems.skipless.part_a4_2_softmax_jacobian.bounds_by_gap import collinear_tokens, separated_tokens
from theorems.skipless.part_a4_2_softmax_jacobian.lemma_1 import Alpha, Beta, Constant
from theorems.skipless.part_a4_2_softmax_jacobian.softmax_jacobian import (
    Product, attention, attention_lost, smallest_gap, weights_norm,
)  # fmt: skip
from theorems.skipless.part_a4_3_conditioning.perturbation import (
    ANY_TOKENS, ORTHONORMAL, SECOND_PART, SIZES, SPLIT, Rotation, Scaling, attention_derivative, dominant_term, initial_values,
    orthonormal_factors, perturbation,
)  # fmt: skip
from theorems.skipless.part_5_initialisation.proposition_1 import SEVERAL
from theorems.skipless.quantities import initial_product, minimum
from verify.matrix import column, exp, rational, singular_values, spectral_norm
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Setting, realises
from verify.vocabulary.hypotheses import orthonormal_columns


@realises({"U, V orthonormal": reached.ROTATIONS})
def tokens_and_factors(X: Tokens, W: Product, G: Rotation, H: Rotation, c: Scaling) -> dict[str, Any]:
    return {"X": X, "W": W, **orthonormal_factors(G, H, c)}


@realises({"U, V orthonormal": reached.ROTATIONS})
def tokens_factors_and_scales(
    X: Tokens, Z: Weights, G: Rotation, H: Rotation, c: Scaling, alpha: Alpha, beta: Beta, C: Constant
) -> dict[str, Any]:
    return {"X": X, "Z": Z, **orthonormal_factors(G, H, c), "alpha": alpha, "beta": beta, "C": C}


def far_apart(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Separated tokens and large weights, at the scalings used in the paper and below."""
    separated_tokens(arrays, sizes, rng)
    for k in range(sizes["d"]):
        arrays["W"][:, k, k] += 7.0
    arrays["c"][:] = rng.choice([0.5, 1.0, 3.0], len(arrays["c"]))


SECTION_A4_3 = Setting(SKIPLESS, "Section A.4.3", assumptions=[ORTHONORMAL], sizes=SIZES)
OF_ORDER = SECTION_A4_3.extended(inputs=tokens_factors_and_scales)
BY_WEIGHTS = SECTION_A4_3.extended(inputs=tokens_and_factors,
    special_domains={"separated tokens": separated_tokens, "tokens far apart": far_apart})  # fmt: skip

EQ_31 = Claim(OF_ORDER, "skipless.eq-31", label="Eq. (31)", name="norm of the perturbation at initialisation",
    statement=r"\|\mathbf{W}_\ell^0\mathbf{W}_\ell^V\|_2\le\mathcal{O}(\alpha e^{-\beta})",
    assumptions=[
        Definition("A = softmax(X W X^T), W = alpha Z + beta I (Eq. (11))", by=initial_product),
        Definition("O(alpha e^-beta): at most C alpha e^-beta for a constant C, here any number given", by=exp),
        SECOND_PART,
    ],
    relation=AtMost(ascent=False), expects="refuted", severity="error",
    uses=("skipless.lemma-1", "skipless.eq-30", "skipless.a4.3-norm-one"), correction="skipless.eq-31-gap",
    note=r"""$\|E\|_2$ is meant on the left, as the next sentence has it, and the statement is false of either: the
        smaller of $\|W^OW^V\|_2$ and $\|E\|_2$ is compared, so that a counterexample breaks both. The printed left-hand
        side is $c^2$ whatever $\alpha$ and $\beta$. For $\|E\|_2$ the bound fails with Lemma 1 that it is drawn from:
        at $\alpha = 0$ it would say $E = 0$, for Gaussian tokens as for any others.""")  # fmt: skip


@EQ_31.formula
def printed_order_of_values(alpha: Alpha, beta: Beta, C: Constant) -> Any:
    """C alpha e^-beta, shape (1, 1) (Eq. (31))."""
    return column(C * alpha * exp(-beta))


@EQ_31.oracle
def smaller_of_both_norms(X: Tokens, Z: Weights, U: Rotation, V: Rotation, c: Scaling, alpha: Alpha, beta: Beta) -> Any:
    """The smaller of |W_O W_V|_2 and |E|_2, a scalar."""
    E = perturbation(X, initial_product(Z, alpha, beta), initial_values(U, V, c))
    return minimum(column(spectral_norm(V.T @ U * (c * c)), spectral_norm(E)))


ONE_BY_ONE: dict[str, Any] = {"U": [[1]], "V": [[1]]}
EQ_31.counterexample(
    "tokens 1 and 2, c = 1, alpha = 0, beta = 1/2, the values of Section A.8, C = 10^6",
    X=[[1], [2]], Z=[[1]], **ONE_BY_ONE, c=Fraction(1), alpha=Fraction(0), beta=Fraction(1, 2), C=Fraction(10**6),
)  # fmt: skip
EQ_31.counterexample(
    "tokens 1/2 and 1, c = 3, alpha = 1, beta = 40, C = 10^6",
    X=[[Fraction(1, 2)], [1]], Z=[[0]], **ONE_BY_ONE, c=Fraction(3), alpha=Fraction(1), beta=Fraction(40), C=Fraction(10**6),
)  # fmt: skip
EQ_31.mutant("alpha dropped, twice", "alpha -> 2")
EQ_31.mutant("polynomial in beta", "exp(-beta) -> 1 / (1 + beta)")

BY_GAP = Claim(BY_WEIGHTS, "skipless.eq-31-gap", label="Eq. (31), for the perturbation and by the gap of the logits",
    statement=r"""
        \|\mathbf{E}\|_2\le c^2\|\mathbf{X}\|_2\frac{2(n-1)e^{-\gamma}}{1+(n-1)e^{-\gamma}}\left(\|\mathbf{X}\mathbf{W}
        \|_2+\|\mathbf{X}\mathbf{W}^\top\|_2\right),\quad\mathbf{M}=\mathbf{X}\mathbf{W}\mathbf{X}^\top,\ \gamma=\min_i\min_{j\ne i}
        (\mathbf{M}_{ii}-\mathbf{M}_{ij}),\ \infty\text{ for }n=1,\quad\mathbf{W}^V=c\mathbf{U},\ \mathbf{W}^O=c\mathbf{V}^\top""",
    assumptions=[ANY_TOKENS, SECOND_PART],
    name="norm of the perturbation by gap", relation=AtMost(left="|E|_2"), all_sizes=True, of_project=True,
    hypotheses=tuple(orthonormal_columns(name, stated=ORTHONORMAL.text) for name in "UV"), corrects="skipless.eq-31",
    proof=("skipless.eq-30", "skipless.a4.3-norm-scaled", "skipless.lemma-1-gap"))  # fmt: skip


@BY_GAP.formula
def perturbation_bound_by_gap(X: Tokens, W: Product, c: Scaling) -> Any:
    """c^2 |X|_2 2 (n - 1) e^-gamma / (1 + (n - 1) e^-gamma) (|X W|_2 + |X W^T|_2), a scalar."""
    return c * c * spectral_norm(X) * attention_lost(X @ W @ X.T) * 2 * weights_norm(X, W)


BY_GAP.domain("collinear tokens", collinear_tokens)


@BY_GAP.oracle
def norm_of_perturbation(X: Tokens, W: Product, U: Rotation, V: Rotation, c: Scaling) -> Any:
    return spectral_norm(perturbation(X, W, initial_values(U, V, c)))


BY_GAP.mutant("c^2 taken as 1", "c * c -> 1")
BY_GAP.mutant("derivative of the logits dropped", "weights_norm(X, W) -> 1")


def _bound_by_share(X: Any, W: Any, values: Any, weight: Any = 1) -> Any:
    """kappa(A) (1 + q) / (1 - q kappa(A)) - 1 for q = weight |E|_2 / |B|_2, a scalar."""
    s = singular_values(attention(X, W))
    share = spectral_norm(perturbation(X, W, values)) / spectral_norm(dominant_term(X, W, values)) * weight
    return (s[0] - s[-1] + 2 * share * s[0]) / (s[-1] - share * s[0])


def _room(X: Any, W: Any, U: Any, V: Any, c: Any) -> Any:
    """sigma_min(B) - |E|_2, a scalar: positive where |E|_2 kappa(A) < |B|_2."""
    values = initial_values(U, V, c)
    return singular_values(dominant_term(X, W, values))[-1] - spectral_norm(perturbation(X, W, values))


SHARE = Claim(BY_WEIGHTS, "skipless.a4.3-conclusion-share", label="Conditioning of K by the share of E and kappa(A)",
    statement=r"""
        n\ge2,\ q=\frac{\|\mathbf{E}\|_2}{\|\mathbf{B}\|_2},\ q\,\kappa(\mathbf{A})<1\ \Rightarrow\ \kappa(\mathbf{K})\le\kappa(
        \mathbf{A})\frac{1+q}{1-q\,\kappa(\mathbf{A})},\quad\mathbf{W}^V\mathbf{W}^O=c^2\,\mathbf{U}\mathbf{V}^\top
    """,
    assumptions=[SECOND_PART, SPLIT, ANY_TOKENS, SEVERAL, Assumption(r"\|E\|_2 \kappa(A) < \|B\|_2", positive=_room)],
    name="conditioning by the perturbation's share", relation=AtMost(), sizes={"n": (2, 3), "d": (1, 2)},
    of_project=True,
    note=r"""$\sigma_{\min}(B) = \|B\|_2/\kappa(A)$, and Weyl's inequalities. The bound tends to 1 with $\kappa(A) \to
        1$ and $q \to 0$, which is what the last sentences of the proof would need beside a small $E$.""")  # fmt: skip


@SHARE.formula
def bound_by_attention_and_share(X: Tokens, W: Product, U: Rotation, V: Rotation, c: Scaling) -> Any:
    """kappa(A) (1 + q) / (1 - q kappa(A)) - 1 for q = |E|_2 / |B|_2, a scalar: at least kappa(K) - 1."""
    return _bound_by_share(X, W, initial_values(U, V, c))


@SHARE.oracle
def condition_above_one(X: Tokens, W: Product, U: Rotation, V: Rotation, c: Scaling) -> Any:
    values = singular_values(attention_derivative(X, W, initial_values(U, V, c)))
    return (values[0] - values[-1]) / values[-1]


SHARE.mutant("E neglected", weight=0)
SHARE.mutant("a quarter of E", weight=rational(1, 4))

SMALL = Fraction(1, 1000)


def _small_perturbation(X: Any, Z: Any, U: Any, V: Any, c: Any, alpha: Any, beta: Any) -> Any:
    W, values = initial_product(Z, alpha, beta), initial_values(U, V, c)
    small = rational(SMALL.numerator, SMALL.denominator)
    return spectral_norm(dominant_term(X, W, values)) * small - spectral_norm(perturbation(X, W, values))


CONCLUSION = Claim(OF_ORDER, "skipless.a4.3-conclusion", label="Section A.4.3, last sentences of the proof",
    statement=r"""\text{Combine the bound }\|\mathbf{B}\|_2\approx1\text{ and }\|\mathbf{E}\|_2\le\mathcal{O}(\alpha
        e^{-\beta})\text{, and there exists }\alpha\text{ and }\beta\text{ such that
        }\|\mathbf{E}\|_2\ll\|\mathbf{B}\|_2 \text{. Therefore }\mathbf{E}\text{ is a small perturbation of
        }\mathbf{B}\text{ and }\mathbf{J}\text{ is well-conditioned }\kappa(\mathbf{J})\approx1""",
    assumptions=[
        Definition("J in the text is K = dvec(A X W_V W_O) / dvec X, which Proposition 2 is about; K = B + E as in Eq. (10)",
            by=attention_derivative),
        Definition("W = alpha Z + beta I (Eq. (11))", by=initial_product),
        Assumption(r"\|E\|_2 \le \|B\|_2 / 1000, for '<<'", nonnegative=_small_perturbation),
        Definition("kappa near 1, as generously as kappa(K) = sigma_max / sigma_min <= C, any number given", by=singular_values),
    ],
    name="conclusion from a small perturbation", relation=AtMost(ascent=False), expects="refuted", severity="error",
    presumes=("skipless.a4.3-norm-one", "skipless.eq-31"),
    uses=("skipless.a4.3-kappa-a", "skipless.a4.3-conclusion-share"), correction="skipless.a4.3-conclusion-gap",
    note=r"""$\|E\| \ll \|B\|$ says nothing about the small singular values of $B + E$; $E$ must be small beside the
        smallest singular value of $B$. Such $\alpha$ and $\beta$ always exist: $\alpha = \beta = 0$ gives $E = 0$, and
        $B = K$ is singular for $n \ge 2$. Large $\beta$ does not help for every $X$: with tokens 1 and 2 both attend to
        the longer one, $E$ falls like $\beta e^{-\beta}$, and so does the smallest singular value; at $\alpha = 0$,
        $\beta = 20$, $c = 3$ $\|E\| = 3.7\cdot10^{-7}$, $\|B\| = 12.7$ and $\kappa(K) = 9.7\cdot10^8$. The two bounds
        that the sentence combines do not hold either: $\|B\|$ is $c^2\|A\|$, between $c^2$ and $c^2\sqrt n$, which
        $\kappa$ does not feel (an example has $c = 1$), and $\|E\|$ has no factor $\alpha$. With $\kappa(A)$ near 1,
        the first sentence of the proof, a small share of $E$ is enough (skipless.a4.3-conclusion-share); that $\alpha$
        and $\beta$ exist for which both are so is true of Gaussian tokens of large dimension
        (skipless.prop-2-gaussian), and of no $\alpha$ and $\beta$ for tokens 1 and 2, where $\kappa(K)$ is above 4
        throughout.""")  # fmt: skip


@CONCLUSION.formula
def multiple_of_smallest_stretch(
    X: Tokens, Z: Weights, U: Rotation, V: Rotation, c: Scaling, alpha: Alpha, beta: Beta, C: Constant
) -> Any:
    """C sigma_min(K), a scalar: kappa(K) <= C says that sigma_max(K) is no larger."""
    W, values = initial_product(Z, alpha, beta), initial_values(U, V, c)
    return C * singular_values(attention_derivative(X, W, values))[-1]


@CONCLUSION.oracle
def largest_stretch(X: Tokens, Z: Weights, U: Rotation, V: Rotation, c: Scaling, alpha: Alpha, beta: Beta) -> Any:
    return spectral_norm(attention_derivative(X, initial_product(Z, alpha, beta), initial_values(U, V, c)))


CONCLUSION.counterexample(
    "tokens 1 and 2, alpha = 0, beta = 20, c = 3: kappa(K) > 1000, |E| < |B| / 1000",
    X=[[1], [2]], Z=[[1]], **ONE_BY_ONE, c=Fraction(3), alpha=Fraction(0), beta=Fraction(20), C=Fraction(1000),
)  # fmt: skip
CONCLUSION.counterexample(
    "the same with c = 1, where |W_O| |W_V| is 1 as the proof has it",
    X=[[1], [2]], Z=[[1]], **ONE_BY_ONE, c=Fraction(1), alpha=Fraction(0), beta=Fraction(20), C=Fraction(1000),
)  # fmt: skip
CONCLUSION.counterexample(
    "any two tokens, alpha = beta = 0: E = 0 and K is singular",
    X=[[1], [-1]], Z=[[1]], **ONE_BY_ONE, c=Fraction(3), alpha=Fraction(0), beta=Fraction(0), C=Fraction(1000),
)  # fmt: skip
CONCLUSION.mutant("without the factor C", "C -> 1")
CONCLUSION.mutant("norm of B instead of the smallest singular value",
    "singular_values(attention_derivative(X, W, values))[-1] -> spectral_norm(dominant_term(X, W, values))",
)  # fmt: skip


def deviation_from_identity(X: Any, W: Any, power: int = 1, perturbed: int = 1) -> Any:
    """delta = 2 (n - 1) e^-gamma (1 + |X|_2 (|X W|_2 + |X W^T|_2)), a scalar; n >= 2.

    Other values than 1 belong to mutants: e^(-power gamma), and a share of the second summand, which is that of E.
    """
    M = X @ W @ X.T
    leak = 2 * (M.shape[0] - 1) * exp(-power * smallest_gap(M))
    return leak * (1 + perturbed * spectral_norm(X) * weights_norm(X, W))


# three tokens on a line have a gap below 0; the domains left out have equal tokens, or none apart enough
WELL_CONDITIONED = Claim(BY_WEIGHTS, "skipless.a4.3-conclusion-gap", label="Proposition 2, under a gap of the logits",
    statement=r"""
        \delta=2(n-1)e^{-\gamma}\left(1+\|\mathbf{X}\|_2(\|\mathbf{X}\mathbf{W}\|_2+\|\mathbf{X}\mathbf{W}^\top\|_2)
        \right)<1,\ n\ge2\ \Rightarrow\ \kappa(\mathbf{K})-1\le\frac{2\delta}{1-\delta},\quad\gamma=\min_i\min_{j\ne
        i}(\mathbf{M}_{ii}-\mathbf{M}_{ij})""",
    assumptions=[ANY_TOKENS, SEVERAL, Assumption(r"\delta < 1", positive=lambda X, W: 1 - deviation_from_identity(X, W))],
    name="conditioning by the gap of logits", relation=AtMost(), sizes={"n": (2, 3), "d": (1, 3)},
    domains=("generic", "large logits", "huge"), of_project=True,
    corrects="skipless.a4.3-conclusion", uses=("skipless.eq-31-gap", "skipless.eq-23-gap"),
    note=r"""$\|A - I\|_2 \le 2(n - 1)e^{-\gamma}$, as its rows and columns have absolute sums of at most that, and
        $\|E\|_2 \le c^2\|X\|_2\,2(n - 1)e^{-\gamma}(\|XW\|_2 + \|XW^\top\|_2)$; so every singular value of $K/c^2$ is
        within $\delta$ of 1 (Weyl). The scaling $c$ cancels. The factor $n - 1$ and the norm of $X$ are needed in this
        form: the bound cannot be free of $n$, and there is no assumption on $W$ alone, such as a large $\beta$, under
        which it is small for all $X$.""")  # fmt: skip


@WELL_CONDITIONED.formula
def conditioning_bound(X: Tokens, W: Product) -> Any:
    """2 delta / (1 - delta), a scalar: at least kappa(K) - 1."""
    delta = deviation_from_identity(X, W)
    return 2 * delta / (1 - delta)


WELL_CONDITIONED.oracle(condition_above_one)
WELL_CONDITIONED.mutant("E neglected: 2 (n - 1) e^-gamma alone", perturbed=0)
WELL_CONDITIONED.mutant("e^(-2 gamma)", power=2)
