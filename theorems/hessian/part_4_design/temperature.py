"""Temperature: how the two parts of the query-key Hessian, split at T, depend on t in T / t (Section 4.3)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, attention_logits, attention_matrix
from theorems.hessian.part_4_design.single_matrix import logit_curvature
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.part_d_query_key.split_at_logits import (
    V_matrix, logit_slope, logits_of_stack, loss_of_logits, split_in_closed_form,
)  # fmt: skip
from theorems.hessian.settings import LAYOUT, SIZES, SQUARE_LOSS, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from verify.arithmetics import midpoint
from verify.matrix import concatenate, frobenius_norm, ones, rational, sqrt, total, vec_r
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, QuadraticRate, Real, Setting, TendsTo

Temperature = Annotated[Any, Real(0.125, 8.0)]


def tempered_parts(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, t: Any, held: Any = None) -> tuple[Any, Any]:
    """H_o^T and H_f^T in [W_K; W_Q] at temperature t by differentiation; A and F at the logits `held`, or at T."""
    W, T = concatenate([W_K, W_Q], axis=0), attention_logits(X, W_Q, W_K) / t if held is None else held

    def logits(W: Any) -> Any:
        return logits_of_stack(W, X) / t

    J, slope = jacobian(logits, "W")(W), jacobian(loss_of_logits, "T")(T, X, W_V, Y)

    def paired(W: Any) -> Any:
        return total(slope @ vec_r(logits(W)))

    return J.T @ hessian(loss_of_logits, ("T", "T"))(T, X, W_V, Y) @ J, hessian(paired, ("W", "W"))(W)


def _closed(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, outer: Any, functional: Any) -> Any:
    """H_o^T and H_f^T at t = 1 in closed form, multiplied by two scalars, all entries in one column."""
    first, second = split_in_closed_form(X, W_Q, W_K, W_V, Y)
    return stacked(first * outer, second * functional)


# -- 1/t^2 and 1/t -----------------------------------------------------------------------------------------------------

TEMPERATURE = Setting(
    HESSIAN,
    "Section 4.3",
    assumptions=[
        Definition("classical self-attention with T = X W_Q W_K^T X^T / (t sqrt(d_K)), t > 0", by=attention_logits),
        SQUARE_LOSS,
        LAYOUT,
        Definition("H_o^T and H_f^T: the parts of the query-key Hessian split at T (Remark D.1)", by=tempered_parts),
    ],
    sizes=SIZES,
    where=lambda sizes: sizes["d_V"] * sizes["d_K"] <= 6,
)

SCALING = Claim(TEMPERATURE, "hessian.sec4.3-temperature-scaling", label="Section 4.3, text (temperature)",
    statement=r"""\text{``}T(X) = XW_QW_K^\top X^\top/(t\sqrt{d_K})\text{'': ``The } T\text{-outer-product Hessian }
        H_o^T \text{ will be scaled by } 1/t^2 \text{, and the } T\text{-functional Hessian } H_f^T \text{ by }
        1/t\text{. To see that, note that } t \text{ is just an extra multiplier in front of } \sqrt{d_K} \text{ and the
        formulas for } H_f^T \text{ and } H_o^T \text{ depend on } 1/\sqrt{d_K} \text{ linearly and quadratically,
        respectively''}""",
    name="temperature scaling of the Hessian", relation=Equal(), expects="refuted", severity="error",
    correction="hessian.temperature-scaling-a-held", exact=True,
    consequence="""A temperature does not scale the two parts by powers of $t$; compute them with $W_Q/t$ at temperature
        1 (hessian.temperature-as-weights).""",
    note=r"""$A = \operatorname{softmax}(T)$ follows $t$, and with it $Z_1$, $Z_2$ and the residual, so that neither
        part is scaled by a power of $t$. What is scaled so are the prefactors, with $A$ held. How the parts do depend
        on $t$: hessian.temperature-as-weights. For tokens 0 and 1, unit weights and labels 0, $H_o^T$ at $t = 1$ is
        $-5.725$ times that at $t = 2$ (claimed: 4), and $H_f^T$ 1.965 times (claimed: 2).""")  # fmt: skip


@SCALING.formula
def scaled_by_temperature(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, t: Temperature
) -> Any:
    """H_o^T(1) / t^2 and H_f^T(1) / t, all entries in one column (Section 4.3)."""
    return _closed(X, W_Q, W_K, W_V, Y, 1 / (t * t), 1 / t)


SCALING.oracle(lambda X, W_Q, W_K, W_V, Y, t: stacked(*tempered_parts(X, W_Q, W_K, W_V, Y, t)))
SCALING.mutant("both by 1/t", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / t, 1 / t))
SCALING.mutant("both by 1/t^2", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / (t * t), 1 / (t * t)))
SCALING.counterexample("tokens 0 and 2, unit weights, t = 2: A moves from weights exp(4) : 1 to exp(2) : 1",
    X=[[0], [2]], W_Q=[[1]], W_K=[[1]], W_V=[[1]], Y=[[0], [0]], t=2)  # fmt: skip
SCALING.counterexample(
    "tokens 0 and 1, unit weights, t = 2: the ratios of the values at t = 1 and 2 are -5.725 and 1.965, not 4 and 2",
    X=[[0], [1]], W_Q=[[1]], W_K=[[1]], W_V=[[1]], Y=[[0], [0]], t=2)  # fmt: skip

HELD = Claim(TEMPERATURE, "hessian.temperature-scaling-a-held",
    label="Section 4.3, the scaling of the prefactors while A is held", name="temperature scaling of the prefactors",
    statement=r"""\text{with } A, F \text{ held at any values (those at temperature } t \text{, say), the formulas of
        Remark D.1 for the logits } XW_QW_K^\top X^\top/(t\sqrt{d_K}) \text{ are } \frac{1}{t^2} \text{ times } H_o^T =
        \frac{2}{Ld_Vd_K}V^\top UV \text{ and } \frac1t \text{ times } H_f^T = \frac{2}{Ld_V\sqrt{d_K}}
        \begin{bmatrix}0&B^\top\\B&0\end{bmatrix}\otimes I_{d_K} \text{ at these } A, F; \text{ weights } [W_K; W_Q],\
        V, U, B \text{ as in Remark D.1}""",
    relation=Equal(), all_sizes=True, uses=("hessian.rem-D.1-corrected",),
    corrects="hessian.sec4.3-temperature-scaling", exact=True, of_project=True,
    note="""Checked with $A$ and $F$ held at their values at $t = 1$, which $W_Q$ and $W_K$ make as general as those at
        another $t$.""")  # fmt: skip


HELD.formula(scaled_by_temperature)


HELD.oracle(
    lambda X, W_Q, W_K, W_V, Y, t: stacked(*tempered_parts(X, W_Q, W_K, W_V, Y, t, held=attention_logits(X, W_Q, W_K)))
)
HELD.mutant("both by 1/t", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / t, 1 / t))
HELD.mutant("both by 1/t^2", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / (t * t), 1 / (t * t)))

AS_WEIGHTS = Claim(TEMPERATURE, "hessian.temperature-as-weights",
    label="Section 4.3, temperature as a scale of the query weights", name="temperature as a scale of query weights",
    statement=r"""H_o^T(t; W_Q, W_K) = D H_o^T(1; W_Q/t, W_K) D,\ H_f^T(t; W_Q, W_K) = D H_f^T(1; W_Q/t, W_K) D,\ D =
        \operatorname{diag}(I, I/t) \text{ for the weights } [W_K; W_Q]""",
    relation=Equal(), all_sizes=True, uses=("hessian.rem-D.1-corrected",), exact=True, of_project=True,
    note="The logits at temperature $t$ are those of the query weights $W_Q/t$ at temperature 1.")  # fmt: skip


@AS_WEIGHTS.formula
def parts_at_rescaled_weights(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, t: Temperature
) -> Any:
    """D H D for both parts at t = 1 and query weights W_Q / t, all entries in one column."""
    n, small = W_Q.shape[0] * W_Q.shape[1], W_Q * (1 / t)
    row = concatenate([ones(1, n) + 0 * W_Q[:1, :1], ones(1, n) * (1 / t) + 0 * W_Q[:1, :1]], axis=1)
    scale, (outer, functional) = row.T @ row, split_in_closed_form(X, small, W_K, W_V, Y)
    return stacked(outer * scale, functional * scale)


AS_WEIGHTS.oracle(lambda X, W_Q, W_K, W_V, Y, t: stacked(*tempered_parts(X, W_Q, W_K, W_V, Y, t)))
AS_WEIGHTS.mutant("weights not rescaled", "small -> W_Q")
AS_WEIGHTS.mutant("weights multiplied by t", "small -> W_Q * t")


# -- t to infinity -----------------------------------------------------------------------------------------------------


def _ratio(parts: tuple[Any, Any]) -> Any:
    """||H_o^T|| / ||H_f^T||."""
    return frobenius_norm(parts[0]) / frobenius_norm(parts[1])


def _uniform(X: Any, W_V: Any, Y: Any) -> tuple[Any, Any]:
    """Uniform attention, and the residual F - Y under it."""
    A = ones(X.shape[0], X.shape[0]) * rational(1, X.shape[0]) + 0 * X[:1, :1]
    return A, A @ X @ W_V - Y


def uniform_slope(X: Tokens, W_V: ValueWeights, Y: Labels) -> Any:
    """||B||^2 under uniform attention, a scalar."""
    A, residual = _uniform(X, W_V, Y)
    B = logit_slope(X, A, W_V, residual)
    return total(B * B)


LARGE_HYPOTHESIS = [Assumption("B does not vanish under uniform attention, the limit of A", positive=uniform_slope)]

LARGE = Claim(TEMPERATURE, "hessian.sec4.3-temperature-large-t", label="Section 4.3, text (temperature)",
    statement=r"""\text{``This implies that as } t \text{ grows, } H_f^T \text{ dominates the query-key part of the
        Hessian''}""",
    assumptions=LARGE_HYPOTHESIS,
    without_domains={
        "uniform attention": "W_Q = 0 keeps A uniform at all t, and nothing converges",
        "huge": "logits of 1e6 move the limit beyond the scales",
        "one-hot attention": "likewise",
    },
    name="large temperatures, which part dominates",
    relation=TendsTo(scales=tuple(2**2**k for k in range(2, 9)), rate=QuadraticRate(order=1.8)),
    sizes={"L": (2, 3), "d_V": (1, 2), "d_K": (1, 2)}, expects="gap",
    presumes=("hessian.temperature-large-t-any-labels",), uses=("hessian.temperature-as-weights",),
    missing="$B$ does not vanish under uniform attention, the limit of $A$",
    consequence="""Where the labels leave $B = 0$ under uniform attention, the outer-product part is the larger at every
        temperature; the ratio is hessian.temperature-large-t-limit.""",
    note=r"""'Dominates' is decided as this: with $A$ following $t$, $t\|H_o^T(t)\|/\|H_f^T(t)\|$ has a finite limit, so
        that the ratio falls like $1/t$. The limit is $\|V^\top UV\|/(\sqrt2d_K\|B\|)$ with $U$ and $B$ (Remark D.1)
        under uniform attention. Without the hypothesis $H_f^T$ can vanish at every $t$ where $H_o^T$ does not.""",
)  # fmt: skip


def _limit(X: Any, W_Q: Any, W_K: Any, W_V: Any, A: Any, residual: Any, root: bool = True) -> Any:
    """The limit of t ||H_o^T|| / ||H_f^T|| where attention tends to A and F - Y to `residual`; a mutant leaves out the root."""
    V, d_K = V_matrix(W_Q, W_K), W_Q.shape[1]
    U, B = logit_curvature(X, A, W_V, residual), logit_slope(X, A, W_V, residual)
    ratio = frobenius_norm(V.T @ U @ V) / (frobenius_norm(B) * d_K)
    return ratio / sqrt(2) if root else ratio


def _present(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> tuple[Any, Any]:
    """Attention and residual as they are, at t = 1."""
    return attention_matrix(X, W_Q, W_K), attention(X, W_Q, W_K, W_V) - Y


@LARGE.formula
def limit_at_large_temperature(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The limit of t ||H_o^T(t)|| / ||H_f^T(t)|| as t grows, a scalar."""
    return _limit(X, W_Q, W_K, W_V, *_uniform(X, W_V, Y))


