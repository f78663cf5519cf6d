"""Eqs. (1), (2), (5), (6): heads concatenated and summed, normalisation, projection, RMSNorm.

Surprising: Eq. (6) is not, gain for gain, the RMSNorm that it cites; the gains differ by the factor sqrt(D).
"""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens, attention_head, multi_head_attention, normalisation,
    projection, rms_norm, unit_rows,
)  # fmt: skip
from theorems.dynamics.settings import HEADS_FIT, NO_ZERO_ROW, SPHERE, Radii, gain_and_rows, rows_of_rational_norm
from verify.matrix import added, concatenate, each, eye, mapped, parts, rational, row_norms, row_sums, softmax, sqrt
from verify.vocabulary import Claim, Construction, Convention, Definition, Equal, HasStructure, Setting, realises
from verify.vocabulary.hypotheses import unit_rows as has_unit_rows

CONCATENATED_HEADS = Claim(DYNAMICS, "dynamics.eq-1-concat", label="Eqs. (1)-(2) with W_h^O of Eqs. (15),(19)",
    statement=r"""\operatorname{MSA}(X):=\operatorname{Concat}(\operatorname{SA}_1(X),\ldots,\operatorname{SA}_H(X))W^O,
        \quad \operatorname{SA}_h(X):=\operatorname{softmax}(\beta XW_h^QW_h^{K\top}X^\top)XW_h^V;\quad \text{in terms
        of } W_h^O:\ \operatorname{MSA}(X)=\sum_{h=1}^H \operatorname{SA}_h(X)\,W_h^O""",
    assumptions=[
        HEADS_FIT,
        Convention("softmax acts on rows", by=softmax),
        Definition("W_h^O is the h-th block of D_H rows of W^O (implicit in Eqs. (15) and (19))", by=parts),
    ],
    name="multi-head attention, heads concatenated or summed", relation=Equal(), all_sizes=True,
    sizes={"S": (1, 3), "D": (1, 6), "H": (1, 3)}, exact=True)  # fmt: skip


@CONCATENATED_HEADS.formula
def summed_heads(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """sum_h SA_h(X) W_h^O, shape (S, D) (Eqs. (15), (19))."""

    def head(Q: Any, K: Any, V: Any, O: Any) -> Any:
        return attention_head(X, Q, K, V, beta) @ O

    return added(mapped(head, *(parts(W, H, 1) for W in (W_Q, W_K, W_V)), parts(W_O, H, 0)))


CONCATENATED_HEADS.oracle(multi_head_attention)
CONCATENATED_HEADS.mutant(
    "the next head's block of W^O", "parts(W_O, H, 0) -> parts(W_O, H, 0)[1:] + parts(W_O, H, 0)[:1]"
)
CONCATENATED_HEADS.mutant("blocks of columns of W^O, transposed", "parts(W_O, H, 0) -> parts(W_O.T, H, 0)")
CONCATENATED_HEADS.mutant("query and key exchanged", "W_Q -> W_K; W_K -> W_Q")


# -- Eqs. (5)-(6) ------------------------------------------------------------------------------------------------------

OPERATORS = Claim(SPHERE, "dynamics.eq-5-operators", label="Eq. (5) and text",
    statement=r"""\Pi(Y)_{[i,:]}=Y_{[i,:]}/\|Y_{[i,:]}\|,\quad
        \operatorname{Proj}_X(Y)_{[i,:]}=(I_D-X_{[i,:]}X_{[i,:]}^\top)Y_{[i,:]};\quad \Pi(Y)\text{ ``projects each token
        vector }Y_{[i,:]}\text{ onto the unit hypersphere'': }\|\Pi(Y)_{[i,:]}\|=1;\ \operatorname{Proj}_X(Y)\text{
        ``projects }Y_{[i,:]}\text{ orthogonally to }X_{[i,:]}\text{'': }\langle X_{[i,:]},
        \operatorname{Proj}_X(Y)_{[i,:]}\rangle=0""",
    assumptions=[NO_ZERO_ROW],
    hypotheses=(has_unit_rows("X", stated=r"\|X_{[i,:]}\| = 1 for every token i"),),
    without_domains={"repeated singular values": "of a column of radii one entry is not 0: the other rows vanish"},
    name="normalisation and tangent projection on the sphere", relation=HasStructure(), all_sizes=True,
    sizes={"S": (1, 4), "D": (1, 5)}, exact=True)  # fmt: skip


@OPERATORS.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS})
def unit_tokens_and_rows(tokens: Tokens, directions: Tokens, radii: Radii) -> dict[str, Any]:
    """Unit tokens X, and Y with rows of rational norm, both (S, D)."""
    return {"X": unit_rows(tokens), **rows_of_rational_norm(directions, radii)}


@OPERATORS.formula
def normalised_and_projected(X: Tokens, Y: Tokens) -> Any:
    """[Pi(Y), Proj_X(Y)], shape (S, 2 D) (Eq. (5))."""
    return concatenate([normalisation(Y), projection(X, Y)], axis=1)


@OPERATORS.part("structure")
def off_the_sphere_and_its_tangent(value: Any, X: Tokens, Y: Tokens) -> Any:
    """|Pi(Y)_i|^2 - 1 and X_i^T Proj_X(Y)_i, then what is missing from the printed right-hand sides, shape (S, 2 + 2 D)."""
    S, D = X.shape
    unit, tangent = value[:, :D], value[:, D:]
    rows = each(S, lambda i: Y[i : i + 1] @ (eye(D) - X[i : i + 1].T @ X[i : i + 1]))
    printed = concatenate(rows, axis=0)
    defects = [row_sums(unit * unit) - 1, row_sums(X * tangent), unit * row_norms(Y) - Y, tangent - printed]
    return concatenate(defects, axis=1)


