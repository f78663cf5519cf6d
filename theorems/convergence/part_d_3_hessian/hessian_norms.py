"""Norms of Hessian blocks in Appendix D.3: the sum over blocks, the chains of inequalities for H_QQ and H_OV.

A chain of inequalities is checked line by line: every line is compared with the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import outputs
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_d_3_hessian.hessian_blocks import (
    AT_KINKS, ONE_DIMENSION, Queries, ScalarTokens, Weights, block, covariance_slope, logit_curvature, opposite_tokens,
    scalar_attention,
)  # fmt: skip
from theorems.convergence.part_d_3_hessian.hessian_entries import output_value_entries
from verify.matrix import absolute, concatenate, frobenius_norm, maximum, rational, spectral_norm, sqrt, summed, total
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Real, Setting, Shape, realises

Radius = Annotated[Any, Real(0.0, 8.0)]
BlockMatrix = Annotated[Any, Shape("16", "d_m", "d_m")]
Bound = Annotated[Any, Real(0.25, 4.0)]

#: |third central moment| <= (max x - min x)^3 / (6 sqrt 3) <= (sqrt 6 / 9) ||x||_2^3: the 6 and the 9.
THIRD_MOMENT = (6, 9)


@realises(but="R and C_x are the least that are admitted; the bounds grow with both, and nothing else reads them")
def smallest_constants(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights) -> dict[str, Any]:
    """Inputs with the smallest R and C_x that the assumptions allow."""
    root = sqrt(w_Q.shape[0]) * 3 + total(x * 0)
    largest = maximum(stacked([*(frobenius_norm(w) for w in (w_Q, w_K, w_V, w_O)), root]))
    C_x = frobenius_norm(x) / sqrt(x.shape[0])
    return {"x": x, "w_Q": w_Q, "w_K": w_K, "w_V": w_V, "w_O": w_O, "R": largest - root, "C_x": C_x}


def _full_size_weights(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Weights +-3, of norm 3 sqrt(d_m), and small tokens."""
    for name in ("w_Q", "w_K", "w_V", "w_O"):
        arrays[name][:] = rng.choice([3.0, 3.0, 3.0, -3.0], arrays[name].shape)
    arrays["x"][:] *= 2.0 ** rng.integers(-6, 1, (len(arrays["x"]), 1, 1))


def scales(w: Any) -> tuple[Any, Any]:
    """tau_0 = 1/d_m and tau_1 = d_m^{-1/2}."""
    d_m = w.shape[0]
    return rational(1, d_m), sqrt(d_m) / d_m


NTK = Setting(
    CONVERGENCE,
    "Appendix D.3, d = 1, NTK initialisation",
    assumptions=[
        ONE_DIMENSION,
        Definition("f with the sum over tokens", by=outputs),
        AT_KINKS,
        Definition("tau_0 = 1/d_m, tau_1 = d_m^{-1/2}, all variances eta = 1 (NTK, Table 1)", by=scales),
    ],
    sizes={"d_s": (1, 3), "d_m": (1, 3)},
    special_domains={"opposite tokens": opposite_tokens},
)


def _room(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, R: Any, C_x: Any) -> Any:
    """What the assumed bounds of the weights and of the tokens leave, shape (5,)."""
    radius = sqrt(w_Q.shape[0]) * 3 + R
    return stacked(
        [*(radius - frobenius_norm(w) for w in (w_Q, w_K, w_V, w_O)), sqrt(x.shape[0]) * C_x - frobenius_norm(x)]
    )


IN_THE_BALL = NTK.extended(
    "Appendix D.3, d = 1, NTK initialisation, with the smallest R and C_x",
    assumptions=[
        Assumption(
            "||w_Q||, ||w_K||, ||w_V||, ||w_O|| <= 3 sqrt(d_m) + R, which has probability at least 1 - 8 exp(-d_m/2) (Lemma 20),"
            " and ||x||_2 <= sqrt(d_s) C_x (Assumption 1)",
            nonnegative=_room,
        ),
        Assumption("R >= 0", nonnegative=lambda R: R),
    ],
    inputs=smallest_constants,
    special_domains={"weights of full size": _full_size_weights},
)


