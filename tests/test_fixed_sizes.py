"""The check `proved at sizes`: what it upholds, and that nothing false, unsupported or unaffordable passes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.claims_that_fail import toy
from verify.arithmetics import rational_functions
from verify.arithmetics.rational_functions import Field
from verify.arithmetics.spectra import Spectra
from verify.checks import checks_of
from verify.checks.record import ERROR, UPHELD, VIOLATED, Record
from verify.checks.settings import EFFORTS, Settings
from verify.cli import main
from verify.evidence.runner import judge, run_check
from verify.evidence.store import EvidenceWriter
from verify.evidence.verdicts import judge_alone
from verify.matrix import (
    exp,
    expm,
    eye,
    frobenius_norm,
    inverse,
    normalize_rows,
    rational,
    relu,
    softmax,
    total,
    vanishes,
)
from verify.oracles import jacobian
from verify.report import build, write
from verify.site import write_site
from verify.vocabulary import Assumption, AtMost, Claim, Equal, HasStructure, Registry, RegistryError, Shape, Size, load

pytestmark = pytest.mark.kept("docs/papers")

Left = Annotated[Any, Shape("m", "n")]
Right = Annotated[Any, Shape("n", "m")]
Square = Annotated[Any, Shape("n", "n")]
QUICK = Settings(EFFORTS["quick"])


def identity(formula: Any, oracle: Any, **options: Any) -> Claim:
    """A claim that two functions are equal, with two mutants that differ from them by a factor and a term."""
    claim = toy("identity", Equal(), **{"at_sizes": {"m": 2, "n": 2}, **options})
    claim.formula(formula)
    claim.oracle(oracle)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("shifted", lambda value: value + 1)
    return claim


def check_of(claim: Claim, name: str = "proved at sizes", settings: Settings = QUICK) -> Record:
    (check,) = [check for check in checks_of(claim, settings) if check.name == name]
    return run_check(claim, check, settings)


def jacobian_of_softmax(A: Left) -> Any:
    P = softmax(A)
    n = A.shape[1]
    blocks = [
        [(eye(n) * P[i : i + 1] - P[i : i + 1].T @ P[i : i + 1]) * (i == j) for j in range(A.shape[0])]
        for i in range(A.shape[0])
    ]
    from verify.matrix import concatenate

    return concatenate([concatenate(row, axis=1) for row in blocks], axis=0)


def softmax_claim(**options: Any) -> Claim:
    return identity(jacobian_of_softmax, lambda A: 1 * jacobian(softmax, "T")(A), **options)


def test_an_identity_is_proved_and_says_at_which_sizes() -> None:
    claim = softmax_claim()
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    assert record.details["proved at"] == {"m": 2, "n": 2}
    assert record.details["indeterminates"] == 4 and record.details["adjoined"] == 4  # an exponential for each entry
    assert record.details["left by mutants"] == {"doubled": 8, "shifted": 16}  # the other blocks vanish
    assert not record.surviving and judge(claim, record).ok
    assert judge_alone(claim, [record]).grade == "some sizes"
    assert judge_alone(claim, [record, check_of(claim, "enclosed")]).grade == "some sizes"


def test_the_seed_changes_nothing() -> None:
    for seed in (1, 7):
        record = check_of(softmax_claim(), settings=Settings(EFFORTS["quick"], seed, True))
        assert record.outcome == UPHELD and record.details["terms"] == check_of(softmax_claim()).details["terms"]


def test_only_claims_marked_have_the_check_and_true_means_telling_sizes() -> None:
    claim = softmax_claim()
    claim.at_sizes = False
    assert "proved at sizes" not in [check.name for check in checks_of(claim, QUICK)]
    claim.at_sizes = True
    assert check_of(claim).details["proved at"] == {"m": 2, "n": 3}


def test_an_identity_that_is_false_but_vanishes_at_every_draw_is_caught() -> None:
    def product_of_shifts(A: Left) -> Any:
        result = A
        for k in (1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6):
            result = result * (A + rational(k, 2))
        return result

    claim = identity(product_of_shifts, lambda A: A * 0, domains=("integers",))
    assert check_of(claim, "enclosed").worst_residual == 0.0
    assert check_of(claim, "sampled float64").worst_residual == 0.0
    record = check_of(claim)
    assert record.outcome == VIOLATED and "4 entries differ as functions" in record.message
    assert not judge(claim, record).ok


def where(decision: Any) -> Any:
    def doubled_somewhere(A: Left) -> Any:
        return 2 * A if decision(A) else A * 1

    return doubled_somewhere


def refused(A: Any) -> Any:
    try:
        return A[0, 0] == 12345
    except Exception:
        return False


DECISIONS = {
    "a number has a value": lambda A: isinstance(A[0, 0], float) and A[0, 0] == 12345,
    "what has no numerator has a value": lambda A: not hasattr(A[0, 0], "num") and A[0, 0] == 12345,
    "what refuses to say so has none": refused,
    "the text of an entry": lambda A: "12345" in f"{A[0, 0]}",
    "the text of an entry in a list": lambda A: "12345" in f"{[A[0, 0]]}",
    "the text of all entries": lambda A: "12345" in f"{A}",
    "an entry is 12345": lambda A: A[0, 0] == 12345,
    "an entry is not 12345": lambda A: (A[0, 0] != 12345) - 1,
    "two entries are equal": lambda A: A[0, 0] == A[0, 1],
    "an entry is one of these": lambda A: A[0, 0] in [12345],
    "a difference is 0": lambda A: not A[0, 0] - 12345,
    "all differences are 0": lambda A: bool((A == 12345).all()),
    "it vanishes": lambda A: vanishes(A - 12345),
    "an entry is large": lambda A: A[0, 0] > 12345,
    "a derivative asks": lambda A: jacobian(where(lambda B: B[0, 0] == 12345), "A")(A)[0, 0] > 1,
    "a derivative asks for a difference": lambda A: jacobian(where(lambda B: not B[0, 0] - 12345), "A")(A)[0, 0] > 1,
}


@pytest.mark.parametrize("decision", DECISIONS.values(), ids=DECISIONS)
def test_a_decision_on_entries_is_no_proof_though_no_draw_shows_it(decision: Any) -> None:
    record = check_of(identity(where(decision), lambda A: 1 * A, batched=False))
    assert record.outcome == ERROR and "ArithmeticUnsupported" in record.message


def test_a_decision_on_numbers_is_one() -> None:
    claim = identity(where(lambda A: A[0, 0] - A[0, 0] + 2 == 1), lambda A: 1 * A, batched=False)
    assert check_of(claim).outcome == UPHELD


def test_prepared_inputs_are_indeterminates_where_they_are_drawn() -> None:
    def square_of_rotation(Q: Any) -> Any:
        return Q.T @ Q

    claim = identity(square_of_rotation, lambda Q: Q @ Q.T, sizes={"n": (1, 3)}, at_sizes={"n": 3})

    @claim.inputs
    def cayley(G: Square) -> dict[str, Any]:
        n = G.shape[0]
        return {"Q": inverse(eye(n) + G - G.T) @ (eye(n) - G + G.T)}

    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    claim._inputs = None
    claim._formula = lambda Q: Q.T @ Q
    claim._formula.__annotations__ = {"Q": Square}
    assert check_of(claim).outcome == VIOLATED


def test_an_assumption_that_free_entries_do_not_meet_is_no_pass() -> None:
    symmetric = Assumption("A is symmetric", zero=lambda A: A - A.T)

    def transposed(A: Square) -> Any:
        return A.T

    claim = identity(transposed, lambda A: A, assumptions=[symmetric], sizes={"n": (1, 3)}, at_sizes={"n": 2})
    record = check_of(claim)
    assert record.outcome == ERROR and "A is symmetric" in record.message


def test_a_mutant_that_is_the_same_function_is_violated() -> None:
    claim = softmax_claim()
    claim.mutant("the same", lambda value: value + value - value)
    record = check_of(claim)
    assert record.outcome == VIOLATED and "mutants are the same functions" in record.message
    assert record.surviving == ["the same"]


def test_a_mutant_that_cannot_be_compared_is_named() -> None:
    claim = softmax_claim()
    claim.mutant("positive part", lambda A, value: relu(A[0, 0]) * value)
    record = check_of(claim)
    assert record.outcome == UPHELD
    assert record.details["left by mutants"]["positive part"].startswith("not comparable: the sign")
    assert "positive part" not in record.mutants


def test_what_is_piecewise_never_passes() -> None:
    def positive_part(A: Left) -> Any:
        return relu(A)

    record = check_of(identity(positive_part, lambda A: 1 * relu(A)))
    assert record.outcome == ERROR and "sign" in record.message


def test_what_is_not_affordable_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rational_functions, "AFFORDABLE", 50)
    claim = softmax_claim()
    record = check_of(claim)
    assert record.outcome == ERROR and "more than 50 products" in record.message
    assert not judge(claim, record).ok


def test_structure_is_a_defect_that_vanishes_identically() -> None:
    claim = toy("unit-rows", HasStructure(), at_sizes={"m": 2, "n": 2})

    @claim.formula
    def unit_rows(A: Left) -> Any:
        return normalize_rows(A)

    claim.part("structure", lambda value: (value * value).sum(1) - 1)
    claim.mutant("not normalised", lambda A: A)
    claim.mutant("halved", lambda value: value / 2)
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    assert record.details["terms"] == {"left": 0, "right": 0}


# -- exponentials of matrices ------------------------------------------------------------------------------------------


def push_through(A: Left, B: Right) -> Any:
    return expm(A @ B) @ A


def test_push_through_is_proved_for_the_exponential() -> None:
    claim = identity(
        push_through, lambda A, B: A @ expm(B @ A), sizes={"m": (1, 3), "n": (1, 3)}, at_sizes={"m": 2, "n": 1}
    )
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message


def test_a_short_series_is_not_the_exponential() -> None:
    def shortened(A: Square) -> Any:
        return eye(A.shape[0]) + A + A @ A / 2

    claim = identity(shortened, lambda A: 1 * expm(A), sizes={"n": (1, 3)}, at_sizes={"n": 2})
    assert check_of(claim).outcome == VIOLATED


def proportional_to_the_matrix(A: Square) -> Any:
    """True of I + c A, and of no other polynomial."""
    return (expm(A) - eye(A.shape[0])) * A[0, 1]


def test_a_degree_that_is_too_low_would_prove_what_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = identity(proportional_to_the_matrix, lambda A: A * expm(A)[0, 1], sizes={"n": (2, 3)}, at_sizes={"n": 2})
    assert check_of(claim).outcome == VIOLATED
    monkeypatch.setattr(Spectra, "needed_degree", lambda spectra: 1)
    assert check_of(claim).outcome == UPHELD  # so the degree is what keeps it out


# -- planted wrong rules -----------------------------------------------------------------------------------------------


def exponentials(A: Left) -> Any:
    return exp(A) * exp(A) + frobenius_norm(A) ** 2


def exponentials_claim() -> Claim:
    return identity(exponentials, lambda A: exp(2 * A) + total(A * A))


def test_wrong_rules_are_seen_in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_of(exponentials_claim()).outcome == UPHELD
    right = Field.exponential
    with monkeypatch.context() as planted:  # every exponential is one: both sides agree with each other
        planted.setattr(Field, "exponential", lambda field, argument: field.constant(1))
        record = check_of(exponentials_claim())
        assert record.outcome == VIOLATED and "not those that are imported" in record.message
    with monkeypatch.context() as planted:  # exp(-t) for exp(t), in both sides
        planted.setattr(Field, "exponential", lambda field, argument: right(field, -argument))
        assert check_of(exponentials_claim()).outcome == VIOLATED
    with monkeypatch.context() as planted:  # the root of twice the radicand
        root = Field.square_root
        planted.setattr(Field, "square_root", lambda field, radicand: root(field, 2 * radicand))
        assert check_of(exponentials_claim()).outcome == VIOLATED
    with monkeypatch.context() as planted:  # a product that forgets a denominator
        planted.setattr(rational_functions, "_merged", lambda one, other: one or other)
        assert check_of(softmax_claim()).outcome != UPHELD


# -- declarations, grade, page -----------------------------------------------------------------------------------------


def test_a_mark_fits_the_claim() -> None:
    with pytest.raises(RegistryError, match="no proof at given sizes"):
        toy("bound", AtMost(), at_sizes=True)
    with pytest.raises(RegistryError, match="not proved at given ones besides"):
        toy("both", Equal(), all_sizes=True, at_sizes=True)
    with pytest.raises(RegistryError, match=r"at_sizes names \['k'\]"):
        toy("unknown size", Equal(), at_sizes={"k": 2})
    with pytest.raises(RegistryError, match="does not give all of"):
        toy("one size missing", Equal(), at_sizes={"m": 2})
    with pytest.raises(RegistryError, match="admissibly"):
        toy("not admitted", Equal(), at_sizes={"m": 2, "n": 3}, where=lambda sizes: sizes["m"] == sizes["n"])


def test_a_claim_without_sizes_can_be_marked() -> None:
    def scaled(n: Annotated[Any, Size("n")], A: Annotated[Any, Shape("2", "2")]) -> Any:
        return n * A

    claim = identity(scaled, lambda A, n: A * n, sizes={"n": (2, 2)}, at_sizes=True)
    assert check_of(claim).outcome == UPHELD


def test_the_page_says_at_which_sizes_and_what_the_rest_is_worth(tmp_path: Path) -> None:
    claim = load()["dynamics.eq-97"]
    recorder = EvidenceWriter(tmp_path / "evidence")
    for name in ("enclosed", "proved at sizes"):
        recorder.append(check_of(claim, name))
    report = build(Registry([claim]), recorder.folder)
    write(report, tmp_path)
    write_site(report, tmp_path)
    page = (tmp_path / "claims" / "dynamics.eq-97.html").read_text(encoding="utf-8")
    assert "At given sizes" in page and "entries as indeterminates both sides are" in page
    assert "At every other size the evidence is that of the other checks: enclosed" in page
    assert '"proved at"' in (tmp_path / "report.json").read_text(encoding="utf-8")


def test_prove_prints_the_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    main(["prove", "dynamics.eq-97"])
    assert "proved at " in capsys.readouterr().out


def test_marks_are_on_identities_that_hold() -> None:
    marked = [claim for claim in load().values() if claim.proved_at_sizes]
    assert all(claim.expects in ("holds", "reading", "gap") for claim in marked)
