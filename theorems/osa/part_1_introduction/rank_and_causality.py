"""Section 1: the rank that orthogonal attention preserves (and a whole head does not), causality, and rank collapse.

An orthogonal A looks ahead as much as it looks back, so that causal orthogonal attention mixes nothing (osa.noncausal).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from theorems.osa import OSA
from theorems.osa.definitions import attention, attention_matrix, dot_products, rank, skew_matrix
from theorems.osa.part_2_1_low_rank_exponential.theorem_2_1 import added, gram_matrix
from theorems.osa.part_d_sampling.algorithm_1 import stiefel_uniform
from theorems.osa.settings import HEADS, LAYER_OF_FEW_TOKENS
from theorems.osa.shapes import Alpha, Key, Length, Output, Query, Tokens, Value, Width
from verify.matrix import softmax
from verify.oracles import LawTest, at_least_probability
from verify.vocabulary import Assumption, Claim, Equal, FollowsLaw, Reading

# -- what happens to the rank of the representation --------------------------------------------------------------------

REPRESENTATION_RANK = Claim(HEADS, "osa.intro-rank", label="Section 1, text",
    statement=r"""
        \text{by enforcing the attention matrix to be orthogonal in OSA, we preserve the rank of representation}""",
    name="rank of the representation after orthogonal attention", relation=Equal(), all_sizes=True, uses=("osa.so-n",),
    expects="reading",
    reading=Reading("the rank of representation", r"""of attention alone, $AX$ against $X$: they have the same Gram
            matrix $(AX)^\top AX = X^\top X$, hence the same rank and singular values. A head $AXW^VW^O$ does not
            preserve the rank: see osa.intro-rank-head"""))  # fmt: skip


@REPRESENTATION_RANK.formula
def gram_matrix_after_attention(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """(A X)^T A X, shape (d, d), for A = exp(S)."""
    return gram_matrix(attention_matrix(X, W_Q, W_K, alpha) @ X)


REPRESENTATION_RANK.oracle(lambda X: X.T @ X)
REPRESENTATION_RANK.mutant("softmax attention",
    lambda X, W_Q, W_K, alpha: gram_matrix(softmax(dot_products(X, W_Q, W_K, alpha)) @ X))  # fmt: skip
REPRESENTATION_RANK.mutant("I + S, to first order",
    lambda X, W_Q, W_K, alpha: gram_matrix(X + skew_matrix(X, W_Q, W_K, alpha) @ X))  # fmt: skip

HEAD_RANK = Claim(LAYER_OF_FEW_TOKENS, "osa.intro-rank-head", label="Section 1, the rank of a whole head",
    statement=r"\operatorname{rank}\mathrm{OSA}(\mathbf{X}) = \operatorname{rank}\mathbf{X}",
    name="rank of the output of a head", relation=Equal(), expects="refuted", severity="error",
    correction="osa.intro-rank-head-gram", of_project=True,
    note="The other reading of osa.intro-rank: the output of the head is the representation.")  # fmt: skip


@HEAD_RANK.formula
def rank_after_head(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """rank OSA(X), a scalar."""
    return rank(attention(X, W_Q, W_K, W_V, W_O, alpha))


HEAD_RANK.oracle(lambda X: rank(X))
HEAD_RANK.mutant("attention alone", lambda X, W_Q, W_K, alpha: rank(attention_matrix(X, W_Q, W_K, alpha) @ X))
HEAD_RANK.mutant("rank of the output weights", lambda W_O: rank(W_O))
HEAD_RANK.counterexample("a token orthogonal to the value weights: the head maps it to 0", X=[[1, 0]], W_Q=[[1], [0]],
    W_K=[[1], [0]], W_V=[[0], [1]], W_O=[[1, 0]], alpha=1)  # fmt: skip
HEAD_RANK.counterexample("two heads in R^2: a head has rank d_v = 1, its input rank 2", X=[[1, 0], [0, 1]],
    W_Q=[[1], [0]], W_K=[[1], [0]], W_V=[[1], [0]], W_O=[[1, 0]], alpha=1)  # fmt: skip

HEAD_GRAM = Claim(LAYER_OF_FEW_TOKENS, "osa.intro-rank-head-gram", label="Section 1, what a whole head preserves",
    statement=r"""
        \mathrm{OSA}(\mathbf{X})^\top\mathrm{OSA}(\mathbf{X}) = \mathbf{W}^\top\mathbf{X}^\top\mathbf{X}\mathbf{W}
        \text{ for } \mathbf{W} = \mathbf{W}^V\mathbf{W}^O, \text{ so } \operatorname{rank}\mathrm{OSA}(\mathbf{X}) =
        \operatorname{rank}(\mathbf{X}\mathbf{W}) \le \min(\operatorname{rank}\mathbf{X}, d_v)""",
    name="Gram matrix and rank of a head's output", relation=Equal(), all_sizes=True, uses=("osa.so-n",),
    of_project=True, corrects="osa.intro-rank-head")  # fmt: skip


@HEAD_GRAM.formula
def gram_matrix_of_projected_tokens(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """W^T X^T X W, shape (d, d), for W = W_V W_O."""
    return gram_matrix(X @ W_V @ W_O)


HEAD_GRAM.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: gram_matrix(attention(X, W_Q, W_K, W_V, W_O, alpha)))
HEAD_GRAM.mutant("X^T X, as for attention alone", lambda X: gram_matrix(X))
HEAD_GRAM.mutant("W transposed", lambda X, W_V, W_O: gram_matrix(X @ (W_V @ W_O).T))
HEAD_GRAM.mutant("tokens and value weights dropped", lambda W_O: gram_matrix(W_O))

# -- causality ---------------------------------------------------------------------------------------------------------

NONCAUSAL = Claim(HEADS, "osa.noncausal", label="Section 1, text", name="causal orthogonal attention",
    statement=r"""
        \text{We note that this does restricts the applicability of OSA to non-causal decoder-based Transformers}""",
    at_sizes={"N": 3, "d": 2, "d_v": 2},
    assumptions=[Assumption("N >= 2, as a single token has none before it", sizes=lambda sizes: sizes["N"] >= 2)],
    relation=Equal(), sizes={"N": (2, 5), "d": (1, 4), "d_v": (1, 4)}, uses=("osa.so-n",), expects="reading",
    reading=Reading("this does restricts the applicability", r"""this is the orthogonality of $A$. For orthogonal $A$,
        $\sum_{j>i} (j - i) A_{ij}^2 = \sum_{j<i} (i - j) A_{ij}^2$: attention weighted by distance looks ahead as much
        as it looks back, so a triangular $A$ is diagonal and mixes nothing"""),
)  # fmt: skip


def _ahead(A: Any, power: int = 1) -> Any:
    """The sum of (j - i)^power A_ij^2 over j > i, a scalar; mutants change the power."""
    n = A.shape[0]
    return added([A[i, j] * A[i, j] * (j - i) ** power for i in range(n) for j in range(i + 1, n)])


@NONCAUSAL.formula
def attention_ahead(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """sum over j > i of (j - i) A_ij^2, a scalar."""
    return _ahead(attention_matrix(X, W_Q, W_K, alpha))


@NONCAUSAL.oracle
def attention_back(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    A, back = attention_matrix(X, W_Q, W_K, alpha), alpha * 0
    for i, j in itertools.product(range(A.shape[0]), repeat=2):
        back = back + A[i, j] * A[i, j] * max(i - j, 0)
    return back


NONCAUSAL.mutant("not weighted by distance", power=0)
NONCAUSAL.mutant("weighted by the squared distance", power=2)
NONCAUSAL.mutant("softmax attention", lambda X, W_Q, W_K, alpha: _ahead(softmax(dot_products(X, W_Q, W_K, alpha))))

# -- rank collapse of softmax attention --------------------------------------------------------------------------------

#: The number of blocks in Appendix E.
DEPTH = 6

COLLAPSE = Claim(OSA, "osa.ssa-collapse", label="Section 1, text", name="rank collapse of softmax attention with depth",
    statement=r"""\text{the rank collapse phenomenon associated with SSA (Dong et al., 2021; Noci et al., 2022) where token
        representations quickly converge to a rank-1 matrix with depth}""",
    relation=FollowsLaw(samples=400, instances=6), sizes={"N": (4, 10), "d": (4, 8)}, expects="empirical",
    observed="""$N = 4$ to 10 tokens of dimension $d = 4$ to 8, one head, entries of $X$ normal with variance 1, of
        $W^Q$ and $W^K$ with variance $1/d$, $W^VW^O$ orthogonal, 400 networks of 6 layers for each size: in more than
        90 of 100 the part of $X$ off its mean token falls below $10^{-6}$ of $X$. The paper states no weights. Large
        logits collapse later or, one-hot, not at all.""")  # fmt: skip
COLLAPSE.inputs(N=Length, d=Width)


@COLLAPSE.formula
def softmax_layer(X: Any, scores: Any) -> Any:
    """softmax(scores) X for X (..., N, d) and scores = Q K^T / sqrt(d) (..., N, N)."""
    return scores.softmax(-1) @ X


COLLAPSE.mutant("orthogonal attention", lambda X, scores: (scores - scores.mT).matrix_exp() @ X)
COLLAPSE.mutant("skip connections kept", lambda value, X: X + value)


@COLLAPSE.part("laws")
def off_the_mean_token(formula: Any, generator: Any, samples: int, N: int, d: int) -> list[LawTest]:
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(samples, *shape, generator=generator, dtype=torch.float64, device=generator.device)

    X = normal(N, d)
    for _ in range(DEPTH):
        queries, keys = X @ normal(d, d) / math.sqrt(d), X @ normal(d, d) / math.sqrt(d)
        X = formula(X, queries @ keys.mT / math.sqrt(d)) @ stiefel_uniform(d, d, generator, samples)
    off = (X - X.mean(1, keepdim=True)).norm(dim=(1, 2)) / X.norm(dim=(1, 2))
    return [at_least_probability("collapsed", int((off < 1e-6).sum()), samples, 0.9)]
