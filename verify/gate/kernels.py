"""Which kernels ran: fused ones of torch take only some shapes, and where they do not, another computes in silence."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

#: How the names of torch's fused attention kernels begin.
FUSED = ("flash", "efficient", "cudnn")
#: Namespaces of operators whose names say nothing, unless they are kernels of attention.
_OF_TORCH = ("aten", "autograd", "prim", "prims", "profiler", "torch", "inductor")


@contextlib.contextmanager
def counted(kernels: Counter[str]) -> Iterator[None]:
    """Count in `kernels` the attention kernels of torch, and operators of other libraries, that run in the block.

    Torch's own record of operators is read, which changes nothing that runs.  Inside another profile nothing is counted.
    """
    import torch

    if torch._C._autograd._profiler_enabled():
        yield
        return
    library: Any = importlib.import_module("torch.autograd.profiler_legacy")
    library.profile()._start_trace()
    try:
        yield
    finally:
        threads = library._disable_profiler_legacy()  # as they are: a tree of them costs more than what ran
    # thousands of records, of a few dozen names: no step of Python's for each
    operators = Counter(map(torch._C._autograd.ProfilerEvent.name, itertools.chain.from_iterable(threads)))
    kernels.update({name: times for operator, times in operators.items() if (name := _kernel(operator))})


@functools.cache
def _kernel(operator: str) -> str | None:
    """The name of a kernel, "flash_attention_for_cpu"; None for other operators and for backward passes."""
    space, colons, name = operator.partition("::")
    if not colons or not name.isidentifier() or "backward" in name:
        return None
    if space not in _OF_TORCH:
        return operator
    fused = name.startswith("_scaled_dot_product_") or name == "_native_multi_head_attention"
    return name.removeprefix("_scaled_dot_product_").lstrip("_") if fused else None
