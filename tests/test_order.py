"""Orders of growth: what passes, what fails, what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
import torch

from theorems.convergence import CONVERGENCE
from theorems.osa.definitions import attention
from theorems.osa.part_2_4_cost.basis_layer import (
    newton_schulz,
    orthogonal_attention,
    orthonormal_basis,
    softmax_attention,
)
from verify.checks import checks_of
from verify.checks.record import ERROR, UPHELD, VIOLATED, Record
from verify.checks.settings import settings_for
from verify.evidence.runner import judge, run_check
from verify.oracles import Count, count
from verify.vocabulary import ArithmeticUnsupported, Claim, OrderOfGrowth, Real, RegistryError, Size

pytestmark = pytest.mark.kept

Rows = Annotated[int, Size("m")]
Columns = Annotated[int, Size("n")]
SETTINGS = settings_for("quick")


def claim_of(order: Any, cost: Any, mutants: Mapping[str, Any], along: tuple[str, ...] = ("m", "n", "m n")) -> Claim:
    """A claim that `cost` is O(order), both functions of m and n."""
    claim = Claim(
        CONVERGENCE,
        "convergence.toy-order",
        label="toy",
        statement="cost = O(order)",
        relation=OrderOfGrowth(along=along),
        sizes={"m": (2, 3), "n": (2, 4)},
    )

    @claim.formula
    def formula(m: Rows, n: Columns) -> Any:
        return order(m, n)

    claim.part("cost")(cost)
    for name, wrong in mutants.items():

        def declare(wrong: Any) -> Any:
            def mutant(m: Rows, n: Columns) -> Any:
                return wrong(m, n)

            return mutant

        claim.mutant(name)(declare(wrong))
    return claim


def record_of(claim: Claim) -> Record:
    (check,) = checks_of(claim, SETTINGS)
    return run_check(claim, check, SETTINGS)


SMALLER = {"linear": lambda m, n: m * n, "other size only": lambda m, n: n * n}


@pytest.mark.parametrize(
    ("order", "cost"),
    [
        (lambda m, n: m * m * n, lambda m, n: 2 * m * m * n),
        (lambda m, n: m * m * n, lambda m, n: 7 * m * m * n + 3 * m * n + 100),
        (lambda m, n: m * m * n, lambda m, n: 7 * m * m * n - 3 * m),
        (lambda m, n: m * m * n + n * n, lambda m, n: m * m * n + 50 * n * n),
    ],
    ids=["exact", "lower terms added", "lower terms subtracted", "two leading terms"],
)
def test_a_right_order_is_upheld_and_smaller_ones_are_dead(order: Any, cost: Any) -> None:
    claim = claim_of(order, cost, SMALLER)
    record = record_of(claim)
    assert record.outcome == UPHELD and judge(claim, record).ok
    assert record.worst_residual is not None and record.worst_residual <= 1
    assert record.separation is not None and record.separation >= 1000


@pytest.mark.parametrize(
    ("order", "cost", "direction"),
    [
        (lambda m, n: m * n, lambda m, n: m * m * n, "m"),
        (lambda m, n: m * m, lambda m, n: m * m + n, "n"),
        (lambda m, n: m, lambda m, n: m * m.bit_length(), "m"),
        (lambda m, n: m**2 * 100, lambda m, n: m**2 * 100 + m**3, "m"),
    ],
    ids=["exponent", "a size left out", "a logarithm", "a small constant before the leading term"],
)
def test_a_wrong_order_fails(order: Any, cost: Any, direction: str) -> None:
    claim = claim_of(order, cost, SMALLER)
    record = record_of(claim)
    assert record.outcome == VIOLATED and not judge(claim, record).ok
    assert f"along {direction} from" in record.message


def test_a_mutant_of_the_same_order_survives() -> None:
    claim = claim_of(
        lambda m, n: m * n, lambda m, n: m * n, {"doubled": lambda m, n: 2 * m * n + m, "m": lambda m, n: m}
    )
    record = record_of(claim)
    assert record.surviving == ["doubled"]
    assert not judge(claim, record).ok


def test_directions_may_grow_at_different_speed() -> None:
    """m n^2 + n^3 and m n + n^3 agree along m, n and both together; m growing as the square of n tells them apart."""

    def cost(m: int, n: int) -> int:
        return m * n**2 + n**3

    def order(m: int, n: int) -> int:
        return m * n + n**3

    assert record_of(claim_of(order, cost, SMALLER, ("m", "n", "m n"))).outcome == UPHELD
    assert record_of(claim_of(order, cost, SMALLER, ("m", "n", "m m n"))).outcome == VIOLATED


def test_wrong_declarations_are_rejected() -> None:
    with pytest.raises(RegistryError, match="five scales"):
        OrderOfGrowth(along=("m",), scales=(1, 2, 4))
    with pytest.raises(RegistryError, match="geometric"):
        OrderOfGrowth(along=("m",), scales=(1, 2, 3, 4, 5))
    with pytest.raises(RegistryError, match="directions"):
        OrderOfGrowth(along=())
    assert "no sizes of the claim" in record_of(claim_of(lambda m, n: m, lambda m, n: m, SMALLER, ("k",))).message
    nothing = record_of(claim_of(lambda m, n: m, lambda m, n: 0, SMALLER))
    assert nothing.outcome == ERROR and "no order of growth" in nothing.message
    claim = claim_of(lambda m, n: m, lambda m, n: m, SMALLER)
    claim.inputs(_with_scalar)
    assert "takes sizes only" in record_of(claim).message


def _with_scalar(m: Rows, n: Columns, x: Annotated[Any, Real()]) -> dict[str, Any]:
    return {"m": m, "n": n, "x": x}


# -- counting ----------------------------------------------------------------------------------------------------------


def test_products_and_elementwise_operations_are_counted() -> None:
    A, B = torch.empty(5, 3, device="meta"), torch.empty(3, 7, device="meta")
    assert count(lambda A, B: A @ B, A, B) == Count(2 * 5 * 3 * 7, 35)
    assert count(lambda A: A + A, A) == Count(15, 15)
    assert count(lambda A: A.T.reshape(5, 3)[1:], A).operations == 15  # the copy that reshape makes of A^T
    assert count(lambda A: A.T[1:], A) == Count(0, 0)


def test_memory_is_what_lives_at_a_time() -> None:
    A = torch.empty(100, 100, device="meta")
    assert count(lambda A: ((A + 1) * 2) - 3, A).memory == 20_000
    assert count(lambda A: [A + 1, A + 2, A + 3], A).memory == 30_000


def test_devices_agree() -> None:
    arguments = [torch.randn(6, 4), *(torch.randn(4, 4) for _ in range(4))]
    for layer in (orthogonal_attention(orthonormal_basis), orthogonal_attention(newton_schulz), softmax_attention):
        assert count(layer, *arguments) == count(layer, *(argument.to("meta") for argument in arguments))


def test_kernels_cost_what_is_stated() -> None:
    assert count(lambda A: A.matrix_exp(), torch.empty(4, 4, device="meta"), squarings=3).operations == 2 * 8 * 64
    # Golub and Van Loan: 4 m n^2 - 4 n^3 / 3 for a tall matrix with its orthonormal factor formed
    assert count(torch.linalg.qr, torch.empty(30, 6, device="meta")).operations == 4 * 30 * 36 - 4 * 216 // 3
    with pytest.raises(ArithmeticUnsupported, match="not stated"):
        count(torch.linalg.inv, torch.empty(3, 3, device="meta"))


def test_the_layer_counted_is_the_layer() -> None:
    generator = torch.Generator().manual_seed(0)
    X, W_Q, W_K, W_V, W_O = (torch.randn(n, 3, dtype=torch.float64, generator=generator) for n in (9, 3, 3, 3, 3))
    found = orthogonal_attention(orthonormal_basis)(X, W_Q, W_K, W_V, W_O)
    one = torch.ones((), dtype=torch.float64)
    assert torch.allclose(found, attention(X, W_Q, W_K, W_V, W_O, one), atol=1e-11)
