"""What Eqs. (14)-(20) assume of tokens and noise, and expectations of polynomials in the logits, exact and by
simulation."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Hashable
from math import prod, sqrt
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.sampling import normal
from verify.matrix import column, rational
from verify.oracles import Normal, expectation
from verify.vocabulary import Definition, Setting, Shape
from verify.vocabulary.hypotheses import normal_entries

if TYPE_CHECKING:
    import torch

Term = tuple[Hashable, ...]


def gaussian_moment(factors: Term) -> int:
    """E of a product of independent standard normals, named by `factors`: of g^m it is (m - 1)!!, or 0 for odd m."""
    powers = Counter(factors).values()
    return 0 if any(m % 2 for m in powers) else prod(k for m in powers for k in range(1, m, 2))


Scale = Annotated[Any, Shape("1", "1")]

TOKENS = "X of shape (n, d) with independent standard normal entries, i and j different rows"
NOISE = "Z of shape (d, d) independent of X, entries independent normal of mean 0 and variance 1/d (Eq. (11))"

# -- expectations over X and Z -----------------------------------------------------------------------------------------


def logits(X: Any, Z: Any, alpha: Any, beta: Any) -> Any:
    """C = alpha X Z X^T + beta X X^T for the rows X = [x_i; x_j], shape (2, 2)."""
    return X @ Z @ X.T * alpha + X @ X.T * beta


LOGITS = Setting(SKIPLESS, "Section A.4.1",
    assumptions=[
        Definition(TOKENS, by=Normal), Definition(NOISE, by=Normal),
        Definition("A = X X^T, B = X Z X^T, C = alpha B + beta A", by=logits),
    ],
    hypotheses=(normal_entries("X", stated=TOKENS), normal_entries("Z", stated=NOISE)), sizes={"d": (1, 3)}, exact=True,
)  # fmt: skip


def own_logit(X: Any, Z: Any, alpha: Any, beta: Any) -> Any:
    """C_ii, shape (1, 1)."""
    return logits(X, Z, alpha, beta)[:1, :1]


def other_logit(X: Any, Z: Any, alpha: Any, beta: Any) -> Any:
    """C_ij, shape (1, 1)."""
    return logits(X, Z, alpha, beta)[:1, 1:2]


def gap(X: Any, Z: Any, alpha: Any, beta: Any) -> Any:
    """gamma = C_ii - C_ij, shape (1, 1)."""
    return own_logit(X, Z, alpha, beta) - other_logit(X, Z, alpha, beta)


@functools.cache
def product_of(*entries: Callable[..., Any]) -> Callable[..., Any]:
    """The product of some of these entries, one function for each choice of them."""

    def product(X: Any, Z: Any, alpha: Any, beta: Any) -> Any:
        return math.prod(entry(X, Z, alpha, beta) for entry in entries)

    return product


def raw_moment(alpha: Any, beta: Any, d: int, *entries: Callable[..., Any]) -> Any:
    """The expectation of a product of these entries, shape (1, 1)."""
    rows, noise = Normal(2, d), Normal(d, d, rational(1, d))
    return expectation(product_of(*entries), X=rows, Z=noise)(alpha=alpha, beta=beta)


def covariance(alpha: Any, beta: Any, d: int) -> Any:
    """Cov(C_ii, C_ij), shape (1, 1)."""
    own, other = (raw_moment(alpha, beta, d, entry) for entry in (own_logit, other_logit))
    return raw_moment(alpha, beta, d, own_logit, other_logit) - own * other


def mean_and_variance(entry: Callable[..., Any], alpha: Any, beta: Any, d: int) -> Any:
    """Mean and variance of an entry, shape (2, 1)."""
    mean = raw_moment(alpha, beta, d, entry)
    return column(mean, raw_moment(alpha, beta, d, entry, entry) - mean * mean)


# -- samples, the second oracle ----------------------------------------------------------------------------------------


#: Up to this d the matrix Z itself is drawn.
LARGEST_DRAWN = 16


def sampled_pair(
    generator: torch.Generator, samples: int, d: int, alpha: float, beta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Independent copies of (C_ii, C_ij) from drawn X and Z, each of shape (samples,)."""
    import torch

    x, y = normal(generator, samples, d), normal(generator, samples, d)
    image = beta * x
    if alpha:
        if d <= LARGEST_DRAWN:
            noise = torch.einsum("sk,skl->sl", x, normal(generator, samples, d, d) / sqrt(d))
        else:  # given x, the entries of x^T Z are independent normal of variance |x|^2 / d
            noise = normal(generator, samples, d) * x.norm(dim=1, keepdim=True) / sqrt(d)
        image = image + alpha * noise
    return (image * x).sum(1).cpu().numpy(), (image * y).sum(1).cpu().numpy()


def chi_squared(d: int) -> Callable[[np.ndarray], np.ndarray]:
    """The distribution function of chi^2_d."""

    def distribution(x: np.ndarray) -> np.ndarray:
        import torch

        return torch.special.gammainc(torch.tensor(d / 2, dtype=torch.float64), torch.as_tensor(x) / 2).numpy()

    return distribution


#: The same for laws of drawn logits.
DRAWN_LOGITS = Setting(SKIPLESS, "Section A.4.1",
    assumptions=[
        Definition(TOKENS, by=sampled_pair), Definition(NOISE, by=sampled_pair),
        Definition("A = X X^T, B = X Z X^T, C = alpha B + beta A", by=sampled_pair),
    ])  # fmt: skip
