"""Proposition 2: the split K = B + E, and the text after it, on what a small E says about kappa(K).

W_V lacks a transpose in the printed B; |E| < s_min(B) alone bounds no kappa.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights, attention_matrix
from theorems.skipless.quantities import (
    COLUMN_MAJOR, INVERSE, attention_slope, flatness, input_jacobian, jacobian_by_products,
)  # fmt: skip
from verify.matrix import (
    column, condition_number, eye, kron, rational, singular_values, smallest_singular_value, spectral_norm,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Setting, Shape

AnyB = Annotated[Any, Shape("k", "k")]

# -- Proposition 2, the split ------------------------------------------------------------------------------------------

THE_SPLIT = Setting(SKIPLESS, "Proposition 2", assumptions=[COLUMN_MAJOR],
    sizes={"n": (1, 3), "d": (1, 3)}, exact=True)  # fmt: skip

SPLIT = Claim(THE_SPLIT, "skipless.prop-2-split", label="Proposition 2, definition of B_l and E_l",
    statement=r"""\mathbf{K}_\ell=\mathbf{B}_\ell+\mathbf{E}_\ell\text{ with }\mathbf{E}_\ell=(\hat{\mathbf{X}}_{\ell-1}
        \mathbf{W}_\ell^V\mathbf{W}_\ell^O\otimes\mathbf{I}_n)^\top\mathbf{A}'_\ell\text{ and
        }\mathbf{B}_\ell=\mathbf{W}_\ell^{O\top}\mathbf{W}_\ell^V\otimes\mathbf{A}_\ell""",
    name="dominant and perturbation term", relation=Equal(), expects="refuted", severity="slip",
    correction="skipless.eq-10",
    consequence=r"""Code written from Proposition 2 gets $K$ wrong; use $B_\ell = W_\ell^{O\top}W_\ell^{V\top}\otimes
        A_\ell$, as in Eq. (10) (skipless.eq-10).""",
    note=r"""A transpose on $W^V$ is missing; the one on $W^O$ in the same product is there, and Eq. (12) keeps
        $W^{V\top}$. Eq. (10) has $(W^VW^O)^\top = W^{O\top}W^{V\top}$ in this place. With a number $c$, $W^V =
        c\,U$, $W^O = c\,V^\top$ both are $c^2$ times an orthogonal matrix, so that $\kappa(B)$ does not change, but $B + E$ is not
        $K$.""")  # fmt: skip


def _sum(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, product: Any, sign: int = 1) -> Any:
    """E plus sign (product (x) A)."""
    E = kron(X @ W_V @ W_O, eye(X.shape[0])).T @ attention_slope(X, W_Q, W_K)
    return E + kron(product, attention_matrix(X, W_Q, W_K)) * sign


@SPLIT.formula
def split_as_printed(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """W_O^T W_V (x) A + E, shape (n d, n d) (Proposition 2)."""
    return _sum(X, W_Q, W_K, W_V, W_O, W_O.T @ W_V)


SPLIT.oracle(input_jacobian)
ZERO = [[0, 0], [0, 0]]
SPLIT.counterexample(
    "one token: K = (W_V W_O)^T, and B = W_O^T W_V",
    X=[[1, 1]], W_Q=ZERO, W_K=ZERO, W_V=[[0, 1], [0, 0]], W_O=[[1, 0], [0, 1]],
)  # fmt: skip
SPLIT.mutant("W_V W_O", lambda X, W_Q, W_K, W_V, W_O: _sum(X, W_Q, W_K, W_V, W_O, 2 * W_V @ W_O))
SPLIT.mutant("B subtracted", sign=-1)


# -- the intuition -----------------------------------------------------------------------------------------------------


def dominant_term(X: Any, W: Any, P: Any) -> Any:
    """B = P^T (x) A, shape (n d, n d)."""
    return kron(P.T, attention_matrix(X, W, 0 * W + eye(W.shape[0])))


def remainder(X: Any, W: Any, P: Any) -> Any:
    """E = K - B, shape (n d, n d)."""
    return jacobian_by_products(X, W, P) - dominant_term(X, W, P)


def tenth(x: Any) -> Any:
    """A tenth of a scalar."""
    return x * rational(1, 10)


PARTS = Definition("B = (W_V W_O)^T (x) A, E = K - B; W = W_Q W_K^T, P = W_V W_O", by=dominant_term)
SMALLER = Assumption(
    "|E| < s_min(B)",
    positive=lambda X, W, P: smallest_singular_value(dominant_term(X, W, P)) - spectral_norm(remainder(X, W, P)),
)

PERTURBED = Setting(SKIPLESS, "Text after Proposition 2", assumptions=[PARTS, SMALLER],
    sizes={"n": (2, 4), "d": (1, 2)})  # fmt: skip

INTUITION = Claim(PERTURBED, "skipless.prop-2-intuition", label="Text after Proposition 2",
    statement=r"""\text{The intuition behind this proposition is that if the largest singular value of perturbation term
        }\mathbf{E}_\ell\text{ is smaller than the smallest singular value of the dominant term }\mathbf{B}_\ell\text{,
        then }\kappa(\mathbf{K}_\ell)\approx\kappa(\mathbf{B}_\ell)""",
    assumptions=[Definition("approximately: within a factor of 10", by=tenth), INVERSE],
    name="conditioning under a smaller perturbation", relation=AtMost(left="1 / (10 kappa(B))"), expects="refuted",
    severity="error", correction="skipless.prop-2-intuition-corrected",
    consequence=r"""A perturbation below $s_{\min}(B)$ only keeps $K$ invertible; to keep $\kappa(K)$ near $\kappa(B)$
        it must be small beside $s_{\min}(B)$ (skipless.prop-2-intuition-corrected).""",
    note=r"""'Smaller' is precise, and makes $K$ invertible, no more: with $r = \|E\|/s_{\min}(B) < 1$,
        $\kappa(K)/\kappa(B)$ may be as large as $(1 + r)/(1 - r)$. No factor serves: $B = I$, $E =
        \operatorname{diag}(r, -r)$. The examples: four tokens at an initialisation of Section 5 ($W^VW^O = 9I$,
        $W^QW^{K\top} = \alpha Z + \beta I$ for some $Z$, as any matrix is) with $r = 0.985$, $\kappa(B) = 1.11$ and
        $\kappa(K) = 28.5$; three tokens with $r = 0.958$, $\kappa(B) = 1.36$, $\kappa(K) = 20.1$. True for $r \to 0$.
        The search does not come across such tokens by itself; a domain of its own starts near them.""")  # fmt: skip


@INTUITION.formula
def flatness_of_sum(X: Tokens, W: QueryWeights, P: Weights) -> Any:
    """1 / kappa(K), a scalar."""
    return flatness(jacobian_by_products(X, W, P))


INTUITION.oracle(lambda X, W, P: tenth(flatness(dominant_term(X, W, P))))

#: X and W in units of 1/32, and P: r = |E| / s_min(B) is 0.985 and 0.958.
FOUR_TOKENS = ([[-60, -104], [-127, 49], [37, 37], [56, -48]], [[-9, -34], [-39, -23]], [[288, 0], [0, 288]])
THREE_TOKENS = ([[4, -68], [26, -3], [-55, -42]], [[-121, -46], [-17, 24]], [[32, -7], [6, 38]])


def _in_32nds(*matrices: Any) -> dict[str, Any]:
    return {name: [[f"{x}/32" for x in row] for row in M] for name, M in zip("XWP", matrices, strict=True)}


INTUITION.counterexample("four tokens of dimension 2, W_V W_O = 9 I", lambda: _in_32nds(*FOUR_TOKENS))
INTUITION.counterexample("three tokens of dimension 2", lambda: _in_32nds(*THREE_TOKENS))
INTUITION.mutant("kappa(B - E)", lambda X, W, P: flatness(dominant_term(X, W, P) - remainder(X, W, P)))
INTUITION.mutant("kappa(B)", lambda X, W, P: flatness(dominant_term(X, W, P)))


@INTUITION.domain("near the examples")
def near_the_examples(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """The tokens and weights of the examples, moved by up to 1/128; drawn ones at other sizes."""
    for X, W, P in (FOUR_TOKENS, THREE_TOKENS):
        if (len(X), len(X[0])) == (sizes["n"], sizes["d"]):
            for name, M in (("X", X), ("W", W), ("P", P)):
                arrays[name] = np.array(M) / 32 + rng.integers(-1, 2, arrays[name].shape) / 128


INTUITION_CORRECTED = Claim(SKIPLESS, "skipless.prop-2-intuition-corrected",
    label="Condition number of a perturbed matrix, such as K = B + E", name="conditioning of a perturbed matrix",
    statement=r"""
        r=\frac{\|\mathbf{E}\|_2}{s_{\min}(\mathbf{B})}<1\ \Rightarrow\ \frac{1-r/\kappa(\mathbf{B})}{1+r}\,\kappa(
        \mathbf{B})\le\kappa(\mathbf{B}+\mathbf{E})\le\frac{1+r/\kappa(\mathbf{B})}{1-r}\,\kappa(\mathbf{B})""",
    assumptions=[Assumption("|E| < s_min(B)", positive=lambda B, E: smallest_singular_value(B) - spectral_norm(E))],
    relation=AtMost(), all_sizes=True, sizes={"k": (1, 4)}, of_project=True, corrects="skipless.prop-2-intuition",
    note=r"""Weyl's inequalities for the first and last singular value; for the $B$ and $E$ of Proposition 2 and any
        other square matrices. Both attained, by diagonal matrices. Both sides tend to $\kappa(B)$ as $r \to 0$.""",
)  # fmt: skip


def _brackets(B: Any, E: Any, weight: Any) -> tuple[Any, Any]:
    values, norm = singular_values(B), spectral_norm(E) * weight
    return (values[0] - norm) / (values[-1] + norm), (values[0] + norm) / (values[-1] - norm)


@INTUITION_CORRECTED.formula
def upper_brackets(B: AnyB, E: AnyB) -> Any:
    """kappa(B + E), and (1 + r / kappa(B)) / (1 - r) kappa(B), shape (2, 1)."""
    return column(condition_number(B + E), _brackets(B, E, 1)[1])


@INTUITION_CORRECTED.oracle
def lower_brackets(B: AnyB, E: AnyB) -> Any:
    """(1 - r / kappa(B)) / (1 + r) kappa(B), and kappa(B + E), shape (2, 1)."""
    return column(_brackets(B, E, 1)[0], condition_number(B + E))


@INTUITION_CORRECTED.inputs
def perturbed(B: AnyB, E: AnyB) -> dict[str, Any]:
    """Both as drawn; E an eighth of it."""
    return {"B": B, "E": E * rational(1, 8)}


INTUITION_CORRECTED.mutant("half the perturbation", weight=rational(1, 2))
INTUITION_CORRECTED.mutant("kappa(B)", lambda B, E: column(condition_number(B + E), condition_number(B)))


@INTUITION_CORRECTED.domain("diagonal")
def diagonal(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """B = diag(3, ..., 1), E = diag(e, ..., -e)."""
    k = sizes["k"]
    B, E = arrays["B"], arrays["E"]
    B[:], E[:] = np.diag(np.linspace(3, 1, k).round(2)), 0.0
    E[:, 0, 0] = rng.integers(1, 8, len(E))
    E[:, -1, -1] = -E[:, 0, 0]
