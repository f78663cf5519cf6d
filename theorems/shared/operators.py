"""Symmetric linear operators on weights in one vector, as SciPy and curvlinops take them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from verify.vocabulary import InputError, Shape, require_fit


class SymmetricOperator(ABC):
    """A symmetric matrix of shape (n, n) known by its products; n is the number of all entries of `weights`, row by row.

    `operator @ v` for v of shape (n,) or (n, p), or for a list of tensors shaped as the weights, with a last axis p or
    without; `matvec`, `matmat`, `rmatvec`, `rmatmat`, `T`, `H`, `adjoint`, `shape`, `dtype` as in scipy and curvlinops.
    """

    def __init__(self, weights: tuple[Any, ...]) -> None:
        self.weights = weights
        n = sum(W.numel() for W in weights)
        self.shape = (n, n)

    @abstractmethod
    def matmat(self, V: Any) -> Any:
        """Products with the columns of V (n, p)."""

    @property
    def dtype(self) -> Any:
        return self.weights[0].dtype

    @property
    def device(self) -> Any:
        return self.weights[0].device

    def __matmul__(self, vectors: Any) -> Any:
        """Products in the form of the vectors: (n,), (n, p), or a list of tensors in the shapes of the weights."""
        if isinstance(vectors, (list, tuple)):
            return self._of_lists(list(vectors))
        self.require_vectors(vectors)
        return self.matmat(vectors[:, None])[:, 0] if vectors.ndim == 1 else self.matmat(vectors)

    def matvec(self, v: Any) -> Any:
        return self @ v

    def rmatvec(self, v: Any) -> Any:
        return self @ v

    def rmatmat(self, V: Any) -> Any:
        return self.matmat(V)

    @property
    def T(self) -> SymmetricOperator:
        return self

    @property
    def H(self) -> SymmetricOperator:
        return self

    def adjoint(self) -> SymmetricOperator:
        return self

    def extreme_eigenvalues(self, steps: int = 60, seed: int = 0) -> tuple[float, float]:
        """Estimates of the smallest and largest eigenvalue from within, by Lanczos with full reorthogonalisation."""
        import torch

        if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
            raise InputError("steps", "an integer >= 1", repr(steps))
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
            raise InputError("seed", "an integer >= 0 below 2^63", repr(seed))
        steps = min(steps, self.shape[0])
        generator = torch.Generator().manual_seed(seed)
        v = torch.randn(self.shape[0], generator=generator, dtype=torch.float64).to(self.device, self.dtype)
        basis = [v / v.norm()]
        T = v.new_zeros(steps, steps)
        for j in range(steps):
            w, Q = self @ basis[j], torch.stack(basis, dim=1)
            T[: j + 1, j] = Q.T @ w
            for _ in range(2):
                w = w - Q @ (Q.T @ w)
            size = w.norm()
            if j + 1 == steps or size <= torch.finfo(self.dtype).eps * T.norm():
                T = T[: j + 1, : j + 1]
                break
            T[j + 1, j] = size
            basis.append(w / size)
        ritz = torch.linalg.eigvalsh((T + T.T) / 2)
        return float(ritz[0]), float(ritz[-1])

    def to_scipy(self) -> Any:
        """The operator on numpy arrays, a scipy.sparse.linalg.LinearOperator; needs scipy."""
        import torch
        from scipy.sparse.linalg import LinearOperator

        def product(V: Any) -> Any:
            found = self @ torch.as_tensor(V, dtype=self.dtype, device=self.device)
            return found.detach().cpu().numpy()

        kind = {torch.float64: "float64", torch.float32: "float32"}[self.dtype]
        return LinearOperator(self.shape, matvec=product, matmat=product, rmatvec=product, rmatmat=product, dtype=kind)

    def _of_lists(self, parts: list[Any]) -> list[Any]:
        import torch

        shapes = [tuple(W.shape) for W in self.weights]
        for part in parts:
            if not isinstance(part, torch.Tensor):
                raise InputError("vectors", f"a list of tensors of shapes {shapes}", f"one with {type(part).__name__}")
        last = {part.shape[len(shape) :] for part, shape in zip(parts, shapes, strict=False)}
        fits = len(parts) == len(shapes) and len(last) == 1 and len(next(iter(last))) <= 1
        if not fits or any(part.shape[: len(shape)] != shape for part, shape in zip(parts, shapes, strict=True)):
            got = [tuple(part.shape) for part in parts]
            raise InputError("vectors", f"a list of tensors of shapes {shapes}, or each with a last axis", f"{got}")
        sizes = [math.prod(shape) for shape in shapes]
        flat = torch.cat([part.reshape(size, -1) for part, size in zip(parts, sizes, strict=True)])
        found = (self @ flat).split(sizes)
        return [G.reshape(part.shape) for G, part in zip(found, parts, strict=True)]

    def require_vectors(self, V: Any) -> None:
        import torch

        if not isinstance(V, torch.Tensor):
            raise InputError("vectors", "a torch tensor, or a list of tensors", type(V).__name__)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[0] or V.dtype != self.dtype or V.device != self.device:
            expected = f"shape ({self.shape[0]},) or ({self.shape[0]}, p), {self.dtype} on {self.device}"
            raise InputError("vectors", expected, f"shape {tuple(V.shape)}, {V.dtype} on {V.device}")
        require_fit({"vectors": Shape("n", "p")} if V.ndim == 2 else {"vectors": Shape("n")}, {"vectors": V})
