"""Table 2, the test accuracies, against what the text of Section 3 says of generalisation.

How fast the models train is in Figure 1 alone, of which there are no numbers.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.osa import OSA
from verify.matrix import column, rational
from verify.vocabulary import Assumption, AtMost, Claim, Real

#: The unit in which accuracies are written; what is said of them holds in every positive one.
Unit = Annotated[Any, Real(0.25, 4.0)]

#: Test accuracies in tenths of a percent.
OSA_QR, OSA_NEWTON_SCHULZ, VIT, VIT_NO_SKIP, VIT_NO_SKIP_NO_LAYER_NORM = 972, 969, 972, 946, 796

TABLE_2 = Claim(OSA, "osa.sec-3-table-2", label="Section 3, text, and Table 2", name="accuracies and what is said of them",
    statement=r"""
        \text{removing skip connections and layer norm results in worse } \dots \text{ generalisation, with the removal of
        layer norm especially degrading performance}; \dots \text{ our model is able to match the generalisation performance
        of the ViT baseline } \dots, \text{ outperforming the ViT without skip connections}; \dots \text{ QR appears to slightly
        outperform Newton-Schultz}""",
    relation=AtMost(left="the accuracy or the drop said to be smaller", ascent=False), expects="empirical",
    assumptions=[Assumption("the unit is positive", positive=lambda unit: unit)],
    observed="""the accuracies printed in Table 2, one run each: OSA (QR) 97.2, OSA (NS) 96.9, ViT 97.2, ViT (no skip) 94.6,
        ViT (no skip, no LN) 79.6. Removing skip connections costs 2.6 points, and layer norm 15.0 more. OSA with QR matches
        the ViT, with Newton-Schulz it is 0.3 points below. No spread over seeds is printed, so 0.3 points say little.""",
)  # fmt: skip


def _percent(unit: Any, *tenths: int) -> Any:
    """Accuracies given in tenths, in percent, shape (count, 1)."""
    return column(*(unit * rational(number, 10) for number in tenths))


@TABLE_2.formula
def said_to_be_larger(unit: Unit) -> Any:
    """ViT; ViT (no skip); the drop without layer norm; OSA (QR); OSA (QR); OSA (NS); OSA (QR), shape (7, 1)."""
    drop = VIT_NO_SKIP - VIT_NO_SKIP_NO_LAYER_NORM
    return _percent(unit, VIT, VIT_NO_SKIP, drop, OSA_QR, OSA_QR, OSA_NEWTON_SCHULZ, OSA_QR)


@TABLE_2.oracle
def said_to_be_smaller(unit: Unit) -> Any:
    """ViT (no skip); ViT (no skip, no LN); the drop without skips; ViT; ViT (no skip) twice; OSA (NS), shape (7, 1)."""
    drop = VIT - VIT_NO_SKIP
    return _percent(
        unit, VIT_NO_SKIP, VIT_NO_SKIP_NO_LAYER_NORM, drop, VIT, VIT_NO_SKIP, VIT_NO_SKIP, OSA_NEWTON_SCHULZ
    )


TABLE_2.mutant("Newton-Schulz in the place of QR", "OSA_QR -> OSA_NEWTON_SCHULZ")
TABLE_2.mutant("a ViT without skips in the place of OSA (NS)", "OSA_NEWTON_SCHULZ -> VIT_NO_SKIP_NO_LAYER_NORM")
