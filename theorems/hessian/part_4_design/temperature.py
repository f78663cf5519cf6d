"""Temperature: how the two parts of the query-key Hessian, split at T, depend on t in T / t (Section 4.3)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, attention_logits, attention_matrix
from theorems.hessian.part_4_design.single_matrix import logit_curvature
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.part_d_query_key.split_at_logits import (
    V_matrix,
    logit_slope,
    logits_of_stack,
    loss_of_logits,
    split_in_closed_form,
)
from theorems.hessian.settings import LAYOUT, SIZES, SQUARE_LOSS, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from verify.arithmetics import midpoint
from verify.matrix import concatenate, frobenius_norm, ones, rational, sqrt, total, vec_r
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, Claim, Equal, QuadraticRate, Real, Setting, TendsTo

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
        "classical self-attention with T = X W_Q W_K^T X^T / (t sqrt(d_K)), t > 0",
        SQUARE_LOSS,
        LAYOUT,
        "H_o^T and H_f^T: the parts of the query-key Hessian split at T (Remark D.1)",
    ],
    sizes=SIZES,
    where=lambda sizes: sizes["d_V"] * sizes["d_K"] <= 6,
)

SCALING = Claim(TEMPERATURE, "hessian.sec4.3-temperature-scaling", label="Section 4.3, text (temperature)",
    statement=r"""
        T(X) = XW_QW_K^\top X^\top/(t\sqrt{d_K}):\ H_o^T \text{ will be scaled by } 1/t^2 \text{ and } H_f^T \text{ by }
        1/t,\text{ since the formulas depend on } 1/\sqrt{d_K} \text{ quadratically and linearly}""",
    relation=Equal(), all_sizes=True, expects="reading", uses=("hessian.rem-D.1-corrected",), exact=True,
    reading="of the prefactors, as the reason given has it: A and the residual stay at their values for t = 1",
    note="""
        In the model itself A = softmax(T) follows t, and neither part is scaled by a power of t: see
        hessian.temperature-scaling-following-a.""",
)  # fmt: skip


@SCALING.formula
def scaled_by_temperature(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, t: Temperature
) -> Any:
    """H_o^T / t^2 and H_f^T / t from their values at t = 1, all entries in one column (Section 4.3)."""
    return _closed(X, W_Q, W_K, W_V, Y, 1 / (t * t), 1 / t)


@SCALING.oracle
def parts_at_temperature_with_attention_held(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, t: Any) -> Any:
    return stacked(*tempered_parts(X, W_Q, W_K, W_V, Y, t, held=attention_logits(X, W_Q, W_K)))


SCALING.mutant("both by 1/t", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / t, 1 / t))
SCALING.mutant("both by 1/t^2", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / (t * t), 1 / (t * t)))

FOLLOWING = Claim(TEMPERATURE, "hessian.temperature-scaling-following-a",
    label="Section 4.3, the scaling where A follows t",
    statement=r"""
        T = XW_QW_K^\top X^\top/(t\sqrt{d_K}),\ A = \operatorname{softmax}(T):\ H_o^T(t) = H_o^T(1)/t^2,\ H_f^T(t) =
        H_f^T(1)/t""",
    relation=Equal(), expects="refuted", severity="error", correction="hessian.temperature-as-weights", of_project=True,
    note="The other reading of Section 4.3, on which it would be false.",
)  # fmt: skip


@FOLLOWING.formula
def scaled_by_temperature_throughout(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, t: Temperature
) -> Any:
    """H_o^T(1) / t^2 and H_f^T(1) / t, all entries in one column."""
    return _closed(X, W_Q, W_K, W_V, Y, 1 / (t * t), 1 / t)


FOLLOWING.oracle(lambda X, W_Q, W_K, W_V, Y, t: stacked(*tempered_parts(X, W_Q, W_K, W_V, Y, t)))
FOLLOWING.mutant("both by 1/t", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / t, 1 / t))
FOLLOWING.mutant("both by 1/t^2", lambda X, W_Q, W_K, W_V, Y, t: _closed(X, W_Q, W_K, W_V, Y, 1 / (t * t), 1 / (t * t)))
FOLLOWING.counterexample(
    "tokens 0 and 2, unit weights, t = 2: A moves from weights exp(4) : 1 to exp(2) : 1",
    X=[[0], [2]],
    W_Q=[[1]],
    W_K=[[1]],
    W_V=[[1]],
    Y=[[0], [0]],
    t=2,
)

AS_WEIGHTS = Claim(TEMPERATURE, "hessian.temperature-as-weights",
    label="Section 4.3, temperature as a scale of the query weights",
    statement=r"""
        H_o^T(t; W_Q, W_K) = D H_o^T(1; W_Q/t, W_K) D,\ H_f^T(t; W_Q, W_K) = D H_f^T(1; W_Q/t, W_K) D,\ D =
        \operatorname{diag}(I, I/t) \text{ for the weights } [W_K; W_Q]""",
    relation=Equal(), all_sizes=True,
    uses=("hessian.rem-D.1-corrected",), corrects="hessian.temperature-scaling-following-a",
    exact=True, of_project=True,
    note="The logits at temperature t are those of the query weights W_Q / t at temperature 1.",
)  # fmt: skip


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


LARGE = Claim(
    TEMPERATURE,
    "hessian.sec4.3-temperature-large-t",
    label="Section 4.3, text (temperature)",
    statement=r"\text{as } t \text{ grows, } H_f^T \text{ dominates the query-key part of the Hessian}",
    assumptions=[Assumption("B does not vanish under uniform attention, the limit of A", positive=uniform_slope)],
    # 2^(2^k): an error of order 1/t is squared at each step
    relation=TendsTo(scales=tuple(2**2**k for k in range(2, 9)), rate=QuadraticRate(order=1.8)),
    sizes={"L": (2, 3), "d_V": (1, 2), "d_K": (1, 2)},
    expects="reading",
    reading="""
        t ||H_o^T(t)|| / ||H_f^T(t)|| has a finite limit, with A following t, so that the ratio falls like 1/t,
        provided B is not zero under uniform attention""",
    uses=("hessian.temperature-as-weights",),
    without_domains={
        "uniform attention": "W_Q = 0 keeps A uniform at all t, and nothing converges",
        "huge": "logits of 1e6 move the limit beyond the scales",
        "one-hot attention": "likewise",
    },
    note="""
        The limit is ||V^T U V|| / (d_K ||B||) sqrt(1/2) with U and B under uniform attention. The proviso is needed:
        where labels equal the outputs and W_K = 0, B = 0 and H_f^T = 0 for every t, while H_o^T = V^T U V / (d_K t^2)
        is not zero.""",
)


def _limit(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, root: bool = True, uniform: bool = True) -> Any:
    """The limit; mutants leave out the root, or keep attention and residual as at t = 1."""
    A, residual = _uniform(X, W_V, Y)
    if not uniform:
        A, residual = attention_matrix(X, W_Q, W_K), attention(X, W_Q, W_K, W_V) - Y
    V, d_K = V_matrix(W_Q, W_K), W_Q.shape[1]
    U, B = logit_curvature(X, A, W_V, residual), logit_slope(X, A, W_V, residual)
    ratio = frobenius_norm(V.T @ U @ V) / (frobenius_norm(B) * d_K)
    return ratio / sqrt(2) if root else ratio


@LARGE.formula
def limit_at_large_temperature(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The limit of t ||H_o^T(t)|| / ||H_f^T(t)|| as t grows, a scalar."""
    return _limit(X, W_Q, W_K, W_V, Y)