LARGE.part("sequence", lambda scale, X, W_Q, W_K, W_V, Y: _ratio(tempered_parts(X, W_Q, W_K, W_V, Y, scale)) * scale)
LARGE.mutant("both off-diagonal blocks counted as one", root=False)
LARGE.mutant("attention as at t = 1", "_uniform(X, W_V, Y) -> _present(X, W_Q, W_K, W_V, Y)")


# -- t to zero ---------------------------------------------------------------------------------------------------------


def _number(x: Any) -> float:
    """A logit as a float, which chooses an order and has no slope."""
    return midpoint(x.detach() if hasattr(x, "detach") else x)


def closest_call(X: Any, W_Q: Any, W_K: Any) -> tuple[int, int, int, Any, list[Any]]:
    """The row whose two largest logits are closest, the columns of these, their gap g, and leads over g that decide.

    The leads are those of the second over the other logits in that row, and of the other rows' gaps over g.
    """
    T, L = attention_logits(X, W_Q, W_K), X.shape[0]
    orders = [sorted(range(L), key=lambda j: -_number(T[i, j])) for i in range(L)]
    gaps = [T[i, orders[i][0]] - T[i, orders[i][1]] for i in range(L)]
    row = min(range(L), key=lambda i: _number(gaps[i]))
    best, second = orders[row][:2]
    leads = [T[row, second] - T[row, j] for j in orders[row][2:]]
    leads += [gaps[i] - gaps[row] for i in range(L) if i != row]
    return row, best, second, gaps[row], leads


