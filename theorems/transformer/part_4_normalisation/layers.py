"""LayerNorm and RMSNorm with the constant epsilon under the root: invariances and derivatives."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import (
    Epsilon, Gain, Rows, Shift, layer_norm, rms_norm, root_mean_squares,
)  # fmt: skip
from verify.matrix import centred, eye, indexed, ones, rational
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Equal, Real, Setting, Shape

NORMS = Setting(
    TRANSFORMER,
    "Normalisation",
    assumptions=[Assumption("epsilon > 0", positive=lambda epsilon: epsilon)],
    sizes={"n": (1, 3), "d": (1, 5)},
)
Constants = Annotated[Any, Shape("n", "1")]
Factor = Annotated[Any, Real(0.25, 4.0)]


def _of_rows(J: Any, gains: Any) -> Any:
    """blockdiag of the (d, d) blocks J, with columns of outputs scaled by the gains, shape (n d, n d)."""
    return indexed("iab,a,ik->(i a)(k b)", J, gains.reshape(-1), eye(J.shape[0]))


def rms_blocks(X: Any, epsilon: Any) -> Any:
    """(I - x x^T / (d r^2)) / r for every row x with root mean square r, shape (n, d, d)."""
    d, roots = X.shape[1], root_mean_squares(X, epsilon)
    unit = X / roots
    return indexed("io,ab->(i)(a)(b)", 1 / roots, eye(d)) - indexed(
        "ia,ib,io->(i)(a)(b)", unit, unit, 1 / roots
    ) * rational(1, d)


RMS = Claim(NORMS, "transformer.rms-norm-jacobian", label="Derivative of RMSNorm",
    statement=r"""\frac{\partial y}{\partial x} = \operatorname{diag}(\gamma)\frac1r\Big(I - \frac{xx^\top}{dr^2}\Big),\quad r =
        \sqrt{|x|^2/d + \varepsilon}""",
    name="derivative of RMSNorm", relation=Equal(), all_sizes=True)  # fmt: skip


@RMS.formula
def rms_norm_jacobian(X: Rows, gamma: Gain, epsilon: Epsilon) -> Any:
    """The Jacobian in all rows, shape (n d, n d)."""
    return _of_rows(rms_blocks(X, epsilon), gamma)


RMS.oracle(lambda X, gamma, epsilon: jacobian(rms_norm, "X")(X, gamma, epsilon))
RMS.mutant("no epsilon", "epsilon -> 0 * epsilon")
RMS.mutant("no gain", "gamma -> 0 * gamma + 1")

LAYER = Claim(NORMS, "transformer.layer-norm-jacobian", label="Derivative of LayerNorm",
    statement=r"""\frac{\partial y}{\partial x} = \operatorname{diag}(\gamma)\frac1\sigma\Big(I - \frac{zz^\top}{d}\Big)
        \Big(I - \frac{\mathbf 1\mathbf 1^\top}{d}\Big),\quad z = \frac{x - \bar x}\sigma,\ \sigma =
        \sqrt{\operatorname{var}(x) + \varepsilon}""",
    name="derivative of LayerNorm", relation=Equal(), all_sizes=True, uses=("transformer.rms-norm-jacobian",),
    note=r"Shifts of a row are in the kernel; the row itself is not, because of $\varepsilon$.")  # fmt: skip


@LAYER.formula
def layer_norm_jacobian(X: Rows, gamma: Gain, beta: Shift, epsilon: Epsilon) -> Any:
    """The Jacobian in all rows, shape (n d, n d)."""
    d = X.shape[1]
    centring = eye(d) - ones(d, d) * rational(1, d)
    return _of_rows(indexed("iac,cb->(i)(a)(b)", rms_blocks(centred(X), epsilon), centring), gamma)


LAYER.oracle(lambda X, gamma, beta, epsilon: jacobian(layer_norm, "X")(X, gamma, beta, epsilon))
LAYER.mutant("the mean as a constant", "eye(d) - ones(d, d) * rational(1, d) -> eye(d)")
LAYER.mutant("rows not centred", "centred(X) -> X")
LAYER.mutant("no epsilon", "epsilon -> 0 * epsilon + rational(1, 1000)")

SHIFTS = Claim(NORMS, "transformer.layer-norm-shifts", label="LayerNorm does not see shifts",
    statement=r"\operatorname{LN}(X + a\mathbf 1^\top) = \operatorname{LN}(X)",
    name="LayerNorm under shifts of rows", relation=Equal(), all_sizes=True)  # fmt: skip


@SHIFTS.formula
def of_shifted_rows(X: Rows, a: Constants, gamma: Gain, beta: Shift, epsilon: Epsilon) -> Any:
    """LayerNorm of rows to each of which a number is added, shape (n, d)."""
    return layer_norm(X + a @ ones(1, X.shape[1]), gamma, beta, epsilon)


SHIFTS.oracle(lambda X, gamma, beta, epsilon: layer_norm(X, gamma, beta, epsilon))
SHIFTS.mutant(
    "RMSNorm",
    lambda X, a, gamma, beta, epsilon: rms_norm(X + a @ ones(1, X.shape[1]), gamma, epsilon) + beta.reshape(1, -1),
)
SHIFTS.mutant("no shift beta", "beta -> 0 * beta")

SCALES = Claim(NORMS, "transformer.layer-norm-scales", label="LayerNorm of scaled rows",
    statement=r"\operatorname{LN}_{c^2\varepsilon}(cX) = \operatorname{LN}_\varepsilon(X),\quad c > 0",
    name="LayerNorm under scaling", relation=Equal(), all_sizes=True,
    assumptions=[Assumption("c > 0", positive=lambda c: c)],
    note=r"So scale is not seen at $\varepsilon = 0$, and otherwise counts as a smaller or larger $\varepsilon$.")  # fmt: skip


@SCALES.formula
def of_scaled_rows(X: Rows, c: Factor, gamma: Gain, beta: Shift, epsilon: Epsilon) -> Any:
    """LayerNorm of c X with the constant c^2 epsilon, shape (n, d)."""
    return layer_norm(X * c, gamma, beta, epsilon * c * c)


SCALES.oracle(lambda X, gamma, beta, epsilon: layer_norm(X, gamma, beta, epsilon))
SCALES.mutant("epsilon scaled once", "epsilon * c * c -> epsilon * c")
SCALES.mutant("epsilon not scaled", "epsilon * c * c -> epsilon")
