"""How rates and trajectories are computed: `loss_along`, `runge_kutta`.

An energy that survives the attack on dE/dt is also followed along whole trajectories, by Runge-Kutta with the step halved
(`energy_lost`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from verify.arithmetics import is_tensor, midpoint
from verify.matrix import absolute, concatenate, ones, rational, row_sums, vec_r, zeros
from verify.oracles import jacobian
from verify.vocabulary import Definition


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


STEPS = Definition(
    "classical Runge-Kutta, 2 and 4 steps, over a fixed share of the time on which the field changes", by=runge_kutta
)


def energy_lost(field: Callable[[Any], Any], energy_of: Callable[[Any], Any], X: Any, time: Any, steps: int = 2) -> Any:
    """E(0) - E(time) plus the change of E(time) when the step is halved, shape (1, 1): not negative if E falls."""
    ends = (X, runge_kutta(field, X, time, steps), runge_kutta(field, X, time, 2 * steps))
    start, coarse, fine = (energy_of(Y) for Y in ends)
    return ones(1, 1) * (start - fine + absolute(fine - coarse))
