"""F.6, Lemmas F.6 - F.8, Eqs. (77)-(83): Jacobians of the basis, of the exponential and of S.

Column-major vec.  Where a lemma speaks of "some constant", the formula names one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import (
    newton_schulz_basis, queries_and_keys, query_key_generator, skew_matrix, within_unit_ball,
)  # fmt: skip
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import AT_INITIALISATION, NEWTON_SCHULZ, small
from theorems.osa.part_f_proofs.f6_lemmas_f_1_to_f_3 import NEGATIVE, QUERIES_AND_KEYS, SKEW, WITH_SIGN, negative_alpha
from theorems.osa.settings import (
    ANY_ALPHA, COLUMN_MAJOR, LAYER_OF_FEW_TOKENS, LEAST_BOUND, NONNEGATIVE_ALPHA, ORTHONORMAL_QUERIES_AND_KEYS,
    tokens_and_weights,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, AttentionMatrix, Epsilon, Factor, HeadWeights, Key, Query, Rectangle, Square, Steps, Tokens, UnitInterval,
)  # fmt: skip
from verify.matrix import (
    COLUMN, absolute, column, commutation_matrix, concatenate, exp, expm, eye, kron, rational, spectral_norm, sqrt,
    unvec_r, vec_c, vec_r, zeros,
)  # fmt: skip
from verify.oracles import closed_form, jacobian
from verify.vocabulary import (
    AtMost, Claim, Construction, Convention, Definition, Equal, HasStructure, Reading, Setting, realises,
)  # fmt: skip
from verify.vocabulary.hypotheses import skew


def slope(curve: Callable[[Any], Any], like: Any) -> Any:
    """d curve / dt at t = 0, of the shape of its value, for a matrix-valued curve in the arithmetic of `like`."""
    shape = curve(like[:1, :1] * 0).shape
    return unvec_r(jacobian(curve, "t")(like[:1, :1] * 0), *shape)


def basis_of(X: Any, W_Q: Any, W_K: Any, epsilon: Any, K: int) -> Any:
    """B (N, 2 d_v) from K Newton-Schulz steps."""
    return newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)


def reduced_matrix(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """[S] = B^T S B, shape (2 d_v, 2 d_v)."""
    B = basis_of(X, W_Q, W_K, epsilon, K)
    return B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B


def reduced_growth(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """exp[S] - I, shape (2 d_v, 2 d_v)."""
    return expm(reduced_matrix(X, W_Q, W_K, alpha, epsilon, K)) - eye(2 * W_Q.shape[1])


def jacobian_in_tokens(function: Callable[[Any], Any], X: Any) -> Any:
    """dvec function(X) / dvec X, column-major."""

    def at(X: Any) -> Any:
        return function(X)

    return jacobian(at, "X", COLUMN)(X)


def basis_jacobian(X: Any, W_Q: Any, W_K: Any, epsilon: Any, K: int) -> Any:
    """dvec B / dvec X, shape (2 N d_v, N d)."""
    return jacobian_in_tokens(lambda X: basis_of(X, W_Q, W_K, epsilon, K), X)


LEMMA_F6 = Claim(AT_INITIALISATION, "osa.lemma-f.6", label="Lemma F.6, Eq. (77)", name="Jacobian of the basis",
    statement=r"""\text{There exists some constant } C>0 \text{ such that }
        \left\|\frac{\partial\operatorname{vec}\mathbf{B}}{\partial\operatorname{vec}\mathbf{X}}\right\|_2\le C""",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS, LEAST_BOUND, *NEWTON_SCHULZ],
    relation=AtMost(left="||dvec B / dvec X||_2"), all_sizes=True, hypotheses=[ORTHONORMAL_QUERIES_AND_KEYS],
    sizes={**AT_INITIALISATION.sizes, "N": (1, 3)},
    proof=("osa.lemma-f.4", "osa.lemma-f.5"),
    note=r"""With $C = (3/2)^K/\epsilon$, whatever $X$, for the fixed $K$ and $\epsilon$ of Section 2.3; no smaller one
        serves all $X$. $\|\partial M\|_F \le \|\partial X\|_F$, as $[W^Q, W^K]$ has orthonormal columns; with the
        entries $m$ of $M$, $\partial M_0 = (I - m m^\top/(\beta\|M\|_F))\,\partial M/\beta$ shrinks by $\beta =
        \|M\|_F + \epsilon > \epsilon$; $K$ steps
        act on singular values in $[0, 1]$ by a concave $g$ with $g(0) = 0$, whose divided differences are at most
        $g'(0) = (3/2)^K$. All three are attained as $X$ tends to 0.""",
)  # fmt: skip


