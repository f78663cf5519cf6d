"""The number of tokens of Appendix E; its other sizes and values are `theorems.osa.settings.UNTRAINED`."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.settings import UNTRAINED
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Reading, Shape, Size

SIZES_OF_IMAGES = Assumption(
    "images of 28 x 28 pixels, patches of 4 x 4", sizes=lambda sizes: sizes["side"] == 28 and sizes["patch"] == 4
)

TOKEN_COUNT = Claim(OSA, "osa.e-n50", label="Appendix E", name="number of tokens",
    statement=r"""\text{we use a patch size of 4, we add the [cls] token for classification} \dots \text{ This results
        in } n=50 \text{ as images from MNIST are } 28\times28""",
    assumptions=[SIZES_OF_IMAGES],
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

USUAL_SIZES = Claim(OSA, "osa.usual-sizes", label="Sections 2.1 and 2.3, text", name="head size against the number of tokens",
    statement=r"""\text{Section 2.1: ``we usually have that } d_v \text{ is small compared to } N\text{''. Section 2.3: ``we
        usually have } 2d_v < N\text{''}""",
    assumptions=[SIZES_OF_IMAGES], relation=AtMost(left="2 d_v", ascent=False), expects="reading",
    sizes={"side": (28, 28), "patch": (4, 4)},
    reading=Reading(("usually", "small compared to"), r"""at the sizes of Appendix E, the only ones that the paper has:
        $N = 50$, $d_v = d/h = 64/4 = 16$, so that $2d_v = 32 < 50$"""),
    note="""For images of 28 by 28 pixels. There $[S]$ has order 32 against 50 for $S$, so that the cubes of
        Section 2.1 differ by a factor of 4.""",
)  # fmt: skip


@USUAL_SIZES.formula
def tokens_less_one(image: Image, patch: PatchSize) -> int:
    """N - 1, for an image of shape (28, 28), patches of shape (4, 4) and the [cls] token (Appendix E)."""
    return counted_tokens(image, patch) - 1


USUAL_SIZES.oracle(lambda image: 2 * UNTRAINED.sizes["d"] // 4)
USUAL_SIZES.mutant("one patch of 28 x 28", lambda: 1)
USUAL_SIZES.mutant("tokens of one row of patches", lambda image, patch: image.shape[0] // patch)
