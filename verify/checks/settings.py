"""Settings of a run: effort, seed, dtype, device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.vocabulary.errors import InputError

if TYPE_CHECKING:
    import torch


#: How many times fewer examples claims need that are proved for all sizes.
FEWER = 4


@dataclass(frozen=True)
class Effort:
    """How much work a check does."""

    name: str
    examples: int  #: Hypothesis examples per sampled check
    batch: int  #: seeds evaluated together in one example
    enclosed: int  #: examples in ball arithmetic
    exact: int  #: examples in exact arithmetic
    ascent: int  #: gradient ascent steps on a bound
    trials: int  #: independent repetitions in statistical limits
    scaled: int  #: examples at each size that a source names

    def tying(self, examples: int, proved: bool) -> int:
        """How many of the examples are drawn: a quarter where a proof leaves only to tie the functions to the formula."""
        return -(-examples // FEWER) if proved else examples


EFFORTS = {
    "quick": Effort("quick", examples=8, batch=16, enclosed=3, exact=2, ascent=40, trials=12, scaled=1),
    "ci": Effort("ci", examples=20, batch=64, enclosed=6, exact=3, ascent=120, trials=24, scaled=1),
    "deep": Effort("deep", examples=300, batch=64, enclosed=60, exact=12, ascent=1500, trials=96, scaled=3),
}


@dataclass(frozen=True)
class Settings:
    """What a check needs to know about the run it is part of."""

    effort: Effort = EFFORTS["ci"]
    seed: int = 0
    seeded: bool = False  #: whether the seed was asked for, which makes Hypothesis use it
    device: str = "cpu"
    dtypes: tuple[str, ...] = ("float64", "float32")


def settings_for(
    effort: str = "ci", seed: int | None = None, device: str = "cpu", dtypes: tuple[str, ...] | None = None
) -> Settings:
    """Validated settings; raises `InputError` for an unknown effort, dtype or device, or an absent accelerator."""
    if effort not in EFFORTS:
        raise InputError("effort", f"one of {sorted(EFFORTS)}", repr(effort))
    for dtype in dtypes or ():
        if dtype not in ("float64", "float32"):
            raise InputError("dtype", "float64 or float32", repr(dtype))
    require_device(device)
    return Settings(EFFORTS[effort], seed or 0, seed is not None, device, dtypes or Settings.dtypes)


def require_device(device: str) -> None:
    """Raise `InputError` unless torch can allocate on `device`."""
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError("device", "cpu, or an accelerator that torch can use here", f"{device!r} ({reason})") from None


def torch_dtype(name: str) -> torch.dtype:
    """float64 or float32 as a torch dtype."""
    import torch

    return {"float64": torch.float64, "float32": torch.float32}[name]
