"""Attention, its gradient and its second differential by blocks of rows, without derivatives: the formulas of `formulas`.

Operands are (Z, m, d): Z matrices on top of each other.  A block holds some rows of some of them, its logits and what is
made of them, O(BLOCK) numbers; keys that a causal mask excludes for all its rows are left out.  Sums over queries are kept
transposed, (Z, d, n): products of that shape are twice as fast in float64.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

#: Logits of a block, by device: what a processor's cache holds of five such arrays, and what keeps an accelerator busy.
BLOCK = {"cpu": 2**17, "elsewhere": 2**25}
#: Rows of a block at most, and at least where a row is long.
MOST_ROWS, LEAST_ROWS = 128, 32
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

    def tokens(self, X: Any) -> Any:
        return X[self.matrices, : self.keys]


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
    most = MOST_ROWS if on_processor else MOST_ROWS_ELSEWHERE
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

    def __init__(self, room: Room, cut: Cut, Q: Any, K: Any, bias: Any, excluded: Any, options: Options) -> None:
        self.room, self.cut, self.options = room, cut, options
        self.Q, self.K = cut.queries(Q) * options.scale, cut.tokens(K)
        self.shape = (*self.Q.shape[:2], cut.keys)
        T = torch.bmm(self.Q, self.K.mT, out=room("logits", *self.shape))
        if bias is not None:
            T += bias.part(cut)
        if excluded is not None:
            T.masked_fill_(excluded.part(cut), -torch.inf)
        first = cut.rows.start
        if options.causal and first < cut.keys:
            later = torch.ones(self.shape[1], cut.keys - first, dtype=torch.bool, device=T.device).triu_(1)
            T[:, :, first:].masked_fill_(later, -torch.inf)
        self.logits = T
        if bias is None and excluded is None:
            self.empty = None
        else:
            self.empty = T.amax(-1, keepdim=True) == -torch.inf

    def weights(self, out: Any) -> Any:
        P = torch.softmax(self.logits, -1, out=out)
        return P if self.empty is None else P.masked_fill_(self.empty, 0.0)

    def slopes(self, P: Any, dQ: Any, dK: Any, dB: Any, both: Any, spare: Any) -> Any:
        """T. minus its mean, in the place of the logits; `both` is [K, dK] where neither dQ nor dK vanishes."""
        T = self.logits
        if both is not None:
            left = torch.cat([self.cut.queries(dQ) * self.options.scale, self.Q], dim=2)
            torch.bmm(left, self.cut.tokens(both).mT, out=T)
        elif dQ is not None:
            torch.bmm(self.cut.queries(dQ) * self.options.scale, self.K.mT, out=T)
        elif dK is not None:
            torch.bmm(self.Q, self.cut.tokens(dK).mT, out=T)
        else:
            T.zero_()
        if dB is not None:
            T += dB.part(self.cut)
        return centre(P, T, spare)


def centre(P: Any, X: Any, spare: Any) -> Any:
    """X minus its mean under each row of P, in place; `spare` is memory of the same shape, which is overwritten."""
    return X.sub_(torch.mul(P, X, out=spare).sum(-1, keepdim=True))


def forward(Q: Any, K: Any, V: Any, bias: Any, excluded: Any, options: Options) -> Any:
    """F, shape (Z, m, d_V)."""
    F, room = Q.new_zeros(*Q.shape[:2], V.shape[2]), Room(Q)
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K, bias, excluded, options)
        torch.bmm(rows.weights(room("weights", *rows.shape)), cut.tokens(V), out=cut.queries(F))
    return F


def gradient(
    W: Any, Q: Any, K: Any, V: Any, bias: Any, excluded: Any, G_B: Any, options: Options
) -> tuple[Any, Any, Any]:
    """G_Q, G_K, G_V; G_B is added to what is given for it, if any."""
    G_Q, room = Q.new_zeros(Q.shape), Room(Q)
    G_K, G_V = (X.new_zeros(X.shape[0], X.shape[2], X.shape[1]) for X in (K, V))
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K, bias, excluded, options)
        P, W_rows = rows.weights(room("weights", *rows.shape)), cut.queries(W)
        _keys(G_V, cut).baddbmm_(W_rows.mT, P)
        C = torch.bmm(W_rows, cut.tokens(V).mT, out=rows.logits)
        centre(P, C, room("spare", *rows.shape))
        P *= C
        torch.bmm(P, rows.K, out=cut.queries(G_Q))
        _keys(G_K, cut).baddbmm_(rows.Q.mT, P)
        if G_B is not None:
            G_B.add(cut, P)
    return G_Q.mul_(options.scale), G_K.mT, G_V.mT


def differential(
    Q: Any, K: Any, V: Any, dQ: Any, dK: Any, dV: Any, dB: Any, bias: Any, excluded: Any, options: Options
) -> Any:
    """dF, shape (Z, m, d_V); directions that are None vanish."""
    dF, room, both = Q.new_zeros(*Q.shape[:2], V.shape[2]), Room(Q), _side_by_side(dQ, K, dK)
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K, bias, excluded, options)
        P = rows.weights(room("weights", *rows.shape))
        slope, out = rows.slopes(P, dQ, dK, dB, both, room("spare", *rows.shape)), cut.queries(dF)
        torch.bmm(slope.mul_(P), cut.tokens(V), out=out)
        if dV is not None:
            out.baddbmm_(P, cut.tokens(dV))
    return dF


def second_differential(
    W: Any, Q: Any, K: Any, V: Any, dW: Any, dQ: Any, dK: Any, dV: Any, dB: Any,
    bias: Any, excluded: Any, dG_B: Any, options: Options, of_values: bool,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """dF, dG_Q, dG_K, dG_V: the Hessian of <W, F> times a direction, parts of which may be None where they vanish.

    dF is None unless `of_values`; dG_B is added to what is given for it, if any.
    """
    dF = Q.new_zeros(*Q.shape[:2], V.shape[2]) if of_values else None
    dG_Q, room = Q.new_zeros(Q.shape), Room(Q)
    dG_K, dG_V = (X.new_zeros(X.shape[0], X.shape[2], X.shape[1]) for X in (K, V))
    both = _side_by_side(dQ, K, dK)
    for cut in cuts(Q, K, options.causal):
        rows = Rows(room, cut, Q, K, bias, excluded, options)
        z, r, n = rows.shape
        # one above the other, so that sums over queries with two terms are one product: changes on top
        of_weights, of_logits = room("weights", z, 2 * r, n), room("gradients", z, 2 * r, n)
        dP, P = of_weights[:, :r], of_weights[:, r:]
        dG, G = of_logits[:, :r], of_logits[:, r:]
        rows.weights(P)
        slope = rows.slopes(P, dQ, dK, dB, both, dP)
        torch.mul(P, slope, out=dP)
        W_rows, values = cut.queries(W), cut.tokens(V)
        C = centre(P, torch.bmm(W_rows, values.mT, out=G), dG)
        if dV is not None:
            torch.bmm(W_rows, cut.tokens(dV).mT, out=dG).addcmul_(slope, C)
        else:
            torch.mul(slope, C, out=dG)
        if dW is not None:
            dG.baddbmm_(cut.queries(dW), values.mT)
        centre(P, dG, slope).mul_(P)
        G *= P
        if dF is not None:
            out = torch.bmm(dP, values, out=cut.queries(dF))
            if dV is not None:
                out.baddbmm_(P, cut.tokens(dV))
        if dW is None:
            _keys(dG_V, cut).baddbmm_(W_rows.mT, dP)
        else:
            _keys(dG_V, cut).baddbmm_(torch.cat([W_rows, cut.queries(dW)], dim=1).mT, of_weights)
        out = torch.bmm(dG, rows.K, out=cut.queries(dG_Q))
        if dK is not None:
            out.baddbmm_(G, cut.tokens(dK))
        if dQ is None:
            _keys(dG_K, cut).baddbmm_(rows.Q.mT, dG)
        else:
            queries = torch.cat([rows.Q, cut.queries(dQ) * options.scale], dim=1)
            _keys(dG_K, cut).baddbmm_(queries.mT, of_logits)
        if dG_B is not None:
            dG_B.add(cut, dG)
    return (dF, dG_Q.mul_(options.scale), dG_K.mT, dG_V.mT)


def _side_by_side(dQ: Any, K: Any, dK: Any) -> Any:
    """[K, dK], by which one product gives both terms of the change of logits."""
    return None if dQ is None or dK is None else torch.cat([K, dK], dim=2)


def _keys(transposed: Any, cut: Cut) -> Any:
    """What belongs to the keys of a block, of sums over queries (Z, d, n)."""
    return transposed[cut.matrices, :, : cut.keys]