LARGE.part("sequence", lambda scale, X, W_Q, W_K, W_V, Y: _ratio(tempered_parts(X, W_Q, W_K, W_V, Y, scale)) * scale)
LARGE.mutant("both off-diagonal blocks counted as one", root=False)
LARGE.mutant("attention as at t = 1", uniform=False)


# -- t to zero ---------------------------------------------------------------------------------------------------------


def closest_call(X: Any, W_Q: Any, W_K: Any) -> tuple[int, int, int, Any, list[Any]]:
    """The row whose two largest logits are closest, the columns of these, their gap g, and leads over g that decide.

    The leads are those of the second over the other logits in that row, and of the other rows' gaps over g.
    """
    T, L = attention_logits(X, W_Q, W_K), X.shape[0]
    orders = [sorted(range(L), key=lambda j: -midpoint(T[i, j])) for i in range(L)]
    gaps = [T[i, orders[i][0]] - T[i, orders[i][1]] for i in range(L)]
    row = min(range(L), key=lambda i: midpoint(gaps[i]))
    best, second = orders[row][:2]
    leads = [T[row, second] - T[row, j] for j in orders[row][2:]]
    leads += [gaps[i] - gaps[row] for i in range(L) if i != row]
    return row, best, second, gaps[row], leads


def separated(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The gap g, leads less g / 8, and the squared slope of the loss: all positive where t -> 0 is generic."""
    row, best, second, gap, leads = closest_call(X, W_Q, W_K)
    d = X[second : second + 1] - X[best : best + 1]
    slope = total((X[best : best + 1] @ W_V - Y[row : row + 1]) * (d @ W_V))
    return [gap, *(lead - gap * rational(1, 8) for lead in leads), slope * slope]


SMALL = Claim(
    TEMPERATURE,
    "hessian.sec4.3-temperature-small-t",
    label="Section 4.3, text (temperature)",
    statement=r"\text{when } t\to0,\ H_o^T \text{ becomes the more prominent part}",
    assumptions=[
        Assumption(
            "no logits tie; the gap g between the two largest logits is smaller in one row than in all others, and their lead over"
            " the rest of that row is not small, by g / 8; the residual of that row at one-hot attention is not orthogonal to"
            " W_V^T d, d the difference of the two tokens",
            positive=separated,
        )
    ],
    # t = g 2^-k: an error exp(-c/t) is squared at each step
    relation=TendsTo(scales=tuple(range(10)), rate=QuadraticRate(order=1.8), bits=2400),
    sizes={"L": (2, 3), "d_V": (1, 2), "d_K": (1, 2)},
    expects="reading",
    reading="""
        t ||H_o^T(t)|| / ||H_f^T(t)|| has a positive limit, with A following t, so that the ratio grows like 1/t, where
        no two logits tie and the residual is generic""",
    uses=("hessian.temperature-as-weights",),
    without_domains={"uniform attention": "W_Q = 0 ties all logits", "tied": "repeated tokens tie logits"},
    note="""
        The limit is (|W_Q^T x|^2 |d|^2 + |x|^2 |W_K^T d|^2) / (sqrt(2) d_K |x| |d|), x the token of the row with the
        smallest gap and d the difference of the two tokens it hesitates between. Prominent is meant relatively: both
        parts vanish like exp(-g / t). Where W_Q = W_K = 0, which the proviso excludes, H_o^T = 0 at every t.""",
)


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
