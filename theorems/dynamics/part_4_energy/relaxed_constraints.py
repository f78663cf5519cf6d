"""Section 4: does Proposition 4.1 relax the constraints (4), and does an energy need a symmetric W^V?

Surprising: Eq. (11) as printed excludes most weights that Eq. (4) admits; and W^V = A (I + K) with K anti-symmetric has an energy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, SquareWeights, Tokens, attention_head, energy, rate_along
from theorems.dynamics.part_4_energy.single_head import printed_values, symmetrised_values
from theorems.dynamics.settings import POSITIVE_BETA, SYMMETRIC, Core, Factor
from verify.matrix import exp, eye, row_sums, total
from verify.vocabulary import Assumption, Claim, Definition, Equal, Reading, Setting, realises
from verify.vocabulary.hypotheses import skew, symmetric


@realises({r"A = W^Q W^{K\top} is symmetric": reached.SYMMETRIC_PRODUCT})
def symmetric_product(factor: Factor, core: Core) -> dict[str, Any]:
    """W_Q = F (M + M^T), W_K = F: then W_Q W_K^T is symmetric, and every symmetric matrix arises."""
    return {"W_Q": factor @ (core + core.T), "W_K": factor}


def values_of_condition_4(W_Q: Any, W_K: Any) -> Any:
    """W^V = W^Q W^{K T}, shape (D, D) (Eq. (4))."""
    return W_Q @ W_K.T


CONDITION_4 = Definition(r"W^V = W^Q W^{K\top}, Eq. (4)", by=values_of_condition_4)

RELAX = Claim(DYNAMICS, "dynamics.sec-4-relax", label="Section 4, 'We relax these constraints'",
    statement=r"""\text{``We relax these constraints in the following proposition'': }W^QW^{K\top}=W^V=W^{V\top}\
        \Rightarrow\ W^V=(W^{Q\top}W^K+W^QW^{K\top})/2""",
    assumptions=[
        SYMMETRIC,
        CONDITION_4,
        Assumption("D_H = D, without which the summands have different shapes", sizes=lambda sizes: sizes["D_H"] == sizes["D"]),
    ],
    name="weights of the symmetric case under the relaxed condition", relation=Equal(), sizes={"D": (1, 4), "D_H": (1, 4)},
    expects="refuted", severity="slip",
    repeats="dynamics.sec-4-symmetric-constraint", correction="dynamics.sec-4-relax-symmetrised", presumes=("dynamics.eq-11-form",),
    consequence=r"""Condition (11) as printed is no relaxation of (4); read $W^KW^{Q\top}$ for $W^{Q\top}W^K$
        (dynamics.sec-4-relax-symmetrised), and expect a falling energy for symmetric $W^QW^{K\top}$ only.""",
    note=r"""A relaxed condition holds wherever the old one did. With the $W^{Q\top}W^K$ of (11), (13), (31) and (47) it
        does not: $W^QW^{K\top} = \operatorname{diag}(1, 2)$ can have $W^{Q\top}W^K$ with other eigenvalues. With
        $W^KW^{Q\top}$, which the text shows to be meant, (4) implies (11); for what (11) admits beyond (4), asymmetric
        $W^QW^{K\top}$, the energy can rise (dynamics.prop-4.1).""")  # fmt: skip
RELAX.inputs(symmetric_product)


@RELAX.formula
def values_of_printed_condition(W_Q: Factor, W_K: Factor) -> Any:
    """(W_Q^T W_K + W_Q W_K^T)/2, shape (D, D) (Eq. (11))."""
    return printed_values(W_Q, W_K)


RELAX.oracle(lambda W_Q, W_K: values_of_condition_4(W_Q, W_K))
# By hand: W^Q^T W^K = [[1, 0], [-1, 2]], so that Eq. (11) gives [[1, 0], [-1/2, 2]]
RELAX.counterexample("W^Q W^{K T} = diag(1, 2) with W^Q = [[1, 1], [0, 1]]",
    W_Q=[[1, 1], [0, 1]], W_K=[[1, 0], [-2, 2]])  # fmt: skip
RELAX.mutant("first summand W^K W^{Q T}", "printed_values -> symmetrised_values")
RELAX.mutant("half of it", lambda value: value / 2)


RELAX_SYMMETRISED = RELAX.corrected("dynamics.sec-4-relax-symmetrised",
    label="Eq. (4) implies Eq. (11) with W^K W^{Q T}",
    statement=r"""W^QW^{K\top}=W^V=W^{V\top},\ W^Q,W^K\in\mathbb R^{D\times D_H}\ \Rightarrow\
        W^V=(W^KW^{Q\top}+W^QW^{K\top})/2""", assumptions=[SYMMETRIC, CONDITION_4],
    name="weights of the symmetric case under the symmetrised condition", all_sizes=True, hypotheses=(SYMMETRIC,),
    exact=True)  # fmt: skip


@RELAX_SYMMETRISED.formula
def values_of_condition_11(W_Q: Factor, W_K: Factor) -> Any:
    """(W_K W_Q^T + W_Q W_K^T)/2, shape (D, D)."""
    return symmetrised_values(W_Q, W_K)


RELAX_SYMMETRISED.mutant("half of it", lambda value: value / 2)
RELAX_SYMMETRISED.mutant("from the keys alone", lambda W_Q, W_K: symmetrised_values(W_K, W_K))


# -- a symmetric W^V ---------------------------------------------------------------------------------------------------


def turned_values(A: Any, K: Any) -> Any:
    """W^V = A (I + K), shape (D, D)."""
    return A @ (eye(A.shape[0]) + K)


@realises({"A is symmetric": reached.SYMMETRIC, "K is anti-symmetric": reached.SKEW})
def symmetric_weights_and_turn(X: Tokens, B: SquareWeights, G: SquareWeights, beta: Beta) -> dict[str, Any]:
    """Tokens as drawn, A = B + B^T and K = G - G^T."""
    return {"X": X, "A": B + B.T, "K": G - G.T, "beta": beta}


TURNED = Setting(
    DYNAMICS,
    "Section 4, values turned by an anti-symmetric matrix",
    assumptions=[
        Assumption("A is symmetric", zero=lambda A: A - A.T),
        Assumption("K is anti-symmetric", zero=lambda K: K + K.T),
        POSITIVE_BETA,
        Definition(r"W^V = A (I + K), and A = W^Q W^{K\top}", by=turned_values),
    ],
    sizes={"S": (1, 3), "D": (1, 4)},
    inputs=symmetric_weights_and_turn,
)

VALUES_SYMMETRIC = Claim(DYNAMICS, "dynamics.sec-4-values-symmetric", label="Text after Proposition 4.2",
    statement=r"\text{``}W_V\text{ should remain symmetric''}",
    assumptions=[Definition(r"W^V = (W^K W^{Q\top} + W^Q W^{K\top})/2, Eq. (11) symmetrised", by=symmetrised_values)],
    name="symmetric values under the condition (11)", relation=Equal(), sizes={"D": (1, 4), "D_H": (1, 4)}, exact=True,
    all_sizes=True, expects="reading",
    reading=Reading("should remain symmetric", "the condition that the propositions put on $W^V$ keeps it symmetric"),
    consequence=r"""Forcing $W^V$ to be symmetric is not what an energy needs: without projection $W^V =
        W^QW^{K\top}(I+K)$ with any anti-symmetric $K$ has the same one (dynamics.sec-4-asymmetric-values).""",
    note=r"""The condition is (11) as the text shows it to be meant; as printed it gives no symmetric $W^V$, a misprint that
        is judged by itself (dynamics.eq-11-form). The propositions give sufficient conditions, and the sentence calls
        the structure desirable. If 'should' is taken for a necessity, that no energy of the form (10) falls unless $W^V$ is
        symmetric, it is false without projection (dynamics.sec-4-values-symmetric-only).""")  # fmt: skip
VALUES_SYMMETRIC.inputs(W_Q=Factor, W_K=Factor)


@VALUES_SYMMETRIC.formula
def transposed_condition(W_Q: Factor, W_K: Factor) -> Any:
    """W^V^T, shape (D, D)."""
    return symmetrised_values(W_Q, W_K).T


VALUES_SYMMETRIC.oracle(lambda W_Q, W_K: symmetrised_values(W_Q, W_K))
VALUES_SYMMETRIC.mutant("not symmetrised", "symmetrised_values(W_Q, W_K) -> W_Q @ W_K.T")
VALUES_SYMMETRIC.mutant("half of it", lambda value: value / 2)


VALUES_SYMMETRIC_ONLY = Claim(TURNED, "dynamics.sec-4-values-symmetric-only", label="Symmetric values as a necessity",
    statement=r"""\text{an energy of the form (10) that falls at every state exists for symmetric }W^V\text{ only: for
        }W^V=A(I+K),\ A=A^\top,\ K=-K^\top,\quad W^V=W^{V\top}""",
    name="symmetric values for an energy", relation=Equal(), expects="refuted", severity="error", of_project=True,
    correction="dynamics.sec-4-asymmetric-values", uses=("dynamics.sec-4-asymmetric-values",),
    note=r"""Decided for one head without projection, the dynamics of Proposition 4.2, where at every state
        $E_{\text{single}}$ falls for these $W^V$ (dynamics.sec-4-asymmetric-values). What has to be symmetric is
        $W^QW^{K\top}$.""")  # fmt: skip


@VALUES_SYMMETRIC_ONLY.formula
def transposed_values(A: SquareWeights, K: SquareWeights) -> Any:
    """W^V^T, shape (D, D)."""
    return turned_values(A, K).T


VALUES_SYMMETRIC_ONLY.oracle(lambda A, K: turned_values(A, K))
VALUES_SYMMETRIC_ONLY.counterexample(
    "A = I and a quarter turn", X=[[1, 0]], A=[[1, 0], [0, 1]], K=[[0, 1], [-1, 0]], beta=1
)
VALUES_SYMMETRIC_ONLY.mutant("sign", lambda value: -value)
VALUES_SYMMETRIC_ONLY.mutant("half of it", lambda value: value / 2)


ASYMMETRIC_VALUES = Claim(TURNED, "dynamics.sec-4-asymmetric-values", label="Energy for asymmetric values",
    statement=r"""A=A^\top,\ K=-K^\top\ \Rightarrow\
        \frac{dE_{\text{single}}}{dt}=-2\beta\sum_iZ_i\|\Delta_{[i,:]}\|^2\text{ along }\frac{dX}{dt}=
        \operatorname{softmax}(\beta XAX^\top)XW^V\text{ with }W^V=A(I+K),\ \Delta=\operatorname{softmax}(\beta
        XAX^\top)XA,\ Z_i=\sum_j\exp(\beta X_{[i,:]}^\top AX_{[j,:]})""",
    name="energy for asymmetric values", relation=Equal(), all_sizes=True,
    hypotheses=(symmetric("A", stated="A is symmetric"), skew("K", stated="K is anti-symmetric")), exact=True,
    of_project=True, corrects="dynamics.sec-4-values-symmetric-only",
    note=r"""So $E_{\text{single}} = -\sum_{i,j}\exp(\beta X_{[i,:]}^\top AX_{[j,:]})$ falls, though $W^V \ne W^{V\top}$
        as soon as $AK \ne -KA$. The gradient of the energy is $-2\beta Z_i\Delta_i$, and $K$ turns the velocity across
        it. Without projection.""")  # fmt: skip


@ASYMMETRIC_VALUES.domain("small tokens")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Exponents of order 1, where float32 has its digits."""
    arrays["X"][:] = rng.integers(-3, 4, arrays["X"].shape) / 4
    arrays["B"][:] = rng.integers(-2, 3, arrays["B"].shape) / 4
    arrays["beta"][:] = 1.0 + rng.integers(0, 5, len(arrays["beta"])) / 4


@ASYMMETRIC_VALUES.formula
def rate_without_the_turn(X: Tokens, A: SquareWeights, beta: Beta) -> Any:
    """-2 beta sum_i Z_i |Delta_i|^2, a scalar."""
    Z, Delta = row_sums(exp(X @ A @ X.T * beta)), attention_head(X, A, eye(A.shape[0]), A, beta)
    return -2 * beta * total(row_sums(Delta * Delta) * Z)


@ASYMMETRIC_VALUES.oracle
def rate_with_turned_values(X: Tokens, A: SquareWeights, K: SquareWeights, beta: Beta) -> Any:
    identity = eye(A.shape[0])
    velocity = attention_head(X, A, identity, turned_values(A, K), beta)
    return rate_along(partial(energy, W_Q=A, W_K=identity, beta=beta), X, velocity, beta * 0)


ASYMMETRIC_VALUES.mutant("factor 2 dropped", "-2 -> -1")
ASYMMETRIC_VALUES.mutant("normalisation Z_i dropped", "Z -> 1")
ASYMMETRIC_VALUES.mutant("sign", lambda value: -value)
