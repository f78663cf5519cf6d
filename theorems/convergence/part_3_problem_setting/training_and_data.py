"""Sections 3.2, 4.1 and 4.2: training W_V with W_H = I, and what Assumptions 1 and 2 ask of the data."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights, outputs, self_attention,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import KINK, sample_bound, stacked
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_rows
from theorems.convergence.settings import Positive, Tokens
from verify.matrix import (
    concatenate, each, eye, frobenius_norm, hadamard, normalize_rows, ones, rational, relu, row_norms,
    smallest_singular_value, sqrt, step, summed, total,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, Equal, Shape, Size

HiddenWeights = Annotated[Any, Shape("d_m", "d_m")]
Patches = Annotated[Any, Shape("d_s", "p")]
Layer = Annotated[Any, Shape("d", "p")]
Token = Annotated[Any, Shape("1", "d")]

# -- joint training ----------------------------------------------------------------------------------------------------


def joint_loss(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_H: HiddenWeights,
               w_O: OutputWeights, tau_0: Any, tau_1: Any) -> Any:  # fmt: skip
    """l = ||f - y||^2 / 2 with W_H of Eq. (1.2) kept, a scalar."""
    N, d_s = X.shape[:2]

    def loss_of(n: int) -> Any:
        hidden = relu(self_attention(X[n], W_Q, W_K, W_V, tau_0) @ W_H) * tau_1
        error = (ones(1, d_s) @ hidden @ w_O)[0, 0] * rational(1, d_s) - y[n, 0]
        return error * error

    return summed(N, loss_of) * rational(1, 2)


JOINT = Claim(CONVERGENCE, "convergence.sec-3.2-joint-training", label="Section 3.2, the feed-forward layer, last sentence",
    statement=r"""\text{we combine }W_V\text{ and }W_H\text{ together (by setting }W_H=I\text{) \dots\ it does not mean its
        training dynamics are the same as the joint-training of these two adjacent matrices}""",
    name="training W_V alone and together with W_H", relation=Equal(), all_sizes=True,
    assumptions=[
        Definition("the products W_V^T W_H after one step of gradient descent on W_V and W_H, and on W_V alone", by=joint_loss),
        Definition("W_H starts at the identity", by=eye), KINK,
    ],
    sizes={"N": (1, 2), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 2)},
    note=r"""The two products differ by $-\gamma (W_V - \gamma \nabla_{W_V} \ell)^\top \nabla_{W_H} \ell$, which is compared
        entry by entry; a mutant without this difference, the same dynamics, is told from it. It vanishes where the fit is
        exact or no neuron is active, and otherwise where the columns of the two factors happen to be orthogonal: for one
        sample 1 and $W_V = (1, -1)^\top$ where $\gamma$ times the error times $w_O^{(1)}$ is 2.""",
)  # fmt: skip


@JOINT.formula
def difference_of_products(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                           w_O: OutputWeights, tau_0: Positive, tau_1: Positive, gamma: Positive) -> Any:  # fmt: skip
    """-gamma (W_V - gamma grad_V)^T grad_H in closed form, shape (d, d_m) (Section 3.2)."""
    N, d_s = X.shape[:2]
    errors = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y

    def of_sample(n: int) -> tuple[Any, Any]:
        A_1 = self_attention(X[n], W_Q, W_K, W_V, tau_0)
        gates = hadamard(step(A_1), ones(d_s, 1) @ w_O.T) * errors[n, 0]
        attended = concatenate(attention_rows(X[n], W_Q, W_K, tau_0), axis=1).T @ X[n]
        return gates.T @ attended, A_1.T @ gates

    share = tau_1 * rational(1, d_s)
    grad_V = summed(N, lambda n: of_sample(n)[0]) * share
    grad_H = summed(N, lambda n: of_sample(n)[1]) * share
    return (W_V - grad_V * gamma).T @ grad_H * -gamma


@JOINT.oracle
def products_after_one_step(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                            w_O: OutputWeights, tau_0: Positive, tau_1: Positive, gamma: Positive) -> Any:  # fmt: skip
    d_m = W_V.shape[0]
    W_H = W_V @ W_V.T * 0 + eye(d_m)
    at = (X, y, W_Q, W_K, W_V, W_H, w_O, tau_0, tau_1)
    slopes = {name: jacobian(joint_loss, name)(*at) for name in ("W_V", "W_H")}
    moved = W_V - slopes["W_V"].reshape(*W_V.shape) * gamma
    return moved.T @ (W_H - slopes["W_H"].reshape(d_m, d_m) * gamma) - moved.T


JOINT.mutant("the same dynamics", lambda value: value * 0)
JOINT.mutant("W_V before its step", "W_V - grad_V * gamma -> W_V")
JOINT.mutant("first order only, without gamma^2", lambda value, gamma: value / gamma)


# -- Assumption 1 ------------------------------------------------------------------------------------------------------

SCALING = Claim(CONVERGENCE, "convergence.assumption-1-scaling", label="Remark after Assumption 1, first sentence",
    statement=r"\text{This assumption is standard as we can always scale the input.}",
    name="scaled samples meet Assumption 1", relation=AtMost(ascent=False), all_sizes=True,
    assumptions=[
        Assumption("some sample differs from 0, C_x > 0", positive=lambda X, C_x: sample_bound(X) * C_x),
        Definition("scaled by C_x over the least bound that the samples have", by=sample_bound),
    ],
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3)},
    note=r"""Decided for samples $X_1, ..., X_N$ and any $C_x > 0$: $\|s X_n\|_F \le \sqrt{d_s} C_x$ for $s = C_x / \max_n
        (\|X_n\|_F / \sqrt{d_s})$. Scaling changes the function to be learned: attention of $s X$ is that of $X$ at $s^2
        \tau_0$. A sample space that is compact, as in Section 3.1, is bounded as it stands.""",
)  # fmt: skip


@SCALING.formula
def bounds_of_samples(X: Samples, C_x: Positive) -> Any:
    """sqrt(d_s) C_x for each sample, shape (N,) (Assumption 1)."""
    return stacked([each(X.shape[0], lambda n: C_x * sqrt(X.shape[1]))])


@SCALING.oracle
def norms_of_scaled_samples(X: Samples, C_x: Positive) -> Any:
    return stacked([each(X.shape[0], lambda n: frobenius_norm(X[n]) * C_x / sample_bound(X))])


SCALING.mutant("C_x without sqrt(d_s)", "C_x * sqrt(X.shape[1]) -> C_x")
SCALING.mutant("nine tenths", "C_x * sqrt(X.shape[1]) -> C_x * sqrt(X.shape[1]) * rational(9, 10)")


UNIT = Claim(CONVERGENCE, "convergence.assumption-1-unit-tokens", label="Remark after Assumption 1, second sentence",
    statement=r"""\text{The embedding of token is usually assumed to have a unit norm [Li et al., 2023], which is unrelated to }d.
    """,
    name="samples of unit tokens", relation=Equal(), all_sizes=True,
    assumptions=[
        Assumption("no token is 0", positive=lambda X: row_norms(X)),
        Definition("tokens of unit norm: each row over its norm", by=normalize_rows),
    ],
    sizes={"d_s": (1, 4), "d": (1, 4)},
    note=r"""Tokens of unit norm give $\|X\|_F^2 = d_s$ in every dimension $d$, so Assumption 1 holds with $C_x = 1$. How usual
        the assumption is, is not judged.""",
)  # fmt: skip


@UNIT.formula
def number_of_tokens(X: Tokens) -> Any:
    """d_s C_x^2 at C_x = 1, a scalar (Assumption 1)."""
    return total(X) * 0 + X.shape[0]


@UNIT.oracle
def squared_norm_of_unit_tokens(X: Tokens) -> Any:
    unit = normalize_rows(X)
    return total(unit * unit)


UNIT.mutant("d for d_s", "X.shape[0] -> X.shape[1]")
UNIT.mutant("1", "X.shape[0] -> 1")


# -- Assumption 2 ------------------------------------------------------------------------------------------------------

FITS = Assumption("d_s <= d, without which no X has full row rank", sizes=lambda sizes: sizes["d_s"] <= sizes["d"])


POSITIONS = Claim(CONVERGENCE, "convergence.assumption-2-positions", label="Remark after Assumption 2, language tasks",
    statement=r"""\text{for language tasks, even though there might be some repeated token in }X\text{, each row in }X\text{ can
        be uncorrelated when added with positional embedding}""",
    name="rank of repeated tokens with positions", relation=AtMost(signed=True), all_sizes=True,
    assumptions=[
        FITS, Definition("added with positional embedding: X = 1 a^T + c [I 0] for the token a and a scale c", by=eye),
        Assumption("c > 0", positive=lambda c: c),
    ],
    sizes={"d_s": (1, 3), "d": (1, 4)},
    note=r"""'Can be' says that some embedding does it. For one token repeated throughout and unit positions of scale $c$,
        $\sigma_{\min}(X) \ge c - \sqrt{d_s} \|a\|_2$ is compared, positive for $c > \sqrt{d_s} \|a\|_2$. Not every embedding
        does: $a = -e_1$, $c = 1$ gives a zero row.""",
)  # fmt: skip


@POSITIONS.formula
def singular_value_with_positions(a: Token, c: Positive, d_s: Annotated[int, Size("d_s")]) -> Any:
    """sigma_min(1 a^T + c [I 0]), a scalar, which is to be positive (Assumption 2)."""
    return smallest_singular_value(ones(d_s, 1) @ a + eye(a.shape[1])[:d_s] * c)


@POSITIONS.oracle
def scale_above_the_tokens(a: Token, c: Positive, d_s: int) -> Any:
    return c - sqrt(c * 0 + d_s) * frobenius_norm(a)


POSITIONS.mutant("without positions", "eye(a.shape[1])[:d_s] * c -> eye(a.shape[1])[:d_s] * 0")
POSITIONS.mutant("positions of half the scale", "eye(a.shape[1])[:d_s] * c -> eye(a.shape[1])[:d_s] * (c / 2)")


PATCHES = Claim(CONVERGENCE, "convergence.assumption-2-patches", label="Remark after Assumption 2, image tasks",
    statement=r"""\text{in image tasks \dots\ the raw image is grouped by patch and mapped via a linear layer to construct
        }X\text{, thus each row in }X\text{ can be uncorrelated}""",
    name="rank of patches after a linear layer", relation=AtMost(left="sigma_min(P) sigma_min(W)"), all_sizes=True,
    assumptions=[
        Assumption("d_s <= p <= d for patches of p entries", sizes=lambda sizes: sizes["d_s"] <= sizes["p"] <= sizes["d"]),
        Construction("the patches are the rows of P, the layer takes them to X = P W^T", shapes={"P": ("d_s", "p"),
                     "W": ("d", "p")}),
    ],
    sizes={"d_s": (1, 3), "p": (1, 3), "d": (1, 4)},
    note=r"""'Can be': $\sigma_{\min}(P W^\top) \ge \sigma_{\min}(P) \sigma_{\min}(W)$, so an injective layer keeps the rank of the
        patches. The layer itself adds none: equal patches, such as two of an empty background, stay equal, and 'thus' says
        more than it gives.""",
)  # fmt: skip


@PATCHES.formula
def singular_value_after_the_layer(P: Patches, W: Layer) -> Any:
    """sigma_min(P W^T), a scalar (Assumption 2)."""
    return smallest_singular_value(P @ W.T)


PATCHES.oracle(lambda P, W: smallest_singular_value(P) * smallest_singular_value(W))
PATCHES.mutant("nine tenths of it", lambda value: value * rational(9, 10))
PATCHES.mutant("squared layer", "P @ W.T -> P @ W.T @ W / 4")
