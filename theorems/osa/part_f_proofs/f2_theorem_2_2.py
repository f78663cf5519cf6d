"""F.2, the proof of Theorem 2.2, Eq. (19): layers as one product, and its orthogonal factors."""

from __future__ import annotations

from typing import Any

from theorems.osa.definitions import attention_matrix
from theorems.osa.part_2_0_layer.layer import rotation_defect
from theorems.osa.part_2_2_kernel.theorem_2_2 import (
    LAYERS, MODERATE, ORTHOGONAL_WEIGHTS, LayerQueries, LayerWeights, attention_matrices, last_tokens, product_of,
    skipless_transformer, values_times_outputs,
)  # fmt: skip
from theorems.osa.shapes import Alpha, Tokens
from verify.matrix import concatenate, expm, eye, rational, stepped
from verify.vocabulary import Claim, Definition, Equal, HasStructure

PRODUCT_FORM = Claim(LAYERS, "osa.eq-19", label="Eq. (19), F.2", name="layers as one product",
    statement=r"""
        \mathbf{X}_l = \mathbf{A}\mathbf{X}_0\mathbf{W}, \quad \mathbf{A} = \mathbf{A}_l\cdots\mathbf{A}_1,\ \mathbf{W}
        = \mathbf{W}_1^V\mathbf{W}_1^O\cdots\mathbf{W}_l^V\mathbf{W}_l^O""",
    assumptions=[Definition("h = 1, no MLP, no skip connection", by=last_tokens)],
    relation=Equal(), all_sizes=True, exact=True,
)  # fmt: skip


@PRODUCT_FORM.inputs
def layers_of_moderate_growth(
    X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: LayerWeights, W_O: LayerWeights, alpha: Alpha
) -> dict[str, Any]:
    # Scores are quadratic in tokens that grow from layer to layer: unscaled draws would leave floats no digits to compare.
    half = rational(1, 2)
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V * half, "W_O": W_O * half, "alpha": alpha * MODERATE}


def _of_first_input(X: Any, W_Q: Any, W_K: Any, alpha: Any, matrix: Any = attention_matrix) -> list[Any]:
    """The attention matrices, all of them at X, for mutants."""
    return [matrix(X, W_Q[k], W_K[k], alpha) for k in range(len(W_Q))]


@PRODUCT_FORM.formula
def output_as_product(
    X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: LayerWeights, W_O: LayerWeights, alpha: Alpha
) -> Any:
    """A_l ... A_1 X W_1^V W_1^O ... W_l^V W_l^O, shape (N, d), for weights of shape (l, d, d) (Eq. (19))."""

    def layer(k: int, tokens: Any, A: Any, W: Any) -> Any:
        A_k = attention_matrix(tokens, W_Q[k], W_K[k], alpha)
        return A_k @ tokens @ W_V[k] @ W_O[k], A_k @ A, W @ W_V[k] @ W_O[k]

    _, A, W = stepped(W_Q.shape[0], layer, X, eye(X.shape[0]), eye(X.shape[1]))
    return A @ X @ W


PRODUCT_FORM.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: last_tokens(X, W_Q, W_K, W_V, W_O, alpha))
PRODUCT_FORM.mutant("A_1 ... A_l", "A_k @ A -> A @ A_k")
PRODUCT_FORM.mutant("weights of the last layer first", "W @ W_V[k] @ W_O[k] -> W_V[k] @ W_O[k] @ W")
PRODUCT_FORM.mutant("attention matrices all of the first layer's input",
    "attention_matrix(tokens, W_Q[k], W_K[k], alpha) -> attention_matrix(X, W_Q[k], W_K[k], alpha)")  # fmt: skip

PRODUCTS_ORTHOGONAL = Claim(LAYERS, "osa.f2-orthogonality", label="F.2, text",
    statement=r"\mathbf{A} \in \mathrm{SO}(N), \qquad \mathbf{W}\mathbf{W}^\top = \mathbf{I}_d",
    assumptions=[Definition("h = 1: one head in every layer", by=attention_matrices), ORTHOGONAL_WEIGHTS],
    name="orthogonal factors of several layers", relation=HasStructure(), at_sizes={"N": 2, "d": 1, "l": 2},
    uses=("osa.so-n",),
)  # fmt: skip
PRODUCTS_ORTHOGONAL.inputs(skipless_transformer)


def _exponential(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    """exp(alpha Q K^T)."""
    return expm(X @ W_Q @ (X @ W_K).T * alpha)


@PRODUCTS_ORTHOGONAL.formula
def products_of_layers(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> list[Any]:
    """A = A_l ... A_1 (N, N) and W = W_1^V W_1^O ... W_l^V W_l^O (d, d), for sequences of l weights (Appendix F.2)."""
    attentions = attention_matrices(X, W_Q, W_K, W_V, W_O, alpha)
    return [product_of(attentions[::-1]), product_of(values_times_outputs(W_V, W_O))]


@PRODUCTS_ORTHOGONAL.part("structure")
def defect_of_products(value: list[Any]) -> Any:
    A, W = value
    return concatenate([rotation_defect(A).reshape(-1, 1), (W @ W.T - eye(W.shape[0])).reshape(-1, 1)], axis=0)


PRODUCTS_ORTHOGONAL.mutant(
    "exponential of Q K^T alone",
    "attention_matrices(X, W_Q, W_K, W_V, W_O, alpha) -> _of_first_input(X, W_Q, W_K, alpha, _exponential)",
)
PRODUCTS_ORTHOGONAL.mutant("output weights left out of W", "values_times_outputs(W_V, W_O) -> list(W_V)")
