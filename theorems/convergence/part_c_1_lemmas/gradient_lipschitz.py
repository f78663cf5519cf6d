"""How fast the gradient of the network moves: Lemma 14, where it fails, and what holds while no ReLU changes its state."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import WEIGHTS, KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, KINK, NORMS, SCALES_POSITIVE, SUM_OVER_TOKENS, NormBounds, PositiveScale, at_both_ends, distance, same_pattern,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import (
    across_a_kink, close_pairs, equal_ends, opposite_tokens, value_crosses_zero,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.jacobian_bounds import jacobian_by_differentiation
from verify.matrix import spectral_norm, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Setting

WEIGHTS_MOVE = Setting(
    CONVERGENCE,
    "Lemma 14",
    assumptions=[SUM_OVER_TOKENS, ASSUMPTION_1, NORMS, KINK, *SCALES_POSITIVE],
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
)
SAME_SIGNS = Assumption("every pre-activation has the same sign at t and t', none is zero", positive=same_pattern)


LEMMA_14 = Claim(WEIGHTS_MOVE, "convergence.lemma-14", label="Lemma 14, Eqs. (13)-(14)",
    statement=r"""\|\nabla_\theta f^{t'}-\nabla_\theta f^t\|_2\le c_3\|\theta^{t'}-\theta^t\|_2,\
        z\triangleq2\tau_0C_x^2d_s(\bar \lambda_Q+\bar\lambda_K),\ (c_3)^2\triangleq
        N(\tau_1C_xd_s^{3/2}(1+\bar\lambda_Vz))^2+N\{\tau_1C_xd_s^{3/2}[
        \bar\lambda_Oz+\bar\lambda_OC_x\sqrt{d_s}(1+\bar\lambda_Vz)+1]\}^2+N\{\tau_0\tau_1C_xd_s\{2\bar
        \lambda_Kd_sC_x^2[\bar\lambda_V(\bar\lambda_OC_x\sqrt{d_s}(1+\bar\lambda_Vz)+1)+\bar\lambda_O]+\bar\lambda_V\bar
        \lambda_O[C_x^2d_s+3\bar\lambda_Kz]\}\}^2+N\{\tau_0\tau_1C_xd_s\{2\bar\lambda_Qd_sC_x^2[\bar\lambda_V(\bar
        \lambda_OC_x\sqrt{d_s}(1+\bar\lambda_Vz)+1)+\bar\lambda_O]+\bar\lambda_V\bar\lambda_O[C_x^2d_s+3\bar\lambda_Kz]
        \}\}^2""",
    name="Lipschitz bound of the network gradient", relation=AtMost(ascent=False), expects="refuted", severity="error",
    correction="convergence.lemma-14-fixed-pattern",
    proof=(
        "convergence.lemma-14-u-h", "convergence.lemma-14-h-diff", "convergence.eq-16", "convergence.eq-17-18",
        "convergence.eq-19", "convergence.eq-20", "convergence.eq-21", "convergence.eq-22", "convergence.eq-23",
        "convergence.eq-24",
    ),
    consequence="""The gradient of a ReLU network has no Lipschitz constant, so smoothness, step sizes and
        stability derived from $c_3$ hold only while no ReLU changes its state; check that it does not, and use the
        constant of convergence.lemma-14-fixed-pattern.""",
    note=r"""Two independent defects. The gradient jumps where a ReLU changes its state, so no Lipschitz constant
        exists: Eq. (19) treats $\mathrm{relu}'$ as Lipschitz. And away from every kink the printed $c_3$ is too small
        for large $C_x$: Eq. (22) loses the factor $C_x^2 d_s$ of $3 \lambda_K z$ in its last line. The third and fourth
        lines also have $C_x$ for the norm of a token, which Assumption 1 bounds by $\sqrt{d_s} C_x$, and the fourth has
        $\lambda_K$ for $\lambda_Q$ in $3 \lambda_K z$.""")  # fmt: skip


@LEMMA_14.formula
def printed_change_bound(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                         W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
                         tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """c_3 ||theta - theta_0||_2, a scalar, c_3 as printed in Eq. (14)."""
    ends = at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0)
    b = NormBounds(X, list(ends), tau_0, tau_1)
    return b.c_3() * distance(*ends)


@LEMMA_14.oracle
def change_of_the_jacobian(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any,
                           w_O_0: Any, tau_0: Any, tau_1: Any) -> Any:  # fmt: skip
    """||grad f(theta) - grad f(theta_0)||_2, in the arithmetic of tau_1 where the gradients are plain zeros."""
    ends = at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0)
    J, J_0 = (jacobian_by_differentiation(X, W, tau_0, tau_1) for W in ends)
    return spectral_norm(J - J_0 + tau_1 * 0)


LEMMA_14.domain("value crosses zero")(value_crosses_zero)
LEMMA_14.domain("across a kink")(across_a_kink)
LEMMA_14.mutant("constant of a fixed pattern", "b.c_3() -> b.c_3_of_fixed_pattern()")
LEMMA_14.mutant("c_3^2 in place of c_3", "b.c_3() -> b.c_3() ** 2")


@LEMMA_14.counterexample("all sizes 1: W_V moves from -1/1000 to 1/1000, and the gradient in W_V jumps from 0 to 1")
def _() -> dict[str, Any]:
    one, zero, e = [[1]], [[0]], Fraction(1, 1000)
    return {
        "X": [[[1]]], "W_Q": zero, "W_K": zero, "W_V": [[e]], "w_O": one,
        "W_Q_0": zero, "W_K_0": zero, "W_V_0": [[-e]], "w_O_0": one, "tau_0": 1, "tau_1": 1,
    }  # fmt: skip


@LEMMA_14.counterexample("no ReLU changes its state, C_x = 32: the lost factor C_x^2 d_s")
def _() -> dict[str, Any]:
    a, k = 32, 2**18
    q = Fraction(2, 3) / (a * a * k)
    return {
        "X": [[[a], [-a]]], "W_Q": [[q]], "W_K": [[k]], "W_V": [[Fraction(1, 1000 * a)]], "w_O": [[1]],
        "W_Q_0": [[q * Fraction(99, 100)]], "W_K_0": [[k]], "W_V_0": [[Fraction(1, 1000 * a)]], "w_O_0": [[1]],
        "tau_0": 1, "tau_1": 1,
    }  # fmt: skip


FIXED_PATTERN = Claim(WEIGHTS_MOVE, "convergence.lemma-14-fixed-pattern",
    label="Lemma 14, while no ReLU differs in state", name="Lipschitz bound of the network gradient, fixed pattern",
    statement=r"""\tau_0,\tau_1>0:\ \text{If no pre-activation differs in sign, }\|\nabla_\theta f^{t'}-\nabla_\theta f^t\|_2 \le
        c_3'\|\theta^{t'}-\theta^t\|_2,\ (c_3')^2=N\tau_1^2C_x^2d_s^3\big[(1+\bar\lambda_Vz)^2+(\bar\lambda_Oz+1)^2
        +\tau_0^2\sum_{P\in\{K,Q\}}(2\bar\lambda_Pd_sC_x^2(\bar\lambda_V+\bar\lambda_O)
        +\bar\lambda_V\bar\lambda_Od_sC_x^2(1+3\bar\lambda_Pz))^2\big],\quad
        z=2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K)""",
    assumptions=[SAME_SIGNS],
    relation=AtMost(ascent=False), all_sizes=True, sizes={**WEIGHTS_MOVE.sizes, "d_s": (1, 3), "d_m": (1, 3)},
    corrects="convergence.lemma-14", of_project=True,
    uses=("convergence.eq-20-fixed-pattern", "convergence.eq-23-fixed-pattern", "convergence.eq-24-fixed-pattern"),
    note=r"""As Eqs. (15)-(24) with $\mathrm{relu}'$ constant, the factor $C_x^2 d_s$ kept in Eq. (22), tokens bounded
        by $\sqrt{d_s} C_x$, and $\lambda_Q$ where the gradient in $W_K$ needs it.""")  # fmt: skip
FIXED_PATTERN.domain("close pairs", close_pairs)


@FIXED_PATTERN.domain("steep attention")
def steep_attention(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Large opposite tokens, tiny W_V and W_Q, large W_K: where the second derivative of attention rules."""
    batch = len(arrays["X"])
    opposite_tokens(arrays, 32.0)
    arrays["W_K"][:, 0, 0] = 2.0**18
    arrays["W_Q"][:, 0, 0] = 2.0**-28 * rng.integers(1, 4, batch)
    arrays["W_V"][:, :, 0] = 2.0**-15
    arrays["w_O"][:, 0, 0] = 1.0
    equal_ends(arrays)
    arrays["W_Q_0"][:, 0, 0] *= 63 / 64


