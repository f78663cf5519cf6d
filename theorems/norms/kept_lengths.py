"""Exponentials exp(A) with ||X exp(A) v|| = ||X v|| for every v, and norms of products from below."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.norms.settings import RULES, SMALL, Matrix, Next, Square, two_norms
from verify.matrix import concatenate, expm, rational, smallest_singular_value, spectral_norm
from verify.vocabulary import Assumption, AtMost, Claim, Shape, realises

Columns = Annotated[Any, Shape("n", "p")]

BELOW = Claim(RULES, "norms.product-from-below", label="Norm of a product from below",
    statement=r"""\sigma_{\min}(A)\,\|B\| \le \|AB\|\text{ for }\|\cdot\|_2\text{ and }\|\cdot\|_F,\quad A \in
        \mathbb{R}^{m\times n},\ m \ge n""",
    assumptions=[Assumption("m >= n", sizes=lambda sizes: sizes["m"] >= sizes["n"])],
    name="norm of a product from below", sizes={"m": (1, 4), "n": (1, 3), "p": (1, 3)},
    relation=AtMost(left="sigma_min(A) times the norms of B"),
    note=r"""$\|Ax\| \ge \sigma_{\min}(A)\|x\|$ for every vector $x$, and so for every column of $B$. Of a wide $A$ it is false:
        $AB$ may vanish.""")  # fmt: skip


@BELOW.formula
def norms_of_product(A: Matrix, B: Next) -> Any:
    """||A B||_2 and ||A B||_F, shape (2, 1)."""
    return two_norms(A @ B)


BELOW.oracle(lambda A, B: two_norms(B) * smallest_singular_value(A))
BELOW.mutant("nine tenths", lambda value: value * rational(9, 10))
BELOW.mutant(
    "smallest singular value of the product", lambda A, B: two_norms(A @ B) * 0 + smallest_singular_value(A @ B)
)

#: Why matrices A of the form W X^T X are all with which X^T X A is skew.
OF_THIS_FORM = (
    "W X^T X with a skew W: let G = X^T X, and let G A be skew. W = G^+ (G A) G^+ is skew, with the pseudoinverse G^+, and"
    " W G - A maps into the kernel of X, as does its product with A or W G from the right; so X exp(A) = X exp(W G)"
)
#: What is left out where X^T X has no inverse.
EQUAL_PRODUCTS = (
    "if columns of X are dependent, A may differ from W X^T X by what X maps to zero; X exp(A) is the same for both"
)


def _skew_defect(X: Any, A: Any) -> Any:
    """X^T X A + (X^T X A)^T, shape (n, n)."""
    return X.T @ (X @ A) + A.T @ (X.T @ X)


KEEPING = Claim(SMALL, "norms.exponential-keeping-lengths", label="Exponentials that keep lengths",
    statement=r"\|Xe^AC\| \le \|XC\|\text{ for }\|\cdot\|_2\text{ and }\|\cdot\|_F,\text{ where }X^\top XA\text{ is skew}",
    assumptions=[Assumption("X^T X A is skew", zero=lambda X, A: _skew_defect(X, A))],
    name="norms of products with an exponential that keeps lengths", sizes=("m", "n", "p"),
    relation=AtMost(left="norms of X exp(A) C"),
    note=r"""Equality holds: for every number $s$, the derivative of $\exp(sA)^\top X^\top X\exp(sA)$ by $s$ is
        $\exp(sA)^\top(A^\top X^\top X + X^\top XA)\exp(sA) = 0$.""")  # fmt: skip


@KEEPING.inputs
@realises({"X^T X A is skew": OF_THIS_FORM}, but=EQUAL_PRODUCTS)
def keeping_lengths(X: Matrix, G: Square, C: Columns) -> dict[str, Any]:
    return {"X": X, "A": (G - G.T) @ (X.T @ X) * rational(1, 4), "C": C}


@KEEPING.formula
def norms_without_exponential(X: Matrix, C: Columns) -> Any:
    """||X C||_2 and ||X C||_F, shape (2, 1)."""
    return two_norms(X @ C)


KEEPING.oracle(lambda X, A, C: two_norms(X @ expm(A) @ C))
KEEPING.mutant("nine tenths", lambda value: value * rational(9, 10))
KEEPING.mutant("without X", "X @ C -> C * rational(1, 4)")

BETWEEN = Claim(SMALL, "norms.exponentials-keeping-lengths", label="Differences of exponentials that keep lengths",
    statement=r"""\sigma_{\min}(Y)\,\|X(e^A - e^B)\| \le \|Y\|_2\,\|X(A - B)\|\text{ for }\|\cdot\|_2\text{ and
        }\|\cdot\|_F,\text{ where }Y^\top YA\text{ and }X^\top XB\text{ are skew},\ Y \in \mathbb{R}^{d\times n},\ d \ge n""",
    assumptions=[
        Assumption("Y^T Y A and X^T X B are skew",
            zero=lambda X, Y, A, B: concatenate([_skew_defect(Y, A), _skew_defect(X, B)], axis=0)),
        Assumption("d >= n", sizes=lambda sizes: sizes["d"] >= sizes["n"]),
    ],
    name="difference of two exponentials that keep lengths", sizes={"m": (1, 2), "n": (1, 2), "d": (1, 3)},
    relation=AtMost(left="sigma_min(Y) times norms of X (exp(A) - exp(B))"),
    note=r"""$e^A - e^B = \int_0^1e^{(1-s)B}(A - B)e^{sA}\,ds$. The first factor keeps $\|Xv\|$ for every vector $v$, and
        $\sigma_{\min}(Y)\|e^{sA}\|_2 \le \|Ye^{sA}\|_2 = \|Y\|_2$.""")  # fmt: skip


@BETWEEN.inputs
@realises({"Y^T Y A and X^T X B are skew": OF_THIS_FORM}, but=EQUAL_PRODUCTS)
def two_keeping_lengths(X: Matrix, Y: Annotated[Any, Shape("d", "n")], G: Square, H: Square) -> dict[str, Any]:
    A, B = ((M - M.T) @ (F.T @ F) * rational(1, 4) for M, F in ((G, Y), (H, X)))
    return {"X": X, "Y": Y, "A": A, "B": B}


@BETWEEN.formula
def norms_of_the_change(X: Matrix, Y: Annotated[Any, Shape("d", "n")], A: Square, B: Square) -> Any:
    """||Y||_2 ||X (A - B)||_2 and ||Y||_2 ||X (A - B)||_F, shape (2, 1)."""
    return two_norms(X @ (A - B)) * spectral_norm(Y)


BETWEEN.oracle(lambda X, Y, A, B: two_norms(X @ (expm(A) - expm(B))) * smallest_singular_value(Y))
BETWEEN.mutant("half", lambda value: value * rational(1, 2))
BETWEEN.mutant("without X", "X @ (A - B) -> (A - B) * rational(1, 8)")


@BETWEEN.domain("small angles, an orthonormal Y")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Where both sides are nearly equal."""
    arrays["G"] *= 2.0**-6
    arrays["H"] *= 2.0**-6
    arrays["Y"] *= 0
    for i in range(sizes["n"]):
        arrays["Y"][:, i, i] = 1