OPERATORS.mutant("normalisation by the squared norm", "normalisation(Y) -> Y / row_sums(Y * Y)")
OPERATORS.mutant("projection with the sign of the rank-one term", "projection(X, Y) -> 2 * Y - projection(X, Y)")
OPERATORS.mutant("normalised, but the other way", "normalisation(Y) -> -normalisation(Y)")
OPERATORS.mutant("projection of half of Y", "projection(X, Y) -> projection(X, Y) * rational(1, 2)")
OPERATORS.mutant("projection along Y instead of X", "projection(X, Y) -> projection(Y, X)")


GAIN_AND_ROWS = Setting(
    DYNAMICS, "Section 3, RMSNorm", sizes={"S": (1, 3), "D": (1, 5)}, inputs=gain_and_rows, exact=True
)


def root_mean_square_norm(Y: Tokens, gamma: Gain) -> Any:
    """diag(gamma) Y_i / sqrt(mean of the squares of Y_i), shape (S, D): RMSNorm of Zhang and Sennrich, 2019."""
    return Y / sqrt(row_sums(Y * Y) * rational(1, Y.shape[1])) * gamma.reshape(1, -1)


RMS_NORM = Claim(GAIN_AND_ROWS, "dynamics.eq-6-rmsnorm", label="Eq. (6) and text",
    statement=r"""\text{RMSNorm (Zhang and Sennrich, 2019) ``is applied to the input matrix } Y\in\mathbb R^{S\times
        D}\text{ as'': }\operatorname{RMSNorm}(Y)_{[i,:]}=\operatorname{diag}(\gamma)\Pi(Y)_{[i,:]};\ \text{it
        ``rescales each token to have unit norm and applies element-wise scaling using the learned parameter }
        \gamma\text{, while }\Pi\text{ can be interpretted as the special case with }\gamma=\mathbf 1\text{''}""",
    assumptions=[
        Construction(r"\gamma \in R^D, Y \in R^{S x D}", shapes={"Y": ("S", "D"), "gamma": ("D",)}),
        NO_ZERO_ROW,
    ],
    name="RMSNorm as gain times unit norm", relation=Equal(), expects="refuted", severity="slip",
    correction="dynamics.eq-6-root-mean-square",
    consequence=r"""Bounds and gains of the paper do not carry over to the RMSNorm of common libraries without the
        factor $\sqrt D$.""",
    note=r"""The RMSNorm of Zhang and Sennrich, that of common libraries, divides by the root mean square: at $\gamma =
        \mathbf 1$ its rows have norm $\sqrt D$, not 1, and $\Pi$ is its case $\gamma = \mathbf 1/\sqrt D$. In the
        paper's favour: as a definition of its own Eq. (6) is consistent, and Lemma A.3 and Proposition 5.1 are about
        it; a trained $\gamma$ can take in the factor. But gains do not carry over, nor does the bound (14): with the
        cited normalisation it needs the factor $\sqrt D$.""")  # fmt: skip


@RMS_NORM.formula
def unit_norm_with_gain(Y: Tokens, gamma: Gain) -> Any:
    """diag(gamma) Pi(Y)_i, shape (S, D) (Eq. (6))."""
    return rms_norm(Y, gamma)


RMS_NORM.oracle(root_mean_square_norm)
# By hand: (3/5, 4/5), of norm 1, against sqrt(2) times that
RMS_NORM.counterexample("the row (3, 4) with gamma = 1", Y=[[3, 4]], gamma=[1, 1])
RMS_NORM.mutant("gain squared, sign lost", "rms_norm(Y, gamma) -> rms_norm(Y, gamma * gamma)")
RMS_NORM.mutant("half the gain", "rms_norm(Y, gamma) -> rms_norm(Y, gamma) * rational(1, 2)")


RMS_NORM_SCALED = RMS_NORM.corrected("dynamics.eq-6-root-mean-square",
    label="Eq. (6) gain for gain, with the factor sqrt(D)", name="RMSNorm by the root mean square",
    statement=r"""\text{RMSNorm (Zhang and Sennrich, 2019):
        }\operatorname{RMSNorm}(Y)_{[i,:]}=\operatorname{diag}(\gamma) \,Y_{[i,:]}/\sqrt{\|Y_{[i,:]}\|^2/D}=\sqrt
        D\operatorname{diag}(\gamma)\,\Pi(Y)_{[i,:]};\ \Pi\text{ is the special case }\gamma=\mathbf 1/\sqrt D""",
    assumptions=[NO_ZERO_ROW],
    without_domains={"repeated singular values": "of a column of radii one entry is not 0: the other rows vanish"},
    all_sizes=True,
    note=r"With the same gain Eq. (6) is shorter by the factor $\sqrt D$ than the normalisation it is named after.",
)  # fmt: skip


@RMS_NORM_SCALED.formula
def scaled_unit_norm(Y: Tokens, gamma: Gain) -> Any:
    """sqrt(D) diag(gamma) Pi(Y)_i, shape (S, D)."""
    return normalisation(Y) @ (eye(Y.shape[1]) * gamma.reshape(1, -1)) * sqrt(Y.shape[1])


RMS_NORM_SCALED.mutant("factor sqrt(D) dropped, as in Eq. (6)", rms_norm)
RMS_NORM_SCALED.mutant("factor D", lambda Y, gamma: rms_norm(Y, gamma) * Y.shape[1])
RMS_NORM_SCALED.mutant("gain dropped", lambda Y: normalisation(Y) * sqrt(Y.shape[1]))
