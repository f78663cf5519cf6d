"""Upper bounds of the gradients of the loss: Lemma 12 with Eqs. (7)-(10)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS,
    KeyWeights,
    Labels,
    OutputWeights,
    QueryWeights,
    Samples,
    ValueWeights,
    outputs,
)
from theorems.convergence.descent import stacked
from theorems.convergence.gradients import output_weight_gradient, query_gradient, value_gradient
from theorems.convergence.norm_bounds import (
    ASSUMPTION_1,
    PositiveScale,
    balanced_attention,
    bounds_at,
    dominating_token,
    equal_samples,
    length,
    zero_pre_activations,
)
from verify.claims import Claim
from verify.derivatives import jacobian
from verify.matrix import (
    absolute,
    frobenius_norm,
    rational,
    relu,
    sqrt,
    step,
    total,
)
from verify.relations import AtMost
from verify.shapes import Shape

Error = Annotated[Any, Shape("N", "1")]

SMALL = {"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)}
NORMS = "||W_Q||_2 <= lambda_Q, ||W_K||_2 <= lambda_K, ||W_V||_2 <= lambda_V, ||w_O||_2 <= lambda_O"
KINK = "relu'(0) = 0"
LOSS = ["l = ||f - y||^2 / 2, f with the sum over tokens of Appendix C.2", ASSUMPTION_1, NORMS, KINK]


def loss(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Any, tau_1: Any,
) -> Any:  # fmt: skip
    """l = ||f - y||^2 / 2 for the sum over tokens, a scalar (Section 3.2, with f of Appendix C.2)."""
    error = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y
    return total(error * error) * rational(1, 2)


def loss_gradients(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Any, tau_1: Any, *, wanted: tuple[str, ...] = WEIGHTS,
) -> dict[str, Any]:  # fmt: skip
    """Gradients of the loss by differentiation, each row-major in one row."""
    return {name: jacobian(loss, name)(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1) for name in wanted}


def _with_error(X: Any, error: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> dict[str, Any]:
    """Labels y = f - error, so that vanishing and equal residuals are reached."""
    return {
        "X": X, "y": outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - error,
        "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O, "tau_0": tau_0, "tau_1": tau_1,
    }  # fmt: skip


# -- Lemma 12 ----------------------------------------------------------------------------------------------------------

LEMMA_12 = Claim(
    CONVERGENCE,
    "convergence.lemma-12",
    label="Lemma 12",
    statement=r"\|\nabla_{W_Q}\ell\|_F\le2\rho\tau_0\bar\lambda_K\bar\lambda_V\bar\lambda_Od_sC_x^2\|f-y\|_2,\ "
    r"\|\nabla_{W_K}\ell\|_F\le2\rho\tau_0\bar\lambda_Q\bar\lambda_V\bar\lambda_Od_sC_x^2\|f-y\|_2,\ "
    r"\|\nabla_{W_V}\ell\|_F\le\rho\bar\lambda_O\|f-y\|_2,\ \|\nabla_{w_O}\ell\|_2\le\rho\bar\lambda_V\|f-y\|_2",
    assumptions=LOSS,
    relation=AtMost(ascent=False),
    sizes=SMALL,
    proof=("convergence.eq-7-8", "convergence.eq-9-10"),
    doubt="theta^t is extracted as theta^T, and w_O as w_Q in the hypotheses.",
    note="For the average pooling of Eq. (1.2) the left-hand sides are d_s times smaller at the same residual. The bounds"
    " in W_V and w_O are attained at d_s = 1; those in W_Q and W_K use ||diag(beta) - beta beta^T|| <= 2 where 1/2 is sharp.",
)


def _four_bounds(
    X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, shape: dict[str, Any] | None = None
) -> Any:
    """The four right-hand sides; `shape` multiplies some of them."""
    b = bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    size = frobenius_norm(outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y)
    factors = {"W_Q": b.kappa * b.K * b.V * b.O, "W_K": b.kappa * b.Q * b.V * b.O, "W_V": b.O, "w_O": b.V}
    return stacked([b.rho * factors[name] * size * (shape or {}).get(name, 1) for name in WEIGHTS])


@LEMMA_12.inputs
def residuals_of_lemma_12(
    X: Samples, error: Error, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> dict[str, Any]:  # fmt: skip
    return _with_error(X, error, W_Q, W_K, W_V, w_O, tau_0, tau_1)


@LEMMA_12.formula
def loss_gradient_bounds(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    """Bounds of the gradients of the loss in W_Q, W_K, W_V, w_O, shape (4,) (Lemma 12)."""
    return _four_bounds(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


@LEMMA_12.oracle
def loss_gradient_norms(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    slopes = loss_gradients(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return stacked([length(slopes[name], tau_1) for name in WEIGHTS])


LEMMA_12.domain("equal samples")(equal_samples)
LEMMA_12.domain("dominating token")(dominating_token)
LEMMA_12.domain("all pre-activations zero")(zero_pre_activations)
LEMMA_12.domain("balanced attention")(balanced_attention)


LEMMA_12.mutant("d_s in place of d_s^{3/2} in rho", lambda value, X: value / sqrt(X.shape[1]))
LEMMA_12.mutant("N^{1/2} dropped in rho", lambda value, X: value / sqrt(X.shape[0]))


@LEMMA_12.mutant("lambda_O and lambda_V exchanged in the last two")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    b = _four_bounds(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return stacked([b[0], b[1], b[3], b[2]])


@LEMMA_12.mutant("C_x^2 dropped for W_Q and W_K")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    C_x = bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1).C_x
    return _four_bounds(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, {"W_Q": 1 / C_x**2, "W_K": 1 / C_x**2})


@LEMMA_12.mutant("||f - y|| squared")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    size = frobenius_norm(outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y)
    return _four_bounds(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1) * size


# -- Eqs. (7)-(10) -----------------------------------------------------------------------------------------------------

EQ_7_8 = Claim(
    CONVERGENCE,
    "convergence.eq-7-8",
    label="Eqs. (7), (8)",
    statement=r"\nabla_{W_V}\ell:\ \tau_1\|\sum_n(f(X_n)-y_n)\sum_i(w_O\circ\dot\sigma_r(W_VX_n^\top\beta_{i,n}))"
    r"\beta_{i,n}^\top X_n\|_F\le\tau_1\sum_n|f(X_n)-y_n|d_s^{3/2}\bar\lambda_OC_x\le\rho\bar\lambda_O\|f-y\|_2;\quad"
    r" \nabla_{w_O}\ell:\ \tau_1\|\sum_n(f(X_n)-y_n)\sum_i\sigma_r(W_VX_n^\top\beta_{i,n})\|_2\le\rho\bar\lambda_V\|f-y\|_2",
    assumptions=LOSS,
    relation=AtMost(ascent=False),
    sizes=SMALL,
    uses=("convergence.d1-gradients", "convergence.lemma-8"),
    doubt="In (7) the extraction draws the square root over d_s^{3/2} lambda_O C_x as well; in (8) it ends before, and so"
    " it is read.",
    note="Every line is compared with the next; equalities are compared both ways, so the ratio reported is 1, and"
    " Lemma 12 says how tight the outer bounds are. The minus sign in front of the sums is misplaced, inside norms.",
)

EQ_9_10 = Claim(
    CONVERGENCE,
    "convergence.eq-9-10",
    label="Eqs. (9), (10)",
    statement=r"\nabla_{W_Q}\ell:\ \tau_0\tau_1\|\sum_n(f(X_n)-y_n)\sum_iW_KX_n^\top(\mathrm{diag}(\beta_{i,n})"
    r"-\beta_{i,n}\beta_{i,n}^\top)X_nW_V^\top(w_O\circ\dot\sigma_r(W_VX_n^\top\beta_{i,n}))X_n^{(i,:)}\|_F\le2\tau_0\tau_1"
    r"\sum_n|f(X_n)-y_n|d_s\bar\lambda_K\bar\lambda_V\bar\lambda_O(C_x\sqrt{d_s})^3=2\rho\tau_0\bar\lambda_K\bar\lambda_V"
    r"\bar\lambda_Od_sC_x^2\|f-y\|_2\text{ (after Cauchy-Schwarz)};\ \ \|\nabla_{W_K}\ell\|_F\le2\rho\tau_0\bar\lambda_Q"
    r"\bar\lambda_V\bar\lambda_Od_sC_x^2\|f-y\|_2",
    assumptions=LOSS,
    relation=AtMost(ascent=False),
    sizes=SMALL,
    uses=("convergence.d1-gradients", "convergence.gradient-wk"),
    doubt="The extraction loses the dot of relu' and prints W_k for W_K, against Appendix D.1.",
    note="Equalities are compared both ways, so the ratio reported is 1; Lemma 12 says how tight the outer bounds are.",
)


def _lines_after(
    wrt: str, X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any,
    gate: Any = step, factor: Any = None, samples: Any = None,
) -> list[Any]:  # fmt: skip
    """The lines of Eqs. (7), (8), (9) or (10) that follow the norm of the gradient.

    They are the norm of its closed form, the bound by sum_n |f(X_n) - y_n|, and the bound by ||f - y||_2; for W_K the last
    only.  `factor` multiplies the bounds, `samples` stands for the N of the last one.
    """
    b = bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    N = X.shape[0]
    error = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y
    per_sample = b.per_sample * (1 if factor is None else factor(b))
    each = (
        per_sample * {"W_V": b.O, "w_O": b.V, "W_Q": b.kappa * b.K * b.V * b.O, "W_K": b.kappa * b.Q * b.V * b.O}[wrt]
    )
    last = each * sqrt(N if samples is None else samples) * frobenius_norm(error)
    if wrt == "W_K":
        return [last]
    arguments = (W_Q, W_K, W_V, w_O, tau_0, tau_1)
    slopes = {
        "W_V": lambda x: value_gradient(x, *arguments, gate=gate),
        "W_Q": lambda x: query_gradient(x, *arguments, gate=gate),
        "w_O": lambda x: output_weight_gradient(x, W_Q, W_K, W_V, tau_0, tau_1),
    }
    closed = length(sum(slopes[wrt](X[n]) * error[n, 0] for n in range(N)), tau_1)
    return [closed, each * total(absolute(error)), last]


def _larger(names: tuple[str, ...], *arguments: Any, **changes: Any) -> Any:
    """The larger sides: closed form >= gradient, gradient >= closed form, and every line after its predecessor."""
    slopes = loss_gradients(*arguments, wanted=names)
    tau_1, larger = arguments[-1], []
    for name in names:
        lines = _lines_after(name, *arguments, **changes)
        larger += lines if len(lines) == 1 else [lines[0], length(slopes[name], tau_1), *lines[1:]]
    return stacked(larger)


def _smaller(names: tuple[str, ...], *arguments: Any) -> Any:
    """The smaller sides, in the order of `_larger`."""
    slopes = loss_gradients(*arguments, wanted=names)
    tau_1, smaller = arguments[-1], []
    for name in names:
        gradient, lines = length(slopes[name], tau_1), _lines_after(name, *arguments)
        smaller += [gradient] if len(lines) == 1 else [gradient, lines[0], *lines[:-1]]
    return stacked(smaller)


@EQ_7_8.inputs
def residuals_of_eqs_7_8(
    X: Samples, error: Error, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> dict[str, Any]:  # fmt: skip
    return _with_error(X, error, W_Q, W_K, W_V, w_O, tau_0, tau_1)


@EQ_7_8.formula
def lines_of_eqs_7_8(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    """Closed form, gradient and the two bounds for W_V, then for w_O, shape (8,) (Eqs. (7), (8))."""
    return _larger(("W_V", "w_O"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


EQ_7_8.oracle(
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _smaller(("W_V", "w_O"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
)


EQ_7_8.domain("equal samples")(equal_samples)
EQ_7_8.domain("dominating token")(dominating_token)
EQ_7_8.domain("all pre-activations zero")(zero_pre_activations)
EQ_7_8.domain("balanced attention")(balanced_attention)


EQ_7_8.mutant(
    "relu for relu' in (7)",
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _larger(
        ("W_V", "w_O"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gate=relu
    ),
)
EQ_7_8.mutant(
    "d_s in place of d_s^{3/2}",
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _larger(
        ("W_V", "w_O"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, factor=lambda b: 1 / sqrt(b.d_s)
    ),
)
EQ_7_8.mutant(
    "N^{1/2} dropped",
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _larger(
        ("W_V", "w_O"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, samples=1
    ),
)


@EQ_9_10.inputs
def residuals_of_eqs_9_10(
    X: Samples, error: Error, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> dict[str, Any]:  # fmt: skip
    return _with_error(X, error, W_Q, W_K, W_V, w_O, tau_0, tau_1)


@EQ_9_10.formula
def lines_of_eqs_9_10(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    """Closed form, gradient and the two bounds for W_Q, then the bound for W_K, shape (5,) (Eqs. (9), (10))."""
    return _larger(("W_Q", "W_K"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


EQ_9_10.oracle(
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _smaller(("W_Q", "W_K"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
)


EQ_9_10.domain("equal samples")(equal_samples)
EQ_9_10.domain("dominating token")(dominating_token)
EQ_9_10.domain("all pre-activations zero")(zero_pre_activations)
EQ_9_10.domain("balanced attention")(balanced_attention)


EQ_9_10.mutant(
    "relu for relu'",
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _larger(
        ("W_Q", "W_K"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, gate=relu
    ),
)
EQ_9_10.mutant(
    "C_x for C_x^3",
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _larger(
        ("W_Q", "W_K"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, factor=lambda b: 1 / b.C_x**2
    ),
)
EQ_9_10.mutant(
    "N^{1/2} dropped",
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _larger(
        ("W_Q", "W_K"), X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1, samples=1
    ),
)
