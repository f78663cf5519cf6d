"""The untrained network of Appendix E: the sizes and values at which claims about initialisation are decided too.

N = 50 tokens (49 patches and [cls]), d = 64, h = 4 heads of d_v = 16, K = 6 Newton-Schulz steps, alpha = 0.1.  The source
states neither eps nor the scale of the tokens; 1e-7 and independent standard normal entries are taken here.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np

from theorems.osa import OSA
from verify.vocabulary import Claim, Equal, Shape, Size

UNTRAINED = "untrained network of Appendix E"
#: By the names that sizes have in annotations; m and r stand for 2 d_v, l for the number of blocks.
SIZES = {"N": 50, "d": 64, "d_v": 16, "K": 6, "m": 32, "r": 32, "l": 6}
VALUES = {"alpha": 0.1, "epsilon": 1e-7, "decay": 0.0}


def untrained(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Give the drawn arrays the values of the experiments, in place."""
    for name, value in VALUES.items():
        if name in arrays:
            arrays[name][:] = value
    if "X" in arrays:
        arrays["X"][:] = rng.standard_normal(arrays["X"].shape)


def decided_at_the_experiments(claim: Claim, **sizes: int) -> None:
    """Have `claim` decided at the sizes and values of Appendix E; `sizes` replaces or adds some of them."""
    chosen = {name: {**SIZES, **sizes}[name] for name in claim.sizes}
    claim.at_scale(UNTRAINED, **chosen)(untrained)


TOKEN_COUNT = Claim(OSA, "osa.e-n50", label="Appendix E",
    statement=r"n=50 \text{ tokens: patch size 4 on } 28\times28 \text{ images plus the [cls] token}",
    relation=Equal(), sizes={"side": (28, 28), "patch": (4, 4)}, exact=True,
)  # fmt: skip
Image = Annotated[Any, Shape("side", "side")]
PatchSize = Annotated[int, Size("patch")]


@TOKEN_COUNT.formula
def number_of_tokens(image: Image, patch: PatchSize) -> int:
    """50, for an image of shape (28, 28) and patches of shape (4, 4) (Appendix E)."""
    return 50


@TOKEN_COUNT.oracle
def counted_tokens(image: Image, patch: PatchSize) -> int:
    corners = range(0, image.shape[0], patch)
    patches = [image[i : i + patch, j : j + patch] for i, j in itertools.product(corners, corners)]
    return len([whole for whole in patches if whole.shape == (patch, patch)]) + 1


TOKEN_COUNT.mutant("without the [cls] token", lambda: 49)
TOKEN_COUNT.mutant("patches that overlap by half", lambda: 13 * 13 + 1)
