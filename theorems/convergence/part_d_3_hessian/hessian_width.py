"""Theorem 3, the Hessian of the network and its width, and what it says about the tangent kernel.

One sample X; the weights are one matrix theta = [W_Q W_K W_V w_O] of shape (d_m, 3d + 1).  f is the sum over tokens of
Appendix C.2, which bounds the average of Eq. (1.2), and tau_0 = 1/d_m, tau_1 = d_m^{-1/2} (NTK, Table 1).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import WEIGHTS, KeyWeights, OutputWeights, QueryWeights, ValueWeights, outputs
from theorems.convergence.part_c_1_lemmas.constants import Theta, joined, split, stacked
from theorems.convergence.part_c_1_lemmas.extreme_inputs import value_crosses_zero
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens
from verify.matrix import absolute, concatenate, frobenius_norm, maximum, rational, spectral_norm, sqrt
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Reading, Real, Setting, Shape, realises

Radius = Annotated[Any, Real(0.0625, 4.0)]
Constant = Annotated[Any, Real(0.0625, 2.0)]
Column = Annotated[Any, Shape("d_m", "1")]


def network(X: Tokens, theta: Theta) -> Any:
    """f(X), shape (1, 1), under the scaling of Section 4.3."""
    zero = X.sum() * 0
    tau_0, tau_1 = zero + rational(1, theta.shape[0]), zero + 1 / sqrt(theta.shape[0])
    return outputs(X.reshape(1, *X.shape), **split(theta), tau_0=tau_0, tau_1=tau_1, pooling="sum")


def hessian_constant(X: Tokens, R: Any) -> Any:
    """2 c^4 B^5 + (1/2 + sqrt(2)) c^2 sqrt(d_s) B^3 + d_s B with c = 3 + R and B = ||X||_F (see `THM_3.note`)."""
    B, c, d_s = frobenius_norm(X), R + 3, X.shape[0]
    return 2 * c**4 * B**5 + c**2 * B**3 * sqrt(d_s) * rational(1, 2) + c**2 * B**3 * sqrt(d_s) * sqrt(2) + B * d_s


def _norms_in_the_ball(theta: Any, R: Any) -> Any:
    """(3 + R) sqrt(d_m) less the spectral norm of each weight."""
    return stacked([(R + 3) * sqrt(theta.shape[0]) - spectral_norm(W) for W in split(theta).values()])


def two_starts(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
               W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
               R: Radius) -> dict[str, Any]:  # fmt: skip
    """theta and theta^0, each as one matrix."""
    return {"X": X, "theta": joined(W_Q, W_K, W_V, w_O), "theta_0": joined(W_Q_0, W_K_0, W_V_0, w_O_0), "R": R}


NTK = Setting(
    CONVERGENCE,
    "Section 4.3, NTK initialisation",
    assumptions=[
        Definition(
            "NTK initialisation, tau_0 = 1/d_m, tau_1 = d_m^{-1/2}; f with the sum over tokens, at one sample X",
            by=network,
        ),
        Assumption(
            "theta in B(theta^0, R) and ||W^0||_2 <= 3 sqrt(d_m) for the four weights, as Lemma 6 gives for d_m > d with"
            " probability at least 1 - 8 exp(-d_m / 2); then ||W||_2 <= (3 + R) sqrt(d_m)",
            nonnegative=_norms_in_the_ball,
        ),
    ],
    sizes={"d_s": (1, 3), "d": (1, 2), "d_m": (1, 3)},
)
TWO_POINTS = NTK.extended(
    "Section 4.3, NTK initialisation, theta and theta^0",
    assumptions=[Assumption("theta^0 in the same ball", nonnegative=lambda theta_0, R: _norms_in_the_ball(theta_0, R))],
    inputs=two_starts,
)

THM_3 = Claim(NTK, "convergence.thm-3", label="Theorem 3", name="Hessian norm and width",
    statement=r"""\text{Under Assumption 1 and scaling }\tau_0=d_m^{-1}\text{, given any fixed }R>0\text{, and any
        }\theta^t\in B(\theta,R):=\{\theta:\|\theta-\theta^0\|_2\le R\}\text{, }\theta^0\text{ as the weight at
        initialization, then with probability at least }1-8e^{-d_m/2}\text{, the Hessian spectral norm of Transformer
        satisfies: }\|H(\theta^t)\|_2\le\mathcal O(d_m^{-1/2})""",
    assumptions=[Assumption("R > 0", positive=lambda R: stacked([R]))], relation=AtMost(ascent=False), expects="gap",
    uses=("convergence.hessian-block-bounds", "convergence.hessian-block-limits"),
    proof=(
        "convergence.lemma-20", "convergence.h-qq-norm", "convergence.h-qv-qo-norm", "convergence.h-ov-norm",
        "convergence.h-oo-vv",
    ),
    presumes=("convergence.thm-3-any-initialisation",), correction="convergence.thm-3-ntk",
    reading=Reading("the Hessian spectral norm of Transformer",
        r"the Hessian where $f$ is twice differentiable: no pre-activation is 0, and $\mathrm{relu}'' = 0$"),
    missing=r"NTK initialisation $(\tau_1 = d_m^{-1/2}, \eta_O = \eta_V = \eta_Q = \eta_K = 1)$",
    note=r"""$O(d_m^{-1/2})$ with the explicit constant $2 c^4 B^5 + (1/2 + \sqrt2) c^2 \sqrt{d_s} B^3 + d_s B$, $c = 3
        + R$, $B = \|X\|_F \le \sqrt{d_s} C_x$, on the event of probability $1 - 8 \exp(-d_m/2)$ that the proof uses.
        For any $d$; the proof has $d = 1$. With $M = W_Q^\top W_K$, $m_i = X^\top\beta_i$ and $h_i = W_V^\top(w_O
        \circ \mathrm{relu}')$, $f = \tau_1 \sum_i h_i^\top m_i(M)$, $|h_i| \le |w_O| |W_V|$, $dm_i = \tau_0
        \mathrm{Cov}_i\, dM^\top x_i$, $d^2m_i = \tau_0^2 \kappa_i(dM^\top x_i, dM^\top
        x_i)$, where $\mathrm{Cov}_i$ and $\kappa_i$, second and third cumulants of the tokens, are at most $B^2/2$ and
        $B^3$. With $|dM| \le c \sqrt{d_m} (|dW_Q| + |dW_K|)$ and $d^2M = 2\, dW_Q^\top dW_K$, the blocks of $Q$ and $K$
        give $2 c^4 B^5 + c^2 \sqrt{d_s} B^3 / 2$, those with $V$ and $O$ at most $\sqrt2 c^2 \sqrt{d_s} B^3$, that of
        $O$ with $V$ at most $d_s B$, each over $\sqrt{d_m}$. The statement names no initialisation; NTK stands in the
        title of Section 4.3 only. Under LeCun and He initialisation $\tau_1 = 1$, and the block of $O$ and $V$ is of
        order 1 (convergence.thm-3-any-initialisation). At a kink $f$ has no Hessian, and every ball of fixed radius
        holds kinks.""",
    consequence=r"""Under LeCun or He initialisation the Hessian norm does not fall with the width; rely on it for
        $\tau_1 = d_m^{-1/2}$ only, with the constant of convergence.thm-3-ntk.""",
)  # fmt: skip


@THM_3.inputs
def weights_as_one(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                   R: Radius) -> dict[str, Any]:  # fmt: skip
    return {"X": X, "theta": joined(W_Q, W_K, W_V, w_O), "R": R}


@THM_3.formula
def hessian_bound(X: Tokens, theta: Theta, R: Radius) -> Any:
    """hessian_constant / sqrt(d_m), a scalar."""
    return hessian_constant(X, R) / sqrt(theta.shape[0])


@THM_3.oracle
def hessian_norm(X: Tokens, theta: Theta) -> Any:
    """||H||_2 by differentiation."""
    return spectral_norm(hessian(network, ("theta", "theta"))(X, theta) + X.sum() * 0)


@THM_3.domain("small tokens")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Equal small tokens, all neurons active: the block of O and V rules, and at d_s = 1 attains the bound."""
    arrays["X"][:] = 2.0**-12
    for name in WEIGHTS:
        arrays[name][:] = np.abs(arrays[name]) + 2.0**-8


@THM_3.domain("attention of large weights")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Large constant weights and moderate tokens: the blocks of Q and K rule."""
    arrays["X"][:] *= rng.choice([0.25, 0.5, 1.0], (len(arrays["X"]), 1, 1))
    for name in ("W_Q", "W_K"):
        arrays[name][:] *= rng.choice([0.125, 1.0], (len(arrays["X"]), 1, 1))
    for name in ("W_V", "w_O"):
        arrays[name][:] = 3.0


THM_3.mutant("1/d_m, as the proof has it for the block of O and V", "sqrt(theta.shape[0]) -> theta.shape[0]")
THM_3.mutant(
    "tau_1 d_s B dropped: no block of O and V",
    "hessian_constant(X, R) -> hessian_constant(X, R) - frobenius_norm(X) * X.shape[0]",
)
THM_3.mutant("no blocks but that of O and V", lambda X, theta: frobenius_norm(X) * X.shape[0] / sqrt(theta.shape[0]))

THM_3_NTK = THM_3.corrected("convergence.thm-3-ntk", label="Theorem 3, under NTK initialisation, with its constant",
    statement=r"""\eta_O=\eta_V=\eta_Q=\eta_K=1,\ \tau_1=d_m^{-1/2},\ \tau_0=d_m^{-1},\ d_m\ge d,\
        \|\theta^t-\theta^0\|_2\le R:\ \text{with probability at least }1-8e^{-d_m/2},\text{ wherever }f\text{ is twice
        differentiable},\ \|H(\theta^t)\|_2\le d_m^{-1/2}\big(2c^4B^5+(\tfrac12+\sqrt2)c^2\sqrt{d_s}B^3+d_sB\big),\ c=3+R,\
        B=\|X\|_F\le\sqrt{d_s}C_x""",
    name="Hessian norm under NTK initialisation", sizes={"d_s": (1, 3), "d": (1, 2), "d_m": (1, 4)}, mutants=True,
    note=r"""Derived as in the note of convergence.thm-3. Only the probability needs $d_m \ge d$: for fewer neurons the
        weights are longer than $3 \sqrt{d_m}$ as a rule. For the average pooling of Eq. (1.2) the Hessian is $d_s$ times
        smaller.""")  # fmt: skip


THM_3_NTK.formula(hessian_bound)


def lecun_network(X: Any, theta: Any) -> Any:
    """f at one sample, shape (1, 1), with tau_0 = 1/d_m and tau_1 = 1."""
    zero = X.sum() * 0
    tau_0, tau_1 = zero + rational(1, theta.shape[0]), zero + 1
    return outputs(X.reshape(1, *X.shape), **split(theta), tau_0=tau_0, tau_1=tau_1)


@realises({"the token is 1": "the token is the number 1"})
def one_token_at_lecun(w_Q: Column, w_K: Column, w_V: Column, w_O: Column, A: Constant) -> dict[str, Any]:
    return {"X": w_V[:1] * 0 + 1, "theta": joined(w_Q, w_K, w_V, w_O), "A": A}


ANY_INITIALISATION = Claim(CONVERGENCE, "convergence.thm-3-any-initialisation",
    label="Theorem 3, for every initialisation of Table 1", name="Hessian norm under every initialisation",
    statement=r"""\text{Assumption 1, }\tau_0=d_m^{-1},\text{ any row of Table 1, } \theta^t\in B(\theta^0,R): \
        \text{with probability at least }1-8e^{-d_m/2}: \ \|H(\theta^t)\|_2 \le Ad_m^{-1/2},\ A\text{ independent of
        }d_m""",
    assumptions=[
        Definition("LeCun or He initialisation: tau_1 = 1; theta^t = theta^0", by=lecun_network),
        Assumption("d = d_s = 1, the token is 1", zero=lambda X: X - 1),
        Assumption(
            "some value weight is positive, which fails with probability 2^{-d_m} < 1 - 8 exp(-d_m/2) from d_m = 5 on",
            positive=lambda theta: stacked([maximum(split(theta)["W_V"])]),
        ),
        Assumption("d_m > A^2, the width as large as one likes", positive=lambda theta, A: stacked([theta.shape[0] - A * A])),
    ],
    relation=AtMost(ascent=False), sizes={"d_m": (5, 6)}, expects="refuted", severity="error", of_project=True,
    note=r"""$d^2 f / dw_O dw_V$ is $\mathrm{diag}(\mathrm{relu}'(w_V x) x)$, of norm 1 at $x = 1$ at every width, as
        $\tau_1 = 1$. With $\tau_1 = d_m^{-1/2}$ the theorem holds (convergence.thm-3-ntk).""")  # fmt: skip


ANY_INITIALISATION.inputs(one_token_at_lecun)


@ANY_INITIALISATION.formula
def bound_of_any_initialisation(theta: Theta, A: Constant) -> Any:
    """A / sqrt(d_m), a scalar."""
    return A / sqrt(theta.shape[0])


@ANY_INITIALISATION.oracle
def hessian_norm_of_lecun(X: Tokens, theta: Theta) -> Any:
    return spectral_norm(hessian(lecun_network, ("theta", "theta"))(X, theta) + X.sum() * 0)


ANY_INITIALISATION.mutant("A / d_m", "sqrt(theta.shape[0]) -> theta.shape[0]")
ANY_INITIALISATION.mutant("twice the bound", lambda value: 2 * value)
ANY_INITIALISATION.counterexample(
    "one token 1, five neurons, A = 1: the norm is at least 1, the bound below 1/2",
    X=[[1]], theta=[[0, 0, sign, 1] for sign in (1, -1, 1, -1, 1)], A="1",
)  # fmt: skip


REMARK = Claim(TWO_POINTS, "convergence.thm-3-remark", label="Remark after Theorem 3",
    statement=r"""\text{By [Liu et al., 2020, Proposition 2.3], the small Hessian norm is a sufficient condition for
        small change of NTK. Thus, Theorem 3 can be an indicator for the stability of NTK.}""",
    name="stability of the tangent kernel", relation=AtMost(left="change of the tangent kernel", ascent=False),
    expects="refuted", severity="error",
    correction="convergence.thm-3-remark-fixed-pattern", uses=("convergence.hessian-misses-kinks",),
    consequence="""A small Hessian norm does not keep the kernel of a ReLU network constant; it does only while no ReLU
        changes its state (convergence.thm-3-remark-fixed-pattern).""",
    note=r"""Read as that proposition: for every $\epsilon$, a Hessian norm of at most $\epsilon$ on the ball
        bounds the change of the
        gradient by $\epsilon \|\theta - \theta^0\|$, hence that of the kernel $K = \|\nabla f\|^2$ by as much times the
        sum of both gradients' norms. It is the mean value theorem, which needs a gradient without jumps. For ReLU the
        Hessian is small wherever it exists, and the gradient in $W_V$ still jumps, for an entry $w$ of $w_O$ and
        $m = X^\top\beta_i$ by $\tau_1 |w| |m|$, at every kink,
        at any width. That the kernel of a wide ReLU network moves little from a Gaussian start needs another reason:
        that few neurons reach their kinks. The cited proposition is right for models that are twice differentiable, and
        'can be an indicator' claims little. Judged is the sentence about this network, whose Hessian Theorem 3 bounds
        where it exists.""")  # fmt: skip


def _gradients(X: Any, theta: Any, theta_0: Any) -> tuple[Any, Any]:
    """The gradients of f at theta and theta^0, in the arithmetic of X where the network is inactive."""
    after, before = (jacobian(network, "theta")(X, W) + X.sum() * 0 for W in (theta, theta_0))
    return after, before


def _allowed(X: Any, theta: Any, theta_0: Any, R: Any, power: int = 1) -> tuple[Any, Any]:
    """Bounds of the changes of the gradient and of the kernel that the bound of Theorem 3 would give."""
    after, before = _gradients(X, theta, theta_0)
    bound = hessian_constant(X, R) / sqrt(theta.shape[0]) * frobenius_norm(theta - theta_0) ** power
    return bound, bound * (frobenius_norm(after) + frobenius_norm(before))


def _kernel_change(after: Any, before: Any) -> Any:
    """|K(theta) - K(theta^0)| at one sample, K = ||grad f||^2."""
    return absolute((after * after).sum() - (before * before).sum())


@REMARK.formula
def kernel_change_allowed_by_hessian(X: Tokens, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    """epsilon ||theta - theta^0|| (||grad f(theta)|| + ||grad f(theta^0)||), epsilon the bound of Theorem 3, a scalar."""
    return _allowed(X, theta, theta_0, R)[1]


REMARK.oracle(lambda X, theta, theta_0: _kernel_change(*_gradients(X, theta, theta_0)))
REMARK.domain("value crosses zero")(value_crosses_zero)
REMARK.mutant("bound times d_m^{-1/2}", lambda value, theta: value / sqrt(theta.shape[0]))
REMARK.mutant("||theta - theta^0||^2", power=2)


def _values_cross(crossing: int) -> dict[str, Any]:
    """One token 1, five neurons of weights 1; the first value weights move from -10^-6 to 10^-6."""
    e = Fraction(1, 10**6)
    rest = [[1, 1, 1, 1]] * (5 - crossing)
    theta, theta_0 = ([[1, 1, sign * e, 1]] * crossing + rest for sign in (1, -1))
    return {"X": [[1]], "theta": theta, "theta_0": theta_0, "R": Fraction(1)}


REMARK.counterexample("one token 1, five neurons: all value weights move from -10^-6 to 10^-6, the kernel from 0 to 1",
    lambda: _values_cross(5))  # fmt: skip
REMARK.counterexample("one token 1, five neurons: one value weight moves from -10^-6 to 10^-6, the kernel by 1/5",
    lambda: _values_cross(1))  # fmt: skip


def _one_sign(X: Any, theta: Any, theta_0: Any) -> Any:
    """For every neuron the products of w_V^T x_k at theta and w_V^T x_l at theta^0: positive if all have one sign."""
    after, before = (split(W)["W_V"] @ X.T for W in (theta, theta_0))
    return concatenate([(after * before[:, k : k + 1]).reshape(1, -1) for k in range(X.shape[0])], axis=1)


FIXED_PATTERN = Claim(TWO_POINTS, "convergence.thm-3-remark-fixed-pattern",
    label="The remark after Theorem 3, while no ReLU changes its state",
    statement=r"""\text{If }W_Vx_k\text{ has the same signs for all tokens }x_k\text{ and at both ends, }\|\nabla
        f(\theta)-\nabla f(\theta^0)\|_2\le\epsilon\|\theta-\theta^0\|_2,\
        |K(\theta)-K(\theta^0)|\le\epsilon\|\theta-\theta^0\|_2(\| \nabla f(\theta)\|_2+\|\nabla f(\theta^0)\|_2),\
        \epsilon=\mathcal O(d_m^{-1/2})""",
    assumptions=[
        Assumption(
            "for each neuron w_V^T x_k has one sign for all tokens x_k, at theta and theta^0", positive=_one_sign
        ),
    ],
    name="stability of the tangent kernel, fixed pattern", relation=AtMost(ascent=False),
    corrects="convergence.thm-3-remark", of_project=True, sizes={"d_s": (1, 3), "d": (1, 2), "d_m": (1, 6)},
    note=r"""For each token $m_i = X^\top\beta_i$ is an average of tokens, so every pre-activation keeps its sign
        on the segment, which lies in the
        ball; the mean value theorem applies with the constant of Theorem 3 as $\epsilon \sqrt{d_m}$. For $d = 1$:
        positive tokens, and no entry of $w_V$ changes its sign.""")  # fmt: skip


def _positive_and_close(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["X"][:] = np.abs(arrays["X"]) + 2.0**-8
    for name in WEIGHTS:
        arrays[name][:] = np.abs(arrays[name]) + 2.0**-8
        arrays[f"{name}_0"][:] = arrays[name] * (1 + 2.0 ** -rng.integers(1, 8))


def _small_positive(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    _positive_and_close(arrays, sizes, rng)
    arrays["X"][:] = 2.0**-12
    # the direction in which the block of O and V is largest: one neuron, both weights
    for name in WEIGHTS:
        arrays[f"{name}_0"][:] = arrays[name]
    for name in ("W_V", "w_O"):
        arrays[f"{name}_0"][:, 0] += 2.0**-4


FIXED_PATTERN.domain("positive and close")(_positive_and_close)
FIXED_PATTERN.domain("small and positive")(_small_positive)


@FIXED_PATTERN.formula
def changes_allowed_of_fixed_pattern(X: Tokens, theta: Theta, theta_0: Theta, R: Radius) -> Any:
    """The bounds of the changes of the gradient and of the kernel, shape (2,)."""
    return stacked(list(_allowed(X, theta, theta_0, R)))


@FIXED_PATTERN.oracle
def changes_of_fixed_pattern(X: Tokens, theta: Theta, theta_0: Theta) -> Any:
    after, before = _gradients(X, theta, theta_0)
    return stacked([frobenius_norm(after - before), _kernel_change(after, before)])


FIXED_PATTERN.mutant("1/d_m", lambda value, theta: value / sqrt(theta.shape[0]))
FIXED_PATTERN.mutant("||theta - theta^0||^2", power=2)
