"""The rate of the single-head energy: Eqs. (39)-(45) of the printed proof of Proposition 4.1."""

from __future__ import annotations

from typing import Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta,
    QueryWeights,
    SquareWeights,
    Tokens,
    attention_head,
    energy,
    energy_rate_terms,
    flow,
    projection,
    rate_along,
)
from theorems.dynamics.energy import on_the_sphere
from theorems.dynamics.energy_gradient import (
    SETTING,
    SIZES,
    exponentials,
    gradient,
    gradient_by_differentiation,
    nilpotent_weights,
)
from theorems.dynamics.operators import unit_tokens_and_values
from theorems.dynamics.values_condition import (
    SYMMETRISED,
    climbing_weights,
    printed_values,
    symmetrised_values,
    update_as_sum,
)
from verify.matrix import concatenate, row_sums, total, zeros
from verify.vocabulary import AtMost, Claim, Equal


def energy_rate(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
    """dE/dt along Eq. (3), a scalar, by differentiating E along the flow."""

    def energy_of(X: Any) -> Any:
        return energy(X, W_Q, W_K, beta)

    return rate_along(energy_of, X, flow(X, W_Q, W_K, W_V, beta), beta * 0)


# -- dE/dt -------------------------------------------------------------------------------------------------------------

EQ_41 = Claim(
    DYNAMICS,
    "dynamics.eq-41",
    label="Eqs. (39)-(41), proof of Prop. 4.1",
    statement=r"\frac{dE}{dt}=\frac{dE}{dX}\cdot\frac{dX}{dt}=-\sum_i\Big(\frac{dE}{dX_{[i,:]}}\cdot(I_D-X_{[i,:]}X_{[i,:]}"
    r"^\top)\Delta_{[i,:]}\Big)",
    assumptions=[*SETTING, "dynamics (3)"],
    relation=Equal(),
    sizes=SIZES,
    expects="refuted",
    severity="slip",
    correction="dynamics.eq-41-corrected",
    note="The minus sign of dE/dX is put in twice here; Eq. (42) has it once.",
)

EQ_41.inputs(unit_tokens_and_values)


@EQ_41.formula
def chain_rule_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (41), a scalar."""
    return -total(energy_rate_terms(X, W_Q, W_K, W_V, beta))


@EQ_41.oracle
def rate_along_the_flow(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    return energy_rate(X, W_Q, W_K, W_V, beta)


EQ_41.counterexample(
    "two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]], W^V from (11)",
    lambda: {**climbing_weights(), "W_V": [["-1", "3/2"], ["3/2", "0"]]},
)


@EQ_41.mutant("projection dropped")
def _(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    return -total(gradient_by_differentiation(X, W_Q, W_K, beta) * attention_head(X, W_Q, W_K, W_V, beta))


EQ_41.mutant("sign", lambda X, W_Q, W_K, W_V, beta: total(energy_rate_terms(X, W_Q, W_K, W_V, beta)))


EQ_41_CORRECTED = Claim(
    DYNAMICS,
    "dynamics.eq-41-corrected",
    label="Eq. (41) without the second minus sign",
    statement=r"\frac{dE}{dt}=\sum_i\frac{dE}{dX_{[i,:]}}\cdot(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}",
    assumptions=[*SETTING, "dynamics (3)"],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    of_project=True,
    corrects="dynamics.eq-41",
)

EQ_41_CORRECTED.inputs(unit_tokens_and_values)
EQ_41_CORRECTED.domain("nilpotent A")(nilpotent_weights)


@EQ_41_CORRECTED.formula
def chain_rule(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """sum_i dE/dX_i . (I - X_i X_i^T) Delta_i, a scalar."""
    return total(energy_rate_terms(X, W_Q, W_K, W_V, beta))


EQ_41_CORRECTED.oracle(rate_along_the_flow)
EQ_41_CORRECTED.mutant("minus, as Eq. (41) is printed", lambda value: -value)


@EQ_41_CORRECTED.mutant("projection dropped")
def _(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    return total(gradient_by_differentiation(X, W_Q, W_K, beta) * attention_head(X, W_Q, W_K, W_V, beta))


EQ_42 = Claim(
    DYNAMICS,
    "dynamics.eq-42",
    label="Eq. (42), proof of Prop. 4.1",
    statement=r"\frac{dE}{dt}=-\sum_i\Big(\sum_j\exp(\beta X_{[i,:]}^\top AX_{[j,:]})(A^\top+A)X_{[j,:]}\cdot(I_D-X_{[i,:]}"
    r"X_{[i,:]}^\top)\Delta_{[i,:]}\Big)",
    assumptions=[*SETTING, "dynamics (3), condition (31)"],
    relation=Equal(),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    correction="dynamics.eq-42-corrected",
    uses=("dynamics.eq-36",),
    doubt=SYMMETRISED + "; the counterexample has W^K = I, where both agree.",
)

EQ_42.inputs(on_the_sphere)


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


@EQ_42.oracle
def rate_under_printed_condition(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    return energy_rate(X, W_Q, W_K, printed_values(W_Q, W_K), beta)


EQ_42.counterexample("two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]", lambda: climbing_weights())
EQ_42.mutant("projection dropped", projected=False)
EQ_42.mutant("sign", factor=1)


EQ_42_CORRECTED = Claim(
    DYNAMICS,
    "dynamics.eq-42-corrected",
    label="Eq. (42) for any A and W^V",
    statement=r"\frac{dE}{dt}=-\beta\sum_i\Big(\sum_j\big(\exp(\beta X_{[i,:]}^\top AX_{[j,:]})A+\exp(\beta X_{[j,:]}^\top A"
    r"X_{[i,:]})A^\top\big)X_{[j,:]}\cdot(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}\Big)",
    assumptions=[*SETTING, "dynamics (3), any W^V"],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    of_project=True,
    corrects="dynamics.eq-42",
    proof=("dynamics.eq-36-corrected", "dynamics.eq-41-corrected"),
)

EQ_42_CORRECTED.inputs(unit_tokens_and_values)
EQ_42_CORRECTED.domain("nilpotent A")(nilpotent_weights)


@EQ_42_CORRECTED.formula
def rate_from_gradient(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta) -> Any:
    """dE/dt along Eq. (3), a scalar."""
    return _rate(X, W_Q, W_K, W_V, beta, -beta)


EQ_42_CORRECTED.oracle(rate_along_the_flow)
EQ_42_CORRECTED.mutant("the same weight in both sums, as Eq. (42) is printed", swapped=False)
EQ_42_CORRECTED.mutant("projection dropped", projected=False)


# -- the quadratic form ------------------------------------------------------------------------------------------------

EQS_43_44 = Claim(
    DYNAMICS,
    "dynamics.eq-43-44",
    label="Step (42)->(43)->(44), proof of Prop. 4.1",
    statement=r"-\sum_i\Big(\sum_j\exp(\beta X_{[i,:]}^\top AX_{[j,:]})(A^\top+A)X_{[j,:]}\cdot P_i\Delta_{[i,:]}\Big)=-2\sum_iZ_i"
    r"\,\Delta_{[i,:]}^\top(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}",
    assumptions=[*SETTING, r"\Delta as in (38); P_i = I - X_i X_i^\top"],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
)

EQS_43_44.inputs(on_the_sphere)
EQS_43_44.domain("nilpotent A")(nilpotent_weights)


def _losses(X: Any, update: Any, Z: Any) -> Any:
    """Z_i Delta_i^T (I - x_i x_i^T) Delta_i for every token, shape (S, 1)."""
    return row_sums(update * projection(X, update)) * Z


@EQS_43_44.formula
def quadratic_form(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """-2 sum_i Z_i Delta_i^T (I - x_i x_i^T) Delta_i, a scalar (Eq. (44))."""
    return -2 * total(_losses(X, update_as_sum(X, W_Q, W_K, beta), row_sums(exponentials(X, W_Q, W_K, beta))))


@EQS_43_44.oracle
def sum_of_products(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """Eq. (42), with P_i as a projection and the pairs as one matrix product."""
    pairs = exponentials(X, W_Q, W_K, beta) @ X @ (W_Q @ W_K.T + W_K @ W_Q.T)
    update = attention_head(X, W_Q, W_K, symmetrised_values(W_Q, W_K), beta)
    return -total(pairs * update) + total(row_sums(pairs * X) * row_sums(X * update))


@EQS_43_44.mutant("factor 2 dropped")
def _(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    return -total(_losses(X, update_as_sum(X, W_Q, W_K, beta), row_sums(exponentials(X, W_Q, W_K, beta))))


EQS_43_44.mutant("Z_i dropped", Z=1)
EQS_43_44.mutant(
    "Z_i of the transposed weights", "exponentials(X, W_Q, W_K, beta) -> exponentials(X, W_Q, W_K, beta).T"
)


EQ_44 = Claim(
    DYNAMICS,
    "dynamics.eq-44",
    label="Eq. (44) as the value of dE/dt",
    statement=r"\frac{dE_{\text{single}}}{dt}=-2\sum_iZ_i\,\Delta_{[i,:]}^\top(I_D-X_{[i,:]}X_{[i,:]}^\top)\Delta_{[i,:]}",
    assumptions=[*SETTING, "dynamics (3), condition (31)"],
    relation=Equal(),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    correction="dynamics.prop-4.1-rate",
    uses=("dynamics.eq-42",),
    doubt=SYMMETRISED + "; the counterexample has W^K = I, where both agree.",
)

EQ_44.inputs(on_the_sphere)


def _quadratic_rate(X: Any, W_Q: Any, W_K: Any, beta: Any, factor: int = -2, projected: bool = True) -> Any:
    update = attention_head(X, W_Q, W_K, printed_values(W_Q, W_K), beta)
    Z = row_sums(exponentials(X, W_Q, W_K, beta))
    return total(_losses(X, update, Z) if projected else row_sums(update * update) * Z) * factor


@EQ_44.formula
def quadratic_rate_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (44), a scalar."""
    return _quadratic_rate(X, W_Q, W_K, beta)


EQ_44.oracle(rate_under_printed_condition)
EQ_44.counterexample("two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]", lambda: climbing_weights())
EQ_44.mutant("projection dropped", projected=False)
EQ_44.mutant("sign", factor=2)


EQ_45 = Claim(
    DYNAMICS,
    "dynamics.eq-45",
    label="Eq. (45) and 'the matrix I-XX^T is positive semi-definite'",
    statement=r"I_D-X_{[i,:]}X_{[i,:]}^\top\succeq0,\quad -2\sum_iZ_i\Delta_{[i,:]}^\top(I_D-X_{[i,:]}X_{[i,:]}^\top)"
    r"\Delta_{[i,:]}\le0",
    assumptions=SETTING,
    relation=AtMost(signed=True),
    sizes=SIZES,
    note=r"For each token v_i^\top (I - x_i x_i^\top) v_i \ge 0 with free v_i, and the sum with \Delta of Eq. (38). Tokens of norm"
    " above 1 would break both, so it is here that the sphere is needed.",
)


@EQ_45.inputs
def unit_tokens_and_directions(
    directions: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta, V: Tokens
) -> dict[str, Any]:
    """Unit tokens in the given directions, weights as drawn, and a free vector v_i for every token."""
    return {**on_the_sphere(directions, W_Q, W_K, beta), "V": V}


def _forms(X: Any, W_Q: Any, W_K: Any, beta: Any, V: Any, share: int = 1, sign: int = 1) -> Any:
    """v_i^T (I - share x_i x_i^T) v_i and Z_i Delta_i^T (I - share x_i x_i^T) Delta_i, then their scales, shape (4 S, 1)."""
    update, Z = update_as_sum(X, W_Q, W_K, beta), row_sums(exponentials(X, W_Q, W_K, beta))

    def form(Y: Any) -> Any:
        along = row_sums(X * Y)
        return (row_sums(Y * Y) - along * along * share) * sign

    return concatenate([form(V), form(update) * Z, row_sums(V * V), row_sums(update * update) * Z], axis=0)


@EQ_45.formula
def tangent_forms(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta, V: Tokens) -> Any:
    """The quadratic forms for v_i and Delta_i, and squared lengths, which give them a scale; shape (4 S, 1)."""
    return _forms(X, W_Q, W_K, beta, V)


EQ_45.oracle(lambda X: zeros(4 * X.shape[0], 1))
EQ_45.mutant("reflection instead of projection", share=2)
EQ_45.mutant("sign", sign=-1)
EQ_45.mutant("tokens of norm 2", lambda X, W_Q, W_K, beta, V: _forms(X * 2, W_Q, W_K, beta, V))