def separated(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The gap g, leads less g / 8, and the squared slope of the loss: all positive where t -> 0 is generic."""
    row, best, second, gap, leads = closest_call(X, W_Q, W_K)
    d = X[second : second + 1] - X[best : best + 1]
    slope = total((X[best : best + 1] @ W_V - Y[row : row + 1]) * (d @ W_V))
    found = [gap, *(lead - gap * rational(1, 8) for lead in leads), slope * slope]
    return concatenate([X[:1, :1] * 0 + each for each in found], axis=1)


SMALL_HYPOTHESIS = [
    Assumption(
        "in one row the gap g between the two largest logits is not 0 and smaller than in every other row, by more than g / 8, and"
        " the second largest leads the rest of that row by more than g / 8; the residual of that row at one-hot attention is not"
        " orthogonal to W_V^T d, d the difference of the two tokens; L >= 2",
        positive=separated,
        sizes=lambda sizes: sizes["L"] >= 2,
    )
]

SMALL = Claim(TEMPERATURE, "hessian.sec4.3-temperature-small-t", label="Section 4.3, text (temperature)",
    statement=r"\text{``when } t\to0,\ H_o^T \text{ becomes the more prominent part''}",
    assumptions=SMALL_HYPOTHESIS,
    name="small temperatures, which part is prominent",
    relation=TendsTo(scales=tuple(range(10)), rate=QuadraticRate(order=1.8), bits=2400),
    sizes={"L": (2, 3), "d_V": (1, 2), "d_K": (1, 2)}, expects="gap",
    needless={
        "W_Q has no zero entry": "W_Q enters through the logits alone, on which the conditions are",
        "W_Q has distinct rows": "W_Q enters through the logits alone, on which the conditions are",
        "W_V has distinct rows": "W_V enters through the residual and W_V^T d alone, on which the last condition is",
    },
    presumes=("hessian.temperature-small-t-any-logits",), uses=("hessian.temperature-as-weights",),
    without_domains={"uniform attention": "W_Q = 0 ties all logits", "tied": "repeated tokens tie logits"},
    missing=r"""no logits tie, one row has the smallest gap between its two largest logits, and the residual of that row
        at one-hot attention is not orthogonal to $W_V^\top d$, $d$ the difference of the two tokens""",
    consequence="""Where logits tie, the functional part can be the larger at every temperature; in general both vanish
        exponentially, in the ratio of hessian.temperature-small-t-limit.""",
    note=r"""'The more prominent part' is decided as this: with $A$ following $t$, $t\|H_o^T(t)\|/\|H_f^T(t)\|$ has a
        positive limit, so that the ratio grows like $1/t$. The limit is $(\|W_Q^\top x\|^2\|d\|^2 + \|x\|^2\|W_K^\top
        d\|^2)/(\sqrt2d_K\|x\|\|d\|)$, $x$ the token of the row with the smallest gap and $d$ the difference of the two
        tokens it hesitates between. Prominent is meant relatively: both parts vanish like $\exp(-g/t)$. Where $W_Q =
        W_K = 0$, so that all logits tie, $H_o^T = 0$ at every $t$. How small $t$ has to be depends on the input: what the
        limit leaves out is of the relative size $\exp(-(g' - g)/t)$, $g'$ the next gap or lead, so that $t$ has to be
        far below $g' - g$. Where two gaps differ by 0.0016 even $t = 0.001$ is not small.""")  # fmt: skip


@SMALL.formula
def limit_at_small_temperature(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The limit of t ||H_o^T(t)|| / ||H_f^T(t)|| as t -> 0, a scalar."""
    row, best, second, _, _ = closest_call(X, W_Q, W_K)
    x, d = X[row : row + 1], X[second : second + 1] - X[best : best + 1]
    queries = total((x @ W_Q) * (x @ W_Q)) * total(d * d)
    keys = total(x * x) * total((d @ W_K) * (d @ W_K))
    return (queries + keys) / (sqrt(2) * (frobenius_norm(x) * frobenius_norm(d)) * W_Q.shape[1])


@SMALL.part("sequence")
def ratio_at_small_temperature(scale: int, X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    t = closest_call(X, W_Q, W_K)[3] * rational(1, 2**scale)
    return _ratio(tempered_parts(X, W_Q, W_K, W_V, Y, t)) * t


SMALL.mutant("keys left out", "queries + keys -> queries")
SMALL.mutant("queries left out", "queries + keys -> keys")

# -- the limits, for use -----------------------------------------------------------------------------------------------

LARGE_LIMIT = Claim(TEMPERATURE, "hessian.temperature-large-t-limit",
    label="Section 4.3, the ratio of the two parts at large temperatures",
    statement=r"""\text{if } B_0 \ne 0,\ \lim_{t\to\infty} t\,\frac{\|H_o^T(t)\|_F}{\|H_f^T(t)\|_F} = \frac{\|V^\top
        U_0V\|_F}{\sqrt2\,d_K\|B_0\|_F}, \text{ with } V \text{ of Remark D.1 and } U_0, B_0 \text{ its } U, B \text{ at
        uniform attention } A = \tfrac1L\mathbb{1}\mathbb{1}^\top, F = AXW_V""",
    assumptions=LARGE_HYPOTHESIS,
    name="ratio of the parts at large temperatures", relation=LARGE.relation, sizes=LARGE.sizes, of_project=True,
    corrects="hessian.temperature-large-t-any-labels", uses=("hessian.temperature-as-weights",),
    without_domains=LARGE.without_domains,
    needless=dict.fromkeys(
        ("W_Q has distinct rows", "W_Q has full rank", "W_K has distinct rows", "W_K has a condition number below 100"),
        "at uniform attention W_Q and W_K enter through V alone, and the ratio is that for every V",
    ))  # fmt: skip
LARGE_LIMIT.formula(LARGE.the_formula)
LARGE_LIMIT.part("sequence", LARGE.the_part("sequence"))
LARGE_LIMIT.mutant("both off-diagonal blocks counted as one", root=False)
LARGE_LIMIT.mutant("attention as at t = 1", "_uniform(X, W_V, Y) -> _present(X, W_Q, W_K, W_V, Y)")

SMALL_LIMIT = Claim(TEMPERATURE, "hessian.temperature-small-t-limit",
    label="Section 4.3, the ratio of the two parts at small temperatures",
    statement=r"""\lim_{t\to0} t\,\frac{\|H_o^T(t)\|_F}{\|H_f^T(t)\|_F} = \frac{|W_Q^\top x|^2|d|^2 + |x|^2|W_K^\top
        d|^2}{\sqrt2\,d_K|x||d|}, \text{ with } x \text{ the token of the row with the smallest gap between its two
        largest logits and } d \text{ the difference of the two tokens that have them}""",
    assumptions=SMALL_HYPOTHESIS,
    name="ratio of the parts at small temperatures", relation=SMALL.relation, sizes=SMALL.sizes, of_project=True,
    corrects="hessian.temperature-small-t-any-logits", uses=("hessian.temperature-as-weights",),
    without_domains=SMALL.without_domains,
    needless={"W_K has distinct rows": "W_K enters through the logits and its product with d, of which any will do"},
)  # fmt: skip
SMALL_LIMIT.formula(SMALL.the_formula)
SMALL_LIMIT.part("sequence", SMALL.the_part("sequence"))
SMALL_LIMIT.mutant("keys left out", "queries + keys -> queries")
SMALL_LIMIT.mutant("queries left out", "queries + keys -> keys")

# -- the same without the hypotheses -----------------------------------------------------------------------------------

#: As t grows, and as it falls: at W_Q = 0 both parts are powers of t, so that one value on either side decides.
LARGE_T, SMALL_T = 2**10, rational(1, 2**10)


def outputs_as_labels(arrays: dict[str, Any], sizes: Any, rng: Any) -> None:
    """Labels equal to the outputs under uniform attention, up to rounding."""
    arrays["Y"][:] = arrays["X"].mean(axis=0, keepdims=True) @ arrays["W_V"]


def no_keys(arrays: dict[str, Any], sizes: Any, rng: Any) -> None:
    arrays["W_K"][:] = 0


def _squares(X: Any, W_K: Any, W_V: Any, Y: Any, t: Any) -> tuple[Any, Any]:
    """The squared norms of H_o^T(t) and H_f^T(t) at W_Q = 0."""
    outer, functional = tempered_parts(X, 0 * W_K, W_K, W_V, Y, t)
    return total(outer * outer), total(functional * functional)


LARGE_ANYWHERE = Claim(TEMPERATURE, "hessian.temperature-large-t-any-labels",
    label="Section 4.3, large temperatures, whatever the labels", name="large temperatures whatever the labels",
    statement=r"\|H_o^T(t)\|_F \le \|H_f^T(t)\|_F \text{ for large } t, \text{ for all } X, W_Q, W_K, W_V, Y",
    assumptions=[
        Definition("W_Q = 0, where H_o^T(t) and H_f^T(t) are multiples of 1/t^2 and 1/t, and t = 2^10", by=_squares),
    ],
    relation=AtMost(left="||H_o^T(t)||_F^2 there", ascent=False), sizes={"L": (2, 3), "d_V": (1, 2), "d_K": (1, 2)},
    expects="refuted", severity="error", correction="hessian.temperature-large-t-limit", of_project=True,
    note="""Section 4.3 for large $t$ without its hypothesis. Where the labels are the outputs under uniform attention,
        $W_Q = 0$, $B = 0$ and $H_f^T = 0$ at every $t$, while $H_o^T$ is not zero. Squares are compared.""",
)  # fmt: skip


@LARGE_ANYWHERE.formula
def squared_functional_part_at_large_temperature(X: Tokens, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """||H_f^T(t)||_F^2 at W_Q = 0 and t = 2^10, a scalar."""
    return _squares(X, W_K, W_V, Y, LARGE_T)[1]


LARGE_ANYWHERE.oracle(lambda X, W_K, W_V, Y: _squares(X, W_K, W_V, Y, LARGE_T)[0])
LARGE_ANYWHERE.mutant("the other part", lambda X, W_K, W_V, Y: _squares(X, W_K, W_V, Y, LARGE_T)[0])
LARGE_ANYWHERE.mutant("both parts", lambda X, W_K, W_V, Y: sum(_squares(X, W_K, W_V, Y, LARGE_T)))
LARGE_ANYWHERE.domain("labels are outputs", outputs_as_labels)
LARGE_ANYWHERE.counterexample(
    "tokens 0 and 1 under uniform attention, W_V = 2, labels 1 equal to the outputs: H_f^T = 0, H_o^T is not",
    X=[[0], [1]], W_K=[[1]], W_V=[[2]], Y=[[1], [1]])  # fmt: skip

SMALL_ANYWHERE = Claim(TEMPERATURE, "hessian.temperature-small-t-any-logits",
    label="Section 4.3, small temperatures, whatever the logits", name="small temperatures whatever the logits",
    statement=r"\|H_f^T(t)\|_F \le \|H_o^T(t)\|_F \text{ for small } t, \text{ for all } X, W_Q, W_K, W_V, Y",
    assumptions=[
        Definition("W_Q = 0, where H_o^T(t) and H_f^T(t) are multiples of 1/t^2 and 1/t, and t = 2^-10", by=_squares),
    ],
    relation=AtMost(left="||H_f^T(t)||_F^2 there", ascent=False), sizes={"L": (2, 3), "d_V": (1, 2), "d_K": (1, 2)},
    expects="refuted", severity="error", correction="hessian.temperature-small-t-limit", of_project=True,
    note="""Section 4.3 for small $t$ without its hypothesis. Where $W_Q = W_K = 0$ all logits tie, $V = 0$ and $H_o^T =
        0$ at every $t$, while $H_f^T$ is not zero. Squares are compared.""")  # fmt: skip


@SMALL_ANYWHERE.formula
def squared_outer_part_at_small_temperature(X: Tokens, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """||H_o^T(t)||_F^2 at W_Q = 0 and t = 2^-10, a scalar."""
    return _squares(X, W_K, W_V, Y, SMALL_T)[0]


SMALL_ANYWHERE.oracle(lambda X, W_K, W_V, Y: _squares(X, W_K, W_V, Y, SMALL_T)[1])
SMALL_ANYWHERE.mutant("the other part", lambda X, W_K, W_V, Y: _squares(X, W_K, W_V, Y, SMALL_T)[1])
SMALL_ANYWHERE.mutant("both parts", lambda X, W_K, W_V, Y: sum(_squares(X, W_K, W_V, Y, SMALL_T)))
SMALL_ANYWHERE.domain("no keys", no_keys)
SMALL_ANYWHERE.counterexample(
    "tokens 0 and 1, W_Q = W_K = 0, labels 0: H_o^T = 0, H_f^T is not", X=[[0], [1]], W_K=[[0]], W_V=[[1]], Y=[[0], [0]]
)
