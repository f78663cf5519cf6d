"""F.6, the proof of Theorem C.3, Eqs. (84), (86) and (93): a bound of J_1, and the differentials of A and of [S].

Column-major vec.
"""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.osa import OSA
from theorems.osa.definitions import whole_heads, within_unit_ball
from theorems.osa.part_c_initialisation.c1_jacobian_and_values import orthonormal_values_and_outputs
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import INITIALISED, NEWTON_SCHULZ, norm_of_first_term
from theorems.osa.part_f_proofs.f6_lemmas_f_1_to_f_3 import SKEW
from theorems.osa.part_f_proofs.f6_lemmas_f_6_to_f_8 import jacobian_in_tokens, slope
from theorems.osa.settings import (
    LAYER, ORTHONORMAL_OUTPUTS, ORTHONORMAL_VALUES, newton_schulz_attention_matrix, newton_schulz_jacobian, two_heads,
)  # fmt: skip
from theorems.osa.shapes import (
    Alpha, AttentionMatrix, Decay, Epsilon, Factor, Key, OtherRectangle, Output, Query, Rectangle, SkewMatrix, Square,
    Steps, Tokens, Value,
)  # fmt: skip
from verify.matrix import column, exp, expm, eye, kron, rational, spectral_norm, total
from verify.vocabulary import AtMost, Claim, Definition, Equal, realises

# -- the first term of J: Eq. (84) -------------------------------------------------------------------------------------

EQUATION_84 = Claim(LAYER, "osa.eq-84", label="Eq. (84) and preceding text",
    statement=r"""
        \|\mathbf{J}_1\|_2\le\|\mathbf{X}\|_2\|\mathbf{W}^V\mathbf{W}^O\|_2\|\mathbf{I}_N\|_2\left\|\frac{\partial
        \operatorname{vec}\mathbf{A}(\mathbf{X})}{\partial\operatorname{vec}\mathbf{X}}\right\|_2,\qquad\|\mathbf{D}_1\otimes
        \mathbf{D}_2\|_2\le\|\mathbf{D}_1\|_2\|\mathbf{D}_2\|_2""",
    assumptions=NEWTON_SCHULZ,
    name="norm of the first term by submultiplicativity", general="It holds of any differentiable $A$: the norm of a product.",
    relation=AtMost(ascent=False), all_sizes=True,
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2), "K": (0, 2), "m": (1, 2), "n": (1, 2), "p": (1, 2), "q": (1, 2)},
    where=lambda sizes: whole_heads(sizes) and sizes["N"] * sizes["d"] <= 6, uses=("osa.thm-c.1",),
    note="The second is an equality.",
)  # fmt: skip


@EQUATION_84.inputs
def layer_and_kronecker_factors(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, decay: Decay, epsilon: Epsilon, K: Steps,
    D_1: Rectangle, D_2: OtherRectangle,
) -> Any:  # fmt: skip
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    return {"X": X, **weights, "alpha": alpha * exp(-decay), "epsilon": epsilon, "K": K, "D_1": D_1, "D_2": D_2}


def _factors_of_84(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int, D_1: Any, D_2: Any
) -> tuple[Any, Any, Any, Any]:
    """||X||_2, ||W_V W_O||_2 ||I_N||_2, ||dvec A / dvec X||_2 and ||D_1||_2 ||D_2||_2."""
    dA = newton_schulz_jacobian(X, W_Q, W_K, alpha, epsilon, K)
    identity = eye(X.shape[0]).adapt(X)
    heads = spectral_norm(W_V @ W_O) * spectral_norm(identity)
    return spectral_norm(X), heads, spectral_norm(dA), spectral_norm(D_1) * spectral_norm(D_2)


@EQUATION_84.formula
def submultiplicative_bounds(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha, epsilon: Epsilon, K: Steps, D_1: Rectangle,
    D_2: OtherRectangle,
) -> Any:  # fmt: skip
    """||X||_2 ||W_V W_O||_2 ||I_N||_2 ||dvec A / dvec X||_2 and ||D_1||_2 ||D_2||_2, shape (2, 1) (Eq. (84))."""
    tokens, heads, attention, product = _factors_of_84(X, W_Q, W_K, W_V, W_O, alpha, epsilon, K, D_1, D_2)
    return column(tokens * heads * attention, product)


