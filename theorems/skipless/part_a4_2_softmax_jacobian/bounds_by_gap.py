"""What replaces O(alpha e^-beta) in Eqs. (21), (23)-(28) and Lemma 1: bounds by the gap of the logits.

The exponent is the smallest gap, not beta, and alpha is no factor; all bounds have explicit constants.  The last claim
tries Lemma 1 at the dimensions of the paper, where what is printed fails at alpha = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens
from theorems.skipless.part_a4_2_softmax_jacobian.softmax_jacobian import (
    BLOCK, SOFTMAX, Logits, Product, attention, attention_lost, column_of, differentiated_block, differentiated_blocks,
    largest_block_norm, lost_by_gap, norm_by_tokens, printed_blocks, softmax_blocks_differentiated, weights_norm,
)  # fmt: skip
from theorems.skipless.sampling import gap_of_logits, normal, query_key_product
from theorems.skipless.settings import AT_PRINTED_DIMENSIONS, PRINTED_SCALES
from verify.matrix import (
    absolute, concatenate, each, eye, frobenius_norm, mapped, maximum, ones, rational, softmax, spectral_norm, total,
    trace, without_column,
)  # fmt: skip
from verify.oracles import SMALLEST_P, LawTest, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Convention, Definition, FollowsLaw, Setting

if TYPE_CHECKING:
    import torch


def equal_gaps(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """All off-diagonal logits of a row equal, all gaps equal: where the bounds by the gap are attained."""
    M = arrays["M"]
    M[:] = 0.0
    for i in range(M.shape[1]):
        M[:, i, i] = rng.integers(-2, 9, len(M))


def separated_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Tokens near distinct multiples of unit vectors or opposite ones, weights near a multiple of the identity."""
    X, W = arrays["X"], arrays["W"]
    X *= 2.0**-4
    for i in range(sizes["n"]):
        X[:, i, i % sizes["d"]] += (1.0, -1.0, 2.0)[i // sizes["d"]]
    W *= 2.0**-3
    for k in range(sizes["d"]):
        W[:, k, k] += rng.integers(1, 9, len(W))


def collinear_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Multiples of one token, weights near a multiple of the identity: some token prefers a longer one."""
    X, W = arrays["X"], arrays["W"]
    X[:] = X[:, :1] * rng.choice([-1.0, 0.5, 1.0, 2.0], (*X.shape[:2], 1))
    W *= 2.0**-3
    for k in range(sizes["d"]):
        W[:, k, k] += rng.integers(1, 5, len(W))


ATTENTION = Setting(SKIPLESS, "Section A.4.2",
    assumptions=[Definition("A = softmax(M), M = X W X^T, W = W_Q W_K^T", by=attention), Convention("numerator layout",
        by=jacobian)],
    sizes={"n": (1, 3), "d": (1, 3)},
    special_domains={"separated tokens": separated_tokens, "collinear tokens": collinear_tokens})  # fmt: skip

ATTENTION_LOST = Claim(SOFTMAX, "skipless.eq-23-gap", label="Eq. (23), by the gap of the logits",
    statement=r"""
        \mathbf{A}_{ij}\le1-\mathbf{A}_{ii}\le\frac{(n-1)e^{-\gamma}}{1+(n-1)e^{-\gamma}}\ \text{ for }j\ne
        i,\quad\gamma=\min_i\min_{j\ne i}(\mathbf{M}_{ii}-\mathbf{M}_{ij}),\ \infty\text{ for }n=1""",
    name="attention off the diagonal, by gap", relation=AtMost(), all_sizes=True, sizes={"n": (1, 5)}, of_project=True,
    corrects="skipless.eq-23",
    note=r"""$1/A_{ii} = 1 + \sum_{j\ne i}e^{M_{ij} - M_{ii}}$. Attained where all logits off the diagonal are equal, so
        the factor $n - 1$ cannot be dropped. For $\alpha = 0$ the gap is $\beta\min x_i\cdot(x_i - x_j)$: the exponent
        is not $\beta$, and $\alpha$ is no factor.""")  # fmt: skip

ATTENTION_LOST.formula(attention_lost)


@ATTENTION_LOST.oracle
def attention_given_away(M: Logits) -> Any:
    """1 - A_ii for all i, as the sum of the other entries of the row, shape (n, 1)."""
    A = softmax(M)
    return column_of(each(A.shape[0], lambda i: _given_away(A, i) + 0 * A[0, 0]))


ATTENTION_LOST.domain("equal gaps", equal_gaps)


@ATTENTION_LOST.at_scale("197 Gaussian tokens, d = 768, alpha = 2, beta = 0.6", n=197)
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Logits at the initialisation of Section 6.1; the number of tokens is that of ViT-Base/16, not stated."""
    d = 768
    for index in range(len(arrays["M"])):
        X, Z = rng.standard_normal((sizes["n"], d)), rng.standard_normal((d, d)) / d**0.5
        arrays["M"][index] = 2.0 * (X @ Z @ X.T) + 0.6 * (X @ X.T)


ATTENTION_LOST.mutant("factor n - 1 dropped", lambda M: lost_by_gap(M, others=1))
ATTENTION_LOST.mutant("half the exponent's decay too much: e^(-2 gamma)", lambda M: lost_by_gap(M, M.shape[0] - 1, 2))

ENTRIES = Claim(SOFTMAX, "skipless.eq-24-25-entries", label="Eqs. (24)-(25), by the attention off the diagonal",
    statement=r"|(\mathbf{J}_{\mathbf{A},i})_{jk}|\le1-\mathbf{A}_{ii}\quad\text{for all }i,j,k",
    assumptions=[BLOCK],
    name="diagonal entries of the softmax Jacobian, bounded", relation=AtMost(), of_project=True,
    corrects="skipless.eq-24-25", uses=("skipless.eq-22",),
    note=r"""Every entry has a factor among $A_{ij}$ ($j \ne i$) and $1 - A_{ii}$; the constant 1 is reached in the
        limit $A_{ii} \to 1$. Eq. (25), the case $j \ne i$, prints the indices of Eq. (24) again; the entry is $A_{ij}(1
        - A_{ij})$.""")  # fmt: skip


@ENTRIES.formula
def attention_off_the_diagonal(M: Logits) -> Any:
    """1 - A_ii for each of the n^2 entries of block i, shape (n^3, 1)."""
    lost, n = attention_given_away(M), M.shape[0]
    return concatenate([ones(n * n, 1) * lost[i, 0] for i in range(n)], axis=0)


@ENTRIES.oracle
def entries_of_blocks(M: Logits) -> Any:
    """|d A_ij / d M_ik| for all i, j, k, shape (n^3, 1)."""
    return absolute(softmax_blocks_differentiated(M)).reshape(-1, 1)


ENTRIES.mutant("squared: (1 - A_ii)^2", lambda value: value * value)
ENTRIES.mutant("half of it", lambda value: value * rational(1, 2))

OFF_DIAGONAL_ENTRIES = Claim(SOFTMAX, "skipless.eq-26-entries", label="Eq. (26), by the attention off the diagonal",
    statement=r"|(\mathbf{J}_{\mathbf{A},i})_{jk}|\le\mathbf{A}_{ii}(1-\mathbf{A}_{ii})\text{ if }j\ne k,\ i\in\{j,k"
    r"\},\quad|(\mathbf{J}_{\mathbf{A},i})_{jk}|\le\tfrac14(1-\mathbf{A}_{ii})^2\text{ for the other }j\ne k",
    assumptions=[BLOCK, Assumption("n >= 2, for j != k", sizes=lambda sizes: sizes["n"] >= 2)],
    name="off-diagonal entries of the softmax Jacobian, bounded", relation=AtMost(), all_sizes=True,
    sizes={"n": (2, 3)}, of_project=True, corrects="skipless.eq-26", uses=("skipless.eq-22",),
    note="Both are attained: for $n = 2$, and for $n = 3$ with equal attention to the two others.")  # fmt: skip


def _given_away(A: Any, i: int) -> Any:
    """1 - A_ii, a scalar, as the sum of the other entries of the row."""
    return total(without_column(A[i : i + 1], i))


@OFF_DIAGONAL_ENTRIES.formula
def bounds_off_the_diagonals(M: Logits) -> Any:
    """A_ii (1 - A_ii) and (1 - A_ii)^2 / 4 for all i, shape (2 n, 1)."""
    A, quarter = softmax(M), rational(1, 4)
    beside = each(A.shape[0], lambda i: A[i, i] * _given_away(A, i))
    others = each(A.shape[0], lambda i: _given_away(A, i) * _given_away(A, i) * quarter)
    return concatenate([column_of(beside), column_of(others)], axis=0)


def off_diagonal(B: Any) -> Any:
    """B with zeros on the diagonal."""
    return B * (ones(*B.shape) - eye(B.shape[0]))


@OFF_DIAGONAL_ENTRIES.oracle
def entries_off_the_diagonals(M: Logits) -> Any:
    """For each block i, the largest entry off the diagonal in size, in row or column i and elsewhere; shape (2 n, 1)."""
    n = M.shape[0]

    def beside(i: int) -> Any:
        return maximum(absolute(without_column(differentiated_block(M, i)[i : i + 1], i)))

    def others(i: int) -> Any:
        minor = without_column(without_column(differentiated_block(M, i), i).T, i)
        return maximum(absolute(off_diagonal(minor)))

    return concatenate([column_of(each(n, beside)), column_of(each(n, others))], axis=0)


OFF_DIAGONAL_ENTRIES.domain("equal gaps", equal_gaps)
OFF_DIAGONAL_ENTRIES.mutant("1/8 instead of 1/4", "rational(1, 4) -> rational(1, 8)")
OFF_DIAGONAL_ENTRIES.mutant("all of second order: (1 - A_ii)^2", "quarter -> 1; A[i, i] -> _given_away(A, i)")

BLOCK_NORMS = Claim(SOFTMAX, "skipless.eq-27-28-norms", label="Eqs. (27)-(28), by the attention off the diagonal",
    statement=r"""
        \|\mathbf{J}_{\mathbf{A},i}\|_2\le\|\mathbf{J}_{\mathbf{A},i}\|_F\le\mathrm{tr}\,\mathbf{J}_{\mathbf{A},i}=1-
        \sum_j\mathbf{A}_{ij}^2\le2(1-\mathbf{A}_{ii})""",
    assumptions=[BLOCK],
    name="norms of the softmax Jacobian, bounded", relation=AtMost(), of_project=True, corrects="skipless.eq-27-28",
    uses=("skipless.eq-22",),
    note=r"""The block is positive semidefinite, and $1 - \sum_j A_{ij}^2 \le 1 - A_{ii}^2$. No factor $n$ or $d$: the
        constant 2 serves all sizes, and is reached for $n = 2$ in the limit $A_{ii} \to 1$.""")  # fmt: skip


@BLOCK_NORMS.formula
def bounds_of_block_norms(M: Logits) -> Any:
    """For every i: |J|_F, tr J, 2 (1 - A_ii); shape (3 n, 1)."""
    A, lost = softmax(M), attention_given_away(M)
    norms = mapped(frobenius_norm, printed_blocks(A))
    traces = each(A.shape[0], lambda i: 1 - total(A[i : i + 1] * A[i : i + 1]))
    return concatenate([column_of(norms), column_of(traces), 2 * lost], axis=0)


@BLOCK_NORMS.oracle
def block_norms(M: Logits) -> Any:
    """For every i: |J|_2, |J|_F, tr J, from derivatives; shape (3 n, 1)."""
    blocks = differentiated_blocks(M)
    return concatenate(
        [column_of(mapped(measure, blocks)) for measure in (spectral_norm, frobenius_norm, trace)], axis=0
    )


BLOCK_NORMS.mutant("1 - A_ii instead of twice that", "2 * lost -> lost")
BLOCK_NORMS.mutant("half the trace", "1 - total(A[i:i+1] * A[i:i+1]) -> (1 - total(A[i:i+1] * A[i:i+1])) / 2")

CHAIN_RULE = Claim(ATTENTION, "skipless.eq-21-chain-rule", label="Eq. (21), with the factor it drops",
    statement=r"""
        \left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2\le\left\|\frac{
        \partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{M})}\right\|_2\left(\|\mathbf{X}\mathbf{W}\|_2+\|
        \mathbf{X}\mathbf{W}^\top\|_2\right)""",
    name="derivative of attention by tokens, corrected", relation=AtMost(), all_sizes=True, of_project=True,
    corrects="skipless.eq-21", uses=("skipless.eq-29-logits",),
    note=r"""$\partial M = \partial X\,WX^\top + XW\,\partial X^\top$, hence $\|\partial M\|_F \le (\|XW^\top\|_2 +
        \|XW\|_2)\|\partial X\|_F$.""")  # fmt: skip


@CHAIN_RULE.formula
def chain_rule_bound(X: Tokens, W: Product) -> Any:
    """|d vec A / d vec M|_2 (|X W|_2 + |X W^T|_2), a scalar."""
    return largest_block_norm(X @ W @ X.T) * weights_norm(X, W)


CHAIN_RULE.oracle(norm_by_tokens)
CHAIN_RULE.mutant("factor dropped, as printed", lambda X, W: largest_block_norm(X @ W @ X.T))
CHAIN_RULE.mutant("only one of the two norms, halved", "weights_norm(X, W) -> spectral_norm(X @ W) / 2")

BY_GAP = Claim(ATTENTION, "skipless.lemma-1-gap", label="Lemma 1, by the gap of the logits",
    statement=r"""
        \left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2\le\frac{2(n-1)e^{-
        \gamma}}{1+(n-1)e^{-\gamma}}\left(\|\mathbf{X}\mathbf{W}\|_2+\|\mathbf{X}\mathbf{W}^\top\|_2\right),\quad\gamma=
        \min_i\min_{j\ne i}(\mathbf{M}_{ii}-\mathbf{M}_{ij}),\ \infty\text{ for }n=1""",
    name="derivative of attention by the gap", relation=AtMost(), all_sizes=True, of_project=True,
    corrects="skipless.lemma-1",
    proof=("skipless.eq-21-chain-rule", "skipless.eq-29-logits", "skipless.eq-27-28-norms", "skipless.eq-23-gap"),
    note=r"""Under Eq. (11) with $\alpha = 0$: $4\beta(n - 1)\|X\|_2 e^{-\beta g}$ at most, $g = \min x_i\cdot(x_i -
        x_j)$. It decays in $\beta$ only if $g > 0$, at the rate $g$, not 1, and does not vanish with $\alpha$. The
        factor $n - 1$ is needed, see skipless.eq-23-gap. $\gamma$ may have either sign; the bound is small where the
        diagonal dominates by far.""")  # fmt: skip


@BY_GAP.formula
def derivative_bound_by_gap(X: Tokens, W: Product) -> Any:
    """2 (n - 1) e^-gamma / (1 + (n - 1) e^-gamma) (|X W|_2 + |X W^T|_2), a scalar."""
    return 2 * attention_lost(X @ W @ X.T) * weights_norm(X, W)


BY_GAP.oracle(norm_by_tokens)
BY_GAP.mutant("weights dropped, as in Eq. (21)", lambda X, W: 2 * attention_lost(X @ W @ X.T))
BY_GAP.mutant("e^(-2 gamma)", "attention_lost(X @ W @ X.T) -> lost_by_gap(X @ W @ X.T, X.shape[0] - 1, 2)")

#: Tokens in the simulation, for which the Jacobian has n^2 rows and n d columns.
FEW = 6

LEMMA_AT_SIZE = Claim(AT_PRINTED_DIMENSIONS, "skipless.lemma-1-at-size",
    label="Lemma 1, by the gap of the logits, at the dimensions of the paper",
    statement=r"""\text{in every draw of Gaussian tokens }\mathbf{X}\text{ and of }\mathbf{W}:\
        \left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2\le2(n-1)e^{-\gamma}
        \left(\|\mathbf{X}\mathbf{W}\|_2+\|\mathbf{X}\mathbf{W}^\top\|_2\right)""",
    assumptions=[
        Definition(f"X ~ N(0, I) with n = {FEW} rows, d = 384 and 768, W = alpha Z + beta I", by=(normal, query_key_product)),
        Definition("(alpha, beta) = (2, 0.6), (1.8, 1) and (0, 0.5)", by=PRINTED_SCALES),
    ],
    name="derivative of attention at printed sizes", relation=FollowsLaw(samples=6, instances=2), of_project=True,
    uses=("skipless.lemma-1-gap",),
    note=r"""The statement is certain, not probable: every draw must satisfy it. A mutant has $10^6\alpha e^{-\beta}$:
        no bound at $\alpha = 0$.""")  # fmt: skip


@LEMMA_AT_SIZE.formula
def bound_at_size(gap: float, norms: float, alpha: float, beta: float) -> float:
    """2 (n - 1) e^-gamma (|X W|_2 + |X W^T|_2)."""
    return 2 * (FEW - 1) * math.exp(-gap) * norms


@LEMMA_AT_SIZE.part("laws")
def laws_of_derivative(
    formula: Callable[..., float], generator: torch.Generator, samples: int, d: int
) -> list[LawTest]:
    import torch

    tests = []
    for alpha, beta in PRINTED_SCALES:
        below = 0
        for _ in range(samples // 3):
            X, Z = normal(generator, FEW, d), normal(generator, d, d) / math.sqrt(d)
            W = query_key_product(Z, alpha, beta)
            slope = torch.func.jacrev(lambda T, W=W: (T @ W @ T.T).softmax(-1))(X).reshape(FEW, FEW, FEW * d)
            for i in range(FEW):  # where A_ii rounds to 1 its derivative is lost; rows of A sum to 1
                slope[i, i] = slope[i, i] - slope[i].sum(0)
            norms = float(torch.linalg.matrix_norm(X @ W, 2) + torch.linalg.matrix_norm(X @ W.T, 2))
            norm = float(torch.linalg.matrix_norm(slope.reshape(FEW * FEW, -1), 2))
            below += norm <= formula(gap_of_logits(X @ W @ X.T), norms, alpha, beta)
        name = f"alpha = {alpha}, beta = {beta}, d = {d}"
        tests.append(LawTest(name, 1.0 if below == samples // 3 else SMALLEST_P, samples // 3))
    return tests


LEMMA_AT_SIZE.mutant("10^6 alpha e^-beta, as in Lemma 1", lambda gap, norms, alpha, beta: 1e6 * alpha * math.exp(-beta))
LEMMA_AT_SIZE.mutant("e^(-2 gamma)", "-gap -> -2 * gap")
