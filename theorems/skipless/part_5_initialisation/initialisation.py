"""Section 5.1 and Eq. (11): W_V W_O from an SVD, and W_Q W_K^T = alpha Z + beta I.

`value_output_weights` and `query_key_weights` are the initialisation itself, for use.  The scale of W_V W_O is c^2, not c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Weights
from theorems.skipless.sampling import normal
from theorems.skipless.settings import Dimension
from verify.matrix import column, concatenate, condition_number, eye, ones, singular_values, spectral_norm
from verify.oracles import SMALLEST_P, LawTest, Moments, proportion_test
from verify.vocabulary import Assumption, Claim, Construction, Definition, Equal, FollowsLaw, InputError, Real, realises

if TYPE_CHECKING:
    import torch

Scale = Annotated[Any, Real(0.25, 3.0)]
Alpha = Annotated[Any, Real(0.25, 2.0)]
Beta = Annotated[Any, Real(-1.0, 4.0)]

#: Sizes and coefficients of Section 6.1: d, h, alpha, beta.
VIT_BASE = (768, 12, 2.0, 0.6)
#: d of Section 6.2.
VIT_SMALL_WIDTH = 384


def value_output_weights(Q: torch.Tensor, c: float) -> tuple[torch.Tensor, torch.Tensor]:
    """W_V = c U and W_O = c V^T for the SVD Q = U S V^T of a square Q (..., d, d) (Section 5.1).

    The product is c^2 U V^T, c^2 times the orthogonal polar factor of Q; c is without unit, 3 in the paper's experiments.
    """
    import torch

    if Q.ndim < 2 or Q.shape[-1] != Q.shape[-2]:
        raise InputError("Q", "square matrices, shape (..., d, d)", f"shape {tuple(Q.shape)}")
    U, _, V_T = torch.linalg.svd(Q)
    return c * U, c * V_T


def query_key_weights(Z: torch.Tensor, alpha: float, beta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """W_Q, W_K of shape (..., d, d) with W_Q W_K^T = alpha Z + beta I, the singular values shared evenly (Eq. (11)).

    Z has independent N(0, 1/d) entries; the paper prints no factorisation, any other gives the same attention.
    """
    import torch

    if Z.ndim < 2 or Z.shape[-1] != Z.shape[-2]:
        raise InputError("Z", "square matrices, shape (..., d, d)", f"shape {tuple(Z.shape)}")
    U, S, V_T = torch.linalg.svd(alpha * Z + beta * torch.eye(Z.shape[-1], dtype=Z.dtype, device=Z.device))
    root = S.sqrt().unsqueeze(-2)
    return U * root, V_T.transpose(-1, -2) * root


def exactly(name: str, error: Any, scale: float, count: int) -> LawTest:
    """A deterministic test: passed where the largest error is below 1e-10 of the scale."""
    return LawTest(name, 1.0 if float(error) <= 1e-10 * scale else SMALLEST_P, count)


# -- W_V W_O -----------------------------------------------------------------------------------------------------------

KAPPA_ONE = Claim(SKIPLESS, "skipless.sec5.1-kappa-one", label="Section 5.1, text",
    statement=r"""\text{The best-case scenario is when it is a (scaled) orthonormal matrix, because in that case all of
        its singular values are equal, so that }\kappa(\mathbf{W}_\ell^V\mathbf{W}_\ell^O)=1""",
    assumptions=[
        Assumption("W_V W_O = c Q with Q orthogonal", zero=lambda Q: Q.T @ Q - eye(Q.shape[0])),
        Assumption("c > 0", positive=lambda c: c),
    ],
    name="condition number of scaled orthonormal matrices", relation=Equal(), sizes={"d": (1, 4)},
    note=r"1 is the least $\kappa$, and no other matrices have it (skipless.sec5.1-kappa-one-converse).")  # fmt: skip


@KAPPA_ONE.formula
def singular_values_of_scaled_orthogonal(c: Scale, d: Dimension) -> Any:
    """All singular values c, and kappa = 1, shape (d + 1, 1)."""
    return concatenate([ones(d, 1) * c, ones(1, 1) * (c / c)], axis=0)


@KAPPA_ONE.inputs
@realises({"W_V W_O = c Q": reached.ROTATIONS})
def scaled_orthogonal(G: Weights, c: Scale, d: Dimension) -> dict[str, Any]:
    """Q as a Cayley transform."""
    return {"Q": orthogonal_matrix(G), "c": c, "d": d}


KAPPA_ONE.oracle(lambda Q, c: column(*singular_values(Q * c), condition_number(Q * c)))
KAPPA_ONE.mutant("singular values c^2", lambda c, d: concatenate([ones(d, 1) * (c * c), ones(1, 1) * (c / c)], axis=0))
KAPPA_ONE.mutant("kappa of the scale", lambda c, d: concatenate([ones(d, 1) * c, ones(1, 1) * c], axis=0))

CONVERSE = Claim(SKIPLESS, "skipless.sec5.1-kappa-one-converse",
    label="Condition number and distance from a multiple of an orthogonal matrix",
    statement=r"\|\mathbf{P}^\top\mathbf{P}-s_{\min}^2\mathbf{I}\|_2=s_{\max}^2-s_{\min}^2,\ \text{so that}\ \kappa("
    r"\mathbf{P})=1\iff\mathbf{P}^\top\mathbf{P}=s^2\mathbf{I}\text{ for some }s\ne0",
    assumptions=[Construction("P is square", shapes={"P": ("d", "d")})],
    name="distance from scaled orthogonal matrices", relation=Equal(), sizes={"d": (1, 4)}, of_project=True,
)  # fmt: skip


@CONVERSE.formula
def gap_of_squares(P: Weights) -> Any:
    """s_max^2 - s_min^2, a scalar."""
    s = singular_values(P)
    return s[0] * s[0] - s[-1] * s[-1]


@CONVERSE.oracle
def distance_from_multiple_of_identity(P: Weights) -> Any:
    s = singular_values(P)[-1]
    return spectral_norm(P.T @ P - eye(P.shape[0]) * (s * s))


CONVERSE.mutant("s_max - s_min", "s[0] * s[0] -> s[0]; s[-1] * s[-1] -> s[-1]")
CONVERSE.mutant("s_max^2", "s[0] * s[0] - s[-1] * s[-1] -> s[0] * s[0]")

SVD_INIT = Claim(SKIPLESS, "skipless.sec5.1-svd-init", label="Section 5.1, SVD initialisation",
    statement=r"""\text{we first initialize a random square matrix }\mathbf{Q}\in\mathbb{R}^{d\times d}\text{ with
        zero-mean, unit-variance entries. Then we perform an SVD decomposition such that
        }\mathbf{Q}=\mathbf{U}\mathbf{S}\mathbf{V}^\top\text{ and we assign }\mathbf{W}_\ell^V=c\cdot\mathbf{U}\text{
        and }\mathbf{W}_\ell^O=c\cdot\mathbf{V}^\top\text{, where }c\text{ is a scaling constant. This ensures the
        matrix }\mathbf{W}_\ell^V\mathbf{W}_\ell^O\text{ is scaled orthonormal}""",
    assumptions=[
        Assumption("c != 0", positive=lambda c: c * c),
        Definition("zero-mean, unit-variance entries: normal and +-1, and, beyond what is stated, Q of rank one", by=normal),
    ],
    needless={"c has positive entries": "c enters the product of both matrices as its square"},
    name="value-output initialisation by SVD", relation=FollowsLaw(samples=2000, instances=4), sizes={"d": (1, 8)},
    note="""Drawn at $d$ up to 8 and, with $c = 3$, at 384. The scale of the product is $c^2$, not
        $c$: 9 for the printed $c = 3$. It is the polar factor of $Q$ times
        $c^2$. For normal entries its determinant is negative with probability 1/2, and its entries have mean 0 and
        variance $c^4/d$.""")  # fmt: skip


@SVD_INIT.formula
def scale_of_product(c: Scale, d: Dimension) -> Any:
    """The singular values of W_V W_O, all equal."""
    return c * c


@SVD_INIT.part("laws")
def initialised_products(
    formula: Callable[..., Any], generator: torch.Generator, samples: int, c: Scale, d: Dimension
) -> list[LawTest]:
    """Spectra for three distributions of Q; for the normal one also the sign of the determinant and an entry."""
    import torch

    c, tests = float(c), []
    gaussian = normal(generator, samples, d, d)
    signs = gaussian[:200].sign()
    rank_one = gaussian[:200, :, :1] @ gaussian[:200, :1, :]
    for name, Q in (("normal", gaussian), ("signs", signs), ("rank one", rank_one)):
        W_V, W_O = value_output_weights(Q, c)
        values = torch.linalg.svdvals(W_V @ W_O)
        tests.append(exactly(f"singular values, {name}", (values - float(formula(c, d))).abs().max(), c * c, len(Q)))
    wide = normal(generator, VIT_SMALL_WIDTH, VIT_SMALL_WIDTH)
    W_V, W_O = value_output_weights(wide, 3.0)
    error = torch.linalg.svdvals(W_V @ W_O) - float(formula(3.0, VIT_SMALL_WIDTH))
    tests.append(exactly("singular values, d = 384, c = 3", error.abs().max(), 9.0, 1))
    W_V, W_O = value_output_weights(gaussian, c)
    product = W_V @ W_O
    tests.append(proportion_test("positive determinant", (torch.linalg.det(product) > 0).cpu(), 0.5))
    scale = float(formula(c, d))
    if d > 1:
        tests += Moments(0.0, scale**2 / d).tests("an entry", product[:, 0, -1].cpu())
    return tests


SVD_INIT.mutant("scale c", lambda c, d: c)
SVD_INIT.mutant("scale c^2 / 2", lambda c, d: c * c / 2)


# -- W_Q W_K^T ---------------------------------------------------------------------------------------------------------

EQ_11 = Claim(SKIPLESS, "skipless.eq-11", label="Eq. (11)", name="query-key initialisation",
    statement=r"""\mathbf{W}_\ell^Q\mathbf{W}_\ell^{K^\top}=\alpha\mathbf{Z}+\beta\mathbf{I}, \text{ where the entries
        of }\mathbf{Z}\text{ are sampled as }\mathbf{Z}_{ij}\sim\mathcal{N}(0,\tfrac1d)""",
    assumptions=[
        Definition("W_Q, W_K of shape (d, d), one head", by=query_key_weights), Definition("entries of Z independent", by=normal),
    ],
    needless={"alpha has positive entries": "Z and -Z have one law"},
    relation=FollowsLaw(samples=4000, instances=4), sizes={"d": (2, 8)},
    note=r"""Compared are moments of the entries of such a product. Such weights exist for every $\alpha$, $\beta$
        and $Z$, if only $W^Q = \alpha Z + \beta I$ and $W^K = I$;
        for one head with $d_h < d$ they do not (skipless.eq-11-multihead).""")  # fmt: skip


@EQ_11.formula
def entry_moments(alpha: Alpha, beta: Beta, d: Dimension) -> tuple[Any, Any, Any]:
    """Mean of a diagonal entry, mean of another entry, and variance of either, of W_Q W_K^T."""
    return beta, 0.0, alpha * alpha / d


@EQ_11.part("laws")
def initialised_queries_and_keys(
    formula: Callable[..., Any], generator: torch.Generator, samples: int, alpha: Alpha, beta: Beta, d: Dimension
) -> list[LawTest]:
    """The factorisation, also at alpha = 0, and the moments of two entries."""
    import torch

    alpha, beta = float(alpha), float(beta)
    Z = normal(generator, samples, d, d) / math.sqrt(d)
    tests = []
    for a in (0.0, alpha):
        W_Q, W_K = query_key_weights(Z, a, beta)
        product = W_Q @ W_K.transpose(1, 2)
        wanted = a * Z + beta * torch.eye(d, dtype=Z.dtype, device=Z.device)
        tests.append(exactly(f"factorisation, alpha = {a}", (product - wanted).abs().max(), 1.0, samples))
    mean, other, variance = formula(alpha, beta, d)
    tests += Moments(mean, variance).tests("a diagonal entry", product[:, 0, 0].cpu())
    return tests + Moments(other, variance).tests("another entry", product[:, 0, 1].cpu())


EQ_11.mutant("entries of Z of variance 1", lambda alpha, beta, d: (beta, 0.0, alpha * alpha))
EQ_11.mutant("beta in every entry", lambda alpha, beta, d: (beta, beta + 1.0, alpha * alpha / d))
EQ_11.mutant("alpha not squared, standard deviation 1/d", lambda alpha, beta, d: (beta, 0.0, alpha / (d * d)))
