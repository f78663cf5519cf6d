"""Two blocks side by side: the norm and the smallest gain of [A B], by those of the blocks and by the norm of A^T B."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.norms.settings import RULES, Column, Factor, Matrix, Next, largest
from verify.matrix import (
    column, concatenate, frobenius_norm, maximum, rational, smallest_gain, spectral_norm, sqrt, total,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Shape

Beside = Annotated[Any, Shape("m", "p")]
GAIN = r"\gamma(A) = \min_{\|x\|=1}\|Ax\|"


def eigenvalue(a: Any, b: Any, c: Any, sign: int) -> Any:
    """The larger (sign 1) or the smaller (-1) eigenvalue of [[a, c], [c, b]], a scalar."""
    h = (a - b) * rational(1, 2)
    return (a + b) * rational(1, 2) + sign * sqrt(h * h + c * c)


def at_an_angle(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Orthonormal columns, but for the first of B, at an angle to the first of A; one block may be larger than the other."""
    m, n = sizes["m"], sizes["n"]
    for name, offset in (("A", 0), ("B", n)):
        arrays[name][:] = np.eye(m, arrays[name].shape[2], -offset)
    arrays["B"][:, 0, 0] = rng.choice([0.5, 1.0, 2.0], len(arrays["B"]))
    arrays["B"][:] *= rng.choice([0.5, 1.0, 2.0], (len(arrays["B"]), 1, 1))


NORM = Claim(RULES, "norms.norm-of-two-blocks", label="Norm of two blocks side by side",
    sizes={"m": (1, 4), "n": (1, 3), "p": (1, 2)},
    statement=r"""\|[A\ B]\|_2^2 \le \tfrac{a + b}2 + \sqrt{\bigl(\tfrac{a - b}2\bigr)^2 + r^2},\quad \|[A\ B]\|_2^2 \le
        \max(a, b) + r,\quad a = \|A\|_2^2,\ b = \|B\|_2^2,\ r = \|A^\top B\|_2""",
    name="norm of two blocks side by side", relation=AtMost(left="||[A B]||_2"),
    note=r"""$\|Ax + By\|^2 \le a\|x\|^2 + b\|y\|^2 + 2r\|x\|\|y\|$, a form in $\|x\|$ and $\|y\|$ of which the first bound is
        the larger eigenvalue; $2\|x\|\|y\| \le \|x\|^2 + \|y\|^2$ gives the second.""")  # fmt: skip


@NORM.formula
def roots_of_bounds(A: Matrix, B: Beside) -> Any:
    """The roots of both bounds, shape (2, 1)."""
    a, b = spectral_norm(A), spectral_norm(B)
    r = spectral_norm(A.T @ B)
    t = maximum(column(a, b))
    return column(sqrt(eigenvalue(a * a, b * b, r, 1)), sqrt(t * t + r))


@NORM.oracle
def norm_of_both(A: Any, B: Any) -> Any:
    size = spectral_norm(concatenate([A, B], axis=1))
    return column(size, size)


NORM.domain("at an angle", at_an_angle)
NORM.mutant("half of r in the first", "eigenvalue(a * a, b * b, r, 1) -> eigenvalue(a * a, b * b, r / 2, 1)")
NORM.mutant("half of r in the second", "t * t + r -> t * t + r / 2")
NORM.mutant("nine tenths", lambda value: value * rational(9, 10))

GAIN_OF_TWO = Claim(RULES, "norms.smallest-gain-of-two-blocks", label="Smallest gain of two blocks side by side",
    statement=r"""\gamma([A\ B])^2 \ge \tfrac{a + b}2 - \sqrt{\bigl(\tfrac{a - b}2\bigr)^2 + r^2},\quad \gamma([A\ B])^2 \ge
        \min(a, b) - r,\quad a = \gamma(A)^2,\ b = \gamma(B)^2,\ r = \|A^\top B\|_2,\quad """ + GAIN,
    name="smallest gain of two blocks side by side", relation=AtMost(left="both bounds", signed=True),
    sizes={"m": (1, 4), "n": (1, 3), "p": (1, 2)},
    note=r"""$\|Ax + By\|^2 \ge a\|x\|^2 + b\|y\|^2 - 2r\|x\|\|y\|$.  The bounds may be negative, and then say nothing.  For a wide
        block the gain is 0, and with the last singular value in its place both are false.""")  # fmt: skip


