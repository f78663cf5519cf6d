"""Lines of the proofs of Lemmas 7, 9, 10, 13 and 14 that stand between their first line and the lemma."""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS, KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights, last_hidden_layer,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, KINK, NORMS, SCALES_POSITIVE, TAU_0_POSITIVE, NormBounds, PositiveScale, at_both_ends, stacked,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import close_pairs, dominating_token, from_zero
from theorems.convergence.part_c_1_lemmas.jacobian_bounds import jacobian_by_differentiation
from theorems.convergence.part_c_1_lemmas.lipschitz import lines_of_the_chain, two_tokens_at_equal_weights
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens, attention_rows, network_gradient
from verify.matrix import (
    absolute, each, frobenius_norm, maximum, rational, row_norms, spectral_norm, sqrt, summed, total,
)  # fmt: skip
from verify.vocabulary import AtMost, Claim, Definition, Doubt, Setting

BOUNDS = [ASSUMPTION_1, NORMS]
MOVING = Setting(
    CONVERGENCE, "Appendix C.1, lines of proofs", sizes={"d_s": (1, 3), "d": (1, 3), "d_m": (1, 3)},
    special_domains={"weights zero at t": from_zero, "close pairs": close_pairs},
)  # fmt: skip

# -- Lemma 7 -----------------------------------------------------------------------------------------------------------

LEMMA_7 = Claim(MOVING, "convergence.lemma-7-chain", label="Proof of Lemma 7, all lines",
    statement=r"""\|\beta_i^{t'}-\beta_i^t\|_2\le\|\beta_i^{t'}-\beta_i^t\|_1\le2\|\tau_0X^{(i,:)}W_Q^{t'\top}W_K^{t'}X^\top
        -\tau_0X^{(i,:)}W_Q^{t\top}W_K^tX^\top\|_\infty=2\max_j|\tau_0X^{(i,:)}W_Q^{t'\top}W_K^{t'}X^{(j,:)\top}
        -\tau_0X^{(i,:)}W_Q^{t\top}W_K^tX^{(j,:)\top}|\le2\max_j(\tau_0\|X^{(i,:)}\|_2\|W_Q^{t'\top}W_K^{t'}
        -W_Q^{t\top}W_K^t\|_2\|X^{(j,:)}\|_2)\le2\tau_0C_x^2d_s\|W_Q^{t'\top}W_K^{t'}-W_Q^{t\top}W_K^t\|_2
        \le2\tau_0C_x^2d_s(\|W_Q^{t'}\|_2\|W_K^{t'}-W_K^t\|_2+\|W_K^t\|_2\|W_Q^{t'}-W_Q^t\|_2)
        \le2\tau_0C_x^2d_s(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2+\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2)""",
    name="lines of the Lipschitz bound of attention", all_sizes=True,
    relation=AtMost(left="the members but the last, each for every token", ascent=False),
    assumptions=[*BOUNDS, TAU_0_POSITIVE],
    uses=("convergence.lemma-7-edelman",),
    doubt=Doubt((
        r"\boldsymbol{W}_{K}^{t'}-\boldsymbol{W}_{Q}^{t\top} \boldsymbol{W}_{K}^{t}\right\|_{2} + \|\boldsymbol{W}_{K}^{t}\|_{2}",
        r"\left\|\boldsymbol{W}_{Q}^{t'}\right\|_{2}+ \left\|\boldsymbol{W}_{K}^{t}\right\|_{2}+ \left\|\boldsymbol{W}_{K}^{t}",
    ),
        """The line with the change of the product ends with a part of the next one, whose brackets do not close, and the line
            after that repeats a norm: the extraction has mixed the three. Taken is the first without that part, and the
            second in the form in which it stands whole."""),
    note="Each member is compared with the next, for every token. The lemma itself is convergence.lemma-7.",
)  # fmt: skip
LEMMA_7.domain("two tokens at equal weights")(two_tokens_at_equal_weights)


