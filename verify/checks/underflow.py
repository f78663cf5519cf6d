"""Whether floats lose digits by underflow on the way to a result, which no rounding unit knows of.

Balls have exponents without end.  Where a product falls below the smallest normal number of a float format its relative
precision is lost, and what is computed from it may be far off though formula and format are both right.  Such a point tells
nothing in that format; balls and exact arithmetic decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from verify.arithmetics import is_real
from verify.checks.evaluation import all_in_batch
from verify.vocabulary.claims import Claim

_aten = torch.ops.aten
_PRODUCTS = {_aten.mm.default, _aten.bmm.default, _aten.mv.default, _aten.dot.default}


class UnderflowWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """`seen` becomes true when a product of normal numbers inside the block falls below the smallest normal one, or to 0.

    Of sums of products, when the sizes of all that are added stay below it.  What exponentials lose there is in the
    rounding unit, and excuses nothing.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point() and result.numel():
            self.seen = self.seen or self._lost(func, result, args)
        return result

    def _lost(self, func: Any, result: torch.Tensor, args: Any) -> bool:
        # a product with a mask or an integer does not underflow
        if func not in _PRODUCTS and not (func is _aten.mul.Tensor and all(map(is_real, args))):
            return False
        tiny = torch.finfo(result.dtype).tiny
        sizes = [value.abs() * (value.abs() >= tiny) for value in args]  # what was lost before is not lost here
        present = func(*((size > 0).to(size.dtype) for size in sizes)) > 0
        return bool((present & (func(*sizes) < tiny)).any())


def underflows(claim: Claim, functions: Sequence[Callable[..., Any]], raw: Mapping[str, Any], index: int) -> bool:
    """Whether one of `functions` loses digits by underflow at seed `index` of the batch of tensors `raw`."""
    one = {name: value if isinstance(value, int) else value[index : index + 1] for name, value in raw.items()}
    with UnderflowWatch() as watch:
        all_in_batch(claim, functions, one)
    return watch.seen
