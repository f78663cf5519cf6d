"""Products with the Hessian and the Gauss-Newton matrix of the attention loss, without either matrix.

Two ways.  `AttentionCurvature` stores a symmetric matrix of order 2 d_V per token and multiplies any number of vectors in
O(L d_V^2) each: for spectra, solvers and large blocks of vectors.  `curvature_product` differentiates the closed-form gradient
along directions in O(L^2 d_V) each, for few products, by which the moments would not be repaid.

Vectors hold the weights row by row (vec_r), W_Q, W_K and W_V one after the other, as in `attention_hessian`.
"""

from __future__ import annotations

import math
from typing import Any

from theorems.hessian.fast.contracted_moments import chunks, contracted_moments, require_tensors_and_part
from theorems.hessian.fast.dense import attention_hessian
from theorems.hessian.settings import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from theorems.shared.operators import SymmetricOperator
from verify.vocabulary import InputError, Shape, checked, require_fit

#: Entries of attention that `curvature_product` holds at once, four times: fewer cost more calls, more leave the cache.
ROWS = 2**17
#: Changes of logits and values that `AttentionCurvature` holds at once.
CHANGES = 2**17


class AttentionCurvature(SymmetricOperator):
    """The curvature of ||A X W_V - Y||^2 / (L d_V) over (W_Q, W_K, W_V) as a symmetric linear operator, shape (n, n).

    Parameters
    ----------
    X, Y: tokens and labels, shape (L, d_V); W_Q, W_K: shape (d_V, d_K); W_V: shape (d_V, d_V).  Float tensors on any device.
    part: "hessian"; "outer-product", the Gauss-Newton matrix H_o; "functional", H_f (Eq. (2)).

    `operator @ v` for v of shape (n,) or (n, p), or for a list of three tensors shaped as the weights, with a last axis p
    or without; `matvec`, `matmat`, `rmatvec`, `rmatmat`, `T`, `H`, `adjoint`, `shape`, `dtype` as in scipy and curvlinops.
    `to_scipy()` is a scipy LinearOperator for `eigsh`, `cg` and the like.

    Cost: 4 L^2 d_V^2 operations once, 18 L d_V^2 + O(d_V^2 d_K) a vector.  Memory: 2 L d_V^2 numbers.
    No derivatives are recorded.

    One head, one sample, no mask; `theorems.transformer.fast.curvature.LayerCurvature` is the same for several heads, masks
    and a batch.

    Accuracy: that of the closed form (docs/benchmarks.md).

    Raises InputError, naming the argument, for what does not fit, is not finite or is no tensor.

    Certified by hessian.full-outer-product, hessian.full-functional and hessian.full-gauss-newton.
    """

    def __init__(self, X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, part: str = "hessian") -> None:
        _require_loss(X, W_Q, W_K, W_V, Y)
        require_tensors_and_part(part, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, Y=Y)
        import torch

        X, W_Q, W_K, W_V, Y = (value.detach() for value in (X, W_Q, W_K, W_V, Y))
        (L, d), k = X.shape, W_Q.shape[1]
        super().__init__((W_Q, W_K, W_V))
        self.part, self._loss = part, (X, W_Q, W_K, W_V, Y)
        moments = contracted_moments(X, W_Q, W_K, W_V, Y, part)
        scale = 2 / (L * d)
        self._means = torch.cat([moments.mean, moments.residual], dim=1)
        self._value = moments.mean.T @ moments.mean * scale
        # Row i of attention turns the changes of its logits and values into [[N_i, C_i], [C_i, 0]] times them.
        self._core = moments.core.mul_(scale / k)
        self._covariance = moments.covariance.mul_(scale / math.sqrt(k))
        self._slope = X.T @ torch.einsum("iab,ib->ia", self._covariance, moments.residual @ W_V.T)

    def matmat(self, V: Any) -> Any:
        """Products with the columns of V (n, p)."""
        self.require_vectors(V)
        import torch

        V = V.detach()
        X, W_Q, W_K, W_V, _ = self._loss
        d, k, p = X.shape[1], W_Q.shape[1], V.shape[1]
        n = d * k
        # Vectors stand in the middle, (., p, .): what meets all tokens is then one product, and what meets a row of attention.
        D_Q, D_K, D_V = (part.reshape(d, -1, p).transpose(1, 2) for part in V.split([n, n, d * d]))
        to_logits = (D_Q @ W_K.T + _product(W_Q, D_K.permute(2, 1, 0))).view(d, p * d)
        to_values = torch.cat([D_V @ W_V.T, D_V.permute(2, 1, 0)]).view(2 * d, p * d)
        of_logits, of_values = V.new_zeros(d, p * d), V.new_zeros(2 * d, p * d)
        for tokens in chunks(X.shape[0], 2 * d * p, CHANGES):
            changes = V.new_empty(X[tokens].shape[0], 2 * p, d)
            torch.mm(X[tokens], to_logits, out=changes.flatten(1)[:, : p * d])
            torch.mm(self._means[tokens], to_values, out=changes.flatten(1)[:, p * d :])
            of_row = torch.bmm(changes, self._covariance[tokens])  # symmetric, as the core is
            of_values.addmm_(self._means[tokens].T, of_row[:, :p].flatten(1))
            of_row = torch.baddbmm(of_row[:, p:], changes[:, :p], self._core[tokens])
            of_logits.addmm_(X[tokens].T, of_row.flatten(1))
        gradient, of_values = of_logits.view(d, p, d), of_values.view(2 * d, p, d)
        G_Q, G_K = gradient @ W_K, _product(W_Q.T, gradient).permute(2, 1, 0)
        G_V = _product(self._value, D_V) + of_values[:d] @ W_V
        if self.part != "outer-product":
            G_Q = G_Q + _product(self._slope, D_K)
            G_K = G_K + _product(self._slope.T, D_Q)
            G_V = G_V + of_values[d:].permute(2, 1, 0)
        return torch.cat([G.transpose(1, 2).reshape(-1, p) for G in (G_Q, G_K, G_V)])

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


