"""How eigenvalues, rates and trajectories are computed: `eigenvalues`, `spectral_radius`, `loss_along`, `runge_kutta`.

Eigenvalues are floats from LAPACK or rigorous enclosures in balls; an energy that survives the attack on dE/dt is also
followed along whole trajectories, by Runge-Kutta with the step halved (`energy_lost`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import numpy as np

from verify.arithmetics import is_tensor, midpoint
from verify.matrix import absolute, concatenate, ones, rational, row_sums, vec_r, zeros
from verify.oracles import jacobian
from verify.vocabulary import ArithmeticUnsupported


def _lapack_eigenvalues(A: Any) -> Any:
    """The eigenvalues of a tensor (n, n), complex, shape (n,); NaN where A is not finite."""
    import torch

    # LAPACK raises for the whole batch where one matrix is not finite; here that one becomes NaN.  It also fails to
    # converge on some anti-symmetric integer matrices, which a reflection, chosen without meaning, brings out of their way.
    finite = A.isfinite().all()
    v = torch.arange(1, A.shape[0] + 1, dtype=A.dtype, device=A.device).sqrt().reshape(-1, 1)
    reflection = torch.eye(A.shape[0], dtype=A.dtype, device=A.device) - v @ v.T * (4 / (A.shape[0] * (A.shape[0] + 1)))
    values = torch.linalg.eigvals(reflection @ torch.where(finite, A, torch.zeros_like(A)) @ reflection)
    return torch.where(finite, values, torch.full_like(values, torch.nan))


def _enclosed_eigenvalues(A: Any) -> list[flint.acb]:
    """The eigenvalues of a ball matrix (n, n), multiple ones included."""
    try:
        found = flint.acb_mat([[flint.acb(entry) for entry in row] for row in A]).eig(multiple=True)
    except ValueError as problem:
        raise ArithmeticUnsupported(f"the eigenvalues could not be enclosed: {problem}") from None
    # The float route computes those of A + E: two products with a reflection and a backward stable kernel, each with an
    # error of up to n roundings of |A|.  Balls can be sharper, exact for diagonal A even, so this is added.
    size = sum((flint.arb(entry) * flint.arb(entry) for entry in A.flat), flint.arb(0)).sqrt().abs_upper()
    spread = flint.arb(0, size * 3 * A.shape[0] * flint.arb(2) ** -flint.ctx.prec)
    return [value + flint.acb(spread, spread) for value in found]


def spectral_radius(A: Any) -> Any:
    """The largest absolute value of the eigenvalues of A (n, n), a scalar; balls enclose it."""
    if is_tensor(A):
        return _lapack_eigenvalues(A).abs().max()
    largest = flint.arb(0)
    for value in _enclosed_eigenvalues(A):
        largest = largest.max(abs(value))
    return largest


def eigenvalues(A: Any) -> Any:
    """Real and imaginary parts of the eigenvalues of A (n, n), imaginary parts ascending, shape (n, 2); balls enclose them."""
    if is_tensor(A):
        import torch

        values = _lapack_eigenvalues(A)
        order = values.imag.argsort()
        return torch.stack([values.real[order], values.imag[order]], dim=1)
    enclosed = sorted(_enclosed_eigenvalues(A), key=lambda value: midpoint(value.imag))
    return np.array([[value.real, value.imag] for value in enclosed], dtype=object).reshape(len(enclosed), 2)


def ascending(row: Any) -> Any:
    """The entries of a row (1, n) in ascending order, as a column (n, 1)."""
    entries = row.reshape(-1)
    if is_tensor(entries):
        return entries.sort().values.reshape(-1, 1)
    return np.array(sorted(entries, key=midpoint), dtype=object).reshape(-1, 1)


def loss_along(energy_of: Callable[[Any], Any], X: Any, velocity: Any) -> Any:
    """(-dE/dt, sum_k |(dE/dX)_k (dX/dt)_k|) along a velocity of the shape of X, shape (2, 1); `energy_of` takes X by its name.

    The second entry, never negative, gives the first a scale: an attack on "-dE/dt >= 0" climbs their quotient.
    """
    terms = jacobian(energy_of, "X")(X) * vec_r(velocity).T
    return concatenate([-row_sums(terms), row_sums(absolute(terms))], axis=0)


def no_loss() -> Any:
    """0, the least that a falling energy loses."""
    return zeros(2, 1)


STEPS = "classical Runge-Kutta, 2 and 4 steps, over a fixed share of the time on which the field changes"


def runge_kutta(field: Callable[[Any], Any], X: Any, time: Any, steps: int) -> Any:
    """X(time) for dX/dt = field(X) by the classical method of order 4, shape of X."""
    h = time * rational(1, steps)
    for _ in range(steps):
        a = field(X)
        b = field(X + a * h * rational(1, 2))
        c = field(X + b * h * rational(1, 2))
        d = field(X + c * h)
        X = X + (a + (b + c) * 2 + d) * h * rational(1, 6)
    return X


def energy_lost(field: Callable[[Any], Any], energy_of: Callable[[Any], Any], X: Any, time: Any, steps: int = 2) -> Any:
    """E(0) - E(time) plus the change of E(time) when the step is halved, shape (1, 1): not negative if E falls."""
    ends = (X, runge_kutta(field, X, time, steps), runge_kutta(field, X, time, 2 * steps))
    start, coarse, fine = (energy_of(Y) for Y in ends)
    return ones(1, 1) * (start - fine + absolute(fine - coarse))
