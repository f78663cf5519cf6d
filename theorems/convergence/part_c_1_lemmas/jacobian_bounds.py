"""Upper bounds of the Jacobian of the network: Lemma 13 and the sums in its proof."""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights, outputs
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, KINK, NORMS_ONCE, SCALES_POSITIVE, SUM_OVER_TOKENS, NormBounds, PositiveScale, Weights, bounds_at,
        by_name, length, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import TIGHT_INPUTS
from verify.matrix import concatenate, rational, spectral_norm, sqrt
from verify.oracles import jacobian
from verify.vocabulary import AtMost, Claim, Setting

NETWORK = Setting(
    CONVERGENCE,
    "Lemma 13",
    assumptions=[SUM_OVER_TOKENS, ASSUMPTION_1, NORMS_ONCE, KINK, *SCALES_POSITIVE],
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
    special_domains=TIGHT_INPUTS,
)


def jacobian_blocks(X: Any, theta: Weights, tau_0: Any, tau_1: Any) -> dict[str, Any]:
    """df/dW for each weight by differentiation, for the sum over tokens, row-major, shape (N, |W|)."""
    return {name: jacobian(outputs, name)(X, **theta, tau_0=tau_0, tau_1=tau_1, pooling="sum") for name in theta}


def jacobian_by_differentiation(X: Any, theta: Weights, tau_0: Any, tau_1: Any) -> Any:
    """df/dtheta by differentiation, for the sum over tokens, shape (N, |theta|)."""
    return concatenate(list(jacobian_blocks(X, theta, tau_0, tau_1).values()), axis=1)


LEMMA_13 = Claim(NETWORK, "convergence.lemma-13", label="Lemma 13, Eq. (11)", name="norm of the network Jacobian",
    statement=r"""\|\nabla_\theta f^t\|_2\le c_2,\quad c_2\triangleq\rho\sqrt{\bar\lambda_O^2+\bar\lambda_V^2
        +(2\tau_0\bar\lambda_K\bar\lambda_V\bar\lambda_Od_sC_x^2)^2
        +(2\tau_0\bar\lambda_Q\bar\lambda_V\bar\lambda_Od_sC_x^2)^2}""",
    relation=AtMost(ascent=False), all_sizes=True, sizes={**NETWORK.sizes, "N": (1, 3)},
    proof=("convergence.lemma-13-sums",),
    note="""Checked for the spectral and the Frobenius norm of the Jacobian, as the proof does. For the average pooling
        of Eq. (1.2) the Jacobian is $d_s$ times smaller. Attained at $d_s = 1$ and equal samples, without attention
        weights.""")  # fmt: skip


def _c_2(b: NormBounds, output: Any = 1, value: Any = 1, attention: Any = 1) -> Any:
    """c_2 of Eq. (11), its squares multiplied."""
    mixed = b.kappa * b.V * b.O
    return b.rho * sqrt(b.O**2 * output + b.V**2 * value + mixed**2 * (b.K**2 + b.Q**2) * attention)


@LEMMA_13.formula
def jacobian_bound(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                   tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """c_2, a scalar (Eq. (11))."""
    return _c_2(bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1))


