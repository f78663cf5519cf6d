"""How the Jacobians of the layer scale with the tokens (Appendix B.1.1)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import (
    attention_logits, attention_matrix, first_moment, second_central_moments, softmax_jacobian,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import ATTENTION, KeyWeights, QueryWeights, Tokens, ValueWeights
from verify.matrix import commutation_matrix, concatenate, each, eye, frobenius_norm, khatri_rao, kron, softmax, sqrt
from verify.oracles import jacobian
from verify.vocabulary import Claim, Definition, Equal, Real, Setting

Magnitude = Annotated[Any, Real(0.125, 4.0)]


def _frozen_output(T: Any, X: Any, W_V: Any) -> Any:
    return softmax(T) @ X @ W_V


def frozen_jacobians(X: Any, W_Q: Any, W_K: Any, W_V: Any, s: Any) -> list[Any]:
    """dF/dW_Q, dF/dW_K and dF/dW_V at the tokens s X with A as at X, by differentiation."""
    T, scaled = attention_logits(X, W_Q, W_K), X * s
    through = jacobian(_frozen_output, "T")(T, scaled, W_V)
    logits = [through @ jacobian(attention_logits, name)(scaled, W_Q, W_K) for name in ("W_Q", "W_K")]
    return [*logits, jacobian(_frozen_output, "W_V")(T, scaled, W_V)]


TOKENS_SCALED = ATTENTION.extended(
    "Appendix B.1.1",
    assumptions=[
        Definition(
            "the magnitude s of s X as it stands in the formulas of Lemma B.1: A keeps its value at X"
            " (Section 3 ignores softmax entries)",
            by=attention_matrix,
        )
    ],
    sizes={"L": (1, 6)},
    where=lambda sizes: sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 24,
)

SCALING = Claim(TOKENS_SCALED, "hessian.sec-B.1.1-scaling", label="Appendix B.1.1, text",
    statement=r"""\text{``These formulas suggest that the Frobenius norm of the Jacobian w.r.t. the value parameter
        should scale cubically with the magnitude of } X\text{, whereas the Jacobian w.r.t. the value parameter only
        linearly. Moreover, the value Jacobian depends on the first moment of attention, while the query and key
        Jacobian depend on the second moment matrix''}""",
    name="growth of the value Jacobian", exact=False, relation=Equal(), expects="refuted", severity="slip",
    correction="hessian.sec-B.1.1-scaling-corrected",
    note="""'Value' stands twice; the first is to read 'query' (or key), as in Section 3.1 and in the sentence on
        moments that follows.""")  # fmt: skip


@SCALING.formula
def value_jacobian_norm_as_printed(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, s: Magnitude
) -> Any:
    """||dF/dW_V||_F at s X as s^3 and as s times that at X, shape (2, 1) (Appendix B.1.1)."""
    size = frobenius_norm(kron(attention_matrix(X, W_Q, W_K) @ X, eye(X.shape[1]))) * eye(1)
    return concatenate([size * (s * s * s), size * s], axis=0)


@SCALING.oracle
def value_jacobian_norm(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, s: Magnitude) -> Any:
    size = frobenius_norm(frozen_jacobians(X, W_Q, W_K, W_V, s)[2]) * eye(1)
    return concatenate([size, size], axis=0)


SCALING.mutant("quadratically and linearly", "s * s -> s")
SCALING.mutant("linearly, twice", "s * s * s -> s")
SCALING.counterexample(
    "one token 1 and s = 2: the norm goes from 1 to 2, not to 8", X=[[1]], W_Q=[[0]], W_K=[[0]], W_V=[[1]], s=2
)

SCALING_CORRECTED = Claim(TOKENS_SCALED, "hessian.sec-B.1.1-scaling-corrected",
    label="Appendix B.1.1, query and key cubically, value linearly",
    statement=r"""\frac{\partial F}{\partial W_Q}(sX) = \frac{s^3}{\sqrt{d_K}}(I_L\otimes
        W_V^\top)(X*M_2)(I_{d_V}\otimes W_K),\ \frac{\partial F}{\partial W_K}(sX) = \frac{s^3}{\sqrt{d_K}}(I_L\otimes
        W_V^\top)(X*M_2)(W_Q\otimes I_{d_V})K_{d_K,d_V},\ \frac{\partial F}{\partial W_V}(sX) = s M_1\otimes I_{d_V}
        \text{ for fixed } A,\ M_1, M_2\text{ of Definition 3.1 at } X""",
    name="growth of the query, key and value Jacobians", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-B.1", "hessian.jacobian-key", "hessian.rem-3.1-z1"), corrects="hessian.sec-B.1.1-scaling",
    of_project=True,
    note="""So the Frobenius norms scale like $s^3$, $s^3$ and $s$. The first moment enters the value Jacobian, the
        second central moments those in the query and key weights. So do $W_V$ and one of $W_K$ and $W_Q$, while no
        weight enters the value Jacobian but through $A$: the heterogeneous dependence on the weights with which the
        paragraph ends.""")  # fmt: skip


@SCALING_CORRECTED.formula
def jacobians_by_moments(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, s: Magnitude) -> Any:
    """dF/dW_Q, dF/dW_K and dF/dW_V at s X for fixed A, all entries in one column."""
    (L, d_V), d_K, A, cubic, linear = X.shape, W_Q.shape[1], attention_matrix(X, W_Q, W_K), s * s * s, s
    Z = khatri_rao(each(L, lambda i: X[i : i + 1]), second_central_moments(A, X))
    left = kron(eye(L), W_V.T) @ Z / sqrt(d_K) * cubic
    key = kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V)
    return stacked(left @ kron(eye(d_V), W_K), left @ key, kron(first_moment(A, X), eye(d_V)) * linear)


SCALING_CORRECTED.oracle(lambda X, W_Q, W_K, W_V, s: stacked(*frozen_jacobians(X, W_Q, W_K, W_V, s)))
SCALING_CORRECTED.mutant("all linearly", "cubic -> linear")
SCALING_CORRECTED.mutant("all cubically", "linear -> cubic")
SCALING_CORRECTED.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")

# -- the weights -------------------------------------------------------------------------------------------------------

WEIGHTS_SCALED = Setting(
    HESSIAN,
    "Appendix B.1.1, weights",
    assumptions=[
        Definition("the weights as they stand in the formulas of Lemma B.1: A keeps its value", by=attention_matrix)
    ],
    sizes={"L": (1, 4), "d_V": (1, 3), "d_K": (1, 4)},
    exact=True,
)

WEIGHTS = Claim(WEIGHTS_SCALED, "hessian.sec-B.1.1-weights", label="Appendix B.1.1, last sentence",
    statement=r"""\text{``Finally, the Jacobians exhibit heterogeneous dependence on the scale of the weight
        matrices''}:\ \frac{\partial F}{\partial W_Q}(cW_Q,kW_K,vW_V) = vk\frac{\partial F}{\partial W_Q},\
        \frac{\partial F}{\partial W_K}(cW_Q,kW_K,vW_V) = vc\frac{\partial F}{\partial W_K},\ \frac{\partial F}{\partial
        W_V}(cW_Q,kW_K,vW_V) = \frac{\partial F}{\partial W_V} \text{ for fixed } A""",
    name="weights in the Jacobians of attention", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-B.1", "hessian.jacobian-key"),
    note="""The sentence has no formula: the degrees are those of Lemma B.1. The Jacobian in the values holds no weight
        but through $A$.""")  # fmt: skip


@WEIGHTS.formula
def jacobians_times_scales(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, c: Magnitude, k: Magnitude, v: Magnitude
) -> Any:
    """v k dF/dW_Q, v c dF/dW_K and dF/dW_V for fixed A, all entries in one column (Appendix B.1.1)."""
    A = attention_matrix(X, W_Q, W_K)
    query, key, value = _closed_jacobians(A, X, W_Q, W_K, W_V)
    return stacked(query * (v * k), key * (v * c), value)


def _closed_jacobians(A: Any, X: Any, W_Q: Any, W_K: Any, W_V: Any) -> tuple[Any, Any, Any]:
    """dF/dW_Q, dF/dW_K and dF/dW_V for an attention matrix A."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    left = kron(eye(L), W_V.T @ X.T) @ softmax_jacobian(A) / sqrt(d_K)
    turned = commutation_matrix(d_K, d_V)
    return left @ kron(X, X @ W_K), left @ kron(X @ W_Q, X) @ turned, kron(A @ X, eye(d_V))


@WEIGHTS.oracle
def jacobians_at_scaled_weights(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, c: Magnitude, k: Magnitude, v: Magnitude
) -> Any:
    T, queries, keys, values = attention_logits(X, W_Q, W_K), W_Q * c, W_K * k, W_V * v
    through = jacobian(_frozen_output, "T")(T, X, values)
    logits = [through @ jacobian(attention_logits, name)(X, queries, keys) for name in ("W_Q", "W_K")]
    return stacked(*logits, jacobian(_frozen_output, "W_V")(T, X, values))


WEIGHTS.mutant("queries in their own Jacobian", "v * k -> v * c")
WEIGHTS.mutant("values in the Jacobian of the values", "value -> value * v")
WEIGHTS.mutant("no values in the Jacobian of the keys", "v * c -> c")
