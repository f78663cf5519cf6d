"""Proofs as text, from made-up records: every line that the shell shows, and the lines that stay away."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from verify.checks.record import UPHELD, VIOLATED, Record
from verify.report import proof_texts
from verify.report.proof_texts import (
    assumed_text,
    certificate_text,
    derivation_text,
    grade_without_proof,
    headline,
    headline_at_sizes,
    kernel_statements,
    kernel_text,
    proof_text,
    step_text,
    text_at_sizes,
)

pytestmark = pytest.mark.kept


def record(outcome: str = UPHELD, message: str = "", check: str = "proved", **details: Any) -> Record:
    names = {name.replace("_", " "): value for name, value in details.items()}
    return Record("toy.a", check, "symbols", outcome, "", message=message, details=names)


def claim(expects: str = "holds") -> Any:
    return SimpleNamespace(id="toy.a", label="Lemma 1", statement=r"$A = B^2$", expects=expects, package="toys")


def terms(left: int, right: int) -> dict[str, int]:
    return {"left": left, "right": right}


# -- in one sentence ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("details", "said"), [
    ({"terms": terms(1, 1)}, "proved for all sizes: both sides reduce to the same term"),
    ({"terms": terms(14, 14)}, "proved for all sizes: both sides reduce to the same 14 terms"),
    ({"terms": terms(0, 0)}, "proved for all sizes: both sides reduce to zero"),
    ({"terms": terms(3, 4)}, "proved for all sizes: both sides reduce to 3 and 4 terms, whose difference vanishes"),
    ({"limit": {"rate": "1/n"}, "entries": [1]},
     "proved for all sizes: at fixed inputs, the mean of the squared error is at most a multiple of 1/n, which tends to 0"),
    ({"constants": ["2", "3", "2"], "sizes from": 1, "entries": [1]},
     "proved for all sizes: the count is at most a constant times the order, the constant being 2 and 3"),
    ({"constants": ["2"], "sizes from": 2, "constants from below": ["1/2", "1/2"]},
     "proved for all sizes from 2 on: the count is at most a constant times the order, the constant being 2, and at least "
     "1/2 times it"),
    ({"constants": ["2"], "sizes from": 0, "constants from below": []},
     "proved for all sizes: the count is at most a constant times the order, the constant being 2"),
    ({"entries": [1]}, "proved for all inputs and sizes: the bound has a derivation by rules for norms"),
    ({"entries": [1, 2]}, "proved for all inputs and sizes: each of its 2 inequalities has a derivation by rules for norms"),
])  # fmt: skip
def test_a_proof_is_said_in_one_sentence(details: dict[str, Any], said: str) -> None:
    assert headline(Record("a", "proved", "symbols", UPHELD, "", details=details)) == said
    assert headline(Record("a", "proved", "symbols", VIOLATED, "", message="why", details=details)) == "not proved: why"


def test_a_proof_at_sizes_names_them_and_what_the_sides_are_there() -> None:
    def said(at: dict[str, int], left: int, right: int) -> str:
        return headline_at_sizes(record(proved_at=at, terms=terms(left, right), indeterminates=6))

    head = "with 6 entries as indeterminates both sides are"
    assert said({"n": 3, "d": 2}, 4, 4) == f"proved at n = 3, d = 2: {head} the same functions, of 4 terms in all"
    assert said({}, 4, 5) == f"proved at the only sizes there are: {head} the same functions, of 4 and 5 terms in all"
    assert said({"n": 3}, 0, 0) == f"proved at n = 3: {head} identically zero"
    assert said({"n": 3}, 0, 2) == f"proved at n = 3: {head} the same functions, of 0 and 2 terms in all"
    assert headline_at_sizes(record(VIOLATED, "why")) == "not proved at given sizes: why"
    of = record(VIOLATED, "why", left_by_mutants={"one": 4, "two": "no value"}, seconds=1.234)
    assert text_at_sizes(of) == (
        "not proved at given sizes: why\nmutant one: 4 entries differ\nmutant two: no value\n1.23 s"
    )


def test_the_grade_without_the_proof_at_sizes_is_the_best_of_the_others() -> None:
    def of(check: str, arithmetic: str) -> Record:
        return Record("a", check, arithmetic, UPHELD, "")

    proof = of("proved at sizes", "polynomials")
    assert grade_without_proof([proof]) == "none" == grade_without_proof([])
    assert grade_without_proof([of("sampled", "float64"), proof, of("exact", "exact"), of("balls", "ball")]) == "exact"


# -- certificates ------------------------------------------------------------------------------------------------------


def test_a_certificate_is_accepted_refused_or_missing() -> None:
    assert certificate_text({"missing": "no rule", "refused": "x"}) == "not certified: no rule"
    assert certificate_text({"refused": "a step", "inequalities": 1}) == "refused: a step"
    counts = {"inequalities": 2, "steps": 7}
    assert certificate_text({**counts, "rules": []}) == "accepted, inequalities: 2, steps: 7"
    assert certificate_text({**counts, "rules": ["p", "q"]}) == (
        "accepted, inequalities: 2, steps: 7, by the rules p, q"
    )
    for rules, hypotheses, by in (
        ([], [], "algebra and derivatives alone"), (["p", "q"], [], "the rules p, q"),
        ([], ["h", "k"], "the hypotheses h; k"), (["p"], ["h"], "the rules p and the hypotheses h"),
    ):  # fmt: skip
        found = certificate_text({"terms": terms(3, 4), "rules": rules, "hypotheses": hypotheses})
        assert found == f"accepted, 3 and 4 terms, by {by}"


KERNEL = {
    "certificate": "abc", "algebra": 1, "functions": 2, "derivatives": 0, "rules": ["p", "q"], "hypotheses": [],
    "conditions": [], "real": True, "formulas": ["A = B", "C = D"],
}  # fmt: skip


def kernel(monkeypatch: pytest.MonkeyPatch, axioms: tuple[str, ...] = (), **changed: Any) -> tuple[str, list[str]]:
    """What is said of a certificate that Rocq's kernel has checked."""
    certificate, of = {"sha256": "abc"}, claim()

    def checked(asked: Any, given: Any) -> Any:
        assert asked is of and given is certificate
        return found

    found = {key: value for key, value in (KERNEL | changed).items() if value is not None}
    monkeypatch.setattr(proof_texts, "checked", checked)
    monkeypatch.setattr(proof_texts, "checked_by_rocq", lambda package: {"toys": {"axioms": list(axioms)}}[package])
    return kernel_text(of, certificate), kernel_statements(of, certificate)


