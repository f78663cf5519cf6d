"""Section 4.4: what a network with pooled attention can fit, and what it cannot."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Labels, OutputWeights, Samples, ValueWeights, squared_loss
from theorems.convergence.settings import Hidden, Scale, drawn
from verify.matrix import rational, stack_rows
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Setting, Shape, realises

FirstTokens = Annotated[Any, Shape("d_s", "d")]
Errors = Annotated[Any, Shape("2", "1")]
Pair = Annotated[Any, Shape("2", "d_s", "d")]
PairLabels = Annotated[Any, Shape("2", "1")]


def pooled_loss(X: Samples, y: Labels, W_V: ValueWeights, w_O: OutputWeights, tau_1: Any) -> Any:
    """l(theta) with all logits 0, so that attention is the mean over the tokens; a scalar."""
    return squared_loss(X, y, W_V * 0, W_V * 0, W_V, w_O, rational(1), tau_1)


POOLED = Setting(
    CONVERGENCE, "Section 4.4, pooled attention",
    assumptions=[Definition("f as in Eqs. (1.1)-(1.2) with all logits 0, the limit at tau_0 = 1/d_m", by=pooled_loss)],
    sizes={"d_s": (1, 3), "d": (1, 3), "d_m": (1, 3)},
)  # fmt: skip

FIT = Claim(POOLED, "convergence.sec-4.4-pooling-fit", label="Section 4.4, comparison of scaling schemes, the intuition",
    statement=r"""\text{The intuition behind the lower convergence rate under the setting of large width and }\tau_0=d_m^{-1}\text{
        is that the input of softmax is close to zero such that softmax roughly degenerates as a pooling layer, losing the
        ability to fit data.}""",
    name="fitting data with pooled attention", relation=AtMost(left="c (y_1 - y_2)^2", ascent=False), expects="refuted",
    severity="error", correction="convergence.pooled-equal-means-loss",
    assumptions=[Assumption("c > 0", positive=lambda c: c)],
    note=r"""Losing the ability to fit: the loss of two samples with different labels stays above a positive number at all weights.
        It does where the mean tokens agree (convergence.pooled-equal-means-loss), and there attention is what can tell the
        samples apart. Two mean tokens in different directions are fitted with loss 0, and so is any number of them of
        which no two are parallel, by as many neurons. In the set-up of Section 5.1 $\alpha$ is even larger at $1/d_m$
        (convergence.c6-alpha-by-scaling). The
        samples of the counterexample have full row rank, as Assumption 2 asks.""",
)  # fmt: skip


FIT.inputs(drawn(X=Pair, y=PairLabels, W_V=ValueWeights, w_O=OutputWeights, tau_1=Scale, c=Hidden))


@FIT.formula
def loss_of_pooled_attention(X: Pair, y: PairLabels, W_V: ValueWeights, w_O: OutputWeights, tau_1: Scale) -> Any:
    """l(theta) with pooled attention, a scalar (Section 4.4)."""
    return pooled_loss(X, y, W_V, w_O, tau_1)


FIT.oracle(lambda y, c: (y[0, 0] - y[1, 0]) * (y[0, 0] - y[1, 0]) * c)
FIT.mutant("twice the loss and one more", lambda value: 2 * value + 1)
FIT.mutant("no loss", lambda value: value * 0)
FIT.counterexample("mean tokens e_1 and e_2, labels 1 and -1, two neurons: loss 0", X=[[[2, 1], [0, -1]], [[1, 2], [-1, 0]]],
    y=[[1], [-1]], W_V=[[1, 0], [0, 1]], w_O=[[1], [-1]], tau_1=1, c="1/1000000000")  # fmt: skip


EQUAL_MEANS = Claim(POOLED, "convergence.pooled-equal-means-loss", label="Pooled attention on samples with equal mean tokens",
    statement=r"""\text{all logits }0,\ X_1^\top\mathbf 1=X_2^\top\mathbf 1\ \Rightarrow\
        \ell(\theta)\ge\tfrac14(y_1-y_2)^2\text{ for
        all }W_V,w_O\text{ of any width}""",
    name="loss floor of equal mean tokens", relation=AtMost(left="(y_1 - y_2)^2 / 4", ascent=False),
    assumptions=[Assumption("X_1^T 1 = X_2^T 1", zero=lambda X: X[0].sum(0) - X[1].sum(0))],
    corrects="convergence.sec-4.4-pooling-fit", of_project=True,
    note="Pooled attention sees the mean tokens alone, so both outputs agree.")  # fmt: skip


@EQUAL_MEANS.inputs
@realises({"X_1^T 1 = X_2^T 1": ("the last token of the second sample makes up for what the sums differ in")})
def samples_with_equal_means(Y: FirstTokens, Z: FirstTokens, errors: Errors, W_V: ValueWeights, w_O: OutputWeights,
                             tau_1: Scale) -> dict[str, Any]:  # fmt: skip
    """Y, and Z with its last token changed so that the sums agree; `errors` are the labels."""
    last = Y.sum(0).reshape(1, -1) - Z[: Z.shape[0] - 1].sum(0).reshape(1, -1)
    second = stack_rows([*(Z[i : i + 1] for i in range(Z.shape[0] - 1)), last])
    X = stack_rows([Y.reshape(1, -1), second.reshape(1, -1)]).reshape(2, *Y.shape)
    return {"X": X, "y": errors, "W_V": W_V, "w_O": w_O, "tau_1": tau_1}


EQUAL_MEANS.formula(loss_of_pooled_attention)


@EQUAL_MEANS.domain("outputs 0, opposite labels")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Where f is the mean of both labels."""
    arrays["w_O"][:] = 0.0
    arrays["errors"][:, 1] = -arrays["errors"][:, 0]


EQUAL_MEANS.oracle(lambda y: (y[0, 0] - y[1, 0]) * (y[0, 0] - y[1, 0]) * rational(1, 4))
EQUAL_MEANS.mutant("half of the loss", lambda value: value * rational(1, 2))
EQUAL_MEANS.mutant("loss of the first sample alone", "X -> X[:1]; y -> y[:1]")
