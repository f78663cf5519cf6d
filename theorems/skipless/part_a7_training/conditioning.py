"""Section A.7, Tables 5 and 6: what kappa(J J^T) is, and whether the printed orders of magnitude agree."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.part_6_experiments.tables import UNIT, Unit
from verify.matrix import concatenate, condition_number, ones, singular_values
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Shape

Jacobian = Annotated[Any, Shape("m", "p")]

#: Table 5, epochs 20, 60, 120, 180, 240, 300.
TABLE_5_SKIP = (127, 72, 82, 93, 113, 144)
TABLE_5_SKIPLESS_INIT = (195, 340, 261, 160, 176, 207)
#: Table 6, skip and skipless + init at L0, L4, L7, L11, epochs 20, 100, 200, 300, in hundredths.
TABLE_6_SKIP = (105, 149, 135, 104, 106, 154, 125, 125, 103, 157, 121, 137, 102, 138, 128, 151)
TABLE_6_SKIPLESS_INIT = (1000, 270, 750, 1250, 625, 370, 854, 1920, 625, 384, 1110, 2170, 344, 357, 1430, 2020)

KERNEL = Claim(SKIPLESS, "skipless.a7-kernel-condition", label="Section A.7, text and Tables 5-6",
    statement=r"""\text{We tracked the condition numbers of the full Jacobian }(\kappa(\mathbf{J}\mathbf{J}^\top))\text{
        as well as the per-layer Jacobian kernels during DINO ViT-Small training. }\dots\text{ our skipless + init
        variant maintains a condition number of the same order of magnitude as the residual (skip) baseline throughout
        the entire optimization trajectory. }\dots\ \kappa(\mathbf{K}_\ell\mathbf{K}_\ell^\top)\text{ for skipless
        models and }\kappa((\mathbf{K}_\ell+\mathbf{I})(\mathbf{K}_\ell+\mathbf{I})^\top)\text{ for residual models}""",
    assumptions=[
        Assumption("J of shape (m, p) with m <= p", sizes=lambda sizes: sizes["m"] <= sizes["p"]),
        Assumption("J is of full rank", positive=lambda J: singular_values(J)[-1]),
    ],
    name="conditioning of Jacobian kernels in training", relation=Equal(), sizes={"m": (1, 4), "p": (1, 5)},
    expects="reading",
    uses=("skipless.a7-table-5", "skipless.a7-table-6"),
    reading=Reading(("condition numbers of the full Jacobian", "of the same order of magnitude"), r"""$\kappa(JJ^\top) =
        \kappa(J)^2$ for the $\kappa$ of Section 4.1, so the tables show squares, 11.3 and 14.0 for $J$ at epoch 20; and
        within a factor of 10, as the ratios of Table 5 are, of squares or roots (skipless.a7-table-5)"""),
    note=r"""The algebra is checked here. Table 5 has 72 to 144 with skips and 160 to 340 for skipless + init. For $m >
        p$ the kernel is singular and $J^\top J$ takes its place. Layer by layer see skipless.a7-table-6.""",
)  # fmt: skip


@KERNEL.formula
def squared_condition(J: Jacobian) -> Any:
    """kappa(J)^2, a scalar."""
    kappa = condition_number(J)
    return kappa * kappa


KERNEL.oracle(lambda J: condition_number(J @ J.T))
KERNEL.mutant("kappa(J), not squared", lambda J: condition_number(J))

KERNEL.mutant("ratio of the squared largest to the smallest singular value",
    lambda J: condition_number(J) * singular_values(J)[0])  # fmt: skip

TABLE_5 = Claim(SKIPLESS, "skipless.a7-table-5", label="Section A.7, Table 5, 'the same order of magnitude'",
    statement=r"""
        \tfrac{1}{10}\,\kappa_{\mathrm{skip}}\le\kappa_{\mathrm{skipless+init}}\le10\,\kappa_{\mathrm{skip}}\text{ at
        every printed epoch}""",
    assumptions=[Definition("numbers as extracted from Table 5", by=(TABLE_5_SKIP, TABLE_5_SKIPLESS_INIT)), UNIT],
    name="network conditioning in training", relation=AtMost(), of_project=True, expects="empirical",
    observed="""six epochs of one run; seeds, batch and how the Jacobian was formed are not stated. The ratios are 1.5,
        4.7, 3.2, 1.7, 1.6 and 1.4, so a factor 5 suffices.""")  # fmt: skip


def _in_units(unit: Any, numbers: tuple[int, ...], times: int = 1) -> Any:
    return concatenate([ones(1, 1) * (unit * (number * times)) for number in numbers], axis=0)


@TABLE_5.formula
def ten_times(unit: Unit) -> Any:
    """Ten times each row of Table 5, shape (12, 1)."""
    return concatenate([_in_units(unit, TABLE_5_SKIP, 10), _in_units(unit, TABLE_5_SKIPLESS_INIT, 10)], axis=0)


TABLE_5.oracle(
    lambda unit: concatenate([_in_units(unit, TABLE_5_SKIPLESS_INIT), _in_units(unit, TABLE_5_SKIP)], axis=0)
)
TABLE_5.mutant("four times", times=4)

TABLE_5.mutant("no larger than with skips", times=1)

TABLE_6 = Claim(SKIPLESS, "skipless.a7-table-6", label="Section A.7, Table 6, layer by layer",
    statement=r"\kappa_{\mathrm{skipless+init}}\le20\,\kappa_{\mathrm{skip}}\text{ at every printed layer and epoch}",
    assumptions=[Definition("numbers as extracted from Table 6", by=(TABLE_6_SKIP, TABLE_6_SKIPLESS_INIT)), UNIT],
    name="layer conditioning in training", relation=AtMost(left="rows of the table, skipless with the initialisation"),
    of_project=True, expects="empirical",
    observed="""four layers at four epochs of one run. Layer by layer a factor 10 does not suffice: the last layer has
        ratios of 12, 15, 16 and 13, and L7 one of 11 at epoch 300. The sentence about the order of magnitude speaks of
        Table 5.""")  # fmt: skip


@TABLE_6.formula
def twenty_times(unit: Unit) -> Any:
    """Twenty times the rows with skips, shape (16, 1)."""
    return _in_units(unit, TABLE_6_SKIP, 20)


TABLE_6.oracle(lambda unit: _in_units(unit, TABLE_6_SKIPLESS_INIT))
TABLE_6.mutant("ten times, one order of magnitude", times=10)
TABLE_6.mutant("no larger than with skips", times=1)
