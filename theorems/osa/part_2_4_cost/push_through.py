"""The layer through d x d matrices: exp(X W X^T) X = X exp(W X^T X), its variants and their accuracy.

Claims of this project; the functions of `theorems.osa.fast.layers` are made of their formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import attention, orthonormal_columns, query_key_generator, whole_heads
from theorems.osa.settings import LAYER, ORTHONORMAL, UNTRAINED_LAYER, layer
from theorems.osa.shapes import Alpha, Basis, Key, Output, Query, Rank, SquareQuery, TokenFrame, Tokens, Value
from verify.matrix import (
    concatenate, condition_number, expm, eye, rational, singular_values, spectral_norm, sqrt, zeros,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Equal, realises
from verify.vocabulary.hypotheses import skew

SKEW = Assumption("W is skew-symmetric", zero=lambda W: W + W.T)

# -- the identity ------------------------------------------------------------------------------------------------------

PUSH_THROUGH = Claim(OSA, "osa.push-through", label="Push-through identity",
    statement=r"""\exp(\mathbf{X}\mathbf{W}\mathbf{X}^\top)\,\mathbf{X} =
        \mathbf{X}\exp(\mathbf{W}\mathbf{X}^\top\mathbf{X}) \text{ for every } \mathbf{X} \in \mathbb{R}^{N\times d}
        \text{ and skew } \mathbf{W} \in \mathbb{R}^{d\times d}""",
    assumptions=[Construction("X in R^{N x d}, of any rank", shapes={"X": ("N", "d")}), SKEW],
    name="push-through identity of the exponential", relation=Equal(), all_sizes=True, sizes={"N": (1, 5), "d": (1, 4)},
    exact=True, of_project=True,
    note=r"""Term by term, $(XWX^\top)^k X = X(WX^\top X)^k$: for every $k$, so for every power series, and for
        every $W$. Skew $W$ are
        those of the layer; at eigenvalues far left of 0, which other $W$ bring, torch's Taylor exponential loses
        digits.""",
)  # fmt: skip


@PUSH_THROUGH.inputs
@realises({"skew-symmetric": reached.SKEW})
def tokens_and_skew_generator(X: Tokens, A: SquareQuery) -> dict[str, Any]:
    return {"X": X, "W": (A - A.T) * rational(1, 3)}


@PUSH_THROUGH.formula
def exponential_pushed_through(X: Tokens, W: SquareQuery) -> Any:
    """X exp(W X^T X) = exp(X W X^T) X, shape (N, d), with no N x N matrix."""
    return X @ expm(W @ (X.T @ X))


PUSH_THROUGH.oracle(lambda X, W: expm(X @ W @ X.T) @ X)
PUSH_THROUGH.mutant("X^T X on the other side of W", lambda X, W: X @ expm(X.T @ X @ W))
PUSH_THROUGH.mutant("W transposed", lambda X, W: X @ expm(W.T @ (X.T @ X)))
PUSH_THROUGH.mutant("X^T X left out", lambda X, W: X @ expm(W))


# -- the layer in three forms ------------------------------------------------------------------------------------------


def scaled_generator(W_Q: Any, W_K: Any, alpha: Any) -> Any:
    """W = alpha / sqrt(d_v) (W_Q W_K^T - W_K W_Q^T), shape (d, d): S = X W X^T (Appendix C.2)."""
    return query_key_generator(W_Q, W_K) * (alpha / sqrt(W_Q.shape[1]))


def push_through_factor(G: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """exp(W G) W_V W_O, shape (d, d), for G = X^T X (d, d): OSA(X) is X times it, and M-OSA(X) X times their sum."""
    return expm(scaled_generator(W_Q, W_K, alpha) @ G) @ W_V @ W_O


PUSHED_THROUGH = Claim(UNTRAINED_LAYER, "osa.push-through-layer", label="Eq. (5) through d x d matrices",
    statement=r"""
        \mathrm{OSA}(\mathbf{X}) = \mathbf{X}\,\big[\exp(\mathbf{W}\mathbf{G})\,\mathbf{W}^V\mathbf{W}^O\big],\quad
        \mathbf{W} = \tfrac{\alpha}{\sqrt{d_v}}\big(\mathbf{W}^Q(\mathbf{W}^K)^\top - \mathbf{W}^K(\mathbf{W}^Q)^\top
        \big),\quad \mathbf{G} = \mathbf{X}^\top\mathbf{X}""",
    name="layer through small matrices", relation=Equal(), all_sizes=True, uses=("osa.push-through",), exact=True,
    of_project=True,
    note="No basis, any rank: $O(N d^2 + d^3)$ work and $O(N d + d^2)$ memory.",
)  # fmt: skip
PUSHED_THROUGH.inputs(layer)


@PUSHED_THROUGH.formula
def attention_pushed_through(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """OSA(X) = X [exp(W X^T X) W_V W_O], shape (N, d), in O(N d^2 + d^3)."""
    return X @ push_through_factor(X.T @ X, W_Q, W_K, W_V, W_O, alpha)


@PUSHED_THROUGH.oracle
def attention_by_definition(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    return attention(X, W_Q, W_K, W_V, W_O, alpha)


def _common_mutants(claim: Claim, form: Callable[..., Any]) -> None:
    @claim.mutant("query and key exchanged")
    def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
        return form(X, W_K, W_Q, W_V, W_O, alpha)

    @claim.mutant("alpha / d_v")
    def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
        return form(X, W_Q, W_K, W_V, W_O, alpha / sqrt(W_Q.shape[1]))

    @claim.mutant("W_V W_O times its transpose")
    def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
        return form(X, W_Q, W_K, W_V @ W_O @ W_O.T, W_V.T, alpha)


_common_mutants(PUSHED_THROUGH, attention_pushed_through)
PUSHED_THROUGH.mutant("X^T X on the other side of W",
    lambda X, W_Q, W_K, W_V, W_O, alpha: X @ expm(X.T @ X @ scaled_generator(W_Q, W_K, alpha)) @ W_V @ W_O)  # fmt: skip


def _phi(A: Any) -> Any:
    """phi(A) = I + A/2! + A^2/3! + ..., so that A phi(A) = exp(A) - I; shape (n, n), read off exp [[A, I], [0, 0]]."""
    n = A.shape[0]
    upper, lower = concatenate([A, eye(n)], axis=1), zeros(n, 2 * n)
    return expm(concatenate([upper, lower], axis=0))[:n, n:]


def low_rank_factor(
    G: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, phi: Callable[[Any], Any] = _phi
) -> Any:
    """exp(W G) W_V W_O, shape (d, d), through an exponential of order 4 d_v: W = U L^T has rank 2 d_v at most.

    With U = [W_Q, W_K] and L = alpha / sqrt(d_v) [W_K, -W_Q], exp(U L^T G) = I + U phi(L^T G U) L^T G.
    """
    U, V = concatenate([W_Q, W_K], axis=1), W_V @ W_O
    LG = (concatenate([W_K, -W_Q], axis=1) * (alpha / sqrt(W_Q.shape[1]))).T @ G
    return V + U @ (phi(LG @ U) @ (LG @ V))


LOW_RANK = Claim(LAYER, "osa.push-through-low-rank", label="Eq. (5) through matrices of order 4 d_v",
    statement=r"""\exp(\mathbf{W}\mathbf{G}) = \mathbf{I}_d + \mathbf{U}\,\varphi(\mathbf{L}^\top\mathbf{G}\mathbf{U})\,
        \mathbf{L}^\top\mathbf{G}, \quad \mathbf{U} = [\mathbf{W}^Q, \mathbf{W}^K],\ \mathbf{L} =
        \tfrac{\alpha}{\sqrt{d_v}}[\mathbf{W}^K, -\mathbf{W}^Q],\ \varphi(z) = (e^z - 1)/z; \quad
        \mathrm{OSA}(\mathbf{X}) = \mathbf{X}\exp(\mathbf{W}\mathbf{G})\mathbf{W}^V\mathbf{W}^O \text{ with }
        \mathbf{G} = \mathbf{X}^\top\mathbf{X}""",
    name="layer through matrices of the head size", relation=Equal(), uses=("osa.push-through-layer",), exact=True,
    of_project=True,
    note="With $h$ heads all factors together cost $O(N d^2 + d^3)$, whatever $h$.",
)  # fmt: skip
LOW_RANK.inputs(layer)


@LOW_RANK.formula
def attention_pushed_through_low_rank(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """OSA(X), shape (N, d), with the exponential of a matrix of order 4 d_v instead of d."""
    return X @ low_rank_factor(X.T @ X, W_Q, W_K, W_V, W_O, alpha)


LOW_RANK.oracle(attention_by_definition)
_common_mutants(LOW_RANK, attention_pushed_through_low_rank)


@LOW_RANK.mutant("exp(z) - 1 instead of phi(z)")
def _(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    return X @ low_rank_factor(X.T @ X, W_Q, W_K, W_V, W_O, alpha, phi=lambda A: expm(A) - eye(2 * W_Q.shape[1]))


def frame_factor(
    R: Any, P: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, curvature: int = 1, drift: int = 1
) -> Any:
    """The coefficients of OSA(X) in [B, P], shape (r + d, d), for X = B R + P with B^T B = I, B^T P = 0.

    exp [[R W R^T, R W P^T P], [W R^T, W P^T P]] [[R], [I]] W_V W_O; mutants leave out parts that P brings in.
    """
    W, PP = scaled_generator(W_Q, W_K, alpha), P.T @ P * curvature
    upper = concatenate([R @ W @ R.T, R @ W @ PP], axis=1)
    lower = concatenate([W @ R.T * drift, W @ PP], axis=1)
    stacked = concatenate([R, eye(R.shape[1])], axis=0)
    return expm(concatenate([upper, lower], axis=0)) @ (stacked @ (W_V @ W_O))


def attention_in_frame(X: Any, B: Any, factor: Callable[[Any, Any], Any]) -> Any:
    """[B, P] factor(R, P), shape (N, d), with R = B^T X and P = X - B R."""
    R = B.T @ X
    P = X - B @ R
    return concatenate([B, P], axis=1) @ factor(R, P)


QR_LAYER = Claim(UNTRAINED_LAYER, "osa.qr-of-x-layer", label="Eq. (5) through an orthonormal frame of the tokens",
    statement=r"\text{For } \mathbf{B}^\top\mathbf{B}=\mathbf{I}_r,\ \mathbf{R}=\mathbf{B}^\top\mathbf{X},\ "
    r"\mathbf{P}=\mathbf{X}-\mathbf{B}\mathbf{R}: \quad \mathrm{OSA}(\mathbf{X}) = [\mathbf{B},\mathbf{P}]\,\exp"
    r"\begin{pmatrix}\mathbf{R}\mathbf{W}\mathbf{R}^\top & \mathbf{R}\mathbf{W}\mathbf{P}^\top\mathbf{P}\\ \mathbf{W}"
    r"\mathbf{R}^\top & \mathbf{W}\mathbf{P}^\top\mathbf{P}\end{pmatrix}\begin{pmatrix}\mathbf{R}\\ \mathbf{I}_d"
    r"\end{pmatrix}\mathbf{W}^V\mathbf{W}^O. \text{ If } \mathbf{X}=\mathbf{B}\mathbf{R} \text{ is a QR decomposition,"
    r" } \mathbf{P}=0 \text{ and } \mathrm{OSA}(\mathbf{X}) = \mathbf{B}\exp(\mathbf{R}\mathbf{W}\mathbf{R}^\top)"
    r"\mathbf{R}\mathbf{W}^V\mathbf{W}^O",
    assumptions=[
        ORTHONORMAL, Assumption("r <= N; d_v = d/h for a whole number h of heads",
            sizes=lambda sizes: whole_heads(sizes) and sizes["r"] <= sizes["N"]),
    ],
    name="layer in an orthonormal frame of the tokens", relation=Equal(), all_sizes=True, hypotheses=(ORTHONORMAL,),
    sizes={"N": (1, 5), "d": (1, 4), "d_v": (1, 4), "r": (1, 4)}, uses=("osa.push-through",), exact=True,
    of_project=True,
    note="""The exponential is that of a skew matrix where $P = 0$. $P$ is kept because its derivative does not vanish:
        with it the layer may be differentiated with $B$ held fixed, which asks nothing of the rank of $X$.""",
)  # fmt: skip


@QR_LAYER.inputs
@realises({"columns of B are orthonormal": reached.FRAMES})
def tokens_and_frame(
    frame: TokenFrame, X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, r: Rank
) -> Any:
    return {**layer(X, W_Q, W_K, W_V, W_O, alpha), "B": orthonormal_columns(frame, r)}


@QR_LAYER.formula
def attention_in_frame_of_tokens(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, B: Basis
) -> Any:
    """OSA(X), shape (N, d), in O(N d^2 + d^3), for any B (N, r) with orthonormal columns; best with the Q of X = Q R."""
    return attention_in_frame(X, B, lambda R, P: frame_factor(R, P, W_Q, W_K, W_V, W_O, alpha))


QR_LAYER.oracle(attention_by_definition)
QR_LAYER.mutant("P left out, though B does not span X", "X -> B @ (B.T @ X)")
QR_LAYER.mutant("products P^T P left out", curvature=0)
QR_LAYER.mutant("query and key exchanged", "W_Q -> W_K; W_K -> W_Q")

# -- accuracy ----------------------------------------------------------------------------------------------------------

FULL_RANK = Assumption("X in R^{N x d} has rank d", positive=lambda X: singular_values(X)[-1])
NEVER_FULL_RANK = {
    "rank deficient": "X of deficient rank has no finite condition number",
    "tied": "repeated rows leave X without rank d",
}

NOT_WIDER = Assumption("d <= N", sizes=lambda sizes: sizes["d"] <= sizes["N"])

GROWTH = Claim(OSA, "osa.push-through-growth", label="Size of exp(W X^T X)",
    statement=r"""\|\exp(\mathbf{W}\mathbf{X}^\top\mathbf{X})\|_2 \le \kappa(\mathbf{X}) \text{ for skew } \mathbf{W}
        \text{ and } \operatorname{rank}\mathbf{X} = d""",
    assumptions=[FULL_RANK, SKEW, NOT_WIDER],
    name="norm of the pushed-through exponential", relation=AtMost(), all_sizes=True, hypotheses=[skew("W", SKEW.text)],
    sizes={"N": (1, 5), "d": (1, 4)},
    without_domains=NEVER_FULL_RANK, of_project=True,
    note=r"""$WX^\top X$ is similar to a skew matrix by $(X^\top X)^{1/2}$. Equality at $X = \operatorname{diag}(1,
        c)$ for every $c > 0$,
        $WX^\top X$ a quarter turn. $\exp(RWR^\top)$ of the frame of $X$ is orthogonal instead.""",
)  # fmt: skip
GROWTH.inputs(tokens_and_skew_generator)


@GROWTH.formula
def growth_bound(X: Tokens) -> Any:
    """kappa(X) = sigma_1(X) / sigma_d(X), a scalar; infinite where X (N, d) has rank below d."""
    return condition_number(X)


@GROWTH.oracle
def growth(X: Tokens, W: SquareQuery) -> Any:
    return spectral_norm(expm(W @ (X.T @ X)))


GROWTH.mutant("halved", lambda value: value * rational(1, 2))
GROWTH.mutant("square root of kappa(X)", lambda value: sqrt(value))
GROWTH.mutant("1, as for an orthogonal matrix", lambda value: value * 0 + 1)

ACCURACY = Claim(OSA, "osa.push-through-accuracy", label="Sensitivity of X exp(W G) to errors in G",
    statement=r"""\|\mathbf{X}\exp(\mathbf{W}\hat{\mathbf{G}}) - \mathbf{X}\exp(\mathbf{W}\mathbf{X}^\top\mathbf{X})\|_2
        \le \|\mathbf{X}\|_2\,\|\mathbf{W}\|_2\,\kappa(\mathbf{Y})\,\|\hat{\mathbf{G}} - \mathbf{X}^\top\mathbf{X}\|_2
        \text{ for skew } \mathbf{W} \text{ and } \hat{\mathbf{G}} = \mathbf{Y}^\top\mathbf{Y} \text{ of rank } d""",
    assumptions=[Assumption("Y in R^{N x d} has rank d", positive=lambda Y: singular_values(Y)[-1]), SKEW, NOT_WIDER],
    name="sensitivity of the push-through form", relation=AtMost(left="error of the push-through form"),
    all_sizes=True, hypotheses=[skew("W", SKEW.text)], sizes={"N": (1, 4), "d": (1, 3)}, without_domains=NEVER_FULL_RANK,
    uses=("osa.push-through", "osa.push-through-growth"), of_project=True,
    note=r"""The integral of $\exp(sS)XW(\hat{G} - G)\exp((1 - s)W\hat{G})$ over $s$ in $[0, 1]$, $S = XWX^\top$.
        With $G = X^\top X$, a relative error $u$ of $G$ moves the layer by at most $u\|W\|\|X\|^2\kappa(X)$
        relative to $\|X\|$, one of
        $RWR^\top$ in the frame of $X$ by $u\|S\|$. $\|S\|$ can be $\kappa(X)$ times smaller than $\|W\|\|X\|^2$ already
        for $d = 2$, so $\kappa(X)^2$ is what may be lost.""",
)  # fmt: skip


@ACCURACY.inputs
@realises({"skew-symmetric": reached.SKEW})
def tokens_and_error(X: Tokens, D: Tokens, A: SquareQuery) -> Any:
    return {"X": X, "Y": X + D, "W": A - A.T}


@ACCURACY.domain("ill-conditioned")
def _(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    # a last column of size 1/32, and errors within it, at a quarter turn or so: where the factor kappa matters
    arrays["X"][..., -1] /= 32
    arrays["A"] *= 16
    arrays["D"][..., -1] /= 256
    arrays["D"][..., :-1] = 0


def _sensitivity(X: Any, Y: Any, W: Any) -> Any:
    return spectral_norm(X) * spectral_norm(W) * spectral_norm(Y.T @ Y - X.T @ X)


@ACCURACY.formula
def sensitivity_bound(X: Tokens, Y: Tokens, W: SquareQuery) -> Any:
    """||X|| ||W|| kappa(Y) ||Y^T Y - X^T X|| in spectral norms, a scalar, for X and Y (N, d), skew W (d, d)."""
    return _sensitivity(X, Y, W) * condition_number(Y)


ACCURACY.oracle(lambda X, Y, W: spectral_norm(X @ (expm(W @ (Y.T @ Y)) - expm(W @ (X.T @ X)))))
ACCURACY.mutant("kappa(Y) left out", lambda X, Y, W: _sensitivity(X, Y, W))
ACCURACY.mutant("halved", lambda value: value * rational(1, 2))
ACCURACY.mutant("||W|| squared", lambda value, W: value * spectral_norm(W))
