"""Appendix A.3, Eqs. (48)-(66): the printed proof of Proposition 4.2.

Surprising: the gradient (48) is wrong for the asymmetric heads that the condition demands; the orthogonality (66) is right, but
needs a product that (58) and (59) leave out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, Heads, Tokens
from theorems.dynamics.part_4_energy.multi_head import (
    MULTI_HEAD_ATTENTION, ORTHONORMAL_BLOCKS, PRINTED_VALUES, WHOLE_BLOCKS, SharedBasis, head_outputs, multi_head_energy,
    multi_head_rate, printed_head_values, products, sum_of_squares, symmetric_parts, two_tokens_one_head,
    two_tokens_two_heads,
)  # fmt: skip
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import (
    added, basis_vector, concatenate, each, exp, eye, mapped, ones, parts, rational, row_sums, softmax, total, zeros,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Shape, realises
from verify.vocabulary.hypotheses import orthonormal_columns

ORTHONORMAL = (orthonormal_columns("U", stated=ORTHONORMAL_BLOCKS.text),)
CONDITION = Definition(r"\Delta_h as in (49), with the values W_h^V = (A_h^\top + A_h)/2", by=symmetric_parts)
TWO_HEADS = Assumption("there are different heads: H >= 2", sizes=lambda sizes: sizes["H"] >= 2)
SUM_OF_HEADS = Definition(r"dX/dt = \sum_h SA_h(X)", by=multi_head_rate)


def small_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Exponents of order 1, where float32 has its digits."""
    arrays["X"][:] = rng.integers(-4, 5, arrays["X"].shape) / 4
    arrays["beta"][:] = 1.0 + rng.integers(1, 5, len(arrays["beta"])) / 4


EXACT_PROOF = MULTI_HEAD_ATTENTION.extended(
    "Appendix A.3, lines that hold", exact=True, special_domains={"small tokens": small_tokens}
)


def _pairs(X: Any, A: Any, beta: Any, swapped: bool = False) -> Any:
    """sum_j (E_ij A + E_ij A^T) x_j, or with E_ji in the second term if `swapped`; row i for token i, shape (S, D)."""
    E = exp(X @ A @ X.T * beta)
    return E @ X @ A.T + (E.T if swapped else E) @ X @ A


def _gradient(X: Any, U: Any, beta: Any, H: int, factor: Any, swapped: bool) -> Any:
    return added(mapped(lambda A: _pairs(X, A, beta, swapped), products(U, H))) * factor


def _outputs(X: Any, U: Any, beta: Any, H: int) -> list[Any]:
    return head_outputs(X, products(U, H), symmetric_parts(products(U, H)), beta)


def _rate(X: Any, U: Any, beta: Any, H: int) -> Any:
    """dE_multi/dt along the sum of the heads, differentiated, a scalar."""
    return multi_head_rate(X, products(U, H), symmetric_parts(products(U, H)), beta)


def _sharing_a_block(U: Any) -> list[Any]:
    """Two heads whose inner blocks are the same: U_1 U_2^T and U_2 U_4^T, each (D, D), which are not orthogonal."""
    first, second, _third, last = parts(U, 4, 1)
    return [first @ second.T, second @ last.T]


# -- the gradient ------------------------------------------------------------------------------------------------------

EQ_48 = Claim(MULTI_HEAD_ATTENTION, "dynamics.eq-48", label="Eq. (48), proof of Prop. 4.2",
    statement=r"""\frac{\partial E_{\text{multi}}(X)}{\partial X_{[i,:]}}=-\sum_h\sum_j\exp\left(\beta X_{[i,:]}^\top
        A_hX_{[j,:]}\right)(A_h^\top+A_h)X_{[j,:]}""",
    name="gradient of the multi-head energy", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.eq-48-corrected",
    note=r"""As Eq. (36), wrong for the asymmetric $A_h$ that the condition (47) demands. The counterexample has $\beta
        = 1$, which the line leaves out.""")  # fmt: skip


