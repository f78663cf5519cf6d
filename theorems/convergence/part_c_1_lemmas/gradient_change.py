"""How the gradients in w_O and W_V move between two sets of weights: Eqs. (16)-(20) of the proof of Lemma 14.

The weights of one network are one matrix theta = [W_Q W_K W_V w_O] of shape (d_m, 3d + 1), so that ||theta' - theta||_2
of the paper is a Frobenius norm.  f is the sum over tokens of Appendix C.2; the average of Eq. (1.2) divides every
gradient by d_s, so that each bound that holds for the sum holds for the average too.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, OutputWeights, QueryWeights, ValueWeights, outputs
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, AT_ONE_SAMPLE, KINK, NORMS, NormBounds, PositiveScale, Theta, same_signs, split, stacked, two_ends,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import (
    across_a_kink, close_pairs, dominating_token, equal_ends, opposite_tokens, value_crosses_zero,
)  # fmt: skip
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens, attention_rows, gated_output_weights
from verify.matrix import each, frobenius_norm, maximum, spectral_norm, sqrt, summed
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Doubt, Setting


def _two_ends(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
              W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
              tau_0: PositiveScale, tau_1: PositiveScale) -> dict[str, Any]:  # fmt: skip
    """The weights at t' and, with the suffix _0, at t, each as one matrix."""
    return two_ends(X, W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0, tau_0, tau_1)


