"""Softmax rows, ReLU and its gate, matrix exponentials."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.norms.settings import (
    RULES, SMALL, Column, Factor, Logits, Matrix, RowLogits, Square, largest, number, two_norms,
)  # fmt: skip
from verify.matrix import (
    absolute, column, concatenate, diag, exp, expm, eye, frobenius_norm, inverse, maximum, rational, relu, row_sums,
    softmax, spectral_norm, sqrt, step, symmetric_eigenvalues, zeros,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Shape, realises

Gated = Annotated[Any, Shape("m", "n", role="gate")]

# -- softmax -----------------------------------------------------------------------------------------------------------

ROW = Claim(RULES, "norms.softmax-row", label="Softmax rows", name="norms of softmax rows",
    statement=r"0 \le P \le 1,\ P\mathbf 1 = \mathbf 1 \text{ for } P = \operatorname{softmax}(T),\qquad \|P\|_F \le \sqrt m",
    relation=AtMost(left="-min P, max P, |P 1 - 1|, ||P||_F", ascent=False, signed=True), sizes=("m", "n"))  # fmt: skip


@ROW.formula
def limits_of_weights(T: Logits) -> Any:
    """0, 1, 0 and sqrt(m), shape (4, 1)."""
    return column(number(0, T), number(1, T), number(0, T), number(sqrt(T.shape[0]), T))


@ROW.oracle
def extremes_of_weights(T: Any) -> Any:
    P = softmax(T)
    return column(maximum(-P), largest(P), maximum(absolute(row_sums(P) - 1)), frobenius_norm(P))


ROW.mutant("nine tenths", "number(1, T) -> number(rational(9, 10), T)")
ROW.mutant("norm of uniform weights", "number(sqrt(T.shape[0]), T) -> number(sqrt(T.shape[0]), T) / sqrt(T.shape[1])")

LIPSCHITZ = Claim(RULES, "norms.softmax-lipschitz", label="Softmax is 1/2-Lipschitz", name="Lipschitz constant of row softmax",
    statement=r"\|\operatorname{softmax}(T) - \operatorname{softmax}(T')\|_F \le \tfrac12\|T - T'\|_F",
    relation=AtMost(left="||softmax(T) - softmax(T')||_F"), sizes=("m", "n"))  # fmt: skip


@LIPSCHITZ.formula
def half_the_distance(T: Logits, T_0: Matrix) -> Any:
    """||T - T'||_F / 2, a scalar."""
    return frobenius_norm(T - T_0) * rational(1, 2)


LIPSCHITZ.oracle(lambda T, T_0: frobenius_norm(softmax(T) - softmax(T_0)))
LIPSCHITZ.mutant("nine twentieths", "rational(1, 2) -> rational(9, 20)")
LIPSCHITZ.mutant("largest entry", "frobenius_norm(T - T_0) -> largest(T - T_0)")

ONE_NORM = Claim(RULES, "norms.softmax-1-norm", label="Softmax in the 1-norm", name="change of softmax rows in the 1-norm",
    statement=r"\sum_{ij}|\operatorname{softmax}(T) - \operatorname{softmax}(T')|_{ij} \le m\max|T - T'|",
    relation=AtMost(left="the sum of |softmax(T) - softmax(T')|"), sizes=("m", "n"))  # fmt: skip


@ONE_NORM.formula
def rows_times_largest_distance(T: Logits, T_0: Matrix) -> Any:
    """m max|T - T'|, a scalar."""
    return largest(T - T_0) * T.shape[0]


ONE_NORM.oracle(lambda T, T_0: row_sums(absolute(softmax(T) - softmax(T_0))).sum())
ONE_NORM.mutant("nine tenths", lambda value: value * rational(9, 10))
ONE_NORM.mutant("one row", "T.shape[0] -> 1")

