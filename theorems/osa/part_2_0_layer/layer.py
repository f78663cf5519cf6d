"""The layer itself (Eq. (5)): S is skew, exp(S) special orthogonal, permuted tokens have a permuted output; its scale.

The scale 1 / sqrt(d_v) normalises one dot product, while an entry of S is the difference of two.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import (
    attention, attention_matrix, dot_products, newton_schulz_basis, queries_and_keys, skew_matrix,
)  # fmt: skip
from theorems.osa.settings import LAYER, POSITIVE_EPSILON, UNTRAINED_LAYER
from theorems.osa.shapes import Alpha, Epsilon, HeadSize, Key, Output, Query, Steps, Tokens, Value
from verify.matrix import concatenate, determinant, expm, eye, ones, rational, sqrt
from verify.vocabulary import Claim, Construction, Equal, HasStructure, Reading, Real, Setting

# -- S is skew, exp(S) special orthogonal ------------------------------------------------------------------------------

SKEW = Claim(LAYER, "osa.eq-5-skew", label="Eq. (5) and text below", name="skew symmetry of the scores",
    statement=r"""\mathbf{S} = \frac{\alpha}{\sqrt{d_v}}(\mathbf{Q}\mathbf{K}^\top - \mathbf{K}\mathbf{Q}^\top): \text{
        We note that } \mathbf{S} \text{ is defined to be skew-symmetric}""",
    assumptions=[Construction("alpha real", shapes={"X": ("N", "d")})],
    relation=HasStructure(), all_sizes=True, exact=True)  # fmt: skip


@SKEW.formula
def skew_scores(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """S = alpha / sqrt(d_v) (Q K^T - K Q^T), shape (N, N) (Eq. (5))."""
    return skew_matrix(X, W_Q, W_K, alpha)


SKEW.part("structure", lambda value: value + value.T)
SKEW.mutant("symmetric: Q K^T + K Q^T",
    lambda value, X, W_Q, W_K, alpha: value + 2 * dot_products(X, W_Q, W_K, alpha).T)  # fmt: skip
SKEW.mutant("second product dropped", lambda X, W_Q, W_K, alpha: dot_products(X, W_Q, W_K, alpha))
SKEW.mutant("second product counted twice",
    lambda value, X, W_Q, W_K, alpha: value - dot_products(X, W_Q, W_K, alpha).T)  # fmt: skip

SPECIAL_ORTHOGONAL = Claim(UNTRAINED_LAYER, "osa.so-n", label="Section 2, text below Eqs. (4), (5)",
    statement=r"""\mathbf{A}(\mathbf{X}) = \exp(\mathbf{S}): \mathbf{S} \text{ is defined to be skew-symmetric which
        ensures that } \mathbf{A}(\mathbf{X}) \text{ is a (special) orthogonal matrix}""",
    name="attention matrix in the special orthogonal group", relation=HasStructure(), uses=("osa.eq-5-skew",),
)  # fmt: skip


def rotation_defect(A: Any) -> Any:
    """[A^T A - I; det A - 1], shape (n + 1, n): zero exactly for A in SO(n)."""
    n = A.shape[0]
    return concatenate([A.T @ A - eye(n), ones(1, n) * (determinant(A) - 1)], axis=0)


@SPECIAL_ORTHOGONAL.formula
def special_orthogonal_attention(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """A = exp(S), shape (N, N) (Eq. (5))."""
    return attention_matrix(X, W_Q, W_K, alpha)


SPECIAL_ORTHOGONAL.part("structure", lambda value: rotation_defect(value))
SPECIAL_ORTHOGONAL.mutant("exponential of Q K^T alone",
    lambda X, W_Q, W_K, alpha: expm(dot_products(X, W_Q, W_K, alpha)))  # fmt: skip
SPECIAL_ORTHOGONAL.mutant("I + S, to first order",
    lambda X, W_Q, W_K, alpha: eye(X.shape[0]) + skew_matrix(X, W_Q, W_K, alpha))  # fmt: skip
SPECIAL_ORTHOGONAL.mutant("orthogonal with determinant -1", lambda value: concatenate([-value[:1], value[1:]], axis=0))

# -- permutations of the tokens ----------------------------------------------------------------------------------------

EQUIVARIANCE = Claim(LAYER, "osa.perm-equivariance", label='Section 2, text ("easy to see")',
    statement=r"\text{it is also easy to see that OSA is permutation equivariant with respect to the token positions}",
    name="permutation equivariance in the tokens", relation=Equal(), at_sizes={"N": 3, "d": 2, "d_v": 2}, exact=True,
    note=r"""$\mathrm{OSA}(PX) = P\,\mathrm{OSA}(X)$ for every permutation matrix $P$. Checked for the cycle $(1\ 2
        \dots N)$ and the exchange of the first two tokens, which generate all permutations.""")  # fmt: skip


def _generators(X: Any) -> list[Any]:
    """The tokens X (N, d) with their rows in cyclic order from the second, and with the first two exchanged."""
    return [_cycled(X), _exchanged(X)]


def _cycled(X: Any) -> Any:
    return concatenate([X[1:], X[:1]], axis=0)


def _exchanged(X: Any) -> Any:
    return concatenate([X[1:2], X[:1], X[2:]], axis=0)


def _inverse_generators(X: Any) -> list[Any]:
    return [concatenate([X[-1:], X[:-1]], axis=0), _exchanged(X)]


def _twice(X: Any) -> list[Any]:
    return [X, X]


@EQUIVARIANCE.formula
def permuted_output(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """P OSA(X) for both generators P, shape (2 N, d)."""
    return concatenate(_generators(attention(X, W_Q, W_K, W_V, W_O, alpha)), axis=0)


@EQUIVARIANCE.oracle
def output_of_permuted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    return concatenate([attention(PX, W_Q, W_K, W_V, W_O, alpha) for PX in _generators(X)], axis=0)


EQUIVARIANCE.mutant("invariance: tokens not permuted", "_generators -> _twice")
EQUIVARIANCE.mutant("P^T instead of P", "_generators -> _inverse_generators")


@EQUIVARIANCE.mutant("attention matrix not permuted")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    A = attention_matrix(X, W_Q, W_K, alpha)
    return concatenate([A @ PX @ W_V @ W_O for PX in _generators(X)], axis=0)


EQUIVARIANCE_THROUGH_BASIS = Claim(LAYER, "osa.perm-equivariance-basis",
    label="Section 2, permutations of the tokens when B comes from Newton-Schulz",
    statement=r"""\mathbf{Y}(\mathbf{P}\mathbf{X}) = \mathbf{P}\,\mathbf{Y}(\mathbf{X})\,\mathbf{P}^\top \text{ for }
        \mathbf{Y} = \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}] - \mathbf{I})\mathbf{B}^\top \text{ with } \mathbf{B}
        \text{ from any number of Newton-Schulz steps}""",
    assumptions=[POSITIVE_EPSILON],
    name="permutation equivariance through Newton-Schulz", relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 3), "d_v": (1, 3), "K": (0, 4)}, of_project=True)  # fmt: skip


def _through_newton_schulz(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """Y, shape (N, N), with B the Newton-Schulz iterate of [Q, K]."""
    B = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    return eye(X.shape[0]) + B @ (expm(B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B) - eye(B.shape[1])) @ B.T


@EQUIVARIANCE_THROUGH_BASIS.formula
def permuted_attention_through_basis(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """P Y(X) P^T for both generators P, shape (2 N, N)."""
    Y = _through_newton_schulz(X, W_Q, W_K, alpha, epsilon, K)
    return concatenate([P(P(Y).T).T for P in (_cycled, _exchanged)], axis=0)


@EQUIVARIANCE_THROUGH_BASIS.oracle
def attention_of_permuted_through_basis(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    return concatenate([_through_newton_schulz(PX, W_Q, W_K, alpha, epsilon, K) for PX in _generators(X)], axis=0)


EQUIVARIANCE_THROUGH_BASIS.mutant("invariance: tokens not permuted", "P(P(Y).T).T -> Y")
EQUIVARIANCE_THROUGH_BASIS.mutant("rows permuted, columns not", "P(P(Y).T).T -> P(Y)")

# -- the scale of the dot products -------------------------------------------------------------------------------------

#: Determines a law of mean 0 and variance 1 on two values, in rationals.
Skewness = Annotated[Any, Real(-4.0, 4.0, avoid_zero=True)]


def law_and_head_size(a: Skewness, d_v: HeadSize) -> Any:
    """A law on two values, and how many products are summed."""
    return {"a": a, "d_v": d_v}


DOT_PRODUCTS = Setting(OSA, "Section 2", sizes={"d_v": (1, 4)}, inputs=law_and_head_size, exact=True)

SCALING = Claim(DOT_PRODUCTS, "osa.scaling-dv", label="Section 2, text below Eq. (5)", name="scale of the dot products",
    statement=r"""\text{we use the scaling } \tfrac{1}{\sqrt{d_v}} \text{ for normalising the dot-product of vectors in
        } \mathbb{R}^{d_v}""",
    relation=HasStructure(), at_sizes=True, expects="reading",
    reading=Reading("normalising the dot-product", """no distribution is stated: for vectors
            with independent entries of mean 0 and variance 1 the
            scaled dot product has variance 1. Every such law with two values is enumerated"""),
    note="""What is scaled in Eq. (5) is the difference of two such products, whose variance is 2: see
        osa.scaling-scores.""")  # fmt: skip


def two_point_law(a: Any) -> list[tuple[Any, Any]]:
    """Values and probabilities of the law on {a, -1/a} that has mean 0 and variance 1."""
    return [(a, 1 / (1 + a * a)), (-1 / a, a * a / (1 + a * a))]


def _second_moment(a: Any, terms: int, products: int) -> Any:
    """E of the square of a signed sum of `terms` * `products` independent products q k, by enumeration of every outcome.

    The first `terms` products have sign +, the next -, and so on.
    """
    law = two_point_law(a)
    product = [(x * y, p * r) for (x, p), (y, r) in itertools.product(law, law)]
    second = a * 0
    for outcome in itertools.product(product, repeat=terms * products):
        value, probability = a * 0, a * 0 + 1
        for index, (x, p) in enumerate(outcome):
            value, probability = value + x * (-1) ** (index // terms), probability * p
        second = second + value * value * probability
    return second


@SCALING.formula
def scale_of_dot_product(d_v: HeadSize) -> Any:
    """1 / sqrt(d_v), a scalar (Section 2)."""
    return 1 / sqrt(d_v)


SCALING.part("structure", lambda value, a, d_v: _second_moment(a, d_v, 1) * (value * value) - 1)
SCALING.mutant("1 / d_v", lambda d_v: rational(1, d_v))
SCALING.mutant("not scaled", lambda: rational(1))
SCALING.mutant("1 / sqrt(2 d_v)", lambda d_v: 1 / sqrt(2 * d_v))

SCALING_SCORES = Claim(DOT_PRODUCTS, "osa.scaling-scores", label="Section 2, the scale of the entries of S",
    statement=r"""\operatorname{Var}(S_{ij}/\alpha) = 2 \text{ for } i \ne j, \text{ when the entries of }
        \mathbf{Q},\mathbf{K} \text{ are independent with mean 0 and variance 1; the scale } \tfrac{1}{\sqrt{2d_v}}
        \text{ would make it 1}""",
    name="variance of the entries of the scores", relation=HasStructure(), at_sizes=True, sizes={"d_v": (1, 2)},
    of_project=True)  # fmt: skip


@SCALING_SCORES.formula
def scale_of_skew_scores(d_v: HeadSize) -> Any:
    """1 / sqrt(2 d_v), a scalar, with which the entries of Q K^T - K Q^T off the diagonal have variance 1."""
    return 1 / sqrt(2 * d_v)


@SCALING_SCORES.part("structure")
def excess_variance_of_scores(value: Any, a: Any, d_v: int) -> Any:
    # q_i . k_j - k_i . q_j: two dot products of independent vectors
    return _second_moment(a, d_v, 2) * (value * value) - 1


SCALING_SCORES.mutant("1 / sqrt(d_v), as in Eq. (5)", lambda d_v: 1 / sqrt(d_v))
SCALING_SCORES.mutant("1 / (2 sqrt(d_v))", lambda d_v: rational(1, 2) / sqrt(d_v))
