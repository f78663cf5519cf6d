"""Random limits proved in mean square: what is proved, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest
import sympy
import torch

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_1_introduction import scalings, softmax_inputs
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_rows
from verify.checks import checks_of, limit_proofs
from verify.checks.limit_proofs import prove_limit_claim, proved_limit
from verify.checks.record import UPHELD, VIOLATED, Record
from verify.checks.settings import settings_for
from verify.evidence.by_rocq import confirmed
from verify.matrix import concatenate, eye, ones, rational, softmax, total
from verify.oracles import standard_normal
from verify.report.proof_texts import headline, proof_text
from verify.vocabulary import Claim, PowerRate, QuadraticRate, RegistryError, Shape, TendsTo

pytestmark = pytest.mark.kept

Rows = Annotated[Any, Shape("m", "n")]
SETTINGS = settings_for("quick")
SCALES = (16, 64, 256, 1024, 4096)


def gram(X: Any, scale: Any, generator: Any) -> Any:
    """X W^T W X^T / scale, shape (m, m), for W of shape (scale, n)."""
    W = standard_normal(generator, X, scale, X.shape[1])
    return X @ W.T @ W @ X.T * rational(1, scale)


def square(X: Any, scale: Any, generator: Any) -> Any:
    deviation = gram(X, scale, generator) - X @ X.T
    return total(deviation * deviation) * rational(1, 4)


def factor(X: Any) -> Any:
    return (total((X @ X.T) * (X @ X.T)) + total(X * X) * total(X * X)) * rational(1, 4)


RIGHT = {
    "sequence": lambda X, scale, generator: softmax(gram(X, scale, generator)),
    "square": square,
    "factor": factor,
    "rate": lambda scale: Fraction(1) / scale,
}


def claim_of(limit: Callable[..., Any] | None = None, rate: Any = None, mutants: Any = None, **parts: Any) -> Claim:
    """A claim that the softmax of X W^T W X^T / scale tends to that of X X^T, some of its parts replaced, or left out for None."""
    claim = Claim(
        CONVERGENCE, "convergence.toy-limit", label="toy", statement="lim = softmax(X X^T)",
        relation=TendsTo(SCALES, rate or PowerRate(0.5)), all_sizes=True, sizes={"m": (2, 3), "n": (1, 2)},
        domains=("generic",),
    )  # fmt: skip
    right = limit or (lambda X: softmax(X @ X.T))

    @claim.formula
    def formula(X: Rows) -> Any:
        return right(X)

    for name, part in {**RIGHT, **parts}.items():
        if part is not None:
            claim.part(name, part)
    for name, wrong in (
        {"each its own": lambda X: X @ X.T * 0 + eye(X.shape[0])} if mutants is None else mutants
    ).items():
        claim.mutant(name, wrong)
    return claim


def record_of(**options: Any) -> Record:
    return proved_limit(claim_of(**options), SETTINGS)


def itself(**parts: Any) -> dict[str, Any]:
    """The Gram matrix as the sequence: the mean of its squared error is an identity, and needs no bound."""
    own = {"sequence": gram, "square": None, "factor": lambda X: factor(X) * 4, "limit": lambda X: X @ X.T}
    return {**own, "mutants": {"twice": lambda X: X @ X.T * 2}, **parts}


def test_a_limit_is_proved_by_a_bound_and_its_mean() -> None:
    record = record_of()
    assert record.outcome == UPHELD and not record.surviving and record.satisfied == record.examples > 0
    assert record.details["certificate of the bound"]["rules"] == ["softmax is 1/2-Lipschitz"]
    assert "equal entries of normal matrices in pairs" in record.details["rules"]
    assert headline(record).endswith("at most a multiple of 1/scale, which tends to 0")
    shown = proof_text(claim_of(), record)
    assert "both sides reduce to the same 2 terms" in shown and "mutant each its own: not proved" in shown
    assert [check.name for check in checks_of(claim_of(), SETTINGS)] == ["rate", "proved"]
    assert not confirmed(claim_of(), [record])


def test_a_limit_is_proved_by_the_mean_of_its_squared_error_alone() -> None:
    record = record_of(**itself())
    assert record.outcome == UPHELD and not record.surviving and "entries" not in record.details
    assert "mutant twice: not proved" in proof_text(claim_of(**itself()), record)


FALSE = {
    "a wrong limit": ({"limit": lambda X: softmax(X @ X.T * 2)}, "is not at most its bound"),
    "a wrong limit of an identity": (itself(limit=lambda X: X @ X.T * 2, mutants={}), "is not factor"),
    "a bound too small": ({"square": lambda X, scale, generator: square(X, scale, generator) * rational(1, 2)}, "not at most"),
    "a bound that draws something else": (
        {"square": lambda X, scale, generator: square(standard_normal(generator, X, *X.shape) * 0 + X, scale, generator)},
        "not at most its bound",
    ),
    "a factor too small": ({"factor": lambda X: factor(X) * rational(1, 2)}, "is not factor"),
    "a rate too fast": ({"rate": lambda scale: Fraction(1) / scale**2}, "is not factor"),
    "a rate that does not fall": (
        {
            "square": lambda X, scale, generator: square(X, scale, generator) * scale,
            "rate": lambda scale: Fraction(1),
        },
        "the rate 1 does not tend to 0",
    ),
    "a rate slower than what is stated": ({"rate_stated": PowerRate(0.75)}, "falls slower than the stated exponent 3/4"),
}  # fmt: skip


def test_a_logarithm_is_slower_than_no_logarithm() -> None:
    stated, scale = 0.5, limit_proofs.SCALE
    for rate in (1 / scale, 1 / scale / sympy.log(scale), sympy.exp(-scale) * scale):
        assert limit_proofs._slow(rate, stated) is None
    for rate in (sympy.log(scale) / scale, 1 / sympy.sqrt(scale)):
        assert "falls slower than the stated exponent 1/2" in str(limit_proofs._slow(rate, stated))


@pytest.mark.parametrize("name", FALSE)
def test_a_false_part_of_a_proof_is_refused(name: str) -> None:
    options, message = FALSE[name]
    options = {"rate" if key == "rate_stated" else key: value for key, value in options.items()}
    if callable(options.get("rate")):
        claim = claim_of(**{key: value for key, value in options.items() if key != "rate"})
        claim._parts["rate"] = options["rate"]
    else:
        claim = claim_of(**options)
    record = proved_limit(claim, SETTINGS)
    assert record.outcome == VIOLATED and message in record.message


def test_a_logarithm_makes_a_rate_slower_than_what_is_stated() -> None:
    m = limit_proofs.SCALE
    slower = "falls slower than the stated exponent 1/2"
    assert limit_proofs._slow(1 / m, 0.5) is None and limit_proofs._slow(1 / (m * sympy.log(m)), 0.5) is None
    assert slower in str(limit_proofs._slow(sympy.log(m) / m, 0.5))
    assert slower in str(limit_proofs._slow(1 / sympy.sqrt(m), 0.5))


def test_a_wrong_variant_that_is_the_limit_too_is_told() -> None:
    record = record_of(mutants={"written otherwise": lambda X: softmax(X @ X.T + ones(X.shape[0], X.shape[0]) * 0)})
    assert record.outcome == VIOLATED and "'written otherwise' is proved as well" in record.message
    assert prove_limit_claim(claim_of()).mutants == {"each its own": "not proved"}


def test_a_proof_that_numbers_contradict_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = limit_proofs.expected_over_draws
    monkeypatch.setattr(limit_proofs, "expected_over_draws", lambda *given, **more: right(*given, **more) * 2)
    record = record_of(**itself(factor=lambda X: factor(X) * 8, mutants={}))
    assert record.outcome == VIOLATED and "the mean of the square is not factor * rate at" in record.message


def test_a_bound_that_numbers_contradict_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = limit_proofs._bound
    monkeypatch.setattr(limit_proofs, "_bound", lambda claim, limit: right(claim_of(), limit))
    parts = {"square": lambda X, scale, generator: square(X, scale, generator) * rational(1, 100)}
    record = record_of(**parts, factor=lambda X: factor(X) * rational(1, 100), mutants={})
    assert record.outcome == VIOLATED and "times its bound at" in record.message


def test_what_lacks_a_part_or_is_not_random_is_refused() -> None:
    claim = claim_of()
    del claim._parts["rate"]
    with pytest.raises(RegistryError, match="needs a part called 'rate'"):
        prove_limit_claim(claim)
    with pytest.raises(RegistryError, match="its sequence is not random"):
        prove_limit_claim(claim_of(rate=QuadraticRate()))


@pytest.mark.parametrize("shared", [True, False])
def test_the_sequences_are_the_attention_rows_of_the_paper(shared: bool) -> None:
    """The proofs are about one softmax of all logits; Table 2 of the paper has its rows one by one."""
    X, scale = torch.randn(3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64), 16
    generator = torch.Generator().manual_seed(2)
    W_Q = standard_normal(generator, X, scale, 2)
    W_K = W_Q if shared else standard_normal(generator, X, scale, 2)
    rows = concatenate(attention_rows(X, W_Q, W_K, 1 / scale), axis=1).T
    again = torch.Generator().manual_seed(2)
    if shared:
        found = softmax_inputs.SAME.named_functions()["sequence"](X, scale, again)
    else:
        W_V = torch.ones(2, 2, dtype=torch.float64)
        found = scalings.POOLING.named_functions()["sequence"](X, W_V, scale, again)
        rows = scalings._weights_and_values(rows, X, W_V)
    torch.testing.assert_close(found, rows, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(rows * 1.001, found, rtol=1e-6)


def jumping(where: Callable[..., bool]) -> Callable[..., Any]:
    """The sequence of the claim, but for some scales or sizes."""

    def sequence(X: Any, scale: Any, generator: Any) -> Any:
        G = gram(X, scale, generator)
        return softmax(G * 2) if where(X, scale) else softmax(G)

    return sequence


@pytest.mark.parametrize(
    "where",
    [
        lambda X, scale: scale == 300,
        lambda X, scale: scale % 7 == 0,
        lambda X, scale: X.shape[0] == 37,
        lambda X, scale: 7 * X.shape[0] == scale,
    ],
)
def test_a_sequence_that_is_another_at_some_scales_or_sizes_is_not_proved(where: Callable[..., bool]) -> None:
    assert prove_limit_claim(claim_of(sequence=jumping(where))).problem


def test_nor_is_one_whose_other_parts_decide() -> None:
    assert prove_limit_claim(
        claim_of(square=lambda X, scale, generator: square(X, scale, generator) * (0 if scale % 7 == 0 else 1))
    ).problem
    assert prove_limit_claim(claim_of(factor=lambda X: factor(X) * (5 if X.shape[0] == 37 else 1))).problem
    claim = claim_of()
    claim.part("rate", lambda scale: Fraction(1) / scale if scale % 7 else Fraction(1))
    assert "the rate: the proof rests on scale/7" in (prove_limit_claim(claim).problem or "")


def test_a_sequence_that_asks_what_it_is_handed_is_not_proved() -> None:
    found = prove_limit_claim(claim_of(sequence=jumping(lambda X, scale: isinstance(scale, int))))
    assert "asks what kind of operands" in (found.problem or "")
    assert (
        proved_limit(claim_of(sequence=jumping(lambda X, scale: isinstance(scale, int))), SETTINGS).outcome == VIOLATED
    )
