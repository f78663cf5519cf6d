"""Eq. (30) and the text after it: a bound of E, and its premises about W_V, W_O and X.

|W_O|_2 |W_V|_2 is c^2, 9 in the paper's experiments, not 1; |X|_2 is bounded after layer normalisation only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens, Weights
from theorems.skipless.sampling import normal
from theorems.skipless.part_a4_2_softmax_jacobian.bounds_by_gap import collinear_tokens
from theorems.skipless.part_a4_2_softmax_jacobian.softmax_jacobian import Product, attention, slope_by_tokens
from verify.matrix import COLUMN, column, concatenate, eye, kron, normalize_rows, row_sums, spectral_norm, sqrt
from verify.oracles import LawTest, at_most_probability, jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Definition, Doubt, Equal, FollowsLaw, Real, Setting, Shape, Size, realises,
)  # fmt: skip

if TYPE_CHECKING:
    import torch

Rotation = Annotated[Any, Shape("d", "d")]
Scaling = Annotated[Any, Real(0.25, 4.0)]
Length = Annotated[int, Size("n")]
Dimension = Annotated[int, Size("d")]

ORTHONORMAL = Assumption(
    "W_V = c U, W_O = c V^T with U, V orthonormal (Section 5.1)",
    zero=lambda U, V: column(*((Q.T @ Q - eye(Q.shape[0]))[i, j] for Q in (U, V) for i, j in _places(Q.shape[0]))),
)
ANY_TOKENS = Definition("A = softmax(X W X^T), W = W_Q W_K^T", by=attention)
SIZES = {"n": (1, 3), "d": (1, 2)}


def _places(d: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(d) for j in range(d)]


def perturbation(X: Any, W: Any, values: Any) -> Any:
    """E = (X P (x) I_n)^T A' for P = W_V W_O, shape (n d, n d) (Proposition 2)."""
    return kron(X @ values, eye(X.shape[0])).T @ slope_by_tokens(X, W)


def dominant_term(X: Any, W: Any, values: Any) -> Any:
    """B = P^T (x) A for P = W_V W_O, shape (n d, n d)."""
    return kron(values.T, attention(X, W))


def attended(X: Any, W: Any, values: Any) -> Any:
    """softmax(X W X^T) X P, shape (n, d)."""
    return attention(X, W) @ X @ values


def attention_derivative(X: Any, W: Any, values: Any) -> Any:
    """K by differentiation, shape (n d, n d)."""
    return jacobian(attended, "X", COLUMN)(X, W, values)


SECOND_PART = Definition("E = (X W_V W_O (x) I_n)^T A', A' = dvec A / dvec X (Eq. (10))", by=perturbation)
SPLIT = Definition(
    "K = dvec(A X W_V W_O) / dvec X = B + E, B = (W_V W_O)^T (x) A", by=(attention_derivative, dominant_term)
)


def initial_values(U: Any, V: Any, c: Any) -> Any:
    """W_V W_O = c^2 U V^T, shape (d, d) (Section 5.1)."""
    return U @ V.T * (c * c)


EQ_30 = Claim(SKIPLESS, "skipless.eq-30", label="Eq. (30)", name="norm of the perturbation by submultiplicativity",
    statement=r"""
        \|\mathbf{E}\|_2\le\|\mathbf{W}_\ell^0\|_2\|\mathbf{W}_\ell^V\|_2\|\mathbf{X}_{\ell-1}\|_2\left\|\frac{\partial(
        \mathrm{vec}(\mathbf{A}_\ell(\mathbf{X}_{\ell-1})))}{\partial\mathbf{x}^{\ell-1}}\right\|_2""",
    assumptions=[ANY_TOKENS, SECOND_PART],
    relation=AtMost(left="|E|_2"), all_sizes=True, sizes=SIZES,
    doubt=Doubt(r"\mathbf{W}_\ell^0", """the exponent reads 0, here, in the next line and in Eq. (31); Eqs. (3), (10)
            and (13) print these weights with $O$, which is taken."""))  # fmt: skip