@EQ_48.formula
def multi_head_gradient_as_printed(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """The right-hand side of Eq. (48), row i for token i, shape (S, D)."""
    return _gradient(X, U, beta, H, -1, swapped=False)


@EQ_48.oracle
def multi_head_gradient_by_differentiation(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    return jacobian(lambda X: multi_head_energy(X, products(U, H), beta), "X")(X).reshape(*X.shape)


EQ_48.counterexample("two tokens, one head, A = E_12")(two_tokens_one_head)
EQ_48.mutant("sign", factor=1)
EQ_48.mutant("factor two", factor=-2)


EQ_48_CORRECTED = EQ_48.corrected("dynamics.eq-48-corrected", setting=EXACT_PROOF, label="Eq. (48) for any heads",
    statement=r"""\frac{\partial E_{\text{multi}}}{\partial X_{[i,:]}}=-\beta\sum_h\sum_j\big(\exp(\beta X_{[i,:]}^\top
        A_hX_{[j,:]})A_h+\exp(\beta X_{[j,:]}^\top A_hX_{[i,:]})A_h^\top\big)X_{[j,:]}""",
    name="gradient of the multi-head energy, corrected",
    general=r"It is the derivative of $E_{\text{multi}}$ for all matrices $A_h$.", all_sizes=True)  # fmt: skip


@EQ_48_CORRECTED.formula
def multi_head_gradient(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """dE_multi/dX, row i for token i, shape (S, D)."""
    return _gradient(X, U, beta, H, -beta, swapped=True)


EQ_48_CORRECTED.mutant("the same weight in both terms, as Eq. (48) is printed", swapped=False)
EQ_48_CORRECTED.mutant("without beta", factor=-1)


# -- the outputs of the heads ------------------------------------------------------------------------------------------

EQ_49 = Claim(PRINTED_VALUES, "dynamics.eq-49", label="Eq. (49), proof of Prop. 4.2",
    statement=r"\Delta_{h[i,:]}=\sum_j\frac{\exp(\beta X_{[i,:]}^\top A_hX_{[j,:]})}{Z_{h,i}}(A_h^\top+A_h)X_{[j,:]}/2",
    name="drive of a head as weighted sum", relation=Equal(), expects="refuted", severity="slip",
    repeats="dynamics.sec-4-symmetric-constraint",
    correction="dynamics.eq-49-corrected", presumes=("dynamics.eq-13-form",),
    note=r"""With $W_h^V$ of (47) as printed the values are $(W_h^{Q\top}W_h^K + A_h)/2$. As in Eq. (38) the line
        itself, which has $(A_h^\top + A_h)/2$, shows that $W_h^KW_h^{Q\top}$ is meant.""")  # fmt: skip


def _explicit_outputs(X: Any, U: Any, beta: Any, H: int, factor: Any, over_keys: bool = True) -> list[Any]:
    """factor sum_j E_ij / Z_hi (A_h^T + A_h) x_j for every head, each (S, D); E / Z is a softmax, which does not underflow."""

    def output(A: Any) -> Any:
        weights = softmax(X @ A @ X.T * beta) if over_keys else softmax(X @ A.T @ X.T * beta).T
        return weights @ X @ (A + A.T) * factor

    return mapped(output, products(U, H))


@EQ_49.formula
def outputs_as_sums(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """Delta_h for every head, on top of each other, shape (H S, D) (Eq. (49))."""
    return concatenate(_explicit_outputs(X, U, beta, H, rational(1, 2)), axis=0)


@EQ_49.oracle
def outputs_with_printed_values(X: Tokens, U: SharedBasis, Q: SharedBasis, beta: Beta, H: Heads) -> Any:
    A = products(U, H)
    return concatenate(head_outputs(X, A, printed_head_values(A, Q), beta), axis=0)


@EQ_49.counterexample("two tokens on the axes, one head, A = E_12, W^Q = A Q and W^K = Q for a quarter turn Q")
def _() -> dict[str, Any]:
    """By hand: W^QT W^K = Q^T A^T Q = -A, so that W^V = O and the left side vanishes."""
    identity = [[1, 0], [0, 1]]
    return {"X": identity, "U": identity, "Q": [[0, 1], [-1, 0]], "beta": 1, "H": 1}


EQ_49.mutant("factor 1/2 dropped", factor=1)
EQ_49.mutant("weights normalised over i instead of j", over_keys=False)


EQ_49_CORRECTED = Claim(EXACT_PROOF, "dynamics.eq-49-corrected", label="Eq. (49) with symmetrised values",
    statement=r"""W_h^V=(A_h^\top+A_h)/2\ \Rightarrow\ \Delta_{h[i,:]}=\sum_j\frac{\exp(\beta X_{[i,:]}^\top
        A_hX_{[j,:]})}{Z_{h,i}}(A_h^\top+A_h)X_{[j,:]}/2,\quad Z_{h,i}=\sum_{j'}\exp(\beta X_{[i,:]}^\top A_hX_{[j',:]})
        """,
    assumptions=[Definition(r"\Delta_h = softmax(\beta X A_h X^\top) X W_h^V", by=head_outputs)],
    name="drive of a head as weighted sum, corrected", relation=Equal(), all_sizes=True, of_project=True,
    corrects="dynamics.eq-49")  # fmt: skip


EQ_49_CORRECTED.formula(outputs_as_sums)
EQ_49_CORRECTED.oracle(lambda X, U, beta, H: concatenate(_outputs(X, U, beta, H), axis=0))
EQ_49_CORRECTED.mutant("factor 1/2 dropped", factor=1)
EQ_49_CORRECTED.mutant("weights normalised over i instead of j", over_keys=False)


# -- dE/dt -------------------------------------------------------------------------------------------------------------

EQ_52 = Claim(MULTI_HEAD_ATTENTION, "dynamics.eq-52", label="Eqs. (50)-(52), proof of Prop. 4.2",
    statement=r"""\frac{dE_{\text{multi}}(X)}{dt}=\frac{dE_{\text{multi}}(X)}{dX}\cdot\frac{dX}{dt}=-\sum_i\left(
        \frac{\partial E_{\text{multi}}(X)}{\partial X_{[i,:]}}\cdot\sum_h\Delta_{h[i,:]}\right)""",
    assumptions=[SUM_OF_HEADS, CONDITION],
    name="chain rule for the multi-head energy", relation=Equal(), expects="refuted", severity="slip",
    repeats="dynamics.eq-41",
    correction="dynamics.eq-52-corrected",
    note="The minus sign of the gradient is put in twice here; Eq. (53) has it once.")  # fmt: skip


@EQ_52.formula
def multi_head_chain_rule_as_printed(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """The right-hand side of Eq. (52), a scalar."""
    return -total(multi_head_gradient_by_differentiation(X, U, beta, H) * added(_outputs(X, U, beta, H)))


EQ_52.oracle(_rate)
EQ_52.counterexample("two tokens, one head, A = E_12")(two_tokens_one_head)
EQ_52.mutant("sign", lambda value: -value)
EQ_52.mutant("factor two", lambda value: value * 2)


EQ_52_CORRECTED = EQ_52.corrected("dynamics.eq-52-corrected", setting=EXACT_PROOF,
    label="Eq. (52) without the second minus sign",
    statement=r"""\frac{dE_{\text{multi}}}{dt}=\sum_i\frac{\partial E_{\text{multi}}}{\partial X_{[i,:]}}\cdot\sum_h
        \Delta_{h[i,:]}""", name="chain rule for the multi-head energy, corrected", all_sizes=True)  # fmt: skip


@EQ_52_CORRECTED.formula
def multi_head_chain_rule(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """sum_i dE/dX_i . sum_h Delta_hi, a scalar."""
    return total(multi_head_gradient_by_differentiation(X, U, beta, H) * added(_outputs(X, U, beta, H)))


EQ_52_CORRECTED.mutant("minus, as Eq. (52) is printed", lambda value: -value)
EQ_52_CORRECTED.mutant("first head only", "added(_outputs(X, U, beta, H)) -> _outputs(X, U, beta, H)[0]")


EQS_52_53 = Claim(MULTI_HEAD_ATTENTION, "dynamics.eq-52-53", label="Step (52)->(53)",
    statement=r"""-\sum_i\left(\frac{\partial E_{\text{multi}}(X)}{\partial
        X_{[i,:]}}\cdot\sum_h\Delta_{h[i,:]}\right)=-\sum_i\Big(\sum_h\sum_j\exp(\beta X_{[i,:]}^\top
        A_hX_{[j,:]})(A_h^\top+A_h)X_{[j,:]}\cdot\sum_h\Delta_{h[i,:]}\Big)""",
    assumptions=[
        CONDITION,
        Definition(
            r"\partial E_{\text{multi}}/\partial X_{[i,:]} is what Eq. (48) prints for it", by=multi_head_gradient_as_printed
        ),
    ],
    name="gradient put into the chain rule", relation=Equal(), expects="refuted", severity="slip",
    repeats="dynamics.eq-41",
    note="""The gradient (48) has a minus sign of its own, so that the right-hand side has the wrong sign: the sign that is
        too many in Eq. (52) is dropped here without a word.""")  # fmt: skip


@EQS_52_53.formula
def rate_as_eq_53_prints_it(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """The right-hand side of Eq. (53), a scalar."""
    return total(_gradient(X, U, beta, H, -1, swapped=False) * added(_outputs(X, U, beta, H)))


# Eq. (52) with the gradient (48) as printed
EQS_52_53.oracle(
    lambda X, U, beta, H: -total(multi_head_gradient_as_printed(X, U, beta, H) * added(_outputs(X, U, beta, H)))
)
EQS_52_53.counterexample("two tokens, one head, A = E_12")(two_tokens_one_head)
EQS_52_53.mutant("sign", factor=1)
EQS_52_53.mutant("factor two", factor=-2)


EQ_53 = Claim(MULTI_HEAD_ATTENTION, "dynamics.eq-53", label="Eq. (53) as the value of dE_multi/dt",
    statement=r"""\frac{dE_{\text{multi}}(X)}{dt}=-\sum_i\Big(\sum_h\sum_j\exp(\beta X_{[i,:]}^\top
        A_hX_{[j,:]})(A_h^\top+A_h)X_{[j,:]}\cdot\sum_h\Delta_{h[i,:]}\Big)""",
    assumptions=[CONDITION],
    name="rate of the multi-head energy, written out", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.eq-53-corrected", uses=("dynamics.eq-48",), proof=("dynamics.eq-52", "dynamics.eq-52-53"),
    note=r"""The sign is right again, but the gradient is that of Eq. (48), which holds for symmetric heads only, and
        the factor $\beta$ is missing. The counterexample has $\beta = 1$.""")  # fmt: skip


EQ_53.formula(rate_as_eq_53_prints_it)


EQ_53.oracle(_rate)
EQ_53.counterexample("two tokens, one head, A = E_12")(two_tokens_one_head)
EQ_53.mutant("sign", factor=1)
EQ_53.mutant("factor two", factor=-2)


EQ_53_CORRECTED = EQ_53.corrected("dynamics.eq-53-corrected", setting=EXACT_PROOF, label="Eq. (53) for any heads",
    statement=r"""\frac{dE_{\text{multi}}(X)}{dt}=-\beta\sum_i\Big(\sum_h\sum_j\big(\exp(\beta X_{[i,:]}^\top
        A_hX_{[j,:]})A_h+\exp(\beta X_{[j,:]}^\top A_hX_{[i,:]})A_h^\top\big)X_{[j,:]}\cdot\sum_h\Delta_{h[i,:]}\Big)
        \text{ along }dX/dt=\sum_h\Delta_h""", name="rate of the multi-head energy, written out, corrected",
    general="It is the chain rule with dynamics.eq-48-corrected, for all matrices $A_h$.", all_sizes=True)  # fmt: skip


@EQ_53_CORRECTED.formula
def multi_head_rate_of_any_heads(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """-beta sum_i sum_hj (E_ij A_h + E_ji A_h^T) x_j . sum_h Delta_hi, a scalar."""
    return total(_gradient(X, U, beta, H, -beta, swapped=True) * added(_outputs(X, U, beta, H)))


EQ_53_CORRECTED.mutant("the same weight in both terms, as Eq. (53) is printed", swapped=False)
EQ_53_CORRECTED.mutant("without beta", factor=-1)


EQS_53_54 = Claim(EXACT_PROOF, "dynamics.eq-53-54", label="Step (53)->(54)",
    statement=r"""
        -\sum_i\Big(\sum_h\sum_j\exp(\beta X_{[i,:]}^\top A_hX_{[j,:]})(A_h^\top+A_h)X_{[j,:]}\cdot\sum_h\Delta_{h[i,:]}
        \Big)=-2\sum_i\Big(\sum_hZ_{h,i}\Delta_{h[i,:]}\cdot\sum_h\Delta_{h[i,:]}\Big)""",
    assumptions=[CONDITION],
    name="rate of the multi-head energy, sum over heads", relation=Equal(), all_sizes=True,
    uses=("dynamics.eq-49",))  # fmt: skip


def _weighted(X: Any, U: Any, beta: Any, H: int, factor: int, weighted: bool = True) -> Any:
    """factor sum_i (sum_h Z_hi Delta_hi) . (sum_h Delta_hi), a scalar; Z_hi left out unless `weighted`."""
    outputs = _explicit_outputs(X, U, beta, H, rational(1, 2))
    masses = mapped(lambda A: row_sums(exp(X @ A @ X.T * beta)), products(U, H))
    drive = added(mapped(lambda output, Z: output * Z, outputs, masses) if weighted else outputs)
    return total(drive * added(outputs)) * factor


@EQS_53_54.formula
def product_of_sums(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """The right-hand side of Eq. (54), a scalar."""
    return _weighted(X, U, beta, H, -2)


# Eq. (53), with Delta_h through the softmax
EQS_53_54.oracle(
    lambda X, U, beta, H: total(_gradient(X, U, beta, H, -1, swapped=False) * added(_outputs(X, U, beta, H)))
)
EQS_53_54.mutant("factor 2 dropped", factor=-1)
EQS_53_54.mutant("Z_hi dropped", weighted=False)


EQS_54_56 = Claim(EXACT_PROOF, "dynamics.eq-54-56", label="Step (54)->(55)->(56)", hypotheses=ORTHONORMAL,
    statement=r"""
        -2\sum_i\Big(\sum_hZ_{h,i}\Delta_{h[i,:]}\cdot\sum_h\Delta_{h[i,:]}\Big)=-2\sum_i\sum_h\left(Z_{h,i}
        \Delta_{h[i,:]}\cdot\Delta_{h[i,:]}\right)=-2\sum_i\sum_hZ_{h,i}\|\Delta_{h[i,:]}\|^2\le0""",
    assumptions=[CONDITION],
    name="rate of the multi-head energy, orthogonal heads", relation=Equal(), all_sizes=True,
    uses=("dynamics.eq-49", "dynamics.eq-66"),
    note="""Lines (55) and (56), one below the other, against (54). The last is minus twice a sum of squares with
        positive weights; the equalities are compared, every one.""")  # fmt: skip


def _squared_lengths(X: Any, products: list[Any], values: list[Any], beta: Any, normalised: bool = True) -> Any:
    """sum_i sum_h Z_hi |Delta_hi|^2 by the diagonals of Gram matrices, a scalar; Z_hi left out unless `normalised`."""

    def squares(A: Any, output: Any) -> Any:
        found = row_sums(output @ output.T * eye(X.shape[0]))
        return total(found * row_sums(exp(X @ A @ X.T * beta)) if normalised else found)

    return added(mapped(squares, products, head_outputs(X, products, values, beta)))


@EQS_54_56.formula
def squares_of_outputs(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """-2 sum_i sum_h Z_hi Delta_hi . Delta_hi, by products of entries and by Gram matrices, shape (2, 1) (Eqs. (55), (56))."""
    A = products(U, H)
    lines = (sum_of_squares(X, A, symmetric_parts(A), beta), _squared_lengths(X, A, symmetric_parts(A), beta))
    return concatenate([ones(1, 1) * line * -2 for line in lines], axis=0)


EQS_54_56.oracle(lambda X, U, beta, H: concatenate([ones(1, 1) * _weighted(X, U, beta, H, -2)] * 2, axis=0))
EQS_54_56.mutant("Z_hi dropped", normalised=False)
EQS_54_56.mutant("first head only", "products(U, H) -> products(U, H)[:1]")


EQ_56 = Claim(PRINTED_VALUES, "dynamics.eq-56", label="Eq. (56) as the value of dE_multi/dt",
    statement=r"\frac{dE_{\text{multi}}(X)}{dt}=-2\sum_i\sum_hZ_{h,i}\|\Delta_{h[i,:]}\|^2",
    assumptions=[SUM_OF_HEADS],
    name="rate of the multi-head energy as a square", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.eq-56-symmetric", uses=("dynamics.eq-48",),
    note=r"""The values are those of (47) as printed; the counterexamples have $W_h^K = I$, where they are $(A_h^\top +
        A_h)/2$.""")  # fmt: skip


@EQ_56.formula
def multi_head_rate_as_printed(X: Tokens, U: SharedBasis, Q: SharedBasis, beta: Beta, H: Heads) -> Any:
    """The right-hand side of Eq. (56), a scalar."""
    A = products(U, H)
    return sum_of_squares(X, A, printed_head_values(A, Q), beta) * -2


@EQ_56.oracle
def rate_with_printed_values(X: Tokens, U: SharedBasis, Q: SharedBasis, beta: Beta, H: Heads) -> Any:
    A = products(U, H)
    return multi_head_rate(X, A, printed_head_values(A, Q), beta)


EQ_56.counterexample("two tokens, one head, A = E_12")(two_tokens_one_head)
EQ_56.counterexample("two tokens, two heads, A_1 = E_12 and A_2 = E_34")(two_tokens_two_heads)
EQ_56.mutant("sign", "-2 -> 2")
EQ_56.mutant("Z_hi dropped", normalised=False)


# -- orthogonality of the heads ----------------------------------------------------------------------------------------

EQS_58_59 = Claim(DYNAMICS, "dynamics.eq-58-59", label="Eqs. (58)-(59)", name="products of different heads vanish",
    statement=r"""A_h^\top A_{h'}=U_{2,h}U_{1,h}^\top U_{1,h'}U_{2,h'}^\top=O,\quad A_hA_{h'}=U_{1,h}U_{2,h}^\top
        U_{1,h'}U_{2,h'}^\top=O\quad(h\ne h')""",
    assumptions=[ORTHONORMAL_BLOCKS, WHOLE_BLOCKS, TWO_HEADS],
    hypotheses=ORTHONORMAL,
    relation=Equal(), all_sizes=True, sizes={"D": (4, 8), "H": (2, 2)}, exact=True)  # fmt: skip


@EQS_58_59.inputs
@realises({r"U_{k,h}^\top": reached.ROTATIONS})
def orthonormal_blocks_alone(G: SharedBasis, H: Heads) -> dict[str, Any]:
    """U = [U_11, U_21, U_12, U_22], blocks of D/4 columns, shape (D, D)."""
    return {"U": orthogonal_matrix(G), "H": H}


def _between_heads(H: int, pair: Callable[[int, int], Any], distinct: bool = True) -> Any:
    """pair(h, h') for all h and h' on top of each other; zeros in the place of pair(h, h) if `distinct`."""

    def entry(h: int, k: int) -> Any:
        return pair(h, k) * (ones(1, 1) - basis_vector(H, h).T @ basis_vector(H, k)) if distinct else pair(h, k)

    return concatenate(each(H, lambda h: concatenate(each(H, lambda k: entry(h, k)), axis=0)), axis=0)


@EQS_58_59.formula
def products_of_heads(U: SharedBasis, H: Heads) -> Any:
    """A_h^T A_h' for all h and h' but h = h', above A_h A_h', shape (2 H^2 D, D)."""
    A = products(U, H)
    pairs = (lambda h, k: A[h].T @ A[k]), (lambda h, k: A[h] @ A[k])
    return concatenate([_between_heads(H, pair) for pair in pairs], axis=0)


EQS_58_59.oracle(lambda U, H: concatenate([zeros(H * H * U.shape[0], U.shape[0])] * 2, axis=0))
EQS_58_59.mutant("a head with itself", distinct=False)
EQS_58_59.mutant("a block shared by both heads", "products(U, H) -> _sharing_a_block(U)")


EQ_66 = Claim(MULTI_HEAD_ATTENTION, "dynamics.eq-66", label="Eqs. (60)-(66)",
    statement=r"""\Delta_{h[i,:]}\cdot\Delta_{h'[i,:]}=\Delta_{h[i,:]}^\top\Delta_{h'[i,:]}=\Big((A_h+A_h^\top)\sum_j
        \frac{\exp(\beta X_{[i,:]}^\top A_hX_{[j,:]})}{Z_{h,i}}X_{[j,:]}\Big)^\top(A_{h'}+A_{h'}^\top)\sum_j\frac{\exp(
        \beta X_{[i,:]}^\top A_{h'}X_{[j,:]})}{Z_{h',i}}X_{[j,:]}/4=\Big(\sum_j\frac{\exp(\beta X_{[i,:]}^\top
        A_hX_{[j,:]})}{Z_{h,i}}X_{[j,:]}\Big)^\top(A_h^\top+A_h)(A_{h'}+A_{h'}^\top) \sum_j\frac{\exp(\beta
        X_{[i,:]}^\top A_{h'}X_{[j,:]})}{Z_{h',i}}X_{[j,:]}/4=0\quad(h\ne h')""",
    assumptions=[CONDITION, TWO_HEADS],
    hypotheses=ORTHONORMAL,
    name="drives of different heads are orthogonal", relation=Equal(), all_sizes=True,
    sizes={"S": (1, 4), "D": (4, 8), "H": (2, 2)}, exact=True, uses=("dynamics.eq-49", "dynamics.eq-58-59"))  # fmt: skip


@EQ_66.formula
def products_of_head_outputs(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """Delta_hi . Delta_h'i for every token and all h and h' but h = h', as it is and as Eqs. (64)-(65) have it,
    m_hi^T (A_h^T + A_h)(A_h' + A_h'^T) m_h'i / 4 with m_hi the attended mean; shape (2 H^2 S, 1)."""
    A = products(U, H)
    outputs = head_outputs(X, A, symmetric_parts(A), beta)
    means = mapped(lambda B: softmax(X @ B @ X.T * beta) @ X, A)

    def by_means(h: int, k: int) -> Any:
        return row_sums((means[h] @ (A[h].T + A[h]) @ (A[k] + A[k].T)) * means[k]) * rational(1, 4)

    pairs = (lambda h, k: row_sums(outputs[h] * outputs[k])), by_means
    return concatenate([_between_heads(H, pair) for pair in pairs], axis=0)


EQ_66.oracle(lambda X, H: concatenate([zeros(H * H * X.shape[0], 1)] * 2, axis=0))
EQ_66.mutant("a head with itself", distinct=False)
EQ_66.mutant("values shared by the heads", "symmetric_parts(A) -> symmetric_parts(A[:1] * 2)")
EQ_66.mutant("a block shared by both heads", "products(U, H) -> _sharing_a_block(U)")


# -- from (58) and (59) to (66) ----------------------------------------------------------------------------------------

AND_THUS = Claim(DYNAMICS, "dynamics.eq-66-thus", label="'and thus' between Eqs. (59) and (60)",
    statement=r"""A_h^\top A_{h'}=O,\ A_hA_{h'}=O\quad(h\ne h')\text{, ``and thus'' }
        \Delta_{h[i,:]}^\top\Delta_{h'[i,:]}=0\text{, since }(A_h^\top+A_h)(A_{h'}+A_{h'}^\top)=O""",
    assumptions=[ORTHONORMAL_BLOCKS, WHOLE_BLOCKS, TWO_HEADS],
    hypotheses=ORTHONORMAL,
    name="orthogonal drives from the products of heads", relation=Equal(), all_sizes=True,
    sizes={"D": (4, 8), "H": (2, 2)}, expects="gap", presumes=("dynamics.eq-66-thus-alone",),
    correction="dynamics.eq-66-fourth-product", uses=("dynamics.eq-58-59",), missing=r"$A_hA_{h'}^\top = O$", exact=True,
    note=r"""Of the four products in $(A_h^\top+A_h)(A_{h'}+A_{h'}^\top)$ Eqs. (58) and (59) give three:
        $A_h^\top A_{h'}$, $A_hA_{h'}$, and $A_h^\top A_{h'}^\top = (A_{h'}A_h)^\top$. The fourth, $A_hA_{h'}^\top =
        U_{1,h}U_{2,h}^\top U_{2,h'}U_{1,h'}^\top$, is not mentioned, and does not follow from them
        (dynamics.eq-66-thus-alone). It vanishes by the orthogonality condition all the same
        (dynamics.eq-66-fourth-product), so that Eq. (66) holds.""")  # fmt: skip
AND_THUS.inputs(orthonormal_blocks_alone)


@AND_THUS.formula
def products_of_symmetrised_heads(U: SharedBasis, H: Heads) -> Any:
    """(A_h^T + A_h)(A_h' + A_h'^T) for all h and h' but h = h', shape (H^2 D, D)."""
    A = products(U, H)
    return _between_heads(H, lambda h, k: (A[h].T + A[h]) @ (A[k] + A[k].T))


AND_THUS.oracle(lambda U, H: zeros(H * H * U.shape[0], U.shape[0]))
AND_THUS.mutant("a head with itself", distinct=False)
AND_THUS.mutant("a block shared by both heads", "products(U, H) -> _sharing_a_block(U)")


Matrix = Annotated[Any, Shape("D", "D")]

AND_THUS_ALONE = Claim(DYNAMICS, "dynamics.eq-66-thus-alone", label="Eq. (66) from (58) and (59) alone",
    statement=r"""A_1^\top A_2=O,\ A_1A_2=O,\ A_2A_1=O\ \Rightarrow\ (A_1^\top+A_1)(A_2+A_2^\top)=O""",
    assumptions=[
        Assumption(r"A_1^\top A_2 = O, Eq. (58)", zero=lambda A_1, A_2: A_1.T @ A_2),
        Assumption(r"A_1 A_2 = O, Eq. (59)", zero=lambda A_1, A_2: A_1 @ A_2),
        Assumption(r"A_2 A_1 = O, Eq. (59) with the heads exchanged", zero=lambda A_1, A_2: A_2 @ A_1),
    ],
    name="orthogonal drives from two products alone", relation=Equal(), sizes={"D": (3, 4)}, exact=True,
    expects="refuted", severity="error", of_project=True,
    note="Two heads that read the same direction into orthogonal ones.")  # fmt: skip


@AND_THUS_ALONE.inputs
@realises(
    {
        r"A_1^\top A_2 = O": "u v^T and w v^T with u, v, w orthonormal",
        "A_1 A_2 = O": "u v^T and w v^T with u, v, w orthonormal",
        "A_2 A_1 = O": "u v^T and w v^T with u, v, w orthonormal",
    }
)
def heads_of_a_shared_column(G: Matrix) -> dict[str, Any]:
    """A_1 = u v^T and A_2 = w v^T with orthonormal u, v, w."""
    Q = orthogonal_matrix(G)
    u, v, w = Q[:, :1], Q[:, 1:2], Q[:, 2:3]
    return {"A_1": u @ v.T, "A_2": w @ v.T}


@AND_THUS_ALONE.formula
def no_product(A_1: Matrix) -> Any:
    """O, shape (D, D)."""
    return A_1 * 0


AND_THUS_ALONE.oracle(lambda A_1, A_2: (A_1.T + A_1) @ (A_2 + A_2.T))
AND_THUS_ALONE.counterexample(
    "A_1 = E_13 and A_2 = E_23",
    A_1=[[0, 0, 1], [0, 0, 0], [0, 0, 0]], A_2=[[0, 0, 0], [0, 0, 1], [0, 0, 0]],
)  # fmt: skip
AND_THUS_ALONE.mutant("the first head itself", lambda A_1: A_1)
AND_THUS_ALONE.mutant("the second head itself", lambda A_2: A_2)


FOURTH_PRODUCT = Claim(DYNAMICS, "dynamics.eq-66-fourth-product", label="The fourth product of different heads",
    statement=r"""U_{k,h}^\top U_{k',h'}=\delta_{hh'}\delta_{kk'}I\ \Rightarrow\ A_hA_{h'}^\top=U_{1,h}U_{2,h}^\top
        U_{2,h'}U_{1,h'}^\top=O,\quad A_h^\top A_{h'}^\top=(A_{h'}A_h)^\top=O\quad(h\ne h')\text{ for
        }A_h=U_{1,h}U_{2,h}^\top""",
    assumptions=[ORTHONORMAL_BLOCKS, WHOLE_BLOCKS, TWO_HEADS],
    hypotheses=ORTHONORMAL,
    name="the other products of different heads vanish", relation=Equal(), all_sizes=True,
    sizes={"D": (4, 8), "H": (2, 2)}, exact=True, of_project=True,
    corrects="dynamics.eq-66-thus",
    note=r"With Eqs. (58) and (59) these are all that $(A_h^\top+A_h)(A_{h'}+A_{h'}^\top)$ consists of.",
)  # fmt: skip
FOURTH_PRODUCT.inputs(orthonormal_blocks_alone)


@FOURTH_PRODUCT.formula
def other_products_of_heads(U: SharedBasis, H: Heads) -> Any:
    """A_h A_h'^T for all h and h' but h = h', above A_h^T A_h'^T, shape (2 H^2 D, D)."""
    A = products(U, H)
    pairs = (lambda h, k: A[h] @ A[k].T), (lambda h, k: A[h].T @ A[k].T)
    return concatenate([_between_heads(H, pair) for pair in pairs], axis=0)


FOURTH_PRODUCT.oracle(lambda U, H: concatenate([zeros(H * H * U.shape[0], U.shape[0])] * 2, axis=0))
FOURTH_PRODUCT.mutant("a head with itself", distinct=False)
FOURTH_PRODUCT.mutant("a block shared by both heads", "products(U, H) -> _sharing_a_block(U)")
