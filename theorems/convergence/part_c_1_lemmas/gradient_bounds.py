"""Upper bounds of the gradients of the loss: Lemma 12 with Eqs. (7)-(10), line by line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS, KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights, outputs,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, KINK, NORMS_ONCE, SUM_OVER_TOKENS, NormBounds, PositiveScale, bounds_at, length, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import TIGHT_INPUTS
from theorems.convergence.part_d_1_limiting_kernel.gradients import (
    key_gradient, output_weight_gradient, query_gradient, value_gradient,
)  # fmt: skip
from verify.matrix import absolute, frobenius_norm, rational, relu, sqrt, step, summed, total
from verify.oracles import closed_form, jacobian
from verify.vocabulary import AtMost, Claim, Definition, Doubt, Setting, Shape

Error = Annotated[Any, Shape("N", "1")]


def _with_error(X: Samples, error: Error, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                tau_0: PositiveScale, tau_1: PositiveScale) -> dict[str, Any]:  # fmt: skip
    """Labels y = f - error, so that vanishing and equal residuals are reached."""
    y = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - error
    return {"X": X, "y": y, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O, "tau_0": tau_0, "tau_1": tau_1}


def loss(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
         tau_0: Any, tau_1: Any) -> Any:  # fmt: skip
    """l = ||f - y||^2 / 2 for the sum over tokens, a scalar (Section 3.2, with f of Appendix C.2)."""
    error = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y
    return total(error * error) * rational(1, 2)


LOSS = Setting(
    CONVERGENCE,
    "Lemma 12",
    assumptions=[Definition("l = ||f - y||^2 / 2", by=loss), SUM_OVER_TOKENS, ASSUMPTION_1, NORMS_ONCE, KINK],
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
    inputs=_with_error,
    special_domains=TIGHT_INPUTS,
)


def _of_all_samples(wrt: str, gradient: Callable[..., Any], by: str) -> None:
    """sum_n (f(X_n) - y_n) grad f(X_n), by the chain rule, stands for the gradient of the loss in derivations of bounds."""

    @closed_form(loss, wrt, by)
    def row(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
        error = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y
        at = (W_Q, W_K, W_V, tau_0, tau_1) if wrt == "w_O" else (W_Q, W_K, W_V, w_O, tau_0, tau_1)
        return summed(X.shape[0], lambda n: gradient(X[n], *at) * error[n, 0]).reshape(1, -1)


_of_all_samples("W_Q", query_gradient, "convergence.d1-gradients")
_of_all_samples("W_K", key_gradient, "convergence.gradient-wk")
_of_all_samples("W_V", value_gradient, "convergence.d1-gradients")
_of_all_samples("w_O", output_weight_gradient, "convergence.d1-gradients")


def _gradient_norms(names: tuple[str, ...], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Norms of the gradients of the loss by differentiation."""
    return {name: length(jacobian(loss, name)(*arguments), arguments[-1]) for name in names}


LEMMA_12 = Claim(LOSS, "convergence.lemma-12", label="Lemma 12", name="upper bounds of the loss gradients",
    statement=r"""\|\nabla_{W_Q}\ell(\theta^\top)\|_F\le2 \rho\tau_0\bar\lambda_K\bar\lambda_V\bar
        \lambda_Od_sC_x^2\|f^t-y\|_2,\ \|\nabla_{W_K}\ell(\theta^\top)\|_F\le2 \rho\tau_0\bar\lambda_Q\bar\lambda_V\bar
        \lambda_Od_sC_x^2\|f^t-y\|_2,\ \|\nabla_{W_V}\ell(\theta^\top)\|_F\le\rho\bar\lambda_O\|f^t-y\|_2,\
        \|\nabla_{w_O}\ell(\theta^\top)\|_2\le\rho\bar\lambda_V\|f^t-y\|_2""",
    relation=AtMost(ascent=False), all_sizes=True, proof=("convergence.eq-7-8", "convergence.eq-9-10"),
    doubt=Doubt((r"\|\boldsymbol{w}_Q^t\|_2 \leq \bar{\lambda}_Q", r"\ell(\boldsymbol{\theta}^{\top})"),
        r"""The hypotheses on $W_Q$ and $w_O$ are extracted alike; Lemma 13 has $\|w_O^t\| \le \lambda_O$. $\theta^\top$
            stands for $\theta^t$ throughout."""),
    note=r"""For the average pooling of Eq. (1.2) the left-hand sides are $d_s$ times smaller at the same residual. The
        bounds in $W_V$ and $w_O$ are attained at $d_s = 1$; those in $W_Q$ and $W_K$ use $\|\mathrm{diag}(\beta) -
        \beta \beta^\top\| \le 2$ where 1/2 is sharp.""")  # fmt: skip


