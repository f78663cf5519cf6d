"""Counting instead of timing: what an implementation does, in operations and in entries alive at a time."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from verify.vocabulary.errors import ArithmeticUnsupported


@dataclass(frozen=True)
class Count:
    """Floating-point operations, and the largest number of entries alive at a time, arguments not included."""

    operations: int
    memory: int


def count(function: Callable[..., Any], *arguments: Any, squarings: int = 8) -> Count:
    """What the torch code `function` does at these arguments; on the meta device nothing is computed or allocated.

    A product of (m, k) by (k, n) counts 2 m n k.  Torch's kernels cannot be looked into, so theirs are stated: a reduced
    QR is Householder's with its orthonormal factor formed (Golub and Van Loan, 5.2.2), the exponential a Taylor polynomial
    of degree 18 in 5 products and `squarings` squarings.  (Their number depends on the norm, not on the size.)  Their
    workspace, a fixed multiple of what they take and return, is not counted.  Any other operation that fills new memory
    counts once per entry of its result; a further factorisation is refused.  Sums of products are in torch's own order,
    whether or not opt_einsum is installed.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    aten = torch.ops.aten

    class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
        operations = live = peak = 0

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.storages: dict[int, int] = {}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            filled = sum(self.keep(tensor) for tensor in (out if isinstance(out, (tuple, list)) else [out]))
            packet = func.overloadpacket
            if packet is aten.linalg_qr:
                self.operations += _householder(*args[0].shape[-2:])
            elif packet is aten.linalg_matrix_exp:
                self.operations += 2 * (5 + squarings) * int(args[0].shape[-1]) ** 3
            elif packet is aten._scaled_dot_product_flash_attention_for_cpu:
                (*leading, m, d), n = args[0].shape, args[1].shape[-2]
                self.operations += 2 * math.prod(leading) * m * n * (d + int(args[2].shape[-1]))
            elif packet in flop_registry:
                self.operations += int(flop_registry[packet](*args, **(kwargs or {}), out_val=out))
            elif "linalg" in str(packet) or "cholesky" in str(packet):
                raise ArithmeticUnsupported(f"the operations of {packet} are not stated, so they cannot be counted")
            else:
                self.operations += filled
            return out

        def keep(self, tensor: Any) -> int:
            """The entries of `tensor` if its memory is new, alive from now on until it is released; 0 for views."""
            if not isinstance(tensor, torch.Tensor):
                return 0
            storage = tensor.untyped_storage()
            key, entries = storage._cdata, storage.nbytes() // tensor.element_size()
            if key in self.storages:
                return 0
            self.storages[key] = entries
            self.live += entries
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self.release, key)
            return entries

        def release(self, key: int) -> None:
            self.live -= self.storages.pop(key)

    with torch.backends.opt_einsum.flags(enabled=False), Counter() as counter:
        counter.storages = {argument.untyped_storage()._cdata: 0 for argument in arguments}
        result = function(*arguments)
    del result
    return Count(int(counter.operations), int(counter.peak))


def _householder(m: int, n: int) -> int:
    """Operations of a reduced QR of (m, n): the triangular factor, then the first min(m, n) columns of the other."""
    k = min(m, n)
    triangular = 2 * k * k * (max(m, n) - Fraction(k, 3))
    return math.ceil(triangular + 2 * k * k * (m - Fraction(k, 3)))
