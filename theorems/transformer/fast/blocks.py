"""Attention, its gradient and its second differential by blocks of rows, without derivatives: the formulas of `formulas`.

Operands are (Z, m, d): Z matrices on top of each other.  A block holds some rows of some of them, its logits and what is
made of them, O(BLOCK) numbers; keys that a causal mask excludes for all its rows are left out.  Keys, values and sums over
queries are kept transposed, (Z, d, n), and what meets a block from the left is transposed for it: products of these shapes
are the fastest ones, by a tenth in float32 and by a quarter in float64.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

#: Logits of a block, by device: what a processor's cache holds of five such arrays, and what keeps an accelerator busy.
BLOCK = {"cpu": 2**18, "elsewhere": 2**25}
#: Rows of a block at least where a row is long, and at most: fewer where a causal mask cuts a triangle off each block.
LEAST_ROWS, MOST_ROWS, MOST_ROWS_CAUSAL = 64, 256, 128
MOST_ROWS_ELSEWHERE = 1024


class Options(NamedTuple):
    """What is the same for all rows: the factor of the logits, whether query i sees keys 0, ..., i alone."""

    scale: float
    causal: bool


@dataclass(frozen=True)
class Cut:
    """A block: matrices, rows, and the keys 0, ..., keys - 1."""

    matrices: slice
    rows: slice
    keys: int

    def queries(self, X: Any) -> Any:
        return X[self.matrices, self.rows]

    def keys_of(self, X_T: Any) -> Any:
        """The part of transposed keys or values (Z, d, n), or of sums over queries in that order."""
        return X_T[self.matrices, :, : self.keys]


class Masked:
    """An array (Z', m or 1, n or 1) of which every one of Z matrices has a part: a mask, a bias, or its derivatives."""

    def __init__(self, values: Any, leading: torch.Size) -> None:
        """`values` has as many axes as the operands had, of which `leading` are the first; theirs may have size one."""
        self.shape = values.shape
        self.values = values.reshape(-1, *values.shape[-2:])
        own, Z = self.values.shape[0], leading.numel()
        self.index = None
        if own == Z:
            self.index = torch.arange(Z, device=values.device)
        elif own > 1:
            of_own = torch.arange(own, device=values.device).reshape(values.shape[:-2])
            self.index = of_own.expand(leading).reshape(-1)

    def part(self, cut: Cut) -> Any:
        """What belongs to a block, with axes of size one where all is alike."""
        of = self._of(cut)
        return of[:, cut.rows if of.shape[1] > 1 else slice(None), : cut.keys if of.shape[2] > 1 else None]

    def _of(self, cut: Cut) -> Any:
        if self.index is None:
            return self.values
        if self.values.shape[0] == self.index.shape[0]:
            return self.values[cut.matrices]
        return self.values[self.index[cut.matrices]]

    def add(self, cut: Cut, X: Any) -> None:
        """Add X of a block's shape to what it came from, summed over axes of size one."""
        single = self.values.shape[1] == 1, self.values.shape[2] == 1
        axes = [axis for axis, one in zip((1, 2), single, strict=True) if one]
        summed = X.sum(axes, keepdim=True) if axes else X
        rows, keys = slice(None) if single[0] else cut.rows, slice(None) if single[1] else slice(cut.keys)
        if self.index is None:
            self.values[0, rows, keys] += summed.sum(0)
        elif self.values.shape[0] == self.index.shape[0]:
            self.values[cut.matrices, rows, keys] += summed
        else:
            self.values[:, rows, keys].index_add_(0, self.index[cut.matrices], summed)

    def restored(self) -> Any:
        return self.values.view(self.shape)


def cuts(Q: Any, K: Any, causal: bool) -> Iterator[Cut]:
    """Blocks in the order of rows; none where there are no keys, and all sums are empty."""
    (Z, m), n, on_processor = Q.shape[:2], K.shape[1], Q.device.type == "cpu"
    if not n:
        return
    budget = BLOCK["cpu" if on_processor else "elsewhere"]
    most = (MOST_ROWS_CAUSAL if causal else MOST_ROWS) if on_processor else MOST_ROWS_ELSEWHERE
    rows = max(1, min(m, most, max(LEAST_ROWS, budget // n)))
    together = max(1, min(Z, budget // (rows * n)))
    for first in range(0, Z, together):
        for start in range(0, m, rows):
            stop = min(start + rows, m)
            yield Cut(slice(first, min(first + together, Z)), slice(start, stop), min(n, stop) if causal else n)


class Room:
    """Memory for arrays of a block, used again by the next one, and on processors by the next call of the thread.

    What is kept is at most a few blocks; asking the system for them anew would cost a short call as much as its products.
    """

    _of_thread = threading.local()

    def __init__(self, like: Any) -> None:
        self._like, self._held = like, dict[str, Any]()
        if type(like) is torch.Tensor and like.device.type == "cpu" and not torch.is_inference_mode_enabled():
            self._held = self._of_thread.__dict__.setdefault(str(like.dtype), self._held)

    def __call__(self, name: str, *shape: int) -> Any:
        size = math.prod(shape)
        held = self._held.get(name)
        if held is None or held.numel() < size:
            held = self._held[name] = self._like.new_empty(size)
            if type(held) is not torch.Tensor:  # of a mode that traces: nothing for others
                del self._held[name]
        return held[:size].view(shape)


class Rows:
    """The weights of a block, and what is made of them, each in its place in memory."""

    def __init__(self, room: Room, cut: Cut, Q: Any, K_T: Any, bias: Any, excluded: Any, options: Options) -> None:
        self.room, self.cut, self.scale = room, cut, options.scale
        self.Q, self.K_T = cut.queries(Q) * options.scale, cut.keys_of(K_T)
        self.shape = (*self.Q.shape[:2], cut.keys)
        T = torch.bmm(self.Q, self.K_T, out=self("logits"))
        if bias is not None:
            T += bias.part(cut)
        if excluded is not None:
            T.masked_fill_(excluded.part(cut), -torch.inf)
        first = cut.rows.start
        if options.causal and first < cut.keys:
            later = torch.ones(self.shape[1], cut.keys - first, dtype=torch.bool, device=T.device).triu_(1)
            T[:, :, first:].masked_fill_(later, -torch.inf)
        self.logits = T
        empty = None if bias is None and excluded is None else T.amax(-1, keepdim=True) == -torch.inf
        self.P = torch.softmax(T, -1, out=self("weights"))
        if empty is not None:
            self.P.masked_fill_(empty, 0.0)

    def __call__(self, name: str) -> Any:
        """Memory for an array of the shape of the weights."""
        return self.room(name, *self.shape)

    def change(self, dQ: Any, dK_T: Any, both_T: Any, dB: Any) -> Any:
        """P. = P o (T. - sum_j P T.); T. takes the place of the logits.  `both_T` is [K, dK] where both directions are given."""
        T = self.logits
        if both_T is not None:
            left = torch.cat([self.cut.queries(dQ) * self.scale, self.Q], dim=2)
            torch.bmm(left, self.cut.keys_of(both_T), out=T)
        elif dQ is not None:
            torch.bmm(self.cut.queries(dQ) * self.scale, self.K_T, out=T)
        elif dK_T is not None:
            torch.bmm(self.Q, self.cut.keys_of(dK_T), out=T)
        else:
            T.zero_()
        if dB is not None:
            T += dB.part(self.cut)
        return through_softmax(T, self.P, out=self("change"))


def through_softmax(X: Any, P: Any, out: Any) -> Any:
    """P o (X - sum_j P X), in one pass."""
    return torch.ops.aten._softmax_backward_data.out(X, P, -1, X.dtype, grad_input=out)


def transposed(X: Any) -> Any:
    """(Z, d, n) in memory of that order: products with it, and with its transpose, are the fastest."""
    return None if X is None else X.mT.contiguous()


def forward(Q: Any, K: Any, V: Any, bias: Any, excluded: Any, options: Options) -> Any:
    """F, shape (Z, m, d_V)."""
    F, room, K_T, V_T = Q.new_zeros(*Q.shape[:2], V.shape[2]), Room(Q), transposed(K), transposed(V)
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K_T, bias, excluded, options)
        torch.bmm(rows.P, cut.keys_of(V_T).mT, out=cut.queries(F))
    return F


def gradient(
    W: Any, Q: Any, K: Any, V: Any, bias: Any, excluded: Any, G_B: Any, options: Options
) -> tuple[Any, Any, Any]:
    """G_Q, G_K, G_V; G_B is added to what is given for it, if any."""
    G_Q, room, K_T, V_T = Q.new_zeros(Q.shape), Room(Q), transposed(K), transposed(V)
    G_K, G_V = torch.zeros_like(K_T), torch.zeros_like(V_T)
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K_T, bias, excluded, options)
        W_rows = cut.queries(W)
        cut.keys_of(G_V).baddbmm_(transposed(W_rows), rows.P)
        of_weights = torch.bmm(W_rows, cut.keys_of(V_T), out=rows.logits)
        G = through_softmax(of_weights, rows.P, out=rows("gradient"))
        torch.bmm(G, rows.K_T.mT, out=cut.queries(G_Q))
        cut.keys_of(G_K).baddbmm_(transposed(rows.Q), G)
        if G_B is not None:
            G_B.add(cut, G)
    return G_Q.mul_(options.scale), G_K.mT, G_V.mT


def differential(
    Q: Any, K: Any, V: Any, dQ: Any, dK: Any, dV: Any, dB: Any, bias: Any, excluded: Any, options: Options
) -> Any:
    """dF, shape (Z, m, d_V); directions that are None vanish."""
    dF, room, V_T, dV_T = Q.new_zeros(*Q.shape[:2], V.shape[2]), Room(Q), transposed(V), transposed(dV)
    K_T, dK_T, both_T = _keys_and_changes(K, dQ, dK)
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K_T, bias, excluded, options)
        dP, out = rows.change(dQ, dK_T, both_T, dB), cut.queries(dF)
        torch.bmm(dP, cut.keys_of(V_T).mT, out=out)
        if dV_T is not None:
            out.baddbmm_(rows.P, cut.keys_of(dV_T).mT)
    return dF


def second_differential(
    W: Any, Q: Any, K: Any, V: Any, dW: Any, dQ: Any, dK: Any, dV: Any, dB: Any,
    bias: Any, excluded: Any, dG_B: Any, options: Options, of_values: bool,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """dF, dG_Q, dG_K, dG_V: the Hessian of <W, F> times a direction, parts of which may be None where they vanish.

    dF is None unless `of_values`; dG_B is added to what is given for it, if any.
    """
    dF = Q.new_zeros(*Q.shape[:2], V.shape[2]) if of_values else None
    dG_Q, room, V_T, dV_T = Q.new_zeros(Q.shape), Room(Q), transposed(V), transposed(dV)
    K_T, dK_T, both_T = _keys_and_changes(K, dQ, dK)
    dG_K, dG_V = (X.new_zeros(X.shape[0], X.shape[2], X.shape[1]) for X in (K, V))
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K_T, bias, excluded, options)
        P, dP = rows.P, rows.change(dQ, dK_T, both_T, dB)
        W_rows, values = cut.queries(W), cut.keys_of(V_T)
        if dF is not None:
            out = torch.bmm(dP, values.mT, out=cut.queries(dF))
            if dV_T is not None:
                out.baddbmm_(P, cut.keys_of(dV_T).mT)
        of_keys = cut.keys_of(dG_V).baddbmm_(transposed(W_rows), dP)
        # C, and P times what dG_B is P o (X - sum_j P X) of: P X = P. o C + P o (dW V^T + W dV^T)
        C, spare = torch.bmm(W_rows, values, out=rows("gradient")), rows.logits
        C -= torch.mul(P, C, out=spare).sum(-1, keepdim=True)
        dG = torch.mul(dP, C, out=dP)
        if dV_T is not None:
            dG.addcmul_(P, torch.bmm(W_rows, cut.keys_of(dV_T), out=spare))
        if dW is not None:
            dW_rows = cut.queries(dW)
            of_keys.baddbmm_(transposed(dW_rows), P)
            dG.addcmul_(P, torch.bmm(dW_rows, values, out=spare))
        dG.addcmul_(P, dG.sum(-1, keepdim=True), value=-1)
        out = torch.bmm(dG, rows.K_T.mT, out=cut.queries(dG_Q))
        of_keys = cut.keys_of(dG_K).baddbmm_(transposed(rows.Q), dG)
        if dK_T is not None or dQ is not None:
            G = C.mul_(P)
        if dK_T is not None:
            out.baddbmm_(G, cut.keys_of(dK_T).mT)
        if dQ is not None:
            of_keys.baddbmm_(transposed(cut.queries(dQ) * options.scale), G)
        if dG_B is not None:
            dG_B.add(cut, dG)
    return (dF, dG_Q.mul_(options.scale), dG_K.mT, dG_V.mT)


def _keys_and_changes(K: Any, dQ: Any, dK: Any) -> tuple[Any, Any, Any]:
    """K, dK, and [K, dK] side by side if both directions are given, so that one product gives both terms of T.; transposed."""
    if dK is None or dQ is None:
        return transposed(K), transposed(dK), None
    both = torch.cat([K.mT, dK.mT], dim=1)
    return both[:, : K.shape[2]], both[:, K.shape[2] :], both