@EQ_30.formula
def perturbation_bound(X: Tokens, W: Product, W_V: Weights, W_O: Weights) -> Any:
    """|W_O|_2 |W_V|_2 |X|_2 |A'|_2, a scalar (Eq. (30))."""
    return spectral_norm(W_O) * spectral_norm(W_V) * spectral_norm(X) * spectral_norm(slope_by_tokens(X, W))


EQ_30.domain("collinear tokens", collinear_tokens)
EQ_30.oracle(lambda X, W, W_V, W_O: spectral_norm(perturbation(X, W, W_V @ W_O)))

EQ_30.mutant("norm of X dropped", "spectral_norm(X) -> 1")
EQ_30.mutant("output weights dropped", "spectral_norm(W_O) * spectral_norm(W_V) -> spectral_norm(W_V)")
EQ_30.mutant("largest singular value of A instead of A'", "slope_by_tokens -> attention")


# -- the three premises ------------------------------------------------------------------------------------------------


@realises({"U, V orthonormal": reached.ROTATIONS})
def orthonormal_factors(G: Rotation, H: Rotation, c: Scaling) -> dict[str, Any]:
    return {"U": orthogonal_matrix(G), "V": orthogonal_matrix(H), "c": c}


FACTORS = Setting(SKIPLESS, "Section 5.1", assumptions=[ORTHONORMAL], sizes={"d": (1, 3)}, inputs=orthonormal_factors)

NORM_ONE = Claim(FACTORS, "skipless.a4.3-norm-one", label="Section A.4.3, text after Eq. (30)",
    statement=r"\|\mathbf{W}_\ell^0\mathbf{W}_\ell^V\|_2\le\|\mathbf{W}_\ell^0\|_2\|\mathbf{W}_\ell^V\|_2=1",
    assumptions=[Assumption("c > 0; c = 3 in Sections 6.1-6.2", positive=lambda c: c)],
    name="norm of the value-output product", relation=Equal(), expects="refuted", severity="error",
    correction="skipless.a4.3-norm-scaled", uses=("skipless.sec5.1-svd-init",),
    note=r"""$W^0$ is $W^O$, as in skipless.eq-30. The inequality holds; judged is the equality, and the product of
        norms is $c^2$, which is 9 in the
        paper's experiments and 1 only at $c
        = 1$. $\kappa(K)$ does not depend on $c$, so that $c = 1$ would have lost nothing; it is not said.""",
)  # fmt: skip


@NORM_ONE.formula
def product_of_norms_as_printed(U: Rotation, V: Rotation, c: Scaling) -> Any:
    """1, a scalar."""
    return 0 * c + 1


NORM_ONE.oracle(lambda U, V, c: spectral_norm(V.T * c) * spectral_norm(U * c))
NORM_ONE.counterexample("d = 1, c = 3: the product is 9", U=[[1]], V=[[1]], c=Fraction(3))
ROTATION = [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]]
NORM_ONE.counterexample("d = 2, a rotation and c = 3", U=ROTATION, V=[[1, 0], [0, 1]], c=Fraction(3))
NORM_ONE.mutant("c", lambda c: c * 1)
NORM_ONE.mutant("d", lambda U, c: 0 * c + 2 * U.shape[0])

NORM_SCALED = Claim(FACTORS, "skipless.a4.3-norm-scaled", label="Section A.4.3, text after Eq. (30), corrected",
    statement=r"\|\mathbf{W}_\ell^O\mathbf{W}_\ell^V\|_2=\|\mathbf{W}_\ell^O\|_2\|\mathbf{W}_\ell^V\|_2=c^2",
    name="norm of the value-output product, corrected", relation=Equal(), of_project=True,
    corrects="skipless.a4.3-norm-one")  # fmt: skip