@LEMMA_F6.formula
def basis_jacobian_bound(epsilon: Epsilon, K: Steps) -> Any:
    """(3/2)^K / eps, a scalar."""
    return 1 / epsilon * rational(3**K, 2**K)


@LEMMA_F6.oracle
def norm_of_basis_jacobian(X: Tokens, W_Q: Query, W_K: Key, epsilon: Epsilon, K: Steps) -> Any:
    return spectral_norm(basis_jacobian(X, W_Q, W_K, epsilon, K))


LEMMA_F6.mutant("1 / eps, whatever K", lambda epsilon: 1 / epsilon)
LEMMA_F6.mutant("one step fewer", lambda epsilon, K: 1 / epsilon * rational(2 * 3**K, 3 * 2**K))
LEMMA_F6.mutant("eps dropped", lambda epsilon, K: epsilon / epsilon * rational(3**K, 2**K))

# -- Lemma F.7: the differential of the exponential --------------------------------------------------------------------

EQUATION_79 = Claim(OSA, "osa.eq-79", label="Eq. (79), proof of Lemma F.7", name="Jacobian of the matrix exponential",
    statement=r"""
        \frac{\partial\operatorname{vec}\exp[\mathbf{S}]}{\partial\operatorname{vec}[\mathbf{S}]}=\int_0^1\exp(s[
        \mathbf{S}]^\top)\otimes\exp((1-s)[\mathbf{S}])\,ds""",
    assumptions=[COLUMN_MAJOR, SKEW],
    relation=Equal(), all_sizes=True, sizes={"N": (1, 3), "m": (1, 3)}, exact=True,
    note=r"""The integral is the corner of an exponential: for commuting $P = I\otimes S$, $R = S^\top\otimes I$,
        $\int_0^1\exp((1 - s)P)\exp(sR)\,ds$ is the upper right block of $\exp\begin{pmatrix}P & I\\ 0 &
        R\end{pmatrix}$.""",
)  # fmt: skip


@EQUATION_79.inputs
@realises(
    {"skew-symmetric": reached.SKEW},
    but="S = B^T (G - G^T) B / 3 has no higher rank than B has rows; for as many rows as columns, drawn too, it is any skew S",
)
def reduced_generator(F: Factor, G: AttentionMatrix) -> Any:
    B = within_unit_ball(F)
    return {"S": B.T @ (G - G.T) @ B * rational(1, 3)}


def _integral(P: Any, R: Any) -> Any:
    """int_0^1 exp((1 - s) P) exp(s R) ds, shape that of P and R (n, n)."""
    n = P.shape[0]
    upper, lower = concatenate([P, eye(n)], axis=1), concatenate([zeros(n, n), R], axis=1)
    return expm(concatenate([upper, lower], axis=0))[:n, n:]


@EQUATION_79.formula
def exponential_jacobian(S: Square) -> Any:
    """int_0^1 exp(s S^T) (x) exp((1 - s) S) ds, shape (m^2, m^2), column-major (Eq. (79))."""
    identity = eye(S.shape[0])
    return _integral(kron(identity, S), kron(S.T, identity))


closed_form(expm, "A", "osa.eq-79", layout=COLUMN.value)(lambda A: exponential_jacobian(A))
EQUATION_79.oracle(lambda S: jacobian(expm, "A", COLUMN)(S))
EQUATION_79.mutant("S not transposed", "S.T -> S")
EQUATION_79.mutant("factors exchanged, as for row-major vec",
    "kron(identity, S) -> kron(S, identity); kron(S.T, identity) -> kron(identity, S.T)")  # fmt: skip
EQUATION_79.mutant("exp(S) in place of exp((1 - s) S)",
    lambda S: kron(eye(len(S)), expm(S)) @ _integral(kron(eye(len(S)), S * 0), kron(S.T, eye(len(S)))))  # fmt: skip

