"""The names that made-up formulas speak of."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from verify.matrix import *  # noqa: F403
from verify.matrix import frobenius_norm, spectral_norm
from verify.oracles import expectations
from verify.oracles.expectations import Normal

F, N = frobenius_norm, spectral_norm

#: Gauss-Hermite quadrature with three points: exact up to degree 5 in every entry.
POINTS, WEIGHTS = (-(3.0**0.5), 0.0, 3.0**0.5), (1 / 6, 2 / 3, 1 / 6)
#: Random entries for which it is used.
MOST_ENTRIES = 4


def mean(f: Callable[..., Any], **normals: Normal) -> Any:
    """E f over matrices of independent normal entries that f takes by name; what else it speaks of is captured.

    For symbolic sizes this is the engine's expectation, for numbers a quadrature that knows nothing of it.
    """
    if not all(isinstance(normal.rows, int) and isinstance(normal.columns, int) for normal in normals.values()):
        return expectations.expectation(f, **normals)()
    import torch

    shapes = {name: (normal.rows, normal.columns) for name, normal in normals.items()}
    count = sum(m * n for m, n in shapes.values())
    if count > MOST_ENTRIES:
        raise ArithmeticError(f"a quadrature over {count} entries")
    result = 0
    for chosen in itertools.product(range(3), repeat=count):
        values, at = {}, 0
        for name, (m, n) in shapes.items():
            entries = np.array([POINTS[k] for k in chosen[at : at + m * n]]).reshape(m, n)
            values[name] = torch.as_tensor(entries * float(normals[name].variance) ** 0.5)
            at += m * n
        result = result + f(**values) * float(np.prod([WEIGHTS[k] for k in chosen]))
    return result
