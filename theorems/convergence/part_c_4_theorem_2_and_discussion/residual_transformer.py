"""Appendix C.7, the residual Transformer: its formulas and Lemma 10 for it, and what the connection adds, Eq. (62).

||W_V||_2 does not belong into Eq. (62): the connection moves each pre-activation by its token, whatever the weights.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Samples, self_attention
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, TAU_1_POSITIVE, PositiveScale, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_rows
from theorems.convergence.settings import Scale, Square, SquareQuery, Tokens
from verify.matrix import (
    absolute, concatenate, each, frobenius_norm, mapped, maximum, ones, relu, spectral_norm, sqrt, stack_rows, summed,
)  # fmt: skip
from verify.vocabulary import AtMost, Claim, Construction, Definition, Doubt, Setting, Shape

SquareOutput = Annotated[Any, Shape("d", "1")]

# -- the formulas, and Lemma 10 ----------------------------------------------------------------------------------------


def residual_bound(X: Any, W_V: Any, tau_1: Any, attended: int = 1, residual: int = 1) -> Any:
    length = frobenius_norm(X)  # sqrt(d_s) C_x
    return tau_1 * (spectral_norm(W_V) * length * attended + length / sqrt(X.shape[0]) * residual) * X.shape[0]


LEAST_C_X = Definition("Assumption 1: ||X||_F <= sqrt(d_s) C_x, with the least such C_x", by=residual_bound)
SQUARE = Construction("d = d_m, without which A_1 is not defined", shapes={"W_V": ("d", "d")})

C7 = Claim(CONVERGENCE, "convergence.c7-residual", label="C.7, residual formulas and modified Lemma 10",
    statement=r"""A_1=\text{Self-attention}(X)\triangleq \sigma_s\big( \tau_0(XW_Q^\top)(XW_K^\top)^\top
        \big)(XW_V^\top)+X,\ f(X)=\tau_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i+(X^{(i:)})^\top),\
        f_{pre}=\tau_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i+(X^{(i:)})^\top);\
        \|\tau_1\sum_i\sigma_r(W_V^{t'}X_1^\top\beta_{i,1}^{t'}(X^{(i:)}))\|_2
        \le\tau_1d_s(\|W_V^{t'}\|_2d_s^{1/2}C_x+C_x)""",
    assumptions=[LEAST_C_X, SQUARE, TAU_1_POSITIVE],
    name="residual Transformer", relation=AtMost(), sizes={"d_s": (1, 3), "d": (1, 3)}, expects="refuted",
    severity="slip", correction="convergence.c7-residual-vector",
    doubt=Doubt(r"\boldsymbol{\beta}_{i,1}^{t'} (\boldsymbol{X}^{(i:)})", """no operator is legible before the token;
            the formulas of $f$ and $f_{pre}$ above it have +"""),
    note=r"""$f_{pre}$ is printed with $w_O^\top$, which makes it the output $f$; Table 2 has $f_{pre} = a_3(X)$, a
        vector of $d_m$ entries, and the norm of Lemma 10 that follows is that of the vector. Eq. (62) repeats the
        factor. A number where a vector is due is compared with every entry. The sum over tokens stands for the average,
        as in Appendix C.2.""")  # fmt: skip


def _residual_layers(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any,
                     tokens: Any = lambda h, x: relu(h + x)) -> tuple[Any, Any]:  # fmt: skip
    """f_pre from the matrix A_1, and as the sum over i of tau_1 relu(W_V X^T beta_i + X^(i)); rows, shape (1, d_m)."""
    A_1 = self_attention(X, W_Q, W_K, W_V, tau_0) + X
    attended = [beta.T @ X @ W_V.T for beta in attention_rows(X, W_Q, W_K, tau_0)]
    by_tokens = sum(tokens(h, X[i : i + 1]) for i, h in enumerate(attended))
    return ones(1, X.shape[0]) @ relu(A_1) * tau_1, by_tokens * tau_1


def _beside(bound: Any, first: Any, second: Any) -> Any:
    return concatenate([stacked([bound]).reshape(1, 1), first, second], axis=1)


@C7.formula
def printed_residual_formulas(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, w_O: SquareOutput, tau_0: Scale,
                              tau_1: Scale) -> Any:  # fmt: skip
    """tau_1 d_s (||W_V||_2 sqrt(d_s) C_x + C_x), then f_pre by A_1 and as printed, with w_O^T; (1, 2 d_m + 1)."""
    by_matrix, by_tokens = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    printed = by_matrix * 0 + (by_tokens @ w_O)[0, 0]
    return _beside(residual_bound(X, W_V, tau_1), by_matrix, printed)


@C7.oracle
def residual_layer_and_printed(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, w_O: SquareOutput, tau_0: Scale,
                               tau_1: Scale) -> Any:  # fmt: skip
    by_matrix, by_tokens = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    printed = by_matrix * 0 + (by_tokens @ w_O)[0, 0]
    return _beside(frobenius_norm(by_matrix), printed, by_matrix)


C7.mutant("without the residual connection", residual=0)
C7.mutant("the residual connection alone", attended=0)
C7.counterexample(
    "all sizes 1, X = W_V = 1, w_O = 2: the last hidden layer is 2, the printed f_pre 4",
    X=[[1]], W_Q=[[0]], W_K=[[0]], W_V=[[1]], w_O=[[2]], tau_0=1, tau_1=1,
)  # fmt: skip


C7_VECTOR = Claim(CONVERGENCE, "convergence.c7-residual-vector", label="C.7, the residual formulas with f_pre a vector",
    statement=r"""\tau_1>0:\ f(X)=w_O^\top f_{pre},\quad f_{pre}=\tau_1\sum_i\sigma_r(W_VX^\top\beta_i+(X^{(i,:)})^\top)\in\mathbb
        R^{d_m},\quad\|f_{pre}\|_2\le\tau_1d_s(\|W_V\|_2d_s^{1/2}C_x+C_x)""",
    assumptions=[LEAST_C_X, SQUARE, TAU_1_POSITIVE],
    name="residual Transformer, corrected", relation=AtMost(), sizes={"d_s": (1, 3), "d": (1, 3)},
    corrects="convergence.c7-residual", of_project=True,
    note=r"""The tokens add $d_s C_x$ together, $\sum_i |X^{(i,:)}| \le \sqrt{d_s} \|X\|_F$, though one of them may be
        as long as $\sqrt{d_s} C_x$. The layer formed from the matrix $A_1$ is compared with the sum over $i$, entry by
        entry and in both directions.""")  # fmt: skip


@C7_VECTOR.formula
def bound_of_residual_layer(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: Scale, tau_1: Scale) -> Any:
    """tau_1 d_s (||W_V||_2 sqrt(d_s) C_x + C_x), then f_pre as the sum over i and by A_1; (1, 2 d_m + 1)"""
    by_matrix, by_tokens = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    return _beside(residual_bound(X, W_V, tau_1), by_tokens, by_matrix)


@C7_VECTOR.oracle
def norm_of_residual_layer(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: Scale, tau_1: Scale) -> Any:
    by_matrix, by_tokens = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    return _beside(frobenius_norm(by_matrix), by_matrix, by_tokens)


C7_VECTOR.mutant("without the residual connection", residual=0)
C7_VECTOR.mutant("the residual connection alone", attended=0)
C7_VECTOR.mutant("d_s dropped", "residual_bound(X, W_V, tau_1) -> residual_bound(X, W_V, tau_1) / X.shape[0]")
C7_VECTOR.mutant("the token added after the ReLU", tokens=lambda h, x: relu(h) + x)


def residual_changes(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> list[Any]:
    """The change of the last hidden layer of each sample, shape (d, 1), for the sum over tokens."""

    def change(n: int) -> Any:
        betas = attention_rows(X[n], W_Q, W_K, tau_0)

        def of_token(i: int) -> Any:
            attended = W_V @ X[n].T @ betas[i]
            return relu(attended + X[n][i : i + 1].T) - relu(attended)

        return summed(X.shape[1], of_token) * tau_1

    return each(X.shape[0], change)


RESIDUAL = Setting(
    CONVERGENCE, "Eq. (62)",
    assumptions=[ASSUMPTION_1, SQUARE, TAU_1_POSITIVE, Definition("F_pre^*: the same network without the residual connection",
        by=residual_changes)],
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3)},
)  # fmt: skip