def _members_of_lemma_7(X: Any, W_Q: Any, W_K: Any, W_Q_0: Any, W_K_0: Any, tau_0: Any, power: int = 2,
                        keys: Any = 1) -> list[Any]:  # fmt: skip
    """The members of the chain in turn, each for every token."""
    b = NormBounds(X.reshape(1, *X.shape), list(at_both_ends(W_Q, W_K, W_Q_0, W_K_0)), tau_0, 1)
    betas, betas_0 = attention_rows(X, W_Q, W_K, tau_0), attention_rows(X, W_Q_0, W_K_0, tau_0)
    change = W_Q.T @ W_K - W_Q_0.T @ W_K_0
    longest, moved_Q, moved_K = maximum(row_norms(X)), spectral_norm(W_Q - W_Q_0), spectral_norm(W_K - W_K_0)
    outer = tau_0 * b.C_x**power * (2 * b.d_s)
    shared = [
        outer * spectral_norm(change),
        outer * (spectral_norm(W_Q) * moved_K + spectral_norm(W_K_0) * moved_Q * keys),
        outer * (b.Q * moved_K + b.K * moved_Q * keys),
    ]

    def of_token(i: int) -> list[Any]:
        shift = betas[i] - betas_0[i]
        logits = maximum(absolute(X[i : i + 1] @ change @ X.T)) * tau_0 * 2
        largest = longest * frobenius_norm(X[i : i + 1]) * spectral_norm(change) * tau_0 * 2
        return [frobenius_norm(shift), total(absolute(shift)), logits, largest, *shared]

    def member(k: int) -> Any:
        return each(X.shape[0], lambda i: of_token(i)[k])

    return [member(k) for k in range(7)]


@LEMMA_7.formula
def larger_lines_of_lemma_7(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_Q_0: QueryWeights, W_K_0: KeyWeights,
                            tau_0: PositiveScale) -> Any:  # fmt: skip
    """The members from the second on, each for every token, stacked (proof of Lemma 7)."""
    return stacked(_members_of_lemma_7(X, W_Q, W_K, W_Q_0, W_K_0, tau_0)[1:])


LEMMA_7.oracle(
    lambda X, W_Q, W_K, W_Q_0, W_K_0, tau_0: stacked(_members_of_lemma_7(X, W_Q, W_K, W_Q_0, W_K_0, tau_0)[:-1])
)
LEMMA_7.mutant("C_x for its square", power=1)
LEMMA_7.mutant("movement of W_Q dropped", keys=0)
LEMMA_7.mutant("a third of every member", lambda value: value * rational(1, 3))


# -- Lemma 9 -----------------------------------------------------------------------------------------------------------

EQ_6 = Claim(MOVING, "convergence.eq-6-lines", label="Eq. (6), from the third line on",
    statement=r"""\tau_1\sum_{i=1}^{d_s}(\|(W_V^{t'}-W_V^t)X^\top\beta_i^{t'}\|_2+\|W_V^tX(\beta_i^{t'}-\beta_i^t)\|_2)
        \le\tau_1\sum_{i=1}^{d_s}(\|W_V^{t'}-W_V^t\|_2\|X\|_2\|\beta_i^{t'}\|_2+\|W_V^t\|_2\|X\|_2\|\beta_i^{t'}-\beta_i^t\|_2)
        \le\tau_1C_x\sqrt{d_s}\sum_{i=1}^{d_s}(\|W_V^{t'}-W_V^t\|_2+\bar\lambda_V\|\beta_i^{t'}-\beta_i^t\|_2)
        \le\tau_1C_xd_s^{3/2}(\|W_V^{t'}-W_V^t\|_2+\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2
        +\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2))""",
    name="lines of the Lipschitz bound of the hidden layer", relation=AtMost(ascent=False), all_sizes=True,
    assumptions=[*BOUNDS, *SCALES_POSITIVE],
    uses=("convergence.lemma-9-split", "convergence.lemma-8", "convergence.lemma-7"),
    doubt=Doubt(
        r"\left\| \boldsymbol{W}_{V}^{t} \boldsymbol{X} (\boldsymbol{\beta}_{i}^{t'}-\boldsymbol{\beta}_{i}^{t}) "
        r"\right\|_{2}",
        "$X$ has lost its transpose, as convergence.lemma-9-split says."),
    note="""Each line is compared with the next; the lines before are convergence.lemma-9-split. The number of the display is lost
        in the extraction, and the text refers to Eq. (6).""",
)  # fmt: skip
EQ_6.domain("dominating token", dominating_token)


