"""Appendix A.2, Eqs. (37)-(45) of the printed proof of Proposition 4.1: the update Delta, and the rate of the energy.

Surprising: the minus sign of the gradient is put in twice in Eq. (41); Eqs. (42) and (44) inherit the error of Eq. (34), and
Eq. (38) holds with other values than the condition (31) prescribes.
"""

from __future__ import annotations

from typing import Any

from theorems.shared import reached
from theorems.dynamics.definitions import (
    Beta, QueryWeights, SquareWeights, Tokens, attention_head, energy, energy_rate_terms, flow, projection, rate_along,
)  # fmt: skip
from theorems.dynamics.part_4_energy.single_head import AGREES, climbing_weights, printed_values, symmetrised_values
from theorems.dynamics.part_a_proofs.energy_gradient import (
    EXACT_PROOF, PROOF, exponentials, gradient, gradient_by_differentiation,
)  # fmt: skip
from theorems.dynamics.settings import on_the_sphere, unit_tokens_and_values
from verify.matrix import concatenate, rational, row_sums, softmax, total, zeros
from verify.vocabulary import AtMost, Claim, Definition, Equal, realises

DELTA = Definition(r"\Delta = softmax(\beta X W^Q W^{K\top} X^\top) X W^V", by=attention_head)
DYNAMICS_3 = Definition("dynamics (3)", by=flow)
CONDITION_31 = Definition(r"W^V = (W^{Q\top}W^K + W^QW^{K\top})/2, the condition (11), (31)", by=printed_values)

# -- the update Delta --------------------------------------------------------------------------------------------------

EQ_37 = Claim(PROOF, "dynamics.eq-37", label="Eq. (37), proof of Prop. 4.1",
    statement=r"""\text{``Under the given condition on the weights, }A=A^\top\text{ we have'' }\ \Delta_{[i,:]}=\big(
        \operatorname{softmax}(\beta XW^VX^\top)_{[i,:]}X(A^\top+A)\big)^\top/2""",
    assumptions=[DELTA, CONDITION_31],
    name="attention drive under the weight condition", relation=Equal(), expects="refuted", severity="slip",
    correction="dynamics.eq-37-corrected",
    note=r"""Eq. (38) shows that $W^V$ inside the softmax is a misprint for $A$. '$A = A^\top$' does not follow from
        (31); as a further assumption it would not help: the first counterexample has $W^K = I$, where $W^{Q\top}W^K$
        and $W^K W^{Q\top}$ agree; the second has $W^Q = W^K$, where $A$ is symmetric. With $A = A^\top$ assumed and
        $W^K W^{Q\top}$ for $W^{Q\top}W^K$, $W^V = A$ and the line is right; the text wants $A$ asymmetric.""",
)  # fmt: skip


@EQ_37.formula
def update_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """softmax(beta X W^V X^T) X (A^T + A) / 2, shape (S, D) (Eq. (37))."""
    return softmax(X @ printed_values(W_Q, W_K) @ X.T * beta) @ X @ symmetrised_values(W_Q, W_K)


EQ_37.oracle(lambda X, W_Q, W_K, beta: attention_head(X, W_Q, W_K, printed_values(W_Q, W_K), beta))
EQ_37.counterexample("two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]", climbing_weights)
EQ_37.counterexample("two tokens on the axes, W^Q = W^K = [[1, 1], [0, 1]], so that A is symmetric", X=[[1, 0], [0, 1]],
    W_Q=[[1, 1], [0, 1]], W_K=[[1, 1], [0, 1]], beta=1)  # fmt: skip
EQ_37.mutant("factor 1/2 dropped", lambda value: value * 2)
EQ_37.mutant("A inside the softmax",
    lambda X, W_Q, W_K, beta: attention_head(X, W_Q, W_K, symmetrised_values(W_Q, W_K), beta))  # fmt: skip


