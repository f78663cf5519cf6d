"""exp(A) and phi(A) = (exp(A) - I) / A of small float matrices by Taylor polynomials, scaling and doubling.

A layer at the speed of its two large products leaves a tenth of a millisecond for a 64 x 64 exponential, half of what
torch.linalg.matrix_exp takes.  Being made of products alone, these differentiate at the same price, to every order.
"""

from __future__ import annotations

import math
from typing import Any

import torch

Powers = tuple[Any, Any, Any, Any]


def exponential(A: Any, powers: Powers | None = None) -> Any:
    """exp(A) for tensors (..., n, n), in float32 by four products and in others by six, and one for each halving of A.

    `powers` are those of `low_powers(A)`, if they are known already.

    The relative error is a few roundings times 1 + ||A||, as for any algorithm, where exp(sA), 0 <= s <= 1, is no larger
    than exp(A); Taylor polynomials lose digits where exp(A) is small, A far left of 0, which no generator of attention is.
    """
    powers = powers or low_powers(A)
    halvings = _halvings(powers)
    E = _polynomial(powers, halvings)
    for _ in range(halvings):
        E = E @ E
    return E


def phi(A: Any, powers: Powers | None = None) -> Any:
    """phi(A) = I + A/2! + A^2/3! + ... for tensors (..., n, n), so that A phi(A) = exp(A) - I.

    Doubled by 2 phi(2A) = (exp(A) + I) phi(A), two products for each halving.
    """
    powers = powers or low_powers(A)
    halvings = _halvings(powers)
    value = _polynomial(powers, halvings, shift=1)
    if halvings:
        I, E = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device), _polynomial(powers, halvings)
        for _ in range(halvings):
            value = 0.5 * ((E + I) @ value)
            E = E @ E
    return value


def low_powers(A: Any) -> Powers:
    """A, A^2, A^3 and A^4."""
    second = A @ A
    return A, second, second @ A, second @ second


def norm(A: Any) -> float:
    """The Frobenius norm of a matrix, of a batch the root of the sum of their squares."""
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
    """sum over k of (A / 2^halvings)^k / (k + shift)!, for a shift of 0 or 1, by Horner's rule in A^4.

    The terms from A^(k+1) to A^(k+4) are kept divided by the coefficient of the first: scaling them then needs no operation.
    """
    A, second, third, fourth = powers

    def ratio(k: int, of: int) -> float:
        return 0.5 ** (halvings * (k - of)) * (math.factorial(of + shift) / math.factorial(k + shift))

    first = _degree(A)[0] - 3
    value = A.add(second, alpha=ratio(first + 1, first)).add_(third, alpha=ratio(first + 2, first))
    value.add_(fourth, alpha=ratio(first + 3, first))
    for k in range(first - 4, 0, -4):
        of = k if k > 1 else 0  # the coefficient of I is 1
        value = _plus_product(third, ratio(k + 2, of), fourth, value, ratio(k + 4, of))
        value.add_(second, alpha=ratio(k + 1, of)).add_(fourth, alpha=ratio(k + 3, of)).add_(A, alpha=ratio(k, of))
    value.diagonal(dim1=-2, dim2=-1).add_(1.0)
    return value


def _plus_product(C: Any, beta: float, A: Any, B: Any, alpha: float) -> Any:
    """beta C + alpha A B."""
    return torch.addmm(C, A, B, beta=beta, alpha=alpha) if C.ndim == 2 else (A @ B).mul_(alpha).add_(C, alpha=beta)
