"""Products with the Hessian and the Gauss-Newton matrix of the attention loss, without either matrix.

Two ways.  `AttentionCurvature` stores a symmetric matrix of order 2 d_V per token and multiplies any number of vectors in
O(L d_V^2) each: for spectra, solvers and blocks of vectors.  `curvature_product` differentiates the closed-form gradient
along one direction in O(L^2 d_V), for a single product, where the moments would not be repaid.

Vectors hold the weights row by row (vec_r), W_Q, W_K and W_V one after the other, as in `attention_hessian`.
"""

from __future__ import annotations

import math
from typing import Any

from theorems.hessian.contracted_moments import chunks, contracted_moments, require_tensors_and_part
from theorems.hessian.definitions import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from theorems.hessian.dense import attention_hessian
from verify.errors import InputError
from verify.shapes import checked

#: Entries of attention that `curvature_product` holds at once; four such pieces should fit a processor's cache.
ROWS = 2**16


class AttentionCurvature:
    """The curvature of ||A X W_V - Y||^2 / (L d_V) over (W_Q, W_K, W_V) as a symmetric linear operator, shape (n, n).

    Parameters
    ----------
    X, Y: tokens and labels, shape (L, d_V); W_Q, W_K: shape (d_V, d_K); W_V: shape (d_V, d_V).  Float tensors on any device.
    part: "hessian"; "outer-product", the Gauss-Newton matrix H_o; "functional", H_f (Eq. (2)).

    `operator @ v` for v of shape (n,) or (n, p), or for a list of three tensors shaped as the weights, with a last axis p
    or without; `matvec`, `matmat`, `rmatvec`, `rmatmat`, `T`, `H`, `adjoint`, `shape`, `dtype` as in scipy and curvlinops.
    `to_scipy()` is a scipy LinearOperator for `eigsh`, `cg` and the like.

    Cost: 4 L^2 d_V^2 operations once, 14 L d_V^2 + 4 L d_V d_K + O(d_V^2 d_K) a vector.  Memory: 2 L d_V^2 numbers.

    Accuracy: that of the closed form (docs/benchmarks.md).

    Raises InputError, naming the argument, for what does not fit, is not finite or is no tensor.

    Certified by hessian.full-outer-product, hessian.full-functional and hessian.full-gauss-newton.
    """

    def __init__(self, X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, part: str = "hessian") -> None:
        _require_loss(X, W_Q, W_K, W_V, Y)
        require_tensors_and_part(part, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, Y=Y)
        import torch

        (L, d), k = X.shape, W_Q.shape[1]
        self.part, self.weights, self._loss = part, (W_Q, W_K, W_V), (X, W_Q, W_K, W_V, Y)
        moments = contracted_moments(X, W_Q, W_K, W_V, Y, part)
        scale = 2 / (L * d)
        self._mean, self._residual = moments.mean, moments.residual
        self._value = moments.mean.T @ moments.mean * scale
        covariance = moments.covariance * (scale / math.sqrt(k))
        self._core, self._covariance = moments.core * (scale / k), covariance
        self._slope = X.T @ torch.einsum("iab,ib->ia", covariance, moments.residual @ W_V.T)
        self.shape = (2 * d * k + d * d,) * 2

    @property
    def dtype(self) -> Any:
        return self._core.dtype

    @property
    def device(self) -> Any:
        return self._core.device

    def __matmul__(self, vectors: Any) -> Any:
        """Products in the form of the vectors: (n,), (n, p), or a list of tensors in the shapes of the weights."""
        if isinstance(vectors, (list, tuple)):
            return self._of_lists(list(vectors))
        self._require_vectors(vectors)
        return self.matmat(vectors[:, None])[:, 0] if vectors.ndim == 1 else self.matmat(vectors)

    def matvec(self, v: Any) -> Any:
        return self @ v

    def matmat(self, V: Any) -> Any:
        """Products with the columns of V (n, p)."""
        self._require_vectors(V)
        import torch

        X, W_Q, W_K, W_V, _ = self._loss
        d, k, p = X.shape[1], W_Q.shape[1], V.shape[1]
        n = d * k
        functional = self.part != "outer-product"
        # Vectors stay behind, (., ., p): whatever meets all tokens is then one product, and already in the order of V.
        D_Q, D_K, D_V = V[:n].reshape(d, k, p), V[n : 2 * n].reshape(d, k, p), V[2 * n :].reshape(d, d, p)
        logits = _product(X, W_K @ D_Q + (W_Q @ D_K).transpose(0, 1))
        values = _product(self._mean, W_V @ D_V)
        if functional:
            values += _product(self._residual, D_V.transpose(0, 1))
        # Row i of attention turns the changes of its logits and values into [[N_i, C_i], [C_i, 0]] times them.
        spread = torch.bmm(self._covariance, torch.cat([logits, values], dim=2))
        of_logits, of_values = torch.baddbmm(spread[:, :, p:], self._core, logits), spread[:, :, :p].contiguous()
        gradient = _product(X.T, of_logits)
        G_Q, G_K = W_K.T @ gradient, W_Q.T @ gradient.transpose(0, 1)
        G_V = _product(self._value, D_V) + W_V.T @ _product(self._mean.T, of_values)
        if functional:
            G_Q = G_Q + _product(self._slope, D_K)
            G_K = G_K + _product(self._slope.T, D_Q)
            G_V = G_V + _product(self._residual.T, of_values).transpose(0, 1)
        return torch.cat([G.reshape(-1, p) for G in (G_Q, G_K, G_V)])

    rmatvec, rmatmat = matvec, matmat

    @property
    def T(self) -> AttentionCurvature:
        return self

    @property
    def H(self) -> AttentionCurvature:
        return self

    def adjoint(self) -> AttentionCurvature:
        return self

    def trace(self) -> Any:
        """The trace, exactly, from L products d_V x d_V: a tensor of shape ()."""
        X, W_Q, W_K, *_ = self._loss
        d = X.shape[1]
        N, S = self._core, X @ W_Q
        of_queries = ((X * X).sum(1) * ((N @ W_K) * W_K).sum((1, 2))).sum()
        of_keys = ((S * S).sum(1) * N.diagonal(dim1=1, dim2=2).sum(1)).sum()
        return of_queries + of_keys + d * self._value.trace()

    def to_dense(self) -> Any:
        """The matrix, shape (n, n)."""
        return attention_hessian(*self._loss, part=self.part)

    def spectrum(self) -> Any:
        """All eigenvalues in ascending order, shape (n,), through the matrix: n^2 memory and O(n^3) operations."""
        import torch

        return torch.linalg.eigvalsh(self.to_dense())

    def extreme_eigenvalues(self, steps: int = 60, seed: int = 0) -> tuple[float, float]:
        """Estimates of the smallest and largest eigenvalue from within, by Lanczos with full reorthogonalisation."""
        import torch

        if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
            raise InputError("steps", "an integer >= 1", repr(steps))
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
        if [tuple(part.shape[:2]) for part in parts] != shapes or len({part.ndim for part in parts}) != 1:
            got = [tuple(part.shape) for part in parts]
            raise InputError("vectors", f"a list of tensors of shapes {shapes}, or each with a last axis", f"{got}")
        flat = torch.cat([part.reshape(shape[0] * shape[1], -1) for part, shape in zip(parts, shapes, strict=True)])
        found = (self @ flat).split([shape[0] * shape[1] for shape in shapes])
        return [G.reshape(part.shape) for G, part in zip(found, parts, strict=True)]

    def _require_vectors(self, V: Any) -> None:
        import torch

        if not isinstance(V, torch.Tensor):
            raise InputError("vectors", "a torch tensor, or a list of tensors", type(V).__name__)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[0] or V.dtype != self.dtype or V.device != self.device:
            expected = f"shape ({self.shape[0]},) or ({self.shape[0]}, p), {self.dtype} on {self.device}"
            raise InputError("vectors", expected, f"shape {tuple(V.shape)}, {V.dtype} on {V.device}")