EQ_37_CORRECTED = Claim(EXACT_PROOF, "dynamics.eq-37-corrected",
    label="Eqs. (37), (38) with A inside the softmax and symmetrised values",
    statement=r"""W^V=(A^\top+A)/2\ \Rightarrow\ \Delta_{[i,:]}=\big(\operatorname{softmax}(\beta
        XAX^\top)_{[i,:]}X(A^\top+A) \big)^\top/2=\sum_j\frac{\exp(\beta X_{[i,:]}^\top AX_{[j,:]})}{Z_i}
        (A^\top+A)X_{[j,:]}/2,\quad Z_i=\sum_{j'}\exp(\beta X_{[i,:]}^\top AX_{[j',:]})""",
    assumptions=[DELTA],
    name="attention drive under the weight condition, corrected", relation=Equal(), all_sizes=True, of_project=True,
    corrects=("dynamics.eq-37", "dynamics.eq-38"))  # fmt: skip


@EQ_37_CORRECTED.formula
def update_through_softmax(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """softmax(beta X A X^T) X (A^T + A) / 2, shape (S, D)."""
    A = W_Q @ W_K.T
    return softmax(X @ A @ X.T * beta) @ X @ (A.T + A) * rational(1, 2)


EQ_37_CORRECTED.oracle(lambda X, W_Q, W_K, beta: attention_head(X, W_Q, W_K, symmetrised_values(W_Q, W_K), beta))
EQ_37_CORRECTED.mutant("W^V inside the softmax, as Eq. (37) is printed",
    "X @ A @ X.T -> X @ symmetrised_values(W_Q, W_K) @ X.T")  # fmt: skip
EQ_37_CORRECTED.mutant("A not symmetrised", "A.T + A -> A + A")
EQ_37_CORRECTED.mutant("weights normalised over i instead of j",
    "softmax(X @ A @ X.T * beta) -> softmax(X @ A.T @ X.T * beta).T")  # fmt: skip
EQ_37_CORRECTED.mutant("factor 1/2 dropped", lambda value: value * 2)
EQ_37_CORRECTED.mutant("weights exp(beta x_j^T A x_i)", "X @ A @ X.T -> X @ A.T @ X.T")


EQ_38 = Claim(PROOF, "dynamics.eq-38", label="Eq. (38), proof of Prop. 4.1", name="attention drive as weighted sum",
    statement=r"""\Delta_{[i,:]}=\sum_j\frac{\exp(\beta X_{[i,:]}^\top AX_{[j,:]})}{Z_i}(A^\top+A)X_{[j,:]}/2,\quad
        Z_i=\sum_{j'}\exp(\beta X_{[i,:]}^\top AX_{[j',:]})""",
    assumptions=[DELTA, CONDITION_31],
    relation=Equal(), expects="refuted", severity="slip",
    repeats="dynamics.sec-4-symmetric-constraint", correction="dynamics.eq-37-corrected",
    presumes=("dynamics.eq-11-form",),
    note=r"""With $W^V$ of (31) as printed the values are $(W^{Q\top}W^K + A)/2$. The line itself, which has $(A^\top +
        A)/2$, shows that $W^K W^{Q\top}$ is meant. At the counterexample $A$ is symmetric.""")  # fmt: skip


@EQ_38.formula
def update_of_token(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """sum_j E_ij / Z_i (A^T + A) x_j / 2, row i for token i, shape (S, D) (Eq. (38)).

    E_ij / Z_i is a softmax, which does not underflow in floats.
    """
    A = W_Q @ W_K.T
    return softmax(X @ A @ X.T * beta) @ X @ (A + A.T) * rational(1, 2)


EQ_38.oracle(lambda X, W_Q, W_K, beta: attention_head(X, W_Q, W_K, printed_values(W_Q, W_K), beta))
# Rounded: [[1.366, 1.134], [1.25, 1.25]] on the left, [[1.731, 1], [1.5, 1]] on the right
EQ_38.counterexample("two tokens on the axes, W^Q = W^K = [[1, 1], [0, 1]]",
    X=[[1, 0], [0, 1]], W_Q=[[1, 1], [0, 1]], W_K=[[1, 1], [0, 1]], beta=1)  # fmt: skip
EQ_38.mutant("weights normalised over i instead of j", "softmax(X @ A @ X.T * beta) -> softmax(X @ A.T @ X.T * beta).T")
EQ_38.mutant("factor 1/2 dropped", lambda value: value * 2)


def energy_rate(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
    """dE/dt along Eq. (3), a scalar, by differentiating E along the flow."""
    return rate_along(lambda X: energy(X, W_Q, W_K, beta), X, flow(X, W_Q, W_K, W_V, beta), beta * 0)


def _unprojected(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
    """dE/dX . Delta, a scalar: the rate without the projection of Eq. (3)."""
    return total(gradient_by_differentiation(X, W_Q, W_K, beta) * attention_head(X, W_Q, W_K, W_V, beta))


# -- dE/dt -------------------------------------------------------------------------------------------------------------

EQ_41 = Claim(PROOF, "dynamics.eq-41", label="Eqs. (39)-(41), proof of Prop. 4.1",
    statement=r"""
        \frac{dE_{\text{single}}(X)}{dt}=\frac{dE_{\text{single}}(X)}{dX}\cdot\frac{dX}{dt}=-\sum_i\Big(\frac{dE_{
        \text{single}}(X)}{dX_{[i,:]}}\cdot(I_D-X_{[i,:]}X_{[i,:]}^
        \top)\Delta_{[i,:]}\Big)""",
    assumptions=[DYNAMICS_3],
    name="chain rule for the single-head energy", relation=Equal(), expects="refuted", severity="slip",
    correction="dynamics.eq-41-corrected",
    note="The minus sign of $dE/dX$ is put in twice here; Eq. (42) has it once.")  # fmt: skip
EQ_41.inputs(unit_tokens_and_values)


@EQ_41.formula
def chain_rule_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (41), a scalar."""
    return -total(energy_rate_terms(X, W_Q, W_K, W_V, beta))


EQ_41.oracle(energy_rate)
EQ_41.counterexample("two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]], W^V from (11)",
    lambda: {**climbing_weights(), "W_V": [["-1", "3/2"], ["3/2", "0"]]})  # fmt: skip
EQ_41.mutant("projection dropped", lambda X, W_Q, W_K, W_V, beta: -_unprojected(X, W_Q, W_K, W_V, beta))
EQ_41.mutant("sign", lambda value: -value)


EQ_41_CORRECTED = EQ_41.corrected("dynamics.eq-41-corrected", setting=EXACT_PROOF,
    label="Eq. (41) without the second minus sign",
    statement=r"""\frac{dE_{\text{single}}(X)}{dt}=\sum_i\frac{dE_{\text{single}}(X)}{dX_{[i,:]}}
        \cdot(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]},\ \Delta=\operatorname{softmax}(\beta XAX^\top)XW^V""",
    name="chain rule for the single-head energy, corrected",
    general="It is the chain rule, for every differentiable energy and every flow on the spheres.", all_sizes=True,
)  # fmt: skip


@EQ_41_CORRECTED.formula
def chain_rule(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """sum_i dE/dX_i . (I - X_i X_i^T) Delta_i, a scalar."""
    return total(energy_rate_terms(X, W_Q, W_K, W_V, beta))


EQ_41_CORRECTED.mutant("minus, as Eq. (41) is printed", lambda value: -value)
EQ_41_CORRECTED.mutant("projection dropped", _unprojected)


EQ_42 = Claim(PROOF, "dynamics.eq-42", label="Eq. (42), proof of Prop. 4.1",
    statement=r"""\frac{dE_{\text{single}}(X)}{dt}=-\sum_i\Big(\sum_j\exp(\beta X_{[i,:]}^\top
        AX_{[j,:]})(A^\top+A)X_{[j,:]} \cdot(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}\Big)""",
    assumptions=[DYNAMICS_3, CONDITION_31],
    name="rate of the single-head energy, expanded", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.eq-42-corrected", uses=("dynamics.eq-36",),
    note=AGREES)  # fmt: skip


def _rate(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any, factor: Any, swapped: bool = True, projected: bool = True
) -> Any:
    """`factor` times the sum over tokens of Eq. (42), with the parts in which mutants and correction differ."""
    update = attention_head(X, W_Q, W_K, W_V, beta)
    return total(gradient(X, W_Q, W_K, beta, factor, swapped) * (projection(X, update) if projected else update))


@EQ_42.formula
def rate_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (42), a scalar."""
    return _rate(X, W_Q, W_K, printed_values(W_Q, W_K), beta, -1, swapped=False)


EQ_42.oracle(lambda X, W_Q, W_K, beta: energy_rate(X, W_Q, W_K, printed_values(W_Q, W_K), beta))
EQ_42.counterexample("two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]", climbing_weights)
EQ_42.mutant("projection dropped", projected=False)
EQ_42.mutant("sign", factor=1)


EQ_42_CORRECTED = Claim(EXACT_PROOF, "dynamics.eq-42-corrected", label="Eq. (42) for any A and W^V",
    statement=r"""\frac{dE_{\text{single}}(X)}{dt}=-\beta\sum_i\Big(\sum_j\big(\exp(\beta X_{[i,:]}^\top
        AX_{[j,:]})A+\exp(\beta X_{[j,:]}^\top AX_{[i,:]})A^\top\big)X_{[j,:]}\cdot(I_D-X_{[i,:]}X_{[i,:]}^\top)
        \Delta_{[i,:]}\Big),\ \Delta=\operatorname{softmax}(\beta XAX^\top)XW^V""",
    assumptions=[DYNAMICS_3],
    name="rate of the single-head energy, any weights", relation=Equal(), all_sizes=True, of_project=True,
    corrects="dynamics.eq-42", proof=("dynamics.eq-36-corrected", "dynamics.eq-41-corrected"))  # fmt: skip
EQ_42_CORRECTED.inputs(unit_tokens_and_values)


@EQ_42_CORRECTED.formula
def rate_from_gradient(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """dE/dt along Eq. (3), a scalar."""
    return _rate(X, W_Q, W_K, W_V, beta, -beta)


EQ_42_CORRECTED.oracle(energy_rate)
EQ_42_CORRECTED.mutant("the same weight in both sums, as Eq. (42) is printed", swapped=False)
EQ_42_CORRECTED.mutant("projection dropped", projected=False)


# -- the quadratic form ------------------------------------------------------------------------------------------------

EQS_43_44 = Claim(EXACT_PROOF, "dynamics.eq-43-44", label="Step (42)->(43)->(44), proof of Prop. 4.1",
    statement=r"""-\sum_i\Big(\sum_j\exp(\beta X_{[i,:]}^\top AX_{[j,:]})(A^\top+A)X_{[j,:]}
        \cdot(I_D-X_{[i,:]}X_{[i,:]}^\top) \Delta_{[i,:]}\Big)=-2\sum_i\Big(Z_i\Delta_{[i,:]}
        \cdot(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}\Big)=-2\sum_i\Big(Z_i
        \Delta_{[i,:]}^\top(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}\Big)""",
    assumptions=[Definition(r"\Delta as in (38)", by=softmax)],
    name="rate of the single-head energy, last steps", relation=Equal(), all_sizes=True,
    uses=("dynamics.eq-38",))  # fmt: skip


def _losses(X: Any, update: Any, Z: Any) -> Any:
    """Z_i Delta_i^T (I - x_i x_i^T) Delta_i for every token, shape (S, 1)."""
    return row_sums(update * projection(X, update)) * Z


def _unprojected_losses(X: Any, update: Any, Z: Any) -> Any:
    return row_sums(update * update) * Z


@EQS_43_44.formula
def quadratic_form(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """-2 sum_i Z_i Delta_i^T (I - x_i x_i^T) Delta_i, a scalar (Eq. (44))."""
    update, Z = update_of_token(X, W_Q, W_K, beta), row_sums(exponentials(X, W_Q, W_K, beta))
    return -2 * total(_losses(X, update, Z))


@EQS_43_44.oracle
def sum_of_products(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """Eq. (42), with P_i as a projection and the pairs as one matrix product."""
    pairs = exponentials(X, W_Q, W_K, beta) @ X @ (W_Q @ W_K.T + W_K @ W_Q.T)
    update = attention_head(X, W_Q, W_K, symmetrised_values(W_Q, W_K), beta)
    return -total(pairs * update) + total(row_sums(pairs * X) * row_sums(X * update))


EQS_43_44.mutant("factor 2 dropped", "-2 -> -1")
EQS_43_44.mutant("Z_i dropped", Z=1)
EQS_43_44.mutant("Z_i of the transposed weights",
    "exponentials(X, W_Q, W_K, beta) -> exponentials(X, W_Q, W_K, beta).T")  # fmt: skip


EQ_44 = Claim(PROOF, "dynamics.eq-44", label="Eq. (44) as the value of dE/dt",
    statement=r"""\frac{dE_{\text{single}}(X)}{dt}=-2\sum_i\Big(Z_i\Delta_{[i,:]}^\top(I_D-X_{[i,:]}X_{[i,:]}^\top)
        \Delta_{[i,:]}\Big)""",
    assumptions=[DYNAMICS_3, CONDITION_31],
    name="rate of the single-head energy as a square", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.prop-4.1-rate", uses=("dynamics.eq-42",),
    note=AGREES)  # fmt: skip


@EQ_44.formula
def quadratic_rate_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (44), a scalar."""
    update = attention_head(X, W_Q, W_K, printed_values(W_Q, W_K), beta)
    return -2 * total(_losses(X, update, row_sums(exponentials(X, W_Q, W_K, beta))))


EQ_44.oracle(lambda X, W_Q, W_K, beta: energy_rate(X, W_Q, W_K, printed_values(W_Q, W_K), beta))
EQ_44.counterexample("two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]", climbing_weights)
EQ_44.mutant("projection dropped", "_losses -> _unprojected_losses")
EQ_44.mutant("sign", lambda value: -value)


EQ_45 = Claim(PROOF, "dynamics.eq-45", label="Eq. (45) and 'the matrix I-XX^T is positive semi-definite'",
    statement=r"""-2\sum_i\Big(Z_i\Delta_{[i,:]}^\top(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}\Big)\le0\text{, since
        ``the matrix }I_D-X_{[i,:]}X_{[i,:]}^\top\text{ is positive semi-definite''}""",
    name="tangent projection is positive semi-definite", relation=AtMost(signed=True),
    note=r"""For each token $v_i^\top(I - x_i x_i^\top)v_i \ge 0$ with free $v_i$, and the sum with $\Delta$ of Eq.
        (38). Tokens of norm above 1 would break both, so it is here that the sphere is needed.""")  # fmt: skip


@EQ_45.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS})
def unit_tokens_and_directions(
    directions: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta, V: Tokens
) -> dict[str, Any]:
    """Unit tokens in the given directions, weights as drawn, and a free vector v_i for every token."""
    return {**on_the_sphere(directions, W_Q, W_K, beta), "V": V}


@EQ_45.formula
def tangent_forms(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta, V: Tokens) -> Any:
    """The quadratic forms for v_i and Delta_i, and squared lengths, which give them a scale; shape (4 S, 1)."""
    update, Z = update_of_token(X, W_Q, W_K, beta), row_sums(exponentials(X, W_Q, W_K, beta))
    along, share = row_sums(X * V), row_sums(X * update)
    forms = [row_sums(V * V) - along * along, (row_sums(update * update) - share * share) * Z]
    return concatenate([*forms, row_sums(V * V), row_sums(update * update) * Z], axis=0)


EQ_45.oracle(lambda X: zeros(4 * X.shape[0], 1))
EQ_45.mutant("reflection instead of projection",
    "along * along -> 2 * along * along; share * share -> 2 * share * share")  # fmt: skip
EQ_45.mutant("sign", "forms -> [-form for form in forms]")
EQ_45.mutant("tokens of norm 2", "X -> X * 2")
