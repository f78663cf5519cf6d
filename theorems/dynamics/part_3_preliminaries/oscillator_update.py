"""Eqs. (7) and (8), the update of AKOrN: tangent to the sphere of every oscillator, then back onto it."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Heads, QueryWeights, SquareWeights, Tokens, multi_head_attention, unit_rows,
)  # fmt: skip
from theorems.dynamics.part_c_details.oscillators import (
    oscillator_normalisation, oscillator_omega, oscillator_projection,
)  # fmt: skip
from theorems.dynamics.settings import HEADS_FIT, Step, Width
from verify.matrix import concatenate, mapped, parts_of_width, row_sums
from verify.vocabulary import Assumption, Claim, HasStructure, Setting, Shape, realises
from verify.vocabulary.hypotheses import skew_blocks, unit_parts

#: Omega_1, ..., Omega_{D/N} on top of each other.
Rotations = Annotated[Any, Shape("D", "N")]

UNIT_OSCILLATORS = Assumption(
    r"\|\tilde X_{i,j}\| = 1 for every oscillator", zero=lambda X, N: row_sums(X.reshape(-1, N) * X.reshape(-1, N)) - 1
)
WHOLE_OSCILLATORS = Assumption("N divides D", sizes=lambda sizes: sizes["D"] % sizes["N"] == 0)
ANTISYMMETRIC_BLOCKS = Assumption(
    r"every \Omega_j is anti-symmetric",
    zero=lambda Omega, N: concatenate(mapped(lambda block: block + block.T, blocks_of(Omega, N)), axis=0),
)


def blocks_of(Omega: Any, N: int) -> list[Any]:
    """Omega_1, ..., Omega_{D/N}, each (N, N), from their stack (D, N)."""
    return parts_of_width(Omega, N, 0)


def akorn_increment(X: Any, C: Any, Omega: Any, attended: Any, N: int) -> Any:
    """Delta X = Omg(X) + Proj_X(C + MSA(X)), oscillator-wise, shape (S, D) (Eq. (7))."""
    return oscillator_omega(X, Omega, N) + oscillator_projection(X, C + attended, N)


@realises({r"tilde X_{i,j}\| = 1": reached.UNIT_ROWS, "Omega_j is anti-symmetric": reached.SKEW})
def unit_oscillators(
    directions: Tokens, G: Rotations, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights,
    W_O: SquareWeights, beta: Beta, eta: Step, H: Heads, N: Width,
) -> dict[str, Any]:  # fmt: skip
    """Unit oscillators, anti-symmetric blocks G_j - G_j^T, the rest as drawn."""
    Omega = concatenate(mapped(lambda block: block - block.T, blocks_of(G, N)), axis=0)
    X = unit_rows(directions.reshape(-1, N)).reshape(*directions.shape)
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    return {"X": X, "Omega": Omega, "C": C, **weights, "beta": beta, "eta": eta, "H": H, "N": N}


AKORN = Setting(
    DYNAMICS,
    "Section 3, AKOrN",
    assumptions=[UNIT_OSCILLATORS, ANTISYMMETRIC_BLOCKS, HEADS_FIT, WHOLE_OSCILLATORS],
    sizes={"S": (1, 3), "D": (1, 6), "N": (1, 3), "H": (1, 2)},
    inputs=unit_oscillators,
    hypotheses=(
        unit_parts("X", "N", stated=UNIT_OSCILLATORS.text), skew_blocks("Omega", stated=ANTISYMMETRIC_BLOCKS.text),
    ),
)  # fmt: skip

EQ_7 = Claim(AKORN, "dynamics.eq-7-omega",
    label="Eq. (7) and text ('Omega layer ... anti-symmetric ... rotational dynamics')",
    statement=r"""\Delta X^{(t)}=\operatorname{Omg}^{(osc)}(X^{(t)})+\operatorname{Proj}^{(osc)}_{X^{(t)}}(C+
        \operatorname{MSA}(X^{(t)}));\quad \text{``The Omega layer (Omg) is given by a linear transformation by
        anti-symmetric matrices and determines the rotational dynamics of oscillators'': }\tilde
        X_{i,j}^\top\Omega_j\tilde X_{i,j}=0,\text{ and }\Delta X^{(t)}\text{ is tangent to the sphere of each
        oscillator}""",
    name="AKOrN increment, tangent to the oscillator spheres", relation=HasStructure(), all_sizes=True, exact=True,
    uses=("dynamics.eq-5-operators", "dynamics.eq-97"))  # fmt: skip


@EQ_7.formula
def omega_and_update(
    X: Tokens, Omega: Rotations, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights,
    W_O: SquareWeights, beta: Beta, H: Heads, N: Width,
) -> Any:  # fmt: skip
    """Omg(X) above Delta X, shape (2 S, D) (Eq. (7))."""
    turned = oscillator_omega(X, Omega, N)
    drive = C + multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H)
    return concatenate([turned, turned + oscillator_projection(X, drive, N)], axis=0)


@EQ_7.part("structure")
def parts_along_oscillators(value: Any, X: Tokens, N: Width) -> Any:
    """The inner product of every oscillator with its row of the value, shape (2 S D/N, 1)."""
    both = concatenate([X, X], axis=0)
    return row_sums((both * value).reshape(-1, N))


EQ_7.mutant(
    "symmetric Omega_j^2", "Omega -> concatenate(mapped(lambda block: block @ block, blocks_of(Omega, N)), axis=0)"
)
EQ_7.mutant("projection dropped", "oscillator_projection(X, drive, N) -> drive")
EQ_7.mutant("whole tokens projected",
    "oscillator_projection(X, drive, N) -> oscillator_projection(X, drive, X.shape[1])")  # fmt: skip


# -- Eq. (8) -----------------------------------------------------------------------------------------------------------

EQ_8 = Claim(AKORN, "dynamics.eq-8-unit-oscillators", label="Eqs. (7)-(8),(97)",
    statement=r"""X^{(t+1)}=\Pi^{(osc)}(X^{(t)}+\eta\Delta X^{(t)}),\quad \|\tilde X^{(t+1)}_{i,j}\|=1\ \text{for every
        oscillator}""",
    name="AKOrN update keeps oscillators at unit norm", relation=HasStructure(), all_sizes=True,
    uses=("dynamics.eq-7-omega", "dynamics.eq-97"),
    note=r"""Before $\Pi$ the squared norm is $1 + \eta^2 \|\Delta\|^2$ by Pythagoras, so that $\Pi$ is always defined,
        for $\eta$ of either sign.
        Tokens have norm $\sqrt{D/N}$, not 1.""")  # fmt: skip


@EQ_8.formula
def before_and_after_normalisation(
    X: Tokens, Omega: Rotations, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights,
    W_O: SquareWeights, beta: Beta, eta: Step, H: Heads, N: Width,
) -> Any:  # fmt: skip
    """X + eta Delta X above X^(t+1), shape (2 S, D) (Eq. (8))."""
    drive = C + multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H)
    Y = X + (oscillator_omega(X, Omega, N) + oscillator_projection(X, drive, N)) * eta
    return concatenate([Y, oscillator_normalisation(Y, N)], axis=0)


@EQ_8.part("structure")
def defects_of_norms(value: Any, X: Tokens, N: Width) -> Any:
    """|y|^2 - 1 - |y - x|^2 before, |x'|^2 - 1 after, for every oscillator, shape (2 S D/N, 1)."""
    S = X.shape[0]
    before, after, x = value[:S].reshape(-1, N), value[S:].reshape(-1, N), X.reshape(-1, N)
    moved = before - x
    tangent = row_sums(before * before) - 1 - row_sums(moved * moved)
    return concatenate([tangent, row_sums(after * after) - 1], axis=0)


EQ_8.mutant("whole tokens normalised", "oscillator_normalisation(Y, N) -> oscillator_normalisation(Y, X.shape[1])")
EQ_8.mutant("not normalised", "oscillator_normalisation(Y, N) -> Y")
EQ_8.mutant("drive not projected", "oscillator_projection(X, drive, N) -> drive")
