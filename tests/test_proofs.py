"""The check `proved`: what it upholds, and that nothing false, unsupported or undeclared passes it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.claims_that_fail import toy
from verify.arithmetics.symbols.head_kinds import KINDS, times_change
from verify.arithmetics.symbols.sums import sum_of_head
from verify.checks import checks_of, proofs
from verify.checks.proofs import inputs_of, proved
from verify.checks.record import UPHELD, VIOLATED, Record
from verify.checks.settings import EFFORTS, Settings
from verify.cli import main
from verify.evidence.runner import judge, run_check
from verify.evidence.store import EvidenceWriter
from verify.evidence.verdicts import judge_alone
from verify.matrix import determinant, diag, eye, softmax, trace
from verify.oracles import jacobian
from verify.report import build, write
from verify.site import write_site
from verify.vocabulary import (
    Assumption,
    Claim,
    Equal,
    FollowsLaw,
    HasStructure,
    Real,
    Registry,
    RegistryError,
    Shape,
    load,
)
from verify.vocabulary.hypotheses import idempotent, orthonormal_columns, skew, symmetric

pytestmark = pytest.mark.kept("docs/all-sizes.md", "docs/papers")

Left = Annotated[Any, Shape("m", "n")]
Right = Annotated[Any, Shape("n", "m")]
Square = Annotated[Any, Shape("n", "n")]
Row = Annotated[Any, Shape("1", "n")]
Factor = Annotated[Any, Real(0.5, 2.0)]


def cyclic_trace(**options: Any) -> Claim:
    """tr(A B) = tr(B A), with two mutants."""
    claim = toy("cyclic-trace", Equal(), all_sizes=True, **options)

    @claim.formula
    def trace_of_product(A: Left, B: Right) -> Any:
        return trace(A @ B)

    claim.oracle(lambda A, B: trace(B @ A))
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("transposed", lambda A, B: trace(A @ A.T))
    return claim


def check_of(claim: Claim) -> Record:
    (check,) = [check for check in checks_of(claim, Settings(EFFORTS["quick"])) if check.name == "proved"]
    return run_check(claim, check, Settings(EFFORTS["quick"]))


def test_an_identity_is_proved_and_has_the_highest_grade() -> None:
    claim = cyclic_trace()
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    assert record.arithmetic == "symbols"
    assert record.details["terms"] == {"left": 1, "right": 1}
    assert record.details["left by mutants"] == {"doubled": 1, "transposed": 2}
    assert not record.surviving
    assert record.details["normal form"] == r"[A]_{i j}\, [B]_{j i}"
    assert judge_alone(claim, [record]).grade == "all sizes"


def test_only_claims_marked_have_the_check() -> None:
    claim = cyclic_trace()
    claim.all_sizes = False
    assert "proved" not in [check.name for check in checks_of(claim, Settings())]


def test_a_false_identity_is_violated_and_says_what_remains() -> None:
    claim = toy("commuting", Equal(), all_sizes=True)

    @claim.formula
    def product(A: Square, B: Square) -> Any:
        return A @ B

    claim.oracle(lambda A, B: B @ A)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert record.message.startswith("2 terms remain, the first of them")
    assert not judge(claim, record).ok


def test_a_mutant_that_equals_the_formula_is_violated() -> None:
    claim = cyclic_trace()
    claim.mutant("the other order", lambda A, B: trace(B @ A))
    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert "'the other order' reduces to the same terms" in record.message


def test_wrong_variants_are_tried_until_enough_leave_terms() -> None:
    claim = toy("cyclic-trace-of-many-variants", Equal(), all_sizes=True)

    @claim.formula
    def trace_of_product(A: Left, B: Right) -> Any:
        return trace(A @ B)

    claim.oracle(lambda A, B: trace(B @ A))
    claim.mutant("determinant", lambda A, B: determinant(A @ B))
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("the other order", lambda A, B: trace(B @ A))
    some = proofs.prove_claim(claim, enough=1)
    assert some.proved and list(some.mutants) == ["determinant", "doubled"]  # what cannot be compared does not count
    assert "'the other order' reduces to the same terms" in (proofs.prove_claim(claim).reason or "")


def test_where_a_certificate_is_kept_the_record_names_the_variants_that_were_not_tried() -> None:
    claim = load()["hessian.lem-D.2-null-vectors"]
    usual, deep = (proved(claim, Settings(EFFORTS[effort])).details["left by mutants"] for effort in ("ci", "deep"))
    assert usual == {mutant.name: proofs.NOT_TRIED for mutant in claim.mutants} and usual.keys() == deep.keys()
    assert all(isinstance(left, int) for left in deep.values())


def test_a_mutant_that_cannot_be_compared_is_named() -> None:
    claim = cyclic_trace()
    claim.mutant("determinant", lambda A, B: determinant(A @ B))
    record = check_of(claim)
    assert record.outcome == UPHELD
    assert record.details["left by mutants"]["determinant"].startswith("not comparable: ArithmeticUnsupported")
    assert "determinant" not in record.mutants  # which the other checks have to kill


def test_a_primitive_without_symbolic_form_never_passes() -> None:
    claim = toy("determinants", Equal(), all_sizes=True)

    @claim.formula
    def determinant_itself(A: Square) -> Any:
        return determinant(A)

    claim.oracle(determinant)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    record = check_of(claim)
    assert record.outcome != UPHELD
    assert "determinant" in record.message


def test_a_branch_on_a_size_rests_on_what_the_claim_does_not_grant() -> None:
    claim = cyclic_trace()
    claim._formula = None

    @claim.formula
    def trace_but_for_one_row(A: Left, B: Right) -> Any:
        return trace(A @ B) if A.shape[1] != 1 else 2 * trace(A @ B)

    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert "rests on n - 1 is not 0, which the claim does not grant at m = 1, n = 1" in record.message


def test_a_wrong_rule_is_caught_by_the_spot_check(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = toy("softmax-slope", Equal(), all_sizes=True)

    @claim.formula
    def slope_without_its_mean(T: Row) -> Any:
        return diag(softmax(T))

    @claim.oracle
    def differentiated(T: Row) -> Any:
        return jacobian(softmax, "T")(T)

    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    assert check_of(claim).message.startswith("1 terms remain")

    def without_mean(made: Any, change: Any) -> Any:
        return times_change(sum_of_head(made), change)

    monkeypatch.setitem(KINDS, "softmax", replace(KINDS["softmax"], along=without_mean))
    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert "the functions differ from each other or their normal forms" in record.message


# -- hypotheses and prepared inputs ------------------------------------------------------------------------------------


def isometry(**options: Any) -> Claim:
    """B^T B = I, true of orthonormal columns only."""
    claim = toy("isometry", Equal(), all_sizes=True, sizes={"m": (2, 3), "n": (1, 1)}, **options)

    @claim.formula
    def gram_matrix(B: Left) -> Any:
        return B.T @ B

    @claim.inputs
    def one_unit_column(B: Left) -> Any:
        return {"B": B / (B * B).sum() ** 0.5}

    claim.oracle(lambda B: eye(B.shape[1]))
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    return claim


def test_a_proof_by_an_undeclared_hypothesis_fails() -> None:
    record = check_of(isometry())
    assert record.outcome == VIOLATED
    assert record.message.startswith("2 terms remain")


def test_a_proof_by_a_declared_hypothesis_names_it() -> None:
    given = orthonormal_columns("B", stated="orthonormal columns")
    record = check_of(isometry(assumptions=["B has orthonormal columns"], hypotheses=(given,)))
    assert record.outcome == UPHELD, record.message
    assert record.details["hypotheses"] == ["B has orthonormal columns"]


def test_a_hypothesis_that_no_assumption_states_is_an_error() -> None:
    with pytest.raises(RegistryError, match="no assumption states 'S is skew'"):
        toy("unstated", Equal(), hypotheses=(skew("S", stated="S is skew"),))


UNIT = Assumption("the columns of B are orthonormal", zero=lambda B: B.T @ B - eye(B.shape[1]))


def test_a_proof_by_an_assumption_of_the_claim_names_it() -> None:
    record = check_of(isometry(assumptions=[UNIT], hypotheses=(UNIT,)))
    assert record.outcome == UPHELD, record.message
    assert record.details["hypotheses"] == ["the columns of B are orthonormal"]


def test_an_assumption_that_the_claim_does_not_make_or_test_is_no_hypothesis() -> None:
    with pytest.raises(RegistryError, match="'the columns of B are orthonormal' is no assumption of the claim"):
        isometry(hypotheses=(UNIT,))
    untested = Assumption("B is a frame", positive=lambda B: B)
    with pytest.raises(RegistryError, match="'B is a frame' is no assumption of the claim that `zero` tests"):
        isometry(assumptions=[untested], hypotheses=(untested,))


def test_a_false_assumption_is_caught_by_the_spot_check() -> None:
    false = Assumption("the columns of B have norm 2", zero=lambda B: B.T @ B - 4 * eye(B.shape[1]))
    claim = isometry(assumptions=[false], hypotheses=(false,))
    claim._oracle = lambda B: 4 * eye(B.shape[1])
    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert "the functions differ from each other or their normal forms" in record.message


def test_hypotheses_are_read_by_those_before_them() -> None:
    skew_part = Assumption("S is skew", zero=lambda S: S + S.T)
    rotation = Assumption("S turns by quarters", zero=lambda S: S @ S.T - eye(S.shape[0]))
    claim = toy(
        "quarter-turns",
        Equal(),
        all_sizes=True,
        sizes={"n": (2, 2)},
        assumptions=[skew_part, rotation],
        hypotheses=(skew_part, rotation),
    )

    @claim.formula
    def square(S: Square) -> Any:
        return S @ S

    @claim.inputs
    def quarter_turn(S: Square) -> Any:
        half = eye(2)[:, :1] @ eye(2)[1:]
        return {"S": half - half.T + 0 * S}

    claim.oracle(lambda S: -eye(S.shape[0]) + 0 * S)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    assert record.details["hypotheses"] == ["S is skew", "S turns by quarters"]


def test_a_proof_rests_on_what_its_hypotheses_have_read() -> None:
    said = ["S is symmetric", "S has orthonormal columns", "S is idempotent"]
    made = (symmetric, orthonormal_columns, idempotent)
    given = tuple(property_("S", stated=text) for property_, text in zip(made, said, strict=True))
    claim = toy("only-the-identity", Equal(), all_sizes=True, assumptions=said, hypotheses=given)

    @claim.formula
    def matrix(S: Square) -> Any:
        return S

    claim.oracle(lambda S: eye(S.shape[0]) + 0 * S)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    proof = proofs.prove_claim(claim)
    assert proof.proved, proof.reason
    assert proof.hypotheses == said  # a symmetric projection alone is another matrix


def test_a_hypothesis_on_what_is_no_input_is_no_proof() -> None:
    claim = cyclic_trace(assumptions=["Q is symmetric"], hypotheses=(symmetric("Q", stated="Q is symmetric"),))
    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert "hypothesis" in record.message


def test_a_proof_does_not_rest_on_how_inputs_are_prepared() -> None:
    claim = toy("symmetric-part", Equal(), all_sizes=True)

    @claim.formula
    def matrix(S: Square) -> Any:
        return S

    @claim.inputs
    def symmetric_matrix(A: Square) -> Any:
        return {"S": A + A.T}

    claim.oracle(lambda S: S.T)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    assert inputs_of(claim)["S"].value.heads().pop().name == "S"
    assert check_of(claim).outcome == VIOLATED


def test_a_prepared_input_without_an_annotation_is_no_proof() -> None:
    claim = toy("prepared", Equal(), all_sizes=True)

    @claim.inputs
    def symmetric_matrix(A: Square) -> Any:
        return {"S": A + A.T}

    claim.formula(lambda S: S)
    claim.oracle(lambda S: S.T)
    claim.mutant("doubled", lambda S: 2 * S)
    claim.mutant("negated", lambda S: -S)
    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert "how it is prepared" in record.message


# -- conditions --------------------------------------------------------------------------------------------------------


def first_columns(**options: Any) -> Claim:
    """The first k columns of the identity are orthonormal."""
    claim = toy("first-columns", Equal(), all_sizes=True, **options)

    @claim.formula
    def gram_matrix(A: Annotated[Any, Shape("n", "n")], C: Annotated[Any, Shape("k", "k")]) -> Any:
        first = eye(A.shape[0])[:, : C.shape[0]]
        return first.T @ first @ C

    claim.oracle(lambda A, C: C)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    return claim


def test_a_slice_beyond_the_bounds_is_no_proof() -> None:
    record = check_of(first_columns(sizes={"n": (1, 3), "k": (1, 3)}))
    assert record.outcome == VIOLATED
    assert "rests on" in record.message
    within = first_columns(sizes={"n": (1, 3), "k": (1, 3)}, where=lambda sizes: sizes["k"] <= sizes["n"])
    assert check_of(within).outcome == UPHELD
    assert check_of(within).details["conditions"]


def test_a_division_by_what_may_vanish_is_named() -> None:
    claim = toy("division", Equal(), all_sizes=True)

    @claim.formula
    def divided(A: Square, c: Annotated[Any, Real()], s: Factor) -> Any:
        return A / c / s

    claim.oracle(lambda A, c, s: A / (c * s))
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    assert "c is not 0" in record.details["conditions"]
    assert record.details["positive"] == ["s"]


def test_structure_is_proved_as_a_defect_without_terms() -> None:
    claim = toy("skew-part", HasStructure(), all_sizes=True)

    @claim.formula
    def skew_part(A: Square) -> Any:
        return A - A.T

    claim.part("structure", lambda value: value + value.T)
    claim.mutant("symmetric part", lambda A: A + A.T)
    claim.mutant("the matrix", lambda A: A)
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    assert record.details["terms"] == {"left": 0, "right": 0}


def test_laws_have_no_proof_for_all_sizes() -> None:
    with pytest.raises(RegistryError, match="have no proof for all sizes"):
        toy("law", FollowsLaw(), all_sizes=True)


# -- effort, seeds, the command ----------------------------------------------------------------------------------------


def test_proved_claims_are_sampled_less() -> None:
    effort = EFFORTS["ci"]
    assert effort.tying(effort.examples, proved=True) * 4 == effort.examples
    assert effort.tying(effort.examples, proved=False) == effort.examples


def test_a_mutant_that_is_right_at_some_sizes_is_told_apart_at_others(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = toy("transpose", Equal(), all_sizes=True, sizes={"n": (1, 3)})
    claim.formula(_itself)
    claim.oracle(lambda A: A)
    claim.mutant("transposed", lambda A: A.T)
    claim.mutant("doubled", lambda value: 2 * value)
    monkeypatch.setattr(proofs, "spot_sizes", lambda claim, seed, count: [{"n": 1}] * 3)
    record = check_of(claim)
    assert record.outcome == UPHELD, record.message
    assert [spot["sizes"] for spot in record.details["spots"]] == [{"n": 1}] * 3 + [{"n": 3}]


def _itself(A: Square) -> Any:
    return A


def test_only_the_spot_check_depends_on_the_seed() -> None:
    claim = cyclic_trace()
    one, other = (proved(claim, Settings(seed=seed)) for seed in (1, 2))
    assert one.details["normal form"] == other.details["normal form"]
    assert one.worst_residual != other.worst_residual or one.details["spots"] != other.details["spots"]


def test_the_command_prints_the_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "dynamics.lemma-a.1"]) == 0
    printed = capsys.readouterr().out
    assert "proved for all sizes: both sides reduce to the same term" in printed
    assert r"A \otimes B^\top" in printed
    assert main(["prove", "hessian.sec-B.1.1-scaling"]) == 1
    assert "not proved: 1 terms remain" in capsys.readouterr().out
    assert main(["prove", "dynamics.lemma-a.*"]) == 0
    assert "3 of 3 proved for all sizes" in capsys.readouterr().out
    assert main(["prove", "nothing.*"]) == 2


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_the_page_of_a_claim_shows_its_proof(of_no_repository: None, tmp_path: Path) -> None:
    claims = load()
    claim = claims["dynamics.lemma-a.1"]
    recorder = EvidenceWriter(tmp_path / "evidence")
    recorder.append(check_of(claim))
    report = build(Registry([claim]), recorder.folder)
    write(report, tmp_path)
    write_site(report, tmp_path)
    page = (tmp_path / "claims" / "dynamics.lemma-a.1.html").read_text(encoding="utf-8")
    assert "Proved for all sizes: both sides reduce to the same term" in page
    assert "The formula, read back from the code" in page
    assert page.count("<math") >= 3  # statement, formula and normal form
    assert "sums over Kronecker deltas" in page
    assert '"normal form"' in (tmp_path / "report.json").read_text(encoding="utf-8")


def test_the_list_of_what_is_not_proved_agrees_with_the_registry() -> None:
    page = (Path(__file__).parents[1] / "docs" / "all-sizes.md").read_text(encoding="utf-8")
    identities = [
        claim
        for claim in load().values()
        if claim.relation.kind in ("equal", "structure") and claim.expects in ("holds", "reading")
    ]
    listed = re.findall(r"`(\w+\.[^`]+)`[,.]", page)
    assert len(listed) == len(set(listed))
    assert set(listed) == {claim.id for claim in identities if not claim.all_sizes}
    proved = sum(claim.all_sizes for claim in identities)
    assert f"Of the {len(identities)} claims" in page and f"{proved} are proved for all sizes" in page
    assert f"{sum(claim.proved_at_sizes for claim in identities)} of them are proved at given sizes" in page
    for paper in sorted({claim.paper.key for claim in identities}):
        own = [claim for claim in identities if claim.paper.key == paper]
        everywhere, somewhere = sum(claim.all_sizes for claim in own), sum(claim.proved_at_sizes for claim in own)
        assert f"| {paper} | {everywhere} | {somewhere} | {len(own)} |" in page
    for heading, count in re.findall(r"## (.*) \((\d+)\)", page):
        section = page.split(f"## {heading} (")[1].split("\n## ")[0]
        assert len(re.findall(r"`(\w+\.[^`]+)`[,.]", section)) == int(count)


def test_observations_and_refuted_claims_are_not_marked() -> None:
    assert all(claim.expects in ("holds", "reading", "gap") for claim in load().values() if claim.all_sizes)
