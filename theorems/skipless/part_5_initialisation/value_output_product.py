"""Section 5.1: whether W_V W_O must be well-conditioned for K to be.  K is (P^T (x) I_n) times the K of P = I."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights
from theorems.skipless.quantities import INVERSE, flatness, jacobian_by_products
from verify.matrix import column, eye
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Reading, Real, Setting

Factor = Annotated[Any, Real(1.0, 16.0)]

#: The tokens, W and P at which K is well-conditioned and P is not: opposite tokens, W far from symmetric.
OPPOSITE: dict[str, Any] = {"X": [[1, 0], [-1, 0]], "W": [[3, 0], [4000, 0]], "P": [[1, 0], ["-79/2", 1]]}


def near_opposite_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """The tokens and weights of the example, the entries of P moved by up to 1/64; drawn ones at other sizes."""
    if (sizes["n"], sizes["d"]) == (2, 2):
        arrays["X"][:], arrays["W"][:] = [[1, 0], [-1, 0]], [[3, 0], [4000, 0]]
        arrays["P"] = np.array([[1, 0], [-39.5, 1]]) + rng.integers(-1, 2, arrays["P"].shape) / 64


PRODUCT = Setting(SKIPLESS, "Section 5.1",
    assumptions=[
        Definition("W = W_Q W_K^T, P = W_V W_O, one head, K = dvec SA(X) / dvec X of Eq. (7)", by=jacobian_by_products),
        INVERSE,
    ],
    sizes={"n": (1, 3), "d": (1, 2)}, special_domains={"near opposite tokens": near_opposite_tokens})  # fmt: skip

MUST = Claim(PRODUCT, "skipless.sec-5.1-must", label="Section 5.1, text before the SVD initialisation",
    statement=r"""\text{For training to be stable, this product must be well-conditioned in order to improve the condition of
        }\mathbf{K}_\ell""",
    name="value-output product and input Jacobian", relation=AtMost(), expects="reading", uses=("skipless.eq-10",),
    corrects="skipless.sec-5.1-must-any-attention",
    reading=Reading("must be well-conditioned in order to improve the condition", r"""at given tokens and attention $\kappa(K)$ is
        at least $\kappa(P)/\kappa(K_I)$ and at most $\kappa(P)\kappa(K_I)$, with $P = W^VW^O$ and $K_I$ the $K$ of the same
        $X$, $W^Q$, $W^K$ at $P = I$: what $\kappa(P)$ exceeds $\kappa(K_I)$ by is left in $K$"""),
    consequence=r"""An ill-conditioned $W^VW^O$ need not make $K$ ill-conditioned, and a scaled orthonormal one leaves $K$ as
        ill-conditioned as attention makes it; judge $K$ itself (skipless.sec-5.1-must-any-attention).""",
    note=r"""By Eq. (10) $K = (P^\top\otimes I_n)K_I$, and $\kappa(P^\top\otimes I_n) = \kappa(P)$; condition numbers of square
        matrices are at most the product of those of their factors, and an inverse has the same one. Infinite ones take part.
        With $\kappa(P) = 1$ it says $\kappa(K) = \kappa(K_I)$: the initialisation of Section 5.1 takes the product out of the
        question and leaves that of the attention. Whether training is stable needs the authors' runs.""")  # fmt: skip


@MUST.formula
def flatnesses_alone(X: Tokens, W: QueryWeights, P: Weights) -> Any:
    """1 / kappa(P) and 1 / kappa(K), shape (2, 1)."""
    return column(flatness(P), flatness(jacobian_by_products(X, W, P)))


@MUST.oracle
def products_of_flatnesses(X: Tokens, W: QueryWeights, P: Weights) -> Any:
    """1 / (kappa(K) kappa(K_I)) and 1 / (kappa(P) kappa(K_I)), shape (2, 1)."""
    at_identity = flatness(jacobian_by_products(X, W, eye(W.shape[0]) + 0 * P))
    return column(flatness(jacobian_by_products(X, W, P)) * at_identity, flatness(P) * at_identity)


MUST.mutant("squares", lambda value: value * value)
MUST.mutant("half", lambda value: value / 2)

ANY_ATTENTION = Claim(PRODUCT, "skipless.sec-5.1-must-any-attention",
    label="Conditioning of W_V W_O by that of K, whatever the attention", of_project=True,
    statement=r"""\kappa(\mathbf{P})\le C\,\kappa(\mathbf{K})\ \text{for one}\ C\ \text{and all tokens and weights},\quad
        \mathbf{P}=\mathbf{W}^V\mathbf{W}^O""",
    assumptions=[
        Assumption("C >= 1", nonnegative=lambda C: C - 1),
        Definition("C is any number given", by=flatness),
    ],
    name="necessity of a well-conditioned value-output product", relation=AtMost(left="1 / (C kappa(K))", ascent=False),
    expects="refuted", severity="error", correction="skipless.sec-5.1-must",
    note=r"""$K = (P^\top\otimes I_n)K_I$, with $K_I$ the Jacobian at $P = I$: a product can undo what attention does. In the
        example, two opposite tokens, $\kappa(K) = 1.18$, while $\kappa(P) = 1562$ and $\kappa(K_I) = 1515$, so that a
        scaled orthonormal product would give $\kappa(K) = 1515$. The example is one of a family with any $\kappa(P)$: $W =
        \begin{pmatrix}t & 0\\ u & 0\end{pmatrix}$ with numbers $t$ and $u$, $t > 0$, makes of $K_I$ nearly a shear of
        both tokens, by $4a(1 - a)u$ with $a = 1/(1 + e^{-2t})$. True for one token, where $\kappa(K) = \kappa(P)$; and a
        singular $P$ makes $K$ singular.""")  # fmt: skip


@ANY_ATTENTION.formula
def flatness_of_product(X: Tokens, W: QueryWeights, P: Weights, C: Factor) -> Any:
    """1 / kappa(P), a scalar."""
    return flatness(P)


ANY_ATTENTION.oracle(lambda X, W, P, C: flatness(jacobian_by_products(X, W, P)) / C)
ANY_ATTENTION.counterexample(
    "two opposite tokens, C = 1000: kappa(K) < 1.3, kappa(P) > 1500", lambda: {**OPPOSITE, "C": 1000}
)
ANY_ATTENTION.counterexample("the same, C = 1", lambda: {**OPPOSITE, "C": 1})
ANY_ATTENTION.mutant("kappa(P) squared", lambda value: value * value)
ANY_ATTENTION.mutant("a tenth", lambda value: value / 10)