@NORM_SCALED.formula
def squared_scaling(U: Rotation, V: Rotation, c: Scaling) -> Any:
    """c^2, twice, shape (2, 1)."""
    return column(c * c, c * c)


@NORM_SCALED.oracle
def both_norms(U: Rotation, V: Rotation, c: Scaling) -> Any:
    """|W_O W_V|_2 and |W_O|_2 |W_V|_2, shape (2, 1)."""
    return column(spectral_norm(V.T @ U * (c * c)), spectral_norm(V.T * c) * spectral_norm(U * c))


NORM_SCALED.mutant("1, as printed", lambda c: column(0 * c + 1, 0 * c + 1))
NORM_SCALED.mutant("c", lambda c: column(c, c))

LAYER_NORMALISED = Assumption("X is the output of layer normalisation: rows of mean 0 and squared norm d, which needs d >= 2",
    zero=lambda X: concatenate([row_sums(X), row_sums(X * X) - X.shape[1]], axis=0),
    sizes=lambda sizes: sizes["d"] >= 2)  # fmt: skip

BOUNDED = Claim(SKIPLESS, "skipless.a4.3-x-bounded", label="Section A.4.3, text after Eq. (30)",
    statement=r"\|\mathbf{X}\|_2\text{ is bounded}",
    assumptions=[LAYER_NORMALISED], hypotheses=(LAYER_NORMALISED,), all_sizes=True,
    name="norm of the tokens", relation=AtMost(left="|X|_2"), sizes={"n": (1, 6), "d": (2, 6)}, expects="gap",
    presumes=("skipless.a4.3-x-bounded-any",), correction="skipless.a4.3-x-gaussian",
    missing="$X$ is the output of a layer normalisation of unit gain",
    note=r"""Then $\|X\|_2 \le \sqrt{nd}$, which is what to use. Fig. 6 shows tokens 'after the pre-layer norm'; no
        layer normalisation is in the transformers of Section 2 or in the proof. Equal tokens attain the bound, so none
        is free of $n$ and $d$: 389 at $n = 197$, $d = 768$. For Gaussian tokens, the model of Section A.4.1, no
        constant bounds $\|X\|_2$ with certainty, and $\sqrt n + \sqrt d + t$ does with probability $1 -
        e^{-t^2/2}$ for every $t > 0$
        (skipless.a4.3-x-gaussian).""")  # fmt: skip


@BOUNDED.inputs
@realises({"output of layer normalisation": "normalising leaves rows of mean 0 and of that norm as they are"})
def layer_normalised(raw: Tokens) -> dict[str, Any]:
    centred = raw - row_sums(raw) / raw.shape[1]
    return {"X": normalize_rows(centred) * sqrt(raw.shape[1])}


@BOUNDED.formula
def root_of_size(X: Tokens) -> Any:
    """sqrt(n d), a scalar."""
    return sqrt(X.shape[0] * X.shape[1])


BOUNDED.oracle(lambda X: spectral_norm(X))


@BOUNDED.at_scale("equal tokens, d = 768", n=6, d=768)
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Equal tokens, at which the bound is attained."""
    arrays["raw"][:] = arrays["raw"][:, :1]


@BOUNDED.at_scale("generic tokens, d = 384", n=6, d=384)
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Nothing is fixed but the sizes."""


BOUNDED.mutant("sqrt(d), free of n", lambda X: sqrt(X.shape[1]))
BOUNDED.mutant("sqrt(n), free of d", lambda X: sqrt(X.shape[0]))
BOUNDED.mutant("sqrt((n - 1) d)", lambda X: sqrt((X.shape[0] - 1) * X.shape[1]))

