"""exp of a matrix of floats, and the corner of that of blocks: integrals and derivatives of exponentials are such corners."""

from __future__ import annotations

import numpy as np


def exponential(A: np.ndarray) -> np.ndarray:
    """exp(A), shape (n, n), of real or complex numbers."""
    import torch

    # a batch of two, since torch's series for a single matrix of small norm is too short (see `verify.matrix.expm`)
    return np.asarray(torch.linalg.matrix_exp(torch.as_tensor(A).expand(2, *A.shape))[0]) if A.size else A


def corner(M: np.ndarray, E: np.ndarray, N: np.ndarray) -> np.ndarray:
    """int_0^1 exp(s M) E exp((1 - s) N) ds, shape (m, n), the upper right block of exp [[M, E], [0, N]]."""
    return exponential(np.block([[M, E], [np.zeros_like(E.T), N]]))[: len(M), len(M) :]


def growth(A: np.ndarray) -> np.ndarray:
    """exp(A) - I, shape (n, n), without cancellation for small A."""
    return corner(A, A, np.zeros_like(A))


def mean(A: np.ndarray) -> np.ndarray:
    """int_0^1 exp(s A) ds, shape (n, n)."""
    return corner(A, np.eye(len(A)), np.zeros_like(A))
