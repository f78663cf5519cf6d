"""Weights and tokens as they are drawn, quantities of whole batches, and tests of probabilities and laws.

Tests allow for a stated error where the paper's number is rounded; their p-values are valid for every sample size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from theorems.skipless.quantities import input_jacobian
from theorems.skipless.settings import BY_DIMENSION, LENGTH
from verify.oracles import SMALLEST_P, LawTest, at_least_probability
from verify.vocabulary import Claim, checked

if TYPE_CHECKING:
    import torch

#: Standard deviation of the truncated normal initialisation in the code of ViT; the paper prints none.
DEFAULT_DEVIATION = 0.02


def truncated_normal(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Entries of standard deviation 0.02, cut at two, independent."""
    import torch

    weights = torch.empty(*shape, dtype=torch.float64, device=generator.device)
    return torch.nn.init.trunc_normal_(
        weights, std=DEFAULT_DEVIATION, a=-2 * DEFAULT_DEVIATION, b=2 * DEFAULT_DEVIATION, generator=generator
    )


def normal(generator: torch.Generator, *shape: int, single: bool = False) -> torch.Tensor:
    """Independent standard normal entries, in double precision or, for large arrays, in single."""
    import torch

    dtype = torch.float32 if single else torch.float64
    return torch.randn(*shape, generator=generator, dtype=dtype, device=generator.device)


def conditions(matrices: torch.Tensor) -> torch.Tensor:
    """kappa of each matrix of a batch."""
    values = flat_singular_values(matrices)
    return values[..., 0] / values[..., -1]


def flat_singular_values(matrices: torch.Tensor) -> torch.Tensor:
    """Singular values of each matrix of a batch, descending."""
    import torch

    return torch.linalg.svdvals(matrices)


def batched_input_jacobian(X: Any, W: Any, P: Any) -> torch.Tensor:
    """K for each of a batch of tokens X (b, n, d), query-key products W and value-output products P (b, d, d)."""
    import torch

    identity = torch.eye(X.shape[-1], dtype=X.dtype, device=X.device)

    def one(x: Any, w: Any, p: Any) -> Any:
        return input_jacobian(x, w, identity, p, identity)

    return torch.func.vmap(one)(X, W, P)


@checked
def query_key_product(Z: Any, alpha: float, beta: float) -> Any:
    """alpha Z + beta I as a float tensor, shape (d, d) (Eq. (11))."""
    result = alpha * Z
    result.diagonal().add_(beta)
    return result


def wrong_products(claim: Claim) -> None:
    """Initialisations that a slip would give instead of Eq. (11), as mutants of a claim about `query_key_product`."""
    claim.mutant("beta I forgotten", lambda Z, alpha, beta: alpha * Z)
    claim.mutant("entries of Z of variance 1", lambda Z, alpha, beta: query_key_product(Z * len(Z) ** 0.5, alpha, beta))
    claim.mutant("beta negative", lambda Z, alpha, beta: query_key_product(Z, alpha, -beta))


def drawn_logits(product: Callable[..., Any], generator: torch.Generator, d: int) -> torch.Tensor:
    """X W X^T for Gaussian tokens and W = product(Z, alpha, beta) at the printed alpha and beta, shape (LENGTH, LENGTH)."""
    X, Z = (normal(generator, rows, d, single=True) for rows in (LENGTH, d))
    return (X @ product(Z / math.sqrt(d), *BY_DIMENSION[d]) @ X.T).double()


def gap_of_logits(M: torch.Tensor) -> float:
    """gamma = min over i and j != i of M_ii - M_ij."""
    return float((M.diagonal() - M.clone().fill_diagonal_(-math.inf).amax(1)).min())


def at_least_half(name: str, outcomes: Any) -> LawTest:
    """Test that independent 0/1 outcomes have probability 4/5 or more; of 100 it rejects where half of them are 0."""
    x = np.asarray(outcomes, dtype=np.float64).reshape(-1)
    return at_least_probability(name, int(x.sum()), len(x), 0.8)


def _limited(p: float) -> float:
    return min(1.0, max(p, SMALLEST_P))


def near_probability(name: str, successes: int, trials: int, probability: float, allowance: float) -> LawTest:
    """Test that an event has the given probability up to `allowance` (Hoeffding's bound)."""
    excess = max(abs(successes / trials - probability) - allowance, 0.0)
    return LawTest(name, _limited(2 * math.exp(-2 * trials * excess**2)), trials)


def near_law(name: str, samples: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray], allowance: float) -> LawTest:
    """Test that the law is within a Kolmogorov distance `allowance` of the given one (Dvoretzky-Kiefer-Wolfowitz)."""
    x = np.sort(samples)
    n, f = len(x), cdf(x)
    distance = max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n))
    return LawTest(name, _limited(2 * math.exp(-2 * n * max(distance - allowance, 0.0) ** 2)), n)