def symmetric_from_blocks(A: Any) -> Any:
    """The symmetric matrix with blocks A[4i+j] + A[4j+i]^T, as a list of rows of blocks."""
    return [[A[4 * i + j] + A[4 * j + i].T for j in range(4)] for i in range(4)]


BLOCK_SUM = Claim(CONVERGENCE, "convergence.eq-72-blocksum", label="Eq. (72) and text", name="Hessian norm by blocks",
    statement=r"\|H\|_2\le\text{sum of the spectral norms of the blocks }H_{A,B},\ A,B\in\{Q,K,V,O\}",
    assumptions=[Definition("H symmetric, in 4 x 4 blocks of shape (d_m, d_m)", by=symmetric_from_blocks)],
    general="It holds of all matrices in blocks.",
    relation=AtMost(), all_sizes=True, sizes={"d_m": (1, 2)},
    note="""Attained where a single diagonal block is not zero. An off-diagonal block and its transpose may be counted
        once.""")  # fmt: skip


@BLOCK_SUM.formula
def sum_of_block_norms(A: BlockMatrix) -> Any:
    """The sum of the spectral norms of all 16 blocks, a scalar (text after Eq. (72))."""
    norms = [[spectral_norm(B) for B in row] for row in symmetric_from_blocks(A)]
    return sum(sum(row) for row in norms)


BLOCK_SUM.oracle(
    lambda A: spectral_norm(concatenate([concatenate(row, axis=1) for row in symmetric_from_blocks(A)], axis=0))
)


@BLOCK_SUM.domain("one diagonal block")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    arrays["A"][:, 1:] = 0.0


BLOCK_SUM.mutant("largest block",
    "sum(sum(row) for row in norms) -> maximum(stacked([norm for row in norms for norm in row]))")  # fmt: skip
BLOCK_SUM.mutant("diagonal blocks alone", "sum(sum(row) for row in norms) -> sum(norms[i][i] for i in range(4))")
BLOCK_SUM.mutant("off-diagonal blocks alone",
    lambda value, A: value - sum(spectral_norm(symmetric_from_blocks(A)[i][i]) for i in range(4)))  # fmt: skip


# -- the norm of H_{Q,Q} -----------------------------------------------------------------------------------------------

QQ_NORM = Claim(NTK, "convergence.h-qq-norm", label="D.3, norm of H_QQ", name="norm of the query Hessian block",
    statement=r"""\|H_{Q,Q}\|_2=\|\tau_0^2\tau_1 \sum_i(x^{(i)})^2w_V^\top(w_O\circ \sigma_r(w_Vx^\top\beta_i))x^\top
        \Gamma_ixw_Kw_K^\top\|_2 \le|\tau_0^2\tau_1 \sum_i(x^{(i)})^2w_V^\top(w_O\circ \sigma_r(w_Vx^\top\beta_i))x^\top
        \Gamma_ix|\|w_Kw_K^\top\|_2 \le|\tau_0^2\tau_1 \sum_i(x^{(i)})^2x^\top \Gamma_ix|\|w_O\|_2\|w_V\|_2\|w_K\|_2^2
        \le\tau_0^2\tau_1|\sum_i(x^{(i)})^2x^\top\Gamma_ix| (3\sqrt{\eta_Od_m}+R)(3 \sqrt{\eta_Vd_m}+R)(3
        \sqrt{\eta_Qd_m}+R)(3\sqrt{\eta_Kd_m}+R) =\mathcal O(1/\sqrt{d_m})""",
    relation=AtMost(signed=True), expects="refuted", severity="error", correction="convergence.h-qq-norm-absolute",
    doubt=Doubt(
        r"\boldsymbol{w}_{O} \circ \boldsymbol{\sigma}_{r} \left(\boldsymbol{w}_{V} \boldsymbol{x}^{\top} "
        r"\boldsymbol{\beta}_{i}\right)\right) \boldsymbol{x}^{\top} \boldsymbol{\Gamma}_{i} \boldsymbol{x}",
        r"The dot of $\mathrm{relu}'$ is lost; the entries of $H_{QQ}$ have it."),
    note=r"""The Cauchy-Schwarz step takes $w_V^\top (w_O \circ \mathrm{relu}')$ out of the sum, but it depends on $i$
        through the ReLU, and the $x^\top \Gamma_i x$ have either sign. For tokens 1 and -1 they cancel, as $\beta_2$ is
        $\beta_1$ reversed, while each neuron is on for one of the two: the bound is 0 for all weights, at every width,
        and the norm almost surely is not. With $|x^\top \Gamma_i x|$ inside the sum the order is right. The bound of
        $\|w_Q\|_2$ for a factor $\|w_K\|_2$ is right where $\eta_Q = \eta_K$, as in Table 1. $\Gamma_i$ is the matrix
        of convergence.gamma-def-matrix.""")  # fmt: skip


