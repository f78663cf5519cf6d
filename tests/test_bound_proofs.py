"""The check `proved` of bounds: what it upholds, and that no refuted, unsupported or undeclared bound passes it."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import sympy

from tests.claims_that_fail import toy
from tests.numbers import certified
from verify.arithmetics import Constant
from verify.arithmetics.norms import derivations, rules
from verify.arithmetics.norms.facts import facts_of
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.recording import NotCertified
from verify.arithmetics.norms.statements import RULES_BY_NAME, rule
from verify.arithmetics.norms.world import world
from verify.checks import bound_proofs, certified_bounds, checks_of
from verify.checks.bound_proofs import prove_bound_claim, proved_bound
from verify.checks.certified import kept_of
from verify.checks.record import UPHELD, VIOLATED, Record
from verify.checks.settings import EFFORTS, Settings
from verify.cli import main
from verify.inputs.witnesses import Given
from verify.matrix import (
    absolute,
    concatenate,
    each,
    expm,
    eye,
    frobenius_norm,
    kron,
    maximum,
    ones,
    rational,
    relu,
    softmax,
    spectral_norm,
    sqrt,
    step,
    summed,
    total,
    zeros,
)  # fmt: skip
from verify.oracles import closed_form, closed_forms, jacobian
from verify.report import attempts
from verify.report.proof_texts import headline, proof_text
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Real, Shape, Size, load
from verify.vocabulary.hypotheses import Hypothesis, skew

pytestmark = pytest.mark.kept("docs/bounds.md")

Left = Annotated[Any, Shape("m", "n")]
Right = Annotated[Any, Shape("n", "m")]
Square = Annotated[Any, Shape("n", "n")]
Line = Annotated[Any, Shape("1", "n")]
Frequency = Annotated[Any, Real(0.0, 3.0)]
Share = Annotated[Any, Real(0.0625, 1.0)]
Steps = Annotated[int, Size("K")]

REGISTRY = load()
MARKED = sorted(c.id for c in REGISTRY.values() if c.all_sizes and isinstance(c.relation, AtMost))


def product_bound(factor: Any = 1, **options: Any) -> Claim:
    """||A B||_F <= factor ||A||_2 ||B||_F."""
    claim = toy("product-bound", AtMost(), all_sizes=True, **options)

    @claim.formula
    def bound(A: Left, B: Right) -> Any:
        return spectral_norm(A) * frobenius_norm(B) * factor

    claim.oracle(lambda A, B: frobenius_norm(A @ B))
    claim.mutant("smaller", lambda value: value * rational(1, 2))
    return claim


def check_of(claim: Claim, seed: int = 0) -> Record:
    """The check `proved` with its attempts to derive wrong variants, as at effort deep."""
    settings = Settings(replace(EFFORTS["quick"], anew=True), seed=seed)
    (check,) = [check for check in checks_of(claim, settings) if check.name == "proved"]
    return check.run(claim, settings)


def test_a_bound_is_proved_and_has_the_highest_grade() -> None:
    record = check_of(product_bound())
    assert record.outcome == UPHELD, record.message
    assert record.arithmetic == "norms"
    assert record.details["rules"] == ["product"]
    assert record.details["mutants"] == {"smaller": "not proved"}
    (entry,) = record.details["entries"]
    assert entry["left"] == "||A B||_F" and entry["slack"] == "1"
    assert headline(record).startswith("proved for all inputs and sizes")
    assert "||A B||_F\n      <= ||A||_2*||B||_F    (product)" in proof_text(product_bound(), record)


@pytest.mark.parametrize("seed", [1, 7])
def test_other_seeds_uphold_it_too(seed: int) -> None:
    assert check_of(product_bound(), seed).outcome == UPHELD


def test_slack_is_measured() -> None:
    record = check_of(product_bound(factor=3))
    assert record.outcome == VIOLATED  # its mutant is true
    assert record.details["mutants"] == {"smaller": "proved as well"}
    assert record.details["entries"][0]["slack"] == "3"


def test_a_false_bound_is_not_proved_and_says_what_it_comes_to() -> None:
    record = check_of(product_bound(factor=rational(9, 10)))
    assert record.outcome == VIOLATED
    assert record.message == "1 of 1 inequalities are not derived"
    assert "not proved" in headline(record)
    assert record.details["entries"][0]["bound"] == "||A||_2*||B||_F"


def test_a_loop_over_rows_is_no_proof() -> None:
    claim = toy("rows", AtMost(), all_sizes=True)

    @claim.formula
    def bound(A: Left) -> Any:
        return sum(frobenius_norm(A[i : i + 1]) for i in range(A.shape[0]))

    claim.oracle(frobenius_norm)
    assert "a number in the place of m" in check_of(claim).message

    other = toy("family", AtMost(), all_sizes=True)

    @other.formula
    def larger(A: Left) -> Any:
        return sum(each(A.shape[0], lambda i: frobenius_norm(A[i : i + 1])))

    other.oracle(frobenius_norm)
    assert "a loop over a family" in check_of(other).message


def test_a_sum_over_an_index_counts_its_terms() -> None:
    claim = toy("sum", AtMost(), all_sizes=True)

    @claim.formula
    def bound(A: Left) -> Any:
        return frobenius_norm(A) * A.shape[0]

    claim.oracle(lambda A: frobenius_norm(summed(A.shape[0], lambda i: softmax(A) @ A.T @ A)) / sqrt(A.shape[0]))
    assert check_of(claim).outcome == VIOLATED  # it is cubic
    claim.mutants.clear()
    rows = toy("rows-summed", AtMost(), all_sizes=True)

    @rows.formula
    def rows_bound(A: Left) -> Any:
        return frobenius_norm(A) * A.shape[0]

    rows.oracle(lambda A: frobenius_norm(summed(A.shape[0], lambda i: A[i : i + 1])))
    rows.mutant("one term", frobenius_norm)
    assert check_of(rows).outcome == UPHELD


def test_a_hypothesis_is_used_only_where_it_is_declared() -> None:
    def orthogonal(**options: Any) -> Claim:
        claim = toy("rotation", AtMost(), all_sizes=True, **options)

        @claim.formula
        def distance(S: Square) -> Any:
            return spectral_norm(S)

        @claim.inputs
        def skew_part(G: Square) -> Any:
            return {"S": G - G.T}

        claim.oracle(lambda S: spectral_norm(expm(S) - eye(S.shape[0])))
        claim.mutant("half", lambda value: value / 2)
        return claim

    assert check_of(orthogonal()).outcome == VIOLATED
    stated = orthogonal(assumptions=["S is skew"], hypotheses=(skew("S", stated="S is skew"),))
    record = check_of(stated)
    assert record.outcome == UPHELD, record.message
    assert record.details["hypotheses"] == ["S is skew"]


def test_joint_orthonormality_is_used_only_where_it_is_declared() -> None:
    def frame_defect(A: Left, B: Left) -> Any:
        W = concatenate([A, B], axis=1)
        return W.T @ W - eye(W.shape[1])

    def pair(**options: Any) -> Claim:
        claim = toy("pair", AtMost(), all_sizes=True, **options)
        claim.oracle(lambda A, B: spectral_norm(A @ B.T - B @ A.T))
        claim.mutant("half", lambda value: value / 2)

        @claim.formula
        def one(A: Left, B: Left) -> Any:
            return 1 + 0 * total(A)

        return claim

    stated = Assumption("[A, B] has orthonormal columns", zero=frame_defect)
    claims = (pair(assumptions=[stated]), pair(assumptions=[stated], hypotheses=(stated,)))
    proofs = [prove_bound_claim(claim) for claim in claims]
    assert [proof.proved for proof in proofs] == [False, True]
    assert "antisymmetric product" in proofs[1].rules and "orthonormal" in proofs[1].rules


def turning(factor: Any = 1) -> Claim:
    """||x + x S|| <= factor sqrt(1 + w^2) ||x|| for skew S with S^T S = w^2 I."""
    equal = Assumption("S^T S = w^2 I", zero=lambda S, w: S.T @ S - eye(S.shape[0]) * (w * w))
    hypotheses = (skew("S", stated="S is skew"), equal)
    claim = toy("turning", AtMost(), all_sizes=True, assumptions=["S is skew", equal], hypotheses=hypotheses)

    @claim.formula
    def stretched(S: Square, x: Line, w: Frequency) -> Any:
        return frobenius_norm(x) * sqrt(1 + w * w) * factor

    @claim.inputs
    def rotation(x: Line, w: Frequency) -> Any:
        n = x.shape[1]
        S = kron(eye(n // 2), Constant([[0, 1], [-1, 0]])) * w if n % 2 == 0 else zeros(n, n) + 0 * w
        return {"S": S, "x": x, "w": w if n % 2 == 0 else 0 * w}

    claim.oracle(lambda S, x: frobenius_norm(x + x @ S))
    claim.mutant("half", lambda value: value / 2)
    return claim


def test_a_product_that_is_a_multiple_of_the_identity_by_assumption_gives_norms_exactly() -> None:
    record = check_of(turning())
    assert record.outcome == UPHELD, record.message
    assert "||y||^2 = sum_k c_k ||x_k||^2 for rows where y y^T = sum_k c_k x_k x_k^T" in record.details["hypotheses"]
    assert check_of(turning(rational(9, 10))).message == "1 of 1 inequalities are not derived"


def test_a_matrix_whose_square_vanishes_by_assumption_has_an_exponential_of_two_terms() -> None:
    claim = copy.copy(REGISTRY["dynamics.sec-5.2-unbounded"])
    proof = prove_bound_claim(claim)
    assert proof.proved and proof.rules == ["reverse triangle inequality"]
    other = Assumption("N N^T = 0", zero=lambda N: N @ N.T)
    for hypotheses in ((), (other,)):
        claim.hypotheses = hypotheses
        assert prove_bound_claim(claim).reason == "1 of 1 inequalities are not derived"


def test_a_planted_wrong_multiple_of_the_identity_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = derivations.reduction_in

    def halved(value: Any) -> None:
        right(value)
        known = world()
        known.reductions = {pair: c / 2 for pair, c in known.reductions.items()}

    monkeypatch.setattr(derivations, "reduction_in", halved)
    assert "the quantities differ from the functions" in check_of(turning()).message


def test_an_assumed_inequality_is_used_only_where_it_is_declared() -> None:
    def shrunk(**options: Any) -> Claim:
        claim = toy("shrunk", AtMost(), all_sizes=True, **options)

        @claim.formula
        def whole(A: Left, c: Frequency) -> Any:
            return frobenius_norm(A)

        @claim.inputs
        def at_most_one(A: Left, c: Share) -> Any:
            return {"A": A, "c": c}

        claim.oracle(lambda A, c: frobenius_norm(A) * c * c)
        claim.mutant("half", lambda value: value / 2)
        return claim

    assert check_of(shrunk()).message == "1 of 1 inequalities are not derived"
    at_most_one = Assumption("c <= 1", nonnegative=lambda c: 1 - c)
    assert check_of(shrunk(assumptions=[at_most_one])).outcome == VIOLATED  # c may be below -1, for all it says
    record = check_of(shrunk(assumptions=[at_most_one, Assumption("c >= 0", nonnegative=lambda c: c)]))
    assert record.outcome == UPHELD, record.message
    assert "1 - c >= 0" in record.details["hypotheses"]


def test_the_largest_of_several_is_bounded_case_by_case() -> None:
    def several(**options: Any) -> Claim:
        claim = toy("several", AtMost(), all_sizes=True, **options)

        @claim.formula
        def scaled(A: Left, c: Share, w: Frequency) -> Any:
            return frobenius_norm(A) * w

        @claim.inputs
        def above_both(A: Left, c: Share) -> Any:
            return {"A": A, "c": c, "w": largest_of(c) * 2}

        claim.oracle(lambda A, c: frobenius_norm(A) * largest_of(c))
        claim.mutant("square", lambda A, w: frobenius_norm(A) * w * w)
        return claim

    def largest_of(c: Any) -> Any:
        return maximum(concatenate([ones(1, 1) * c * c, ones(1, 1) * c / 2], axis=0))

    assert check_of(several()).outcome == VIOLATED
    record = check_of(several(assumptions=[Assumption("w is above both", nonnegative=lambda c, w: w - largest_of(c))]))
    assert record.outcome == UPHELD, record.message
    assert record.details["mutants"] == {"square": "not proved"}


def test_an_assumed_bound_of_all_entries_bounds_a_norm() -> None:
    small = Assumption("|A_ij| <= c", nonnegative=lambda A, c: c - absolute(A).reshape(-1))

    def bounded(factor: Any, **options: Any) -> Claim:
        claim = toy("entries", AtMost(), all_sizes=True, **options)

        @claim.formula
        def largest(A: Left, c: Share) -> Any:
            return A.shape[0] * A.shape[1] * c * c * factor

        @claim.inputs
        def scaled(G: Left, c: Share) -> Any:
            return {"A": G * (c / (maximum(absolute(G)) + 1)), "c": c}

        claim.oracle(lambda A: total(A * A))
        claim.mutant("half", lambda value: value / 2)
        return claim

    assert check_of(bounded(1)).outcome == VIOLATED
    assert check_of(bounded(rational(9, 10), assumptions=[small])).outcome == VIOLATED
    record = check_of(bounded(1, assumptions=[small]))
    assert record.outcome == UPHELD, record.message
    assert record.details["rules"] == ["largest of all entries", "assumption"]


def test_gates_agree_only_where_an_assumption_says_so() -> None:
    def gates(**options: Any) -> Claim:
        claim = toy("gates", AtMost(), all_sizes=True, **options)

        @claim.formula
        def change(A: Left, B: Left, w: Left, z: Left) -> Any:
            return frobenius_norm(w - z)

        claim.oracle(lambda A, B, w, z: frobenius_norm(w * step(A) - z * step(B)))
        claim.mutant("half", lambda value: value / 2)
        return claim

    assert prove_bound_claim(gates()).reason == "1 of 1 inequalities are not derived"
    agreeing = gates(assumptions=[Assumption("A and B agree in sign", positive=lambda A, B: A * B)])
    assert prove_bound_claim(agreeing).proved
    others = gates(assumptions=[Assumption("A and w agree in sign", positive=lambda A, w: A * w)])
    assert not prove_bound_claim(others).proved


def test_a_planted_unsound_rule_is_caught_by_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = toy("planted", AtMost(), all_sizes=True)

    @claim.formula
    def bound(A: Left) -> Any:
        return frobenius_norm(A) * rational(1, 2)

    claim.oracle(lambda A: frobenius_norm(relu(A)))
    assert check_of(claim).message == "1 of 1 inequalities are not derived"
    right = rules.RULES["relu"]
    halved = lambda kind, node: (item._replace(bound=item.bound / 2) for item in right(kind, node))  # noqa: E731
    monkeypatch.setitem(rules.RULES, "relu", halved)
    assert "the left side is above the right one for certain" in check_of(claim).message


def growing_with_size() -> Claim:
    """1 - 1/(1 + n^8 ||A||_F / 10^15) <= ||A||_F / 100, which only large sizes break."""
    claim = toy("growing", AtMost(), all_sizes=True)

    @claim.formula
    def bound(A: Left) -> Any:
        return frobenius_norm(A) / 100

    claim.oracle(lambda A: 1 - 1 / (1 + A.shape[1] ** 8 * rational(1, 10**15) * frobenius_norm(A)))
    return claim


def test_a_factor_that_small_sizes_do_not_show_is_seen_at_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_of(growing_with_size()).message == "1 of 1 inequalities are not derived"
    monkeypatch.setattr(derivations, "grows_with", lambda value, part: True)
    message = check_of(growing_with_size()).message
    assert "the left side is above the right one" in message and "'n': " in message
    monkeypatch.setattr(bound_proofs, "far_spots", lambda *given: [])
    assert check_of(growing_with_size()).outcome == UPHELD, "no small size shows it"


def test_large_sizes_are_far_beyond_those_of_the_claim() -> None:
    record = check_of(product_bound())
    assert max(record.details["large sizes"][0].values()) >= 100
    assert not check_of(product_bound(factor=rational(9, 10))).details["large sizes"]


def by_size(left: Any, **options: Any) -> Claim:
    """A multiple of ||A||_F, which may depend on a size, <= ||A||_F."""
    claim = toy("by-size", AtMost(), all_sizes=True, **options)

    @claim.formula
    def whole(A: Left) -> Any:
        return frobenius_norm(A)

    claim.oracle(lambda A: frobenius_norm(A) * left(A.shape[1]))
    return claim


def test_a_formula_does_not_decide_on_a_size_that_is_a_symbol() -> None:
    assert check_of(by_size(lambda n: 2 if n % 6 == 0 else 1)).outcome == VIOLATED
    assert check_of(by_size(lambda n: 2 if n == 7 else 1)).outcome == VIOLATED
    assert check_of(by_size(lambda n: 2 if n == 1 else 1)).outcome == VIOLATED
    record = check_of(by_size(lambda n: rational(1, 2) if n == 1 else 1))
    assert record.outcome == UPHELD and record.details["cases"] == ["n = 1"], record.message


def test_a_slice_lies_within_its_axis() -> None:
    def first_two(**options: Any) -> Claim:
        claim = toy("slice", AtMost(), all_sizes=True, **options)

        @claim.formula
        def whole(A: Left) -> Any:
            return frobenius_norm(A)

        claim.oracle(lambda A: frobenius_norm(A[:2]))
        return claim

    assert "the proof rests on m - 2 >= 0" in check_of(first_two()).message
    assert check_of(first_two(sizes={"m": (2, 3), "n": (1, 3)})).outcome == UPHELD


def test_steps_whose_number_may_be_0_are_not_taken_to_be_some() -> None:
    claim = toy("steps", AtMost(), all_sizes=True, sizes={"m": (1, 3), "n": (1, 3), "K": (0, 3)})

    @claim.formula
    def many(A: Left, K: Steps) -> Any:
        return frobenius_norm(A) * K

    claim.oracle(lambda A, K: frobenius_norm(A) + 0 * K)
    assert check_of(claim).message == "1 of 1 inequalities are not derived"


def test_a_derivation_is_evaluated_where_the_attack_found_the_bound_tightest(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, settings = REGISTRY["osa.lemma-f.2-absolute"], Settings(replace(EFFORTS["quick"], anew=True), seed=1)
    monkeypatch.setattr(bound_proofs, "SPOTS", 0)  # draws are left out
    record = proved_bound(claim, settings)
    assert record.outcome == UPHELD, record.message
    assert record.examples == record.details["spots at the tightest inputs"] > 0
    right = rules._antisymmetric
    less = lambda *args: (item._replace(bound=item.bound * rational(99, 100)) for item in right(*args))  # noqa: E731
    monkeypatch.setattr(rules, "_antisymmetric", less)
    claim = without_mutants(claim)
    assert "is not between both sides" in proved_bound(claim, settings).message


def without_mutants(claim: Claim) -> Claim:
    """The claim without its mutants, which a wrong rule may prove first."""
    found = copy.copy(claim)
    found.mutants = []
    return found


def squares(A: Left) -> Any:
    """A A^T."""
    return A @ A.T


def test_a_wrong_closed_form_is_caught_by_the_evaluation() -> None:
    claim = toy(
        "derivative", AtMost(), all_sizes=True, sizes={"m": (2, 2), "n": (3, 3)}
    )  # larger derivatives take long

    @claim.formula
    def bound(A: Left) -> Any:
        return frobenius_norm(A) * (A.shape[0] + 1)  # true, so that nothing but the closed form is wrong

    claim.oracle(lambda A: frobenius_norm(jacobian(squares, "A")(A)))
    assert check_of(claim).message == "1 of 1 inequalities are not derived"

    @closed_form(squares, "A", "toy.none")
    def wrong(A: Any) -> Any:
        return A

    record = check_of(claim)
    assert record.outcome == VIOLATED
    assert "the quantities differ from the functions" in record.message
    assert record.details["closed forms"] == ["toy.none"]


# -- the registry ------------------------------------------------------------------------------------------------------


def test_no_refuted_bound_is_marked_as_proved_and_no_hypothesis_rests_on_its_own_claim() -> None:
    """Every marked bound is proved by its theorem item; derivations cite rules, closed forms and what hypotheses rest on."""
    for claim_id in MARKED:
        claim = REGISTRY[claim_id]
        by = [item.by for item in claim.hypotheses if isinstance(item, Hypothesis) and item.by]
        assert claim.expects != "refuted" and claim_id not in by
        assert all(REGISTRY[fact].expects == "holds" for fact in by), claim_id


def test_a_derivation_with_a_certificate_is_evaluated_at_fewer_inputs_but_at_effort_deep() -> None:
    claim = load()["osa.thm-a.1-eq-10"]

    def inputs(effort: str) -> int:
        record = proved_bound(claim, Settings(EFFORTS[effort]))
        assert record.outcome == UPHELD, record.message
        return record.details["spots"] - record.details["spots at the tightest inputs"]  # type: ignore[no-any-return]

    assert (inputs("ci"), inputs("deep")) == (bound_proofs.WITH_CERTIFICATE, bound_proofs.SPOTS)


def test_wrong_variants_are_derived_at_effort_deep_alone() -> None:
    claim = product_bound()
    claim.mutant("larger", lambda value: value * 2)
    usual = proved_bound(claim, Settings(EFFORTS["ci"]))
    assert usual.outcome == UPHELD and usual.details["mutants"] == {}
    deep = proved_bound(claim, Settings(EFFORTS["deep"]))
    assert deep.outcome == VIOLATED and deep.details["mutants"]["larger"] == "proved as well"


#: Refuted bounds of which is kept where an attempt to derive them ends; those that take more than a second or two are left out.
ATTEMPTS = {claim.id: found for claim in REGISTRY.values() if (found := attempts.kept(claim))}
SLOW = {
    "convergence.eq-21", "convergence.eq-35", "convergence.lemma-14", "convergence.thm-3-remark", "osa.thm-c.3-any-sign",
}  # fmt: skip


@pytest.mark.parametrize("claim_id", sorted(ATTEMPTS.keys() - SLOW))
def test_no_refuted_bound_is_proved_and_what_is_kept_says_where_it_stops(claim_id: str) -> None:
    assert attempts.attempt(REGISTRY[claim_id]) == ATTEMPTS[claim_id], "verify prove ID --keep renews it"


def test_what_is_kept_of_attempts_is_of_refuted_bounds() -> None:
    path = attempts.data_file("theorems", attempts.FILE)
    assert set(json.loads(path.read_text(encoding="utf-8"))) == set(ATTEMPTS) > SLOW
    assert all(attempts.is_attempted(REGISTRY[claim_id]) for claim_id in ATTEMPTS)


def test_attempts_are_written_down_by_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / attempts.FILE
    monkeypatch.setattr(attempts, "data_file", lambda package, name: path)
    path.write_text('{"osa.eq-56": {}, "osa.lemma-f.2-any-sign": {"inequalities": 1, "stopped": []}, "gone": {}}')
    attempts._read.cache_clear()
    assert main(["prove", "osa.eq-56", "skipless.eq-26", "--keep"]) == 0
    assert f"{path}: where attempts at 2 refuted bounds end" in capsys.readouterr().out
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["osa.eq-56"] == ATTEMPTS["osa.eq-56"]
    assert found["osa.lemma-f.2-any-sign"] == {"inequalities": 1, "stopped": []}
    assert set(found) == {"osa.eq-56", "osa.lemma-f.2-any-sign"}, (
        "what does not run on norms, or is no claim, is left out"
    )
    assert main(["prove", "osa.eq-84", "--keep"]) == 2
    attempts._read.cache_clear()


#: Rules that only spell out what norms, largest values, sums and comparisons of numbers are, or what a claim assumes.
DEFINITIONS = {
    "triangle inequality", "sum over an index", "smaller denominator", "largest of several", "definition of the largest",
    "absolute values", "weight of several", "unit vector", "unit direction", "derivative along a unit direction",
    "assumption", "contraction", "number among the factors", "reverse triangle inequality", "range", "boxes",
    "one of several", "smaller of two gains",
}  # fmt: skip


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two rules for norms are called 'relu'"):
        rule("relu", says="||relu(A)|| = ||A||")


def test_every_rule_is_a_definition_or_states_claims_that_hold() -> None:
    definitions = {rule.name for rule in RULES_BY_NAME.values() if not rule.claims}
    assert definitions == DEFINITIONS, "a rule that rests on no claim only says what a norm is, or what is assumed"
    facts = {fact for rule in RULES_BY_NAME.values() for fact in rule.claims}
    assert facts == {claim_id for claim_id in REGISTRY if claim_id.startswith("norms.")}
    assert all(REGISTRY[fact].expects == "holds" for fact in facts)
    for fact in facts & set(MARKED):
        proof = prove_bound_claim(REGISTRY[fact], with_mutants=False)
        assert proof.proved and not facts_of(proof.rules), "a rule would be proved by itself, or by another"


def test_a_rule_without_a_claim_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right = rules.RULES["product"]
    renamed = lambda *args: (item._replace(name="rule of thumb") for item in right(*args))  # noqa: E731
    monkeypatch.setitem(rules.RULES, "product", renamed)
    with pytest.raises(KeyError, match="rule of thumb"):
        check_of(product_bound())


def test_the_command_lists_facts_and_proves_nothing_by_one_that_does_not_stand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["prove", "dynamics.eq-94-logits"]) == 0
    assert "facts: norms.softmax-lipschitz" in capsys.readouterr().out
    for planted, why in ((("norms.none",), "norms.none is no claim"), (("osa.eq-56",), "osa.eq-56 is refuted")):
        wrong = replace(RULES_BY_NAME["softmax is 1/2-Lipschitz"], claims=planted)
        monkeypatch.setitem(RULES_BY_NAME, wrong.name, wrong)
        assert main(["prove", "dynamics.eq-94-logits"]) == 1
        assert f"nothing is proved by what does not stand: {why}" in capsys.readouterr().out
        assert main(["prove", "dynamics.eq-94-l*"]) == 1
        assert why in capsys.readouterr().out


def test_where_only_rounding_is_left_of_the_quantities_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, settings = load()["convergence.eq-65-transposed"], Settings(EFFORTS["quick"])
    proof, number = prove_bound_claim(claim), Values.number
    rows = {"X": [[1.0, 2.0], [3.0, 1.0]], "Y": [[2.0, 1.0], [2.0, 1.0]], "M": [[1.0, 0.0], [0.0, 1.0]]}

    def spots(inputs: dict[str, Any], number_of: Any) -> list[bound_proofs.Spot]:
        given = Given({**rows, **inputs}, sizes=(("d_s", 2), ("d", 2)))
        monkeypatch.setattr(bound_proofs, "systematic", lambda *_: [given])
        monkeypatch.setattr(Values, "number", number_of)
        return bound_proofs.spots_of(claim, proof, settings)

    def a_rounding_for_zero(*given: Any) -> float:
        """As kernels have it that sum in another order: attention to equal rows is 1/2 but for its last digit."""
        return number(*given) or 2.0**-53

    def slightly_wrong(*given: Any) -> float:
        return number(*given) * (1 + 1e-6)

    assert not spots({}, a_rounding_for_zero)
    (told,) = spots({"Y": [[2.0, 1.0], [0.0, 3.0]]}, slightly_wrong)
    assert told.worst > bound_proofs.AGREEMENT
    monkeypatch.setattr(bound_proofs, "_blurred", lambda *given: False)
    (rounding,) = spots({}, a_rounding_for_zero)
    assert rounding.worst > bound_proofs.AGREEMENT


@pytest.mark.parametrize(
    ("claim_id", "seed"),
    [
        ("osa.thm-a.1-eq-10", 3),  # a skew matrix of zeros, whose norm no ball can be divided by
        ("osa.thm-a.1-eq-10", 13),  # exponentials of matrices of norm 0.03
        ("dynamics.sec-5.2-mitigate", 2),  # a state of zeros, of which no unit vector can be made
    ],
)
def test_inputs_that_floats_or_balls_cannot_tell_decide_nothing_about_a_derivation(
    claim_id: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound_proofs, "WITH_CERTIFICATE", bound_proofs.SPOTS)  # these inputs are among the later ones
    record = proved_bound(load()[claim_id], Settings(EFFORTS["quick"], seed=seed))
    assert record.outcome == UPHELD and record.satisfied == record.examples >= 12, record.message


@pytest.mark.parametrize(
    ("claim_id", "what"),
    [
        ("osa.eq-56", "||W_Q W_K^T - W_K W_Q^T||_2*||X||_2**2*Abs(alpha)/sqrt(d_v)"),
        ("skipless.eq-21", "the quantities of the printed bound"),
    ],
)
def test_the_command_says_what_is_left_over_of_a_refuted_bound(
    claim_id: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", claim_id]) == 1
    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if line.startswith("  left over: ")]
    assert what in line
    assert "shown by counterexamples" in printed


def test_closed_forms_are_those_of_claims_that_are_proved_for_all_sizes() -> None:
    named = {claim_id for found in closed_forms().values() for claim_id in found.by} - {"toy.none"}
    assert named
    for claim_id in named:
        claim = REGISTRY[claim_id]
        assert claim.all_sizes and isinstance(claim.relation, Equal) and claim.expects == "holds", claim_id


def test_hypotheses_that_follow_by_a_claim_name_one_that_is_proved_for_all_sizes() -> None:
    named = {item.by for claim in REGISTRY.values() for item in claim.hypotheses if getattr(item, "by", "")}
    assert named
    for claim_id in named:
        assert claim_id in MARKED and REGISTRY[claim_id].expects == "holds", claim_id


def test_no_mutant_of_a_marked_bound_is_below_its_left_side_by_a_derivation() -> None:
    proof = prove_bound_claim(REGISTRY["convergence.eq-7-8"])
    assert proof.proved
    assert set(proof.mutants.values()) == {"not proved"}


def test_the_command_prints_a_derivation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "dynamics.eq-94-logits"]) == 0
    printed = capsys.readouterr().out
    assert "softmax is 1/2-Lipschitz" in printed
    assert "inequality 1, derived" in printed


def test_quantities_of_a_derivation_are_symbols_of_their_own() -> None:
    proof = prove_bound_claim(REGISTRY["dynamics.eq-94-logits"])
    (entry,) = proof.entries
    assert isinstance(entry.bound, sympy.Expr) and proof.rules == ["softmax is 1/2-Lipschitz"]


def test_the_page_on_bounds_lists_every_bound_once() -> None:
    page = (Path(__file__).parents[1] / "docs" / "bounds.md").read_text(encoding="utf-8")
    bounds = {c.id: c for c in REGISTRY.values() if isinstance(c.relation, AtMost) and c.expects != "refuted"}
    assert f"Of the {len(bounds)} claims" in page and f"{len(MARKED)} are proved" in page
    _, (written, every), _ = certified(list(REGISTRY.values()))
    assert f"{written} are also files" in page and f"the other {every - written} yet" in page
    proved, papers, *missing = re.split(r"(?m)^## ", page)[1:]
    assert papers.startswith("What the derivations say")
    ids = re.compile(r"`([a-z]+\.[^`]+)`")
    assert sorted(ids.findall(proved)) == MARKED
    listed = [claim_id for part in missing for claim_id in ids.findall(part)]
    assert sorted(listed) == sorted(set(bounds) - set(MARKED))
    for part in missing:
        assert f"({len(ids.findall(part))})" in part.splitlines()[0]


def test_a_kept_certificate_stands_where_none_can_be_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, other = (REGISTRY[name] for name in ("convergence.assumption-3-below-one", "norms.mean-exponential"))
    proof, written = prove_bound_claim(claim, with_mutants=False), certified_bounds.certificate_of

    def unwritten(claim_id: str, found: Any, steps: bool = True, *given: Any) -> Any:
        if steps:
            raise NotCertified("planted")
        return written(claim_id, found, steps, *given)

    monkeypatch.setattr(certified_bounds, "certificate_of", unwritten)
    kept = kept_of(claim)
    found = certified_bounds.certified_bound(claim, proof, kept)
    assert found.problem is None and found.line == kept and found.details["not written anew"] == "planted"
    assert certified_bounds.certified_bound(claim, proof).line is None
    stale = certified_bounds.certified_bound(claim, proof, kept_of(other))
    assert stale.problem is not None and "states something else" in stale.problem


@pytest.mark.parametrize(
    "name", ["skipless.prop-1-diffuse-n", "skipless.sec4.3-identity-small", "convergence.c2-weyl-norms"]
)
def test_a_certificate_can_be_written_anew(name: str) -> None:
    """A norm from below, a quotient in which the norm is bounded first, and a spectral norm by the Frobenius norm that is left."""
    claim = REGISTRY[name]
    found = certified_bounds.certified_bound(claim, prove_bound_claim(claim, with_mutants=False), kept_of(claim))
    assert found.problem is None and "not written anew" not in found.details