def test_what_the_kernel_checked_is_counted_with_rules_assumptions_and_axioms(monkeypatch: pytest.MonkeyPatch) -> None:
    text, statements = kernel(monkeypatch)
    rest = "; the theorem assumes nothing; axioms of its library: none"
    assert text == (
        "checked by Rocq's kernel: 1 equation and 2 comparisons of the arguments of functions; proof rules: p, q" + rest
    )
    assert statements == ["A = B", "C = D"] and kernel(monkeypatch, formulas=None)[1] == []
    assert kernel(monkeypatch, rules=[], algebra=2, functions=1, derivatives=10)[0] == (
        "checked by Rocq's kernel: 2 equations, 1 comparison of the arguments of functions and 10 real derivatives"
        + rest
    )
    assert kernel(monkeypatch, rules=[], functions=0, derivatives=1)[0].startswith(
        "checked by Rocq's kernel: 1 equation and 1 real derivative;"
    )
    inside = "; a derivative inside a function is the expression that was computed for it; axioms of its library: x, y"
    for real in (False, None):
        assert kernel(monkeypatch, ("Coq.a.x", "y"), real=real)[0].endswith("; the theorem assumes nothing" + inside)
    monkeypatch.setattr(proof_texts, "checked", lambda *_: None)
    assert kernel_text(claim(), {}) == "" and kernel_statements(claim(), {}) == []


def test_what_a_theorem_assumes_is_said_with_where_inputs_meet_it() -> None:
    def said(hypotheses: list[str], conditions: list[str], **given: Any) -> str:
        return assumed_text({"hypotheses": hypotheses, "conditions": conditions, **given})

    assert said([], []) == "the theorem assumes nothing" == said([], ["x"], assumed=[])
    assert said(["h", "k", "h"], []) == "the theorem assumes: h; k"
    tested = "; what is positive, not 0 or invertible here was so at {} of the claim at which it was tested"
    assert said(["h"], ["x is not 0"]) == "the theorem assumes: h; x is not 0" + tested.format("0 inputs")
    met = {"inputs": 1, "not met": {}}
    assert said([], ["x"], assumed=["x[i] is positive", "y"], met=met) == (
        "the theorem assumes: x[i] is positive; y (for all values of the indices that are not summed)"
        + tested.format("1 input")
    )
    unmet = {"inputs": 4, "not met": {"x": "it does not hold at n = 2", "y": "nowhere"}}
    assert said(["h[i]"], ["x"], met=unmet) == (
        "the theorem assumes: h[i]; x; one of these is more than the claim assumes (it does not hold at n = 2), so that the"
        " theorem gives no grade"
    )