def _sum_of_sizes(count: int, term: Callable[[int], Any], inside: bool) -> Any:
    """sum_i |term(i)|, or |sum_i term(i)|."""
    return summed(count, lambda i: absolute(term(i))) if inside else absolute(summed(count, term))


def _qq_lines(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, R: Any, inside: bool, power: int = 4) -> list[Any]:
    """The lines of the chain after the norm itself; `inside`: absolute values inside the sum over tokens."""
    d_m, zero = w_Q.shape[0], total(x * 0)
    tau_0, tau_1 = scales(w_Q)
    betas = scalar_attention(x, w_Q, w_K, tau_0)

    def moment(i: int) -> Any:
        return total(x[i] * x[i]) * total(x.T @ covariance_slope(betas[i], x) @ x)

    size = _sum_of_sizes(x.shape[0], moment, inside)
    n_O, n_V, n_K = (frobenius_norm(w) for w in (w_O, w_V, w_K))
    curvature = absolute(total(logit_curvature(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)))
    return [
        curvature * spectral_norm(w_K @ w_K.T),
        size * n_O * n_V * n_K**2 * tau_0 * tau_0 * tau_1,
        size * (sqrt(d_m) * 3 + zero + R) ** power * tau_0 * tau_0 * tau_1,
        size * (zero + R + 3) ** power * sqrt(d_m) / d_m,
    ]


def _qq_norm(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any) -> Any:
    return spectral_norm(block("w_Q", "w_Q")(x, w_Q, w_K, w_V, w_O, *scales(w_Q)))


QQ_NORM.inputs(smallest_constants)


@QQ_NORM.formula
def printed_query_query_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights,
                              R: Radius) -> Any:  # fmt: skip
    """The four lines after ||H_QQ||, the last 3 + R for sqrt(d_m) (3 + R), shape (4,) (Appendix D.3)."""
    return stacked(_qq_lines(x, w_Q, w_K, w_V, w_O, R, inside=False))


@QQ_NORM.oracle
def previous_lines_of_the_printed_chain(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, R: Any) -> Any:
    return stacked([_qq_norm(x, w_Q, w_K, w_V, w_O), *_qq_lines(x, w_Q, w_K, w_V, w_O, R, inside=False)[:-1]])


QQ_NORM.mutant("two weights bounded by 3 sqrt(d_m) + R", power=2)
QQ_NORM.mutant("sum without absolute value", lambda value: -value)


def _ones(d_m: int) -> dict[str, Any]:
    """Tokens 1 and -1, all weights 1, of norm sqrt(d_m) <= 3 sqrt(d_m)."""
    return {"x": [[1], [-1]], **{name: [[1]] * d_m for name in ("w_Q", "w_K", "w_V", "w_O")}}


QQ_NORM.counterexample(
    "tokens 1, -1 and 1/2", x=[[1], [-1], ["1/2"]], w_Q=[[1]], w_K=[[1]], w_V=[[1]], w_O=[[1]], R=0, C_x=1
)
QQ_NORM.counterexample(
    "tokens 1 and -1, d_m = 1, all weights 1: the bound is 0, the norm is not", lambda: {**_ones(1), "R": 0, "C_x": 1}
)
QQ_NORM.counterexample("tokens 1 and -1, d_m = 5, where 1 - 8 exp(-d_m/2) > 0, all weights 1: as at d_m = 1",
    lambda: {**_ones(5), "R": 0, "C_x": 1})  # fmt: skip


