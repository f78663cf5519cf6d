"""Gradients through a basis of [Q, K] (Section 2.3): QR, Newton-Schulz, and a basis held constant.

Eq. (6) gives the right values in all of them, and gradients only where the basis may move with the weights: not where it
is held constant, nor where [Q, K] is rank deficient, unless it has room for all tokens.  All are claims of this project.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import (
    attention_matrix, newton_schulz_basis, newton_schulz_iterate, orthonormal_columns, queries_and_keys,
    skew_matrix,
)  # fmt: skip
from theorems.osa.part_2_1_low_rank_exponential.theorem_2_1 import attention_matrix_in_basis
from theorems.osa.part_2_3_bases.bases import qr_basis
from theorems.osa.settings import (
    INDEPENDENT_COLUMNS, ORTHONORMAL, POSITIVE_EPSILON, TALL_AND_WIDE, gram_defect, outside,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, Basis, Column, Coordinates, Epsilon, Frame, HeadSize, Key, Length, NonzeroAlpha, OutsideSpan, Query, Square,
    Steps, TokenFrame, Tokens, Width,
)  # fmt: skip
from verify.matrix import concatenate, diag, expm, eye, rational
from verify.oracles import LawTest, jacobian, proportion_test
from verify.vocabulary import Assumption, Claim, Definition, Equal, FollowsLaw, QuadraticRate, TendsTo, realises


def weight_gradient(layer: Any, *inputs: Any) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of an attention matrix A = layer(*inputs)."""
    return concatenate([jacobian(layer, "W_Q")(*inputs), jacobian(layer, "W_K")(*inputs)], axis=1)


