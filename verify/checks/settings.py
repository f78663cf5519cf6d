"""Settings of a run: effort, seed, dtype, device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.vocabulary.errors import InputError, in_one_line, shown

if TYPE_CHECKING:
    import torch


#: Precisions in which an implementation is compared with its definition, and theorems are not checked.
HALVES = ("float16", "bfloat16")
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
    anew: bool = False  #: whether what a search found once, and is kept, is sought again

    def tying(self, examples: int, proved: bool) -> int:
        """How many of the examples are drawn: a quarter where a proof leaves only to tie the functions to the formula."""
        return -(-examples // FEWER) if proved else examples

    def confirming(self, examples: int, proved: bool) -> int:
        """How many of the examples are decided in balls or exactly: one where a proof says more, but at effort deep all."""
        return 1 if proved and not self.anew else examples


EFFORTS = {
    "quick": Effort("quick", examples=8, batch=16, enclosed=3, exact=2, ascent=40, trials=12, scaled=1),
    "ci": Effort("ci", examples=20, batch=64, enclosed=6, exact=3, ascent=120, trials=24, scaled=1),
    "deep": Effort("deep", examples=300, batch=64, enclosed=60, exact=12, ascent=1500, trials=96, scaled=3, anew=True),
}


@dataclass(frozen=True)
class Settings:
    """What a check needs to know about the run it is part of."""

    effort: Effort = EFFORTS["ci"]
    seed: int = 0
    seeded: bool = False  #: whether the seed was asked for, which makes Hypothesis use it
    device: str = "cpu"
    dtypes: tuple[str, ...] = ("float64", "float32")
    code: str = ""  #: of the claim that is checked (verify.evidence.fingerprints.code_of)

    def repeats(self, searched: str) -> bool:
        """Whether a search repeats one of the code `searched`, of which the finds are kept.

        Not under a seed that was asked for, whose draws are new, and not at effort deep.
        """
        return searched == self.code != "" and not (self.seeded or self.effort.anew)


def settings_for(
    effort: str = "ci", seed: int | None = None, device: str = "cpu", dtypes: tuple[str, ...] | None = None
) -> Settings:
    """Validated settings; raises `InputError` for an unknown effort, seed, dtype or device, or an absent accelerator."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise InputError("effort", f"one of {sorted(EFFORTS)}", shown(effort))
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        raise InputError("seed", "an integer >= 0", shown(seed))
    for dtype in dtypes or ():
        if not isinstance(dtype, str) or dtype not in Settings.dtypes:
            raise InputError("dtype", "float64 or float32", shown(dtype))
    require_device(device)
    chosen = tuple(dict.fromkeys(dtypes)) if dtypes else Settings.dtypes
    return Settings(EFFORTS[effort], seed or 0, seed is not None, device, chosen)


def require_device(device: str) -> None:
    """Raise `InputError` unless torch can compute on `device`."""
    expected = "cpu, or an accelerator that torch can use here"
    if not isinstance(device, str):
        raise InputError("device", expected, shown(device))
    if device == "cpu":
        return
    import torch

    try:
        float(torch.ones(1, device=device))  # a value has to come back: from the device "meta" none does
    except Exception as problem:
        raise InputError("device", expected, f"{device!r} ({in_one_line(problem)})") from None


def torch_dtype(name: str) -> torch.dtype:
    """A name of `Settings.dtypes` or `HALVES` as a torch dtype."""
    import torch

    return getattr(torch, name)  # type: ignore[no-any-return]