LEMMA_F7 = Claim(OSA, "osa.lemma-f.7", label="Lemma F.7, Eqs. (78), (80)", name="norm of the exponential's Jacobian",
    statement=r"""
        \left\|\frac{\partial\operatorname{vec}\exp[\mathbf{S}]}{\partial\operatorname{vec}[\mathbf{S}]}\right\|_2\le1
    """,
    assumptions=[SKEW, Convention("derivative over all square matrices", by=jacobian)], hypotheses=[skew("S", SKEW.text)],
    relation=AtMost(left="||dvec exp(S) / dvec S||_2", ascent=False), all_sizes=True,
    sizes={"m": (1, 3)}, proof=("osa.eq-79",),
    note=r"Always an equality: the derivative in the direction of $I$ is $\exp[S]$, as long as $I$.",
)  # fmt: skip


@LEMMA_F7.inputs
@realises({"skew-symmetric": reached.SKEW})
def skew_square(G: Square) -> Any:
    return {"S": (G - G.T) * rational(1, 3)}


@LEMMA_F7.formula
def exponential_jacobian_bound(S: Square) -> Any:
    """1, a scalar."""
    return 1


LEMMA_F7.oracle(lambda S: spectral_norm(jacobian(expm, "A", COLUMN)(S)))
LEMMA_F7.mutant("1 / 2", lambda S: spectral_norm(S) * 0 + rational(1, 2))
LEMMA_F7.mutant("decaying with ||S||_2", lambda S: exp(-spectral_norm(S)))
LEMMA_F7.mutant("||S||_2", lambda S: spectral_norm(S))

EXPONENTIALS_ORTHOGONAL = Claim(OSA, "osa.f7-lemma-orthogonal", label="Proof of Lemma F.7, text after Eq. (80)",
    statement=r"""\text{the matrices } s[\mathbf{S}]^\top, (1-s)[\mathbf{S}] \text{ are skew-symmetric for all } s \in
        [0, 1] \text{ hence the matrix exponential terms are always orthogonal}""",
    assumptions=[SKEW],
    name="orthogonal factors of the exponential's Jacobian", relation=HasStructure(), all_sizes=True,
    hypotheses=[skew("S", SKEW.text)], sizes={"m": (1, 4)},
)  # fmt: skip


@EXPONENTIALS_ORTHOGONAL.inputs
@realises({"skew-symmetric": reached.SKEW})
def skew_square_and_fraction(G: Square, s: UnitInterval) -> Any:
    return {"S": (G - G.T) * rational(1, 3), "s": s}


@EXPONENTIALS_ORTHOGONAL.formula
def exponentials_of_fractions(S: Square, s: UnitInterval) -> list[Any]:
    """s S^T, (1 - s) S and their exponentials, each (m, m)."""
    return [S.T * s, S * (1 - s), expm(S.T * s), expm(S * (1 - s))]


@EXPONENTIALS_ORTHOGONAL.part("structure")
def skew_and_orthogonal_defects(value: list[Any]) -> Any:
    first, second, *rotations = value
    skew_defects = [vec_r(A + A.T) for A in (first, second)]
    return concatenate([*skew_defects, *(vec_r(R.T @ R - eye(R.shape[0])) for R in rotations)], axis=0)


EXPONENTIALS_ORTHOGONAL.mutant("I + (1 - s) S, to first order", "expm(S * (1 - s)) -> eye(S.shape[0]) + S * (1 - s)")
EXPONENTIALS_ORTHOGONAL.mutant("I added to s S^T", "S.T * s -> S.T * s + eye(S.shape[0])")

EQUATION_80 = Claim(OSA, "osa.eq-80", label="Eq. (80), proof of Lemma F.7", name="chain of bounds of the Jacobian",
    statement=r"""
        \left\|\frac{\partial\operatorname{vec}\exp[\mathbf{S}]}{\partial\operatorname{vec}[\mathbf{S}]}\right\|_2 \le
        \int_0^1 \|\exp(s[\mathbf{S}]^\top)\|_2 \|\exp((1-s)[\mathbf{S}])\|_2 ds = \int_0^1 1 ds = 1""",
    assumptions=[SKEW], hypotheses=[skew("S", SKEW.text)], all_sizes=True,
    relation=AtMost(left="||dvec exp(S) / dvec S||_2, the integrand, and 1", ascent=False), sizes={"m": (1, 3)},
    proof=("osa.eq-79", "osa.f7-lemma-orthogonal"),
    note="The integrand is compared with 1 from both sides at any $s$; so it is constant, and is its own integral.",
)  # fmt: skip
EQUATION_80.inputs(skew_square_and_fraction)


