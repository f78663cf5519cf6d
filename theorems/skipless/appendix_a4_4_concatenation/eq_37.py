"""Eq. (37): the condition number of two blocks side by side, as a chain of bounds.

The chain needs rho < s_min^2, which is not printed; where it holds, every link does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.quantities import condition, minimum, stretches
from verify.claims import Assumption, Claim, Setting
from verify.matrix import column, concatenate, maximum, spectral_norm, sqrt
from verify.relations import AtMost, Equal
from verify.shapes import Shape

Left = Annotated[Any, Shape("n", "d_1")]
Right = Annotated[Any, Shape("n", "d_2")]


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
    s = concatenate([stretches(A), stretches(B)], axis=0)
    return Blocks(
        s_max=maximum(s),
        s_min=minimum(s),
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


SECTION_A4_4 = Setting(
    SKIPLESS,
    "Section A.4.4",
    assumptions=[
        r"M = [A B]; s_max, s_min: largest and smallest of the singular values of A and B; \rho = \|A^T B\|_2 (Eq. (32))",
        r"\tau = \max(\|A\|_2, \|B\|_2) / \min(\|A\|_2, \|B\|_2) (Eq. (33)); \kappa_max: the larger condition number of A and B",
        "smallest singular values are minima of |Mx| over unit vectors x (Eq. (36)): 0 for more columns than rows",
    ],
    sizes={"n": (1, 7), "d_1": (1, 3), "d_2": (1, 2)},
)
BLOCKS = {"orthogonal blocks": orthogonal, "nearly orthogonal blocks": nearly_orthogonal}
ANY_BLOCKS = SECTION_A4_4.extended(special_domains={"rho = s_min^2": borderline, **BLOCKS})

EQ_37 = Claim(
    ANY_BLOCKS,
    "skipless.eq-37",
    label="Eq. (37)",
    statement=r"\kappa(\mathbf{M})=\frac{\sigma_{\max}(\mathbf{M})}{\sigma_{\min}(\mathbf{M})}\le"
    r"\sqrt{\frac{s_{\max}^2+\rho}{s_{\min}^2-\rho}}\le\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\cdot"
    r"\frac{s_{\max}}{s_{\min}}\le\tau\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\,\kappa_{\max}",
    relation=AtMost(),
    expects="gap",
    presumes=("skipless.eq-37-defined",),
    proof=("skipless.eq-32-34", "skipless.eq-35", "skipless.eq-36"),
    correction="skipless.eq-37-incoherent",
    note=r"Nothing is printed about \rho against s_min^2. Where \rho < s_min^2 every link holds; where \rho >= s_min^2 the"
    " second to fourth terms are not real numbers, and nothing is said about kappa(M), finite or not. The step from"
    " Eq. (36) to Eq. (37) takes the root of a lower bound that may be negative. The printed 'mild incoherence condition',"
    " rho close to 0, is named after the chain only.",
)


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
    kappa = condition(concatenate([A, B], axis=1))
    return column(kappa, second_term(q, q.rho), third_term(q, q.rho))


EQ_37.mutant("rho with the wrong sign", "q.rho -> -q.rho")
EQ_37.mutant("factor tau dropped", "q.tau -> 1")
EQ_37.mutant("smaller condition number instead of kappa_max", "maximum -> minimum")
EQ_37.mutant("rho dropped from the second term", "second_term(q, q.rho) -> second_term(q, 0 * q.rho)")

EQ_37_DEFINED = Claim(
    ANY_BLOCKS,
    "skipless.eq-37-defined",
    label="Eq. (37), that its right-hand sides exist",
    statement=r"\rho\le s_{\min}^2\ \text{for all}\ \mathbf{A},\mathbf{B},\ \text{so that}\ \sqrt{s_{\min}^2-\rho}\ \text{is real}",
    relation=AtMost(),
    expects="refuted",
    severity="error",
    of_project=True,
    note=r"At the counterexample \rho = 2 and s_min = 1, while \kappa(M) = 3 + 2\sqrt{2} is finite.",
)


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

INCOHERENT_BLOCKS = SECTION_A4_4.extended(
    "Section A.4.4, incoherent blocks",
    assumptions=[
        Assumption(r"\rho < s_min^2", positive=lambda A, B: squared_smallest_stretch(A, B) - block_coherence(A, B))
    ],
    sizes={"n": (2, 7)},
    where=lambda sizes: sizes["n"] >= sizes["d_1"] + sizes["d_2"],  # implied: with more columns s_min^2 <= rho
    special_domains=BLOCKS,
)

EQ_37_INCOHERENT = Claim(
    INCOHERENT_BLOCKS,
    "skipless.eq-37-incoherent",
    label="Eq. (37) for incoherent blocks",
    statement=r"\text{If}\ \rho<s_{\min}^2:\ \kappa(\mathbf{M})\le\sqrt{\frac{s_{\max}^2+\rho}{s_{\min}^2-\rho}}="
    r"\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\cdot\frac{s_{\max}}{s_{\min}}\le"
    r"\tau\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\,\kappa_{\max}",
    relation=AtMost(),
    of_project=True,
    corrects="skipless.eq-37",
    proof=("skipless.eq-35", "skipless.eq-36", "skipless.eq-37-middle"),
    note="The middle link is an equality and a claim of its own, lest its ratio 1 hide how tight the other two are. Both"
    " are attained: by orthogonal blocks, and by orthogonal blocks of equal singular values.",
)


@EQ_37_INCOHERENT.formula
def incoherent_bounds(A: Left, B: Right) -> Any:
    """The second and fourth term of Eq. (37), shape (2, 1)."""
    q = blocks(A, B)
    return column(second_term(q, q.rho), q.tau * coherence(q, q.rho) * maximum(q.kappas))


@EQ_37_INCOHERENT.oracle
def incoherent_terms(A: Left, B: Right) -> Any:
    """kappa(M) and the third term of Eq. (37), shape (2, 1)."""
    q = blocks(A, B)
    return column(condition(concatenate([A, B], axis=1)), third_term(q, q.rho))


EQ_37_INCOHERENT.mutant("rho dropped from the second term", "second_term(q, q.rho) -> second_term(q, 0 * q.rho)")
EQ_37_INCOHERENT.mutant("rho with the wrong sign in the second term", "second_term(q, q.rho) -> second_term(q, -q.rho)")
EQ_37_INCOHERENT.mutant("factor tau dropped", "q.tau * coherence(q, q.rho) -> coherence(q, q.rho)")
EQ_37_INCOHERENT.mutant("smaller condition number instead of kappa_max", "maximum -> minimum")

MIDDLE = Claim(
    INCOHERENT_BLOCKS,
    "skipless.eq-37-middle",
    label="Eq. (37), middle link",
    statement=r"\sqrt{\frac{s_{\max}^2+\rho}{s_{\min}^2-\rho}}="
    r"\sqrt{\frac{1+\rho/s_{\max}^2}{1-\rho/s_{\min}^2}}\cdot\frac{s_{\max}}{s_{\min}}\quad\text{if}\ \rho<s_{\min}^2",
    relation=Equal(),
    of_project=True,
)


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
