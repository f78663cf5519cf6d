"""Blocks of the Hessian of l = |F - Y|^2 / 2 for attention under a mask: all follow from derivatives in the masked logits.

D_iaj = P_ij (V_ja - F_ia) is the derivative of F_ia in the logit T_ij, R = F - Y.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer.definitions import logit_curvature, masked_attention, masked_weights
from theorems.transformer.settings import ATTENTION, Keys, Mask, Queries, Signs, Values, masked_operands
from verify.matrix import eye, indexed, rational, softmax, sqrt, total  # noqa: F401  (mutants name softmax)
from verify.oracles import hessian
from verify.vocabulary import Claim, Equal, Shape

Labels = Annotated[Any, Shape("m", "d_V")]


def labelled(Q: Queries, K: Keys, V: Values, S: Signs, Y: Labels) -> dict[str, Any]:
    return {**masked_operands(Q, K, V, S), "Y": Y}


LOSS = ATTENTION.extended("Square loss of attention under a mask", inputs=labelled, sizes={"m": (1, 2)})


def loss(Q: Queries, K: Keys, V: Values, M: Mask, Y: Labels) -> Any:
    """l = |F - Y|^2 / 2, a scalar."""
    R = masked_attention(Q, K, V, M) - Y
    return total(R * R) * rational(1, 2)


def slopes(P: Any, V: Values) -> Any:
    """D_iaj = P_ij (V_ja - F_ia), shape (m, d_V, n)."""
    return indexed("ij,ja->(i)(a)(j)", P, V) - indexed("ij,ia->(i)(a)(j)", P, P @ V)


def curvature(P: Any, V: Values, Y: Labels) -> Any:
    """d^2 l / dT_ij dT_il = sum_a D_iaj D_ial + R_ia d^2 F_ia / dT_ij dT_il, shape (m, n, n)."""
    D = slopes(P, V)
    return indexed("iaj,ial->(i)(j)(l)", D, D) + indexed("ia,iajl->(i)(j)(l)", P @ V - Y, logit_curvature(P, V))


def mixed(P: Any, V: Values, Y: Labels) -> Any:
    """d^2 l / dV_ja dT_il = P_ij D_ial + R_ia P_ij (delta_jl - P_il), shape (m, d_V, n, n)."""
    R = P @ V - Y
    return (
        indexed("ij,ial->(i)(a)(j)(l)", P, slopes(P, V)) + indexed("ia,ij,jl->(i)(a)(j)(l)", R, P, eye(V.shape[0]))
        - indexed("ia,ij,il->(i)(a)(j)(l)", R, P, P)
    )  # fmt: skip


def block(name: str, label: str, words: str, statement: str, *variables: str) -> Any:
    """A claim about one block, proved for all sizes, with the mutants that masks have."""
    made = Claim(LOSS, f"transformer.loss-hessian-{name}", label=label, statement=statement, name=words, relation=Equal(),
                 all_sizes=True, uses=("transformer.attention-hessian-logits",))  # fmt: skip
    made.oracle(lambda Q, K, V, M, Y: hessian(loss, variables)(Q, K, V, M, Y))
    return made


def masks(claim: Any) -> None:
    claim.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")
    claim.mutant(
        "weights masked after the softmax", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1])) * M"
    )


QUERIES = block("query-query", "Hessian of the loss in the queries", "loss Hessian of masked attention, queries",
    r"""\frac{\partial^2\ell}{\partial Q_{ib}\partial Q_{ic}} = \frac1{d_K}\sum_{jl}S_{ijl}K_{jb}K_{lc},\quad S_{ijl} =
        \sum_aD_{iaj}D_{ial} + R_{ia}\frac{\partial^2F_{ia}}{\partial T_{ij}\partial T_{il}},\ \text{0 for two queries}""",
    "Q", "Q")  # fmt: skip


@QUERIES.formula
def loss_hessian_of_queries(Q: Queries, K: Keys, V: Values, M: Mask, Y: Labels) -> Any:
    """K^T S_i K / d_K for each query i, shape (m d_K, m d_K)."""
    S = curvature(masked_weights(Q, K, M), V, Y)
    return indexed("ijl,jb,lc,ip->(i b)(p c)", S, K, K, eye(Q.shape[0])) / Q.shape[1]


QUERIES.mutant("scaled once", "Q.shape[1] -> sqrt(Q.shape[1])")
QUERIES.mutant("the functional part left out", "curvature(masked_weights(Q, K, M), V, Y) -> curvature("
               "masked_weights(Q, K, M), V, masked_weights(Q, K, M) @ V)")  # fmt: skip
masks(QUERIES)

QUERY_KEY = block("query-key", "Hessian of the loss in queries and keys", "loss Hessian of masked attention, queries and keys",
    r"""\frac{\partial^2\ell}{\partial Q_{ib}\partial K_{lc}} = \frac1{d_K}Q_{ic}\sum_jS_{ijl}K_{jb} +
        \frac1{\sqrt{d_K}}\delta_{bc}\sum_aR_{ia}D_{ial}""", "Q", "K")  # fmt: skip


@QUERY_KEY.formula
def loss_hessian_of_queries_and_keys(Q: Queries, K: Keys, V: Values, M: Mask, Y: Labels) -> Any:
    """The curvature, and the gradient in the logits where they are bilinear, shape (m d_K, n d_K)."""
    P, d_K = masked_weights(Q, K, M), Q.shape[1]
    bilinear = indexed("ia,ial,bc->(i b)(l c)", P @ V - Y, slopes(P, V), eye(d_K)) / sqrt(d_K)
    return indexed("ijl,jb,ic->(i b)(l c)", curvature(P, V, Y), K, Q) / d_K + bilinear


QUERY_KEY.mutant("the bilinear term left out", "eye(d_K) -> 0 * eye(d_K)")
QUERY_KEY.mutant("the residual with the opposite sign", "P @ V - Y -> Y - P @ V")
masks(QUERY_KEY)

KEYS = block("key-key", "Hessian of the loss in the keys", "loss Hessian of masked attention, keys",
    r"""\frac{\partial^2\ell}{\partial K_{jb}\partial K_{lc}} = \frac1{d_K}\sum_iS_{ijl}Q_{ib}Q_{ic},\ \text{0 where no query
        may attend to both}""", "K", "K")  # fmt: skip


@KEYS.formula
def loss_hessian_of_keys(Q: Queries, K: Keys, V: Values, M: Mask, Y: Labels) -> Any:
    """Sums of S_ijl Q_ib Q_ic / d_K over queries, shape (n d_K, n d_K)."""
    return indexed("ijl,ib,ic->(j b)(l c)", curvature(masked_weights(Q, K, M), V, Y), Q, Q) / Q.shape[1]


KEYS.mutant("scaled once", "Q.shape[1] -> sqrt(Q.shape[1])")
KEYS.mutant("the labels forgotten", "Y -> 0 * Y")
masks(KEYS)

VALUES = block("value-value", "Hessian of the loss in the values", "loss Hessian of masked attention, values",
    r"\partial^2\ell/\partial V\partial V = P^\top P\otimes I_{d_V}", "V", "V")  # fmt: skip


@VALUES.formula
def loss_hessian_of_values(Q: Queries, K: Keys, V: Values, M: Mask, Y: Labels) -> Any:
    """P^T P (x) I, shape (n d_V, n d_V)."""
    P = masked_weights(Q, K, M)
    return indexed("ij,il,ae->(j a)(l e)", P, P, eye(V.shape[1]))


VALUES.mutant("identity on the left", "'ij,il,ae->(j a)(l e)' -> 'ij,il,ae->(a j)(e l)'")
masks(VALUES)

VALUE_QUERY = block("value-query", "Hessian of the loss in values and queries",
    "loss Hessian of masked attention, values and queries",
    r"""\frac{\partial^2\ell}{\partial V_{ja}\partial Q_{ib}} = \frac1{\sqrt{d_K}}\sum_l\big(P_{ij}D_{ial} +
        R_{ia}P_{ij}(\delta_{jl}-P_{il})\big)K_{lb}""", "V", "Q")  # fmt: skip


@VALUE_QUERY.formula
def loss_hessian_of_values_and_queries(Q: Queries, K: Keys, V: Values, M: Mask, Y: Labels) -> Any:
    """The mixed derivative in values and logits, times keys over sqrt(d_K), shape (n d_V, m d_K)."""
    return indexed("iajl,lb->(j a)(i b)", mixed(masked_weights(Q, K, M), V, Y), K) / sqrt(Q.shape[1])


VALUE_QUERY.mutant("no scale", "sqrt(Q.shape[1]) -> 1")
masks(VALUE_QUERY)

VALUE_KEY = block("value-key", "Hessian of the loss in values and keys",
    "loss Hessian of masked attention, values and keys",
    r"""\frac{\partial^2\ell}{\partial V_{ja}\partial K_{lb}} = \frac1{\sqrt{d_K}}\sum_i\big(P_{ij}D_{ial} +
        R_{ia}P_{ij}(\delta_{jl}-P_{il})\big)Q_{ib}""", "V", "K")  # fmt: skip


@VALUE_KEY.formula
def loss_hessian_of_values_and_keys(Q: Queries, K: Keys, V: Values, M: Mask, Y: Labels) -> Any:
    """The mixed derivative in values and logits, times queries over sqrt(d_K), shape (n d_V, n d_K)."""
    return indexed("iajl,ib->(j a)(l b)", mixed(masked_weights(Q, K, M), V, Y), Q) / sqrt(Q.shape[1])


VALUE_KEY.mutant("no scale", "sqrt(Q.shape[1]) -> 1")
masks(VALUE_KEY)
