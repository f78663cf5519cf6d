"""What Eqs. (14)-(20) assume of tokens and noise, and expectations of polynomials in the logits, by enumeration
(Isserlis) and by simulation."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable
from math import prod, sqrt
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.sampling import normal
from verify.matrix import column, ones
from verify.vocabulary import Setting, Shape

if TYPE_CHECKING:
    import torch

Term = tuple[Hashable, ...]


def gaussian_moment(factors: Term) -> int:
    """E of a product of independent standard normals, named by `factors`: of g^m it is (m - 1)!!, or 0 for odd m."""
    powers = Counter(factors).values()
    return 0 if any(m % 2 for m in powers) else prod(k for m in powers for k in range(1, m, 2))


Scale = Annotated[Any, Shape("1", "1")]
#: A polynomial in independent standard normals: coefficients by the sorted names of the factors.
Polynomial = Counter[tuple[tuple[str | int, ...], ...]]

TOKENS = "X of shape (n, d) with independent standard normal entries, i and j different rows"
NOISE = "Z of shape (d, d) independent of X, entries independent normal of mean 0 and variance 1/d (Eq. (11))"
LOGITS = Setting(SKIPLESS, "Section A.4.1", assumptions=[TOKENS, NOISE, "A = X X^T, B = X Z X^T, C = alpha B + beta A"],
    sizes={"d": (1, 3)}, exact=True)  # fmt: skip

# -- expectations by enumeration ---------------------------------------------------------------------------------------


def product_of(p: Polynomial, q: Polynomial) -> Polynomial:
    """p q, term by term."""
    result: Polynomial = Counter()
    for a, x in p.items():
        for b, y in q.items():
            result[tuple(sorted(a + b, key=str))] += x * y
    return result


def difference_of(p: Polynomial, q: Polynomial) -> Polynomial:
    """p - q."""
    result: Polynomial = Counter(p)
    result.subtract(q)
    return result


@functools.cache
def logit(i: str, j: str, d: int) -> Polynomial:
    """C_ij for rows named i and j, at alpha = beta = 1 and unit variance of Z: sums of x_ik z_kl x_jl and of x_ik x_jk."""
    noisy = [((i, k), ("z", k, l), (j, l)) for k in range(d) for l in range(d)]
    plain = [((i, k), (j, k)) for k in range(d)]
    return Counter(tuple(sorted(term, key=str)) for term in [*noisy, *plain])


def expectation_by_power(p: Polynomial) -> dict[int, int]:
    """E p, split by the number of factors z, which is the power of alpha / sqrt(d) that goes with a term (Isserlis)."""
    result: dict[int, int] = {}
    for term, coefficient in p.items():
        power = sum(name[0] == "z" for name in term)
        result[power] = result.get(power, 0) + coefficient * gaussian_moment(term)
    return {power: value for power, value in result.items() if value}


@functools.cache
def expectations(d: int) -> dict[str, dict[int, int]]:
    """Raw moments of C_ii, C_ij and gamma = C_ii - C_ij, split by powers of alpha / sqrt(d)."""
    own, other = logit("i", "i", d), logit("i", "j", d)
    gap = difference_of(own, other)
    square = product_of(gap, gap)
    products = {
        "own": own,
        "other": other,
        "own own": product_of(own, own),
        "other other": product_of(other, other),
        "own other": product_of(own, other),
        "gap": gap,
        "gap^2": square,
        "gap^3": product_of(square, gap),
    }
    return {name: expectation_by_power(p) for name, p in products.items()}


def raw_moment(name: str, degree: int, alpha: Any, beta: Any, d: int) -> Any:
    """A raw moment at the given alpha and beta, shape (1, 1); odd powers of Z have mean zero, so d enters rationally."""
    value = 0 * alpha
    for power, coefficient in expectations(d)[name].items():
        term = ones(1, 1) * coefficient / d ** (power // 2)
        for _ in range(power):
            term = alpha * term
        for _ in range(degree - power):
            term = beta * term
        value = value + term
    return value


def enumerated_covariance(alpha: Any, beta: Any, d: int) -> Any:
    """Cov(C_ii, C_ij), shape (1, 1)."""
    means = [raw_moment(name, 1, alpha, beta, d) for name in ("own", "other")]
    return raw_moment("own other", 2, alpha, beta, d) - means[0] * means[1]


def enumerated_mean_and_variance(name: str, alpha: Any, beta: Any, d: int) -> Any:
    """Mean and variance of C_ii ("own") or C_ij ("other"), shape (2, 1)."""
    mean = raw_moment(name, 1, alpha, beta, d)
    return column(mean, raw_moment(f"{name} {name}", 2, alpha, beta, d) - mean * mean)


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
