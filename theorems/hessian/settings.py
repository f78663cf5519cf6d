"""What the paper assumes throughout: the layer, the loss and the layout of derivatives of Section 2, and the softmax.

Claims of Sections 2 and 3 and of Appendices B and D are set in `ATTENTION_LOSS`, or in `ATTENTION` where no loss occurs;
what one part of the paper adds to them, for its own claims, stands at the top of the module of that part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from theorems.hessian import HESSIAN
from verify.matrix import ROW, rational, softmax, vec_r
from verify.vocabulary import Convention, Definition, Setting, Shape

Tokens = Annotated[Any, Shape("L", "d_V")]
QueryWeights = Annotated[Any, Shape("d_V", "d_K", role="query")]
KeyWeights = Annotated[Any, Shape("d_V", "d_K")]
ValueWeights = Annotated[Any, Shape("d_V", "d_V")]
Labels = Annotated[Any, Shape("L", "d_V")]
Logits = Annotated[Any, Shape("L", "L", role="query")]
#: The sizes at which claims are checked: all different where possible, d_K on both sides of d_V.
SIZES = {"L": (1, 4), "d_V": (1, 3), "d_K": (1, 4)}


def loss_normalisation(L: int, d_V: int) -> Any:
    """1 / (L d_V), by which the square loss divides the sum of squares (Section 2)."""
    return rational(1, L * d_V)


LAYER = Definition(
    "classical self-attention F = A X W_V with A = softmax(X W_Q W_K^T X^T / sqrt(d_K)), row-wise", by=softmax
)
SQUARE_LOSS = Definition("square loss ||F - Y||_F^2 / (L d_V)", by=loss_normalisation)
LAYOUT = Convention("row-major vec_r, numerator layout, Eq. (4)", by=ROW)
ROW_SOFTMAX = Definition("A is the row-wise softmax of T", by=softmax)
#: The layer and its loss.
ATTENTION_LOSS = Setting(HESSIAN, "Section 2", assumptions=[LAYER, SQUARE_LOSS, LAYOUT], sizes=SIZES, exact=True)
#: The same for closed forms, in which nothing is differentiated.
CLOSED_FORMS = Setting(
    HESSIAN, "Section 2", assumptions=[LAYER, SQUARE_LOSS, Convention(LAYOUT.text, by=vec_r)], sizes=SIZES, exact=True
)
#: The same where second derivatives of the layer are formed, of L^2 d_V^2 d_K^2 entries and more.
SECOND_DERIVATIVES = ATTENTION_LOSS.extended("Section 2, second derivatives", sizes={"L": (1, 3)})
#: The layer alone.
ATTENTION = Setting(HESSIAN, "Section 2, without a loss", assumptions=[LAYER, LAYOUT], sizes=SIZES, exact=True)
#: The softmax and its moments, without weights.
SOFTMAX_OF_T = Setting(HESSIAN, "Appendix C", assumptions=[ROW_SOFTMAX], sizes={"L": (1, 3), "d_V": (1, 3)}, exact=True)
#: Identities between matrices, whatever these are.
IDENTITIES = Setting(HESSIAN, "Appendix A", exact=True)


def zero_residual(arrays: dict[str, Any], sizes: Mapping[str, int], rng: np.random.Generator) -> None:
    """Labels equal to the outputs: no values, no labels."""
    arrays["W_V"][:] = 0
    arrays["Y"][:] = 0
