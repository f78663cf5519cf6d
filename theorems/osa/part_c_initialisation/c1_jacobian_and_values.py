"""The Jacobian of the layer (Theorem C.1), and the value and output weights (Appendix C.1)."""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import attention, attention_matrix, orthonormal_columns
from theorems.osa.settings import COLUMN_MAJOR, LAYER_OF_FEW_TOKENS, ORTHONORMAL_OUTPUTS, ORTHONORMAL_VALUES, layer
from theorems.osa.shapes import Alpha, Frame, HeadSize, Key, Output, Query, Tokens, Value
from verify.matrix import COLUMN, concatenate, eye, kron, ones, total
from verify.oracles import jacobian
from verify.vocabulary import Claim, Equal, HasStructure, realises

THEOREM_C1 = Claim(LAYER_OF_FEW_TOKENS, "osa.thm-c.1", label="Theorem C.1, Eqs. (12)-(13), (50)",
    statement=r"""
        \mathbf{J}(\mathbf{X})=\frac{\partial\operatorname{vec}\mathrm{OSA}(\mathbf{X})}{\partial\operatorname{vec}
        \mathbf{X}}=\underbrace{(\mathbf{X}\mathbf{W}^V\mathbf{W}^O\otimes\mathbf{I}_N)^\top\frac{\partial
        \operatorname{vec}\mathbf{A}(\mathbf{X})}{\partial\operatorname{vec}\mathbf{X}}}_{\mathbf{J}_1}+\underbrace{(
        \mathbf{W}^V\mathbf{W}^O)^\top\otimes\mathbf{A}(\mathbf{X})}_{\mathbf{J}_2}\in\mathbb{R}^{Nd\times Nd}""",
    assumptions=[COLUMN_MAJOR],
    name="Jacobian of the layer by its input", relation=Equal(), all_sizes=True,
    proof=("osa.eq-47", "osa.kron-vec", "osa.eq-48", "osa.eq-49"), exact=True,
    note=r"""For a single head. The factor of Eq. (49) is misprinted; its term is multiplied by
        $\partial\operatorname{vec}(W^VW^O)/\partial\operatorname{vec}X = 0$.""",
)  # fmt: skip
THEOREM_C1.inputs(layer)


@THEOREM_C1.formula
def attention_jacobian(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """J = (X W_V W_O (x) I_N)^T dvec A/dvec X + (W_V W_O)^T (x) A, shape (N d, N d), column-major (Theorem C.1)."""
    A, W = attention_matrix(X, W_Q, W_K, alpha), W_V @ W_O
    dA = jacobian(attention_matrix, "X", COLUMN)(X, W_Q, W_K, alpha)
    return kron(X @ W, eye(X.shape[0])).T @ dA + kron(W.T, A)


THEOREM_C1.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: jacobian(attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O, alpha))
THEOREM_C1.mutant("W_V W_O not transposed in J_2", "kron(W.T, A) -> kron(W, A)")
THEOREM_C1.mutant("A transposed in J_2", "kron(W.T, A) -> kron(W.T, A.T)")
THEOREM_C1.mutant("factors of J_2 exchanged, as for row-major vec", "kron(W.T, A) -> kron(A, W.T)")
THEOREM_C1.mutant("factors of J_1 exchanged", "kron(X @ W, eye(X.shape[0])) -> kron(eye(X.shape[0]), X @ W)")
THEOREM_C1.mutant("J_1 dropped", "dA -> (0 * dA)")

# -- value and output weights ------------------------------------------------------------------------------------------

C1_KAPPA = Claim(OSA, "osa.c1-kappa", label="Appendix C.1", name="condition number of the value-output product",
    statement=r"""\kappa(\mathbf{W}^V\mathbf{W}^O) = 1 \text{ where }
        \kappa(\mathbf{D})=\frac{\sigma_{\max}(\mathbf{D})}{\sigma_{\min>0}(\mathbf{D})}. \text{ This can be achieved by
        sampling } \mathbf{U},\mathbf{V}\stackrel{\text{i.i.d.}}{\sim}\mathcal{U}_{d\times d_v} \text{ and setting }
        \mathbf{W}^V=\mathbf{U},\mathbf{W}^O=\mathbf{V}^\top""",
    assumptions=[ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS],
    relation=HasStructure(), all_sizes=True, hypotheses=(ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS),
    sizes={"d": (1, 4), "d_v": (1, 4)}, where=lambda sizes: sizes["d_v"] <= sizes["d"],
    exact=True,
    note="""True of every $U$ and $V$ on the Stiefel manifold, whatever their law; the non-zero singular values are all
        1 (F.7).""",
)  # fmt: skip


@C1_KAPPA.inputs
@realises({"W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def orthonormal_values_and_outputs(left: Frame, right: Frame, d_v: HeadSize) -> Any:
    return {"W_V": orthonormal_columns(left, d_v), "W_O": orthonormal_columns(right, d_v).T}


@C1_KAPPA.formula
def value_output_product(W_V: Value, W_O: Output) -> Any:
    """W_V W_O, shape (d, d)."""
    return W_V @ W_O


@C1_KAPPA.part("structure")
def d_v_singular_values_are_one(value: Any, W_V: Value) -> Any:
    """W W^T W - W vanishes exactly if every non-zero singular value of W is 1; ||W||_F^2 = d_v then counts them."""
    cube = value @ value.T @ value - value
    return concatenate([cube, ones(1, value.shape[1]) * (total(value * value) - W_V.shape[1])], axis=0)


C1_KAPPA.mutant("first column of U doubled", lambda value, W_V, W_O: value + W_V[:, :1] @ W_O[:1])
C1_KAPPA.mutant("sum with the transpose", lambda value, W_V, W_O: value + W_O.T @ W_V.T)