EQ_62 = Claim(RESIDUAL, "convergence.eq-62", label="Eq. (62)", name="effect of the residual connection",
    statement=r"""\|F_{pre}-F_{pre}^*\|_2\le\|F_{pre}-F_{pre}^*\|_F \le\sqrt
        N\|\tau_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i+(X^{(i:)})^\top)
        -\tau_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i)\|_2 \le\sqrt N\tau_1d_s\|w_O\|_2\|W_V\|_2C_x""",
    relation=AtMost(left="the first and second members", ascent=False), expects="refuted", severity="error",
    correction="convergence.eq-62-without-wv",
    note=r"""$F_{pre}$ is taken with the factor $w_O^\top$, as Appendix C.7 prints $f_{pre}$ (convergence.c7-residual)
        and as the second member has it, $X$ being the sample that moves most; with $F_{pre}$ of Table 2 already the
        first inequality fails where $w_O = 0$. relu is 1-Lipschitz, so the connection changes each pre-activation by
        its token, whatever $W_V$: $\|W_V\|_2$ does not belong into the bound. It is too small as soon as $\|W_V\|_2$
        is, and to the safe side where $\|W_V\|_2 \ge 1$.""")  # fmt: skip


def _middle(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> tuple[Any, Any]:
    """||F_pre - F_pre^*||_F and its bound sqrt(N) max_n |w_O^T change|."""
    outputs = stack_rows(mapped(lambda change: w_O.T @ change, residual_changes(X, W_Q, W_K, W_V, tau_0, tau_1)))
    return frobenius_norm(outputs), maximum(absolute(outputs)) * sqrt(X.shape[0])


def last_member(X: Any, w_O: Any, tau_1: Any, norm: Any) -> Any:
    """sqrt(N) tau_1 d_s ||w_O||_2 C_x times `norm`, for which Eq. (62) has ||W_V||_2."""
    return sqrt(X.shape[0]) * tau_1 * sample_bound(X) * frobenius_norm(w_O) * norm * X.shape[1]


@EQ_62.formula
def printed_residual_bounds(X: Samples, W_Q: SquareQuery, W_K: Square, W_V: Square, w_O: SquareOutput,
                            tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """The second and third members, shape (2,) (Eq. (62))."""
    middle = _middle(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)[1]
    return stacked([middle, last_member(X, w_O, tau_1, spectral_norm(W_V))])


EQ_62.oracle(lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: stacked(list(_middle(X, W_Q, W_K, W_V, w_O, tau_0, tau_1))))
EQ_62.mutant("Frobenius norm of W_V squared", "spectral_norm(W_V) -> (W_V * W_V).sum()")
EQ_62.mutant("without ||W_V||_2", norm=1)
EQ_62.counterexample("all sizes 1, W_V = 1/2: the output changes by 1, the bound is 1/2", X=[[[1]]], W_Q=[[0]],
    W_K=[[0]], W_V=[["1/2"]], w_O=[[1]], tau_0=1, tau_1=1)  # fmt: skip
EQ_62.counterexample(
    "all sizes 1, W_V = 0: the bound is 0", X=[[[1]]], W_Q=[[0]], W_K=[[0]], W_V=[[0]], w_O=[[1]], tau_0=1, tau_1=1
)


WITHOUT_W_V = Claim(RESIDUAL, "convergence.eq-62-without-wv", label="Eq. (62), with the norm of the tokens only",
    statement=r"""\tau_1>0:\ \|F_{pre}-F_{pre}^*\|_F\le\sqrt N\tau_1d_s\|w_O\|_2C_x\text{ with }w_O^\top\text{ in }F_{pre}\text{ as
        in C.7, }\quad\|F_{pre}-F_{pre}^*\|_F\le\sqrt N\tau_1d_sC_x\text{ for }F_{pre}\text{ of Table 2}""",
    name="effect of the residual connection, corrected", relation=AtMost(), all_sizes=True, corrects="convergence.eq-62",
    of_project=True,
    note=r"""$\sum_i \|X^{(i,:)}\|_2 \le \sqrt{d_s} \|X\|_F \le d_s C_x$. Attained by equal tokens with nonnegative
        entries.""")  # fmt: skip


@WITHOUT_W_V.formula
def residual_bounds(X: Samples, W_Q: SquareQuery, W_K: Square, W_V: Square, w_O: SquareOutput, tau_0: PositiveScale,
                    tau_1: PositiveScale) -> Any:  # fmt: skip
    """sqrt(N) tau_1 d_s ||w_O||_2 C_x and sqrt(N) tau_1 d_s C_x, shape (2,)."""
    return stacked([last_member(X, w_O, tau_1, 1), sqrt(X.shape[0]) * tau_1 * sample_bound(X) * X.shape[1]])


@WITHOUT_W_V.oracle
def residual_changes_of_both(X: Samples, W_Q: SquareQuery, W_K: Square, W_V: Square, w_O: SquareOutput,
                             tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    hidden = frobenius_norm(stack_rows(residual_changes(X, W_Q, W_K, W_V, tau_0, tau_1)))
    return stacked([_middle(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)[0], hidden])


WITHOUT_W_V.mutant("||W_V||_2 as a factor, as printed", lambda value, W_V: value * spectral_norm(W_V))
WITHOUT_W_V.mutant("d_s^{1/2} in place of d_s", lambda value, X: value / sqrt(X.shape[1]))