@FIXED_PATTERN.domain("values only")
def values_only(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """No attention weights, and one of W_V, w_O moves: where the terms 1 of c_3' are attained at d_s = 1."""
    arrays["X"][:] = np.abs(arrays["X"]) + 0.5
    for name in WEIGHTS:
        arrays[name][:] = 0.0
        arrays[f"{name}_0"][:] = 0.0
    arrays["W_V"][:] = arrays["W_V_0"][:] = 2.0**-10
    moved = "w_O" if rng.random() < 0.5 else "W_V"
    arrays[moved][:] += 2.0**-12


def _block(b: NormBounds, norm: Any) -> Any:
    """The block of W_K or W_Q in c_3', whose own norm is that of the other."""
    inner = norm * b.C_x**2 * (2 * b.d_s) * (b.V + b.O) + b.V * b.O * b.C_x**2 * b.d_s * (1 + 3 * norm * b.slope)
    return b.tau_0 * b.per_sample * inner


def _block_as_printed(b: NormBounds, norm: Any) -> Any:
    """The same in c_3, without the term in relu'."""
    inner = norm * b.C_x**2 * (2 * b.d_s) * (b.V + b.O) + b.V * b.O * (b.C_x**2 * b.d_s + 3 * b.K * b.slope)
    return b.tau_0 * b.tau_1 * b.C_x * b.d_s * inner


def _c_3_of_fixed_pattern(b: NormBounds, moved: Any = 1, block: Callable[[NormBounds, Any], Any] = _block) -> Any:
    """c_3' of the statement; `moved` stands for the terms 1 of its first two blocks."""
    first, second = b.per_sample * (b.V * b.slope + moved), b.per_sample * (b.O * b.slope + moved)
    blocks = [first, second, block(b, b.K), block(b, b.Q)]
    return sqrt(sum(size**2 for size in blocks) * b.N)


@FIXED_PATTERN.formula
def change_bound_of_fixed_pattern(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                                  W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
                                  tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """c_3' ||theta - theta_0||_2, a scalar."""
    ends = at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0)
    return _c_3_of_fixed_pattern(NormBounds(X, list(ends), tau_0, tau_1)) * distance(*ends)


FIXED_PATTERN.oracle(change_of_the_jacobian)
FIXED_PATTERN.mutant("terms 1 dropped, as if W_V and w_O did not move", moved=0)
FIXED_PATTERN.mutant("C_x^4 dropped in the blocks of W_Q and W_K", block=lambda b, norm: _block(b, norm) / b.C_x**4)
FIXED_PATTERN.mutant("c_3 as printed, without its term in relu'", block=_block_as_printed)