def _product(A: Any, stack: Any) -> Any:
    """A times the first axis of a stack (a, b, p), in one product."""
    return (A @ stack.reshape(stack.shape[0], -1)).view(A.shape[0], *stack.shape[1:])


@checked
def _require_loss(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> None:
    """The annotations say what fits."""


def curvature_product(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, v: Any, part: str = "hessian") -> Any:
    """One product of the Hessian, or of a part of it, with v of shape (n,), as for `AttentionCurvature`.

    The closed-form gradient differentiated along v, rows of attention at a time: nine products of 2 L^2 d operations, five
    passes over rows of attention, no L x L matrix.  A row of the softmax Jacobian, A_i o (z - A_i.z), meets only z that
    are linear in the tokens, z = X u, so that A_i.z = m_i.u needs no pass.  Tokens are centred first, so that a common
    offset costs no digits.

    Accuracy: a few roundings times the size of the tokens, where `AttentionCurvature` has their spread under each row of
    attention: where attention is nearly one-hot on large tokens, products may lose every digit, and sometimes more than
    automatic differentiation does.  Stored moments do not.

    Raises InputError, naming the argument.  Certified as `AttentionCurvature` is.
    """
    import torch

    _require_loss(X, W_Q, W_K, W_V, Y)
    require_tensors_and_part(part, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, Y=Y, v=v)
    (L, d), k = X.shape, W_Q.shape[1]
    n, scale, root = d * k, 2 / (L * d), math.sqrt(k)
    if v.shape != (2 * n + d * d,) or v.dtype != X.dtype or v.device != X.device:
        raise InputError("v", f"shape ({2 * n + d * d},), the dtype and device of X", f"{tuple(v.shape)}, {v.dtype}")
    D_Q, D_K, D_V = v[:n].view(d, k), v[n : 2 * n].view(d, k), v[2 * n :].view(d, d)
    center = X.mean(0)
    centred = X - center
    with_one = torch.cat([centred, X.new_ones(L, 1)], dim=1).T  # z = with_one^T [u, -m.u] is centred under its row
    Q = X @ W_Q / root
    to_logits, to_change = Q @ W_K.T, (X @ D_Q / root) @ W_K.T + Q @ D_K.T
    mean, d_mean = torch.empty_like(X), torch.empty_like(X)
    first, second = X.new_zeros(d, d), X.new_zeros(d, d)
    errors, d_errors = torch.empty_like(X), torch.empty_like(X)
    for rows in chunks(L, L, ROWS):
        A = torch.softmax(to_logits[rows] @ centred.T, dim=1)
        m = A @ centred
        change = _centred(to_change[rows], m) @ with_one
        weighted = A * change
        dm = weighted @ centred
        value = m + center
        error = (value @ W_V - Y[rows]) * scale
        d_error = (dm @ W_V + value @ D_V) * scale
        pull = d_error @ W_V.T
        if part == "outer-product":
            slope = torch.mul(A, torch.mm(_centred(pull, m), with_one, out=change), out=weighted)
        else:
            u = error @ W_V.T
            pulled = torch.mm(_centred(u, m), with_one, out=weighted)
            du = error @ D_V.T if part == "functional" else pull + error @ D_V.T
            shifted = _centred(du, m)
            shifted[:, -1] -= (u * dm).sum(1)
            slope = torch.addmm(change.mul_(pulled), shifted, with_one, out=change).mul_(A)
            first.addmm_(X[rows].T, pulled.mul_(A) @ centred)
        second.addmm_(X[rows].T, slope @ centred)
        mean[rows], d_mean[rows], errors[rows], d_errors[rows] = value, dm, error, d_error
    G_Q, G_K, G_V = second @ W_K / root, second.T @ W_Q / root, X.new_zeros(d, d)
    if part != "outer-product":
        G_Q, G_K, G_V = G_Q + first @ D_K / root, G_K + first.T @ D_Q / root, d_mean.T @ errors
    if part != "functional":
        G_V = G_V + mean.T @ d_errors
    return torch.cat([G.flatten() for G in (G_Q, G_K, G_V)])


def _centred(u: Any, mean: Any) -> Any:
    """[u_i, -m_i.u_i] for every row i: the coefficients of x.u_i less its mean under the row."""
    import torch

    return torch.cat([u, -(u * mean).sum(1, keepdim=True)], dim=1)
