"""What claims about layers share: operands of attention, masks, and how masks are drawn."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.transformer import TRANSFORMER
from verify.arithmetics import Constant
from verify.matrix import row_sums, step
from verify.vocabulary import Assumption, Setting, Shape

Queries = Annotated[Any, Shape("m", "d_K", role="query")]
Keys = Annotated[Any, Shape("n", "d_K")]
Values = Annotated[Any, Shape("n", "d_V")]
Logits = Annotated[Any, Shape("m", "n", role="query")]
Mask = Annotated[Any, Shape("m", "n", role="mask")]
#: What a mask is drawn from: an entry is allowed where it is positive.
Signs = Annotated[Any, Shape("m", "n", role="gate")]

BINARY = Assumption("M has the entries 0 and 1", zero=lambda M: M * M - M)
SOME_KEY = Assumption("M allows every query some key", positive=lambda M: row_sums(M))


def mask_of(signs: Signs) -> Any:
    """1 where `signs` is positive, 0 elsewhere; a row without positive entries allows the key i mod n, shape (m, n).

    Every mask with a key for each query arises.
    """
    m, n = signs.shape
    fallback = Constant(np.arange(n)[None, :] == np.arange(m)[:, None] % n) * 1
    positive = step(signs)
    return positive + (1 - step(row_sums(positive))) * fallback


def masked_logits(T: Logits, S: Signs) -> dict[str, Any]:
    return {"T": T, "M": mask_of(S)}


def masked_operands(Q: Queries, K: Keys, V: Values, S: Signs) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "M": mask_of(S)}


#: The softmax under a mask, of given logits.
SOFTMAX = Setting(
    TRANSFORMER, "Softmax under a mask", assumptions=[SOME_KEY], inputs=masked_logits, exact=True,
    sizes={"m": (1, 4), "n": (1, 5)},
)  # fmt: skip
#: Attention of m queries to n keys under a mask.
ATTENTION = Setting(
    TRANSFORMER, "Attention under a mask", assumptions=[SOME_KEY], inputs=masked_operands, exact=True,
    sizes={"m": (1, 3), "n": (1, 4), "d_K": (1, 4), "d_V": (1, 2)},
)  # fmt: skip
