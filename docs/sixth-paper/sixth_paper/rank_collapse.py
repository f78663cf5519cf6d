"""Rank collapse: attention without skip connections makes all tokens alike, and each layer cubes the distance.

The residual of X is what is left when the mean token is taken from every token.  Dong, Cordonnier and Loukas measure it in
another norm, and relative to another common token; so the constant 1/2 below is ours and not theirs.
"""

from __future__ import annotations

from typing import Annotated, Any

from sixth_paper import COLLAPSE
from verify.matrix import frobenius_norm, ones, rational, softmax, spectral_norm, sqrt, transpose
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, QuadraticRate, Setting, Shape, TendsTo

Tokens = Annotated[Any, Shape("n", "d")]
Scores = Annotated[Any, Shape("d", "d", role="query")]
Value = Annotated[Any, Shape("d", "d")]
SharedScores = Annotated[Any, Shape("1", "n")]


def attention(X: Tokens, W: Scores, V: Value) -> Any:
    """softmax(X W X^T / sqrt(d)) X V, shape (n, d): one layer of one head without skip connection; W stands for W_Q W_K^T."""
    return softmax(X @ W @ X.T / sqrt(X.shape[1])) @ X @ V


def residual(X: Tokens) -> Any:
    """Every token less the mean token, shape (n, d)."""
    return X - ones(X.shape[0], X.shape[0]) @ X * rational(1, X.shape[0])


LAYER = Setting(COLLAPSE, "One layer", sizes={"n": (1, 4), "d": (1, 3)},
    assumptions=[
        Definition("one head, no skip connection, no MLP; W is the product W_Q W_K^T", by=attention),
        Definition("res(X) = X - 1 mean(X), each token less the mean of all tokens", by=residual),
    ])  # fmt: skip

ONLY_RESIDUALS = Claim(LAYER, "collapse.only-residuals", label="A common token cancels",
    name="the residual of a layer is made of residuals", relation=Equal(), all_sizes=True,
    statement=r"\operatorname{res}(PXV) = \operatorname{res}(P\,\operatorname{res}(X)V),\quad"
        r" P = \operatorname{softmax}(XWX^\top / \sqrt d)")  # fmt: skip


@ONLY_RESIDUALS.formula
def residual_of_residuals(X: Tokens, W: Scores, V: Value) -> Any:
    """res(P res(X) V), shape (n, d)."""
    return residual(softmax(X @ W @ X.T / sqrt(X.shape[1])) @ residual(X) @ V)


ONLY_RESIDUALS.oracle(lambda X, W, V: residual(attention(X, W, V)))
ONLY_RESIDUALS.mutant("attention transposed", lambda X, W, V: residual_of_residuals(X, transpose(W), V))
ONLY_RESIDUALS.mutant("no attention", lambda X, V: residual(X) @ V)

CLOSE_ROWS = Claim(LAYER, "collapse.close-rows", label="Rows of the attention matrix are close",
    name="distance of the attention matrix from equal rows", all_sizes=True,
    relation=AtMost(left="the distance from equal rows", right="half the norm of the scores of residuals"),
    assumptions=["R is the residual and a the row of scores that all queries share, so that P = softmax(R W R^T / sqrt(d) + 1 a)"],
    statement=r"""\|\operatorname{softmax}(RWR^\top / \sqrt d + 1a) - \operatorname{softmax}(1a)\|_F
        \le \frac{\|W\|_2}{2\sqrt d}\|R\|_F^2""")  # fmt: skip


@CLOSE_ROWS.formula
def half_of_scores(R: Tokens, W: Scores, a: SharedScores) -> Any:
    """|W|_2 |R|_F^2 / (2 sqrt(d)), a scalar."""
    return spectral_norm(W) * frobenius_norm(R) * frobenius_norm(R) / (2 * sqrt(R.shape[1]))


@CLOSE_ROWS.oracle
def distance_of_rows(R: Tokens, W: Scores, a: SharedScores) -> Any:
    """|softmax(R W R^T / sqrt(d) + 1 a) - softmax(1 a)|_F, a scalar."""
    shared = ones(R.shape[0], 1) @ a
    return frobenius_norm(softmax(R @ W @ R.T / sqrt(R.shape[1]) + shared) - softmax(shared))


CLOSE_ROWS.mutant("a tenth of it", lambda value: value / 10)
CLOSE_ROWS.mutant("the scores cubed", lambda value, R: value * frobenius_norm(R))

