"""Section 6.2, the regularisers (19) and (20): what they measure, and what follows where they vanish.

Surprising: R_E-multi = 0 leaves single heads asymmetric, and R_Spec sees the largest singular value only.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Heads, SquareWeights
from theorems.dynamics.settings import HEADS_FIT
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import added, concatenate, determinant, diag, eye, mapped, parts, rational, sqrt, step, trace, vec_r
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, Claim, Construction, Definition, Equal, HasStructure, Reading, Real, Setting, Shape, subject,
    realises,
)  # fmt: skip

Signs = Annotated[Any, Shape("1", "D", role="gate")]
Plane = Annotated[Any, Shape("2", "2")]
Basis = Annotated[Any, Shape("n", "n")]
Bias = Annotated[Any, Shape("1", "p")]


def squared_norm(A: Any) -> Any:
    """The squared Frobenius norm of A (m, n), shape (1, 1)."""
    return vec_r(A).T @ vec_r(A)


def asymmetry(M: Any) -> Any:
    """|M - M^T|_F^2 for M (D, D), shape (1, 1): the regularisers (19) and (88) as functions of their product M."""
    return squared_norm(M - M.T)


def head_products(W_V: Any, W_O: Any, H: int) -> list[Any]:
    """W_h^V W_h^O for h = 1, ..., H, each (D, D): block column h of W^V by block row h of W^O."""
    return mapped(lambda V, O: V @ O, parts(W_V, H, 1), parts(W_O, H, 0))


BLOCK_ROWS = Definition("W_h^O is the h-th block row of W^O", by=head_products)

EQ_19_SUM = Claim(DYNAMICS, "dynamics.eq-19-sum", label="Eq. (19) and text", name="multi-head energy regulariser",
    statement=r"""W^V:=[W_1^V,\cdots,W_H^V]\in\mathbb R^{D\times D},\quad R_{\text{E-multi}}:=\left
        \|W^VW^O-(W^VW^O)^\top\right\|_F^2\text{, of the sum of the heads: }W^VW^O=\sum_hW_h^VW_h^O""",
    assumptions=[HEADS_FIT, BLOCK_ROWS],
    relation=Equal(), all_sizes=True, sizes={"D": (1, 4), "H": (1, 4)}, exact=True)  # fmt: skip


def _product_and_regulariser(products: list[Any], sign: int = -1) -> Any:
    """vec of the sum M of `products` above |M + sign M^T|_F^2, shape (D^2 + 1, 1)."""
    M = added(products)
    return concatenate([vec_r(M), squared_norm(M + M.T * sign)], axis=0)


@EQ_19_SUM.formula
def sum_over_heads_and_regulariser(W_V: SquareWeights, W_O: SquareWeights, H: Heads) -> Any:
    """vec(sum_h W_h^V W_h^O) above R_E-multi, shape (D^2 + 1, 1) (Eq. (19))."""
    return _product_and_regulariser(head_products(W_V, W_O, H))


@EQ_19_SUM.oracle
def whole_product_and_traces(W_V: SquareWeights, W_O: SquareWeights) -> Any:
    """|M - M^T|^2 = 2 tr(M^T M) - 2 tr(M M)."""
    M = W_V @ W_O
    R = (trace(M.T @ M) - trace(M @ M)) * 2
    return concatenate([vec_r(M), vec_r(M)[:1] * 0 + R], axis=0)


EQ_19_SUM.mutant("block columns of W^O", lambda W_V, W_O, H: _product_and_regulariser(head_products(W_V, W_O.T, H)))
EQ_19_SUM.mutant("sum in place of the difference", sign=1)
EQ_19_SUM.mutant("last head left out",
    "head_products(W_V, W_O, H) -> [*head_products(W_V, W_O, H)[:-1], 0 * W_V @ W_O]")  # fmt: skip


EQ_19_GRADIENT = Claim(DYNAMICS, "dynamics.eq-19-gradient", label="Eq. (19), gradient",
    statement=r"\frac{\partial R_{\text{E-multi}}}{\partial M}=4(M-M^\top),\quad M=W^VW^O",
    name="gradient of the multi-head energy regulariser", relation=Equal(), all_sizes=True, sizes={"D": (1, 4)},
    exact=True, of_project=True)  # fmt: skip


@EQ_19_GRADIENT.formula
def asymmetry_gradient(M: SquareWeights) -> Any:
    """4 (M - M^T), shape (D, D)."""
    return (M - M.T) * 4


EQ_19_GRADIENT.oracle(lambda M: jacobian(asymmetry, "M")(M).reshape(*M.shape))
EQ_19_GRADIENT.mutant("factor 2: M^T held constant", lambda M: (M - M.T) * 2)
EQ_19_GRADIENT.mutant("sign", lambda M: (M.T - M) * 4)


ORTHOGONAL = Assumption(
    "W^V and W^O are orthogonal",
    zero=lambda W_V, W_O: concatenate([W_V.T @ W_V - eye(W_V.shape[0]), W_O.T @ W_O - eye(W_O.shape[0])], axis=0),
)
MULTI_VANISHES = Assumption(r"R_{\text{E-multi}} = 0", zero=lambda W_V, W_O: W_V @ W_O - (W_V @ W_O).T)


#: What orthogonal weights with a symmetric product reach.
SYMMETRIC_PRODUCT_REACHED = {
    "W^V and W^O are orthogonal": reached.ROTATIONS,
    r"R_{\text{E-multi}} = 0": "W^O = W^V^T M with M = B diag(+-1) B^T: by the spectral theorem every symmetric orthogonal M is of"
    " this form",
}


@realises(SYMMETRIC_PRODUCT_REACHED)
def symmetric_orthogonal_product(G: SquareWeights, K: SquareWeights, signs: Signs, H: Heads) -> dict[str, Any]:
    """W^V orthogonal and W^O = W^V^T M with M = B diag(+-1) B^T for an orthogonal B, so that W^V W^O = M is symmetric."""
    W_V, B = orthogonal_matrix(G), orthogonal_matrix(K)
    return {"W_V": W_V, "W_O": W_V.T @ (B * (2 * step(signs) - 1)) @ B.T, "H": H}


REGULARISED = Setting(
    DYNAMICS,
    "Section 6.2, where R_E-multi vanishes",
    assumptions=[ORTHOGONAL, MULTI_VANISHES, HEADS_FIT],
    sizes={"D": (1, 4), "H": (1, 4)},
    inputs=symmetric_orthogonal_product,
)

EQ_19_HEADS = Claim(REGULARISED, "dynamics.eq-19-heads", label="Text after Eq. (19)",
    statement=r"""\text{``If }R_{\text{E-multi}}=0,\ W_h^VW_h^O\text{ becomes symmetric, as implied by Proposition
        4.2''}""",
    assumptions=[Definition("each W_h^V of the proposition read as W_h^V W_h^O, as the text says", by=head_products)],
    name="symmetry of single heads from the regulariser", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.eq-19-per-head", presumes=("dynamics.prop-4.2",),
    consequence=r"""The regulariser does not make heads symmetric, what is asymmetric in one another cancels; penalise
        each head, $\sum_h\|W_h^VW_h^O - (W_h^VW_h^O)^\top\|_F^2$ (dynamics.eq-19-per-head).""",
    note=r"""The regulariser sees the sum of the heads only, and what is asymmetric in one head another can cancel: $W^V
        = I$ and $W^O$ the exchange of two coordinates, $H = 2$, leave $E_{12}$ and $E_{21}$. It is true for $H = 1$.
        Head $h$ is symmetric exactly if the projection $W_h^VW_h^{V\top}$ commutes with $W^VW^O$
        (dynamics.eq-19-commutator).""")  # fmt: skip


@EQ_19_HEADS.formula
def transposed_head_products(W_V: SquareWeights, W_O: SquareWeights, H: Heads) -> Any:
    """(W_h^V W_h^O)^T, stacked, shape (H D, D): equal to W_h^V W_h^O if each head is symmetric."""
    return concatenate(mapped(lambda M: M.T, head_products(W_V, W_O, H)), axis=0)


EQ_19_HEADS.oracle(lambda W_V, W_O, H: concatenate(head_products(W_V, W_O, H), axis=0))
EQ_19_HEADS.counterexample(
    "identity values, exchange of two coordinates, two heads", W_V=[[1, 0], [0, 1]], W_O=[[0, 1], [1, 0]], H=2
)
EQ_19_HEADS.mutant("sum of the heads, which is symmetric", lambda W_V, W_O, H: concatenate([W_V @ W_O] * H, axis=0))
EQ_19_HEADS.mutant("anti-symmetric heads", "M.T -> -M.T")


EQ_19_COMMUTATOR = Claim(REGULARISED, "dynamics.eq-19-commutator",
    label="Text after Eq. (19), when a head is symmetric", name="when a head is symmetric",
    statement=r"""
        R_{\text{E-multi}}=0\ \Rightarrow\ W_h^VW_h^O-(W_h^VW_h^O)^\top=P_hM-MP_h,\ P_h=W_h^VW_h^{V\top},\ M=W^VW^O""",
    relation=Equal(), exact=True, of_project=True,
    note=r"""So with $R_{\text{E-multi}} = 0$ head $h$ is symmetric exactly if the projection $P_h$ commutes with
        $W^VW^O$.""")  # fmt: skip


@EQ_19_COMMUTATOR.formula
def commutators_with_head_projections(W_V: SquareWeights, W_O: SquareWeights, H: Heads) -> Any:
    """P_h M - M P_h, stacked, shape (H D, D)."""
    M = W_V @ W_O
    return concatenate(mapped(lambda B: B @ B.T @ M - M @ B @ B.T, parts(W_V, H, 1)), axis=0)


EQ_19_COMMUTATOR.oracle(lambda W_V, W_O, H: concatenate(mapped(lambda M: M - M.T, head_products(W_V, W_O, H)), axis=0))
EQ_19_COMMUTATOR.mutant("anticommutator", "B @ B.T @ M - M @ B @ B.T -> B @ B.T @ M + M @ B @ B.T")
EQ_19_COMMUTATOR.mutant("sign", lambda value: -value)


EQ_19_PER_HEAD = Claim(DYNAMICS, "dynamics.eq-19-per-head", label="Eq. (19), head by head",
    statement=r"""
        R:=\sum_{h=1}^H\|M_h-M_h^\top\|_F^2=2\sum_{h=1}^H\big(\operatorname{tr}(M_h^\top
        M_h)-\operatorname{tr}(M_h^2)\big),\ M_h=W_h^VW_h^O;\ \text{so that }R=0\text{ exactly if every
        }W_h^VW_h^O\text{ is symmetric}""",
    assumptions=[HEADS_FIT, BLOCK_ROWS],
    name="energy regulariser head by head", general="It holds of all matrices $M_h$; nothing of attention enters.",
    relation=Equal(), all_sizes=True, sizes={"D": (1, 4), "H": (1, 4)},
    exact=True, of_project=True, corrects="dynamics.eq-19-heads",
    note=r"""The gradient in $M_h$ is $4(M_h - M_h^\top)$, as dynamics.eq-19-gradient has it for each head, and $R
        \ge R_{\text{E-multi}}/H$ by Cauchy and Schwarz. Symmetric heads alone do not make
        $E_{\text{multi}}$ fall: that needs $W_h^VW_h^O = A_h = A_h^\top$ and $A_hA_{h'} = O$
        (dynamics.prop-4.2-symmetric).""")  # fmt: skip


@EQ_19_PER_HEAD.formula
def asymmetry_of_heads(W_V: SquareWeights, W_O: SquareWeights, H: Heads) -> Any:
    """sum_h |M_h - M_h^T|_F^2, shape (1, 1)."""
    return added(mapped(asymmetry, head_products(W_V, W_O, H)))


@EQ_19_PER_HEAD.oracle
def asymmetry_by_traces(W_V: SquareWeights, W_O: SquareWeights, H: Heads) -> Any:
    R = added(mapped(lambda M: (trace(M.T @ M) - trace(M @ M)) * 2, head_products(W_V, W_O, H)))
    return vec_r(W_V)[:1] * 0 + R


EQ_19_PER_HEAD.mutant("of the sum of the heads, Eq. (19)", lambda W_V, W_O: asymmetry(W_V @ W_O))
EQ_19_PER_HEAD.mutant("block columns of W^O", "W_O -> W_O.T")


def _distance_from_singular_vectors(W: Any, U: Any, V: Any, sigma: Any, small: Any) -> Any:
    by_values = U[:, :1] @ V[:, :1].T * sigma + U[:, 1:] @ V[:, 1:].T * small
    grams = concatenate([U.T @ U - eye(2), V.T @ V - eye(2)], axis=0)
    return concatenate([vec_r(W - by_values), vec_r(grams)], axis=0)


EQ_20 = Claim(DYNAMICS, "dynamics.eq-20", label="Eq. (20) and text", name="spectral regulariser",
    statement=r"""R_{\text{Spec}}=\sum\nolimits_{W\in\operatorname{SA}}\left(\sigma^2(W)-1\right)^2+\sum\nolimits_{b\in
        \operatorname{SA}}\|b\|_2^4,\ \sigma(W)\text{ the largest singular value; ``encourages the singular values to be
        close to 1''}""",
    assumptions=[
        Construction("one weight matrix with two rows, one bias", shapes={"W": ("2", "n"), "b": ("1", "p")}),
        Assumption(
            "the largest singular value is simple",
            positive=lambda W: squared_norm(W) * squared_norm(W) - determinant(W @ W.T) * 4,
        ),
        Assumption(
            r"W = U diag(\sigma, s) V^\top for numbers \sigma, s and any U, V with orthonormal columns",
            zero=_distance_from_singular_vectors,
        ),
        Assumption(r"\sigma > s \ge 0", positive=lambda sigma, small: sigma - small, nonnegative=lambda small: small),
    ],
    relation=Equal(), sizes={"n": (2, 3), "p": (1, 2)}, exact=True, expects="reading",
    reading=Reading("encourages the singular values to be close to", r"""those just named, the largest of each $W$:
            descent on $R_{\text{Spec}}$ moves it alone, towards 1, along $-4\sigma(\sigma^2-1)uv^\top$ with its
            singular vectors $u$ and $v$, and the biases
            along $-4\|b\|^2b$"""),
    note=r"""It is false of all singular values of one matrix: the other ones receive no gradient, and $R_{\text{Spec}}
        = 0$ whatever they are below 1 (dynamics.eq-20-zero-set). At $W = O$ the gradient vanishes too, although the
        singular values are 0. A sum over all of them would be $\|W^\top W-I\|_F^2$. Drawn with one bias and one matrix
        of two rows, whose singular values have a closed form; the summands do not meet, and
        $4\sigma(\sigma^2-1)uv^\top$ holds at every size.""")  # fmt: skip


@subject("dynamics.spectral_regulariser")
def spectral_regulariser(W: Annotated[Any, Shape("2", "n")], b: Annotated[Any, Shape("1", "p")]) -> Any:
    """(sigma(W)^2 - 1)^2 + |b|^4 for W (2, n) and b (1, p), shape (1, 1); sigma^2 from the quadratic equation of W W^T."""
    gram = W @ W.T
    half = (gram[:1, :1] + gram[1:, 1:]) * rational(1, 2)
    det = gram[:1, :1] * gram[1:, 1:] - gram[:1, 1:] * gram[1:, :1]
    excess = half + sqrt(half * half - det) - 1
    return excess * excess + (b @ b.T) * (b @ b.T)


@EQ_20.inputs
@realises({r"W = U diag(\sigma, s)": reached.FRAMES})
def simple_largest_singular_value(
    G: Plane, K: Basis, small: Annotated[Any, Real(0.0, 2.0)], gap: Annotated[Any, Real(0.125, 2.0)], b: Bias
) -> dict[str, Any]:
    """W = U diag(small + gap, small) V^T with orthonormal columns of U (2, 2) and V (n, 2), all rational."""
    U, V, sigma = orthogonal_matrix(G), orthogonal_matrix(K)[:, :2], small + gap
    W = U[:, :1] @ V[:, :1].T * sigma + U[:, 1:] @ V[:, 1:].T * small
    return {"W": W, "U": U, "V": V, "sigma": sigma, "small": small, "b": b}


def _spectral_gradient(U: Any, V: Any, sigma: Any, b: Any, k: int = 0, factor: int = 4, sign: int = 1) -> Any:
    """(factor sigma (sigma^2 - 1) u_k v_k^T, 4 |b|^2 b) as a row, shape (1, 2 n + p)."""
    outer = U[:, k : k + 1] @ V[:, k : k + 1].T * (sigma * (sigma * sigma - 1) * factor * sign)
    return concatenate([vec_r(outer).T, b * (b @ b.T) * 4], axis=1)


@EQ_20.formula
def spectral_regulariser_gradient(U: Any, V: Any, sigma: Any, b: Any) -> Any:
    """dR/dW = 4 sigma (sigma^2 - 1) u v^T and dR/db = 4 |b|^2 b, as a row of shape (1, 2 n + p) (Eq. (20))."""
    return _spectral_gradient(U, V, sigma, b)


@EQ_20.oracle
def spectral_regulariser_differentiated(W: Any, b: Any) -> Any:
    by_W, by_b = jacobian(spectral_regulariser, "W")(W, b), jacobian(spectral_regulariser, "b")(W, b)
    return concatenate([by_W, by_b], axis=1)


EQ_20.mutant("factor 2: the regulariser of sigma - 1 in place of its square", factor=2)
EQ_20.mutant("singular vectors of the smaller singular value", k=1)


@EQ_20.mutant("all singular values moved towards 1")
def _(U: Any, V: Any, sigma: Any, small: Any, b: Any) -> Any:
    both = _spectral_gradient(U, V, sigma, b) + _spectral_gradient(U, V, small, b, k=1)
    return both - concatenate([both[:, : 2 * V.shape[0]] * 0, b * (b @ b.T) * 4], axis=1)


EQ_20_ZERO_SET = Claim(DYNAMICS, "dynamics.eq-20-zero-set", label="Eq. (20), where it vanishes",
    statement=r"""R_{\text{Spec}}=0\text{ and }\nabla R_{\text{Spec}}=0\text{ at
        }W=U\operatorname{diag}(1,s)V^\top\in\mathbb R^{2\times n}\text{ with orthonormal columns of any }U\in\mathbb R^{2\times
        2},V\in\mathbb R^{n\times2}\text{ and }b=0,\text{ for every }0\le s<1""",
    name="zero set of the spectral regulariser", relation=HasStructure(), sizes={"n": (2, 3)}, exact=True,
    assumptions=[
        Assumption("W has the singular value 1", zero=lambda W: determinant(W @ W.T - eye(2))),
        Assumption("the other singular value is below 1", positive=lambda W: 2 - squared_norm(W)),
        Assumption("n >= 2", sizes=lambda sizes: sizes["n"] >= 2),
    ],
    of_project=True, uses=("dynamics.eq-20",))  # fmt: skip


@EQ_20_ZERO_SET.inputs
@realises({"W has the singular value 1": "W = U diag(1, s) V^T, a singular value decomposition"})
def largest_singular_value_one(G: Plane, K: Basis, s: Annotated[Any, Real(0.0, 0.9990234375)]) -> dict[str, Any]:
    """W = U diag(1, s) V^T, shape (2, n)."""
    U, V = orthogonal_matrix(G), orthogonal_matrix(K)[:, :2]
    return {"W": U @ diag(U[0] * 0 + 1) @ V.T - U[:, 1:] @ V[:, 1:].T * (1 - s)}


def _without_bias(W: Any) -> Any:
    return spectral_regulariser(W, W[:1] * 0)


def _distance_from_isometry(W: Any) -> Any:
    return squared_norm(W @ W.T - eye(2))


def _by_frobenius_norm(W: Any) -> Any:
    return (squared_norm(W) - 1) * (squared_norm(W) - 1)


@EQ_20_ZERO_SET.formula
def spectral_regulariser_to_first_order(W: Any) -> Any:
    """R_Spec and its gradient by W at b = 0, as a row of shape (1, 1 + 2 n)."""
    return concatenate([_without_bias(W), jacobian(_without_bias, "W")(W)], axis=1)


EQ_20_ZERO_SET.part("structure", lambda value: value)
EQ_20_ZERO_SET.mutant("all singular values, |W W^T - I|^2", "_without_bias -> _distance_from_isometry")
EQ_20_ZERO_SET.mutant("Frobenius norm for the largest singular value", "_without_bias -> _by_frobenius_norm")
