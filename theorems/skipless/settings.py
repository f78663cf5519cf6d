"""What several parts share: the token dimensions, alpha and beta that the paper prints for its models."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from verify.vocabulary import Setting, Size

Dimension = Annotated[int, Size("d")]

#: Tokens of a ViT on images of 224 pixels in patches of 16, with a class token; the paper does not state it.
LENGTH = 197
#: (alpha, beta) by token dimension, as printed in Sections 6.1 and 6.2.
BY_DIMENSION = {384: (1.8, 1.0), 768: (2.0, 0.6)}
#: The printed choices of (alpha, beta): Sections 6.1, 6.2 and A.8.
PRINTED_SCALES = ((2.0, 0.6), (1.8, 1.0), (0.0, 0.5))
#: The set-up of claims about Gaussian tokens at the paper's sizes, for their readings.
PAPER = (
    r"single head with the full product of Eq. (11), $d = 384$ with $(\alpha, \beta) = (1.8, 1)$ and $d = 768$ with $(2, 0.6)$,"
    rf" as printed; $n = {LENGTH}$ Gaussian tokens, which is not stated"
)
#: The hypothesis without which what is printed about such tokens is false.
GAUSSIAN_TOKENS = (
    "the tokens are Gaussian, of large dimension, and 'is' means with probability 9/10 (checked at"
    rf" $n = {LENGTH}$ for one head with the full product of Eq. (11), $d = 384$ with $(\alpha, \beta) = (1.8, 1)$ and"
    r" $d = 768$ with $(2, 0.6)$)"
)


def dimension_alone(d: Dimension) -> dict[str, Any]:
    """The inputs of a law that depends on d only."""
    return {"d": d}


AT_PRINTED_DIMENSIONS = Setting(SKIPLESS, "Sections 6.1 and 6.2", sizes={"d": (384, 768)},
    where=lambda sizes: sizes["d"] in BY_DIMENSION, inputs=dimension_alone)  # fmt: skip