LARGER_LOGITS = Claim(RULES, "norms.softmax-of-larger-logits", label="Softmax of larger logits",
    statement=r"\|\operatorname{softmax}(cT)\|_F \le \|\operatorname{softmax}(dT)\|_F,\quad 0 \le c \le d",
    assumptions=[Assumption("0 <= c <= d", nonnegative=lambda c, d: column(c, d - c))],
    name="norm of a softmax of larger logits", relation=AtMost(left="||softmax(c T)||_F"), sizes=("m", "n"),
    note=r"""Row by row: the derivative of $\sum_ip_i^2$ by the factor is $2\sum_ip_i^2(t_i - p^\top t)$, twice the covariance
        of $p_i$ and $t_i$ under the weights $p$. It is not negative, since $p_i$ grows with $t_i$.""")  # fmt: skip


@LARGER_LOGITS.inputs
def two_factors(T: Logits, c: Factor, more: Factor) -> dict[str, Any]:
    return {"T": T, "c": c, "d": c + more}


@LARGER_LOGITS.formula
def norm_at_larger_logits(T: Logits, d: Factor) -> Any:
    """||softmax(d T)||_F, a scalar."""
    return frobenius_norm(softmax(T * d))


LARGER_LOGITS.oracle(lambda T, c: frobenius_norm(softmax(T * c)))
LARGER_LOGITS.mutant("nineteen twentieths", lambda value: value * rational(19, 20))
LARGER_LOGITS.mutant("logits of opposite sign, c times as large", lambda T, c, d: frobenius_norm(softmax(-T * (d - c))))

COVARIANCE = Claim(RULES, "norms.softmax-covariance", label="Covariance of a softmax row",
    statement=r"\|\operatorname{diag}p - pp^\top\|_2 \le \tfrac12", name="norm of the covariance of a softmax row",
    relation=AtMost(left="||diag(p) - p p^T||_2"), sizes={"n": (1, 5)})  # fmt: skip


@COVARIANCE.formula
def one_half(u: RowLogits) -> Any:
    """1/2, a scalar; p is the softmax of u."""
    return number(rational(1, 2), u)


@COVARIANCE.oracle
def norm_of_covariance(u: Any) -> Any:
    p = softmax(u)
    return spectral_norm(diag(p[0]) - p.T @ p)


COVARIANCE.mutant("nine twentieths", "rational(1, 2) -> rational(9, 20)")
COVARIANCE.mutant("one quarter, as of a single entry", "rational(1, 2) -> rational(1, 4)")

# -- ReLU --------------------------------------------------------------------------------------------------------------

RELU = Claim(RULES, "norms.relu", label="ReLU is 1-Lipschitz", name="norms of ReLU and of its changes",
    statement=r"""\|\operatorname{relu}A\| \le \|A\|,\quad \|\operatorname{relu}A - \operatorname{relu}B\| \le \|A - B\|
        \text{ for } \|\cdot\|_F \text{ and } \max|\cdot|""",
    relation=AtMost(left="norms of relu(A) and of relu(A) - relu(B)"), sizes=("m", "n"))  # fmt: skip


@RELU.formula
def norms_before_relu(A: Gated, B: Matrix) -> Any:
    """||A||_F, max|A|, ||A - B||_F and max|A - B|, shape (4, 1)."""
    return column(frobenius_norm(A), largest(A), frobenius_norm(A - B), largest(A - B))


@RELU.oracle
def norms_after_relu(A: Any, B: Any) -> Any:
    P, change = relu(A), relu(A) - relu(B)
    return column(frobenius_norm(P), largest(P), frobenius_norm(change), largest(change))


RELU.mutant("nine tenths of the norm", "frobenius_norm(A) -> frobenius_norm(A) * rational(9, 10)")
RELU.mutant("nine tenths of the change", "frobenius_norm(A - B) -> frobenius_norm(A - B) * rational(9, 10)")
RELU.mutant("half of the largest change", "largest(A - B) -> largest(A - B) * rational(1, 2)")

GATE = Claim(RULES, "norms.gate", label="The gate of a ReLU", name="norms of what passes a gate",
    statement=r"""\|A\circ\operatorname{relu}'(B)\|_F \le \|A\|_F,\ \max|A\circ\operatorname{relu}'(B)| \le \max|A|,\quad
        \max|\operatorname{relu}'(B)| \le 1,\ \|\operatorname{relu}'(B)\|_F \le \sqrt{mn}""",
    relation=AtMost(left="norms of A o relu'(B) and of relu'(B)", ascent=False), sizes=("m", "n"))  # fmt: skip


