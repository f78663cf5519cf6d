"""First and second derivatives of attention under a mask, in queries, keys and values that come from different tokens."""

from __future__ import annotations

from typing import Any

from theorems.transformer.definitions import logit_curvature, masked_attention, masked_weights, softmax_under_mask
from theorems.transformer.settings import ATTENTION, Keys, Mask, Queries, Values
from verify.matrix import eye, indexed, softmax, sqrt  # noqa: F401  (mutants name softmax)
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Equal

# -- first derivatives -------------------------------------------------------------------------------------------------

JACOBIAN_Q = Claim(ATTENTION, "transformer.attention-jacobian-query", label="Derivative in the queries",
    statement=r"""\frac{\partial F_{ia}}{\partial Q_{ib}} = \frac1{\sqrt{d_K}}\sum_jP_{ij}(V_{ja}-F_{ia})K_{jb},\ \text{the
        covariance of values and keys under } P_i;\quad \partial F_i/\partial Q_k = 0,\ k\ne i""",
    name="derivative of masked attention in the queries", relation=Equal(), all_sizes=True,
    uses=("transformer.masked-softmax-jacobian",))  # fmt: skip


@JACOBIAN_Q.formula
def query_jacobian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """blockdiag of the covariances of values and keys over sqrt(d_K), shape (m d_V, m d_K)."""
    P, identity = masked_weights(Q, K, M), eye(Q.shape[0])
    return (
        indexed("ij,ja,jb,ik->(i a)(k b)", P, V, K, identity) - indexed("ia,ib,ik->(i a)(k b)", P @ V, P @ K, identity)
    ) / sqrt(Q.shape[1])


JACOBIAN_Q.oracle(lambda Q, K, V, M: jacobian(masked_attention, "Q")(Q, K, V, M))
JACOBIAN_Q.mutant("values not centred", "P @ V -> 0 * (P @ V)")
JACOBIAN_Q.mutant("no scale", "sqrt(Q.shape[1]) -> 1")
JACOBIAN_Q.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")

JACOBIAN_K = Claim(ATTENTION, "transformer.attention-jacobian-key", label="Derivative in the keys",
    statement=r"\frac{\partial F_{ia}}{\partial K_{lb}} = \frac1{\sqrt{d_K}}P_{il}(V_{la}-F_{ia})Q_{ib}",
    name="derivative of masked attention in the keys", relation=Equal(), all_sizes=True,
    uses=("transformer.masked-softmax-jacobian",))  # fmt: skip


@JACOBIAN_K.formula
def key_jacobian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """P_il (V_la - F_ia) Q_ib / sqrt(d_K), shape (m d_V, n d_K)."""
    P = masked_weights(Q, K, M)
    return (indexed("il,la,ib->(i a)(l b)", P, V, Q) - indexed("il,ia,ib->(i a)(l b)", P, P @ V, Q)) / sqrt(Q.shape[1])


JACOBIAN_K.oracle(lambda Q, K, V, M: jacobian(masked_attention, "K")(Q, K, V, M))
JACOBIAN_K.mutant("values not centred", "P @ V -> 0 * (P @ V)")
JACOBIAN_K.mutant("scale of the values", "sqrt(Q.shape[1]) -> sqrt(V.shape[1])")
JACOBIAN_K.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")

JACOBIAN_V = Claim(ATTENTION, "transformer.attention-jacobian-value", label="Derivative in the values",
    statement=r"\partial F/\partial V = P\otimes I_{d_V}",
    name="derivative of masked attention in the values", relation=Equal(), all_sizes=True)  # fmt: skip


@JACOBIAN_V.formula
def value_jacobian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """P (x) I, shape (m d_V, n d_V)."""
    return indexed("ij,ab->(i a)(j b)", masked_weights(Q, K, M), eye(V.shape[1]))


JACOBIAN_V.oracle(lambda Q, K, V, M: jacobian(masked_attention, "V")(Q, K, V, M))
JACOBIAN_V.mutant("identity on the left", "'ij,ab->(i a)(j b)' -> 'ij,ab->(a i)(b j)'")
JACOBIAN_V.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")