QQ_ABSOLUTE = Claim(IN_THE_BALL, "convergence.h-qq-norm-absolute",
    label="D.3, norm of H_QQ with absolute values inside the sum", name="norm of the query Hessian block, corrected",
    statement=r"""\|H_{Q,Q}\|_2\le\tau_0^2\tau_1 \sum_i(x^{(i)})^2|x^\top \Gamma_ix|\,\|w_O\|_2\|w_V\|_2\|w_K\|_2^2
        \le\frac{1}{ \sqrt{d_m}}(3+R)^4 \sum_i(x^{(i)})^2|x^\top\Gamma_ix|\le \frac1{\sqrt{d_m}}(3+R)^4
        \tfrac{\sqrt6}9d_s^{5/2}C_x^5""",
    relation=AtMost(), all_sizes=True, corrects="convergence.h-qq-norm",
    uses=("convergence.gamma-third-moment", "convergence.lemma-20"), of_project=True,
    note=r"""$x^\top \Gamma_i x$ is a third central moment, at most $(\max x - \min x)^3 / (6 \sqrt{3}) \le (\sqrt{6} /
        9) \|x\|_2^3$.""")  # fmt: skip


def _qq_chain(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, R: Any, C_x: Any, power: int = 4,
              inside: bool = True) -> list[Any]:  # fmt: skip
    d_s, d_m = x.shape[0], w_Q.shape[0]
    lines = _qq_lines(x, w_Q, w_K, w_V, w_O, R, inside, power)
    top, bottom = THIRD_MOMENT
    return [*lines, (R + 3) ** power * C_x**5 * (sqrt(d_s) * d_s**2) * sqrt(d_m) * sqrt(top) / (d_m * bottom)]


@QQ_ABSOLUTE.formula
def query_query_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, R: Radius,
                      C_x: Bound) -> Any:  # fmt: skip
    """The five lines after ||H_QQ||, shape (5,)."""
    return stacked(_qq_chain(x, w_Q, w_K, w_V, w_O, R, C_x))


@QQ_ABSOLUTE.oracle
def previous_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, R: Radius,
                   C_x: Bound) -> Any:  # fmt: skip
    return stacked([_qq_norm(x, w_Q, w_K, w_V, w_O), *_qq_chain(x, w_Q, w_K, w_V, w_O, R, C_x)[:-1]])


QQ_ABSOLUTE.mutant("absolute value outside the sum, as printed", inside=False)
QQ_ABSOLUTE.mutant("three weights for four", power=3)


# -- the norm of H_{O,V} -----------------------------------------------------------------------------------------------

OV_NORM = Claim(NTK, "convergence.h-ov-norm", label="D.3, norm of H_OV", name="norm of the output-value Hessian block",
    statement=r"""\|H_{O,V}\|_2=\max_j|H_{O,V}^{(jj)}|\le| \tau_1\sum_ix^\top\beta_i|\le\tau_1
        \sum_i\|x\|_2\|\beta_i\|_2=\mathcal O(1/d_m)""",
    relation=AtMost(signed=True), expects="refuted", severity="error", correction="convergence.h-ov-norm-absolute",
    note=r"""Two defects. The ReLUs are on for some tokens and off for others, so $x^\top \beta_i$ of both signs may
        cancel in the bound and not in the entry: for tokens 1 and -1 the bound is 0 at every width, and the norm almost
        surely is not. And $\tau_1 \sum_i \|x\| \|\beta_i\|$ is $d_m^{-1/2}$ times a number that does not depend on the
        width: $O(d_m^{-1/2})$ and no better, since $\sqrt{d_m} \|H_{OV}\|_2$ tends to $|\sum_i x_i|$
        (convergence.hessian-block-limits). The claim is refuted by the first; Theorem 3 needs no more than
        $O(d_m^{-1/2})$.""")  # fmt: skip


