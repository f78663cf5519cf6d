"""The Jacobian of one normalised update: Lemmas A.1 and A.3, Eqs. (24)-(27), and the proof of Proposition 5.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta,
    Gain,
    Heads,
    QueryWeights,
    SquareWeights,
    Tokens,
    multi_head_attention,
    normalisation,
    rms_norm,
    unit_rows,
)
from theorems.dynamics.normalisation import Radii, Step, rows_of_rational_norm, updated
from verify.matrix import (
    absolute,
    block_diag,
    concatenate,
    diag,
    eye,
    kron,
    maximum,
    ones,
    row_norms,
    row_sums,
    singular_values,
    spectral_norm,
    zeros,
)
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape, Size, subject

Left = Annotated[Any, Shape("m", "n")]
Middle = Annotated[Any, Shape("n", "p")]
Right = Annotated[Any, Shape("p", "q")]
Row = Annotated[Any, Shape("1", "D")]
Radius = Annotated[Any, Real(0.125, 4.0)]
Width = Annotated[int, Size("N")]

NO_ZERO_ROW = Assumption("no row of Y vanishes", positive=lambda Y: row_sums(Y * Y))

# -- Lemma A.1 ---------------------------------------------------------------------------------------------------------

LEMMA_A1 = Claim(
    DYNAMICS,
    "dynamics.lemma-a.1",
    label="Lemma A.1, Eq. (21)",
    statement=r"\frac{\partial AXB}{\partial X}=A\otimes B^\top",
    assumptions=["numerator layout; row-major vec"],
    relation=Equal(),
    sizes={"m": (1, 4), "n": (1, 4), "p": (1, 4), "q": (1, 4)},
    exact=True,
)


@LEMMA_A1.formula
def product_jacobian(A: Left, X: Middle, B: Right) -> Any:
    """d(A X B)/dX = A (x) B^T, shape (m q, n p) (Lemma A.1)."""
    return kron(A, B.T)


@LEMMA_A1.oracle
def product_differentiated(A: Left, X: Middle, B: Right) -> Any:
    def product(X: Any) -> Any:
        return A @ X @ B

    return jacobian(product, "X")(X)


LEMMA_A1.mutant("column-major order, B^T (x) A", lambda A, B: kron(B.T, A))
LEMMA_A1.mutant("sign", lambda value: -value)
LEMMA_A1.mutant("B instead of its transpose, reshaped to fit", lambda A, B: kron(A, B.reshape(B.shape[1], B.shape[0])))


# -- Lemma A.3 and the proof of Lemma A.2 ------------------------------------------------------------------------------

LEMMA_A3 = Claim(
    DYNAMICS,
    "dynamics.lemma-a.3",
    label="Lemma A.3, Eqs. (28)-(29)",
    statement=r"\frac{\partial\operatorname{RMSNorm}(Y)}{\partial Y}=\operatorname{blockdiag}\Big(\Big\{\tfrac1{\|Y_{[i,:]}\|}"
    r"\operatorname{diag}(\gamma)\big(I_D-\tfrac{Y_{[i,:]}Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^2}\big)\Big\}_{i=1}^S\Big)",
    assumptions=["RMSNorm as in Eq. (6)", "row-major vec", NO_ZERO_ROW],
    relation=Equal(),
    sizes={"S": (1, 4), "D": (1, 4)},
    exact=True,
    proof=("dynamics.lemma-a.2",),
)


@LEMMA_A3.inputs
def gain_and_rows(directions: Tokens, radii: Radii, gamma: Gain) -> dict[str, Any]:
    """gamma as drawn, and Y with rows of rational norm, shape (S, D)."""
    return {**rows_of_rational_norm(directions, radii), "gamma": gamma}


def _row_block(y: Any, gamma: Any) -> Any:
    """diag(gamma) (I - y y^T / |y|^2) / |y| for a row y (1, D), shape (D, D)."""
    r = row_norms(y)
    return diag(gamma) @ (eye(y.shape[1]) - y.T @ y / (r * r)) / r


def _rows(Y: Any) -> list[Any]:
    return [Y[i : i + 1] for i in range(Y.shape[0])]


@LEMMA_A3.formula
def rms_norm_jacobian(Y: Tokens, gamma: Gain) -> Any:
    """dRMSNorm/dY, shape (S D, S D) (Lemma A.3)."""
    return block_diag([_row_block(y, gamma) for y in _rows(Y)])


LEMMA_A3.oracle(lambda Y, gamma: jacobian(rms_norm, "Y")(Y, gamma))
LEMMA_A3.mutant("diag(gamma) on the right", "_row_block(y, gamma) -> _row_block(y, gamma * 0 + 1) @ diag(gamma)")
LEMMA_A3.mutant("diag(gamma) dropped", lambda Y, gamma: block_diag([_row_block(y, gamma * 0 + 1) for y in _rows(Y)]))
LEMMA_A3.mutant("gain in absolute value", "gamma -> absolute(gamma)")


EQS_24_27 = Claim(
    DYNAMICS,
    "dynamics.eq-25-26",
    label="Eqs. (24)-(27)",
    statement=r"\frac{\partial(Y_{[i,:]}/\|Y_{[i,:]}\|)}{\partial Y_{[i,:]}}=\frac1{\|Y_{[i,:]}\|}\frac{\partial Y_{[i,:]}}"
    r"{\partial Y_{[i,:]}}+Y_{[i,:]}\frac{\partial\,1/\|Y_{[i,:]}\|}{\partial Y_{[i,:]}}=\frac1{\|Y_{[i,:]}\|}I_D"
    r"-Y_{[i,:]}\frac{Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^3}",
    assumptions=[NO_ZERO_ROW],
    relation=Equal(),
    sizes={"D": (1, 5)},
    exact=True,
)


@EQS_24_27.inputs
def row_of_rational_norm(direction: Row, radius: Radius) -> dict[str, Any]:
    """One row Y of norm `radius`, shape (1, D)."""
    return {"Y": unit_rows(direction) * radius}


def _product_rule(Y: Any) -> Any:
    """I / |Y| + Y d(1/|Y|)/dY, shape (D, D): Eq. (25), the derivative of the reciprocal norm left to differentiation."""

    def reciprocal_norm(Y: Any) -> Any:
        return 1 / row_norms(Y)

    return eye(Y.shape[1]) / row_norms(Y) + Y.T @ jacobian(reciprocal_norm, "Y")(Y)


def _both_lines(Y: Any, power: int = 3, sign: int = -1) -> Any:
    r = row_norms(Y)
    closed = eye(Y.shape[1]) / r + Y.T @ Y * sign / (r * r * r if power == 3 else r * r)
    return concatenate([_product_rule(Y), closed], axis=0)


@EQS_24_27.formula
def direction_jacobian(Y: Row) -> Any:
    """Eq. (25) above Eq. (26), shape (2 D, D)."""
    return _both_lines(Y)


@EQS_24_27.oracle
def direction_differentiated(Y: Row) -> Any:
    J = jacobian(normalisation, "Y")(Y)
    return concatenate([J, J], axis=0)


EQS_24_27.mutant("square instead of cube of the norm", power=2)
EQS_24_27.mutant("sign of the rank-one term", sign=1)


@EQS_24_27.mutant("second summand of the product rule dropped")
def _(Y: Row) -> Any:
    scaled = eye(Y.shape[1]) / row_norms(Y)
    return concatenate([scaled, scaled], axis=0)


# -- the proof of Proposition 5.1 --------------------------------------------------------------------------------------

EQ_68 = Claim(
    DYNAMICS,
    "dynamics.eq-68",
    label="Eq. (68) and text ((83) is the same)",
    statement=r"\text{the eigenvalues of }I_D-aa^\top/\|a\|^2\text{ are }1\ (\text{multiplicity }D-1)\text{ and }0\ "
    r"(\text{multiplicity }1);\ \|I_D-aa^\top/\|a\|^2\|_2\le1",
    assumptions=[
        r"a \in R^D",
        Assumption("a does not vanish, so that the matrix is defined", positive=lambda a: row_sums(a * a)),
    ],
    relation=Equal(),
    sizes={"D": (1, 5)},
    note="The eigenvalues in descending order; the norm of a symmetric matrix is the largest of their absolute values.",
)


@EQ_68.formula
def projection_spectrum(a: Row) -> Any:
    """(1, ..., 1, 0), shape (1, D)."""
    return concatenate([ones(1, a.shape[1] - 1), zeros(1, 1)], axis=1)


@EQ_68.oracle
def projection_eigenvalues(a: Row) -> Any:
    """Singular values of the matrix plus 2 I, which is positive definite, less 2."""
    P = eye(a.shape[1]) - a.T @ a / row_sums(a * a)
    return singular_values(P + 2 * eye(a.shape[1])).reshape(1, -1) - 2


EQ_68.mutant("multiplicities exchanged", lambda a: concatenate([ones(1, 1), zeros(1, a.shape[1] - 1)], axis=1))
EQ_68.mutant("regular matrix", lambda a: ones(1, a.shape[1]))
EQ_68.mutant("reflection instead of projection", lambda a: concatenate([ones(1, a.shape[1] - 1), -ones(1, 1)], axis=1))


def token_norm(Y: Any, gamma: Any) -> Any:
    """max_i |diag(gamma) (I - y_i y_i^T / |y_i|^2) / |y_i||_2, a scalar: the right-hand side of Eq. (70)."""
    return maximum(concatenate([singular_values(_row_block(y, gamma))[:1].reshape(1, 1) for y in _rows(Y)], axis=0))


@subject("dynamics.oscillator_rms_norm")
def oscillator_rms_norm(Y: Tokens, gamma: Gain, N: Width) -> Any:
    """Every oscillator, N consecutive entries of a row, divided by its norm and scaled by gamma, shape (S, D) (Section 6.1)."""
    return normalisation(Y.reshape(-1, N)).reshape(Y.shape[0], Y.shape[1]) * gamma.reshape(1, -1)


EQS_69_70 = Claim(
    DYNAMICS,
    "dynamics.eq-69-70",
    label="Eqs. (69)-(70)",
    statement=r"\Big\|\frac{\partial\operatorname{RMSNorm}^{(osc)}(Y)}{\partial Y}\Big\|_2=\Big\|\operatorname{blockdiag}"
    r"\Big(\Big\{\tfrac{1}{\|\tilde Y_{i,j}\|}\operatorname{diag}(\gamma)\big(I_D-\tfrac{\tilde Y_{i,j}"
    r"\tilde Y_{i,j}^\top}{\|\tilde Y_{i,j}\|^2}\big)\Big\}_{i,j}\Big)\Big\|_2=\max_i\Big\|\tfrac1{\|Y_{[i,:]}\|}"
    r"\operatorname{diag}(\gamma)\big(I_D-\tfrac{Y_{[i,:]}Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^2}\big)\Big\|_2",
    assumptions=[
        r"\tilde Y_{i,j} \in R^N is the j-th oscillator of token i",
        Assumption("no oscillator vanishes", positive=lambda Y, N: row_sums(Y.reshape(-1, N) * Y.reshape(-1, N))),
    ],
    relation=Equal(),
    sizes={"S": (1, 2), "D": (2, 4), "N": (1, 4)},
    where=lambda sizes: sizes["D"] % sizes["N"] == 0,
    expects="refuted",
    severity="slip",
    correction="dynamics.eq-70-tokens",
    doubt="diag(gamma) and I_D do not fit blocks of size N < D; the part of gamma that belongs to the oscillator is taken. The"
    " counterexample has gamma = 1. For N = D, which is ItrSA and the only case in which I_D fits, the line is right.",
    note="The superscript (osc) and the oscillators belong to another setting: Lemma A.3, which the line quotes, and"
    " Proposition 5.1, which it proves, normalise whole tokens. With N < D oscillators are shorter than tokens, and the left"
    " side is larger.",
)


@EQS_69_70.formula
def token_norm_for_oscillators(Y: Tokens, gamma: Gain, N: Width) -> Any:
    """The right-hand side of Eq. (70), a scalar."""
    return token_norm(Y, gamma)


EQS_69_70.oracle(lambda Y, gamma, N: spectral_norm(jacobian(oscillator_rms_norm, "Y")(Y, gamma, N)))


@EQS_69_70.counterexample("one token of two oscillators of norms 5 and 10")
def _() -> dict[str, Any]:
    """By hand: 1/5 on the left, 1/sqrt(125) on the right."""
    return {"Y": [[3, 4, 6, 8]], "gamma": [1, 1, 1, 1], "N": 2}


@EQS_69_70.mutant("squared norm of the token")
def _(Y: Tokens, gamma: Gain, N: Width) -> Any:
    return maximum(concatenate([_block_norm(y, gamma) / row_norms(y) for y in _rows(Y)], axis=0))


@EQS_69_70.mutant("without the norm of the token")
def _(Y: Tokens, gamma: Gain, N: Width) -> Any:
    return maximum(concatenate([_block_norm(y, gamma) * row_norms(y) for y in _rows(Y)], axis=0))


def _block_norm(y: Any, gamma: Any) -> Any:
    return singular_values(_row_block(y, gamma))[:1].reshape(1, 1)


TOKENWISE = Claim(
    DYNAMICS,
    "dynamics.eq-70-tokens",
    label="Eqs. (69)-(70) for whole tokens",
    statement=r"\Big\|\frac{\partial\operatorname{RMSNorm}(Y)}{\partial Y}\Big\|_2=\max_i\Big\|\tfrac1{\|Y_{[i,:]}\|}"
    r"\operatorname{diag}(\gamma)\big(I_D-\tfrac{Y_{[i,:]}Y_{[i,:]}^\top}{\|Y_{[i,:]}\|^2}\big)\Big\|_2",
    assumptions=[NO_ZERO_ROW],
    relation=Equal(),
    sizes={"S": (1, 3), "D": (2, 4)},
    of_project=True,
    corrects="dynamics.eq-69-70",
    uses=("dynamics.lemma-a.3",),
)


@TOKENWISE.formula
def rms_norm_jacobian_norm(Y: Tokens, gamma: Gain) -> Any:
    """|dRMSNorm/dY|_2, a scalar (Eq. (70))."""
    return token_norm(Y, gamma)


TOKENWISE.oracle(lambda Y, gamma: spectral_norm(jacobian(rms_norm, "Y")(Y, gamma)))
TOKENWISE.mutant("gain ignored", lambda Y, gamma: token_norm(Y, gamma * 0 + 1))
TOKENWISE.mutant("first token only", lambda Y, gamma: token_norm(Y[:1], gamma))


@TOKENWISE.mutant("without the norms of the tokens")
def _(Y: Tokens, gamma: Gain) -> Any:
    return maximum(concatenate([_block_norm(y, gamma) * row_norms(y) for y in _rows(Y)], axis=0))


EQ_71 = Claim(
    DYNAMICS,
    "dynamics.eq-71",
    label="Eq. (71)",
    statement=r"\max_i\Big\|\tfrac1{\|Y_{[i,:]}\|}\operatorname{diag}(\gamma)\big(I_D-\tfrac{Y_{[i,:]}Y_{[i,:]}^\top}"
    r"{\|Y_{[i,:]}\|^2}\big)\Big\|_2\le\frac{\max_j|\gamma_j|}R",
    assumptions=[NO_ZERO_ROW, r"\|Y_{[i,:]}\| \ge R > 0; R is the smallest of these norms, the strongest case"],
    relation=AtMost(),
    sizes={"S": (1, 3), "D": (1, 4)},
    uses=("dynamics.eq-68",),
)


@EQ_71.formula
def gain_over_radius(Y: Tokens, gamma: Gain) -> Any:
    """max_j |gamma_j| / min_i |Y_i|, a scalar (Eq. (71))."""
    return maximum(absolute(gamma)) * maximum(1 / row_norms(Y))


EQ_71.oracle(lambda Y, gamma: token_norm(Y, gamma))
EQ_71.mutant("largest gamma_j without the absolute value", lambda Y, gamma: maximum(gamma) * maximum(1 / row_norms(Y)))
EQ_71.mutant("the largest norm of a token for R", lambda Y, gamma: maximum(absolute(gamma)) / maximum(row_norms(Y)))


EQS_72_76 = Claim(
    DYNAMICS,
    "dynamics.eq-73-76",
    label="Eqs. (72)-(76)",
    statement=r"\Big\|\frac{\partial\operatorname{RMSNorm}(Y)}{\partial Y}\frac{\partial Y}{\partial X}\Big\|_2\le\frac{\max_j"
    r"|\gamma_j|}R\|I_{SD}+\eta J_{\text{MSA}}\|_2\le\frac{\max_j|\gamma_j|}R(1+|\eta|\|J_{\text{MSA}}\|_2)",
    assumptions=[
        r"Y = X + \eta(C + \operatorname{MSA}(X))",
        Assumption(
            "no row of Y vanishes",
            positive=lambda X, C, W_Q, W_K, W_V, W_O, beta, eta, H: row_sums(
                updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H) * updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)
            ),
        ),
    ],
    relation=AtMost(ascent=False),
    sizes={"S": (1, 2), "D": (1, 2), "H": (1, 2)},
    where=lambda sizes: sizes["D"] % sizes["H"] == 0,
    uses=("dynamics.eq-71", "dynamics.lemma-a.3"),
    note="Lines (73)-(74), (74)-(75) and (75)-(76), one below the other.  Gradient ascent is left to Proposition 5.1, whose two"
    " sides are the ends of this chain.",
)


def _links(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int, *,
    sign: int = 1, step: Callable[[Any], Any] = absolute, offset: int = 1,
) -> Any:  # fmt: skip
    """The right-hand sides (74), (75), (76), shape (3, 1); mutants change the sign of eta in (74)-(75) or the parts of (76)."""
    Y = updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)
    J = jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H)
    outer = spectral_norm(block_diag([_row_block(y, gamma) for y in _rows(Y)]))
    inner = spectral_norm(eye(J.shape[0]) + J * eta * sign)
    bound = gain_over_radius(Y, gamma)
    last = bound * (offset + step(eta) * spectral_norm(J))
    return concatenate([ones(1, 1) * entry for entry in (outer * inner, bound * inner, last)], axis=0)


@EQS_72_76.formula
def chain_of_bounds(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """Lines (74), (75), (76), shape (3, 1)."""
    return _links(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)


@EQS_72_76.oracle
def chain_of_norms(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """Lines (72), (74), (75), shape (3, 1), every derivative taken in one piece."""

    def before(X: Any) -> Any:
        return updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)

    def after(X: Any) -> Any:
        return rms_norm(before(X), gamma)

    Y = before(X)
    whole, inner = spectral_norm(jacobian(after, "X")(X)), spectral_norm(jacobian(before, "X")(X))
    outer = spectral_norm(jacobian(rms_norm, "Y")(Y, gamma))
    scaled = inner * maximum(absolute(gamma)) / _smallest(row_norms(Y))
    return concatenate([ones(1, 1) * entry for entry in (whole, outer * inner, scaled)], axis=0)


def _smallest(norms: Any) -> Any:
    return -maximum(-norms)


EQS_72_76.mutant("sign of eta in (74)-(75)", sign=-1)
EQS_72_76.mutant(
    "|eta| replaced by eta in (76)",
    lambda X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H: _links(
        X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H, step=lambda eta: eta
    ),
)
EQS_72_76.mutant("identity dropped in (76)", offset=0)
