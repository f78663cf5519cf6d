"""F.6, the proof of Theorem C.3, Eqs. (87)-(97): Jacobians of the Newton-Schulz A term by term, and orders in alpha.

Column-major vec.  M = [X W^Q, X W^K] (N, 2 d_v), B (N, 2 d_v) from K Newton-Schulz steps, S (N, N), [S] = B^T S B, and
A = I + B (exp[S] - I) B^T.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.osa.definitions import skew_matrix, whole_heads
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import AT_INITIALISATION, NEWTON_SCHULZ, small
from theorems.osa.part_f_proofs.f6_lemmas_f_6_to_f_8 import (
    basis_jacobian, basis_of, exponential_jacobian, jacobian_in_tokens, reduced_growth, reduced_matrix,
    step_bound,
)  # fmt: skip
from theorems.osa.settings import COLUMN_MAJOR, LAYER, LEAST_BOUND, ORTHONORMAL_QUERIES_AND_KEYS, newton_schulz_jacobian
from theorems.osa.shapes import Alpha, Epsilon, Key, Query, Steps, Tokens
from verify.matrix import column, commutation_matrix, concatenate, expm, eye, kron, rational, spectral_norm, sqrt
from verify.vocabulary import AtMost, Claim, Definition, Doubt, Equal

# -- Jacobians in X: Eqs. (87) - (97) ----------------------------------------------------------------------------------


def newton_schulz_layer(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """Tokens and weights without assumptions."""
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "alpha": alpha * rational(1, 3), "epsilon": epsilon, "K": K}


def _few(sizes: Any) -> bool:
    return whole_heads(sizes) and sizes["N"] * sizes["d"] <= 6


CHAIN = LAYER.extended("Appendix F.6, Eqs. (87) - (97)", assumptions=[COLUMN_MAJOR, *NEWTON_SCHULZ],
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2), "K": (0, 2)}, where=_few, inputs=newton_schulz_layer)  # fmt: skip


def _step_claim(
    claim_id: str, label: str, name: str, statement: str, note: str | None = None, general: str | None = None
) -> Claim:
    """A claim that a printed matrix is the Jacobian in X of one term of Eq. (86) or (93), the rest of the term frozen."""
    uses = ("osa.kron-vec", "osa.eq-86" if claim_id < "osa.eq-91" else "osa.eq-93")
    return Claim(CHAIN, claim_id, label=label, name=name, statement=statement, relation=Equal(), all_sizes=True, uses=uses,
        note=note, general=general)  # fmt: skip


def _state(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> tuple[Any, Any, Any]:
    """B (N, 2 d_v), S (N, N) and exp[S] - I (2 d_v, 2 d_v)."""
    B, S = basis_of(X, W_Q, W_K, epsilon, K), skew_matrix(X, W_Q, W_K, alpha)
    return B, S, expm(B.T @ S @ B) - eye(B.shape[1])


def _attention_term(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int, which: int) -> Any:
    """The Jacobian in X of one of the three terms of Eq. (86), by differentiation of its factor that varies, (N^2, N d)."""
    B, _, growth = _state(X, W_Q, W_K, alpha, epsilon, K)
    terms: list[Callable[[Any], Any]] = [
        lambda Y: basis_of(Y, W_Q, W_K, epsilon, K) @ growth @ B.T,
        lambda Y: B @ reduced_growth(Y, W_Q, W_K, alpha, epsilon, K) @ B.T,
        lambda Y: B @ growth @ basis_of(Y, W_Q, W_K, epsilon, K).T,
    ]
    return jacobian_in_tokens(terms[which], X)


def _reduced_term(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int, which: int) -> Any:
    """The Jacobian in X of one of the three terms of Eq. (93), by differentiation of its factor that varies, (4 d_v^2, N d)."""
    B, S, _ = _state(X, W_Q, W_K, alpha, epsilon, K)
    terms: list[Callable[[Any], Any]] = [
        lambda Y: basis_of(Y, W_Q, W_K, epsilon, K).T @ S @ B,
        lambda Y: B.T @ skew_matrix(Y, W_Q, W_K, alpha) @ B,
        lambda Y: B.T @ S @ basis_of(Y, W_Q, W_K, epsilon, K),
    ]
    return jacobian_in_tokens(terms[which], X)


def _growth_jacobian(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """dvec(exp[S] - I) / dvec X, shape (4 d_v^2, N d)."""
    return jacobian_in_tokens(lambda Y: reduced_growth(Y, W_Q, W_K, alpha, epsilon, K), X)


def _reduced_jacobian(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """dvec [S] / dvec X, shape (4 d_v^2, N d)."""
    return jacobian_in_tokens(lambda Y: reduced_matrix(Y, W_Q, W_K, alpha, epsilon, K), X)


def _turned(B: Any) -> Any:
    """B with its rows in cyclic order from the second."""
    return concatenate([B[1:], B[:1]], axis=0)


SECOND_TERM = Definition(
    "E_2: the Jacobian in X of the second term of Eq. (86), B in R^{N x 2 d_v}", by=_attention_term
)

EQUATION_88 = _step_claim("osa.eq-88", "Eqs. (87), (88)", "first term of the attention Jacobian",
    r"\mathbf{E}_1=(\mathbf{B}(\exp[\mathbf{S}]-\mathbf{I}_{2d_v})^\top\otimes\mathbf{I}_N)\frac{\partial\operatorname{vec}"
    r"\mathbf{B}}{\partial\operatorname{vec}\mathbf{X}}",
    note=r"The transpose is on $\exp[\mathbf{S}] - \mathbf{I}$ alone. The sum of Eq. (87) is osa.eq-87.",
    general=r"A rule of vec: it holds of any differentiable $B$ and of any matrix in the place of $\exp[\mathbf{S}]$.",
)  # fmt: skip


@EQUATION_88.formula
def first_attention_term(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """E_1 = (B (exp[S] - I)^T (x) I_N) dvec B / dvec X, shape (N^2, N d) (Eq. (88))."""
    B, _, growth = _state(X, W_Q, W_K, alpha, epsilon, K)
    return kron(B @ growth.T, eye(B.shape[0])) @ basis_jacobian(X, W_Q, W_K, epsilon, K)


EQUATION_88.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _attention_term(X, W_Q, W_K, alpha, epsilon, K, 0))
EQUATION_88.mutant("exp[S] - I not transposed", "growth.T -> growth")
EQUATION_88.mutant("I not subtracted", "growth.T -> (growth + eye(len(growth))).T")
EQUATION_88.mutant("halved", lambda value: value * rational(1, 2))

# elsewhere (B (x) B^T), of shape (2 d_v N, 2 d_v N), cannot multiply a matrix of (2 d_v)^2 rows to give one of N^2
EQUATION_89 = Claim(LAYER, "osa.eq-89", label="Eq. (89)", name="second term of the attention Jacobian",
    statement=r"""\mathbf{E}_2=(\mathbf{B}\otimes\mathbf{B}^\top)\frac{\partial\operatorname{vec}(\exp[\mathbf{S}]-
        \mathbf{I}_{2d_v})}{\partial\operatorname{vec}\mathbf{X}}""",
    assumptions=[COLUMN_MAJOR, SECOND_TERM, *NEWTON_SCHULZ],
    relation=Equal(), sizes={"N": (2, 4), "d": (1, 3), "d_v": (1, 2), "K": (0, 2)},
    where=lambda sizes: _few(sizes) and sizes["N"] == 2 * sizes["d_v"], uses=("osa.kron-vec", "osa.eq-86"),
    expects="refuted", severity="slip", correction="osa.eq-89-corrected",
    note=r"""$\operatorname{vec}(BDB^\top) = (B\otimes B)\operatorname{vec}D$. The norm bound of Eq. (91) and what
        follows it are untouched.""",
)  # fmt: skip
EQUATION_89.inputs(newton_schulz_layer)


@EQUATION_89.formula
def second_attention_term_as_printed(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """(B (x) B^T) dvec(exp[S] - I) / dvec X, shape (N^2, N d) for N = 2 d_v (Eq. (89))."""
    B = basis_of(X, W_Q, W_K, epsilon, K)
    return kron(B, B.T) @ _growth_jacobian(X, W_Q, W_K, alpha, epsilon, K)


EQUATION_89.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _attention_term(X, W_Q, W_K, alpha, epsilon, K, 1))
EQUATION_89.mutant("B^T (x) B^T", "kron(B, B.T) -> kron(B.T, B.T)")
EQUATION_89.mutant("doubled", lambda value: value * 2)


@EQUATION_89.counterexample("two tokens, d_v = 1: B is not symmetric")
def two_tokens() -> dict[str, Any]:
    weights = {"W_Q": [[1], [0]], "W_K": [[0], [1]]}
    return {"X": [[1, 1], [0, 1]], **weights, "alpha": 1, "epsilon": 1, "K": 1}


EQUATION_89_CORRECTED = _step_claim("osa.eq-89-corrected", "Eq. (89), with B in place of B^T",
    "second term of the attention Jacobian, corrected",
    r"\mathbf{E}_2=(\mathbf{B}\otimes\mathbf{B})\frac{\partial\operatorname{vec}(\exp[\mathbf{S}]-\mathbf{I}_{2d_v})}"
    r"{\partial\operatorname{vec}\mathbf{X}}",
)  # fmt: skip
EQUATION_89_CORRECTED.corrects, EQUATION_89_CORRECTED.of_project = ("osa.eq-89",), True


@EQUATION_89_CORRECTED.formula
def second_attention_term(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """E_2 = (B (x) B) dvec(exp[S] - I) / dvec X, shape (N^2, N d)."""
    B = basis_of(X, W_Q, W_K, epsilon, K)
    return kron(B, B) @ _growth_jacobian(X, W_Q, W_K, alpha, epsilon, K)


EQUATION_89_CORRECTED.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _attention_term(X, W_Q, W_K, alpha, epsilon, K, 1))
EQUATION_89_CORRECTED.mutant("halved", lambda value: value * rational(1, 2))
EQUATION_89_CORRECTED.mutant("rows of B reversed in the second factor", "kron(B, B) -> kron(B, _turned(B))")

EQUATION_90 = _step_claim("osa.eq-90", "Eq. (90)", "third term of the attention Jacobian",
    r"\mathbf{E}_3=(\mathbf{I}_N\otimes\mathbf{B}(\exp[\mathbf{S}]-\mathbf{I}_{2d_v}))\mathbf{K}\frac{\partial\operatorname"
    r"{vec}\mathbf{B}}{\partial\operatorname{vec}\mathbf{X}}",
    note=r"With $\mathbf{K}\operatorname{vec}\mathbf{B} = \operatorname{vec}\mathbf{B}^\top$.",
    general=r"A rule of vec: it holds of any differentiable $B$ and of any matrix in the place of $\exp[\mathbf{S}]$.",
)  # fmt: skip


@EQUATION_90.formula
def third_attention_term(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """E_3 = (I_N (x) B (exp[S] - I)) K dvec B / dvec X, shape (N^2, N d) (Eq. (90))."""
    B, _, growth = _state(X, W_Q, W_K, alpha, epsilon, K)
    return kron(eye(B.shape[0]), B @ growth) @ commutation_matrix(*B.shape) @ basis_jacobian(X, W_Q, W_K, epsilon, K)


EQUATION_90.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _attention_term(X, W_Q, W_K, alpha, epsilon, K, 2))
EQUATION_90.mutant("K dropped", "commutation_matrix(*B.shape) -> eye(B.shape[0] * B.shape[1])")
EQUATION_90.mutant("K transposed", "commutation_matrix(*B.shape) -> commutation_matrix(*B.shape).T")
EQUATION_90.mutant("that of the first term",
    lambda X, W_Q, W_K, alpha, epsilon, K: first_attention_term(X, W_Q, W_K, alpha, epsilon, K))  # fmt: skip

ATTENTION_TERMS = (first_attention_term, second_attention_term, third_attention_term)

EQUATION_87 = _step_claim("osa.eq-87", "Eq. (87), the sum", "attention Jacobian as a sum",
    r"\frac{\partial\operatorname{vec}\mathbf{A}(\mathbf{X})}{\partial\operatorname{vec}\mathbf{X}}=\mathbf{E}_1+\mathbf{E}_2+"
    r"\mathbf{E}_3",
    note=r"With $\mathbf{E}_2$ as corrected in osa.eq-89-corrected.",
)  # fmt: skip
EQUATION_87.of_project = True


@EQUATION_87.formula
def attention_matrix_jacobian(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """E_1 + E_2 + E_3, shape (N^2, N d), column-major (Eq. (87))."""
    return sum(term(X, W_Q, W_K, alpha, epsilon, K) for term in ATTENTION_TERMS)


EQUATION_87.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: newton_schulz_jacobian(X, W_Q, W_K, alpha, epsilon, K))
EQUATION_87.mutant("E_3 dropped", "ATTENTION_TERMS -> ATTENTION_TERMS[:2]")
EQUATION_87.mutant("E_2 dropped", "ATTENTION_TERMS -> ATTENTION_TERMS[::2]")
EQUATION_87.mutant(
    "E_1 subtracted",
    lambda value, X, W_Q, W_K, alpha, epsilon, K: value - 2 * first_attention_term(X, W_Q, W_K, alpha, epsilon, K),
)

# for N = 1 both sides vanish
EQUATION_91 = Claim(LAYER, "osa.eq-91", label="Eq. (91)", name="norm of the second attention term",
    statement=r"""\|\mathbf{E}_2\|_2\le\|\mathbf{B}\|_2^2\left\|\frac{\partial\operatorname{vec}(\exp[\mathbf{S}]-
        \mathbf{I}_{2d_v})}{\partial\operatorname{vec}\mathbf{X}}\right\|_2""",
    assumptions=[SECOND_TERM, *NEWTON_SCHULZ],
    relation=AtMost(left="norm of the second term", ascent=False), all_sizes=True,
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 2), "K": (0, 2)}, where=_few, uses=("osa.eq-89-corrected", "osa.eq-84"),
    note="""Stated of the term itself: with the misprinted factor of Eq. (89) $E_2$ exists only for $N = 2 d_v$, and
        obeys it too.""",
)  # fmt: skip
EQUATION_91.inputs(newton_schulz_layer)


@EQUATION_91.formula
def second_term_bound(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """||B||_2^2 ||dvec(exp[S] - I) / dvec X||_2, a scalar (Eq. (91))."""
    norm = spectral_norm(basis_of(X, W_Q, W_K, epsilon, K))
    return norm**2 * spectral_norm(_growth_jacobian(X, W_Q, W_K, alpha, epsilon, K))


EQUATION_91.oracle(
    lambda X, W_Q, W_K, alpha, epsilon, K: spectral_norm(_attention_term(X, W_Q, W_K, alpha, epsilon, K, 1))
)
EQUATION_91.mutant("halved", lambda value: value * rational(1, 2))
EQUATION_91.mutant("||B||_2^4", "norm**2 -> norm**4")

EQUATION_92 = _step_claim("osa.eq-92", "Eq. (92)", "chain rule of the reduced exponential",
    r"""\frac{\partial\operatorname{vec}(\exp[\mathbf{S}]-\mathbf{I}_{2d_v})}{\partial\operatorname{vec}\mathbf{X}}=
        \frac{\partial\operatorname{vec}\exp[\mathbf{S}]}{\partial\operatorname{vec}\mathbf{X}}=\frac{\partial
        \operatorname{vec}\exp[\mathbf{S}]}{\partial\operatorname{vec}[\mathbf{S}]}\frac{\partial\operatorname{vec}
        [\mathbf{S}]}{\partial\operatorname{vec}\mathbf{X}}""",
    general=r"It is the chain rule, for any differentiable $B$ and $\mathbf{S}$.",
)  # fmt: skip
EQUATION_92.uses = ("osa.eq-79",)


@EQUATION_92.formula
def growth_jacobian(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """The integral of Eq. (79) at [S], times dvec [S] / dvec X, shape (4 d_v^2, N d) (Eq. (92))."""
    S = reduced_matrix(X, W_Q, W_K, alpha, epsilon, K)
    return exponential_jacobian(S) @ _reduced_jacobian(X, W_Q, W_K, alpha, epsilon, K)


EQUATION_92.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _growth_jacobian(X, W_Q, W_K, alpha, epsilon, K))
EQUATION_92.mutant("[S] transposed in the outer factor", "exponential_jacobian(S) -> exponential_jacobian(S.T)")
EQUATION_92.mutant("outer factor at [S] = 0", "exponential_jacobian(S) -> exponential_jacobian(0 * S)")
EQUATION_92.mutant("halved", lambda value: value * rational(1, 2))

EQUATION_95 = _step_claim("osa.eq-95", "Eqs. (94), (95)", "first term of the reduced Jacobian",
    r"\hat{\mathbf{E}}_1=((\mathbf{S}\mathbf{B})^\top\otimes\mathbf{I}_{2d_v})\mathbf{K}\frac{\partial\operatorname{vec}"
    r"\mathbf{B}}{\partial\operatorname{vec}\mathbf{X}}",
    note=r"With $\mathbf{K}\operatorname{vec}\mathbf{B} = \operatorname{vec}\mathbf{B}^\top$. The sum of Eq. (94) is osa.eq-94.",
    general=r"A rule of vec: it holds of any differentiable $B$ and of any matrix $\mathbf{S}$.",
)  # fmt: skip


@EQUATION_95.formula
def first_reduced_term(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """((S B)^T (x) I) K dvec B / dvec X, shape (4 d_v^2, N d) (Eq. (95))."""
    B, S, _ = _state(X, W_Q, W_K, alpha, epsilon, K)
    return kron((S @ B).T, eye(B.shape[1])) @ commutation_matrix(*B.shape) @ basis_jacobian(X, W_Q, W_K, epsilon, K)


EQUATION_95.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _reduced_term(X, W_Q, W_K, alpha, epsilon, K, 0))
EQUATION_95.mutant("K dropped", "commutation_matrix(*B.shape) -> eye(B.shape[0] * B.shape[1])")
EQUATION_95.mutant("K transposed", "commutation_matrix(*B.shape) -> commutation_matrix(*B.shape).T")

EQUATION_96 = _step_claim("osa.eq-96", "Eq. (96)", "second term of the reduced Jacobian",
    r"\hat{\mathbf{E}}_2=(\mathbf{B}^\top\otimes\mathbf{B}^\top)\frac{\partial\operatorname{vec}\mathbf{S}}{\partial"
    r"\operatorname{vec}\mathbf{X}}",
    general=r"A rule of vec: it holds of any $B$ and of any differentiable $\mathbf{S}$.",
)  # fmt: skip


@EQUATION_96.formula
def second_reduced_term(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """(B^T (x) B^T) dvec S / dvec X, shape (4 d_v^2, N d) (Eq. (96))."""
    B = basis_of(X, W_Q, W_K, epsilon, K)
    return kron(B.T, B.T) @ jacobian_in_tokens(lambda Y: skew_matrix(Y, W_Q, W_K, alpha), X)


EQUATION_96.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _reduced_term(X, W_Q, W_K, alpha, epsilon, K, 1))
EQUATION_96.mutant("halved", lambda value: value * rational(1, 2))
EQUATION_96.mutant("tokens moved by one in the second factor", "kron(B.T, B.T) -> kron(B.T, _turned(B).T)")

EQUATION_97 = _step_claim("osa.eq-97", "Eq. (97)", "third term of the reduced Jacobian",
    r"\hat{\mathbf{E}}_3=(\mathbf{I}_{2d_v}\otimes\mathbf{B}^\top\mathbf{S})\frac{\partial\operatorname{vec}\mathbf{B}}"
    r"{\partial\operatorname{vec}\mathbf{X}}",
    general=r"A rule of vec: it holds of any differentiable $B$ and of any matrix $\mathbf{S}$.",
)  # fmt: skip


@EQUATION_97.formula
def third_reduced_term(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """(I (x) B^T S) dvec B / dvec X, shape (4 d_v^2, N d) (Eq. (97))."""
    B, S, _ = _state(X, W_Q, W_K, alpha, epsilon, K)
    return kron(eye(B.shape[1]), B.T @ S) @ basis_jacobian(X, W_Q, W_K, epsilon, K)


EQUATION_95.mutant("that of the third term",
    lambda X, W_Q, W_K, alpha, epsilon, K: third_reduced_term(X, W_Q, W_K, alpha, epsilon, K))  # fmt: skip
EQUATION_97.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _reduced_term(X, W_Q, W_K, alpha, epsilon, K, 2))
EQUATION_97.mutant("S transposed", "S -> S.T")
EQUATION_97.mutant("that of the first term",
    lambda X, W_Q, W_K, alpha, epsilon, K: first_reduced_term(X, W_Q, W_K, alpha, epsilon, K))  # fmt: skip

REDUCED_TERMS = (first_reduced_term, second_reduced_term, third_reduced_term)

EQUATION_94 = _step_claim("osa.eq-94", "Eq. (94), the sum", "reduced Jacobian as a sum",
    r"\frac{\partial\operatorname{vec}[\mathbf{S}]}{\partial\operatorname{vec}\mathbf{X}}=\hat{\mathbf{E}}_1+"
    r"\hat{\mathbf{E}}_2+\hat{\mathbf{E}}_3",
)  # fmt: skip
EQUATION_94.of_project = True


@EQUATION_94.formula
def reduced_jacobian(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """The sum of Eqs. (95) - (97), shape (4 d_v^2, N d), column-major (Eq. (94))."""
    return sum(term(X, W_Q, W_K, alpha, epsilon, K) for term in REDUCED_TERMS)


EQUATION_94.oracle(lambda X, W_Q, W_K, alpha, epsilon, K: _reduced_jacobian(X, W_Q, W_K, alpha, epsilon, K))
EQUATION_94.mutant("first term dropped", "REDUCED_TERMS -> REDUCED_TERMS[1:]")
EQUATION_94.mutant(
    "third term subtracted",
    lambda value, X, W_Q, W_K, alpha, epsilon, K: value - 2 * third_reduced_term(X, W_Q, W_K, alpha, epsilon, K),
)

# -- orders in alpha ---------------------------------------------------------------------------------------------------

ORDERS = Claim(AT_INITIALISATION, "osa.f6-orders", label="F.6, items 1-3 and (a)-(c)",
    statement=r"\|\mathbf{E}_1\|_2,\|\mathbf{E}_2\|_2,\|\mathbf{E}_3\|_2\le O(\alpha);\quad\text{(a) first term: }\|"
    r"\hat{\mathbf{E}}_2\|_2\le O(\alpha),\ \text{(b) second term: }\|\hat{\mathbf{E}}_2\|_2\le O(\alpha),\ \text{(c)"
    r" third term: }\|\hat{\mathbf{E}}_3\|_2\le O(\alpha)",
    assumptions=[ORTHONORMAL_QUERIES_AND_KEYS, *NEWTON_SCHULZ, LEAST_BOUND],
    name="terms of the Jacobian, linear in the scale", relation=AtMost(), all_sizes=True,
    hypotheses=[ORTHONORMAL_QUERIES_AND_KEYS],
    where=lambda sizes: small(sizes) and sizes["N"] * sizes["d"] <= 6, uses=("osa.newton-schulz-differential",),
    proof=(
        "osa.eq-88", "osa.eq-89", "osa.eq-90", "osa.eq-91", "osa.eq-92", "osa.eq-95", "osa.eq-96", "osa.eq-97",
        "osa.lemma-f.1", "osa.lemma-f.2", "osa.lemma-f.3", "osa.lemma-f.6", "osa.lemma-f.7", "osa.lemma-f.8",
    ),
    doubt=Doubt(
        r"For the first term, we can apply Lemmas F.2, F.1 and F.6 to conclude that $\|\hat{\mathbf{E}}_2\|_2",
        r"""the subscript in (a) may repeat that of (b): the first term of Eq. (94) is $\hat{E}_1$, and the lemmas cited
        are those that bound it. Both are bounded here, so either way the line holds"""),
    note=r"""With $u = |\alpha|\|X\|_2/\sqrt{d_v}$, at most $\sqrt2 u$ for $E_1$, $E_3$ and the first and third terms of
        Eq. (94), $2u$ for the second, $(2 + 2\sqrt2)u$ for $E_2$, whatever $K$ and $\epsilon$, for $\alpha$ of either
        sign. $E_2$ is taken as the Jacobian of the second term of Eq. (86), for which Eq. (89) has a misprint. The
        lemmas cited give constants that grow like $(3/2)^K/\epsilon$ (Lemma F.6). As $S =
        \frac{\alpha}{\sqrt{d_v}}MJM^\top$, every $\partial B$ meets an $M$, and $\|\partial B\,M^\top\|_F, \|\partial
        B^\top M\|_F \le \sqrt2\|\partial X\|_F$.""",
)  # fmt: skip


def _units(X: Any, W_Q: Any, alpha: Any) -> Any:
    """sqrt 2, 2 + 2 sqrt 2, sqrt 2; sqrt 2, 2, sqrt 2 times u, shape (6, 1)."""
    u = step_bound(X, W_Q, alpha)
    root = u * sqrt(2)
    return column(root, u * 2 + root * 2, root, root, u * 2, root)


@ORDERS.formula
def term_bounds(X: Tokens, W_Q: Query, alpha: Alpha) -> Any:
    """Bounds of the terms of Eqs. (87) and (94), linear in |alpha|, shape (6, 1)."""
    return _units(X, W_Q, alpha)


@ORDERS.oracle
def norms_of_terms(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    at = (X, W_Q, W_K, alpha, epsilon, K)
    terms = [term(*at, which=which) for term in (_attention_term, _reduced_term) for which in range(3)]
    return column(*(spectral_norm(term) for term in terms))


ORDERS.mutant("quadratic in alpha", lambda X, W_Q, alpha: _units(X, W_Q, alpha * alpha))
ORDERS.mutant("not growing with ||X||_2", lambda value, X: value / spectral_norm(X))
ORDERS.mutant("a tenth", lambda value: value * rational(1, 10))