def _integrand(S: Any, s: Any) -> Any:
    """||exp(s S^T)||_2 ||exp((1 - s) S)||_2."""
    return spectral_norm(expm(S.T * s)) * spectral_norm(expm(S * (1 - s)))


@EQUATION_80.formula
def integrand_and_one(S: Square, s: UnitInterval) -> Any:
    """The integrand at s, 1, and the integrand again, shape (3, 1): what bounds the norm, the integrand, and 1."""
    value = _integrand(S, s)
    return column(value, 1, value)


EQUATION_80.oracle(lambda S, s: column(spectral_norm(jacobian(expm, "A", COLUMN)(S)), _integrand(S, s), 1))
EQUATION_80.mutant("halved", lambda value: value * rational(1, 2))
EQUATION_80.mutant("one factor decays with s", lambda value, s: value * exp(-s))

# -- Lemma F.8: the skew matrix ----------------------------------------------------------------------------------------

EQUATION_82 = Claim(LAYER_OF_FEW_TOKENS, "osa.eq-82", label="Eq. (82), proof of Lemma F.8",
    statement=r"""
        \partial\mathbf{S}=\frac\alpha{\sqrt{d_v}}(\partial\mathbf{X}\tilde{\mathbf{W}}\mathbf{X}^\top+\mathbf{X}
        \partial\tilde{\mathbf{W}}\mathbf{X}^\top+\mathbf{X}\tilde{\mathbf{W}}\partial\mathbf{X}^\top)""",
    assumptions=[Definition("X, W^Q and W^K vary along lines", by=slope)],
    name="differential of the scores", relation=Equal(), all_sizes=True, exact=True,
)  # fmt: skip


@EQUATION_82.inputs
def weights_and_directions(
    X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, dX: Tokens, dW_Q: HeadWeights, dW_K: HeadWeights
) -> Any:
    moving = {"dX": dX, "dW_Q": dW_Q, "dW_K": dW_K}
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": alpha * rational(1, 3), **moving}


@EQUATION_82.formula
def skew_differential(
    X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, dX: Tokens, dW_Q: HeadWeights, dW_K: HeadWeights
) -> Any:
    """alpha / sqrt(d_v) (dX W~ X^T + X dW~ X^T + X W~ dX^T), shape (N, N) (Eq. (82))."""
    W = query_key_generator(W_Q, W_K)
    dW = query_key_generator(dW_Q, W_K) + query_key_generator(W_Q, dW_K)
    terms = dX @ W @ X.T + X @ dW @ X.T + X @ W @ dX.T
    return terms * (alpha / sqrt(W_Q.shape[1]))


@EQUATION_82.oracle
def skew_matrix_along_a_line(X: Any, W_Q: Any, W_K: Any, alpha: Any, dX: Any, dW_Q: Any, dW_K: Any) -> Any:
    return slope(lambda t: skew_matrix(X + t * dX, W_Q + t * dW_Q, W_K + t * dW_K, alpha), X)


EQUATION_82.mutant("sign of the last term", "X @ W @ dX.T -> -(X @ W @ dX.T)")
EQUATION_82.mutant("W~ held fixed", "X @ dW @ X.T -> 0 * (X @ X.T)")
EQUATION_82.mutant("left X held fixed", "dX @ W @ X.T -> 0 * (X @ X.T)")

EQUATION_83 = Claim(LAYER_OF_FEW_TOKENS, "osa.eq-83", label="Eq. (83), proof of Lemma F.8",
    statement=r"""
        \frac{\partial\operatorname{vec}\mathbf{S}}{\partial\operatorname{vec}\mathbf{X}}=\frac\alpha{\sqrt{d_v}}\left((
        \mathbf{X}\tilde{\mathbf{W}}^\top\otimes\mathbf{I}_N)+(\mathbf{I}_N\otimes\mathbf{X}\tilde{\mathbf{W}})
        \mathbf{K}\right)""",
    assumptions=[COLUMN_MAJOR, Definition("K = commutation matrix with vec X^T = K vec X", by=commutation_matrix)],
    name="Jacobian of the scores", relation=Equal(), all_sizes=True, uses=("osa.kron-vec",), proof=("osa.eq-82",),
    exact=True,
)  # fmt: skip
EQUATION_83.inputs(tokens_and_weights)


