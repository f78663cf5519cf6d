"""exp(A), exp(A) - I and phi(A) = (exp(A) - I) / A of small float matrices by Taylor polynomials, scaling and doubling.

A layer at the speed of its two large products leaves a tenth of a millisecond for a 64 x 64 exponential, half of what
torch.linalg.matrix_exp takes.  Being made of products alone, these differentiate at the same price, to every order.
Among other work a kind of operation costs as much as its numbers when it comes for the first time, so there are few kinds.
"""

from __future__ import annotations

import math
from typing import Any

Powers = tuple[Any, Any, Any, Any]


def exponential(A: Any) -> Any:
    """exp(A) for tensors (..., n, n); `exponential_minus_identity` says at which price and how accurately."""
    E = exponential_minus_identity(A, low_powers(A))
    E.diagonal(dim1=-2, dim2=-1).add_(1.0)
    return E


def exponential_minus_identity(A: Any, powers: Powers) -> Any:
    """exp(A) - I for tensors (..., n, n), in float32 by four products and in others by six, and one for each halving of A.

    `powers` are those of `low_powers(A)`.  E = exp(A) - I is doubled by exp(2A) - I = 2E + E^2.

    The error relative to exp(A) is a few roundings times 1 + ||A||, as for any algorithm, where exp(sA), 0 <= s <= 1, is no
    larger than exp(A); Taylor polynomials lose digits where exp(A) is small, A far left of 0, which no generator of attention
    is.
    """
    halvings = _halvings(powers)
    E = _polynomial(powers, halvings)
    for _ in range(halvings):
        E = plus_product(E, E, E, beta=2.0)
    return E


def phi(A: Any, powers: Powers) -> Any:
    """phi(A) = I + A/2! + A^2/3! + ... for tensors (..., n, n), so that A phi(A) = exp(A) - I.

    `powers` are those of `low_powers(A)`.  Doubled by 2 phi(2A) = (exp(A) + I) phi(A), two products for each halving.
    """
    halvings = _halvings(powers)
    value = _polynomial(powers, halvings, shift=1)
    value.diagonal(dim1=-2, dim2=-1).add_(1.0)
    E = None
    for _ in range(halvings):
        E = A @ value * 0.5**halvings if E is None else plus_product(E, E, E, beta=2.0)
        value = plus_product(value, E, value, alpha=0.5)
    return value


def low_powers(A: Any) -> Powers:
    """A, A^2, A^3 and A^4."""
    second = A @ A
    return A, second, second @ A, second @ second


def norm(A: Any) -> float:
    """The Frobenius norm of a matrix, of a batch the root of the sum of their squares."""
    import torch

    return torch.linalg.vector_norm(A.detach()).item()


def _degree(A: Any) -> tuple[int, float]:
    """The degree, and how large a matrix it serves: the first term left out is half a rounding."""
    return (8, 0.6) if A.element_size() == 4 else (16, 0.8)


def _halvings(powers: Powers) -> int:
    """How often A has to be halved, by ||A^3||^(1/3) and ||A^4||^(1/4).

    These see that a matrix similar to a skew one has small powers however large it is (Al-Mohy and Higham 2009).
    """
    A, _, third, fourth = powers
    # Norms of the whole batch at once: at most a factor B^(1/8) above the largest of B, and no pass over axes.
    radius = max(norm(third) ** (1 / 3), norm(fourth) ** 0.25)
    return max(0, math.ceil(math.log2(radius / _degree(A)[1]))) if 0 < radius < math.inf else 0


def _polynomial(powers: Powers, halvings: int, shift: int = 0) -> Any:
    """sum over k > 0 of (A / 2^halvings)^k / (k + shift)!, for a shift of 0 or 1, by Horner's rule in A^4.

    The terms from A^(k+1) to A^(k+4) are kept divided by the coefficient of the first: scaling them then needs no operation.
    """
    A, second, third, fourth = powers

    def ratio(k: int, of: int) -> float:
        return 0.5 ** (halvings * (k - of)) * (math.factorial(of + shift) / math.factorial(k + shift))

    first = _degree(A)[0] - 3
    value = A.add(second, alpha=ratio(first + 1, first)).add(third, alpha=ratio(first + 2, first))
    value = value.add(fourth, alpha=ratio(first + 3, first))
    for k in range(first - 4, 0, -4):
        of = k if k > 1 else 0  # the coefficient of I is 1
        value = plus_product(third, fourth, value, ratio(k + 2, of), ratio(k + 4, of))
        value = value.add(second, alpha=ratio(k + 1, of)).add(fourth, alpha=ratio(k + 3, of)).add(A, alpha=ratio(k, of))
    return value


def plus_product(C: Any, A: Any, B: Any, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """beta C + alpha A B for tensors (..., n, n)."""
    return C.addmm(A, B, beta=beta, alpha=alpha) if C.ndim == A.ndim == 2 else C * beta + (A @ B) * alpha