ANY = Claim(SKIPLESS, "skipless.a4.3-x-bounded-any", label="Section A.4.3, text after Eq. (30), for any tokens",
    statement=r"\text{There is a }C\text{ with }\|\mathbf{X}\|_2\le C\text{ for all }\mathbf{X}\in\mathbb{R}^{n\times d}",
    assumptions=[Assumption("C > 0, any number given", positive=lambda C: C)],
    name="norm of any tokens", relation=AtMost(left="|X|_2", ascent=False), sizes={"n": (1, 4), "d": (1, 4)},
    expects="refuted", severity="error", of_project=True,
    note="""Gaussian tokens exceed any $C$ with positive probability. No layer of Eqs. (1)-(2) bounds its output either:
        the weights scale it.""")  # fmt: skip


@ANY.formula
def stated_bound(X: Tokens, C: Scaling) -> Any:
    """C, a scalar."""
    return C + 0 * X[0, 0]


ANY.oracle(lambda X: spectral_norm(X))
ANY.counterexample("two tokens of dimension 2, C = 4", X=[[3, 4], [4, -3]], C=Fraction(4))
ANY.mutant("C / 2", lambda value: value / 2)
ANY.mutant("C less the number of tokens", lambda value, X: value - X.shape[0])

#: The values of t.
EXCESSES = (0.5, 1.0, 2.0)

GAUSSIAN = Claim(SKIPLESS, "skipless.a4.3-x-gaussian", label="Norm of Gaussian tokens", name="norm of Gaussian tokens",
    statement=r"""P(\|\mathbf{X}\|_2>\sqrt n+\sqrt d+t)\le e^{-t^2/2}\text{ for every }t\ge0,\quad
        P(\|\mathbf{X}\|_2<\sqrt{\max(n,d)/2})\le e^{-\max(n,d)/16}""",
    assumptions=[Definition("X of shape (n, d), entries independent standard normal", by=normal),
        Definition("t = 1/2, 1 and 2 are tried", by=EXCESSES)],
    relation=FollowsLaw(samples=2_000, instances=4), sizes={"n": (5, 35), "d": (5, 35)},
    where=lambda sizes: sizes["n"] % 15 == 5 and sizes["d"] % 15 == 5 and sizes["n"] != sizes["d"], of_project=True,
    corrects="skipless.a4.3-x-bounded",
    note=r"""Gordon's bound of the mean and concentration of a 1-Lipschitz function; the lower bound is that of a
        chi-squared law with $\max(n, d)$ degrees, the largest row or column. So the norm grows with either size.""",
)  # fmt: skip


@GAUSSIAN.formula
def bounds_of_gaussian_norm(n: Length, d: Dimension) -> tuple[float, float]:
    """What is exceeded by t with probability e^(-t^2 / 2) at most, and what is undercut with e^(-max(n, d) / 16) at most."""
    return math.sqrt(n) + math.sqrt(d), math.sqrt(max(n, d) / 2)


@GAUSSIAN.part("laws")
def laws_of_norm(
    formula: Callable[..., Any], generator: torch.Generator, samples: int, n: Length, d: Dimension
) -> list[LawTest]:
    import torch

    X = normal(generator, samples, n, d)
    norms = torch.linalg.matrix_norm(X, 2)
    upper, lower = formula(n, d)
    return [
        *(
            at_most_probability(
                f"above, t = {t}, n = {n}, d = {d}", int((norms > upper + t).sum()), samples, math.exp(-t * t / 2)
            )
            for t in EXCESSES
        ),
        at_most_probability(f"below, n = {n}, d = {d}", int((norms < lower).sum()), samples, math.exp(-max(n, d) / 16)),
    ]


GAUSSIAN.mutant("sqrt(d), free of n", lambda n, d: (math.sqrt(d), math.sqrt(max(n, d) / 2)))
GAUSSIAN.mutant("sqrt(max(n, d))", lambda n, d: (math.sqrt(max(n, d)), math.sqrt(max(n, d) / 2)))
GAUSSIAN.mutant("lower bound sqrt(n d)", lambda n, d: (math.sqrt(n) + math.sqrt(d), math.sqrt(n * d)))
