"""Eq. (37) and the last sentence of Section A.4.4: the condition number of two blocks side by side.

The chain of Eq. (37) needs rho < s_min^2, which is not printed; where it holds, every link does.  The sentence drawn from it
needs s_min to stay fixed, for rho is not relative to the size of the blocks; it holds for rho small beside s_min^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.quantities import condition, minimum
from verify.matrix import column, concatenate, maximum, smallest_gain, spectral_norm, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Real, Setting, Shape, realises

Left = Annotated[Any, Shape("n", "d_1")]
Right = Annotated[Any, Shape("n", "d_2")]


def concatenated(A: Any, B: Any) -> Any:
    """M = [A B], shape (n, d_1 + d_2)."""
    return concatenate([A, B], axis=1)


@dataclass
class Blocks:
    """The scalars of Section A.4.4 for M = [A B]."""

    s_max: Any
    s_min: Any
    rho: Any
    tau: Any
    kappas: Any  #: condition numbers of A and B, shape (2, 1)


def blocks(A: Left, B: Right) -> Blocks:
    """Eqs. (32)-(33) and the definitions above them."""
    return Blocks(
        s_max=maximum(column(spectral_norm(A), spectral_norm(B))),
        s_min=minimum(column(smallest_gain(A), smallest_gain(B))),
        rho=spectral_norm(A.T @ B),
        tau=imbalance(spectral_norm(A), spectral_norm(B)),
        kappas=column(condition(A), condition(B)),
    )


def imbalance(*norms: Any) -> Any:
    """The largest of some scalars over the smallest."""
    return maximum(column(*norms)) / minimum(column(*norms))


def second_term(q: Blocks, rho: Any) -> Any:
    """sqrt((s_max^2 + rho) / (s_min^2 - rho)), the second term of Eq. (37)."""
    return sqrt((q.s_max * q.s_max + rho) / (q.s_min * q.s_min - rho))


def coherence(q: Blocks, rho: Any) -> Any:
    """sqrt((1 + rho / s_max^2) / (1 - rho / s_min^2)), the root in the third and fourth term of Eq. (37)."""
    return sqrt((1 + rho / (q.s_max * q.s_max)) / (1 - rho / (q.s_min * q.s_min)))


def third_term(q: Blocks, rho: Any) -> Any:
    """coherence s_max / s_min."""
    return coherence(q, rho) * q.s_max / q.s_min


def nearly_orthogonal(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Columns close to multiples of different unit vectors, as far as the rows go, B of A's size or larger: rho is small."""
    n, d_1 = sizes["n"], sizes["d_1"]
    for name, offset in (("A", 0), ("B", d_1)):
        arrays[name] *= 2.0**-5
        for j in range(arrays[name].shape[2]):
            arrays[name][:, (offset + j) % n, j] += rng.integers(2, 5, len(arrays[name])) / 2
    arrays["B"] *= rng.choice([1.0, 4.0], (len(arrays["B"]), 1, 1))