@GATE.formula
def norms_without_gate(A: Matrix, B: Gated) -> Any:
    """||A||_F, max|A|, 1 and sqrt(m n), shape (4, 1)."""
    return column(frobenius_norm(A), largest(A), number(1, A), number(sqrt(A.shape[0] * A.shape[1]), A))


@GATE.oracle
def norms_behind_gate(A: Any, B: Any) -> Any:
    gate = step(B)
    return column(frobenius_norm(A * gate), largest(A * gate), largest(gate), frobenius_norm(gate))


GATE.mutant("nine tenths of the norm", "frobenius_norm(A) -> frobenius_norm(A) * rational(9, 10)")
GATE.mutant("half of the largest entry", "largest(A) -> largest(A) * rational(1, 2)")
GATE.mutant("half of the entries", "sqrt(A.shape[0] * A.shape[1]) -> sqrt(A.shape[0] * A.shape[1]) * rational(7, 10)")

# -- exponentials ------------------------------------------------------------------------------------------------------


@realises({"are skew": reached.SKEW})
def skew_pair(G: Square, H: Square) -> dict[str, Any]:
    """Two skew matrices."""
    return {"S": G - G.T, "R": H - H.T}


SKEW = Claim(SMALL, "norms.exponential-of-skew", label="Exponential of a skew matrix",
    statement=r"""S^\top=-S,\ R^\top=-R:\quad \|e^S\|_2 \le 1,\ \|e^S\|_F \le \sqrt n,\qquad \|e^S - I\| \le \|S\|,\ \|e^S -
        e^R\| \le \|S - R\|\text{ for }\|\cdot\|_2\text{ and }\|\cdot\|_F""",
    name="norms of exponentials of skew matrices",
    assumptions=[
        Assumption("S and R are skew", zero=lambda S, R: concatenate([S + S.T, R + R.T], axis=0)),
    ],
    sizes={"n": (1, 4)}, relation=AtMost(left="norms of exp(S), of exp(S) - I and of exp(S) - exp(R)"),
    note="The first two are equalities, since $e^S$ is orthogonal; derivations use them as bounds.")  # fmt: skip
SKEW.inputs(skew_pair)


@SKEW.formula
def norms_of_skew(S: Square, R: Square) -> Any:
    """1, sqrt(n), two norms of S, two norms of S - R, shape (6, 1)."""
    return concatenate([column(number(1, S), number(sqrt(S.shape[0]), S)), two_norms(S), two_norms(S - R)], axis=0)


SKEW.oracle(
    lambda S, R: concatenate(
        [two_norms(expm(S)), two_norms(expm(S) - eye(S.shape[0])), two_norms(expm(S) - expm(R))], axis=0
    )
)
SKEW.mutant("a smaller norm", "number(1, S) -> number(rational(9, 10), S)")
SKEW.mutant("nine tenths of the distance", "two_norms(S - R) -> two_norms(S - R) * rational(9, 10)")
SKEW.mutant("nine tenths of the exponent", "two_norms(S) -> two_norms(S) * rational(9, 10)")

GROWTH = Claim(SMALL, "norms.exponential", label="Exponential of any matrix", name="norms of matrix exponentials",
    statement=r"\|e^A\|_2 \le e^{\|A\|_2},\qquad \|e^A - I\|_2 \le e^{\|A\|_2} - 1", sizes=("n",),
    relation=AtMost(left="||exp(A)||_2, ||exp(A) - I||_2"))  # fmt: skip


@GROWTH.formula
def exponential_of_the_norm(A: Square) -> Any:
    """e^||A||_2 and e^||A||_2 - 1, shape (2, 1)."""
    growth = exp(spectral_norm(A))
    return column(growth, growth - 1)


GROWTH.oracle(lambda A: column(spectral_norm(expm(A)), spectral_norm(expm(A) - eye(A.shape[0]))))
GROWTH.mutant("the first term of the series", "growth - 1 -> spectral_norm(A)")
GROWTH.mutant("largest entry", "spectral_norm(A) -> largest(A)")