def _product(A: Any, stack: Any) -> Any:
    """A times the first axis of a stack (a, b, p), in one product."""
    return (A @ stack.reshape(stack.shape[0], -1)).view(A.shape[0], *stack.shape[1:])


@checked
def _require_loss(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> None:
    """The annotations say what fits."""


def curvature_product(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, v: Any, part: str = "hessian") -> Any:
    """Products of the Hessian, or of a part of it, with v of shape (n,) or (n, p), as for `AttentionCurvature`.

    The closed-form gradient differentiated along v, rows of attention at a time: four products of 2 L^2 d operations for all
    vectors, four for each, three passes over rows of attention for each beside the softmax, no L x L matrix beyond 362 tokens.
    Whatever is multiplied with a row of attention is linear in the tokens, z = X u, so that its mean m_i.u is subtracted from
    results with d columns, never from rows of L.  Tokens are centred first, so that a common offset costs no digits.  No
    derivatives are recorded.

    Up to about d / 4 vectors cost less than the moments of `AttentionCurvature`.

    Accuracy: a few roundings times the size of the tokens, where `AttentionCurvature` has their spread under each row of
    attention: where attention is nearly one-hot on large tokens, products may lose every digit, and sometimes more than
    automatic differentiation does.  Stored moments do not.

    Raises InputError, naming the argument.  Certified as `AttentionCurvature` is.
    """
    import torch

    require_tensors_and_part(part, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, Y=Y, v=v)
    _require_loss(X, W_Q, W_K, W_V, Y)
    (L, d), k = X.shape, W_Q.shape[1]
    n, root = d * k, math.sqrt(k)
    require_fit({"v": Shape("n", "p") if v.ndim > 1 else Shape("n")}, {"v": v})
    if v.shape[0] != 2 * n + d * d or v.dtype != X.dtype or v.device != X.device:
        got = f"{tuple(v.shape)}, {v.dtype}"
        raise InputError("v", f"shape ({2 * n + d * d},) or ({2 * n + d * d}, p), the dtype and device of X", got)
    X, W_Q, W_K, W_V, Y, v = (value.detach() for value in (X, W_Q, W_K, W_V, Y, v))
    one_by_one = v.reshape(len(v), -1).T.contiguous()
    D_Q, D_K = (one_by_one[:, start : start + n].view(-1, d, k) for start in (0, n))
    D_V = one_by_one[:, 2 * n :].view(-1, d, d)
    center, W_K_T = X.mean(0), W_K.T / root
    # transposed in memory: products with it, and with its transpose, are the fastest ones
    tokens_T, queries = (X - center).T.contiguous(), X @ (W_Q / root)
    first, second, G_V = X.new_zeros(d, d), X.new_zeros(len(D_V), d, d), X.new_zeros(len(D_V), d, d)
    for rows in chunks(L, L, ROWS):
        X_rows, loss = X[rows], _Rows(tokens_T, center, (X[rows] @ W_Q) @ W_K_T, W_V, Y[rows], part)
        if part != "outer-product":
            first.addmm_(X_rows.T, loss.pull)
        for at in range(len(D_V)):
            to_change = torch.addmm((X_rows @ D_Q[at]) @ W_K_T, queries[rows], D_K[at].T)
            d_pull, of_values = loss.along(to_change, D_V[at])
            second[at].addmm_(X_rows.T, d_pull)
            G_V[at] += of_values
    G_Q = torch.matmul(second, W_K).add_(first @ D_K).div_(root)
    G_K = torch.matmul(second.mT, W_Q).add_(first.T @ D_Q).div_(root)
    found = torch.cat([G.reshape(len(D_V), -1) for G in (G_Q, G_K, G_V)], dim=1)
    return found.T.reshape(v.shape)


class _Rows:
    """Some rows of attention, and what their part of the gradient changes by along directions of the weights.

    With C_i u = sum_j A_ij (x_j.u) x_j - (m_i.u) m_i for a row i, the change of its mean along logits X t_i is C_i t_i, and
    the pull on x_i is C_i u_i for u_i = W_V (dl/dF)_i, which multiplies x_i in the gradient over W_Q W_K^T.
    """

    def __init__(self, tokens_T: Any, center: Any, to_logits: Any, W_V: Any, Y: Any, part: str) -> None:
        import torch

        self.tokens_T, self.W_V, self.part = tokens_T, W_V, part
        room = to_logits @ tokens_T
        self.A = torch.softmax(room, dim=1)
        self.m = self.A @ tokens_T.T
        self.value, self.changed, self.spare = self.m + center, room, torch.empty_like(room)
        self.scale = 2 / (tokens_T.shape[1] * tokens_T.shape[0])
        self.error = torch.addmm(Y, self.value, W_V, beta=-self.scale, alpha=self.scale)
        self.u = self.error @ W_V.T
        self.along_u = _dot(self.u, self.m)
        if part != "outer-product":
            self.pulled = self.u @ tokens_T
            pull = torch.mul(self.pulled, self.A, out=self.spare) @ tokens_T.T
            self.pull = pull.addcmul_(self.along_u, self.m, value=-1)

    def along(self, t: Any, D_V: Any) -> tuple[Any, Any]:
        """The change of the pulls, and the part of the product in W_V.

        The first is sum_j A_ij (x_j.t)(x_j.u) x_j + sum_j A_ij (x_j.w) x_j + a multiple of m_i, with w = du - (m.t) u -
        (m.u) t: the third moment costs no product of its own.
        """
        import torch

        tokens_T, A, m, u, W_V = self.tokens_T, self.A, self.m, self.u, self.W_V
        changed = torch.mm(t, tokens_T, out=self.changed).mul_(A)
        along_t = _dot(t, m)
        d_mean = torch.mm(changed, tokens_T.T).addcmul_(along_t, m, value=-1)
        d_error = torch.addmm(self.value @ D_V, d_mean, W_V, beta=self.scale, alpha=self.scale)
        if self.part == "outer-product":
            du = d_error @ W_V.T
            d_pull = torch.mm(du, tokens_T, out=self.spare).mul_(A) @ tokens_T.T
            return d_pull.addcmul_(_dot(du, m), m, value=-1), self.value.T @ d_error
        du, of_values = self.error @ D_V.T, d_mean.T @ self.error
        if self.part == "hessian":
            du.addmm_(d_error, W_V.T)
            of_values.addmm_(self.value.T, d_error)
        of_mean = _dot(d_mean, u) + _dot(du, m) - along_t * self.along_u
        w = du.addcmul_(along_t, u, value=-1).addcmul_(self.along_u, t, value=-1)
        d_pulled = torch.mm(w, tokens_T, out=self.spare).mul_(A).addcmul_(changed, self.pulled)
        return torch.mm(d_pulled, tokens_T.T).addcmul_(of_mean, m, value=-1), of_values


def _dot(u: Any, v: Any) -> Any:
    """u_i.v_i for every row i, shape (rows, 1)."""
    return (u * v).sum(1, keepdim=True)