@GAIN_OF_TWO.formula
def square_of_smallest_gain(A: Matrix, B: Beside) -> Any:
    """The square of the smallest gain of [A B], twice, shape (2, 1)."""
    g = smallest_gain(concatenate([A, B], axis=1))
    return column(g * g, g * g)


@GAIN_OF_TWO.oracle
def bounds_from_below(A: Any, B: Any) -> Any:
    a, b = smallest_gain(A), smallest_gain(B)
    r, s = spectral_norm(A.T @ B), -maximum(column(-a, -b))
    return column(eigenvalue(a * a, b * b, r, -1), s * s - r)


GAIN_OF_TWO.domain("at an angle", at_an_angle)
GAIN_OF_TWO.mutant("nine tenths of the gain", "g * g -> g * g * rational(81, 100)")
GAIN_OF_TWO.mutant("less the norm of the first block", lambda A, value: value - spectral_norm(A))

GAIN_OF_PRODUCT = Claim(RULES, "norms.smallest-gain-of-a-product", label="Smallest gain and a product", sizes=("m", "n", "p"),
    statement=r"\gamma(A)\,\|B\|_F \le \|AB\|_F,\quad " + GAIN, name="smallest gain and a product",
    relation=AtMost(left="gain(A) ||B||_F"),
    note=r"""$\|Ab\| \ge \gamma(A)\|b\|$ for each column $b$ of $B$.  The square of $\|B\|_F$ is the sum of those of blocks on
        top of each other.""")  # fmt: skip


@GAIN_OF_PRODUCT.formula
def norm_of_image(A: Matrix, B: Next) -> Any:
    """||A B||_F, a scalar."""
    return frobenius_norm(A @ B)


GAIN_OF_PRODUCT.oracle(lambda A, B: smallest_gain(A) * frobenius_norm(B))
GAIN_OF_PRODUCT.mutant("nine tenths", lambda value: value * rational(9, 10))
GAIN_OF_PRODUCT.mutant("spectral norm", "frobenius_norm(A @ B) -> spectral_norm(A @ B)")


@GAIN_OF_PRODUCT.domain("orthonormal columns")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Columns of the identity, at which the bound is attained where A is not wide."""
    arrays["A"][:] = np.eye(sizes["m"], sizes["n"])


ORDER = Claim(RULES, "norms.smallest-gain", label="Smallest gain and norm", sizes=("m", "n"),
    statement=r"\gamma(A) \le \|A\|_2,\quad " + GAIN, name="the smallest gain and the norm",
    relation=AtMost(left="the smallest gain"))  # fmt: skip


@ORDER.formula
def largest_gain(A: Matrix) -> Any:
    """||A||_2, a scalar."""
    return spectral_norm(A)


ORDER.oracle(lambda A: smallest_gain(A))
ORDER.mutant("nine tenths", lambda value: value * rational(9, 10))
ORDER.mutant("largest entry", lambda A: largest(A))

INNER = Claim(RULES, "norms.inner-product", label="Inner product by norms", name="inner product of columns by norms",
    statement=r"\langle x, y\rangle = \tfrac12\bigl(\|x + y\|^2 - \|x\|^2 - \|y\|^2\bigr)\text{ for columns }x, y",
    relation=Equal(), sizes=("n",), all_sizes=True)  # fmt: skip


@INNER.formula
def by_norms(x: Column, y: Column) -> Any:
    """(||x + y||^2 - ||x||^2 - ||y||^2) / 2, a scalar."""
    return (total((x + y) * (x + y)) - total(x * x) - total(y * y)) * rational(1, 2)


INNER.oracle(lambda x, y: total(x * y))
INNER.mutant("twice", lambda value: 2 * value)
INNER.mutant("of the difference", "x + y -> x - y")

ROOT = Claim(RULES, "norms.root-of-two-squares", label="Root of two squares", name="root of a sum of two squares",
    statement=r"\sqrt{x^2 + y^2} \le x + y\text{ for }x, y \ge 0", relation=AtMost(left="the root"), all_sizes=True,
    assumptions=[Assumption("x >= 0", nonnegative=lambda x: x), Assumption("y >= 0", nonnegative=lambda y: y)],
    note=r"$(x + y)^2 = x^2 + y^2 + 2xy$.")  # fmt: skip


@ROOT.formula
def sum_of_both(x: Factor, y: Factor) -> Any:
    """x + y, a scalar."""
    return x + y


ROOT.oracle(lambda x, y: sqrt(x * x + y * y))
ROOT.mutant("nine tenths", lambda value: value * rational(9, 10))
ROOT.mutant("the first alone", "x + y -> x")
