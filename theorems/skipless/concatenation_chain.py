"""The steps that lead to Eq. (37), Eqs. (32)-(36), and the limit of incoherent, balanced blocks drawn from it."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.concatenation import (
    SETUP,
    Blocks,
    Left,
    Right,
    blocks,
    borderline,
    condition,
    minimum,
    nearly_orthogonal,
    orthogonal,
    stretches,
)
from verify.matrix import (
    column,
    concatenate,
    frobenius_norm,
    maximum,
    rational,
    spectral_norm,
    sqrt,
    symmetric_eigenvalues,
    total,
)
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape

Upper = Annotated[Any, Shape("d_1", "1")]
Lower = Annotated[Any, Shape("d_2", "1")]
Smallness = Annotated[Any, Real(0.0, 0.25)]
Factor = Annotated[Any, Real(1.0, 16.0)]

NONZERO = Assumption("x and y are not zero", positive=lambda x, y: column(total(x * x), total(y * y)))
SIZES = {"n": (1, 4), "d_1": (1, 3), "d_2": (1, 2)}


def concatenated(A: Any, B: Any) -> Any:
    """M = [A B], shape (n, d_1 + d_2)."""
    return concatenate([A, B], axis=1)


def quotient(A: Any, B: Any, x: Any, y: Any) -> Any:
    """(|Ax|^2 + |By|^2 + 2 <Ax, By>) / (|x|^2 + |y|^2), a scalar (Eq. (34))."""
    Ax, By = A @ x, B @ y
    return (total(Ax * Ax) + total(By * By) + 2 * total(Ax * By)) / (total(x * x) + total(y * y))


QUOTIENT = Claim(
    SKIPLESS,
    "skipless.eq-32-34",
    label="Eqs. (32)-(34)",
    statement=r"\rho:=\|\mathbf{A}^\top\mathbf{B}\|_2,\quad \tau:=\frac{\max\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}}"
    r"{\min\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}};\quad\frac{\|\mathbf{M}[\mathbf{x};\mathbf{y}]\|^2}"
    r"{\|[\mathbf{x};\mathbf{y}]\|^2}=\frac{[\mathbf{x};\mathbf{y}]^\top\mathbf{M}^\top\mathbf{M}[\mathbf{x};\mathbf{y}]}"
    r"{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}=\frac{\|\mathbf{A}\mathbf{x}\|^2+\|\mathbf{B}\mathbf{y}\|^2+2\langle\mathbf{A}"
    r"\mathbf{x},\mathbf{B}\mathbf{y}\rangle}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}",
    assumptions=["M = [A B] of shape (n, d_1 + d_2)", NONZERO],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    note="Eqs. (32) and (33) define; the second form of tau replaces a spectral norm by the largest singular value, which"
    " is"
    " its value, and is judged in skipless.eq-33-norms.",
)


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


BALANCE = Claim(
    SKIPLESS,
    "skipless.eq-33-norms",
    label="Eq. (33), its two forms",
    statement=r"\frac{\max\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}}{\min\{\|\mathbf{A}\|_2,\|\mathbf{B}\|_2\}}="
    r"\frac{\max\{\sigma_{\max}(\mathbf{A}),\sigma_{\max}(\mathbf{B})\}}{\min\{\sigma_{\max}(\mathbf{A}),\sigma_{\max}(\mathbf{B})\}}",
    assumptions=["A and B are not zero"],
    relation=Equal(),
    sizes=SIZES,
    of_project=True,
    note="The right-hand side from eigenvalues of the larger Gram matrices, the left-hand side from singular values.",
)


@BALANCE.formula
def balance(A: Left, B: Right) -> Any:
    """tau, a scalar (Eq. (33))."""
    return blocks(A, B).tau


@BALANCE.oracle
def balance_from_gram_matrices(A: Left, B: Right) -> Any:
    tall = [G @ G.T if G.shape[0] > G.shape[1] else G.T @ G for G in (A, B)]
    norms = column(*(sqrt(symmetric_eigenvalues(gram)[-1]) for gram in tall))
    return maximum(norms) / minimum(norms)


@BALANCE.mutant("Frobenius norms")
def _(A: Left, B: Right) -> Any:
    norms = column(frobenius_norm(A), frobenius_norm(B))
    return maximum(norms) / minimum(norms)


BALANCE.mutant("norm of A over norm of B", lambda A, B: spectral_norm(A) / spectral_norm(B))


def larger_eigenvalue(a: Any, b: Any, c: Any) -> Any:
    """The larger eigenvalue of [[a, c], [c, b]]: the maximum of (a s^2 + b t^2 + 2 c s t) / (s^2 + t^2)."""
    h = (a - b) * rational(1, 2)
    return (a + b) * rational(1, 2) + sqrt(h * h + c * c)


def smaller_eigenvalue(a: Any, b: Any, c: Any) -> Any:
    """The smaller eigenvalue of [[a, c], [c, b]]."""
    h = (a - b) * rational(1, 2)
    return (a + b) * rational(1, 2) - sqrt(h * h + c * c)


def _largest(A: Any, B: Any, rho: Any) -> Any:
    a, b = spectral_norm(A), spectral_norm(B)
    return larger_eigenvalue(a * a, b * b, rho)


def _smallest(A: Any, B: Any, rho: Any) -> Any:
    a, b = minimum(stretches(A)), minimum(stretches(B))
    return smaller_eigenvalue(a * a, b * b, rho)


def squared_stretch(A: Any, B: Any, which: int) -> Any:
    """sigma_max(M)^2 (0) or sigma_min(M)^2 (-1), a scalar."""
    value = stretches(concatenated(A, B))[which, 0]
    return value * value


LARGEST = Claim(
    SKIPLESS,
    "skipless.eq-35",
    label="Eq. (35)",
    statement=r"\sigma_{\max}(\mathbf{M})^2=\max_{\mathbf{x},\mathbf{y}\ne0}\frac{\|\mathbf{A}\mathbf{x}\|^2+\|\mathbf{B}"
    r"\mathbf{y}\|^2+2\langle\mathbf{A}\mathbf{x},\mathbf{B}\mathbf{y}\rangle}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\le\max"
    r"\frac{\sigma_{\max}(\mathbf{A})^2\|\mathbf{x}\|^2+\sigma_{\max}(\mathbf{B})^2\|\mathbf{y}\|^2+2\rho\|\mathbf{x}\|"
    r"\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\le\max\{\sigma_{\max}(\mathbf{A})^2,\sigma_{\max}(\mathbf{B})^2\}"
    r"+\max\frac{2\rho\|\mathbf{x}\|\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\le s_{\max}^2+\rho",
    assumptions=[SETUP[0], "maxima over x, y not both zero", NONZERO],
    relation=AtMost(),
    sizes={"n": (1, 4), "d_1": (1, 2), "d_2": (1, 2)},
    uses=("skipless.eq-32-34",),
    note="The maximum in the second term is the larger eigenvalue of [[sigma_max(A)^2, rho], [rho, sigma_max(B)^2]]; that"
    " of"
    " 2 rho st / (s^2 + t^2) is rho, so the last link is an equality. Over x and y both nonzero, as the text says, the"
    " first"
    " maximum need not be attained (orthogonal blocks of different norms); the supremum is the same.",
)


@LARGEST.formula
def upper_chain(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """sigma_max(M)^2, the maximum of the third term, s_max^2 + rho; shape (3, 1)."""
    q = blocks(A, B)
    return column(squared_stretch(A, B, 0), _largest(A, B, q.rho), q.s_max * q.s_max + q.rho)


@LARGEST.oracle
def upper_chain_bounded(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """The quotient at x and y, sigma_max(M)^2, the maximum of the third term; shape (3, 1)."""
    q = blocks(A, B)
    return column(quotient(A, B, x, y), squared_stretch(A, B, 0), _largest(A, B, q.rho))


LARGEST.mutant("rho dropped", "q.rho -> 0 * q.rho; q.s_max * q.s_max + q.rho -> q.s_max * q.s_max")


@LARGEST.mutant("half of rho: the factor 2 of the cross term lost")
def _(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    q = blocks(A, B)
    half = q.rho * rational(1, 2)
    return column(squared_stretch(A, B, 0), _largest(A, B, half), q.s_max * q.s_max + half)


LARGEST.mutant("rho with the wrong sign", "q.s_max * q.s_max + q.rho -> q.s_max * q.s_max - q.rho")


SMALLEST = Claim(
    SKIPLESS,
    "skipless.eq-36",
    label="Eq. (36)",
    statement=r"\sigma_{\min}(\mathbf{M})^2=\min_{\mathbf{x},\mathbf{y}\ne0}\frac{\|\mathbf{A}\mathbf{x}\|^2+\|\mathbf{B}"
    r"\mathbf{y}\|^2+2\langle\mathbf{A}\mathbf{x},\mathbf{B}\mathbf{y}\rangle}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\ge\min"
    r"\frac{\sigma_{\min}(\mathbf{A})^2\|\mathbf{x}\|^2+\sigma_{\min}(\mathbf{B})^2\|\mathbf{y}\|^2-2\rho\|\mathbf{x}\|"
    r"\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\ge\min\{\sigma_{\min}(\mathbf{A})^2,\sigma_{\min}(\mathbf{B})^2\}"
    r"+\min\frac{-2\rho\|\mathbf{x}\|\|\mathbf{y}\|}{\|\mathbf{x}\|^2+\|\mathbf{y}\|^2}\ge s_{\min}^2-\rho",
    assumptions=[SETUP[0], SETUP[2], "minima over x, y not both zero", NONZERO],
    relation=AtMost(signed=True),
    sizes={"n": (1, 4), "d_1": (1, 2), "d_2": (1, 2)},
    uses=("skipless.eq-32-34",),
    expects="reading",
    reading="sigma_min is the minimum of |Mx| over unit vectors, as the first equality has it: 0 for more columns than rows. With"
    " the last of the min(rows, columns) singular values, which a finite kappa of wide Jacobians (Section 4.1) needs, it is true"
    " for M with at least as many rows as columns, and fails for others",
    note="With the last singular value, positive for wide blocks, the first equality is false for wide M and the second"
    " link for wide A: A = (1 0) has |Ax| = 0 at x = (0, 1). The shapes of A, B and M are not restricted. Eq. (37) is the same in"
    " both, for rho < s_min^2 leaves M no more columns than rows.",
)


@SMALLEST.formula
def lower_chain_bounded(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """The quotient at x and y, sigma_min(M)^2, the minimum of the third term; shape (3, 1)."""
    q = blocks(A, B)
    return column(quotient(A, B, x, y), squared_stretch(A, B, -1), _smallest(A, B, q.rho))


@SMALLEST.oracle
def lower_chain(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    """sigma_min(M)^2, the minimum of the third term, s_min^2 - rho; shape (3, 1)."""
    q = blocks(A, B)
    return column(squared_stretch(A, B, -1), _smallest(A, B, q.rho), q.s_min * q.s_min - q.rho)


SMALLEST.mutant("twice rho in the third term", "q.rho -> 2 * q.rho")


@SMALLEST.mutant("cross term dropped from the quotient")
def _(A: Left, B: Right, x: Upper, y: Lower) -> Any:
    q = blocks(A, B)
    return column(_changed_quotient(A, B, x, y, 4)[0, 0], squared_stretch(A, B, -1) - q.rho, _smallest(A, B, q.rho))


SMALLEST.mutant(
    "smallest of min(rows, columns) singular values", "quotient(A, B, x, y) -> quotient(A, B, x, y) - q.rho"
)


# -- the limit ---------------------------------------------------------------------------------------------------------

FIXED_SCALE = Claim(
    SKIPLESS,
    "skipless.a4.4-limit-fixed-scale",
    label="Section A.4.4, last sentence, at a fixed s_min",
    statement=r"\rho\le\delta,\ \tau\le1+\delta,\ s_{\min}\ge s>\sqrt\delta\ \Rightarrow\ \kappa(\mathbf{M})\le(1+\delta)"
    r"\sqrt{\frac{1+\delta/s^2}{1-\delta/s^2}}\,\kappa_{\max},\text{ which tends to }\kappa_{\max}\text{ as }\delta\to0",
    assumptions=[
        *SETUP,
        "delta = max(rho, tau - 1) and s = s_min, or any delta above and s below them",
        Assumption("delta < s^2", positive=lambda delta, s: s * s - delta),
    ],
    relation=AtMost(),
    sizes={"n": (2, 5), "d_1": (1, 2), "d_2": (1, 2)},
    where=lambda sizes: sizes["n"] >= sizes["d_1"] + sizes["d_2"],  # implied: with more columns s_min^2 <= rho
    of_project=True,
    uses=("skipless.eq-37-incoherent", "skipless.a4.4-relative"),
    note="rho has to be small beside s_min^2, as the two fractions of Eq. (37) show.",
)


@FIXED_SCALE.inputs
def smallness_of_blocks(A: Left, B: Right) -> dict[str, Any]:
    """A, B, delta = max(rho, tau - 1) and s = s_min."""
    q = blocks(A, B)
    return {"A": A, "B": B, "delta": maximum(column(q.rho, q.tau - 1)), "s": q.s_min}


@FIXED_SCALE.formula
def bound_near_the_limit(A: Left, B: Right, delta: Any, s: Any) -> Any:
    """(1 + delta) sqrt((1 + delta / s^2) / (1 - delta / s^2)) kappa_max, a scalar."""
    return (1 + delta) * _root(delta, s) * maximum(blocks(A, B).kappas)


def _root(delta: Any, s: Any) -> Any:
    return sqrt((s * s + delta) / (s * s - delta))


FIXED_SCALE.oracle(lambda A, B: condition(concatenated(A, B)))
FIXED_SCALE.mutant("balance dropped", lambda A, B, delta, s: _root(delta, s) * maximum(blocks(A, B).kappas))
FIXED_SCALE.mutant("incoherence dropped", lambda A, B, delta: (1 + delta) * maximum(blocks(A, B).kappas))
FIXED_SCALE.mutant("smaller condition number of the two", "maximum -> minimum")


NEARLY = "small: rho and tau - 1 at most delta; controlled: at most C kappa_max, with delta and C any given numbers"

LIMIT = Claim(
    SKIPLESS,
    "skipless.a4.4-limit",
    label="Section A.4.4, last sentence",
    statement=r"\text{Under a mild block-incoherence condition (i.e. }\rho\to0)\text{ and balanced blocks "
    r"}(\tau\to1),\text{ the "
    r"concatenated condition number is controlled by the worst block condition number }\kappa_{\max}",
    assumptions=[
        *SETUP,
        NEARLY,
        Assumption("rho <= delta", nonnegative=lambda A, B, delta: delta - blocks(A, B).rho),
        Assumption("tau <= 1 + delta", nonnegative=lambda A, B, delta: 1 + delta - blocks(A, B).tau),
    ],
    relation=AtMost(ascent=False),
    sizes={"n": (2, 4), "d_1": (1, 2), "d_2": (1, 2)},
    expects="refuted",
    severity="error",
    uses=("skipless.eq-37",),
    correction="skipless.a4.4-relative",
    doubt="Read as a limit at a fixed s_min, which the sentence does not name, it is true (skipless.a4.4-limit-fixed-scale).",
    note="rho is not normalised: A, B -> sA, sB takes rho to s^2 rho and leaves tau and every condition number alone, so rho"
    " can be made as small as one likes for nearly parallel blocks. Two columns s(1, 0) and s(1, e) have kappa_max = 1,"
    " rho = s^2, tau = sqrt(1 + e^2) and kappa(M) > 1/e: no delta and no C serve.",
)


@LIMIT.formula
def multiple_of_worst_block(A: Left, B: Right, delta: Smallness, C: Factor) -> Any:
    """C kappa_max, a scalar."""
    return C * maximum(blocks(A, B).kappas)


LIMIT.oracle(lambda A, B, delta, C: condition(concatenated(A, B)))


@LIMIT.counterexample("two short columns at a small angle: delta = 10^-3, C = 100, kappa(M) > 1000")
def _() -> dict[str, Any]:
    short = Fraction(1, 100)
    return {
        "A": [[short], [0]],
        "B": [[short], [short / 1000]],
        "delta": Fraction(1, 1000),
        "C": Fraction(100),
    }


@LIMIT.mutant("smaller condition number of the two, squared, and more")
def _(A: Left, B: Right, delta: Smallness, C: Factor) -> Any:
    kappas = blocks(A, B).kappas
    return 2 * C * minimum(kappas) * minimum(kappas)


LIMIT.mutant("without the factor C", lambda A, B: maximum(blocks(A, B).kappas))


RELATIVE = Claim(
    SKIPLESS,
    "skipless.a4.4-relative",
    label="Section A.4.4, last sentence, with the incoherence relative to the blocks",
    statement=r"\text{If }\rho\le r\,s_{\min}^2,\ "
    r"r<1:\quad\kappa(\mathbf{M})\le\tau\sqrt{\frac{1+r}{1-r}}\,\kappa_{\max},\quad"
    r"\text{which tends to }\kappa_{\max}\text{ as }r\to0,\ \tau\to1",
    assumptions=[
        *SETUP,
        Assumption(
            r"\rho \le r s_min^2, 0 < s_min",
            nonnegative=lambda A, B, r: blocks(A, B).s_min * blocks(A, B).s_min * r - blocks(A, B).rho,
            positive=lambda A, B: blocks(A, B).s_min,
        ),
    ],
    relation=AtMost(),
    sizes={"n": (2, 5), "d_1": (1, 2), "d_2": (1, 2)},
    where=lambda sizes: sizes["n"] >= sizes["d_1"] + sizes["d_2"],
    of_project=True,
    corrects="skipless.a4.4-limit",
    proof=("skipless.eq-37-incoherent",),
    note="rho / s_max^2 <= rho / s_min^2 <= r in the last term of Eq. (37). The constants do not depend on the sizes.",
)

Ratio = Annotated[Any, Real(0.0, 0.9375)]


def _relative_bound(q: Blocks, r: Any) -> Any:
    return q.tau * sqrt((1 + r) / (1 - r)) * maximum(q.kappas)


@RELATIVE.formula
def relative_incoherence_bound(A: Left, B: Right, r: Ratio) -> Any:
    """tau sqrt((1 + r) / (1 - r)) kappa_max, a scalar."""
    return _relative_bound(blocks(A, B), r)


RELATIVE.oracle(lambda A, B, r: condition(concatenated(A, B)))


@RELATIVE.mutant("tau dropped")
def _(A: Left, B: Right, r: Ratio) -> Any:
    q = blocks(A, B)
    return _relative_bound(q, r) / q.tau


RELATIVE.mutant("incoherence dropped", lambda A, B, r: _relative_bound(blocks(A, B), 0 * r))
RELATIVE.mutant("(1 - r) / (1 + r)", lambda A, B, r: _relative_bound(blocks(A, B), -r))


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


for one in (LARGEST, SMALLEST):
    one.domain("orthogonal blocks")(orthogonal)
    one.domain("nearly orthogonal blocks")(nearly_orthogonal)
    one.domain("rho = s_min^2")(borderline)
for one in (FIXED_SCALE, LIMIT, RELATIVE):
    one.domain("orthogonal blocks")(orthogonal)
    one.domain("nearly orthogonal blocks")(nearly_orthogonal)
for one in (FIXED_SCALE, RELATIVE):
    one.domain("columns at an angle")(at_an_angle)