# -- in full -----------------------------------------------------------------------------------------------------------


def test_a_proof_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_texts, "kernel_text", lambda of, certificate: f"{of.id} {certificate['rules']}")
    monkeypatch.setattr(proof_texts, "kernel_statements", lambda of, certificate: [of.label, *certificate["rules"]])
    certificate = {"terms": terms(2, 2), "rules": ["p"], "hypotheses": []}
    full = record(
        terms=terms(2, 2), formula="A B", normal_form="sum", rules=["p", "q"], hypotheses=["h", "k"], conditions=["c", "d"],
        positive=["x", "y"], certificate=certificate,
        spots=[{"sizes": {"n": 2, "d": 3}, "worst": "1.24e-9"}, {"sizes": {}, "worst": 0}],
        left_by_mutants={"one": 3, "two": "not compared"}, seconds=0.126, remains=["t"],
        mutants={"three": "never said"},
    )  # fmt: skip
    head = "Lemma 1  [toy.a]\n  A = B²\n\n"
    assert proof_text(claim(), full) == (
        head + "proved for all sizes: both sides reduce to the same 2 terms\n"
        "\nformula read back from the code:\n  A B\n"
        "\nnormal form (repeated indices are summed):\n  sum\n"
        "\nrules: p; q\nhypotheses: h; k\nconditions: c; d\ntaken as positive: x; y\n"
        "certificate: accepted, 2 and 2 terms, by the rules p\ntoy.a ['p']\n"
        "theorem in Rocq: Lemma 1\ntheorem in Rocq: p\n"
        "normal forms against the functions at n = 2, d = 3: 1.2e-09 apart\n"
        "normal forms against the functions at no sizes: 0.0e+00 apart\n"
        "mutant one: 3 terms left\nmutant two: not compared\n0.13 s"
    )
    monkeypatch.setattr(proof_texts, "kernel_text", lambda of, certificate: "")
    monkeypatch.setattr(proof_texts, "kernel_statements", lambda of, certificate: [])
    bare = record(terms=terms(0, 0), certificate={"missing": "x"}, seconds=2, formula="", rules=[])
    assert proof_text(claim(), bare) == (
        head + "proved for all sizes: both sides reduce to zero\n\ncertificate: not certified: x\n2.00 s"
    )


def test_a_proof_that_failed_shows_the_first_term_that_is_left_and_a_refuted_claim_says_so() -> None:
    refuted = "This claim is refuted (verify show toy.a), so that no proof of it exists.\n\n"
    of = record(VIOLATED, "2 terms are left", remains=["first", "second"], seconds=1)
    head = "Lemma 1  [toy.a]\n  A = B²\n\n"
    failed = "not proved: 2 terms are left\n  first term left: first\n\n1.00 s"
    assert proof_text(claim(), of) == head + failed and proof_text(claim("refuted"), of) == head + refuted + failed
    assert proof_text(claim(), record(VIOLATED, "no rule", remains=[], seconds=1)).endswith("no rule\n\n1.00 s")


def test_the_proof_of_a_limit_says_its_mean_its_bound_and_where_it_was_tried() -> None:
    limit = {"rate": "1/n", "terms": 1, "inputs": 5}
    of = record(limit=limit, mutants={"one": "found"}, seconds=1, certificate_of_the_bound={"missing": "x"})
    assert proof_text(claim(), of).splitlines()[4:] == [
        "", "the mean over all draws: both sides reduce to the same 1 term; the rate 1/n tends to 0",
        "certificate of the bound: not certified: x",
        "the means are right exactly, and the errors are below their bounds, at 5 inputs", "mutant one: found", "1.00 s",
    ]  # fmt: skip
    bare = record(limit={**limit, "terms": 2}, mutants={}, seconds=1)
    assert proof_text(claim(), bare).splitlines()[5:] == [
        "the mean over all draws: both sides reduce to the same 2 terms; the rate 1/n tends to 0",
        "the means are right exactly, and the errors are below their bounds, at 5 inputs", "1.00 s",
    ]  # fmt: skip


# -- derivations -------------------------------------------------------------------------------------------------------