CUBE = Claim(LAYER, "collapse.one-layer", label="One layer cubes the residual",
    name="cubic decay of the residual in one layer", corrects="collapse.every-layer",
    proof=("collapse.only-residuals", "collapse.close-rows"),
    relation=AtMost(left="the residual after the layer", right="the cube of the residual before it"),
    statement=r"""\|\operatorname{res}(\operatorname{SA}(X))\|_F
        \le \frac{\|W\|_2\,\|V\|_2}{2\sqrt d}\,\|\operatorname{res}(X)\|_F^3""")  # fmt: skip


@CUBE.formula
def cube_of_residual(X: Tokens, W: Scores, V: Value) -> Any:
    """|W|_2 |V|_2 |res X|_F^3 / (2 sqrt(d)), a scalar."""
    size = frobenius_norm(residual(X))
    return spectral_norm(W) * spectral_norm(V) * size * size * size / (2 * sqrt(X.shape[1]))


@CUBE.oracle
def residual_after(X: Tokens, W: Scores, V: Value) -> Any:
    """|res(SA(X))|_F, a scalar."""
    return frobenius_norm(residual(attention(X, W, V)))


CUBE.mutant("a tenth of it", lambda value: value / 10)
CUBE.mutant("the fourth power", lambda value, X: value * frobenius_norm(residual(X)))

ALWAYS = Claim(LAYER, "collapse.every-layer", label="Without a condition on the weights",
    name="does every layer bring the tokens closer?", expects="refuted", severity="error", correction="collapse.one-layer",
    relation=AtMost(left="the residual after the layer", right="the residual before it"),
    statement=r"\|\operatorname{res}(\operatorname{SA}(X))\|_F \le \|\operatorname{res}(X)\|_F",
    consequence="Large weights pull tokens apart. What collapses is attention whose residual is small to begin with.",
    )  # fmt: skip


@ALWAYS.formula
def residual_before(X: Tokens, W: Scores, V: Value) -> Any:
    """|res(X)|_F, a scalar."""
    return frobenius_norm(residual(X))


ALWAYS.oracle(residual_after)
ALWAYS.mutant("half of it", lambda value: value / 2)
ALWAYS.mutant("sign", lambda value: -value)


@ALWAYS.counterexample("tokens 1 and -1, attention to themselves, values doubled")
def apart() -> dict[str, Any]:
    return {"X": [[1], [-1]], "W": [[2]], "V": [[2]]}


def layers(scale: int, X: Tokens, W: Scores, V: Value) -> Any:
    """The residual after `scale` layers with the same weights, shape (n, d)."""
    for _ in range(scale):
        X = attention(X, W, V)
    return residual(X)


def small_tokens(raw: Tokens, W: Scores, V: Value) -> dict[str, Any]:
    """Tokens so short that the bound lets every layer shrink the residual, whatever the weights are.

    With c = |W|_F |V|_F / sqrt(d) they are shorter than 1 / (2 (1 + c)); `raw` is drawn freely.
    """
    c = frobenius_norm(W) * frobenius_norm(V) / sqrt(raw.shape[1])
    return {"X": raw / (2 * (1 + c) * (1 + frobenius_norm(raw))), "W": W, "V": V}


SHRINKS = Assumption("|W|_2 |V|_2 |res X|_F^2 < 2 sqrt(d)", positive=lambda X, W, V: (
    2 * sqrt(X.shape[1]) - spectral_norm(W) * spectral_norm(V) * frobenius_norm(residual(X)) ** 2))  # fmt: skip

DEEP = Claim(LAYER.extended("Many layers", inputs=small_tokens, assumptions=[SHRINKS]),
    "collapse.many-layers", label="Many layers: the residual falls doubly exponentially",
    name="rank collapse with depth", relation=TendsTo(scales=(1, 2, 3, 4, 5), rate=QuadraticRate(order=2.8), bits=4000),
    statement=r"""\operatorname{res}(X_l) \to 0,\quad X_{l+1} = \operatorname{SA}(X_l),\qquad
        \|\operatorname{res}(X_{l+1})\|_F = O(\|\operatorname{res}(X_l)\|_F^3)""")  # fmt: skip


@DEEP.formula
def no_residual(X: Tokens, W: Scores, V: Value) -> Any:
    """0, shape (n, d)."""
    return 0 * X


DEEP.part("sequence", layers)
DEEP.mutant("the first residual stays", residual)
DEEP.mutant("a common token stays", lambda X: 0 * X + 1)