@EQUATION_84.oracle
def norms_of_first_term_and_kronecker_product(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any, K: int, D_1: Any, D_2: Any
) -> Any:
    # the part of J in which A varies: X is held fixed in A(X) X W_V W_O outside A
    J_1 = jacobian_in_tokens(
        lambda Y: newton_schulz_attention_matrix(Y, W_Q, W_K, alpha, epsilon, K) @ X @ W_V @ W_O, X
    )
    return column(spectral_norm(J_1), spectral_norm(kron(D_1, D_2)))


EQUATION_84.mutant("||X||_2 dropped", "tokens * heads * attention -> heads * attention")
EQUATION_84.mutant("||W_V W_O||_2 dropped", "tokens * heads * attention -> tokens * attention")
EQUATION_84.mutant("half of ||D_1||_2 ||D_2||_2", "product -> product * rational(1, 2)")

UNIT_NORMS = Claim(OSA, "osa.f6-unit-norms", label="Proof of Theorem C.3, text after Eq. (85)",
    statement=r"""\text{we have initialised } \mathbf{W}^V \mathbf{W}^O \text{ so that its spectral norm is 1 and }
        \|\mathbf{I}_n\|_2 = 1 \text{ for all } n""",
    assumptions=[ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS],
    name="unit norms in the bound of the first term", relation=Equal(), sizes={"d": (1, 4), "d_v": (1, 3)},
    uses=("osa.c1-kappa",),
)  # fmt: skip
UNIT_NORMS.inputs(orthonormal_values_and_outputs)


@UNIT_NORMS.formula
def norms_of_values_and_identity(W_V: Value, W_O: Output) -> Any:
    """||W_V W_O||_2 and ||I_d||_2, shape (2, 1)."""
    return column(spectral_norm(W_V @ W_O), spectral_norm(eye(W_V.shape[0]).adapt(W_V)))


UNIT_NORMS.oracle(lambda W_V: column(1 + 0 * total(W_V), 1))
UNIT_NORMS.mutant("W^V W^O doubled", "W_V @ W_O -> W_V @ W_O * 2")
UNIT_NORMS.mutant("squared Frobenius norms", lambda W_V, W_O: column(total((W_V @ W_O) * (W_V @ W_O)), W_V.shape[0]))

EQUATION_85 = Claim(INITIALISED, "osa.eq-85", label="Eq. (85)", name="norm of the first term by that of the attention",
    statement=r"""\|\mathbf{J}_1\|_2\le\cdots\le C_0\left\|\frac{\partial\operatorname{vec}\mathbf{A}(\mathbf{X})}{\partial
        \operatorname{vec}\mathbf{X}}\right\|_2""",
    assumptions=NEWTON_SCHULZ,
    general="It holds of any differentiable $A$.",
    relation=AtMost(ascent=False), all_sizes=True, hypotheses=[ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS],
    where=lambda sizes: two_heads(sizes) and sizes["N"] * sizes["d"] <= 6, uses=("osa.eq-84", "osa.f6-unit-norms"),
    note=r"With $C_0 = R$ for $\|X\|_2 \le R$; checked with $R = \|X\|_2$, the least.",
)  # fmt: skip


@EQUATION_85.formula
def bound_by_attention_jacobian(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """||X||_2 ||dvec A / dvec X||_2, a scalar (Eq. (85))."""
    return spectral_norm(X) * spectral_norm(newton_schulz_jacobian(X, W_Q, W_K, alpha, epsilon, K))


EQUATION_85.oracle(norm_of_first_term)
EQUATION_85.mutant("||X||_2 dropped", lambda value, X: value / spectral_norm(X))
EQUATION_85.mutant("a quarter", lambda value: value * rational(1, 4))

# -- differentials of A and [S]: Eqs. (86), (93) -----------------------------------------------------------------------

EQUATION_86 = Claim(OSA, "osa.eq-86", label="Eq. (86)", name="differential of the attention matrix",
    statement=r"""
        \partial\mathbf{A}(\mathbf{X})=\partial\mathbf{B}(\exp[\mathbf{S}]-\mathbf{I}_{2d_v})\mathbf{B}^\top+\mathbf{B}\,\partial(
        \exp[\mathbf{S}]-\mathbf{I}_{2d_v})\mathbf{B}^\top+\mathbf{B}(\exp[\mathbf{S}]-\mathbf{I}_{2d_v})\partial
        \mathbf{B}^\top""",
    assumptions=[Definition("A = I_N + B (exp[S] - I) B^T", by=expm), SKEW],
    general="It is the product rule, for any function in the place of the exponential.",
    relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "m": (1, 4)}, exact=True,
    note="For every $B$ and every skew $[S]$, both varying in any direction.",
)  # fmt: skip


