"""Causal masks: token i attends to the tokens 1, ..., i."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import causal_attention, masked_attention, masked_weights
from theorems.transformer.settings import BINARY, Keys, Values, mask_of
from verify.matrix import concatenate, diag_part, each, eye, indexed, ones, rows_within, softmax, sqrt
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape

TokenQueries = Annotated[Any, Shape("n", "d_K", role="query")]
Tokens = Annotated[Any, Shape("n", "d_V")]
Weights = Annotated[Any, Shape("d_V", "d_K", role="query")]
TokenMask = Annotated[Any, Shape("n", "n")]

CAUSAL = Setting(
    TRANSFORMER, "Causal attention", exact=True, sizes={"n": (1, 5), "d_K": (1, 4), "d_V": (1, 3)},
)  # fmt: skip

CACHED = Claim(CAUSAL, "transformer.causal-from-a-cache", label="Causal attention, a token at a time",
    statement=r"F^{\text{causal}}_i = \operatorname{softmax}\Big(\frac{Q_iK_{1:i}^\top}{\sqrt{d_K}}\Big)V_{1:i}",
    name="causal attention from cached keys and values", relation=Equal(),
    all_sizes=True)  # fmt: skip


@CACHED.formula
def token_by_token(Q: TokenQueries, K: Keys, V: Values) -> Any:
    """Attention of each query to the keys up to its own, without a mask, shape (n, d_V)."""
    root = sqrt(Q.shape[1])

    def row(i: int) -> Any:
        earlier, values = rows_within(K, 0, i + 1), rows_within(V, 0, i + 1)
        return softmax(Q[i : i + 1] @ earlier.T / root) @ values

    return concatenate(each(Q.shape[0], row), axis=0)


CACHED.oracle(lambda Q, K, V: causal_attention(Q, K, V))
CACHED.mutant("all keys", "rows_within(K, 0, i + 1) -> K; rows_within(V, 0, i + 1) -> V")
CACHED.mutant(
    "the next key too",
    "rows_within(K, 0, i + 1) -> rows_within(K, 0, i + 2); rows_within(V, 0, i + 1) -> rows_within(V, 0, i + 2)",
)
CACHED.mutant("no scale", "root -> 1")

PREFIX = Claim(CAUSAL, "transformer.causal-prefix", label="Later tokens change nothing before them",
    statement=r"F^{\text{causal}}(Q, K, V)_{1:k} = F^{\text{causal}}(Q_{1:k}, K_{1:k}, V_{1:k}),\quad k = 1, \dots, n",
    name="prefixes of causal attention", relation=Equal(), all_sizes=True)  # fmt: skip


@PREFIX.formula
def first_half(Q: TokenQueries, K: Keys, V: Values) -> Any:
    """Causal attention of each prefix alone, its last row, on top of each other, shape (n, d_V)."""

    def last_row(k: int) -> Any:
        return causal_attention(*(rows_within(M, 0, k + 1) for M in (Q, K, V)))[k : k + 1]

    return concatenate(each(Q.shape[0], last_row), axis=0)


PREFIX.oracle(lambda Q, K, V: causal_attention(Q, K, V))
PREFIX.mutant("the first key alone", "(Q, K, V) -> (Q, ones(K.shape[0], 1) @ K[:1], V)")
PREFIX.mutant("the first value alone", "(Q, K, V) -> (Q, K, ones(V.shape[0], 1) @ V[:1])")

# -- no gradient from earlier outputs to later tokens ------------------------------------------------------------------

REFLEXIVE = Assumption("every token may attend to itself", zero=lambda M: diag_part(M) - 1)


def tokens_and_mask(X: Tokens, W_Q: Weights, W_K: Weights, S: TokenMask) -> dict[str, Any]:
    """Tokens, weights, and a mask that is 1 on the diagonal."""
    n = X.shape[0]
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "M": mask_of(S) * (ones(n, n) - eye(n)) + eye(n)}


SELF = Setting(
    TRANSFORMER, "Self-attention under a mask", assumptions=[REFLEXIVE], inputs=tokens_and_mask, exact=True,
    sizes={"n": (1, 3), "d_K": (1, 4), "d_V": (1, 2)},
)  # fmt: skip


def masked_self_attention(X: Any, W_Q: Any, W_K: Any, M: Any) -> Any:
    """Attention of tokens to tokens, whose values are the tokens themselves, shape (n, d_V)."""
    return masked_attention(X @ W_Q, X @ W_K, X, M)


TOKENS = Claim(SELF, "transformer.masked-self-attention-jacobian", label="Derivative in the tokens",
    statement=r"""\frac{\partial F_{ia}}{\partial X_{jb}} = P_{ij}\Big(\delta_{ab} + \frac{(X_{ja}-F_{ia})
        (XW_QW_K^\top)_{ib}}{\sqrt{d_K}}\Big) + \frac{\delta_{ij}}{\sqrt{d_K}}\sum_kP_{ik}(X_{ka}-F_{ia})
        (XW_KW_Q^\top)_{kb}""",
    assumptions=[Definition("the values are the tokens: a value matrix multiplies F from the right", by=masked_self_attention)],
    name="derivative of masked self-attention in the tokens", relation=Equal(), all_sizes=True,
    uses=("transformer.attention-jacobian-query", "transformer.attention-jacobian-key"))  # fmt: skip


@TOKENS.formula
def token_jacobian(X: Tokens, W_Q: Weights, W_K: Weights, M: TokenMask) -> Any:
    """dF/dX, shape (n d_V, n d_V)."""
    n, d_V = X.shape
    P, root, queries, keys = masked_weights(X @ W_Q, X @ W_K, M), sqrt(W_Q.shape[1]), X @ W_Q @ W_K.T, X @ W_K @ W_Q.T
    slopes = indexed("ij,ja->(i)(j)(a)", P, X) - indexed("ij,ia->(i)(j)(a)", P, P @ X)
    as_keys, as_queries = (
        indexed("ija,ib->(i a)(j b)", slopes, queries),
        indexed("ika,kb,ij->(i a)(j b)", slopes, keys, eye(n)),
    )
    return indexed("ij,ab->(i a)(j b)", P, eye(d_V)) + (as_keys + as_queries) / root


TOKENS.oracle(lambda X, W_Q, W_K, M: jacobian(masked_self_attention, "X")(X, W_Q, W_K, M))
TOKENS.mutant("keys as constants", "as_keys -> 0 * as_keys")
TOKENS.mutant("queries as constants", "as_queries -> 0 * as_queries")
TOKENS.mutant(
    "query and key weights exchanged", "X @ W_Q @ W_K.T -> X @ W_K @ W_Q.T; X @ W_K @ W_Q.T -> X @ W_Q @ W_K.T"
)
TOKENS.mutant("no mask", "masked_weights(X @ W_Q, X @ W_K, M) -> softmax(X @ W_Q @ W_K.T @ X.T / sqrt(W_Q.shape[1]))")

UNSEEN = Claim(SELF, "transformer.no-gradient-from-unseen-tokens", label="No gradient from tokens that are not seen",
    statement=r"""M_{ij} = 0 \Rightarrow \partial F_i/\partial X_j = 0:\quad \partial F_i/\partial X_j =
        M_{ij}\,\partial F_i/\partial X_j""",
    assumptions=[BINARY], hypotheses=[BINARY, REFLEXIVE], name="tokens that are not seen do not act", relation=Equal(),
    all_sizes=True, uses=("transformer.masked-self-attention-jacobian",),
    note="Under a causal mask: the outputs of tokens 1, ..., i do not depend on token i + 1 or any later one.")  # fmt: skip


def _differentiated(X: Any, W_Q: Any, W_K: Any, M: Any) -> Any:
    return jacobian(masked_self_attention, "X")(X, W_Q, W_K, M).reshape(*X.shape, *X.shape)


@UNSEEN.formula
def derivative_by_seen_tokens(X: Tokens, W_Q: Weights, W_K: Weights, M: TokenMask) -> Any:
    """The Jacobian in the tokens with the blocks of unseen ones set to zero, shape (n d_V, n d_V)."""
    return indexed("iajb,ij->(i a)(j b)", _differentiated(X, W_Q, W_K, M), M)


UNSEEN.oracle(lambda X, W_Q, W_K, M: indexed("iajb->(i a)(j b)", _differentiated(X, W_Q, W_K, M)))
UNSEEN.mutant("the mask transposed", "'iajb,ij->(i a)(j b)' -> 'iajb,ji->(i a)(j b)'")
UNSEEN.mutant("twice the derivative", lambda value: value * 2)