DISSIPATIVE = Claim(SMALL, "norms.exponential-of-dissipative", label="Exponential of a dissipative matrix",
    statement=r"\|e^{cM}\|_2 \le 1 \text{ where } c \ge 0 \text{ and } x^\top Mx \le 0 \text{ for all } x", sizes=("n",),
    assumptions=[
        Assumption("c >= 0", nonnegative=lambda c: c),
        Assumption("M has a symmetric part without positive eigenvalues",
            nonnegative=lambda M: symmetric_eigenvalues(-(M + M.T))),
    ],
    name="exponentials of dissipative matrices", relation=AtMost(left="||exp(c M)||_2"))  # fmt: skip


@DISSIPATIVE.inputs
def dissipative(G: Square, H: Square, c: Factor) -> dict[str, Any]:
    return {"M": G - G.T - H.T @ H, "c": c}


@DISSIPATIVE.formula
def one(M: Square) -> Any:
    """1, a scalar."""
    return number(1, M)


DISSIPATIVE.oracle(lambda M, c: spectral_norm(expm(M * c)))
DISSIPATIVE.mutant("nine tenths", "number(1, M) -> number(rational(9, 10), M)")
DISSIPATIVE.mutant("decay with the norm", "number(1, M) -> exp(-spectral_norm(M))")

SIMILAR = Claim(SMALL, "norms.exponential-of-similar", label="Exponentials of similar matrices",
    statement=r"e^{VAV^{-1}} = Ve^AV^{-1}", name="exponentials of similar matrices", relation=Equal(), sizes=("n",),
    all_sizes=True)  # fmt: skip


@SIMILAR.inputs
@realises(
    but=(
        "of a regular V = Q D R^T the orthogonal factor R is left out, since A may be R^T A R as well; and D is at least 1,"
        " since V and c V give the same on both sides"
    )
)
def similar(G: Square, d: Column, A: Square) -> dict[str, Any]:
    V = orthogonal_matrix(G) @ diag((d * d)[:, 0] + 1)
    return {"V": V, "A": A}


@SIMILAR.formula
def exponential_between(V: Square, A: Square) -> Any:
    """V exp(A) V^-1, shape (n, n)."""
    return V @ expm(A) @ inverse(V)


SIMILAR.oracle(lambda V, A: expm(V @ A @ inverse(V)))
SIMILAR.mutant("factors exchanged", "V @ expm(A) @ inverse(V) -> inverse(V) @ expm(A) @ V")
SIMILAR.mutant("no factors", "V @ expm(A) @ inverse(V) -> expm(A)")


def corner_of_exponential(P: Any, E: Any, R: Any) -> Any:
    """int_0^1 exp((1 - s) P) E exp(s R) ds, the upper right block of exp [[P, E], [0, R]], shape (n, n)."""
    n = P.shape[0]
    upper, lower = concatenate([P, E], axis=1), concatenate([zeros(n, n), R], axis=1)
    return expm(concatenate([upper, lower], axis=0))[:n, n:]


INTEGRAL = Claim(SMALL, "norms.integral-of-orthogonal", label="Integrals of orthogonal matrices",
    statement=r"""\Big\|\int_0^1e^{(1-s)P}e^{sR}\,ds\Big\|_2 \le 1\text{ for skew }P, R,\text{ a block of
        }\exp\begin{bmatrix}P&I\\0&R\end{bmatrix}""",
    name="norm of a mean of orthogonal matrices",
    assumptions=[Assumption("P and R are skew", zero=lambda P, R: concatenate([P + P.T, R + R.T], axis=0))], sizes=("n",),
    relation=AtMost(left="the norm of the integral"))  # fmt: skip


@INTEGRAL.inputs
@realises({"are skew": reached.SKEW})
def two_skew(G: Square, H: Square) -> dict[str, Any]:
    return {"P": G - G.T, "R": H - H.T}


@INTEGRAL.formula
def norm_of_mean(P: Square, R: Square) -> Any:
    """1, a scalar."""
    return number(1, P)


INTEGRAL.oracle(lambda P, R: spectral_norm(corner_of_exponential(P, eye(P.shape[0]), R)))
INTEGRAL.mutant("nine tenths", "number(1, P) -> number(rational(9, 10), P)")
INTEGRAL.mutant("decay with the distance", "number(1, P) -> exp(-spectral_norm(P - R))")