def _lines_of_eq_6(X: Any, ends: Any, tau_0: Any, tau_1: Any, root: Any = 1, attention: Any = 1) -> list[Any]:
    b = NormBounds(X.reshape(1, *X.shape), list(ends), tau_0, tau_1)
    new, old = ends
    betas, betas_0 = (attention_rows(X, W["W_Q"], W["W_K"], tau_0) for W in ends)
    moved = {name: spectral_norm(new[name] - old[name]) for name in ("W_Q", "W_K", "W_V")}
    norm, d_s = spectral_norm(X), X.shape[0]

    def shift(i: int) -> Any:
        return frobenius_norm(betas[i] - betas_0[i])

    fourth = summed(
        d_s, lambda i: moved["W_V"] * norm * frobenius_norm(betas[i]) + spectral_norm(old["W_V"]) * norm * shift(i)
    )
    fifth = summed(d_s, lambda i: moved["W_V"] + b.V * shift(i)) * b.C_x * sqrt(d_s) * root
    last = (
        b.C_x * d_s * sqrt(d_s) * (moved["W_V"] + b.V * b.kappa * (b.Q * moved["W_K"] + b.K * moved["W_Q"]) * attention)
    )
    return [lines_of_the_chain(X, ends, tau_0, tau_1)[2], fourth * tau_1, fifth * tau_1, last * tau_1]


@EQ_6.formula
def larger_lines_of_eq_6(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_Q_0: QueryWeights,
                         W_K_0: KeyWeights, W_V_0: ValueWeights, tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """The fourth, fifth and last line, shape (3,) (Eq. (6))."""
    return stacked(_lines_of_eq_6(X, at_both_ends(W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0), tau_0, tau_1)[1:])


EQ_6.oracle(
    lambda X, W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0, tau_0, tau_1: stacked(
        _lines_of_eq_6(X, at_both_ends(W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0), tau_0, tau_1)[:-1]
    )
)
EQ_6.mutant("half of the fifth line", root=rational(1, 2))
EQ_6.mutant("change of attention dropped", attention=0)


# -- Lemma 10 ----------------------------------------------------------------------------------------------------------

LEMMA_10 = Claim(MOVING, "convergence.lemma-10-split", label="Proof of Lemma 10, first display",
    statement=r"""\|f^{t'}-f^t\|_2=\|F_{pre}^{t'}w_O^{t'}-F_{pre}^tw_O^t\|_2\le\|F_{pre}^{t'}\|_2\|w_O^{t'}-w_O^t\|_2
        +\|w_O^t\|_2\|F_{pre}^{t'}-F_{pre}^t\|_2""",
    name="change of the output, split",
    general="""It holds of all matrices in the place of the hidden layer: the triangle inequality and the norm of a
        product.""",
    relation=AtMost(ascent=False), all_sizes=True,
    assumptions=[Definition("F_pre with the sum over tokens", by=last_hidden_layer)],
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 3)},
)  # fmt: skip


