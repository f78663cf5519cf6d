"""Eqs. (32)-(36): the quotient |Mv|^2 / |v|^2 of M = [A B], and the chains that bound its extreme values.

Eq. (36) holds with the minimum of |Mx| over unit vectors in the place of the last singular value.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.part_a4_4_concatenation.condition_number import (
    BLOCKS, SECTION_A4_4, Left, Right, blocks, borderline, concatenated, imbalance,
)  # fmt: skip
from verify.matrix import (
    absolute, column, concatenate, frobenius_norm, rational, smallest_gain, spectral_norm, sqrt, symmetric_eigenvalues, total,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Real, Setting, Shape

Upper = Annotated[Any, Shape("d_1", "1")]
Lower = Annotated[Any, Shape("d_2", "1")]
Multiple = Annotated[Any, Real(-4.0, 4.0)]

NONZERO = Assumption("x and y are not zero", positive=lambda x, y: column(total(x * x), total(y * y)))
RAYLEIGH = Setting(SKIPLESS, "Section A.4.4", sizes={"n": (1, 4), "d_1": (1, 3), "d_2": (1, 2)})
CHAINS = RAYLEIGH.extended(assumptions=SECTION_A4_4.assumptions[:1], sizes={"d_1": (1, 2)},
    special_domains={**BLOCKS, "rho = s_min^2": borderline})  # fmt: skip


def quotient(A: Any, B: Any, x: Any, y: Any) -> Any:
    """(|Ax|^2 + |By|^2 + 2 <Ax, By>) / (|x|^2 + |y|^2), a scalar (Eq. (34))."""
    Ax, By = A @ x, B @ y
    return (total(Ax * Ax) + total(By * By) + 2 * total(Ax * By)) / (total(x * x) + total(y * y))


QUOTIENT = Claim(RAYLEIGH, "skipless.eq-32-34", label="Eqs. (32)-(34)", name="Rayleigh quotient of two blocks",
    statement=r"""\rho:=\|\mathbf{A}^\top\mathbf{B}\|_2,\quad
        \tau:=\frac{\max\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}}{\min\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}}=\frac{\max\{\sigma_{\max}(\mathbf{A}),\sigma_{\max}(\mathbf{B})\}}{\min\{\sigma_{\max}(\mathbf{A}),\sigma_{\max}(\mathbf{B})\}};\quad\frac{\|\mathbf{M}[\mathbf{x};\mathbf{y}]\|^2}{\|[\mathbf{x};\mathbf{y}]\|^2}=\frac{[\mathbf{x};\mathbf{y}]^\top\mathbf{M}^\top\mathbf{M}[\mathbf{x};\mathbf{y}]}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}=\frac{\|\mathbf{A}\mathbf{x}\|^2+\|\mathbf{B}\mathbf{y}\|^2+2\langle\mathbf{A}\mathbf{x},\mathbf{B}\mathbf{y}\rangle}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}
        """,
    assumptions=[Definition("M = [A B] of shape (n, d_1 + d_2)", by=concatenated), NONZERO],
    relation=Equal(), all_sizes=True, exact=True,
    note=r"""Eqs. (32) and (33) define; the second form of $\tau$ replaces a spectral norm by the largest singular
        value, which is its value, and is judged in skipless.eq-33-norms.""")  # fmt: skip


@QUOTIENT.formula
def expanded_quotient(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """The right-hand side of Eq. (34), twice, shape (2, 1)."""
    return column(quotient(A, B, x, y), quotient(A, B, x, y))


@QUOTIENT.oracle
def rayleigh_quotient(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """|Mv|^2 / |v|^2 and v^T M^T M v / |v|^2 for v = [x; y], shape (2, 1)."""
    M, v = concatenated(A, B), concatenate([x, y], axis=0)
    Mv, norm = M @ v, total(v * v)
    return column(total(Mv * Mv) / norm, total(v * (M.T @ M @ v)) / norm)


def _changed_quotient(A: Any, B: Any, x: Any, y: Any, cross: Any) -> Any:
    value = quotient(A, B, x, y) - cross * total((A @ x) * (B @ y)) / (total(x * x) + total(y * y))
    return column(value, value)


QUOTIENT.mutant("cross term once", lambda A, B, x, y: _changed_quotient(A, B, x, y, 1))
QUOTIENT.mutant("cross term dropped", lambda A, B, x, y: _changed_quotient(A, B, x, y, 2))
QUOTIENT.mutant("cross term with the wrong sign", lambda A, B, x, y: _changed_quotient(A, B, x, y, 4))

BALANCE = Claim(RAYLEIGH, "skipless.eq-33-norms", label="Eq. (33), its two forms", name="balance of two blocks",
    statement=r"""
        \frac{\max\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}}{\min\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}}=\frac{\max\{\sigma_{
        \max}(\mathbf{A}),\sigma_{\max}(\mathbf{B})\}}{\min\{\sigma_{\max}(\mathbf{A}),\sigma_{\max}(\mathbf{B})\}}""",
    assumptions=[Assumption("A and B are not zero", positive=lambda A, B: column(total(A * A), total(B * B)))],
    relation=Equal(), of_project=True,
    note="The right-hand side from eigenvalues of the larger Gram matrices, the left-hand side from singular values.",
)  # fmt: skip


@BALANCE.formula
def balance(A: Left, B: Right) -> Any:
    """tau, a scalar (Eq. (33))."""
    return blocks(A, B).tau


@BALANCE.oracle
def balance_from_gram_matrices(A: Left, B: Right) -> Any:
    tall = [G @ G.T if G.shape[0] > G.shape[1] else G.T @ G for G in (A, B)]
    return imbalance(*(sqrt(symmetric_eigenvalues(gram)[-1]) for gram in tall))


BALANCE.mutant("Frobenius norms", lambda A, B: imbalance(frobenius_norm(A), frobenius_norm(B)))
BALANCE.mutant("norm of A over norm of B", lambda A, B: spectral_norm(A) / spectral_norm(B))


ALIGNMENT = Claim(RAYLEIGH, "skipless.sec-a.4.4-alignment", label="Section A.4.4, text before Eq. (32)",
    statement=r"""\text{the mutual coherence parameter measuring alignment between }\mathbf{A}\text{ and }\mathbf{B}""",
    name="coherence of rescaled blocks", relation=Equal(), expects="reading", uses=("skipless.a4.4-relative",),
    reading=Reading("measuring alignment", r"""$\rho=\|A^\top B\|_2$ is 0 where the columns of $A$ are orthogonal to those
        of $B$; but it
        also measures the sizes of the blocks, $\rho(sA, tB) = |st|\,\rho(A, B)$, so that a small $\rho$ may mean small blocks.
        Alignment alone is $\rho/(\|A\|_2\|B\|_2)$"""),
    note="""The mutual coherence of the literature has columns of norm one. What it costs to leave the norms in is
        skipless.a4.4-limit.""")  # fmt: skip


@ALIGNMENT.formula
def scaled_coherence(A: Left, B: Right, s: Multiple, t: Multiple) -> Any:
    """|s t| rho(A, B), a scalar."""
    return absolute(s * t) * spectral_norm(A.T @ B)


ALIGNMENT.oracle(lambda A, B, s, t: spectral_norm((A * s).T @ (B * t)))
ALIGNMENT.mutant("rho unchanged, as an angle", lambda A, B: spectral_norm(A.T @ B))
ALIGNMENT.mutant("scale of one block", lambda A, B, s: absolute(s) * spectral_norm(A.T @ B))


def eigenvalues(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """The eigenvalues of [[a, c], [c, b]], the larger first: extrema of (a s^2 + b t^2 + 2 c s t) / (s^2 + t^2)."""
    mean, h = (a + b) * rational(1, 2), (a - b) * rational(1, 2)
    root = sqrt(h * h + c * c)
    return mean + root, mean - root


def _largest(A: Any, B: Any, rho: Any) -> Any:
    a, b = spectral_norm(A), spectral_norm(B)
    return eigenvalues(a * a, b * b, rho)[0]


def _smallest(A: Any, B: Any, rho: Any) -> Any:
    a, b = smallest_gain(A), smallest_gain(B)
    return eigenvalues(a * a, b * b, rho)[1]


def squared_largest(A: Any, B: Any) -> Any:
    """sigma_max(M)^2, a scalar."""
    value = spectral_norm(concatenated(A, B))
    return value * value


def squared_smallest(A: Any, B: Any) -> Any:
    """sigma_min(M)^2 as Eq. (36) has it, the square of the smallest |Mx| over unit vectors x, a scalar."""
    value = smallest_gain(concatenated(A, B))
    return value * value


LARGEST = Claim(CHAINS, "skipless.eq-35", label="Eq. (35)", name="largest singular value of two blocks",
    statement=r"""
        \sigma_{\max}(\mathbf{M})^2=\max_{\mathbf{x},\mathbf{y}\ne0}\frac{\|\mathbf{A}\mathbf{x}\|^2+\|\mathbf{B}
        \mathbf{y}\|^2+2\langle\mathbf{A}\mathbf{x},\mathbf{B}\mathbf{y}\rangle}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\le
        \max_{\mathbf{x},\mathbf{y}\ne0}\frac{\sigma_{\max}(\mathbf{A})^2\|\mathbf{x}\|^2+\sigma_{\max}(\mathbf{B})^2\|\mathbf{y}\|^2+2\rho\|
        \mathbf{x}\|\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\le\max\{\sigma_{\max}(\mathbf{A})^2,\sigma_{
        \max}(\mathbf{B})^2\}+\max_{\mathbf{x},\mathbf{y}\ne0}\frac{2\rho\|\mathbf{x}\|\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\le
        s_{\max}^2+\rho""",
    assumptions=[Definition("maxima over x, y not both zero", by=_largest), NONZERO],
    relation=AtMost(), uses=("skipless.eq-32-34",), all_sizes=True,
    note=r"""The maximum in the second term is the larger eigenvalue of $\begin{pmatrix}\sigma_{\max}(A)^2 & \rho\\ \rho
        & \sigma_{\max}(B)^2\end{pmatrix}$; that of $2\rho st/(s^2 + t^2)$ over numbers $s$ and $t$ is $\rho$, so
        the last link is an equality.
        Over $\mathbf{x}$ and $\mathbf{y}$ both nonzero, as the text says, the first maximum need not be attained
        (orthogonal blocks of different norms); the supremum is the same.""")  # fmt: skip


@LARGEST.formula
def upper_chain(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """sigma_max(M)^2, the maximum of the third term, s_max^2 + rho; shape (3, 1)."""
    q = blocks(A, B)
    return column(squared_largest(A, B), _largest(A, B, q.rho), q.s_max * q.s_max + q.rho)


@LARGEST.oracle
def upper_chain_bounded(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """The quotient at x and y, sigma_max(M)^2, the maximum of the third term; shape (3, 1)."""
    q = blocks(A, B)
    return column(quotient(A, B, x, y), squared_largest(A, B), _largest(A, B, q.rho))


LARGEST.mutant("rho dropped", "q.rho -> 0 * q.rho; q.s_max * q.s_max + q.rho -> q.s_max * q.s_max")
LARGEST.mutant("half of rho: the factor 2 of the cross term lost", "q.rho -> q.rho / 2")
LARGEST.mutant("rho with the wrong sign", "q.s_max * q.s_max + q.rho -> q.s_max * q.s_max - q.rho")

SMALLEST = Claim(CHAINS, "skipless.eq-36", label="Eq. (36)", name="smallest singular value of two blocks",
    statement=r"""
        \sigma_{\min}(\mathbf{M})^2=\min_{\mathbf{x},\mathbf{y}\ne0}\frac{\|\mathbf{A}\mathbf{x}\|^2+\|\mathbf{B}
        \mathbf{y}\|^2+2\langle\mathbf{A}\mathbf{x},\mathbf{B}\mathbf{y}\rangle}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\ge
        \min_{\mathbf{x},\mathbf{y}\ne0}\frac{\sigma_{\min}(\mathbf{A})^2\|\mathbf{x}\|^2+\sigma_{\min}(\mathbf{B})^2\|\mathbf{y}\|^2-2\rho\|
        \mathbf{x}\|\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\ge\min\{\sigma_{\min}(\mathbf{A})^2,\sigma_{
        \min}(\mathbf{B})^2\}+\min_{\mathbf{x},\mathbf{y}\ne0}\frac{-2\rho\|\mathbf{x}\|\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\ge
        s_{\min}^2-\rho""",
    assumptions=[SECTION_A4_4.assumptions[2], Definition("minima over x, y not both zero", by=_smallest), NONZERO],
    relation=AtMost(signed=True), uses=("skipless.eq-32-34",), expects="reading", all_sizes=True,
    reading=Reading("minimal singular values", r"""$\sigma_{\min}$ is the minimum of $\|M\mathbf{x}\|$ over unit
            vectors, as the first equality has it: 0 for more columns than rows. With the last of the $\min(\text{rows},
            \text{columns})$ singular values, which a finite $\kappa$ of wide Jacobians (Section 4.1) needs, the chain
            fails for $M$ with more columns than rows"""),
    note=r"""With the last singular value, positive for wide blocks, the first equality is false for wide $M$ and the
        second link for wide $A$: $A = (1\ 0)$ has $\|A\mathbf{x}\| = 0$ at $\mathbf{x} = (0, 1)$. The shapes of $A$,
        $B$ and $M$ are not restricted. Eq. (37) is the same in both, for $\rho < s_{\min}^2$ leaves $M$ no more columns
        than rows.""")  # fmt: skip


@SMALLEST.formula
def lower_chain_bounded(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """The quotient at x and y, sigma_min(M)^2, the minimum of the third term; shape (3, 1)."""
    q = blocks(A, B)
    return column(quotient(A, B, x, y), squared_smallest(A, B), _smallest(A, B, q.rho))


@SMALLEST.oracle
def lower_chain(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """sigma_min(M)^2, the minimum of the third term, s_min^2 - rho; shape (3, 1)."""
    q = blocks(A, B)
    return column(squared_smallest(A, B), _smallest(A, B, q.rho), q.s_min * q.s_min - q.rho)


SMALLEST.mutant("twice rho in the third term", "q.rho -> 2 * q.rho")


@SMALLEST.mutant("cross term dropped from the quotient")
def _(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    q = blocks(A, B)
    return column(_changed_quotient(A, B, x, y, 4)[0, 0], squared_smallest(A, B) - q.rho, _smallest(A, B, q.rho))


SMALLEST.mutant("smallest of min(rows, columns) singular values",
    "quotient(A, B, x, y) -> quotient(A, B, x, y) - q.rho")  # fmt: skip
