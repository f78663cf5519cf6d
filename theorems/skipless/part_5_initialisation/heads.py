"""Eq. (11) with several heads: products of rank d_h, while Section 5 is about a product of full rank.

As a statement about each head Eq. (11) is false, by rank, and a head's attention need not be dominated by its diagonal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Weights
from theorems.skipless.part_5_initialisation.initialisation import VIT_BASE, Alpha, Beta, query_key_weights
from theorems.skipless.part_5_initialisation.input_jacobian import invertible
from theorems.skipless.quantities import initial_product
from theorems.skipless.sampling import conditions, normal
from verify.matrix import (
    added, concatenate, frobenius_norm, inverse, mapped, parts_of_width, singular_values, spectral_norm, sqrt, total,
)  # fmt: skip
from verify.oracles import SMALLEST_P, LawTest
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, FollowsLaw, Reading, Setting, Shape, Size

if TYPE_CHECKING:
    import torch

HeadDimension = Annotated[int, Size("d_h")]
HeadFactor = Annotated[Any, Shape("d", "d_h")]


def _products_of_heads(W_Q: Any, W_K: Any, d_h: int) -> Any:
    """W_i^Q W_i^K^T of each head i, shape (d, d)."""
    return mapped(lambda Q, K: Q @ K.T, parts_of_width(W_Q, d_h, 1), parts_of_width(W_K, d_h, 1))


def _of_the_next(W_Q: Any, W_K: Any, d_h: int) -> Any:
    """W_i^Q W_{i + 1}^K^T of each head i, the first being next to the last, shape (d, d)."""
    return _products_of_heads(W_Q, concatenate([W_K[:, d_h:], W_K[:, :d_h]], axis=1), d_h)


HEADS = Setting(SKIPLESS, "Section 2",
    assumptions=[Assumption("d_h = d / h < d",
        sizes=lambda sizes: sizes["d"] % sizes["d_h"] == 0 and sizes["d_h"] < sizes["d"])],
    sizes={"d": (2, 4), "d_h": (1, 2)})  # fmt: skip

MULTIHEAD = Claim(HEADS, "skipless.eq-11-multihead",
    label="Eq. (11) with the shapes of Section 2 and the models of Sections 6.1-6.2",
    statement=r"""\text{The projection matrices are divided across }h\text{ heads, such that
        }\mathbf{W}_i^Q,\mathbf{W}_i^K,\mathbf{W}_i^V\in\mathbb{R}^{d\times d_h},\ d_h=\frac
        dh;\quad\mathbf{W}_\ell^Q\mathbf{W}_\ell^{K^\top}=\alpha\mathbf{Z}+\beta\mathbf{I};\quad\text{ViT-Base (12
        layers, 12 heads, head dimension 64, token dimension 768)} \dots\text{ use the proposed initialization for the
        SA weights}""",
    assumptions=[Definition("W_i^Q, W_i^K are the blocks of d_h columns of W^Q, W^K ('divided across h heads')",
        by=_products_of_heads)],
    name="query-key initialisation with several heads", relation=Equal(), all_sizes=True, exact=True, expects="reading",
    uses=("skipless.eq-11-multihead-logits",),
    reading=Reading(("divided across h heads", "use the proposed initialization for the SA weights"),
        r"""the product is that of the undivided $W^Q, W^K$ of shape $(d, d)$: the products $W_i^QW_i^{K\top}$ of the
            heads sum to $\alpha Z + \beta I$. The paper does not say which product its models initialise; of each head
            Eq. (11) is false, by rank (skipless.eq-11-multihead-per-head)"""),
    note="""The analysis of Section 5 is of one head of dimension $d$. With the product shared out over heads, or
        approximated by each, it is not about the attention matrices $A_i$ of the models.""")  # fmt: skip


def _undivided(Z: Any, alpha: Any, beta: Any, G: Any) -> tuple[Any, Any]:
    """W_Q = (alpha Z + beta I) G and W_K = G^-T for an invertible G."""
    G = invertible(G)
    return initial_product(Z, alpha, beta) @ G, inverse(G).T


@MULTIHEAD.formula
def products_of_all_heads(Z: Weights, alpha: Alpha, beta: Beta, G: Weights, d_h: HeadDimension) -> Any:
    """The sum of W_i^Q W_i^K^T over the heads, shape (d, d), for any W^Q, W^K with the product alpha Z + beta I."""
    return added(_products_of_heads(*_undivided(Z, alpha, beta, G), d_h))


MULTIHEAD.oracle(initial_product)

MULTIHEAD.mutant(
    "first head alone",
    "added(_products_of_heads(*_undivided(Z, alpha, beta, G), d_h)) -> _products_of_heads(*_undivided(Z, alpha, beta, G), d_h)[0]",
)
MULTIHEAD.mutant("queries of a head with the keys of the next", "_products_of_heads -> _of_the_next")

PER_HEAD = Claim(HEADS, "skipless.eq-11-multihead-per-head", label="Eq. (11) for each head",
    statement=r"""
        \mathbf{W}_i^Q\mathbf{W}_i^{K\top}=\alpha\mathbf{Z}+\beta\mathbf{I},\quad\mathbf{W}_i^Q,\mathbf{W}_i^K\in
        \mathbb{R}^{d\times d_h}\text{ with }d_h<d""",
    assumptions=[Definition("distance of alpha Z + beta I from the products W_Q_i W_K_i^T in the spectral norm: the "
        "singular value d_h + 1",
        by=singular_values)],
    name="query-key initialisation of each head", relation=Equal(), expects="refuted", severity="error",
    of_project=True, correction="skipless.eq-11-multihead-error",
    note=r"""$W_i^QW_i^{K\top}$ has rank $d_h = 64$ at most, $\alpha Z + \beta I$ has rank $d = 384$ or 768 with
        probability 1. The best approximation of it by a head has an error of 74 % ($d = 384$) and 85 % ($d = 768$) of
        the Frobenius norm at the printed values. With that and Gaussian tokens the attention matrix of a head need not
        be dominated by its diagonal any more (skipless.eq-11-multihead-logits).""")  # fmt: skip


@PER_HEAD.formula
def distance_stated(Z: Weights, alpha: Alpha, beta: Beta) -> Any:
    """0, the distance of alpha Z + beta I from the product that is said to equal it."""
    return 0 * beta + 0 * alpha + 0 * Z[0, 0]


PER_HEAD.inputs(Z=Weights, alpha=Alpha, beta=Beta, d_h=HeadDimension)


@PER_HEAD.oracle
def distance_from_rank(Z: Weights, alpha: Alpha, beta: Beta, d_h: HeadDimension) -> Any:
    """The singular value d_h + 1, the least distance from matrices of rank d_h (Eckart, Young, Mirsky)."""
    return singular_values(initial_product(Z, alpha, beta))[d_h]


PER_HEAD.counterexample("alpha = 0, beta = 1, two heads of dimension 1: the identity of rank 2 is no product of rank 1",
    Z=[[0, 0], [0, 0]], alpha="0", beta="1", d_h=1)  # fmt: skip
PER_HEAD.mutant("beta", lambda Z, beta: beta + 0 * Z[0, 0])
PER_HEAD.mutant("alpha + 2 beta", lambda alpha, beta: alpha + 2 * beta)

MULTIHEAD_ERROR = Claim(SKIPLESS, "skipless.eq-11-multihead-error", label="Error of Eq. (11) by a head",
    statement=r"""
        \|\alpha\mathbf{Z}+\beta\mathbf{I}-\mathbf{W}_i^Q\mathbf{W}_i^{K\top}\|_F\ge\Big(\sum_{k>d_h}s_k(\alpha
        \mathbf{Z}+\beta\mathbf{I})^2\Big)^{1/2}\text{ for all }\mathbf{W}_i^Q,\mathbf{W}_i^K\in\mathbb{R}^{d\times d_h},\ d_h<d
    """,
    assumptions=[Definition("s_k: singular values in descending order", by=singular_values),
        Assumption("d_h < d", sizes=lambda sizes: sizes["d_h"] < sizes["d"])],
    name="error of the initialisation by a head", relation=AtMost(), sizes={"d": (2, 4), "d_h": (1, 3)}, of_project=True,
        corrects="skipless.eq-11-multihead-per-head",
    note=r"""The theorem of Eckart, Young and Mirsky; attained by the truncated SVD. For $\alpha = 0$ the relative error
        is $\sqrt{1 - 1/h}$: 91 % for 6 heads, 96 % for 12.""")  # fmt: skip


@MULTIHEAD_ERROR.formula
def error_of_head(Z: Weights, alpha: Alpha, beta: Beta, W_Q: HeadFactor, W_K: HeadFactor) -> Any:
    """|alpha Z + beta I - W_Q W_K^T|_F, a scalar."""
    return frobenius_norm(initial_product(Z, alpha, beta) - W_Q @ W_K.T)


@MULTIHEAD_ERROR.oracle
def least_error(Z: Weights, alpha: Alpha, beta: Beta, W_Q: HeadFactor) -> Any:
    s = singular_values(initial_product(Z, alpha, beta))[W_Q.shape[1] :]
    return sqrt(total(s * s))


MULTIHEAD_ERROR.mutant("half the error", lambda value: value / 2)
MULTIHEAD_ERROR.mutant("spectral norm, halved",
    lambda Z, alpha, beta, W_Q, W_K: spectral_norm(initial_product(Z, alpha, beta) - W_Q @ W_K.T) / 2)  # fmt: skip


@MULTIHEAD_ERROR.domain("truncated identity")
def truncated_identity(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Z = 0 and the first d_h columns of beta I."""
    columns = np.eye(sizes["d"])[:, : sizes["d_h"]]
    arrays["Z"][:] = 0.0
    arrays["W_Q"][:] = columns * arrays["beta"].reshape(-1, 1, 1)
    arrays["W_K"][:] = columns