def test_a_step_is_that_of_a_derivation_or_of_a_certificate() -> None:
    assert step_text({"quantity": "a", "bound": "b", "rule": "r"}) == "a\n      <= b    (r)"
    assert step_text({"says": "why", "rule": "r", "of": []}) == "r: why"
    assert step_text({"says": "", "rule": "r", "of": ["x", "y"]}) == "r: r\n      of x and y"


DERIVED = {
    "proved": True, "left": "l", "right": "r", "bound": "b", "slack": "2", "unreached": [], "uncovered": "",
    "steps": [{"quantity": "a", "bound": "b", "rule": "r"}, {"says": "why", "rule": "s", "of": []}],
}  # fmt: skip
STOPPED = {"proved": False, "left": "m", "right": "s", "steps": [], "unreached": ["p", "q"], "uncovered": "u"}
NOTHING: dict[str, Any] = {
    "rules": [], "facts": [], "closed forms": [], "hypotheses": [], "mutants": {}, "spots": 0, "worst": None, "seconds": 1.0,
}  # fmt: skip


def derivation(expects: str = "holds", outcome: str = UPHELD, **details: Any) -> list[str]:
    text = derivation_text(claim(expects), record(outcome, "why", **{**NOTHING, **details}))
    assert text == proof_text(claim(expects), record(outcome, "why", **{**NOTHING, **details}))
    return text.splitlines()


def test_a_derivation_in_full() -> None:
    lines = derivation(
        entries=[DERIVED, STOPPED], rules=["p", "q"], facts=["f", "g"], closed_forms=["c", "d"], hypotheses=["h", "k"],
        spots=3, worst=1.24e-9, mutants={"one": "found", "two": "not found"}, seconds=0.126,
    )  # fmt: skip
    assert lines == [
        "Lemma 1  [toy.a]", "  A = B²", "",
        "proved for all inputs and sizes: each of its 2 inequalities has a derivation by rules for norms",
        "", "inequality 1, derived:", "  to bound: l", "  by:       r", "    a", "      <= b    (r)", "    s: why",
        "  computed: b", "  the printed bound is 2 times the computed one",
        "", "inequality 2, not derived:", "  to bound: m", "  by:       s",
        "  left over: p, q; no rule leads on to the quantities of the printed bound",
        "  left over: the computed bound less the printed one has u, which may be above 0",
        "", "rules: p; q", "facts: f; g", "closed forms: c; d", "hypotheses: h; k",
        "both sides against the functions at 3 inputs: 1.2e-09 apart", "mutant one: found", "mutant two: not found", "0.13 s",
    ]  # fmt: skip


def test_lines_of_a_derivation_that_say_nothing_stay_away() -> None:
    for slack in ({"slack": "1"}, {"slack": None}):
        entry = {**DERIVED, **slack, "steps": []}
        assert derivation(entries=[entry])[5:] == [
            "inequality 1, derived:", "  to bound: l", "  by:       r", "  computed: b", "", "1.00 s",
        ]  # fmt: skip
    plain = {"proved": True, "left": "l", "right": "r", "steps": []}
    assert derivation(entries=[plain])[8:] == ["", "1.00 s"]
    ended = "This is where the search for a derivation ended. That the claim is false is shown by counterexamples."
    assert derivation("refuted", VIOLATED, entries=[plain])[2:] == [
        "", "This claim is refuted (verify show toy.a), so that no proof of it exists.", "", "not proved: why",
        "", "inequality 1, derived:", "  to bound: l", "  by:       r", "", ended, "", "1.00 s",
    ]  # fmt: skip
    assert ended not in derivation("refuted", VIOLATED, entries=[]) and ended not in derivation(entries=[plain])


def test_a_derivation_of_an_order_says_what_was_counted_and_one_of_a_limit_its_mean() -> None:
    plain = {"proved": True, "left": "l", "right": "r", "steps": []}
    counted = [{"count": "2 n", "order": "n"}, {"count": "n + 1", "order": "n"}]
    assert derivation(entries=[plain], counted=counted, spots=4)[8:] == [
        "", "counted: 2 n    stated: n", "counted: n + 1    stated: n", "these expressions are the count exactly at 4 other sizes",
        "1.00 s",
    ]  # fmt: skip
    limit = {"rate": "1/n", "terms": 3, "inputs": 5}
    assert derivation(entries=[plain], limit=limit)[9] == (
        "the mean over all draws: both sides reduce to the same 3 terms; the rate 1/n tends to 0"
    )
