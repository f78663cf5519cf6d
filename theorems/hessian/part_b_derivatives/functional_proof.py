"""The displayed steps of the proof of Theorem 3.2 (Appendix B.1), with Eq. (21), and Z_2 as the appendix defines it.

Second derivatives of the layer, factor by factor: for W_V and W_Q, for W_Q twice, for W_Q and W_K.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import (
    Z_2, attention, attention_logits, attention_matrix, shuffling_matrix, softmax_jacobian, softmax_second_derivative,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import ATTENTION, LAYER, LAYOUT, KeyWeights, QueryWeights, Tokens, ValueWeights
from verify.matrix import commutation_matrix, eye, kron, softmax, sqrt, vec_r
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, Claim, Convention, Definition, Equal, Setting, Shape

QueryKeyProduct = Annotated[Any, Shape("d_V", "d_V", role="query")]


def affordable(sizes: Mapping[str, int]) -> bool:
    """Whether the second derivative of the layer, L d_V x d_V d_K x d_V d_K, and d^2A/dT^2 stay small."""
    L, d_V, d_K = sizes["L"], sizes["d_V"], sizes["d_K"]
    return bool(d_V * d_K <= 8 and (L <= 3 or L * d_V <= 6))


# -- W_V and W_Q -------------------------------------------------------------------------------------------------------

PROOF = ATTENTION.extended("Appendix B.1, proof of Theorem 3.2", sizes={"L": (1, 6)}, where=affordable)

LAYER_ALONE = Setting(HESSIAN, PROOF.title, assumptions=[LAYER], sizes=PROOF.sizes, where=affordable, exact=True)
KRONECKER_FACTOR = Setting(HESSIAN, PROOF.title, assumptions=[LAYOUT], sizes=PROOF.sizes, where=affordable, exact=True)

PROOF_VQ = Claim(PROOF, "hessian.thm-3.2-proof-vq", label="Appendix B.1, proof of Theorem 3.2 (W_V & W_Q)",
    statement=r"""F_1 := \partial F/\partial W_V = F_2\otimes I_{d_V},\ F_2 := \operatorname{softmax}\Big(
        \frac{XW_QW_K^\top X^\top}{\sqrt{d_K}}\Big)X:\ \frac{\partial F_1}{\partial F_2} = (I_L\otimes
        K_{d_V,d_V}\otimes I_{d_V})(I_{Ld_V}\otimes\operatorname{vec}_r(I_{d_V})) = I_L\otimes\underbrace{(K_{d_V,d_V}
        \otimes I_{d_V})(I_{d_V}\otimes\operatorname{vec}_r(I_{d_V}))}_S;\ \frac{\partial F_2}{\partial W_Q} =
        (I_L\otimes X^\top)\frac{\partial A}{\partial T}\Big(\frac{X\otimes XW_K}{\sqrt{d_K}}\Big);\
        \frac{\partial^2F}{\partial W_V\partial W_Q} = \frac{\partial F_1}{\partial W_Q} = \frac{\partial F_1}{\partial
        F_2}\frac{\partial F_2}{\partial W_Q}""",
    name="second derivative in value and query weights", relation=Equal(), all_sizes=True,
    uses=("hessian.eq-16-17", "hessian.lem-B.1", "hessian.lem-B.2", "hessian.lem-B.3"),
    note="""The remark between the displays, that $F_2$ differs from $A$ only by $W_V$, is
        hessian.thm-3.2-proof-vq-remark; no formula rests on it.""")  # fmt: skip


@PROOF_VQ.formula
def value_query_steps(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """dF_1/dF_2 twice, dF_2/dW_Q and d^2F/dW_V dW_Q, all entries in one column (Appendix B.1)."""
    (L, d_V), d_K, A = X.shape, W_Q.shape[1], attention_matrix(X, W_Q, W_K)
    K = commutation_matrix(d_V, d_V)
    first = kron(eye(L), K, eye(d_V)) @ kron(eye(L * d_V), vec_r(eye(d_V)))
    inner = kron(eye(L), X.T) @ softmax_jacobian(A) @ kron(X, X @ W_K) / sqrt(d_K)
    return stacked(first, kron(eye(L), shuffling_matrix(d_V)), inner, first @ inner)


def _kronecker_with_identity(F_2: Any) -> Any:
    return kron(F_2, eye(F_2.shape[1]))


def _moment(X: Any, W_Q: Any, W_K: Any) -> Any:
    return attention_matrix(X, W_Q, W_K) @ X


@PROOF_VQ.oracle
def value_query_steps_differentiated(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    first = jacobian(_kronecker_with_identity, "F_2")(_moment(X, W_Q, W_K))
    inner = jacobian(_moment, "W_Q")(X, W_Q, W_K)
    both = hessian(attention, ("W_V", "W_Q"))(X, W_Q, W_K, W_V)
    return stacked(first, first, inner, both)


PROOF_VQ.mutant("no commutation matrix", "K -> eye(d_V * d_V)")
PROOF_VQ.mutant("query instead of key weights", "X @ W_K -> X @ W_Q")

REMARK_VQ = Claim(LAYER_ALONE, "hessian.thm-3.2-proof-vq-remark",
    label="Appendix B.1, proof of Theorem 3.2 (W_V & W_Q), remark on F_2", name="attended tokens and the value matrix",
    statement=r"""\text{``}F_2\text{ differs from } A \text{ only by the presence of matrix } W_V\text{''},\ F_2 :=
        \operatorname{softmax}(\cdot)X""",
    assumptions=[
        Assumption("the product A W_V exists: L = d_V", sizes=lambda sizes: sizes["L"] == sizes["d_V"])
    ],
    relation=Equal(), sizes={"L": (1, 3), "d_V": (1, 3), "d_K": (1, 3)},
    where=affordable, expects="refuted", severity="slip",
    correction="hessian.thm-3.2-proof-vq-remark-corrected", of_project=True,
    note=r"""$F_2 = AX$ holds no $W_V$, and $A$ is $L \times L$ where $F_2$ is $L \times d_V$, so that neither $F_2 =
        AW_V$ nor $A = F_2W_V$ can be formed unless $L = d_V$; there neither holds, as the counterexample with $W_V = 1$
        shows for both. The definition of $F_2$ two lines above shows what was meant: $F = F_2W_V$.""")  # fmt: skip


@REMARK_VQ.formula
def attention_times_values(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """A W_V for L = d_V, shape (L, d_V) (Appendix B.1)."""
    return attention_matrix(X, W_Q, W_K) @ W_V


REMARK_VQ.oracle(lambda X, W_Q, W_K: softmax(attention_logits(X, W_Q, W_K)) @ X)
REMARK_VQ.mutant("W_V on the left", "attention_matrix(X, W_Q, W_K) @ W_V -> W_V @ attention_matrix(X, W_Q, W_K)")
REMARK_VQ.mutant("W_V twice", "W_V -> W_V @ W_V")
REMARK_VQ.counterexample(
    "one token 2 in one dimension, W_V = 1: A = 1, F_2 = 2", X=[[2]], W_Q=[[1]], W_K=[[1]], W_V=[[1]]
)

REMARK_VQ_CORRECTED = Claim(PROOF, "hessian.thm-3.2-proof-vq-remark-corrected",
    label="Appendix B.1, proof of Theorem 3.2 (W_V & W_Q), F = F_2 W_V",
    statement=r"""
        F_2 = AX \text{ differs from } F \text{ only by the matrix } W_V:\ \operatorname{vec}_r F = (I_L\otimes
        W_V^\top)\operatorname{vec}_r F_2,\ \frac{\partial F}{\partial W_Q} = (I_L\otimes W_V^\top)\frac{\partial
        F_2}{\partial W_Q},\text{ so that } \frac{\partial F_2}{\partial W_Q} \text{ is Lemma B.1 with } W_V = I_{d_V}""",
    name="attended tokens and the value matrix, corrected", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-B.1", "hessian.eq-15"), corrects="hessian.thm-3.2-proof-vq-remark", of_project=True)  # fmt: skip


@REMARK_VQ_CORRECTED.formula
def layer_from_its_first_moment(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """(I (x) W_V^T) times vec_r F_2 and dF_2/dW_Q, all entries in one column."""
    L, A = X.shape[0], attention_matrix(X, W_Q, W_K)
    slope = kron(eye(L), X.T) @ softmax_jacobian(A) @ kron(X, X @ W_K) / sqrt(W_Q.shape[1])
    return stacked(kron(eye(L), W_V.T) @ vec_r(A @ X), kron(eye(L), W_V.T) @ slope)


REMARK_VQ_CORRECTED.oracle(
    lambda X, W_Q, W_K, W_V: stacked(attention(X, W_Q, W_K, W_V), jacobian(attention, "W_Q")(X, W_Q, W_K, W_V))
)
REMARK_VQ_CORRECTED.mutant("W_V not transposed", "W_V.T -> W_V")
REMARK_VQ_CORRECTED.mutant("W_V left out", "W_V.T -> eye(X.shape[1])")

# -- W_Q twice ---------------------------------------------------------------------------------------------------------

PROOF_QQ = Claim(PROOF, "hessian.thm-3.2-proof-qq", label="Appendix B.1, proof of Theorem 3.2 (W_Q)",
    statement=r"""\frac{\partial F_1}{\partial G} = (I_L\otimes W_V^\top X^\top)\otimes\Big(\frac{X\otimes
        XW_K}{\sqrt{d_K}}\Big)^\top = \frac{I_L\otimes W_V^\top X^\top\otimes X^\top\otimes W_K^\top
        X^\top}{\sqrt{d_K}},\ \frac{\partial T}{\partial W_Q} = \frac{X\otimes XW_K}{\sqrt{d_K}},\ \frac{\partial
        G}{\partial T} = \frac{\partial^2A}{\partial T\partial T},\ \frac{\partial^2F}{\partial W_Q\partial W_Q} =
        \frac{\partial F_1}{\partial G}\frac{\partial G}{\partial T}\frac{\partial T}{\partial W_Q}""",
    assumptions=[Definition("F_1 = (I_L (x) W_V^T X^T) G (X (x) X W_K) / sqrt(d_K), G = dA/dT", by=kron)],
    name="second derivative in the query weights", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 3), "d_K": (1, 4)},
    where=lambda sizes: affordable(sizes) and sizes["L"] * sizes["d_V"] <= 6,
    uses=("hessian.eq-15", "hessian.eq-6-10", "hessian.lem-B.1", "hessian.lem-C.1-structure-corrected"))  # fmt: skip


@PROOF_QQ.formula
def query_steps(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """dF_1/dG twice, dT/dW_Q, dG/dT and d^2F/dW_Q^2, all entries in one column (Appendix B.1)."""
    L, values, keys, root = X.shape[0], W_V.T @ X.T, X @ W_K, sqrt(W_Q.shape[1])
    G = softmax_second_derivative(attention_matrix(X, W_Q, W_K))
    logits = kron(X, keys) / root
    nested = kron(kron(eye(L), values), logits.T)
    flat = kron(eye(L), values, X.T, keys.T) / root
    return stacked(nested, flat, logits, G, flat @ G @ logits)


def _query_jacobian_of(G: Any, X: Any, W_K: Any, W_V: Any) -> Any:
    """F_1 as a function of G."""
    return kron(eye(X.shape[0]), W_V.T @ X.T) @ G @ kron(X, X @ W_K) / sqrt(W_K.shape[1])


@PROOF_QQ.oracle
def query_steps_differentiated(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    T = attention_logits(X, W_Q, W_K)
    outer = jacobian(_query_jacobian_of, "G")(jacobian(softmax, "T")(T), X, W_K, W_V)
    return stacked(
        outer,
        outer,
        jacobian(attention_logits, "W_Q")(X, W_Q, W_K),
        hessian(softmax, ("T", "T"))(T),
        hessian(attention, ("W_Q", "W_Q"))(X, W_Q, W_K, W_V),
    )


PROOF_QQ.mutant("W_V not transposed", "W_V.T -> W_V")
PROOF_QQ.mutant("query instead of key weights", "X @ W_K -> X @ W_Q")

# -- W_Q and W_K -------------------------------------------------------------------------------------------------------

EQUATION_21 = Claim(PROOF, "hessian.eq-21",
    label="Eq. (21) and the two Jacobians below it, proof of Theorem 3.2 (W_Q & W_K)",
    statement=r"""\frac{\partial^2F}{\partial W_Q\partial W_K} = \frac{\partial F_1GF_2}{\partial W_K} = (F_1\otimes
        F_2^\top)\frac{\partial G}{\partial W_K} + (F_1G\otimes I_{d_Vd_K})\frac{\partial F_2}{\partial W_K},\ F_1 :=
        (I_L\otimes W_V^\top X^\top),\ G := \frac{\partial A}{\partial T},\ F_2 := \Big(\frac{X\otimes
        XW_K}{\sqrt{d_K}}\Big);\quad \frac{\partial G}{\partial W_K} = \frac{\partial^2A}{\partial T\partial
        T}\Big(\frac{XW_Q\otimes X}{\sqrt{d_K}}\Big)K_{d_K,d_V}""",
    name="second derivative in query and key weights", relation=Equal(), all_sizes=True,
    where=lambda sizes: affordable(sizes) and sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 12,
    uses=("hessian.eq-15", "hessian.eq-18", "hessian.eq-21-dF2", "hessian.lem-C.1-structure-corrected"))  # fmt: skip


def _kronecker_factor(X: Any, W_K: Any) -> Any:
    """F_2 = (X (x) X W_K) / sqrt(d_K)."""
    return kron(X, X @ W_K) / sqrt(W_K.shape[1])


@EQUATION_21.formula
def product_rule_for_query_and_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """dG/dW_K, then d^2F/dW_Q dW_K, all entries in one column (Eq. (21))."""
    (d_V, d_K), L, A = W_Q.shape, X.shape[0], attention_matrix(X, W_Q, W_K)
    F_1, G, F_2 = kron(eye(L), W_V.T @ X.T), softmax_jacobian(A), _kronecker_factor(X, W_K)
    slope = softmax_second_derivative(A) @ kron(X @ W_Q, X) @ commutation_matrix(d_K, d_V) / sqrt(d_K)
    third = kron(eye(L), commutation_matrix(L, d_V), eye(d_K)) @ kron(vec_r(X), X, eye(d_K)) / sqrt(d_K)
    second = kron(F_1 @ G, eye(d_V * d_K)) @ third
    return stacked(slope, kron(F_1, F_2.T) @ slope + second)


def _softmax_slope(X: Any, W_Q: Any, W_K: Any) -> Any:
    """G as a function of the weights."""
    return softmax_jacobian(attention_matrix(X, W_Q, W_K))


@EQUATION_21.oracle
def query_and_key_differentiated(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    both = hessian(attention, ("W_Q", "W_K"))(X, W_Q, W_K, W_V)
    return stacked(jacobian(_softmax_slope, "W_K")(X, W_Q, W_K), both)


EQUATION_21.mutant("second summand dropped", "second -> 0 * second")
EQUATION_21.mutant("no commutation matrix", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
EQUATION_21.mutant("F_2 not transposed", "F_2.T -> F_2.reshape(F_2.shape[1], F_2.shape[0])")

EQUATION_21_DF2 = Claim(KRONECKER_FACTOR, "hessian.eq-21-dF2", label="Appendix B.1, chain for dF_2/dW_K",
    statement=r"""\frac{\partial F_2}{\partial W_K} = (I_L\otimes K_{L,d_V}\otimes I_{d_K})(\operatorname{vec}_rX\otimes
        I_{Ld_K})\Big(\frac{X\otimes I_{d_K}}{\sqrt{d_K}}\Big) = \frac{1}{\sqrt{d_K}}(I_L\otimes K_{L,d_V}\otimes
        I_{d_K})(\operatorname{vec}_r X\otimes X\otimes I_{d_K}) = \frac{1}{\sqrt{d_K}}(I_L\otimes
        K_{L,d_V})(\operatorname{vec}_rX\otimes X)\otimes I_{d_K} = \frac{1}{\sqrt{d_K}}(X\otimes X\otimes
        I_{d_V})(I_{d_V}\otimes K_{d_V,d_V})(\operatorname{vec}_rI_{d_V}\otimes I_{d_V})\otimes I_{d_K} =
        \frac{1}{\sqrt{d_K}}(X\otimes X\otimes I_{d_V})(K_{d_V,d_V}\otimes I_{d_V})(I_{d_V}\otimes
        \operatorname{vec}_rI_{d_V})\otimes I_{d_K}""",
    assumptions=[Convention("matrix products bind tighter than the final (x) I_{d_K}", by=kron)],
    name="derivative of the query Jacobian factor", relation=Equal(), all_sizes=True,
    where=lambda sizes: sizes["L"] ** 2 * sizes["d_V"] * sizes["d_K"] <= 72,
    uses=("hessian.eq-16-17", "hessian.eq-6-10", "hessian.lem-B.2", "hessian.lem-B.3"))  # fmt: skip


@EQUATION_21_DF2.formula
def members_for_the_kronecker_factor(X: Tokens, W_K: KeyWeights) -> Any:
    """The five members, all entries in one column (Appendix B.1)."""
    (L, d_V), d_K = X.shape, W_K.shape[1]
    K, S, units = commutation_matrix(L, d_V), shuffling_matrix(d_V), eye(d_K)
    other = kron(commutation_matrix(d_V, d_V), eye(d_V)) @ kron(eye(d_V), vec_r(eye(d_V)))
    members = [
        kron(eye(L), K, units) @ kron(vec_r(X), eye(L * d_K)) @ kron(X, units),
        kron(eye(L), K, units) @ kron(vec_r(X), X, units),
        kron(kron(eye(L), K) @ kron(vec_r(X), X), units),
        kron(kron(X, X, eye(d_V)) @ S, units),
        kron(kron(X, X, eye(d_V)) @ other, units),
    ]
    return stacked(*members) / sqrt(d_K)


EQUATION_21_DF2.oracle(lambda X, W_K: stacked(*[jacobian(_kronecker_factor, "W_K")(X, W_K)] * 5))
EQUATION_21_DF2.mutant("K_{d_V,L} instead of K_{L,d_V}", "K -> commutation_matrix(d_V, L)")
EQUATION_21_DF2.mutant("S without its commutation matrix", "S -> kron(vec_r(eye(d_V)), eye(d_V))")

THEOREM_32_Z2_APPENDIX = Claim(HESSIAN, "hessian.thm-3.2-z2-appendix",
    label="Theorem 3.2 (Appendix B.1), definition of Z_2", name="second softmax derivatives between tokens",
    statement=r"""Z_2 := (I_L\otimes X^\top\otimes X^\top\otimes X^\top)(\partial^2 A/\partial T^2)(X\otimes X) \in
        \mathbb{R}^{L d_V^3\times d_V^2}""",
    assumptions=[
        Definition("A is the row-wise softmax of T = X G X^T", by=softmax),
        Definition("d^2A/dT^2 as in Lemma C.1", by=softmax_second_derivative),
    ],
    relation=Equal(), all_sizes=True, sizes={"L": (1, 3), "d_V": (1, 3)}, uses=("hessian.lem-C.1-structure-corrected",),
    exact=True,
    note=r"""A definition is checked by what it is for: $Z_2$ is the second derivative of $G \mapsto
        \operatorname{softmax}(XGX^\top)X$.""")  # fmt: skip


def _first_moment_of(G: Any, X: Any) -> Any:
    return softmax(X @ G @ X.T) @ X


@THEOREM_32_Z2_APPENDIX.formula
def second_softmax_term(X: Tokens, G: QueryKeyProduct) -> Any:
    """Z_2 at T = X G X^T, shape (L d_V^3, d_V^2) (Theorem 3.2)."""
    A = softmax(X @ G @ X.T)
    return kron(eye(X.shape[0]), X.T, X.T, X.T) @ softmax_second_derivative(A) @ kron(X, X)


THEOREM_32_Z2_APPENDIX.oracle(lambda X, G: hessian(_first_moment_of, ("G", "G"))(G, X))
THEOREM_32_Z2_APPENDIX.mutant("the first two indices of its rows exchanged",
    lambda value, X: kron(eye(X.shape[0]), commutation_matrix(X.shape[1], X.shape[1]), eye(X.shape[1])) @ value
)  # fmt: skip
THEOREM_32_Z2_APPENDIX.mutant("keys and queries exchanged", lambda X, G: Z_2(softmax(X @ G.T @ X.T), X))