@LEMMA_12.formula
def loss_gradient_bounds(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                         w_O: OutputWeights, tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """Bounds of the gradients of the loss in W_Q, W_K, W_V, w_O, shape (4,) (Lemma 12)."""
    speeds = bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1).speeds()
    size = frobenius_norm(outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y)
    return stacked([speeds[name] * size for name in WEIGHTS])


@LEMMA_12.oracle
def loss_gradient_norms(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    return stacked(list(_gradient_norms(WEIGHTS, (X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)).values()))


LEMMA_12.mutant("d_s in place of d_s^{3/2} in rho", lambda value, X: value / sqrt(X.shape[1]))
LEMMA_12.mutant("N^{1/2} dropped in rho", lambda value, X: value / sqrt(X.shape[0]))
LEMMA_12.mutant("lambda_O and lambda_V exchanged in the last two",
    lambda value: stacked([value[0], value[1], value[3], value[2]]))  # fmt: skip
LEMMA_12.mutant(
    "C_x^2 dropped for W_Q and W_K",
    lambda value, X: stacked([value[0] / sample_bound(X) ** 2, value[1] / sample_bound(X) ** 2, value[2], value[3]]),
)
LEMMA_12.mutant("||f - y|| squared", "speeds[name] * size -> speeds[name] * size ** 2")


QUARTER = Claim(LOSS, "convergence.lemma-12-quarter", label="Lemma 12, a quarter of it in W_Q and W_K",
    statement=r"""\|\nabla_{W_Q}\ell(\theta^t)\|_F\le\tfrac12\rho\tau_0\bar\lambda_K\bar\lambda_V\bar\lambda_Od_sC_x^2
        \|f^t-y\|_2,\ \|\nabla_{W_K}\ell(\theta^t)\|_F\le\tfrac12\rho\tau_0\bar\lambda_Q\bar\lambda_V\bar\lambda_O
        d_sC_x^2\|f^t-y\|_2,\text{ and the others as printed}""",
    name="loss gradients in query and key weights, four times smaller", relation=AtMost(ascent=False), all_sizes=True,
    of_project=True, uses=("convergence.lemma-12",),
    note=r"""$\|\mathrm{diag}(\beta) - \beta\beta^\top\| \le 1/2$, where Eqs. (9) and (10) have 2.""")  # fmt: skip


@QUARTER.formula
def smaller_loss_gradient_bounds(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                                 w_O: OutputWeights, tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """Bounds of the gradients of the loss in W_Q, W_K, W_V, w_O, shape (4,): Lemma 12 with the sharp constant of softmax."""
    printed = loss_gradient_bounds(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    return stacked([printed[0] * rational(1, 4), printed[1] * rational(1, 4), printed[2], printed[3]])


QUARTER.oracle(loss_gradient_norms)
QUARTER.mutant("d_s in place of d_s^{3/2} in rho", lambda value, X: value / sqrt(X.shape[1]))
QUARTER.mutant("C_x^2 dropped for W_Q and W_K",
    lambda value, X: stacked([value[0] / sample_bound(X) ** 2, value[1] / sample_bound(X) ** 2, value[2], value[3]]),
)  # fmt: skip
QUARTER.mutant("a sixteenth for W_Q and W_K", "rational(1, 4) -> rational(1, 16)")


EQ_7_8 = Claim(LOSS, "convergence.eq-7-8", label="Eqs. (7), (8)", name="loss gradients in value and output weights",
    statement=r"""\|\nabla_{W_V}\ell(\theta)\|_F=\|{-\sum_n}(f(X_n)-y_n)\tfrac{\partial f(X_n)}{\partial W_V}\|_F
        =\tau_1\|\sum_n(f(X_n)-y_n)\sum_i(w_O\circ\dot\sigma_r(W_VX_n^\top\beta_{i,n}))\beta_{i,n}^\top X_n\|_F
        \le\tau_1\sum_n|(f(X_n)-y_n)|d_s^{3/2}\bar\lambda_OC_x
        \le\tau_1\sqrt{N\textstyle\sum_n|(f(X_n)-y_n)|^2d_s^{3/2}\bar\lambda_OC_x} =\tau_1d_s^{3/2}\bar\lambda_OC_x\sqrt
        N\|f-y\|_2=\rho\bar\lambda_O\|f-y\|_2;\quad
        \|\nabla_{w_O}\ell(\theta)\|_2=\|{-\sum_n}(f(X_n)-y_n)\tfrac{\partial f(X_n)}{\partial w_O}\|_2
        =\tau_1\|\sum_n(f(X_n)-y_n)\sum_i\sigma_r(W_VX_n^\top\beta_{i,n})\|_2
        \le\tau_1\sum_n|(f(X_n)-y_n)|d_s^{3/2}\bar\lambda_VC_x
        \le\tau_1\sqrt{N\textstyle\sum_n|(f(X_n)-y_n)|^2}d_s^{3/2}\bar\lambda_VC_x=\rho\bar\lambda_V\|f-y\|_2""",
    relation=AtMost(left="gradient norms and what bounds them, each the smaller", ascent=False), all_sizes=True,
    uses=("convergence.d1-gradients", "convergence.lemma-8"),
    doubt=Doubt(
        r"\sqrt{N\sum_{n=1}^{N} \left|\left(f(\boldsymbol{X}_{n})-y_{n}\right)\right|^{2} d_{s}^{3/2} "
        r"\bar{\lambda}_{O} C_{x}}",
        r"""The root is drawn over $d_s^{3/2} \bar\lambda_O C_x$ as well; in Eq. (8) it ends before, and so it is taken.
        """),
    note="""Every line is compared with the next; equalities are compared both ways, so the ratio reported is 1, and
        Lemma 12 says how tight the outer bounds are. The minus sign in front of the sums is misplaced, inside norms.
    """)  # fmt: skip
EQ_9_10 = Claim(LOSS, "convergence.eq-9-10", label="Eqs. (9), (10)", name="loss gradients in query and key weights",
    statement=r"""\|\nabla_{W_Q}\ell(\theta)\|_F =\tau_0\tau_1\|\sum_n(f(X_n)-y_n) \sum_iW_kX_n^\top(\mathrm{diag}(
        \beta_{i,n})-\beta_{i,n} \beta_{i,n}^\top)X_nW_V^\top (w_O\circ\sigma_r(W_VX_n^\top\beta_{i,n}))X_n^{(i,:)}\|_F
        \le2\tau_0\tau_1 \sum_n|(f(X_n)-y_n)|\,d_s\bar\lambda_K \bar\lambda_V\bar\lambda_O(C_x \sqrt{d_s})^3
        \le2\tau_0\tau_1\sqrt{N\textstyle \sum_n|(f(X_n)-y_n)|^2}\,d_s\bar \lambda_K\bar\lambda_V\bar\lambda_O(C_x
        \sqrt{d_s})^3 =2\rho\tau_0\bar\lambda_K\bar\lambda_V\bar\lambda_Od_sC_x^2\|f-y\|_2;\ \
        \|\nabla_{W_K}\ell(\theta)\|_F \le2\rho\tau_0\bar\lambda_Q\bar\lambda_V\bar\lambda_Od_sC_x^2\|f-y\|_2""",
    relation=AtMost(left="gradient norms and what bounds them, each the smaller", ascent=False), all_sizes=True,
    uses=("convergence.d1-gradients", "convergence.gradient-wk"),
    doubt=Doubt((
        r"\boldsymbol{W}_{k} \boldsymbol{X}_{n}^{\top}",
        r"\boldsymbol{w}_{O} \circ \boldsymbol{\sigma}_{r} \left( \boldsymbol{W}_{V} \boldsymbol{X}_{n}^{\top} "
        r"\boldsymbol{\beta}_{i,n} \right) \right) \boldsymbol{X}_{n}^{(i,:)}",
    ),
        r"""The dot of $\mathrm{relu}'$ is lost, and $W_k$ stands for $W_K$; Appendix D.1 has the dot for this gradient.
        """),
    note="Equalities are compared both ways, so the ratio reported is 1; Lemma 12 says how tight the outer bounds are.",
)  # fmt: skip


def _lines_after(wrt: str, arguments: tuple[Any, ...], gate: Any = step,
                 factor: Callable[[NormBounds], Any] = lambda b: 1) -> list[Any]:  # fmt: skip
    """The lines of Eqs. (7), (8), (9) or (10) that follow the norm of the gradient.

    They are the norm of its closed form, the bound by sum_n |f(X_n) - y_n|, and the bound by ||f - y||_2; for W_K the last
    only.  `factor` multiplies the bounds.
    """
    X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1 = arguments
    b = bounds_at(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    error = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, "sum") - y
    speed = b.speeds()[wrt] * factor(b)
    last = speed * frobenius_norm(error)
    if wrt == "W_K":
        return [last]
    slopes = {
        "W_V": lambda x: value_gradient(x, W_Q, W_K, W_V, w_O, tau_0, tau_1, gate=gate),
        "W_Q": lambda x: query_gradient(x, W_Q, W_K, W_V, w_O, tau_0, tau_1, gate=gate),
        "w_O": lambda x: output_weight_gradient(x, W_Q, W_K, W_V, tau_0, tau_1),
    }
    closed = length(summed(b.N, lambda n: slopes[wrt](X[n]) * error[n, 0]), tau_1)
    return [closed, speed / sqrt(b.N) * total(absolute(error)), last]


def _larger(names: tuple[str, ...], arguments: tuple[Any, ...], gate: Any = step, factor: Any = lambda b: 1,
            root_of_N: bool = True) -> Any:  # fmt: skip
    """The larger sides: closed form >= gradient, gradient >= closed form, and every line after its predecessor."""
    gradients, larger = _gradient_norms(names, arguments), []
    for name in names:
        *lines, last = _lines_after(name, arguments, gate, factor)
        larger += [lines[0], gradients[name], *lines[1:]] if lines else []
        larger.append(last if root_of_N else last / sqrt(arguments[0].shape[0]))
    return stacked(larger)


def _smaller(names: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
    """The smaller sides, in the order of `_larger`."""
    gradients, smaller = _gradient_norms(names, arguments), []
    for name in names:
        lines = _lines_after(name, arguments)
        smaller += [gradients[name], *lines[:1], *lines[:-1]] if len(lines) > 1 else [gradients[name]]
    return stacked(smaller)


@EQ_7_8.formula
def lines_of_eqs_7_8(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                     tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """Closed form, gradient and the two bounds for W_V, then for w_O, shape (8,) (Eqs. (7), (8))."""
    return _larger(("W_V", "w_O"), (X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1))


EQ_7_8.oracle(
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _smaller(("W_V", "w_O"), (X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1))
)
EQ_7_8.mutant("relu for relu' in (7)", gate=relu)
EQ_7_8.mutant("d_s in place of d_s^{3/2}", factor=lambda b: 1 / sqrt(b.d_s))
EQ_7_8.mutant("N^{1/2} dropped", root_of_N=False)


@EQ_9_10.formula
def lines_of_eqs_9_10(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                      tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """Closed form, gradient and the two bounds for W_Q, then the bound for W_K, shape (5,) (Eqs. (9), (10))."""
    return _larger(("W_Q", "W_K"), (X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1))


EQ_9_10.oracle(
    lambda X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1: _smaller(("W_Q", "W_K"), (X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1))
)
EQ_9_10.mutant("relu for relu'", gate=relu)
EQ_9_10.mutant("C_x for C_x^3", factor=lambda b: 1 / b.C_x**2)
EQ_9_10.mutant("N^{1/2} dropped", root_of_N=False)