@LEMMA_13.oracle
def jacobian_norms(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    """Spectral and Frobenius norms of the Jacobian."""
    J = jacobian_by_differentiation(X, by_name(W_Q, W_K, W_V, w_O), tau_0, tau_1)
    return stacked([spectral_norm(J), length(J, tau_1)])


LEMMA_13.mutant("lambda_O^2 dropped", output=0)
LEMMA_13.mutant("lambda_V^2 dropped", value=0)
LEMMA_13.mutant("terms of W_Q and W_K dropped", attention=0)
LEMMA_13.mutant("N^{1/2} dropped in rho", lambda value, X: value / sqrt(X.shape[0]))


# -- the sums ----------------------------------------------------------------------------------------------------------

SUMS = Claim(NETWORK, "convergence.lemma-13-sums", label="Proof of Lemma 13, four displayed sums",
    statement=r"""\sum_n\|\nabla_{W_V}f(X_n;\theta)\|_F^2\le(\rho\bar\lambda_O)^2,\
        \sum_n\|\nabla_{w_O}f(X_n;\theta)\|_F\le(\rho\tau_0\bar\lambda_K\bar\lambda_V\bar\lambda_Od_sC_x^2)^2,\
        \sum_n\|\nabla_{w_O}f(X_n;\theta)\|_F\le(2\rho\tau_0\bar\lambda_K\bar\lambda_V\bar\lambda_Od_sC_x^2)^2,\
        \sum_n\|\nabla_{w_O}f(X_n;\theta)\|_F\le(2\rho\tau_0\bar\lambda_Q\bar\lambda_V\bar\lambda_Od_sC_x^2)^2""",
    name="sums of squared network gradients", relation=AtMost(ascent=False), expects="refuted", severity="slip",
    correction="convergence.lemma-13-sums-of-squares",
    note=r"""Eq. (12) sums squares over $w_O$, $W_Q$, $W_K$ and $W_V$; here three lines in a row name $w_O$, without
        squares, and the right-hand side of the second is that of the third less a factor 2, where Eqs. (8) and (11)
        have $(\rho \lambda_V)^2$. Nothing of $\lambda_V$ alone bounds the gradient in $w_O$ as printed: the second
        bound vanishes with $\lambda_K$, the gradient in $w_O$ does not. Lemma 13 itself uses the right sums.""",
)  # fmt: skip


@SUMS.formula
def printed_bounds_of_block_sums(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                                 tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """The four printed right-hand sides, shape (4,) (proof of Lemma 13)."""
    speeds = bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1).speeds()
    return stacked([speeds["W_V"] ** 2, speeds["W_Q"] ** 2 * rational(1, 4), speeds["W_Q"] ** 2, speeds["W_K"] ** 2])


@SUMS.oracle
def printed_block_sums(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    """sum_n ||grad_{W_V} f(X_n)||_F^2, and three times sum_n ||grad_{w_O} f(X_n)||_F, by differentiation."""
    J = jacobian_blocks(X, by_name(W_Q, W_K, W_V, w_O), tau_0, tau_1)
    output = sum(length(J["w_O"][n : n + 1], tau_1) for n in range(X.shape[0]))
    return stacked([(J["W_V"] * J["W_V"]).sum() + tau_1 * 0, output, output, output])


SUMS.mutant("lambda_V for lambda_O in the first line", 'speeds["W_V"] -> speeds["w_O"]')
SUMS.mutant("no factor 2 in the last two lines", lambda value: value * rational(1, 4))
SUMS.counterexample(
    "all sizes and weights 1, tau_0 = 1/2: the gradient in w_O is 1, the second bound 1/4",
    X=[[[1]]], W_Q=[[1]], W_K=[[1]], W_V=[[1]], w_O=[[1]], tau_0="1/2", tau_1=1,
)  # fmt: skip
SUMS.counterexample(
    "the same with w_K = 0: the second and third bound are 0",
    X=[[[1]]], W_Q=[[1]], W_K=[[0]], W_V=[[1]], w_O=[[1]], tau_0="1/2", tau_1=1,
)  # fmt: skip


SQUARES = Claim(NETWORK, "convergence.lemma-13-sums-of-squares",
    label="Proof of Lemma 13, the four sums that Eqs. (7) to (10) bound",
    statement=r"""\sum_n\|\nabla_{W_V}f(X_n)\|_F^2\le(\rho\bar\lambda_O)^2,\
        \sum_n\|\nabla_{w_O}f(X_n)\|_2^2\le(\rho\bar \lambda_V)^2,\
        \sum_n\|\nabla_{W_Q}f(X_n)\|_F^2\le(2\rho\tau_0\bar\lambda_K\bar\lambda_V\bar \lambda_Od_sC_x^2)^2,\
        \sum_n\|\nabla_{W_K}f(X_n)\|_F^2\le(2\rho\tau_0\bar\lambda_Q\bar\lambda_V\bar \lambda_Od_sC_x^2)^2""",
    name="sums of squared network gradients, corrected", relation=AtMost(ascent=False), all_sizes=True,
    corrects="convergence.lemma-13-sums", of_project=True,
    note="The squares of the bounds of Lemma 12 per unit of residual; their sum is $c_2^2$ of Eq. (11).")  # fmt: skip


@SQUARES.formula
def squares_of_block_bounds(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                            tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """The four right-hand sides for W_V, w_O, W_Q, W_K, shape (4,) (Eqs. (7) to (10))."""
    bounds = bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1).speeds()
    return stacked([bounds[name] ** 2 for name in ("W_V", "w_O", "W_Q", "W_K")])


@SQUARES.oracle
def block_sums(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    """sum_n ||grad f(X_n)||_F^2 for each weight, by differentiation."""
    J = jacobian_blocks(X, by_name(W_Q, W_K, W_V, w_O), tau_0, tau_1)
    return stacked([(J[name] * J[name]).sum() + tau_1 * 0 for name in ("W_V", "w_O", "W_Q", "W_K")])


SQUARES.mutant("a quarter of the bound of W_Q for w_O, as printed",
    lambda value: stacked([value[0], value[2] * rational(1, 4), value[2], value[3]]))  # fmt: skip
SQUARES.mutant("lambda_O and lambda_V exchanged", '"W_V" -> "w_O"; "w_O" -> "W_V"')
SQUARES.mutant(
    "C_x^2 dropped for W_Q and W_K",
    lambda value, X: stacked([value[0], value[1], value[2] / sample_bound(X) ** 4, value[3] / sample_bound(X) ** 4]),
)
