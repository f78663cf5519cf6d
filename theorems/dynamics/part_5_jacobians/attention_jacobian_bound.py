"""Eq. (15), bounds on the Jacobian of multi-head attention, what they say about growth, and Figure 1.

Surprising: Eq. (15) lacks a square; with it the bound holds, and another one does not depend on the number of tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Heads, QueryWeights, SquareWeights, Tokens, attention_head, multi_head_attention, normalisation,
)  # fmt: skip
from theorems.dynamics.settings import HEADS_FIT
from verify.matrix import (
    concatenate, determinant, exp, eye, maximum, ones, rational, row_sums, spectral_norm, sqrt, zeros,
)  # fmt: skip
from verify.oracles import LawTest, at_least_probability, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, FollowsLaw, Real, Setting, Size

Scale = Annotated[Any, Real(0.125, 16.0)]
Length = Annotated[int, Size("S")]

BOUNDED_TOKENS = Setting(
    DYNAMICS,
    "Section 5.1, Eq. (15)",
    assumptions=[
        HEADS_FIT,
        Definition(r"\|X_{[i,:]}\| \le r; r is the largest of these norms, the strongest case", by=maximum),
        Definition("MSA of Eqs. (1)-(2); W_h^O the h-th block of rows of W^O", by=multi_head_attention),
    ],
    sizes={"S": (1, 3), "D": (1, 4), "H": (1, 2)},
)


def jacobian_norm(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int) -> Any:
    """|J_MSA(X)|_2, a scalar, by differentiation."""
    return spectral_norm(jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H))


def bound_by_heads(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int, inner: Callable[[Any, Any, int], Any]
) -> Any:
    """sum_h sqrt(3) |W_h^O|_2 |W_h^V|_2 sqrt(inner(|beta A_h|_2, r^2, S)), a scalar."""
    S, width, result = X.shape[0], W_Q.shape[1] // H, 0
    radius_squared = maximum(row_sums(X * X))
    for h in range(H):
        own = slice(h * width, (h + 1) * width)
        steepness = spectral_norm(W_Q[:, own] @ W_K[:, own].T * beta)
        outer = spectral_norm(W_O[own]) * spectral_norm(W_V[:, own])
        result = result + outer * sqrt(3 * inner(steepness, radius_squared, S))
    return result


def balanced_logits(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Steep but balanced attention: keys along one axis, queries along another, on which the tokens vanish."""
    D, H = sizes["D"], sizes["H"]
    for name in ("X", "W_Q", "W_K"):
        arrays[name][:] = 0.0
    arrays["X"][:, :, 0] = rng.choice([-1.0, 1.0], arrays["X"].shape[:2])
    for h in range(H):
        arrays["W_K"][:, 0, h * (D // H)] = 1.0
        arrays["W_Q"][:, D - 1, h * (D // H)] = rng.integers(1, 32, len(arrays["X"]))
    arrays["W_V"][:] = arrays["W_O"][:] = np.eye(D)


def opposite_pair(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Tokens of alternating sign and, in two dimensions, A = a (E_12 + E_21): with a ~ 4 two thirds of the bound (15)^2."""
    D = sizes["D"]
    arrays["X"][:] = 0.0
    arrays["X"][:, ::2, 0], arrays["X"][:, 1::2, 0] = 1.0, -1.0
    arrays["W_K"][:] = arrays["W_V"][:] = arrays["W_O"][:] = np.eye(D)
    arrays["W_Q"][:] = 0.0
    if D > 1:
        arrays["W_Q"][:, 0, 1] = arrays["W_Q"][:, 1, 0] = rng.integers(2, 65, len(arrays["X"]))
    arrays["beta"][:] = 1.0


def steep_balanced_logits(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """The same with tokens of alternating sign and |A| = 2^10."""
    balanced_logits(arrays, sizes, rng)
    arrays["X"][:, ::2, 0], arrays["X"][:, 1::2, 0] = 1.0, -1.0
    arrays["W_Q"][arrays["W_Q"] != 0] = 2.0**10


EQ_15 = Claim(BOUNDED_TOKENS, "dynamics.eq-15", label="Eq. (15) (Castin et al., Theorem 3.3 and Lemma 3.8)",
    statement=r"""\|J_{\text{MSA}}(X)\|_2\le\sum_{h=1}^H\sqrt3\,\|W_h^O\|_2\|W_h^V\|_2\sqrt{\|\beta W_h^QW_h^{K\top}\|_2
        \,r^4(S+1)+S}""",
    name="attention Jacobian norm bound", relation=AtMost(left="norm of the Jacobian here", right="the printed bound"),
    expects="refuted", severity="slip", correction="dynamics.eq-15-squared",
    consequence=r"""For steep, balanced logits the printed bound is too small by a factor that grows like $\sqrt{\|\beta
        W_h^QW_h^{K\top}\|_2}$; square that norm (dynamics.eq-15-squared).""",
    note=r"""The formula itself shows that the square of $\|\beta W_h^QW_h^{K\top}\|_2$ is meant: $J$ does not change
        under $X \to cX$, $A \to A/c^2$, and neither does $\|\beta A\|_2^2 r^4$, while $\|\beta A\|_2 r^4$ does. Logits
        that are steep yet balanced break it, by a factor that grows like $\sqrt{\|A\|}$; random weights hardly ever do.
        With the square it holds, with $S + 1$ and no larger factor.""")  # fmt: skip


def _first_power(steepness: Any, radius_squared: Any, S: int) -> Any:
    return steepness * radius_squared * radius_squared * (S + 1) + S


@EQ_15.formula
def jacobian_bound_as_printed(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """The right-hand side of Eq. (15), a scalar."""
    return bound_by_heads(X, W_Q, W_K, W_V, W_O, beta, H, _first_power)


EQ_15.oracle(jacobian_norm)
EQ_15.domain("balanced logits")(balanced_logits)
EQ_15.domain("steep balanced logits")(steep_balanced_logits)
EQ_15.domain("an opposite pair")(opposite_pair)


@EQ_15.counterexample("two opposite tokens, A = 100 E_21, the other weights I, beta = 1")
def _() -> dict[str, Any]:
    """By hand: attention is uniform, |J| = (100 + sqrt(10004))/2 = 100.01, the bound sqrt(906) = 30.1."""
    identity = [[1, 0], [0, 1]]
    return {
        "X": [[1, 0], [-1, 0]], "W_Q": [[0, 0], [100, 0]], "W_K": identity, "W_V": identity, "W_O": identity,
        "beta": 1, "H": 1,
    }  # fmt: skip


EQ_15.mutant("factor sqrt(3) dropped", inner=lambda a, r2, S: _first_power(a, r2, S) / 3)
EQ_15.mutant("r^2 for r^4 and without + S", inner=lambda a, r2, S: a * r2 * (S + 1))


EQ_15_SQUARED = EQ_15.corrected("dynamics.eq-15-squared", label="Eq. (15) with the square",
    statement=r"""\|J_{\text{MSA}}(X)\|_2\le\sum_{h=1}^H\sqrt3\,\|W_h^O\|_2\|W_h^V\|_2\sqrt{\|\beta
        W_h^QW_h^{K\top}\|_2^2 \,r^4(S+1)+S}""", name="attention Jacobian norm bound, squared logits",
    relation=AtMost(),
    note=r"""Proof, one head with $W^V = W^O = I$, $a = \|\beta A\|_2$, $m_i = \sum_j P_{ij}x_j$: row $i$ of $Jh$ is
        $\sum_j P_{ij}h_j + \beta\sum_j P_{ij}(x_j - m_i)(h_i^\top Ax_j) + \beta\sum_j P_{ij}(x_j - m_i)(x_i^\top
        Ah_j)$. The second is at most $a r^2 \|h_i\|$, a covariance; the third at most $a r^2 (\sum_j
        P_{ij}\|h_j\|^2)^{1/2}$ by Cauchy and Schwarz; columns of $P$ sum to at most $S$. So $\|Jh\|^2 \le 3(S + a^2r^4
        + a^2r^4S)\|h\|^2$. For $X = (e_1, -e_1)$ and $A = a(E_{12} + E_{21})$ the norm tends to $2/3$ of the bound as
        $a$ grows.""")  # fmt: skip


def _squared(steepness: Any, radius_squared: Any, S: int) -> Any:
    scaled = steepness * radius_squared
    return scaled * scaled * (S + 1) + S


@EQ_15_SQUARED.formula
def jacobian_bound(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """sum_h sqrt(3) |W_h^O| |W_h^V| sqrt(|beta A_h|^2 r^4 (S + 1) + S), a scalar."""
    return bound_by_heads(X, W_Q, W_K, W_V, W_O, beta, H, _squared)


EQ_15_SQUARED.mutant("first power, as printed", inner=_first_power)
EQ_15_SQUARED.mutant("factor sqrt(3) dropped", inner=lambda a, r2, S: _squared(a, r2, S) / 3)
EQ_15_SQUARED.mutant("without the term of the logits", inner=lambda a, r2, S: r2 * 0 + S)


UNIFORM = Claim(BOUNDED_TOKENS, "dynamics.eq-15-any-length", label="A bound without the number of tokens",
    statement=r"""
        \|J_{\text{MSA}}(X)\|_2\le\sum_{h=1}^H\sqrt3\,\|W_h^O\|_2\|W_h^V\|_2\sqrt{a_h^2+(a_h^2+1)e^{2a_h}},\quad
        a_h=\|\beta W_h^QW_h^{K\top}\|_2\,r^2""",
    name="attention Jacobian norm bound for any length", relation=AtMost(), of_project=True,
    corrects="dynamics.eq-15-growth",
    note=r"""The proof of dynamics.eq-15-squared, with the columns of $P$: logits lie in $[-a, a]$, so $P_{ij} \le
        e^{2a}/S$ and each column sums to at most $e^{2a}$. With weights and $r$ fixed the norm stays bounded as $S$
        grows.""")  # fmt: skip


def _any_length(steepness: Any, radius_squared: Any, S: int) -> Any:
    a = steepness * radius_squared
    return a * a + (a * a + 1) * exp(2 * a)


@UNIFORM.formula
def jacobian_bound_for_any_length(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """sum_h sqrt(3) |W_h^O| |W_h^V| sqrt(a_h^2 + (a_h^2 + 1) exp(2 a_h)), a scalar."""
    return bound_by_heads(X, W_Q, W_K, W_V, W_O, beta, H, _any_length)


UNIFORM.oracle(jacobian_norm)


@UNIFORM.domain("weak logits")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["W_Q"][:] *= 2.0**-6


UNIFORM.mutant("sqrt(a^2 + 1): neither the exponential nor sqrt(3)", inner=lambda a, r2, S: (a * r2 * a * r2 + 1) / 3)
UNIFORM.mutant("term of the weights alone", inner=lambda a, r2, S: a * r2 * a * r2)


# -- growth ------------------------------------------------------------------------------------------------------------

GROWTH = Claim(DYNAMICS, "dynamics.eq-15-growth", label="Section 5.1, text after Eq. (15)",
    statement=r"""\text{``This inequality implies that when the norms of the weight matrices
        }\|W_h^O\|_2,\|W_h^V\|_2\text{, or }\|W_h^QW_h^{K\top}\|_2\text{, or the number of tokens }S\text{ becomes
        large, the spectral norm can also become large''}""",
    assumptions=[Assumption("S >= 2: for one token there is nothing to attend to", sizes=lambda sizes: sizes["S"] >= 2)],
    name="attention Jacobian norm can become large", relation=AtMost(ascent=False), sizes={"S": (2, 5)}, expects="gap",
    presumes=("dynamics.eq-15", "dynamics.eq-15-growth-implied"), correction="dynamics.eq-15-any-length",
    consequence="""Large weights or many tokens need not mean a large Jacobian; with bounded logits its norm is bounded
        for any number of tokens (dynamics.eq-15-any-length).""",
    note=r"""What is said to follow is true by examples, but it does not follow: an upper bound implies no growth
        (dynamics.eq-15-growth-implied), and Eq. (15) is refuted as printed. First family: two opposite tokens, $A =
        aE_{21}$: attention is uniform and $\|J\|_2 = |vo|(a + \sqrt{a^2+4})/2$, which is the lower bound. Second:
        tokens $e_1$ and $S - 1$ times $e_1/2$, $A = 4(S-1)E_{11}$: $P_{i1} \ge 1/2$ for all $i$, since $e^{S-1} \ge S -
        1$; moving token 1 along $e_2$ gives $\|J\|_2 \ge \sqrt S/2$; logits of order $\log S$ suffice for that. With
        weights and $r$ fixed the norm stays bounded as $S$ grows (dynamics.eq-15-any-length).""")  # fmt: skip


def steep_and_balanced(a: Any, v: Any, o: Any) -> Any:
    """|J| for X = (e_1, -e_1), A = a E_21, W^V = v I, W^O = o I, by differentiation, shape (1, 1)."""
    X = concatenate([eye(2)[:1], -eye(2)[:1]], axis=0) + zeros(2, 2) * a
    W_Q = concatenate([zeros(1, 2) * a, eye(2)[:1] * a], axis=0)
    identity = eye(2) * (a * 0 + 1)
    return ones(1, 1) * jacobian_norm(X, W_Q, identity, identity * v, identity * o, a * 0 + 1, 1)


def attended_first_token(v: Any, o: Any, S: int) -> Any:
    """|J| for tokens e_1, e_1/2, ..., e_1/2 and A = 4 (S - 1) E_11, by differentiation, shape (1, 1)."""
    halves = concatenate([ones(1, 1) * 2, ones(S - 1, 1)], axis=0)
    one = v * 0 + 1
    X = concatenate([halves, zeros(S, 1)], axis=1) * (one / 2)
    W_Q = concatenate([concatenate([ones(1, 1) * (4 * (S - 1)), zeros(1, 1)], axis=1), zeros(1, 2)], axis=0) * one
    identity = eye(2) * one
    return ones(1, 1) * jacobian_norm(X, W_Q, identity, identity * v, identity * o, one, 1)


@GROWTH.formula
def norms_of_both_families(a: Scale, v: Scale, o: Scale, S: Length) -> Any:
    """|J| of the steep balanced pair, and of S tokens that attend to the first; shape (2, 1)."""
    return concatenate([steep_and_balanced(a, v, o), attended_first_token(v, o, S)], axis=0)


@GROWTH.oracle
def growing_lower_bounds(a: Scale, v: Scale, o: Scale, S: Length) -> Any:
    one = ones(1, 1) * (a * 0 + 1)
    exact = (a + sqrt(a * a + 4)) * v * o / 2
    return concatenate([one * exact, one * v * o * sqrt(S) / 2], axis=0)


GROWTH.mutant("independent of A", "a -> a * 0")
GROWTH.mutant("independent of W^V", "v -> v * 0 + 1")
GROWTH.mutant("one token, whatever their number", "attended_first_token(v, o, S) -> ones(1, 1) * v * o / 2")


GROWTH_IMPLIED = Claim(DYNAMICS, "dynamics.eq-15-growth-implied", label="Growth of a bound taken for growth",
    statement=r"""\text{the bound (15) of the weights }(cW^Q,cW^K,W^V,W^O)\text{ grows with }c\ \Rightarrow\ \|J_{
        \text{MSA}}(X)\|_2\text{ at }2c\text{ exceeds that at }c\ge1\text{ by a factor of at least }1+2^{-20}""",
    assumptions=[
        Definition("one head, D_H = D", by=jacobian_norm),
        Assumption("W^V and W^O are regular", positive=lambda W_V, W_O: determinant(W_V @ W_O) * determinant(W_V @ W_O)),
    ],
    name="growth inferred from an upper bound", relation=AtMost(ascent=False), sizes={"S": (1, 3), "D": (1, 3)},
    expects="refuted", severity="error", of_project=True,
    note="""What the inequality alone would have to imply. A bound from above says nothing of how large a quantity is:
        for one token the Jacobian does not depend on $W^Q$ and $W^K$ at all.""")  # fmt: skip


@GROWTH_IMPLIED.formula
def norm_at_doubled_weights(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta
) -> Any:
    """|J| with W_Q and W_K doubled, a scalar."""
    return jacobian_norm(X, W_Q * 2, W_K * 2, W_V, W_O, beta, 1)


GROWTH_IMPLIED.oracle(
    lambda X, W_Q, W_K, W_V, W_O, beta: jacobian_norm(X, W_Q, W_K, W_V, W_O, beta, 1) * rational(2**20 + 1, 2**20)
)
GROWTH_IMPLIED.counterexample(
    "one token: J = W^V W^O, whatever W^Q and W^K are", X=[[1]], W_Q=[[1]], W_K=[[1]], W_V=[[1]], W_O=[[1]], beta=1
)
GROWTH_IMPLIED.mutant("weights halved", "W_Q * 2 -> W_Q * 0; W_K * 2 -> W_K * 0")
GROWTH_IMPLIED.mutant("half the norm", lambda value: value / 2)


# -- Figure 1 ----------------------------------------------------------------------------------------------------------

#: Numbers of tokens, and networks for each.
LENGTHS, NETWORKS = (2, 8, 32, 128), 4
#: Dimension and norm of tokens from Appendix B.4; the number of heads, not given for this figure, from Table S.1.
DIMENSION, TOKEN_NORM, HEADS = 256, 100, 8
ITERATIONS = 5
#: What counts as O(1) and as reduced, and in what proportion of networks; fewer than 10 of 16 would reject it.
CONSTANT, SHARE, PROPORTION = 4.0, 0.1, 0.99


def batched_attention(X: Any, W: Any) -> Any:
    """MSA of Eqs. (1)-(2) for networks X (n, S, D) with W_Q, W_K, W_V, W_O in W (4, n, D, D), beta = 1/sqrt(D/H)."""
    n, S, D = X.shape
    queries, keys, values = (
        (X @ weights).reshape(n, S, HEADS, D // HEADS).transpose(1, 2) for weights in (W[0], W[1], W[2])
    )
    P = (queries @ keys.mT / math.sqrt(D // HEADS)).softmax(-1)
    return (P @ values).transpose(1, 2).reshape(n, S, D) @ W[3]


FIGURE_1 = Claim(DYNAMICS, "dynamics.fig-1", label="Figure 1 and Section 5.1 text",
    statement=r"""\text{``the spectral norm of the untrained SA's Jacobian can be effectively reduced through
        normalization''; ``we empirically observed that the spectral norm is not only reduced by normalization but
        remains }O(1)\text{ to the number of tokens''}""",
    assumptions=[
        Definition(
            "untrained SA, tokens of norm R = 100, D = 256 (Appendix B.4); there 500 samples of arXiv articles",
            by=batched_attention,
        ),
    ],
    name="normalised attention Jacobian of an untrained network", relation=FollowsLaw(samples=NETWORKS, instances=1),
    sizes={"S": (2, 2)}, expects="empirical",
    observed=r"""synthetic tokens, uniform on the sphere of radius $R = 100$, $D = 256$, 8 heads, $\beta =
        1/\sqrt{D/H}$, weights normal with variance $1/D$, $S = 2, 8, 32, 128$ tokens, 4 networks each, spectral norms
        by 5 power iterations in float32: normalised rows of MSA have a Jacobian of norm below 4, and below a tenth of
        that without normalisation, in at least 99 of 100 networks (fewer than 10 of the 16 would reject it). The paper
        states neither the initialisation nor the number of heads for this figure. It depends on $R$: unit tokens do the
        opposite (dynamics.fig-1-orthonormal-tokens)""")  # fmt: skip
FIGURE_1.inputs(S=Length)


@FIGURE_1.formula
def normalised_output(Y: Any) -> Any:
    """Rows of Y (..., S, D) divided by their norms: Pi of Eq. (5)."""
    return Y / Y.norm(dim=-1, keepdim=True)


FIGURE_1.mutant("no normalisation", lambda Y: Y)
FIGURE_1.mutant("rows of mean square 1, as in common libraries", lambda Y: Y / Y.square().mean(-1, keepdim=True).sqrt())


def batched_spectral_norms(f: Callable[[Any], Any], X: Any, generator: Any) -> Any:
    """Estimates from below, by power iteration, of |df/dX|_2 for each of the networks X (n, S, D), shape (n,)."""
    import torch

    direction = torch.randn(X.shape, generator=generator, dtype=X.dtype, device=X.device)
    pulled_back = torch.func.vjp(f, X)[1]
    norms = X.new_zeros(X.shape[0])
    for _ in range(ITERATIONS):
        direction = direction / direction.norm(dim=(1, 2), keepdim=True)
        pushed = torch.func.jvp(f, (X,), (direction,))[1]
        norms = pushed.norm(dim=(1, 2))
        (direction,) = pulled_back(pushed)
    return norms


@FIGURE_1.part("laws")
def reduced_and_bounded(formula: Any, generator: Any, samples: int, S: int) -> list[LawTest]:
    import torch

    small, reduced = [], []
    for length in LENGTHS:
        X = torch.randn(samples, length, DIMENSION, generator=generator, device=generator.device)
        X = TOKEN_NORM * X / X.norm(dim=2, keepdim=True)
        W = torch.randn(4, samples, DIMENSION, DIMENSION, generator=generator, device=generator.device)
        W = W / math.sqrt(DIMENSION)

        def without(X: Any, W: Any = W) -> Any:
            return batched_attention(X, W)

        def normalised(X: Any, W: Any = W) -> Any:
            return formula(batched_attention(X, W))

        norms = batched_spectral_norms(normalised, X, generator)
        small.append(norms < CONSTANT)
        reduced.append(norms < batched_spectral_norms(without, X, generator) * SHARE)
    trials = samples * len(LENGTHS)
    return [
        at_least_probability("below 4", int(torch.cat(small).sum()), trials, PROPORTION),
        at_least_probability("below a tenth", int(torch.cat(reduced).sum()), trials, PROPORTION),
    ]


Values = Annotated[Any, Real(0.125, 4.0)]

ORTHONORMAL_TOKENS = Claim(DYNAMICS, "dynamics.fig-1-orthonormal-tokens", label="Normalisation of orthonormal tokens",
    statement=r"""S\ge2,\ X=I_S,\ W^Q=O,\ W^V=vI,\ v>0\ \Rightarrow\ \|J_{\operatorname{SA}}(X)\|_2=v,\
        \Big\|\frac{\partial\,\Pi( \operatorname{SA}(X))}{\partial X}\Big\|_2=\sqrt S""",
    assumptions=[
        Definition("one head, S = D orthonormal tokens, uniform attention", by=attention_head),
        Assumption("S >= 2", sizes=lambda sizes: sizes["S"] >= 2),
        Assumption("v > 0", positive=lambda v: v),
    ],
    name="normalised Jacobian at orthonormal tokens", relation=Equal(), sizes={"S": (2, 4)}, of_project=True,
    note=r"""For one token the second norm is 0. The mean of $S$ orthonormal tokens has norm $1/\sqrt S$, by which
        $\Pi$ divides. So neither half of Figure
        1's statement holds for all tokens: it needs outputs of SA that do not shrink, as those of large tokens, which
        attend to few others, do not.""")  # fmt: skip


@ORTHONORMAL_TOKENS.formula
def norms_at_orthonormal_tokens(v: Values, S: Length) -> Any:
    """v above sqrt(S), shape (2, 1)."""
    one = ones(1, 1) * (v * 0 + 1)
    return concatenate([one * v, one * sqrt(S)], axis=0)


@ORTHONORMAL_TOKENS.oracle
def norms_by_differentiation(v: Values, S: Length) -> Any:
    identity = eye(S) * (v * 0 + 1)

    def head(X: Any) -> Any:
        return attention_head(X, identity * 0, identity, identity * v, v * 0 + 1)

    norms = [spectral_norm(jacobian(f, "X")(identity)) for f in (head, lambda X: normalisation(head(X)))]
    return concatenate([ones(1, 1) * norm for norm in norms], axis=0)


ORTHONORMAL_TOKENS.mutant("O(1), as in Figure 1", "one * sqrt(S) -> one")
ORTHONORMAL_TOKENS.mutant("divided by v", "one * sqrt(S) -> one * sqrt(S) / v")