# -- second derivatives ------------------------------------------------------------------------------------------------

CURVED = ATTENTION.extended("Second derivatives of attention under a mask", sizes={"m": (1, 2), "n": (1, 3)})

LOGITS = Claim(CURVED, "transformer.attention-hessian-logits", label="Second derivative in the logits",
    statement=r"""\frac{\partial^2F_{ia}}{\partial T_{ij}\partial T_{il}} = \delta_{jl}D_{iaj} - D_{iaj}P_{il} -
        D_{ial}P_{ij},\quad D_{iaj} = P_{ij}(V_{ja}-F_{ia}),\ \text{0 for logits of two queries}""",
    name="second derivative of attention in masked logits", relation=Equal(), all_sizes=True,
    uses=("transformer.masked-softmax-hessian",))  # fmt: skip


@LOGITS.formula
def logit_hessian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Hessians of the entries of F in the logits on top of each other, shape (m d_V m n, m n)."""
    identity = eye(Q.shape[0])
    curvature = logit_curvature(masked_weights(Q, K, M), V)
    return indexed("iajl,ip,iq->(i a p j)(q l)", curvature, identity, identity)


def _of_logits(T: Any, V: Any, M: Any) -> Any:
    return softmax_under_mask(T, M) @ V


LOGITS.oracle(lambda Q, K, V, M: hessian(_of_logits, ("T", "T"))(Q @ K.T / sqrt(Q.shape[1]), V, M))
LOGITS.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")
LOGITS.mutant("no scale", "masked_weights(Q, K, M) -> softmax_under_mask(Q @ K.T, M)")

HESSIAN_QQ = Claim(CURVED, "transformer.attention-hessian-query-query", label="Second derivative in the queries",
    statement=r"""\frac{\partial^2F_{ia}}{\partial Q_{ib}\partial Q_{ic}} = \frac1{d_K}\sum_jP_{ij}(V_{ja}-F_{ia})
        (K_{jb}-\bar K_{ib})(K_{jc}-\bar K_{ic}),\quad \bar K = PK""",
    name="third moments in the queries", relation=Equal(), all_sizes=True,
    uses=("transformer.attention-hessian-logits",))  # fmt: skip


@HESSIAN_QQ.formula
def query_hessian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Third central moments of values, keys and keys under P_i over d_K, shape (m d_V m d_K, m d_K)."""
    (m, d_K), n, P = Q.shape, K.shape[0], masked_weights(Q, K, M)
    centred_values = V.reshape(1, n, -1) - (P @ V).reshape(m, 1, -1)
    centred_keys = K.reshape(1, n, -1) - (P @ K).reshape(m, 1, -1)
    moments = indexed("ij,ija,ijb,ijc->(i)(a)(b)(c)", P, centred_values, centred_keys, centred_keys)
    return indexed("iabc,ip,iq->(i a p b)(q c)", moments, eye(m), eye(m)) / d_K


HESSIAN_QQ.oracle(lambda Q, K, V, M: hessian(masked_attention, ("Q", "Q"))(Q, K, V, M))
HESSIAN_QQ.mutant("scaled once", "d_K -> sqrt(d_K)")
HESSIAN_QQ.mutant("keys not centred", "(P @ K).reshape(m, 1, -1) -> 0 * (P @ K).reshape(m, 1, -1)")
HESSIAN_QQ.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")

HESSIAN_QK = Claim(CURVED, "transformer.attention-hessian-query-key", label="Second derivative in queries and keys",
    statement=r"""\frac{\partial^2F_{ia}}{\partial Q_{ib}\partial K_{lc}} = \frac1{\sqrt{d_K}}\delta_{bc}D_{ial} +
        \frac1{d_K}Q_{ic}\sum_jH_{iajl}K_{jb},\quad D_{ial} = P_{il}(V_{la}-F_{ia}),\ H_{iajl} =
        \frac{\partial^2F_{ia}}{\partial T_{ij}\partial T_{il}}""",
    name="second derivative in queries and keys", relation=Equal(), all_sizes=True,
    uses=("transformer.attention-hessian-logits",))  # fmt: skip