def _skew_factor(left: Any, right: Any, swap: Any, alpha: Any, d_v: int) -> Any:
    """alpha / sqrt(d_v) (left (x) I + (I (x) right) swap)."""
    identity = eye(left.shape[0])
    return (kron(left, identity) + kron(identity, right) @ swap) * (alpha / sqrt(d_v))


@EQUATION_83.formula
@closed_form(skew_matrix, "X", "osa.eq-83", layout=COLUMN.value)
def skew_jacobian(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """alpha / sqrt(d_v) (X W~^T (x) I_N + (I_N (x) X W~) K), shape (N^2, N d), column-major (Eq. (83))."""
    W = query_key_generator(W_Q, W_K)
    return _skew_factor(X @ W.T, X @ W, commutation_matrix(*X.shape), alpha, W_Q.shape[1])


EQUATION_83.oracle(lambda X, W_Q, W_K, alpha: jacobian(skew_matrix, "X", COLUMN)(X, W_Q, W_K, alpha))
EQUATION_83.mutant("W~ not transposed in the first term", "W.T -> W")
EQUATION_83.mutant("K transposed", "commutation_matrix(*X.shape) -> commutation_matrix(*X.shape).T")
EQUATION_83.mutant("K dropped", "commutation_matrix(*X.shape) -> eye(X.shape[0] * X.shape[1])")

VECTORISED = Setting(
    OSA,
    "Lemma F.8, K",
    assumptions=[Convention("column-major vec", by=vec_c)],
    sizes={"m": (1, 4), "n": (1, 4)},
    exact=True,
)

COMMUTATION = Claim(VECTORISED, "osa.commutation", label="Proof of Lemma F.8, text", name="commutation matrix",
    statement=r"""\mathbf{K} \text{ denotes the communication matrix which is used to convert the vectorisation of a
        transposed matrix to the vectorisation of the original matrix (i.e. }
        \operatorname{vec}\mathbf{B}^\top=\mathbf{K}\operatorname{vec}\mathbf{B}). \text{ An important property of the
        communication matrix is orthogonality}""",
    assumptions=[Construction("rectangular B", shapes={"B": ("m", "n")})],
    relation=Equal(), all_sizes=True, expects="reading",
    reading=Reading("the original matrix", r"""the matrix whose transpose is $B$, as the formula has it: $\mathbf{K}$ takes
        $\operatorname{vec}\mathbf{B}$ to $\operatorname{vec}\mathbf{B}^\top$, and $\mathbf{K}^\top$ takes it back"""),
    note=r"""With $B$ for the original matrix the sentence names the inverse matrix, $\mathbf{K}_{n,m} = \mathbf{K}_{m,n}^\top$,
        which is another one unless $B$ is square or a vector. Every use in the paper, Eqs. (83), (90) and (95), is that of
        the formula; the spelling is commutation.""",
)  # fmt: skip


def _there_and_back(B: Any, there: Any, back: Any) -> Any:
    """`there` vec B, `back` vec B^T, and vec (there^T there), in a column."""
    return concatenate([there @ vec_c(B), back @ vec_c(B.T), vec_r(there.T @ there)], axis=0)


def _transposed_and_original(B: Any) -> Any:
    """vec B^T, vec B and vec I, in a column."""
    return concatenate([vec_c(B.T), vec_c(B), vec_r(eye(B.shape[0] * B.shape[1]))], axis=0)


@COMMUTATION.formula
def commutation_there_and_back(B: Rectangle) -> Any:
    """K vec B, K^T vec B^T and vec (K^T K) with K = K_{m,n}, shape (2 m n + (m n)^2, 1)."""
    K = commutation_matrix(*B.shape)
    return _there_and_back(B, K, K.T)


COMMUTATION.oracle(lambda B: _transposed_and_original(B))
COMMUTATION.mutant("one K there and back", "K.T -> K")
COMMUTATION.mutant("K transposed", "K -> K.T; K.T -> K")
COMMUTATION.mutant("K = I", "commutation_matrix(*B.shape) -> eye(B.shape[0] * B.shape[1])")

LEMMA_F8 = Claim(WITH_SIGN, "osa.lemma-f.8", label="Lemma F.8, Eq. (81)", name="norm of the scores' Jacobian",
    statement=r"""\text{There exists some constant } C>0 \text{ such that }
        \left\|\frac{\partial\operatorname{vec}\mathbf{S}}{\partial\operatorname{vec}\mathbf{X}}\right\|_2\le C\alpha
        """,
    assumptions=[LEAST_BOUND],
    relation=AtMost(left="||dvec S / dvec X||_2"), all_sizes=True, where=small, uses=("osa.thm-c.2",),
    proof=("osa.eq-82", "osa.eq-83", "osa.commutation"),
    expects="gap", presumes=("osa.lemma-f.8-any-sign",), missing=r"$\alpha \ge 0$", correction="osa.lemma-f.8-absolute",
    consequence=r"""For $\alpha$ of either sign use $\|\partial\operatorname{vec}S/\partial\operatorname{vec}X\|_2 \le
        2|\alpha|R/\sqrt{d_v}$ (osa.lemma-f.8-absolute).""",
    note=r"""With $C = 2R/\sqrt{d_v}$ for $\|X\|_2 \le R$. Equality for $X$ with orthonormal columns and rows: $N = d =
        2$, $X = I$, $\partial X = I$.""",
)  # fmt: skip


def step_bound(X: Any, W_Q: Any, alpha: Any) -> Any:
    """||X||_2 |alpha| / sqrt(d_v), the unit in which the bounds of this chain are multiples."""
    return spectral_norm(X) * absolute(alpha) * (1 / sqrt(W_Q.shape[1]))


@LEMMA_F8.formula
def skew_jacobian_bound(X: Tokens, W_Q: Query, alpha: Alpha) -> Any:
    """2 ||X||_2 alpha / sqrt(d_v), a scalar."""
    return spectral_norm(X) * alpha * (2 / sqrt(W_Q.shape[1]))


LEMMA_F8.oracle(lambda X, W_Q, W_K, alpha: spectral_norm(jacobian(skew_matrix, "X", COLUMN)(X, W_Q, W_K, alpha)))
LEMMA_F8.mutant("C halved", lambda X, W_Q, alpha: step_bound(X, W_Q, alpha))
LEMMA_F8.mutant("quadratic in alpha", lambda X, W_Q, alpha: step_bound(X, W_Q, alpha * alpha) * 2)
LEMMA_F8.mutant("d_v^{5/2} instead of sqrt(d_v)", lambda value, W_Q: value / (W_Q.shape[1] * W_Q.shape[1]))

LEMMA_F8_ANY_SIGN = LEMMA_F8.without(NONNEGATIVE_ALPHA, "osa.lemma-f.8-any-sign",
    {"X = I, W^Q = e_1, W^K = e_2, alpha = -1: 2 against -2": negative_alpha},
    setting=QUERIES_AND_KEYS, assumptions=[ANY_ALPHA], label="Lemma F.8, for every real alpha",
    statement=r"""\left\|\frac{\partial\operatorname{vec}\mathbf{S}}{\partial\operatorname{vec}\mathbf{X}}\right\|_2\le
        C\alpha \text{ for every } \alpha\in\mathbb{R}, \quad C = 2\|\mathbf{X}\|_2/\sqrt{d_v}""",
    name="norm of the scores' Jacobian, signed scale", relation=AtMost(left="||dvec S / dvec X||_2", signed=True),
    note=NEGATIVE,
)  # fmt: skip

LEMMA_F8_ABSOLUTE = LEMMA_F8.corrected("osa.lemma-f.8-absolute", setting=QUERIES_AND_KEYS, assumptions=[LEAST_BOUND, ANY_ALPHA],
    label="Lemma F.8, with the size of alpha", name="norm of the scores' Jacobian, corrected", all_sizes=True,
    mutants=True,
    statement=r"""[\mathbf{W}^Q,\mathbf{W}^K] \text{ with orthonormal columns}, \|\mathbf{X}\|_2\le R: \quad
        \left\|\frac{\partial\operatorname{vec}\mathbf{S}}{\partial\operatorname{vec}\mathbf{X}}\right\|_2\le C|\alpha|,
        \quad C = 2R/\sqrt{d_v}, \text{ for every } \alpha\in\mathbb{R}""",
    uses=("osa.thm-c.2", "osa.eq-83"),
)  # fmt: skip


@LEMMA_F8_ABSOLUTE.formula
def skew_jacobian_bound_by_size(X: Tokens, W_Q: Query, alpha: Alpha) -> Any:
    """2 ||X||_2 |alpha| / sqrt(d_v), a scalar."""
    return step_bound(X, W_Q, alpha) * 2