def gradient_of_the_exponential(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    """That of A = exp(S), with which all others are compared."""
    return weight_gradient(attention_matrix, X, W_Q, W_K, alpha)


def in_half_constant_basis(X: Any, W_Q: Any, W_K: Any, alpha: Any, left: bool) -> Any:
    """The gradient of B (exp[S] - I) B^T with the QR basis held constant in one of its two places, for mutants."""
    constant = qr_basis(queries_and_keys(X, W_Q, W_K))

    def half_differentiated(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
        B = qr_basis(queries_and_keys(X, W_Q, W_K))
        middle = expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) - eye(B.shape[1])
        return constant @ middle @ B.T if left else B @ middle @ constant.T

    return weight_gradient(half_differentiated, X, W_Q, W_K, alpha)


def attention_through_qr(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """Eq. (6) with B the reduced QR basis of [Q, K], shape (N, N)."""
    return attention_matrix_in_basis(X, W_Q, W_K, alpha, qr_basis(queries_and_keys(X, W_Q, W_K)))


def attention_through_newton_schulz(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, K: int, epsilon: Any = None) -> Any:
    """Eq. (6) with B = M_K from M_0 = [Q, K], divided by its Frobenius norm + epsilon if given, shape (N, N)."""
    M = queries_and_keys(X, W_Q, W_K)
    B = newton_schulz_iterate(M, K) if epsilon is None else newton_schulz_basis(M, K, epsilon)
    return attention_matrix_in_basis(X, W_Q, W_K, alpha, B)


# m = 2 d_v
GRADIENT_THROUGH_QR = Claim(OSA, "osa.gradient-through-qr",
    label="Section 2.3, gradient through reduced QR where [Q, K] has full column rank",
    statement=r"""
        \frac{\partial}{\partial\mathbf{W}^{Q,K}}\big(\mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})\mathbf{B}^
        \top\big) = \frac{\partial\exp(\mathbf{S})}{\partial\mathbf{W}^{Q,K}} \text{ with } \mathbf{B} =
        \mathbf{B}([\mathbf{Q},\mathbf{K}]) \text{ from reduced QR differentiated along}""",
    assumptions=[
        INDEPENDENT_COLUMNS,
        Assumption("m = 2 d_v <= N, d", sizes=lambda sizes: sizes["m"] % 2 == 0 and sizes["m"] <= min(sizes["N"], sizes["d"])),
    ],
    name="gradient through reduced QR, full column rank", relation=Equal(),
    sizes={"N": (2, 4), "d": (2, 4), "m": (2, 4)},
    uses=("osa.thm-2.1-any-basis",), of_project=True,
)  # fmt: skip


@GRADIENT_THROUGH_QR.inputs
@realises(
    but=(
        f"{reached.GRADIENTS}; the singular values of [Q, K] lie between 1/1024 and 1, in an open set of matrices, and both"
        " sides are analytic in them"
    )
)
def tokens_with_independent_queries_and_keys(
    left: TokenFrame, right: Square, x: Column, mixing: Frame, E: Tokens, alpha: NonzeroAlpha
) -> Any:
    s = (1 + x * x * rational(1, 1024)) / (1 + x * x)  # in (1/1024, 1]
    M = orthogonal_matrix(left)[:, : x.shape[0]] @ diag(s) @ orthogonal_matrix(right).T
    # alpha / 3 is rounded by balls too, so that exact cancellations in S, which floats miss, are none
    return {**_tokens_with_queries_and_keys(M, mixing, E), "alpha": alpha * rational(1, 3)}


def _tokens_with_queries_and_keys(M: Any, mixing: Any, E: Any) -> dict[str, Any]:
    """Tokens X (N, d) and weights with [X W_Q, X W_K] = M (N, m), m <= d; what [Q, K] leaves open of X is taken from E."""
    m, T = M.shape[1], orthogonal_matrix(mixing)
    return {"X": concatenate([M, E[:, m:]], axis=1) @ T.T, "W_Q": T[:, : m // 2], "W_K": T[:, m // 2 : m]}


@GRADIENT_THROUGH_QR.formula
def gradient_through_qr(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of Eq. (6) with the QR basis of [Q, K]."""
    return weight_gradient(attention_through_qr, X, W_Q, W_K, alpha)


GRADIENT_THROUGH_QR.oracle(gradient_of_the_exponential)
GRADIENT_THROUGH_QR.mutant("last factor B^T held constant",
    lambda X, W_Q, W_K, alpha: in_half_constant_basis(X, W_Q, W_K, alpha, left=False))  # fmt: skip
GRADIENT_THROUGH_QR.mutant("exponential of -[S]", "alpha -> -alpha")

# m = 2 d_v columns of B
CONSTANT_BASIS = Claim(OSA, "osa.gradient-constant-basis", label="Eq. (6) with the basis held constant",
    statement=r"""\frac{\partial\exp(\mathbf{S})}{\partial\mathbf{W}^{Q,K}} =
        \frac{\partial}{\partial\mathbf{W}^{Q,K}}\big( \mathbf{I}_N +
        \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})\mathbf{B}^\top\big) \text{ with } \mathbf{B} \text{ held constant}""",
    assumptions=[ORTHONORMAL, Assumption("their span contains the columns of Q and K", zero=outside)],
    name="gradient with the basis held constant", relation=Equal(), sizes={"N": (2, 3), "d": (2, 3), "m": (2, 3)},
    where=lambda sizes: sizes["m"] % 2 == 0 and sizes["m"] <= min(sizes["N"], sizes["d"]), expects="refuted",
    severity="error", correction="osa.gradient-constant-basis-of-tokens", of_project=True,
    note="What detaching the basis computes: values are right, gradients are not, unless $B$ has room for all tokens.",
)  # fmt: skip


@CONSTANT_BASIS.inputs
@realises(
    {"columns of B are orthonormal": reached.FRAMES, "contains the columns of Q and K": "[Q, K] = B R with any R"},
    but=reached.GRADIENTS,
)
def tokens_whose_queries_and_keys_lie_in_basis(
    frame: TokenFrame, factor: Square, mixing: Frame, E: Tokens, alpha: NonzeroAlpha
) -> Any:
    B = orthonormal_columns(frame, factor.shape[0])
    return {**_tokens_with_queries_and_keys(B @ factor, mixing, E), "alpha": alpha * rational(1, 3), "B": B}


@CONSTANT_BASIS.formula
def gradient_in_constant_basis(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, B: Basis) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of Eq. (6) with B (N, r) held constant."""
    return weight_gradient(attention_matrix_in_basis, X, W_Q, W_K, alpha, B)


CONSTANT_BASIS.oracle(gradient_of_the_exponential)
CONSTANT_BASIS.mutant("exponential of -[S]", "alpha -> -alpha")
CONSTANT_BASIS.mutant("W_Q and W_K exchanged", "W_Q -> W_K; W_K -> W_Q")


@CONSTANT_BASIS.counterexample("three tokens e_1, e_2, e_3, query weights e_1, key weights e_2: B knows nothing of e_3")
def third_token_outside_the_basis() -> dict[str, Any]:
    X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    return {"X": X, "W_Q": [[1], [0], [0]], "W_K": [[0], [1], [0]], "alpha": 1, "B": [[1, 0], [0, 1], [0, 0]]}


TOKENS_IN_SPAN = Assumption("their span contains the columns of X", zero=lambda X, B: X - B @ (B.T @ X))
BASIS_OF_TOKENS = CONSTANT_BASIS.corrected("osa.gradient-constant-basis-of-tokens",
    label="Eq. (6) with a constant basis of the tokens", name="gradient in a constant basis of the tokens",
    statement=r"""
        \frac{\partial\exp(\mathbf{S})}{\partial\mathbf{W}^{Q,K}} = \frac{\partial}{\partial\mathbf{W}^{Q,K}}\big(
        \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}]-\mathbf{I})\mathbf{B}^\top\big) \text{ with } \mathbf{B} \text{ held
        constant, if the span of } \mathbf{B} \text{ contains the columns of } \mathbf{X}""",
    assumptions=[ORTHONORMAL, TOKENS_IN_SPAN, Assumption("r <= N", sizes=lambda sizes: sizes["r"] <= sizes["N"])],
    all_sizes=True, hypotheses=(TOKENS_IN_SPAN,), exact=True, mutants=True,
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2), "r": (1, 3)}, where=None, uses=("osa.thm-2.1-any-basis",),
    note=r"""The natural basis where $2 d_v \ge d$ ($h \le 2$), or where $[Q,K]$ is rank deficient: it does not depend
        on the weights.""",
)  # fmt: skip


@BASIS_OF_TOKENS.inputs
@realises({"columns of B are orthonormal": reached.FRAMES, "contains the columns of X": "X = B C with any C"})
def tokens_in_basis(frame: TokenFrame, C: Coordinates, W_Q: Query, W_K: Key, alpha: NonzeroAlpha) -> dict[str, Any]:
    B = orthonormal_columns(frame, C.shape[0])
    return {"X": B @ C, "W_Q": W_Q, "W_K": W_K, "alpha": alpha * rational(1, 3), "B": B}


BASIS_OF_TOKENS.formula(gradient_in_constant_basis)


def _defect_of_singular_values(X: Any, W_Q: Any, W_K: Any) -> Any:
    """M M^T M - M for M = [Q, K]: zero exactly if every nonzero singular value of M is 1."""
    M = queries_and_keys(X, W_Q, W_K)
    return M @ M.T @ M - M


def _gram_defect(X: Any, W_Q: Any, W_K: Any) -> Any:
    return gram_defect(queries_and_keys(X, W_Q, W_K))


EVERY_SINGULAR_VALUE_ONE = Assumption("every nonzero singular value of [Q, K] is 1", zero=_defect_of_singular_values)

THROUGH_NEWTON_SCHULZ = Claim(OSA, "osa.gradient-through-newton-schulz",
    label="Section 2.3, gradient through converged Newton-Schulz iterates",
    statement=r"""\text{Where Newton-Schulz has converged (all nonzero singular values of } \mathbf{M} =
        [\mathbf{Q},\mathbf{K}]\text{ are } 1 \text{, so that } \mathbf{M}_K = \mathbf{M} \text{ and Eq. (6) gives }
        \exp(\mathbf{S})), \text{ the gradient by } \mathbf{W}^{Q,K} \text{ of Eq. (6) through } \mathbf{B} =
        \mathbf{M}_K,\ K \ge 1, \text{ is that of } \exp(\mathbf{S}), \text{ whatever the rank of } \mathbf{M}""",
    assumptions=[EVERY_SINGULAR_VALUE_ONE],
    name="gradient through converged Newton-Schulz", relation=Equal(),
    sizes={"N": (2, 3), "d": (2, 3), "d_v": (1, 1), "K": (1, 2), "q": (0, 1)}, expects="refuted", severity="error",
    correction="osa.gradient-through-newton-schulz-full-rank", of_project=True,
    note=r"""The iterates move in the column space of $M$. Where $M$ is rank deficient, a change of the weights that
        enlarges it changes $\exp(S)$ at first order and leaves the layer as computed where it was; its gradient
        (correct for what is computed) is another one. Where the rank of $M$ is that of $X$, no change of weights
        enlarges the space.""",
)  # fmt: skip


@realises({"columns of M = [Q, K] are orthonormal": reached.FRAMES}, but=reached.GRADIENTS)
def tokens_with_orthonormal_queries_and_keys(
    frame: TokenFrame, mixing: Frame, E: Tokens, alpha: NonzeroAlpha, d_v: HeadSize, K: Steps
) -> Any:
    M = orthonormal_columns(frame, 2 * d_v)
    return {**_tokens_with_queries_and_keys(M, mixing, E), "alpha": alpha * rational(1, 3), "K": K}


@THROUGH_NEWTON_SCHULZ.inputs
@realises({"nonzero singular value of [Q, K] is 1": reached.FRAMES})
def tokens_with_parallel_queries_and_keys(
    frame: TokenFrame, mixing: Frame, E: Tokens, alpha: NonzeroAlpha, d_v: HeadSize, K: Steps, q: OutsideSpan
) -> Any:
    """[Q, K] with orthonormal columns or, for q = 1, parallel ones: M = u (3/5, 4/5) of rank one."""
    if not q:
        return tokens_with_orthonormal_queries_and_keys(frame, mixing, E, alpha, d_v, K)
    u = orthonormal_columns(frame, d_v)
    M = concatenate([u * rational(3, 5), u * rational(4, 5)], axis=1)
    return {**_tokens_with_queries_and_keys(M, mixing, E), "alpha": alpha * rational(1, 3), "K": K}


@THROUGH_NEWTON_SCHULZ.formula
def gradient_through_newton_schulz(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, K: Steps) -> Any:
    """[d vec A / d vec W_Q, d vec A / d vec W_K], shape (N^2, 2 d d_v), of Eq. (6) with B = M_K from M_0 = [Q, K]."""
    return weight_gradient(attention_through_newton_schulz, X, W_Q, W_K, alpha, K)


THROUGH_NEWTON_SCHULZ.oracle(gradient_of_the_exponential)
THROUGH_NEWTON_SCHULZ.mutant("no step, B = M", "K -> 0")
THROUGH_NEWTON_SCHULZ.mutant("exponential of -[S]", "alpha -> -alpha")


@THROUGH_NEWTON_SCHULZ.counterexample("parallel queries and keys, two tokens: every iterate keeps to the line of e_1")
def parallel_queries_and_keys() -> dict[str, Any]:
    W_Q, W_K = [[Fraction(3, 5)], [0]], [[Fraction(4, 5)], [0]]
    return {"X": [[1, 0], [0, 1]], "W_Q": W_Q, "W_K": W_K, "alpha": 1, "K": 1}


NEWTON_SCHULZ_FULL_RANK = THROUGH_NEWTON_SCHULZ.corrected("osa.gradient-through-newton-schulz-full-rank",
    label="Section 2.3, gradient through converged Newton-Schulz iterates of full column rank",
    statement=r"""\text{If the columns of } \mathbf{M} = [\mathbf{Q},\mathbf{K}] \text{ are orthonormal, the gradient by
        } \mathbf{W}^{Q,K} \text{ of Eq. (6) through } \mathbf{B} = \mathbf{M}_K,\ K \ge 1, \text{ is that of }
        \exp(\mathbf{S})""",
    assumptions=[
        Assumption("the columns of M = [Q, K] are orthonormal; 2 d_v <= N, d", zero=_gram_defect, sizes=TALL_AND_WIDE.sizes),
    ],
    name="gradient through Newton-Schulz, full column rank", at_sizes={"N": 2, "d": 2, "d_v": 1, "K": 1},
    sizes={"N": (2, 4), "d": (2, 4), "d_v": (1, 2), "K": (1, 2)}, uses=("osa.thm-2.1-any-basis",), exact=True, mutants=True,
    note="One step restores orthonormal columns up to second order and leaves the column space where it is.",
)  # fmt: skip
NEWTON_SCHULZ_FULL_RANK.inputs(tokens_with_orthonormal_queries_and_keys)
NEWTON_SCHULZ_FULL_RANK.formula(gradient_through_newton_schulz)

# m = 2 d_v
NEWTON_SCHULZ_SPANNING = Claim(OSA, "osa.gradient-through-newton-schulz-spanning",
    label="Section 2.3, gradient through converged Newton-Schulz iterates that span the tokens",
    statement=r"""\text{If all nonzero singular values of } \mathbf{M} = [\mathbf{Q},\mathbf{K}] \text{ are } 1 \text{
        and its column space is that of } \mathbf{X} \text{ (as it can be for } 2d_v \ge d \text{), the gradient by }
        \mathbf{W}^{Q,K} \text{ of Eq. (6) through } \mathbf{B} = \mathbf{M}_K,\ K \ge 1, \text{ is that of }
        \exp(\mathbf{S})""",
    assumptions=[
        EVERY_SINGULAR_VALUE_ONE,
        Assumption(
            "the columns of [Q, K] span those of X",
            zero=lambda X, W_Q, W_K: X - queries_and_keys(X, W_Q, W_K) @ (queries_and_keys(X, W_Q, W_K).T @ X),
        ),
        Assumption("d <= N, m = 2 d_v", sizes=lambda sizes: sizes["m"] % 2 == 0 and sizes["d"] <= min(sizes["N"], sizes["m"])),
    ],
    name="gradient through Newton-Schulz that spans the tokens", relation=Equal(),
    at_sizes={"N": 2, "d": 2, "m": 2, "K": 2},
    sizes={"N": (1, 3), "d": (1, 3), "m": (2, 4), "K": (1, 2)},
    uses=("osa.thm-2.1-any-basis",), exact=True, of_project=True,
    note="$[Q,K]$ is rank deficient for $2 d_v > d$, where reduced QR fails (osa.gradient-through-qr-rank-deficient).",
)  # fmt: skip


@NEWTON_SCHULZ_SPANNING.inputs
@realises(
    {
        "nonzero singular value of [Q, K] is 1": reached.FRAMES,
        "columns of [Q, K] span those of X": "[Q, K] = X W with as many independent rows of W as X has columns",
    },
    but=(
        f"{reached.GRADIENTS}; the columns of X are independent, and for X = Y C with fewer independent columns Y both"
        " gradients at X and W are C^T times those at Y and C W"
    ),
)
def tokens_spanned_by_queries_and_keys(
    left: TokenFrame, right: Square, mixing: Frame, alpha: NonzeroAlpha, K: Steps
) -> Any:
    d, m = mixing.shape[0], right.shape[0]
    T = orthogonal_matrix(mixing)
    W = T.T @ orthogonal_matrix(right)[:d, :]  # X W has d singular values 1 and m - d zeros
    inputs = {"X": orthonormal_columns(left, d) @ T, "W_Q": W[:, : m // 2], "W_K": W[:, m // 2 :]}
    return {**inputs, "alpha": alpha * rational(1, 3), "K": K}


NEWTON_SCHULZ_SPANNING.formula(gradient_through_newton_schulz)


NEWTON_SCHULZ_SPANNING.oracle(gradient_of_the_exponential)
NEWTON_SCHULZ_SPANNING.mutant("no step, B = M", "K -> 0")
NEWTON_SCHULZ_SPANNING.mutant("exponential of -[S]", "alpha -> -alpha")

# singular values of M_0 are at least 1/14: seven steps lift them to about 1
NEWTON_SCHULZ_GRADIENT = Claim(OSA, "osa.gradient-through-newton-schulz-limit",
    label="Section 2.3, gradient through Newton-Schulz as K grows", name="limit of the gradient through Newton-Schulz",
    statement=r"""
        \text{If } [\mathbf{Q},\mathbf{K}] \text{ has full column rank, the gradient by } \mathbf{W}^{Q,K} \text{ of Eq.
        (6) through } \mathbf{B} = \mathbf{M}_K,\ \mathbf{M}_0 = [\mathbf{Q},\mathbf{K}]/(\|[\mathbf{Q},\mathbf{K}]\|_F
        + \epsilon), \text{ tends to that of } \exp(\mathbf{S}) \text{ as } K \to \infty""",
    assumptions=[INDEPENDENT_COLUMNS, POSITIVE_EPSILON],
    needless={
        "X has distinct rows": "the iteration sees the columns of [Q, K] alone, whose rows may coincide",
        "W_Q has unit columns": "only X W^Q enters, whose columns have any length",
        "W_Q has Frobenius norm 1": "only X W^Q enters, whose columns have any length",
        "W_K has unit columns": "only X W^K enters, whose columns have any length",
        "W_K has Frobenius norm 1": "only X W^K enters, whose columns have any length",
        "alpha has no zero entry": "for alpha = 0 all three gradients vanish",
        "alpha has entries of at most 1 in absolute value": "alpha scales S, and the exponential is entire",
        "epsilon has entries of at most 1 in absolute value": "epsilon scales the start, whose singular values stay below 1",
    },
    relation=TendsTo(scales=tuple(range(4, 17)), rate=QuadraticRate()), sizes={"N": (2, 3), "d": (2, 3), "m": (2, 2)},
    note="Run at $d_v = 1$, where $[Q, K]$ has two columns.",
    uses=("osa.ns-convergence", "osa.gradient-through-newton-schulz-full-rank"), of_project=True,
)  # fmt: skip


@NEWTON_SCHULZ_GRADIENT.inputs
@realises(
    but=(
        f"{reached.GRADIENTS}; the singular values of [Q, K] lie between 1/4 and 1, since from smaller ones the limit is"
        " approached only after more steps"
    )
)
def tokens_with_known_singular_values(
    left: TokenFrame, right: Square, x: Column, mixing: Frame, E: Tokens, alpha: NonzeroAlpha, epsilon: Epsilon
) -> Any:
    s = (1 + x * x * rational(1, 4)) / (1 + x * x)  # in (1/4, 1]
    M = orthogonal_matrix(left)[:, : x.shape[0]] @ diag(s) @ orthogonal_matrix(right).T
    return {**_tokens_with_queries_and_keys(M, mixing, E), "alpha": alpha * rational(1, 3), "epsilon": epsilon}


@NEWTON_SCHULZ_GRADIENT.formula
def gradient_by_weights(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """[d vec exp(S) / d vec W_Q, d vec exp(S) / d vec W_K], shape (N^2, 2 d d_v)."""
    return gradient_of_the_exponential(X, W_Q, W_K, alpha)


@NEWTON_SCHULZ_GRADIENT.part("sequence")
def gradient_after_steps(scale: int, X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any) -> Any:
    return weight_gradient(attention_through_newton_schulz, X, W_Q, W_K, alpha, scale, epsilon)


NEWTON_SCHULZ_GRADIENT.mutant("basis held constant on the left",
    lambda X, W_Q, W_K, alpha: in_half_constant_basis(X, W_Q, W_K, alpha, left=True))  # fmt: skip
NEWTON_SCHULZ_GRADIENT.mutant("gradient of exp(-S)", "alpha -> -alpha")


def _errors(N: int, d: int, d_v: int, generator: Any, samples: int, source: Any) -> Any:
    """Relative errors (values, gradients) of Eq. (6) against exp(S), B by reduced QR of `source` (of [Q, K] and X)."""
    import torch

    def gaussian(*shape: int) -> Any:
        return torch.randn(samples, *shape, generator=generator, dtype=torch.float64, device=generator.device)

    X, W_Q, W_K, functional = gaussian(N, d), gaussian(d, d_v), gaussian(d, d_v), gaussian(N, N)
    found = []
    for dense in (True, False):
        weights = [W_Q.clone().requires_grad_(), W_K.clone().requires_grad_()]
        Q, K = X @ weights[0], X @ weights[1]
        S = (Q @ K.mT - K @ Q.mT) * (0.3 / d_v**0.5)
        A = torch.matrix_exp(S)
        if not dense:
            B = torch.linalg.qr(source(torch.cat([Q, K], dim=-1), X)).Q
            identity = torch.eye(B.shape[-1], dtype=X.dtype, device=X.device)
            A = torch.eye(N, dtype=X.dtype, device=X.device) + B @ (torch.matrix_exp(B.mT @ S @ B) - identity) @ B.mT
        (A * functional).sum().backward()
        found.append([A.detach(), torch.cat([w.grad for w in weights], dim=-1)])
    return torch.stack(
        [
            ((a - b).flatten(1).norm(dim=1) / a.flatten(1).norm(dim=1)).nan_to_num(torch.inf)
            for a, b in zip(*found, strict=True)
        ]
    )


QR_DEFICIENT = Claim(OSA, "osa.gradient-through-qr-rank-deficient",
    label="Section 2.3, automatic differentiation through reduced QR of a rank deficient [Q, K]",
    statement=r"""\text{With } N \ge 2d_v > d \text{, so that } \operatorname{rank}[\mathbf{Q},\mathbf{K}] \le d < 2d_v
        \text{, automatic differentiation of Eq. (6) through reduced QR gives the right values and gradients by }
        \mathbf{W}^{Q,K}\text{ that are off by more than one percent}""",
    assumptions=[
        Definition("Gaussian tokens and weights; a fixed Gaussian linear functional of A is differentiated", by=_errors)
    ],
    name="gradient through QR of deficient rank", relation=FollowsLaw(samples=400, instances=2),
    sizes={"N": (6, 8), "d": (3, 3), "d_v": (2, 3)}, expects="empirical", of_project=True,
    observed=r"""torch.linalg.qr on the CPU in float64; $N = 6$ to 8, $d = 3$, $d_v = 2$ or 3, $\alpha = 0.3$, 400 draws
        each; $R_{ii}$ of one rounding divides roundings of the same size. $N < 2 d_v$ does no harm by itself: with full
        row rank gradients are right.""",
    note="""$h = 1$ ($d_v = d$), the case of Section 2.4, is among these; osa.gradient-constant-basis-of-tokens is the
        way out.""",
)  # fmt: skip
QR_DEFICIENT.inputs(N=Length, d=Width, d_v=HeadSize)


@QR_DEFICIENT.formula
def errors_through_qr(N: int, d: int, d_v: int, generator: Any, samples: int) -> Any:
    """Relative errors of values and of weight gradients through torch.linalg.qr, shape (2, samples)."""
    return _errors(N, d, d_v, generator, samples, lambda M, X: M)


QR_DEFICIENT.mutant("QR of the tokens instead", source=lambda M, X: X)
QR_DEFICIENT.mutant("QR of d columns of [Q, K], which span the rest", source=lambda M, X: M[..., : X.shape[-1]])


@QR_DEFICIENT.part("laws")
def values_right_gradients_wrong(formula: Any, generator: Any, samples: int, N: int, d: int, d_v: int) -> list[LawTest]:
    values, gradients = (error.cpu().numpy() for error in formula(N, d, d_v, generator, samples))
    return [
        proportion_test("values within 1e-9", values < 1e-9, 1.0),
        proportion_test("gradients off by more than one percent", gradients > 0.01, 1.0),
    ]