@LEMMA_10.formula
def split_of_the_output(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                        W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
                        tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """||F||_2 ||w_O - w_O_0||_2 + ||w_O_0||_2 ||F - F_0||_2, a scalar (proof of Lemma 10)."""
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum")
    F_0 = last_hidden_layer(X, W_Q_0, W_K_0, W_V_0, tau_0, tau_1, "sum")
    return spectral_norm(F) * frobenius_norm(w_O - w_O_0) + frobenius_norm(w_O_0) * spectral_norm(F - F_0)


@LEMMA_10.oracle
def change_of_the_output(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, w_O_0: Any,
                         tau_0: Any, tau_1: Any) -> Any:  # fmt: skip
    f = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum") @ w_O
    return frobenius_norm(f - last_hidden_layer(X, W_Q_0, W_K_0, W_V_0, tau_0, tau_1, "sum") @ w_O_0)


LEMMA_10.mutant("change of w_O dropped", "frobenius_norm(w_O - w_O_0) -> 0")
LEMMA_10.mutant("change of F_pre dropped", "spectral_norm(F - F_0) -> 0")


# -- Lemmas 13 and 14 --------------------------------------------------------------------------------------------------

EQ_12_15 = Claim(MOVING, "convergence.eq-12-15", label="Eqs. (12), (15)",
    statement=r"""(12)\ \|\nabla_\theta f\|_2\le\|\nabla_\theta f\|_F=\sqrt{\textstyle\sum_{n=1}^N(\|\nabla_{w_O}f(X_n;\theta)\|_2^2
        +\|\nabla_{w_Q}f(X_n;\theta)\|_F^2+\|\nabla_{w_K}f(X_n;\theta)\|_F^2+\|\nabla_{W_V}f(X_n;\theta)\|_F^2)};\quad
        (15)\ \|\nabla_\theta f^{t'}-\nabla_\theta f^t\|_2^2\le\sum_{n=1}^N(\|\nabla_{w_O}f(X_n;\theta^{t'})
        -\nabla_{w_O}f(X_n;\theta^t)\|_2^2+\|\nabla_{W_V}f(X_n;\theta^{t'})-\nabla_{W_V}f(X_n;\theta^t)\|_F^2
        +\|\nabla_{W_Q}f(X_n;\theta^{t'})-\nabla_{W_Q}f(X_n;\theta^t)\|_F^2+\|\nabla_{W_K}f(X_n;\theta^{t'})
        -\nabla_{W_K}f(X_n;\theta^t)\|_F^2)""",
    name="norm of the Jacobian and of its blocks", relation=AtMost(ascent=False), all_sizes=True,
    assumptions=[
        Definition("f with the sum over tokens; the Jacobian has one row for each sample", by=jacobian_by_differentiation),
        KINK,
    ],
    sizes={"N": (1, 2), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 2)}, uses=("convergence.d1-gradients", "convergence.gradient-wk"),
    note="""The right-hand sides by the closed forms of Appendix D.1, the left-hand sides by differentiation; the equality in (12)
        is compared in both directions.""",
)  # fmt: skip


def _sum_of_squares(X: Any, ends: Any, tau_0: Any, tau_1: Any, without: str = "") -> Any:
    """The sum over samples and weights of squared gradients, or of their change between two ends."""

    def square(n: int, name: str) -> Any:
        slopes = [network_gradient(name, X[n], W["W_Q"], W["W_K"], W["W_V"], W["w_O"], tau_0, tau_1) for W in ends]
        G = slopes[0] - slopes[1] if len(slopes) > 1 else slopes[0]
        return (G * G).sum()

    kept = [name for name in WEIGHTS if name != without]
    return summed(X.shape[0], lambda n: sum(square(n, name) for name in kept)) + tau_1 * 0


@EQ_12_15.formula
def norms_by_blocks(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                    W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
                    tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """The root of (12) twice, the sum of (15), and ||grad f||_F, shape (4,) (Eqs. (12), (15))."""
    new, old = at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0)
    root = sqrt(_sum_of_squares(X, [new], tau_0, tau_1))
    J = jacobian_by_differentiation(X, new, tau_0, tau_1)
    return stacked([root, root, _sum_of_squares(X, [new, old], tau_0, tau_1), frobenius_norm(J + tau_1 * 0)])


@EQ_12_15.oracle
def norms_of_the_jacobian(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, w_O_0: Any,
                          tau_0: Any, tau_1: Any) -> Any:  # fmt: skip
    new, old = at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0)
    J, J_0 = (jacobian_by_differentiation(X, W, tau_0, tau_1) + tau_1 * 0 for W in (new, old))
    root = sqrt(_sum_of_squares(X, [new], tau_0, tau_1))
    return stacked([spectral_norm(J), frobenius_norm(J), spectral_norm(J - J_0) ** 2, root])


EQ_12_15.mutant("gradient in w_O dropped", without="w_O")
EQ_12_15.mutant("gradient in W_V dropped", without="W_V")