TOKENS, REPEATS = 197, 3


@functools.lru_cache(maxsize=4)
def _printed_sizes(seed: int) -> list[tuple[float, float]]:
    """kappa of the attention matrix for the full product and for the best product of rank d / h, at the size of ViT-Base."""
    import torch

    generator, found = torch.Generator().manual_seed(seed), []
    d, h, alpha, beta = VIT_BASE
    for _ in range(REPEATS):
        Z, X = normal(generator, d, d) / math.sqrt(d), normal(generator, TOKENS, d)
        W_Q, W_K = query_key_weights(Z, alpha, beta)
        logits = [X @ W_Q[:, :k] @ W_K[:, :k].T @ X.T for k in (d, d // h)]
        full, head = (float(conditions(torch.softmax(M, -1))) for M in logits)
        found.append((full, head))
    return found


MULTIHEAD_LOGITS = Claim(SKIPLESS, "skipless.eq-11-multihead-logits",
    label="Attention of one head at the printed sizes", name="attention of a head at printed sizes",
    statement=r"\kappa(\mathrm{softmax}(\mathbf{X}(\alpha\mathbf{Z}+\beta\mathbf{I})\mathbf{X}^\top))<1.001,\ "
    r"\text{and}\ \kappa>10^6\ \text{for the best approximation of rank}\ d_h,\ \text{in each of three random draws}",
    assumptions=[Definition("X ~ N(0, I)", by=normal), Definition("no scale factor 1/sqrt(d_h), as in Eq. (4)", by=_printed_sizes)],
    relation=FollowsLaw(samples=REPEATS, instances=1), expects="empirical", of_project=True,
    observed=r"""$n = 197$ tokens, $(d, h, \alpha, \beta) = (768, 12, 2, 0.6)$, 3 draws, float64, all of them: $\kappa$
        below 1.001 for the full product, above $10^6$ for its truncated SVD of rank 64. At $(384, 6, 1.8, 1)$ the
        latter varies from draw to draw, from 1 to $10^8$ in fifteen of them""")  # fmt: skip


@MULTIHEAD_LOGITS.formula
def printed_size_conditions() -> tuple[float, float]:
    """An upper bound of kappa for the full product, and a lower bound for a head."""
    return 1.001, 1e6


@MULTIHEAD_LOGITS.part("laws")
def at_printed_sizes(formula: Callable[[], tuple[float, float]], generator: torch.Generator) -> list[LawTest]:
    above, below = formula()
    found = _printed_sizes(generator.initial_seed())
    passed = {"full": all(full <= above for full, _ in found), "head": all(not head < below for _, head in found)}
    return [LawTest(name, 1.0 if good else SMALLEST_P, len(found)) for name, good in passed.items()]


MULTIHEAD_LOGITS.mutant("full product below 1", lambda: (1.0 - 1e-09, 1000000.0))
MULTIHEAD_LOGITS.mutant("heads above 1e300", lambda: (1.001, 1e300))