@HESSIAN_QK.formula
def query_key_hessian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Hessians of the entries of F on top of each other, shape (m d_V m d_K, n d_K)."""
    (m, d_K), P = Q.shape, masked_weights(Q, K, M)
    slopes = indexed("ij,ja->(i)(a)(j)", P, V) - indexed("ij,ia->(i)(a)(j)", P, P @ V)
    gauss_newton = indexed("iajl,jb,ic,ip->(i a p b)(l c)", logit_curvature(P, V), K, Q, eye(m)) / d_K
    return gauss_newton + indexed("ial,bc,ip->(i a p b)(l c)", slopes, eye(d_K), eye(m)) / sqrt(d_K)


HESSIAN_QK.oracle(lambda Q, K, V, M: hessian(masked_attention, ("Q", "K"))(Q, K, V, M))
HESSIAN_QK.mutant("the bilinear term left out", "eye(d_K) -> 0 * eye(d_K)")
HESSIAN_QK.mutant("values not centred", "P @ V -> 0 * (P @ V)")
HESSIAN_QK.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")

HESSIAN_KK = Claim(CURVED, "transformer.attention-hessian-key-key", label="Second derivative in the keys",
    statement=r"""\frac{\partial^2F_{ia}}{\partial K_{jb}\partial K_{lc}} = \frac1{d_K}Q_{ib}Q_{ic}H_{iajl},\quad H_{iajl}
        = \frac{\partial^2F_{ia}}{\partial T_{ij}\partial T_{il}}""",
    name="second derivative in the keys", relation=Equal(), all_sizes=True,
    uses=("transformer.attention-hessian-logits",))  # fmt: skip


@HESSIAN_KK.formula
def key_hessian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Q_ib Q_ic H_iajl / d_K, shape (m d_V n d_K, n d_K)."""
    curvature = logit_curvature(masked_weights(Q, K, M), V)
    return indexed("iajl,ib,ic->(i a j b)(l c)", curvature, Q, Q) / Q.shape[1]


HESSIAN_KK.oracle(lambda Q, K, V, M: hessian(masked_attention, ("K", "K"))(Q, K, V, M))
HESSIAN_KK.mutant("scaled once", "Q.shape[1] -> sqrt(Q.shape[1])")
HESSIAN_KK.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")

HESSIAN_VQ = Claim(CURVED, "transformer.attention-hessian-value-query", label="Second derivative in values and queries",
    statement=r"""\frac{\partial^2F_{ia}}{\partial V_{je}\partial Q_{ib}} = \frac1{\sqrt{d_K}}\delta_{ae}P_{ij}
        (K_{jb}-\bar K_{ib}),\quad \frac{\partial^2F}{\partial V\partial V} = 0""",
    name="second derivative in values and queries", relation=Equal(), all_sizes=True,
    uses=("transformer.attention-jacobian-value",))  # fmt: skip


@HESSIAN_VQ.formula
def value_query_hessian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """delta_ae P_ij (K_jb - Kbar_ib) / sqrt(d_K), shape (m d_V n d_V, m d_K)."""
    (m, d_K), P = Q.shape, masked_weights(Q, K, M)
    slopes = indexed("ij,jb->(i)(j)(b)", P, K) - indexed("ij,ib->(i)(j)(b)", P, P @ K)
    return indexed("ijb,ae,iq->(i a j e)(q b)", slopes, eye(V.shape[1]), eye(m)) / sqrt(d_K)


HESSIAN_VQ.oracle(lambda Q, K, V, M: hessian(masked_attention, ("V", "Q"))(Q, K, V, M))
HESSIAN_VQ.mutant("keys not centred", "P @ K -> 0 * (P @ K)")
HESSIAN_VQ.mutant("no mask", "masked_weights(Q, K, M) -> softmax(Q @ K.T / sqrt(Q.shape[1]))")