def orthogonal(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """A in the first d_1 rows, B in the others: rho = 0, and sigma_max, sigma_min of M are s_max, s_min."""
    arrays["A"][:, sizes["d_1"] :, :] = 0.0
    arrays["B"][:, : sizes["d_1"], :] = 0.0


def borderline(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Orthonormal columns, but for the first of B to which the first of A is added: rho = s_min^2 = 1."""
    for name, offset in (("A", 0), ("B", sizes["d_1"])):
        arrays[name][:] = np.eye(sizes["n"], arrays[name].shape[2], -offset)
    arrays["B"][:, 0, 0] = 1.0


SECTION_A4_4 = Setting(SKIPLESS, "Section A.4.4",
    assumptions=[
        Definition(r"M = [A B]; s_max, s_min: largest and smallest of the singular values of A and B; \rho = \|A^T B\|_2 "
        "(Eq. (32))",
            by=blocks),
        Definition(r"\tau = \max(\|A\|_2, \|B\|_2) / \min(\|A\|_2, \|B\|_2) (Eq. (33)); \kappa_max: the larger condition "
        "number of A and B",
            by=blocks),
        Definition("smallest singular values are minima of |Mx| over unit vectors x (Eq. (36)): 0 for more columns than rows",
            by=smallest_gain),
    ],
    sizes={"n": (1, 7), "d_1": (1, 3), "d_2": (1, 2)})  # fmt: skip
BLOCKS = {"orthogonal blocks": orthogonal, "nearly orthogonal blocks": nearly_orthogonal}
ANY_BLOCKS = SECTION_A4_4.extended(special_domains={"rho = s_min^2": borderline, **BLOCKS})

EQ_37 = Claim(ANY_BLOCKS, "skipless.eq-37", label="Eq. (37)", name="condition number of two blocks",
    statement=r"""
        \kappa(\mathbf{M})=\frac{\sigma_{\max}(\mathbf{M})}{\sigma_{\min}(\mathbf{M})}\le\sqrt{\frac{s_{\max}^2+
        \rho}{s_{\min}^2-\rho}}\le\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\cdot\frac{s_{\max}}{s_{\min}}\le
        \tau\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\,\kappa_{\max}""",
    relation=AtMost(), expects="gap", presumes=("skipless.eq-37-defined",), missing=r"$\rho < s_{\min}^2$",
    proof=("skipless.eq-32-34", "skipless.eq-35", "skipless.eq-36"), correction="skipless.eq-37-incoherent",
    consequence=r"""The bound says nothing unless $\|A^\top B\|_2 < s_{\min}^2$, and attention blocks never satisfy that
        (skipless.sec4.2-coherence); check it before using the chain (skipless.eq-37-incoherent).""",
    note=r"""Nothing is printed about $\rho$ against $s_{\min}^2$. Where $\rho < s_{\min}^2$ every link holds; where
        $\rho \ge s_{\min}^2$ the second to fourth terms are not real numbers, and nothing is said about $\kappa(M)$,
        finite or not. The step from Eq. (36) to Eq. (37) takes the root of a lower bound that may be negative. The
        printed 'mild incoherence condition', $\rho$ close to 0, is named after the chain only. The checks of this page
        cover the inputs with $\rho < s_{\min}^2$ alone, about a third of those drawn (635 of 1984), none of the generic
        domain; elsewhere there is nothing to compare.""",
)  # fmt: skip


@EQ_37.formula
def chain_of_bounds(A: Left, B: Right) -> Any:
    """The second, third and fourth term of Eq. (37), shape (3, 1)."""
    q = blocks(A, B)
    fourth = q.tau * coherence(q, q.rho) * maximum(q.kappas)
    return column(second_term(q, q.rho), third_term(q, q.rho), fourth)


@EQ_37.oracle
def terms_bounded_by_the_next(A: Left, B: Right) -> Any:
    """kappa(M) and the second and third term of Eq. (37), shape (3, 1)."""
    q = blocks(A, B)
    kappa = condition(concatenated(A, B))
    return column(kappa, second_term(q, q.rho), third_term(q, q.rho))


EQ_37.mutant("rho with the wrong sign", "q.rho -> -q.rho")
EQ_37.mutant("factor tau dropped", "q.tau -> 1")
EQ_37.mutant("smaller condition number instead of kappa_max", "maximum -> minimum")
EQ_37.mutant("rho dropped from the second term", "second_term(q, q.rho) -> second_term(q, 0 * q.rho)")

EQ_37_DEFINED = Claim(ANY_BLOCKS, "skipless.eq-37-defined", label="Eq. (37), that its right-hand sides exist",
    statement=r"""\rho\le s_{\min}^2\ \text{for all}\ \mathbf{A},\mathbf{B},\ \text{so that}\ \sqrt{s_{\min}^2-\rho}\
        \text{is real}""",
    name="existence of the concatenation bound", relation=AtMost(), expects="refuted", severity="error",
    of_project=True,
    note=r"At the counterexample $\rho = 2$ and $s_{\min} = 1$, while $\kappa(M) = 3 + 2\sqrt2$ is finite.",
)  # fmt: skip


@EQ_37_DEFINED.formula
def squared_smallest_stretch(A: Left, B: Right) -> Any:
    """s_min^2, a scalar."""
    q = blocks(A, B)
    return q.s_min * q.s_min


@EQ_37_DEFINED.oracle
def block_coherence(A: Left, B: Right) -> Any:
    """rho = |A^T B|_2, a scalar (Eq. (32))."""
    return spectral_norm(A.T @ B)


EQ_37_DEFINED.counterexample("two columns with inner product 2", A=[[1], [0]], B=[[2], [1]])
EQ_37_DEFINED.mutant("s_max^2 instead of s_min^2", "q.s_min -> q.s_max")
EQ_37_DEFINED.mutant("s_min s_max instead of s_min^2", "q.s_min * q.s_min -> q.s_min * q.s_max")

#: Follows from what is asked of rho beside it.
AS_MANY_ROWS = Assumption(
    "n >= d_1 + d_2, for with more columns than rows s_min^2 <= rho",
    sizes=lambda sizes: sizes["n"] >= sizes["d_1"] + sizes["d_2"],
)
INCOHERENT_BLOCKS = SECTION_A4_4.extended(
    "Section A.4.4, incoherent blocks",
    assumptions=[
        AS_MANY_ROWS,
        Assumption(r"\rho < s_min^2", positive=lambda A, B: squared_smallest_stretch(A, B) - block_coherence(A, B)),
    ],
    sizes={"n": (2, 7)},
    special_domains=BLOCKS,
)

EQ_37_INCOHERENT = Claim(INCOHERENT_BLOCKS, "skipless.eq-37-incoherent", label="Eq. (37) for incoherent blocks",
    statement=r"""
        \text{If}\ \rho<s_{\min}^2:\ \kappa(\mathbf{M})\le\sqrt{\frac{s_{\max}^2+\rho}{s_{\min}^2-\rho}}=\sqrt{\frac{1+
        \rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\cdot\frac{s_{\max}}{s_{\min}}\le\tau\sqrt{\frac{1+\rho/s_{\max}^2}{1-
        \rho/s_{\min}^2}}\,\kappa_{\max}""",
    name="condition number of incoherent blocks", relation=AtMost(), of_project=True, corrects="skipless.eq-37", all_sizes=True,
    proof=("skipless.eq-35", "skipless.eq-36", "skipless.eq-37-middle"),
    note="""The middle link is an equality and a claim of its own, lest its ratio 1 hide how tight the other two are.
        Both are attained: by orthogonal blocks, and by orthogonal blocks of equal singular values.""")  # fmt: skip


@EQ_37_INCOHERENT.formula
def incoherent_bounds(A: Left, B: Right) -> Any:
    """The second and fourth term of Eq. (37), shape (2, 1)."""
    q = blocks(A, B)
    return column(second_term(q, q.rho), q.tau * coherence(q, q.rho) * maximum(q.kappas))


@EQ_37_INCOHERENT.oracle
def incoherent_terms(A: Left, B: Right) -> Any:
    """kappa(M) and the third term of Eq. (37), shape (2, 1)."""
    q = blocks(A, B)
    return column(condition(concatenated(A, B)), third_term(q, q.rho))


EQ_37_INCOHERENT.mutant("rho dropped from the second term", "second_term(q, q.rho) -> second_term(q, 0 * q.rho)")
EQ_37_INCOHERENT.mutant("rho with the wrong sign in the second term", "second_term(q, q.rho) -> second_term(q, -q.rho)")
EQ_37_INCOHERENT.mutant("factor tau dropped", "q.tau * coherence(q, q.rho) -> coherence(q, q.rho)")
EQ_37_INCOHERENT.mutant("smaller condition number instead of kappa_max", "maximum -> minimum")

MIDDLE = Claim(INCOHERENT_BLOCKS, "skipless.eq-37-middle", label="Eq. (37), middle link",
    statement=r"""
        \sqrt{\frac{s_{\max}^2+\rho}{s_{\min}^2-\rho}}=\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\cdot\frac{s_{
        \max}}{s_{\min}}\quad\text{if}\ \rho<s_{\min}^2""",
    name="middle link of the concatenation bound", relation=Equal(), of_project=True)  # fmt: skip


@MIDDLE.formula
def third_term_of_chain(A: Left, B: Right) -> Any:
    """sqrt((1 + rho / s_max^2) / (1 - rho / s_min^2)) s_max / s_min, a scalar."""
    q = blocks(A, B)
    return third_term(q, q.rho)


@MIDDLE.oracle
def second_term_of_chain(A: Left, B: Right) -> Any:
    """sqrt((s_max^2 + rho) / (s_min^2 - rho)), a scalar."""
    q = blocks(A, B)
    return second_term(q, q.rho)


MIDDLE.mutant("rho with the wrong sign", "q.rho -> -q.rho")
MIDDLE.mutant("factor s_max / s_min turned over", "third_term(q, q.rho) -> coherence(q, q.rho) * q.s_min / q.s_max")

Smallness = Annotated[Any, Real(0.0, 0.25)]
Factor = Annotated[Any, Real(1.0, 16.0)]
Bound = Annotated[Any, Real(0.0, 16.0)]


def at_an_angle(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Unit columns, the first of B at an angle to the first of A whose cosine c meets the bound: rho = c, r just above c."""
    count = len(arrays["A"])
    for name, offset in (("A", 0), ("B", sizes["d_1"])):
        arrays[name][:] = 0.0
        for j in range(arrays[name].shape[2]):
            arrays[name][:, offset + j, j] = 1.0
    cosine = rng.choice([0.25, 0.5, 0.75], count)
    arrays["B"][:, 0, 0] = cosine
    arrays["B"][:, sizes["d_1"], 0] = (1 - cosine**2) ** 0.5
    if "r" in arrays:
        arrays["r"][:] = cosine + 2.0**-16  # room for the rounding of the sine


TWO_BLOCKS = SECTION_A4_4.extended(sizes={"n": (2, 5), "d_1": (1, 2)}, special_domains=BLOCKS)
COLUMNS_AT_MOST_ROWS = TWO_BLOCKS.extended(
    assumptions=[AS_MANY_ROWS], special_domains={"columns at an angle": at_an_angle}
)

LIMIT = Claim(COLUMNS_AT_MOST_ROWS, "skipless.a4.4-limit", label="Section A.4.4, last sentence",
    statement=r"""\text{Under a mild block-incoherence condition (i.e., }\rho\to0)\text{, and balanced blocks
        }(\tau\to1)\text{, the concatenated condition number is controlled by the worst block condition number
        }\kappa_{\max}""",
    assumptions=[
        Assumption("rho <= delta, tau <= 1 + delta, 0 < s <= s_min; that s stays fixed is not printed",
            nonnegative=lambda A, B, delta, s: column(
                delta - blocks(A, B).rho, 1 + delta - blocks(A, B).tau, blocks(A, B).s_min - s),
            positive=lambda s: s),
        Assumption("0 <= delta < s^2", nonnegative=lambda delta: delta, positive=lambda delta, s: s * s - delta),
    ],
    name="limit of incoherent balanced blocks", relation=AtMost(left="kappa([A B])"), all_sizes=True, expects="gap",
    missing=r"$s_{\min}$ stays above a fixed $s > 0$", presumes=("skipless.a4.4-limit-any-scale",),
    correction="skipless.a4.4-relative", uses=("skipless.eq-37-incoherent", "skipless.a4.4-relative"),
    consequence=r"""A small $\rho$ may only mean small blocks; ask for $\rho/s_{\min}^2$ to be small, for any $r <
        1$ with $\rho \le r\,s_{\min}^2$, $\kappa(M) \le \tau\sqrt{(1+r)/(1-r)}\,\kappa_{\max}$ (skipless.a4.4-relative).""",
    note=r"""Then $\kappa(M) \le (1 + \delta)\sqrt{(1 + \delta/s^2)/(1 - \delta/s^2)}\,\kappa_{\max}$ for $\rho \le
        \delta$ and $\tau \le 1 + \delta$, which tends to $\kappa_{\max}$ as $\delta \to 0$. What else stays fixed as
        $\rho \to 0$ is not said; the fractions of Eq. (37), from which the sentence is drawn, show that it is $s_{\min}$.
        If nothing does, the sentence is false (skipless.a4.4-limit-any-scale).""")  # fmt: skip


@LIMIT.inputs
@realises(
    but="delta is the least and s the largest that are admitted; with these the bound is smallest, and kappa(M) reads neither"
)
def smallness_of_blocks(A: Left, B: Right) -> dict[str, Any]:
    """A, B, delta = max(rho, tau - 1) and s = s_min."""
    q = blocks(A, B)
    return {"A": A, "B": B, "delta": maximum(column(q.rho, q.tau - 1)), "s": q.s_min}


@LIMIT.formula
def bound_near_the_limit(A: Left, B: Right, delta: Bound, s: Bound) -> Any:
    """(1 + delta) sqrt((1 + delta / s^2) / (1 - delta / s^2)) kappa_max, a scalar."""
    return (1 + delta) * _root(delta, s) * maximum(blocks(A, B).kappas)


def _root(delta: Any, s: Any) -> Any:
    return sqrt((1 + delta / (s * s)) / (1 - delta / (s * s)))


LIMIT.oracle(lambda A, B: condition(concatenated(A, B)))
LIMIT.mutant("balance dropped", lambda A, B, delta, s: _root(delta, s) * maximum(blocks(A, B).kappas))
LIMIT.mutant("incoherence dropped", lambda A, B, delta: (1 + delta) * maximum(blocks(A, B).kappas))
LIMIT.mutant("smaller condition number of the two", "maximum -> minimum")

NEARLY = Definition("delta and C are any given numbers", by=blocks)

ANY_SCALE = Claim(TWO_BLOCKS, "skipless.a4.4-limit-any-scale", label="Section A.4.4, last sentence, at no fixed scale",
    statement=r"""\text{There are }\delta>0\text{ and }C\text{ with }\kappa(\mathbf{M})\le C\,\kappa_{\max}\text{ for all
        blocks with }\rho\le\delta,\ \tau\le1+\delta""",
    assumptions=[
        NEARLY,
        Assumption("rho <= delta", nonnegative=lambda A, B, delta: delta - blocks(A, B).rho),
        Assumption("tau <= 1 + delta", nonnegative=lambda A, B, delta: 1 + delta - blocks(A, B).tau),
    ],
    name="limit of blocks of any scale", relation=AtMost(left="kappa([A B])", ascent=False), of_project=True,
    sizes={"n": (2, 4), "d_1": (1, 2), "d_2": (1, 2)}, expects="refuted", severity="error", uses=("skipless.eq-37",),
    correction="skipless.a4.4-relative",
    note=r"""$\rho$ is not normalised: $A, B \to sA, sB$ takes $\rho$ to $s^2\rho$ and leaves $\tau$ and every condition
        number alone, so $\rho$ can be made as small as one likes for nearly parallel blocks. Two columns $s(1, 0)$ and
        $s(1, e)$ have $\kappa_{\max} = 1$, $\rho = s^2$, $\tau = \sqrt{1 + e^2}$ and $\kappa(M) > 1/e$: no $\delta$ and
        no $C$ serve.""")  # fmt: skip


@ANY_SCALE.formula
def multiple_of_worst_block(A: Left, B: Right, delta: Smallness, C: Factor) -> Any:
    """C kappa_max, a scalar."""
    return C * maximum(blocks(A, B).kappas)


ANY_SCALE.oracle(lambda A, B, delta, C: condition(concatenated(A, B)))
SHORT = Fraction(1, 100)
ANY_SCALE.counterexample(
    "two short columns at a small angle: delta = 10^-3, C = 100, kappa(M) > 1000",
    A=[[SHORT], [0]], B=[[SHORT], [SHORT / 1000]], delta=Fraction(1, 1000), C=Fraction(100),
)  # fmt: skip
ANY_SCALE.mutant("smaller condition number of the two, squared, and more",
    lambda A, B, C: 2 * C * minimum(blocks(A, B).kappas) * minimum(blocks(A, B).kappas))  # fmt: skip
ANY_SCALE.mutant("without the factor C", "C -> 1")

RELATIVE = Claim(COLUMNS_AT_MOST_ROWS, "skipless.a4.4-relative",
    label="Section A.4.4, last sentence, with the incoherence relative to the blocks",
    statement=r"""
        \text{If }\rho\le r\,s_{\min}^2,\ r<1:\quad\kappa(\mathbf{M})\le\tau\sqrt{\frac{1+r}{1-r}}\,\kappa_{\max},\quad
        \text{which tends to }\kappa_{\max}\text{ as }r\to0,\ \tau\to1""",
    assumptions=[
        Assumption(
            r"\rho \le r s_min^2, 0 < s_min",
            nonnegative=lambda A, B, r: blocks(A, B).s_min * blocks(A, B).s_min * r - blocks(A, B).rho,
            positive=lambda A, B: blocks(A, B).s_min,
        ),
        Assumption("0 <= r < 1", nonnegative=lambda r: r, positive=lambda r: 1 - r),
    ],
    name="limit of relatively incoherent blocks", relation=AtMost(left="kappa([A B])"), of_project=True, all_sizes=True,
    corrects=("skipless.a4.4-limit", "skipless.a4.4-limit-any-scale"), proof=("skipless.eq-37-incoherent",),
    note=r"""$\rho/s_{\max}^2 \le \rho/s_{\min}^2 \le r$ in the last term of Eq. (37). The constants do not depend on
        the sizes.""")  # fmt: skip

Ratio = Annotated[Any, Real(0.0, 0.9375)]


@RELATIVE.formula
def relative_incoherence_bound(A: Left, B: Right, r: Ratio) -> Any:
    """tau sqrt((1 + r) / (1 - r)) kappa_max, a scalar."""
    q = blocks(A, B)
    return q.tau * sqrt((1 + r) / (1 - r)) * maximum(q.kappas)


RELATIVE.oracle(lambda A, B, r: condition(concatenated(A, B)))
RELATIVE.mutant("tau dropped", "q.tau -> 1")
RELATIVE.mutant("incoherence dropped", "r -> 0 * r")
RELATIVE.mutant("(1 - r) / (1 + r)", "r -> -r")