ONE_SAMPLE = Setting(
    CONVERGENCE,
    "Proof of Lemma 14, at one sample",
    assumptions=[AT_ONE_SAMPLE, ASSUMPTION_1, NORMS, KINK],
    sizes={"d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
    inputs=_two_ends,
    special_domains={"close pairs": close_pairs, "dominating token": dominating_token},
)
SAME_PATTERN = Assumption("every pre-activation has the same sign at t' and t, none is zero", positive=same_signs)


class Pair:
    """One sample and its weights at t' and t, with the norms that the proof of Lemma 14 speaks of."""

    def __init__(self, X: Any, theta: Any, theta_0: Any, tau_0: Any, tau_1: Any) -> None:
        self.X, self.tau_0, self.tau_1 = X, tau_0, tau_1
        self.ends = [split(theta), split(theta_0)]
        self.b = NormBounds(X.reshape(1, *X.shape), self.ends, tau_0, tau_1)
        self.distance = frobenius_norm(theta - theta_0)
        self.root = sqrt(X.shape[0]) * self.b.C_x  # sqrt(d_s) C_x, the bound of ||X||_F

    def moved(self, name: str) -> Any:
        """||W^{t'} - W^t||_2 of one weight."""
        return spectral_norm(self.ends[0][name] - self.ends[1][name])

    def attention(self) -> list[list[Any]]:
        """beta_1, ..., beta_{d_s} at t' and at t."""
        return [attention_rows(self.X, W["W_Q"], W["W_K"], self.tau_0) for W in self.ends]

    def pre_activations(self) -> list[list[Any]]:
        """W_V X^T beta_i at t' and at t."""

        def at(W: Any, betas: Any) -> list[Any]:
            return self._each(lambda i: W["W_V"] @ self.X.T @ betas[i])

        return [at(W, betas) for W, betas in zip(self.ends, self.attention(), strict=True)]

    def gated(self) -> list[list[Any]]:
        """w_O o relu'(W_V X^T beta_i) at t' and at t."""

        def at(W: Any, activations: Any) -> list[Any]:
            return self._each(lambda i: gated_output_weights(W["w_O"], activations[i]))

        return [at(W, activations) for W, activations in zip(self.ends, self.pre_activations(), strict=True)]

    def _each(self, entry: Callable[[Any], Any]) -> Any:
        """One matrix or scalar for each token."""
        return each(self.X.shape[0], entry)

    def changes(self, ends: list[Any]) -> Any:
        """||a_i - b_i||_F for each token, of two families of matrices."""
        return self._each(lambda i: frobenius_norm(ends[0][i] - ends[1][i]))

    def gradient_change(self, name: str) -> Any:
        """||grad f^{t'} - grad f^t||_F in one weight, by differentiation, a scalar."""
        X = self.X.reshape(1, *self.X.shape)
        J, J_0 = (jacobian(outputs, name)(X, **W, tau_0=self.tau_0, tau_1=self.tau_1, pooling="sum") for W in self.ends)
        return frobenius_norm(J - J_0 + self.tau_1 * 0)

    def attention_speed(self) -> Any:
        """2 tau_0 C_x^2 d_s (lambda_Q ||dW_K|| + lambda_K ||dW_Q||), the middle of Eq. (18)."""
        return self.b.kappa * (self.b.Q * self.moved("W_K") + self.b.K * self.moved("W_Q"))

    def gate_constant(self) -> Any:
        """lambda_O C_x sqrt(d_s) (1 + lambda_V z) + 1, the constant of Eq. (19)."""
        return self.b.O * self.root * (1 + self.b.V * self.b.slope) + 1


def gradient_change_in(name: str) -> Callable[..., Any]:
    """||grad f^{t'} - grad f^t||_F in one weight, as a function of the inputs."""
    return lambda X, theta, theta_0, tau_0, tau_1: Pair(X, theta, theta_0, tau_0, tau_1).gradient_change(name)


def crossing_its_kink(e: Fraction) -> dict[str, Any]:
    """All sizes 1: W_V moves from -e to e, nothing else does."""
    return {"X": [[1]], "theta": [[0, 0, e, 1]], "theta_0": [[0, 0, -e, 1]], "tau_0": 1, "tau_1": 1}


EQ_16 = Claim(ONE_SAMPLE, "convergence.eq-16", label="Eq. (16)", name="change of the output-weight gradient",
    statement=r"""\|\nabla_{w_O}f(X_n;\theta^{t'})-\nabla_{w_O}f(X_n;\theta^t)\|_2=\|f_{pre}^{t'}-f_{pre}^t\|_2
        \le\tau_1C_xd_s^{3/2}\big(\|W_V^{t'}-W_V^t\|_2+\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2
        +\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2)\big)
        \le\tau_1C_xd_s^{3/2}(1+\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K))\|\theta^{t'}-\theta^t\|_2
        =\tau_1C_xd_s^{3/2}(1+\bar\lambda_Vz)\|\theta^{t'}-\theta^t\|_2""",
    relation=AtMost(ascent=False), all_sizes=True,
    note="The left side comes from differentiation; both inequalities are decided.")  # fmt: skip


def _lines_16(q: Pair, values: Any = 1, attention: Any = 1) -> list[Any]:
    first = q.moved("W_V") * values + q.b.V * q.attention_speed() * attention
    last = (1 + q.b.V * q.b.slope * attention) * q.distance
    return [q.b.per_sample * first, q.b.per_sample * last]


@EQ_16.formula
def hidden_layer_change_bounds(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The second and the last line of Eq. (16), shape (2,)."""
    return stacked(_lines_16(Pair(X, theta, theta_0, tau_0, tau_1)))


@EQ_16.oracle
def hidden_layer_change(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return stacked([q.gradient_change("w_O"), _lines_16(q)[0]])


EQ_16.domain("value crosses zero")(value_crosses_zero)
EQ_16.domain("across a kink")(across_a_kink)
EQ_16.mutant("d_s in place of d_s^{3/2}", lambda value, X: value / sqrt(X.shape[0]))
EQ_16.mutant("change of attention dropped", attention=0)
EQ_16.mutant("change of W_V dropped", values=0)


EQ_17_18 = Claim(ONE_SAMPLE, "convergence.eq-17-18", label="Eqs. (17), (18)",
    statement=r"""\|\nabla_{W_V}f(X_n;\theta^{t'})-\nabla_{W_V}f(X_n;\theta^t)\|_F \le\tau_1C_x\sqrt{d_s}\sum_i
        \big[\|w_O^{t'}\circ \sigma_r(W_V^{t'}X_n^\top \beta_{i,n}^{t'})\|_2\,\| \beta_{i,n}^{t'}-\beta_{i,n}^t\|_2
        +\|\beta_{i,n}^t\|_2 +\|w_O^{t'}\circ\sigma_r(W_V^{t'}X_n^\top\beta_{i,n}^t)\|_2\|_2\big]
        \le\tau_1C_x\sqrt{d_s}\sum_i\big[\| \lambda_O\|\beta_{i,n}^{t'}- \beta_{i,n}^t\|_2
        +\|w_O^{t'}\circ\sigma_r(W_V^{t'}X_n^\top\beta_{i,n}^{t'})
        -w_O^t\circ\sigma_r(W_V^tX_n^\top\beta_{i,n}^t)\|_2\big],\quad \|\beta_{i,n}^{t'}-\beta_{i,n}^t\|_2
        \le2\tau_0C_x^2d_s(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2 +\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2) \le
        z\|\theta^{t'}-\theta^t\|_2""",
    name="change of the value gradient, split", relation=AtMost(ascent=False), all_sizes=True,
    uses=("convergence.lemma-7",),
    doubt=Doubt((
        r"\boldsymbol{w}_{O}^{t'} \circ \boldsymbol{\sigma}_{r} \left( \boldsymbol{W}_{V}^{t'} "
        r"\boldsymbol{X}_{n}^{\top} \boldsymbol{\beta}_{i,n}^{t'} \right) \right) \boldsymbol{\beta}_{i,n}^{t'} "
        r"\boldsymbol{X}_{n}",
        r"+ \left\| \boldsymbol{\beta}_{i,n}^{t} \right\|_{2} + \left\| \boldsymbol{w}_{O}^{t'}",
        r"\left[ \left\| \boldsymbol{\lambda}_{O} \right\| \boldsymbol{\beta}_{i,n}^{t'}",
    ),
        r"""Eq. (17) is damaged: its first line repeats terms, the second has lost a product and a difference, the third
            the bar and a norm, and all of them the dots of $\mathrm{relu}'$, which the gradient (Eq. (7)) and the
            sentence after Eq. (18) have. Taken is what the triangle inequality gives, $\|w_O^{t'} \circ
            \dot\sigma_r^{t'}\| \|\beta^{t'} - \beta^t\| + \|\beta^t\| \|w_O^{t'} \circ \dot\sigma_r^{t'} - w_O^t \circ
            \dot\sigma_r^t\|$ for each token, and $\bar\lambda_O$, as Eqs. (19) and (20) need it."""))  # fmt: skip


def _lines_17_18(q: Pair, attention: Any = 1, gates: Any = 1, speed: Any = 1) -> list[Any]:
    betas, gated, d_s = q.attention(), q.gated(), q.X.shape[0]
    moves, changes = q.changes(betas), q.changes(gated)
    first = summed(d_s, lambda i: frobenius_norm(gated[0][i]) * moves[i] * attention
                   + frobenius_norm(betas[1][i]) * changes[i] * gates)  # fmt: skip
    second = summed(d_s, lambda i: q.b.O * moves[i] * attention + changes[i] * gates)
    outer = q.tau_1 * q.root
    return [outer * first, outer * second, q.attention_speed() * speed, q.b.slope * q.distance * speed]


@EQ_17_18.formula
def value_gradient_change_bounds(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """Both right-hand sides of Eq. (17), then both of Eq. (18), shape (4,)."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return stacked(_lines_17_18(q))


@EQ_17_18.oracle
def value_gradient_change(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """What each of them bounds; of the attention rows the one that moves most."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    lines = _lines_17_18(q)
    moves = q.changes(q.attention())
    return stacked([q.gradient_change("W_V"), lines[0], maximum(stacked([moves])), lines[2]])


EQ_17_18.mutant("change of attention dropped in (17)", attention=0)
EQ_17_18.mutant("change of w_O o relu' dropped in (17)", gates=0)
EQ_17_18.mutant("C_x in place of C_x^2 in (18)", "_lines_17_18(q) -> _lines_17_18(q, speed=1 / q.b.C_x)")


EQ_19 = Claim(ONE_SAMPLE, "convergence.eq-19", label="Eq. (19)", name="change of the gated output weights",
    statement=r"""\|w_O^{t'}\circ\sigma_r(W_V^{t'}X_n^\top\beta_{i,n}^{t'})
        -w_O^t\circ\sigma_r(W_V^tX_n^\top\beta_{i,n}^t)\|_2
        \le\|w_O^{t'}\|_2\|\sigma_r(W_V^{t'}X_n^\top\beta_{i,n}^{t'}) -\sigma_r(W_VX_n^\top\beta_{i,n}^t)\|_2
        +\|\sigma_r(W_V^tX_n^\top\beta_{i,n}^t)\circ(w_O^{t'}-w_O^t)\|_2 \le\bar\lambda_O\|W_V^{t'}X_n^\top
        \beta_{i,n}^{t'}-W_V^tX_n^\top \beta_{i,n}^t\|_2+\|w_O^{t'}-w_O^t\|_2 \le\bar\lambda_OC_x\sqrt{d_s}
        \big(\|W_V^{t'}-W_V^t\|_2+\bar\lambda_V2 \tau_0C_x^2d_s(\bar \lambda_Q\|W_K^{t'}-W_K^t\|_2
        +\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2)\big)+\|w_O^{t'}-w_O^t\|_2 \le[\bar\lambda_OC_x\sqrt{d_s}(1+\bar
        \lambda_Vz)+1]\|\theta^{t'}- \theta^\top\|_2""",
    relation=AtMost(ascent=False), expects="refuted", severity="error", correction="convergence.eq-19-fixed-pattern",
    doubt=Doubt((
        r"\left\| \boldsymbol{w}_{O}^{t'} \circ \boldsymbol{\sigma}_{r} \left( \boldsymbol{W}_{V}^{t'} "
        r"\boldsymbol{X}_{n}^{\top} \boldsymbol{\beta}_{i,n}^{t'} \right) - \boldsymbol{w}_{O}^{t} \circ "
        r"\boldsymbol{\sigma}_{r}",
        r"\boldsymbol{\theta}^{t'} - \boldsymbol{\theta}^{\top}",
    ),
        r"""The display has lost the dots of $\mathrm{relu}'$ that the sentence before it has. Without them it would
            fail too: relu is not bounded by 1, which the last step needs. $\theta^\top$ stands for $\theta^t$, as in
            Lemma 12."""),
    note=r"""$\mathrm{relu}'$ is no Lipschitz function: it jumps by 1 at 0, whatever the distance of the
        pre-activations. This is the step on which Lemma 14, Eq. (37) and Proposition 1 fall. Compared are the first
        member with the third, where it fails, and the third with the last.""")  # fmt: skip


def _lines_19(q: Pair) -> Any:
    """The second right-hand side of Eq. (19) for every token."""
    moved, changes = frobenius_norm(q.ends[0]["w_O"] - q.ends[1]["w_O"]), q.changes(q.pre_activations())
    return each(q.X.shape[0], lambda i: q.b.O * changes[i] + moved)


@EQ_19.formula
def gate_change_bounds(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """For every token the second right-hand side, then for every token the last one, shape (2 d_s,)."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return stacked([_lines_19(q), each(X.shape[0], lambda i: q.gate_constant() * q.distance)])


@EQ_19.oracle
def gate_change(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return stacked([q.changes(q.gated()), _lines_19(q)])


EQ_19.domain("value crosses zero")(value_crosses_zero)
EQ_19.domain("across a kink")(across_a_kink)
EQ_19.mutant("w_O taken as fixed", "q.gate_constant() -> q.gate_constant() - 1")
EQ_19.mutant("constant of relu' without lambda_O", "q.gate_constant() * q.distance -> q.distance")
EQ_19.counterexample(
    "all sizes 1: W_V moves from -1/1000 to 1/1000, relu' from 0 to 1", lambda: crossing_its_kink(Fraction(1, 1000))
)


EQ_19_FIXED = Claim(ONE_SAMPLE, "convergence.eq-19-fixed-pattern", label="Eq. (19), while no ReLU differs in state",
    statement=r"""\text{If no pre-activation differs in sign,
        }\|w_O^{t'}\circ\dot\sigma_r(W_V^{t'}X_n^\top\beta_{i,n}^{t'})-w_O^t
        \circ\dot\sigma_r(W_V^tX_n^\top\beta_{i,n}^t)\|_2\le\|w_O^{t'}-w_O^t\|_2""",
    name="change of the gated output weights, fixed pattern", assumptions=[SAME_PATTERN],
    relation=AtMost(ascent=False), all_sizes=True, corrects="convergence.eq-19", of_project=True,
    note="Then both gates are the same 0/1 vector, which shortens no less than the identity.",
)  # fmt: skip


@EQ_19_FIXED.formula
def gate_change_bound_of_fixed_pattern(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """||w_O^{t'} - w_O^t||_2 for every token, shape (d_s,)."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return stacked([each(X.shape[0], lambda i: q.moved("w_O"))])


@EQ_19_FIXED.oracle
def gate_change_of_fixed_pattern(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return stacked([q.changes(q.gated())])


EQ_19_FIXED.mutant("change of the pre-activations instead",
    'q.moved("w_O") -> _lines_19(q)[i] - q.moved("w_O")')  # fmt: skip
EQ_19_FIXED.mutant("change of W_V instead", '"w_O" -> "W_V"')


EQ_20 = Claim(ONE_SAMPLE, "convergence.eq-20", label="Eq. (20)", name="Lipschitz bound of the value gradient",
    statement=r"""\|\nabla_{W_V}f(X_n;\theta^{t'})-\nabla_{W_V}f(X_n;\theta^t)\|_F \le\tau_1C_xd_s^{3/2}[\bar\lambda_Oz
        +\bar\lambda_OC_x\sqrt{d_s}(1+\bar\lambda_Vz)+1]\|\theta^{t'}-\theta^\top\|_2""",
    relation=AtMost(left="change of the gradient in W_V", ascent=False), expects="refuted", severity="error",
    proof=("convergence.eq-17-18", "convergence.eq-19"), correction="convergence.eq-20-fixed-pattern",
    doubt=Doubt(r"\boldsymbol{\theta}^{t'} - \boldsymbol{\theta}^{\top}",
        r"$\theta^\top$ stands for $\theta^t$, as in Lemma 12."),
    note="It inherits the false step of Eq. (19): the gradient in $W_V$ jumps where a ReLU changes its state.",
)  # fmt: skip


@EQ_20.formula
def value_gradient_lipschitz_bound(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The right-hand side of Eq. (20), a scalar."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return q.b.per_sample * (q.b.O * q.b.slope + q.gate_constant()) * q.distance


EQ_20.oracle(gradient_change_in("W_V"))
EQ_20.domain("value crosses zero")(value_crosses_zero)
EQ_20.domain("across a kink")(across_a_kink)
EQ_20.mutant("constant of a fixed pattern", "q.gate_constant() -> 1")
EQ_20.mutant("w_O taken as fixed", "q.b.O * q.b.slope + q.gate_constant() -> q.b.O * q.b.slope + q.gate_constant() - 1")
EQ_20.counterexample("all sizes 1: W_V moves from -1/1000 to 1/1000, and the gradient from 0 to 1",
    lambda: crossing_its_kink(Fraction(1, 1000)))  # fmt: skip


EQ_20_FIXED = Claim(ONE_SAMPLE, "convergence.eq-20-fixed-pattern", label="Eq. (20), while no ReLU differs in state",
    statement=r"""\text{If no pre-activation differs in sign,
        }\|\nabla_{W_V}f(X_n;\theta^{t'})-\nabla_{W_V}f(X_n;\theta^t)\|_F
        \le\tau_1C_xd_s^{3/2}[\bar\lambda_Oz+1]\|\theta^{t'}-\theta^t\|_2,\quad
        z=2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K)""",
    name="Lipschitz bound of the value gradient, fixed pattern", assumptions=[SAME_PATTERN],
    relation=AtMost(left="change of the gradient in W_V", ascent=False), all_sizes=True,
    sizes={**ONE_SAMPLE.sizes, "d_s": (1, 3)},
    uses=("convergence.eq-17-18", "convergence.eq-19-fixed-pattern"), corrects="convergence.eq-20", of_project=True,
)  # fmt: skip


@EQ_20_FIXED.domain("attention moves")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Opposite tokens, each attending to itself, a large w_O, and W_Q moving."""
    opposite_tokens(arrays, 2.0)
    arrays["W_K"][:, 0, 0] = 1.0
    arrays["W_V"][:, :, 0] = 1.0
    arrays["W_Q"][:, 0, 0] = 0.25
    arrays["w_O"][:, 0, 0] = 2.0**12
    equal_ends(arrays)
    arrays["W_Q_0"][:, 0, 0] += 2.0**-7


@EQ_20_FIXED.formula
def value_gradient_bound_of_fixed_pattern(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """tau_1 C_x d_s^{3/2} (lambda_O z + 1) ||theta' - theta||_2, a scalar."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return q.b.per_sample * (q.b.O * q.b.slope + 1) * q.distance


EQ_20_FIXED.oracle(gradient_change_in("W_V"))
EQ_20_FIXED.mutant("w_O taken as fixed", "q.b.per_sample -> q.b.per_sample * q.b.O; q.b.O * q.b.slope + 1 -> q.b.slope")
EQ_20_FIXED.mutant("attention taken as fixed", "q.b.per_sample * (q.b.O * q.b.slope + 1) -> q.b.per_sample")
EQ_20_FIXED.mutant("||theta' - theta||^2", "q.distance -> q.distance * q.distance")
