"""The number of tokens of Appendix E; its other sizes and values are `theorems.osa.settings.UNTRAINED`."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

from theorems.osa import OSA
from verify.vocabulary import Claim, Equal, Shape, Size

TOKEN_COUNT = Claim(OSA, "osa.e-n50", label="Appendix E", name="number of tokens",
    statement=r"""\text{we use a patch size of 4, we add the [cls] token for classification} \dots \text{ This results
        in } n=50 \text{ as images from MNIST are } 28\times28""",
    relation=Equal(), at_sizes=True, sizes={"side": (28, 28), "patch": (4, 4)}, exact=True,
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