def _ov_lines(x: Any, w_Q: Any, w_K: Any, w_V: Any, inside: bool) -> list[Any]:
    tau_0, tau_1 = scales(w_Q)
    betas = scalar_attention(x, w_Q, w_K, tau_0)
    size = _sum_of_sizes(x.shape[0], lambda i: total(x.T @ betas[i]), inside)
    return [
        maximum(absolute(output_value_entries(x, w_Q, w_K, w_V, tau_0, tau_1))),
        size * tau_1,
        summed(x.shape[0], lambda i: frobenius_norm(x) * frobenius_norm(betas[i])) * tau_1,
    ]


def _ov_norm(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any) -> Any:
    return spectral_norm(block("w_O", "w_V")(x, w_Q, w_K, w_V, w_O, *scales(w_Q)))


@OV_NORM.formula
def printed_output_value_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights) -> Any:
    """The three lines after ||H_OV||, shape (3,) (Appendix D.3)."""
    return stacked(_ov_lines(x, w_Q, w_K, w_V, inside=False))


OV_NORM.oracle(
    lambda x, w_Q, w_K, w_V, w_O: stacked([_ov_norm(x, w_Q, w_K, w_V, w_O), *_ov_lines(x, w_Q, w_K, w_V, False)[:-1]])
)
OV_NORM.mutant("mean over the tokens", lambda value, x: value / x.shape[0])
OV_NORM.mutant("tau_0 for tau_1", lambda value, w_Q: value / sqrt(w_Q.shape[0] + 1))
OV_NORM.counterexample("tokens 1 and -1, d_m = 1, all weights 1: the bound is 0, the entry is not", lambda: _ones(1))
OV_NORM.counterexample(
    "tokens 1 and -1, d_m = 5, where 1 - 8 exp(-d_m/2) > 0, all weights 1: as at d_m = 1", lambda: _ones(5)
)


OV_ABSOLUTE = Claim(NTK, "convergence.h-ov-norm-absolute",
    label="D.3, norm of H_OV with absolute values inside the sum",
    statement=r"""\|H_{O,V}\|_2=\max_j|H_{O,V}^{(jj)}|\le \tau_1\sum_i|x^\top\beta_i|\le\tau_1
        \sum_i\|x\|_2\|\beta_i\|_2\le \frac{1}{\sqrt{d_m}}d_s^{3/2}C_x""",
    name="norm of the output-value Hessian block, corrected", relation=AtMost(), all_sizes=True,
    corrects="convergence.h-ov-norm",
    of_project=True)  # fmt: skip


def _ov_chain(x: Any, w_Q: Any, w_K: Any, w_V: Any, inside: bool = True) -> list[Any]:
    d_s, d_m = x.shape[0], w_Q.shape[0]
    C_x = frobenius_norm(x) / sqrt(d_s)
    return [*_ov_lines(x, w_Q, w_K, w_V, inside), C_x * (sqrt(d_s) * d_s) * sqrt(d_m) / d_m]


@OV_ABSOLUTE.formula
def output_value_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights) -> Any:
    """The four lines after ||H_OV||, shape (4,), with the smallest C_x."""
    return stacked(_ov_chain(x, w_Q, w_K, w_V))


@OV_ABSOLUTE.oracle
def previous_output_value_lines(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights) -> Any:
    return stacked([_ov_norm(x, w_Q, w_K, w_V, w_O), *_ov_chain(x, w_Q, w_K, w_V)[:-1]])


OV_ABSOLUTE.mutant("absolute value outside the sum, as printed", inside=False)
OV_ABSOLUTE.mutant("1/d_m for its square root, as printed",
    lambda value, w_Q: stacked([*value[:-1], value[-1] / sqrt(w_Q.shape[0])]))  # fmt: skip
OV_ABSOLUTE.mutant("C_x for sqrt(d_s) C_x", lambda value, x: stacked([*value[:-1], value[-1] / sqrt(x.shape[0])]))