@EQUATION_86.inputs
@realises({"skew-symmetric": reached.SKEW})
def basis_and_generator(B: Factor, S: Square, dB: Factor, dS: Square) -> Any:
    # both sides are linear in the directions; torch differentiates expm with errors in proportion to their length
    return {
        "B": within_unit_ball(B),
        "S": (S - S.T) * rational(1, 3),
        "dB": within_unit_ball(dB),
        "dS": within_unit_ball(dS),
    }


@EQUATION_86.formula
def attention_matrix_differential(B: Factor, S: Square, dB: Factor, dS: Square) -> Any:
    """dB (exp S - I) B^T + B d(exp S) B^T + B (exp S - I) dB^T, shape (N, N), for S = [S] (m, m) (Eq. (86))."""
    growth, change = expm(S) - eye(S.shape[0]), slope(lambda t: expm(S + t * dS), S)
    return dB @ growth @ B.T + B @ change @ B.T + B @ growth @ dB.T


@EQUATION_86.oracle
def attention_matrix_along_a_line(B: Factor, S: Square, dB: Factor, dS: Square) -> Any:
    def attention_at(t: Any) -> Any:
        moved = B + t * dB
        return eye(B.shape[0]) + moved @ (expm(S + t * dS) - eye(S.shape[0])) @ moved.T

    return slope(attention_at, B)


EQUATION_86.mutant("exp[S] held fixed", "change -> (0 * change)")
EQUATION_86.mutant("right B held fixed", "dB.T -> (0 * B.T)")
EQUATION_86.mutant("sign of the last term", "dB.T -> -dB.T")
EQUATION_86.mutant("I not subtracted", lambda value, B, dB: value + dB @ B.T + B @ dB.T)

EQUATION_93 = Claim(OSA, "osa.eq-93", label="Eq. (93)", name="differential of the reduced scores",
    statement=r"""
        \partial[\mathbf{S}]=\partial\mathbf{B}^\top\mathbf{S}\mathbf{B}+\mathbf{B}^\top\partial\mathbf{S}\,\mathbf{B}+
        \mathbf{B}^\top\mathbf{S}\,\partial\mathbf{B}""",
    assumptions=[Definition("[S] = B^T S B, along lines of B and S", by=slope)],
    relation=Equal(), all_sizes=True, sizes={"N": (1, 4), "m": (1, 4)}, exact=True,
    note="For every $B$ and every square $S$, both varying in any direction.",
)  # fmt: skip


@EQUATION_93.inputs
def basis_and_skew_matrix(B: Factor, S: AttentionMatrix, dB: Factor, dS: SkewMatrix) -> Any:
    return {"B": B, "S": S * rational(1, 3), "dB": dB, "dS": dS}


@EQUATION_93.formula
def reduced_differential(B: Factor, S: AttentionMatrix, dB: Factor, dS: SkewMatrix) -> Any:
    """dB^T S B + B^T dS B + B^T S dB, shape (m, m) (Eq. (93))."""
    return dB.T @ S @ B + B.T @ dS @ B + B.T @ S @ dB


EQUATION_93.oracle(lambda B, S, dB, dS: slope(lambda t: (B + t * dB).T @ (S + t * dS) @ (B + t * dB), B))
EQUATION_93.mutant("S held fixed", "dS -> (0 * dS)")
EQUATION_93.mutant("left B held fixed", "dB.T -> (0 * dB.T)")
EQUATION_93.mutant("sign of the first term", "dB.T -> -dB.T")
