"""How diag(beta) - beta beta^T moves: Gamma_i and its norm (Appendix D.3, Eq. (74)).

A chain of inequalities is checked line by line: every line is compared with the next.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_d_3_hessian.hessian_blocks import (
    GAMMA_AS_A_MATRIX, ScalarTokens, covariance, covariance_slope, opposite_tokens, slope_as_printed,
)  # fmt: skip
from verify.matrix import absolute, diag, frobenius_norm, hadamard, maximum, softmax, spectral_norm, sqrt, total
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, Equal, Real, Setting, Shape, realises

Logits = Annotated[Any, Shape("1", "d_s", role="query")]
BETA = Definition("beta_i = Softmax(u)^T", by=softmax)


GAMMA = Claim(CONVERGENCE, "convergence.gamma-def", label="D.3, definition of Gamma_i",
    statement=r"""\Gamma_i=\mathrm{diag}(\beta_i\circ x-\beta_i\beta_i^\top
        x)-(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x
        \beta_i^\top-\beta_ix^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x""",
    assumptions=[BETA, Definition("Gamma_i is what stands for d(diag(beta_i) - beta_i beta_i^T)/ds in H_{Q,Q}", by=jacobian)],
    name="derivative of the softmax covariance", relation=Equal(), sizes={"d_s": (1, 4)}, expects="refuted",
    severity="slip", correction="convergence.gamma-def-matrix",
    note=r"""The third term is a column, of degree two in $x$ beside terms of degree one; a matrix only without its last
        $x$. To give the sum a value, the column is added to every column, as array libraries do without complaint. The
        last $x$ is no damage: it recurs twice in Eq. (74), and the bound given there for the third term needs it. A
        misprint although it recurs: added to $d_s \times d_s$ matrices, the term shows its own last $x$ to be one too
        many.""")  # fmt: skip


def _second_term(x: Any, u: Any) -> Any:
    """(diag(beta) - beta beta^T) x beta^T, the second term of Gamma_i."""
    return covariance(softmax(u).T) @ x @ softmax(u)


@GAMMA.formula
def printed_covariance_slope(x: ScalarTokens, u: Logits) -> Any:
    """Gamma_i as printed, shape (d_s, d_s), its third term, a column, added to every column (Appendix D.3)."""
    beta = softmax(u).T
    J = covariance(beta)
    return diag(hadamard(beta, x) - beta @ beta.T @ x) - J @ x @ beta.T - beta @ x.T @ J @ x


def _covariance_along(u: Any, x: Any, t: Any) -> Any:
    beta = softmax(u + x.T * t).T
    return diag(beta) - beta @ beta.T


@GAMMA.oracle
def covariance_differentiated(x: ScalarTokens, u: Logits) -> Any:
    """d/dt of diag(beta) - beta beta^T for beta = Softmax(u + t x^T), at t = 0."""
    d_s = x.shape[0]
    return jacobian(_covariance_along, "t")(u, x, (u @ u.T) * 0).reshape(d_s, d_s)


GAMMA.mutant("second term missing", lambda value, x, u: value + _second_term(x, u))
GAMMA.mutant("sign of the second term", lambda value, x, u: value + 2 * _second_term(x, u))
GAMMA.counterexample(
    "two tokens 0 and 1 with equal weights: the derivative is 0, printed is not", x=[[0], [1]], u=[[0, 0]]
)


GAMMA_MATRIX = GAMMA.corrected("convergence.gamma-def-matrix", label="D.3, Gamma_i as a matrix",
    statement=r"""\Gamma_i=\mathrm{diag}(\beta_i\circ x-\beta_i\beta_i^\top
        x)-(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x
        \beta_i^\top-\beta_ix^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)""",
    assumptions=[BETA, Definition("the derivative of diag(beta) - beta beta^T along u' = x", by=jacobian)],
    name="derivative of the softmax covariance, corrected", all_sizes=True, sizes={"d_s": (1, 5)}, exact=True)  # fmt: skip


@GAMMA_MATRIX.formula
def covariance_slope_of_logits(x: ScalarTokens, u: Logits) -> Any:
    """Gamma_i without the last x of its third term, shape (d_s, d_s)."""
    return covariance_slope(softmax(u).T, x)


GAMMA_MATRIX.mutant("last x kept, as printed", lambda x, u: slope_as_printed(softmax(u).T, x))
GAMMA_MATRIX.mutant("second term not transposed", lambda value, x, u: value + _second_term(x, u) - _second_term(x, u).T)
GAMMA_MATRIX.mutant("third term missing", lambda value, x, u: value + _second_term(x, u).T)


THIRD_MOMENT = Claim(CONVERGENCE, "convergence.gamma-third-moment", label="D.3, x^T Gamma_i x",
    statement=r"x^\top\Gamma_ix=\sum_k\beta_i^{(k)}(x^{(k)}-x^\top\beta_i)^3",
    name="third central moment of the tokens", assumptions=[GAMMA_AS_A_MATRIX],
    relation=Equal(), all_sizes=True, sizes={"d_s": (1, 5)}, exact=True, of_project=True,
    note=r"""The third central moment of the tokens under $\beta_i$. It has either sign, and vanishes for two tokens of
        equal weight; its size is at most $(\max x - \min x)^3 / (6 \sqrt{3})$, attained by two tokens with weights $(1
        \mp 1/\sqrt3) / 2$.""",
)  # fmt: skip


@THIRD_MOMENT.formula
def third_moment(x: ScalarTokens, u: Logits) -> Any:
    """sum_k beta_k (x_k - x^T beta)^3, shape (1, 1), for beta = Softmax(u)^T."""
    beta = softmax(u).T
    centred = x - x.T @ beta
    return beta.T @ hadamard(hadamard(centred, centred), centred)


THIRD_MOMENT.oracle(lambda x, u: x.T @ covariance_slope(softmax(u).T, x) @ x)
THIRD_MOMENT.mutant("raw third moment", lambda x, u: softmax(u) @ hadamard(hadamard(x, x), x))
THIRD_MOMENT.mutant("opposite sign", lambda value: -value)


Bound = Annotated[Any, Real(0.25, 4.0)]


@realises(but="C_x is the least that Assumption 1 admits; the bound grows with it, and nothing else reads it")
def _smallest_bound(x: ScalarTokens, u: Logits) -> dict[str, Any]:
    """C_x as small as Assumption 1 allows."""
    return {"x": x, "u": u, "C_x": frobenius_norm(x) / sqrt(x.shape[0])}


SOFTMAX = Setting(
    CONVERGENCE,
    "Appendix D.3, Eq. (74)",
    assumptions=[
        Construction("x in R^{d_s}", shapes={"x": ("d_s", "1")}),
        Assumption(
            "||x||_2 <= sqrt(d_s) C_x (Assumption 1)",
            nonnegative=lambda x, C_x: sqrt(x.shape[0]) * C_x - frobenius_norm(x),
        ),
        BETA,
    ],
    sizes={"d_s": (1, 4)},
    inputs=_smallest_bound,
    special_domains={"opposite tokens": opposite_tokens},
)

EQ_74 = Claim(SOFTMAX, "convergence.eq-74", label="Eq. (74) and its three parts",
    statement=r"""\|\Gamma_i\|_2\le\|\mathrm{diag}(\beta_i\circ x-\beta_i\beta_i^\top x)\|_2
        +\|(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x\beta_i^\top\|_2
        +\|\beta_ix^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x\|_2\ (74);\quad \|\mathrm{diag}(\beta_i\circ
        x-\beta_i\beta_i^\top x)\|_2 \le\|\beta_i\circ x-\beta_i\beta_i^\top x\|_\infty \le\|\beta_i\circ
        x\|_\infty+\|\beta_i\beta_i^\top x\|_\infty\le\|x\|_\infty+|\beta_i^\top x|
        \le\|x\|_2+\|\beta_i\|_2\|x\|_2\le2C_x;\quad \|(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x\beta_i^\top\|_2
        \le(\|\beta_i\|_\infty+\|\beta_i\beta_i^\top\|_2)\|x\beta_i^\top\|_2\le2\|x\beta_i^\top\|_2
        \le2\|x\|_2\|\beta_i^\top\|_2\le2C_x;\quad \|\beta_ix^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x\|_2
        \le\|\beta_ix^\top\|_2\|(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)\|_2\|x\|_2""",
    name="norm of the softmax covariance derivative", relation=AtMost(), expects="refuted", severity="error",
    correction="convergence.eq-74-tokens",
    note=r"""Assumption 1 bounds $\|x\|_2$ by $\sqrt{d_s} C_x$, not by $C_x$, so the last step of the first two parts
        fails from two tokens on; the same confusion is in Lemma 14. With 63 tokens the first norm itself can exceed $2
        C_x$: for some $b$, a token $62 b$ and 62 tokens $-b$, which together weigh as much as it, it is $63 b/4 = 63 C_x/(4
        \sqrt{62})$. The order in $d_m$ does not change. The third part holds for the column that is printed; $\Gamma_i$
        needs it without the last $x$, and (74) itself, the triangle inequality, is checked for that matrix in
        convergence.eq-74-tokens. The logits are free here; those of the counterexamples are multiples of $x$, as in
        D.3.""")  # fmt: skip


def _first_lines(x: Any, beta: Any) -> list[Any]:
    v = covariance(beta) @ x
    mean = total(x.T @ beta)
    weighted, averaged = hadamard(beta, x), beta * mean
    n = frobenius_norm(x)
    return [
        spectral_norm(diag(v)),
        maximum(absolute(v)),
        maximum(absolute(weighted)) + maximum(absolute(averaged)),
        maximum(absolute(x)) + absolute(mean),
        n + frobenius_norm(beta) * n,
    ]


def _second_lines(x: Any, beta: Any) -> list[Any]:
    outer = frobenius_norm(x @ beta.T)
    return [
        spectral_norm(covariance(beta) @ x @ beta.T),
        (maximum(beta) + frobenius_norm(beta) ** 2) * outer,
        outer * 2,
        frobenius_norm(x) * frobenius_norm(beta) * 2,
    ]


def _third_lines(x: Any, beta: Any, size: Any = frobenius_norm) -> list[Any]:
    J = covariance(beta)
    return [frobenius_norm(beta @ x.T @ J @ x), frobenius_norm(beta @ x.T) * spectral_norm(J) * size(x)]


@EQ_74.formula
def printed_slope_lines(x: ScalarTokens, u: Logits, C_x: Bound) -> Any:
    """The right-hand sides of all steps of the three parts, shape (10,) (Eq. (74))."""
    beta = softmax(u).T
    return stacked(
        [*_first_lines(x, beta)[1:], C_x * 2, *_second_lines(x, beta)[1:], C_x * 2, *_third_lines(x, beta)[1:]]
    )


@EQ_74.oracle
def left_sides_of_the_steps(x: ScalarTokens, u: Logits) -> Any:
    beta = softmax(u).T
    return stacked([*_first_lines(x, beta), *_second_lines(x, beta), *_third_lines(x, beta)[:1]])


EQ_74.mutant("C_x for 2 C_x", "C_x * 2 -> C_x")
EQ_74.mutant("||x|| dropped in the third part", size=lambda x: 1)
EQ_74.counterexample(
    "two tokens equal to 1, equal weights, C_x = 1: sqrt(2) + 1 is not at most 2", x=[[1], [1]], u=[[0, 0]], C_x=1
)
EQ_74.counterexample(
    "three tokens 1, -1 and 0, nearly all weight on the first, C_x = 1: sqrt(2) is not at most 1",
    x=[[1], [-1], [0]], u=[[9, -9, 0]], C_x=1,
)  # fmt: skip


EQ_74_TOKENS = Claim(SOFTMAX, "convergence.eq-74-tokens",
    label="Eq. (74), with the norm of the tokens and Gamma_i as a matrix",
    statement=r"""\Gamma_i=\mathrm{diag}(v)-v\beta_i^\top-\beta_iv^\top,\ v=(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x:\quad
        \|\Gamma_i\|_2\le\|\mathrm{diag}(( \mathrm{diag}(\beta_i)-\beta_i
        \beta_i^\top)x)\|_2+\|(\mathrm{diag}( \beta_i)- \beta_i\beta_i^\top)x\beta_i^\top\|_2+\|
        \beta_ix^\top(\mathrm{diag}(\beta_i)- \beta_i\beta_i^\top)\|_2\le2 \sqrt{d_s}C_x+2\sqrt{d_s}C_x+\sqrt{d_s}C_x
    """,
    name="norm of the softmax covariance derivative, corrected", relation=AtMost(), corrects="convergence.eq-74",
    all_sizes=True, of_project=True,
    note=r"""The steps of the three parts with $\sqrt{d_s} C_x$ for $C_x$; the third part is that of the matrix, with
        $\|\mathrm{diag}(\beta) - \beta \beta^\top\|_2 \le 1$. Every step is checked; the ratio reported is that of the
        tightest step.""")  # fmt: skip


def _slope_bounds(x: Any, u: Any, C_x: Any, two: int = 2, last: int = 5) -> list[Any]:
    beta, size = softmax(u).T, C_x * sqrt(x.shape[0])
    J = covariance(beta)
    parts = _first_lines(x, beta)[0] + _second_lines(x, beta)[0] + spectral_norm(beta @ x.T @ J)
    return [
        parts,
        *_first_lines(x, beta)[1:],
        size * two,
        *_second_lines(x, beta)[1:],
        size * two,
        frobenius_norm(beta @ x.T) * spectral_norm(J),
        size,
        size * last,
    ]


@EQ_74_TOKENS.formula
def slope_lines(x: ScalarTokens, u: Logits, C_x: Bound) -> Any:
    """The triangle inequality, the steps of its three parts and 5 sqrt(d_s) C_x, shape (13,)."""
    return stacked(_slope_bounds(x, u, C_x))


@EQ_74_TOKENS.oracle
def left_sides_with_gamma(x: ScalarTokens, u: Logits) -> Any:
    beta = softmax(u).T
    J, Gamma = covariance(beta), covariance_slope(beta, x)
    third = spectral_norm(beta @ x.T @ J)
    whole = spectral_norm(Gamma)
    bound = frobenius_norm(beta @ x.T) * spectral_norm(J)
    return stacked([whole, *_first_lines(x, beta), *_second_lines(x, beta), third, bound, whole])


EQ_74_TOKENS.mutant("C_x for sqrt(d_s) C_x, as printed", "C_x -> C_x / sqrt(x.shape[0])")
EQ_74_TOKENS.mutant("1 for 2", two=1)
