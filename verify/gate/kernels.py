"""Which kernels ran: fused ones of torch take only some shapes, and where they do not, another computes in silence."""

from __future__ import annotations

import contextlib
import importlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

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
    profile: Any = importlib.import_module("torch.autograd.profiler_legacy").profile
    with profile() as record:
        yield
    kernels.update(name for event in record.function_events if (name := _kernel(event.name)))


def _kernel(operator: str) -> str | None:
    """The name of a kernel, "flash_attention_for_cpu"; None for other operators and for backward passes."""
    space, colons, name = operator.partition("::")
    if not colons or not name.isidentifier() or "backward" in name:
        return None
    if space not in _OF_TORCH:
        return operator
    fused = name.startswith("_scaled_dot_product_") or name == "_native_multi_head_attention"
    return name.removeprefix("_scaled_dot_product_").lstrip("_") if fused else None
