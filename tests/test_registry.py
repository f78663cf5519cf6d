"""A registry is consistent or does not come into being."""

from __future__ import annotations

import types
from typing import Annotated, Any

import pytest

from verify.report.papers import says_what_to_do
from verify.report.weights import weights_of
from verify.vocabulary import (
    Claim,
    Equal,
    InputError,
    Paper,
    Registry,
    RegistryError,
    Shape,
    claims_in,
    load,
    modules_of,
)

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
Matrix = Annotated[Any, Shape("m", "n")]


def claim(name: str, **options: Any) -> Claim:
    return Claim(PAPER, f"toy.{name}", label=name, name=f"toy {name}", statement="x = x", relation=Equal(), **options)


def formula(A: Matrix) -> Any:
    return A


def test_a_consistent_registry_is_a_mapping_in_order():
    theorem = claim("theorem", uses=["toy.lemma"], proof=["toy.step"], presumes=["toy.lemma"])
    registry = Registry([theorem, claim("lemma"), claim("step")])
    assert list(registry) == ["toy.theorem", "toy.lemma", "toy.step"] and len(registry) == 3
    assert registry["toy.theorem"] is theorem and "toy.step" in registry and "toy.other" not in registry
    assert registry.matching("toy.*m*") == [theorem, registry["toy.lemma"]]


def test_duplicate_ids_are_refused():
    with pytest.raises(RegistryError, match=r"two claims have the id 'toy\.a'"):
        Registry([claim("a"), claim("b"), claim("a")])


@pytest.mark.parametrize("name", ["", "  "])
def test_a_claim_without_a_name_is_refused(name: str):
    unnamed = claim("b")
    unnamed.name = name
    with pytest.raises(RegistryError, match=r"toy\.b: a claim has a name, .*; got none"):
        Registry([claim("a"), unnamed])


@pytest.mark.parametrize("link", ["uses", "proof", "presumes"])
def test_links_that_lead_nowhere_are_refused(link):
    with pytest.raises(RegistryError, match=rf"toy\.a: {link} names 'toy\.missing', which is no claim"):
        Registry([claim("b"), claim("a", **{link: ["toy.b", "toy.missing"]})])


@pytest.mark.parametrize("link", ["correction", "corrects"])
def test_corrections_that_lead_nowhere_are_refused(link):
    with pytest.raises(RegistryError, match=rf"toy\.a: {link} names 'toy\.missing', which is no claim"):
        Registry([claim("a", **{link: "toy.missing"})])


@pytest.mark.parametrize(("link", "back"), [("correction", "corrects"), ("corrects", "correction")])
def test_one_way_corrections_are_refused(link, back):
    with pytest.raises(RegistryError, match=rf"toy\.a: {link} names 'toy\.b', which does not name it back as {back}"):
        Registry([claim("a", **{link: "toy.b"}), claim("b")])
    # naming a third claim back is no better
    with pytest.raises(RegistryError, match="does not name it back"):
        Registry([claim("a", **{link: "toy.b"}), claim("b", **{back: "toy.c"}), claim("c", **{link: "toy.b"})])


def test_corrections_linked_both_ways_are_accepted():
    wrong = claim("a", expects="refuted", severity="slip", correction="toy.a-corrected")
    assert len(Registry([wrong, claim("a-corrected", corrects="toy.a", of_project=True)])) == 2


def test_one_statement_may_correct_several() -> None:
    wrong = [claim(name, expects="refuted", severity="slip", correction="toy.c") for name in ("a", "b")]
    assert len(Registry([*wrong, claim("c", corrects=("toy.a", "toy.b"))])) == 3
    with pytest.raises(RegistryError, match=r"toy\.b: correction names 'toy\.c', which does not name it back"):
        Registry([*wrong, claim("c", corrects=["toy.a"])])


def slip(name: str, **options: Any) -> Claim:
    return claim(name, expects="refuted", severity="slip", **options)


def test_a_repeated_misprint_names_the_first_claim_that_has_it() -> None:
    assert len(Registry([slip("a"), slip("b", repeats="toy.a"), slip("c", repeats="toy.a")])) == 3
    wrong = claim("d", expects="refuted", severity="error", repeats="toy.a")
    elsewhere = Claim(Paper("other", "Other", "nobody", "row-major"), "other.a", "a", "x", Equal(), name="a",
                      expects="refuted", severity="slip")  # fmt: skip
    for others, message in (
        ([slip("b", repeats="toy.absent")], r"toy\.b: repeats names 'toy\.absent', which is no claim"),
        ([slip("b", repeats="toy.b")], r"toy\.b: repeats names 'toy\.b', not the first claim"),
        (
            [slip("b", repeats="toy.a"), slip("c", repeats="toy.b")],
            r"toy\.c: repeats names 'toy\.b', not the first claim",
        ),
        ([elsewhere, slip("b", repeats="other.a")], r"toy\.b: repeats names 'other\.a', not the first claim"),
        ([wrong], r"toy\.d: repeats links printed slips; toy\.d is none"),
        ([claim("e"), slip("b", repeats="toy.e")], r"toy\.b: repeats links printed slips; toy\.e is none"),
        ([slip("b", repeats="toy.a", of_project=True)], r"toy\.b: repeats links printed slips; toy\.b is none"),
    ):
        with pytest.raises(RegistryError, match=message):
            Registry([slip("a"), *others])


@pytest.mark.parametrize(
    ("statement", "assumes"),
    [
        (r"\text{For simplicity, we assume that we have } h = 1 \text{ and } r = 2d", True),
        (r"\text{We will suppose a single head}", True),
        (r"\text{It is assumed that the tokens are Gaussian}", True),
        (r"\text{We assume } r = 2d\text{; then the cost is } O(N)", False),
        (r"\text{Assumption 1 is standard}", False),
        (r"\text{By assumption i), we have } A \le B", False),
        (r"\text{If we assume } A = B \text{, training converges}", False),
    ],
)
def test_an_assumption_of_the_authors_is_never_an_error(statement: str, assumes: bool) -> None:
    made = claim("assuming", expects="refuted", severity="error")
    made.statement = statement
    if assumes:
        with pytest.raises(RegistryError, match="an assumption of the authors is no error"):
            Registry([made])
        made.severity = "slip"  # a misprint in it may be
    assert len(Registry([made])) == 1


@pytest.mark.parametrize(
    ("missing", "degenerate"),
    [
        (r"$X \ne 0$", True),
        (r"$\eta\Omega \ne O$", True),
        (r"$\nu$ and $\alpha$ are not both 0", True),
        ("the input is not zero", True),
        (r"$\alpha \ge 0$", False),
        (r"$X \ne 0$ and bounded norms", False),
        ("the largest eigenvalue is simple", False),
        ("the input keeps $R$ away from 0", False),
    ],
)
def test_a_hypothesis_that_excludes_zero_alone_makes_no_gap(missing: str, degenerate: bool) -> None:
    presumed = claim("presumed", expects="refuted", severity="error", of_project=True)
    gap = claim("gap", expects="gap", presumes=["toy.presumed"], missing=missing)
    if degenerate:
        with pytest.raises(RegistryError, match=r"toy\.gap: what is printed holds if it fails for zero alone"):
            Registry([presumed, gap])
    else:
        assert len(Registry([presumed, gap])) == 2


def test_unknown_ids_and_patterns_say_what_was_expected():
    registry = Registry([claim("a")])
    with pytest.raises(InputError, match=r"claim id: expected .*verify list.*; got 'toy\.b'"):
        registry["toy.b"]
    with pytest.raises(InputError, match=r"claims: expected a glob that matches at least one claim id; got 'osa\.\*'"):
        registry.matching("osa.*")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expects": "true"}, "expects is 'true', not one of"),
        ({"expects": "refuted"}, "severity is given exactly for claims expected to be refuted"),
        ({"severity": "slip"}, "severity is given exactly for claims expected to be refuted"),
    ],
)
def test_inconsistent_claims_are_refused(options, message):
    with pytest.raises(RegistryError, match=message):
        claim("a", **options)


def test_ids_begin_with_the_key_of_the_paper():
    with pytest.raises(RegistryError, match="begins with its paper's key, 'toy'"):
        Claim(PAPER, "other.a", label="a", statement="x", relation=Equal())


def test_parts_are_declared_once_and_asked_for_by_name():
    it = claim("a", sizes={"m": (1, 2), "n": (1, 2)})
    for missing, message in (
        (lambda: it.the_formula, "no formula is declared"),
        (lambda: it.the_oracle, "no oracle is declared"),
        (lambda: it.the_part("sequence"), "needs a part called 'sequence'"),
    ):
        with pytest.raises(RegistryError, match=message):
            missing()
    it.formula(formula)
    it.oracle(formula)
    it.mutant("wrong")(formula)
    for again, message in (
        (lambda: it.formula(formula), "the formula is declared twice"),
        (lambda: it.oracle(formula), "the oracle is declared twice"),
        (lambda: it.mutant("wrong"), "two mutants are called 'wrong'"),
    ):
        with pytest.raises(RegistryError, match=message):
            again()


def test_claims_are_collected_where_they_are_declared():
    own = claim("a")
    elsewhere = types.ModuleType("elsewhere")
    elsewhere.own = own
    assert claims_in(elsewhere) == []  # imported, not declared there
    here = types.ModuleType(own.module)
    here.first, here.alias = own, own
    assert claims_in(here) == [own]


def test_modules_of_a_package_are_all_imported():
    names = [module.__name__ for module in modules_of("verify.matrix")]
    assert names[0] == "verify.matrix" and "verify.matrix.spectral" in names


def test_every_claim_has_a_name_of_its_own_in_its_paper() -> None:
    names = [(claim.paper.key, claim.name) for claim in load("theorems").values()]
    assert len(names) == len(set(names))


def test_core_errors_say_what_to_do() -> None:
    """A headline is a core statement that is false with a consequence that somebody would act on."""
    claims = load("theorems")
    weights = weights_of(claims)
    errors = [item for item in claims.values() if item.severity == "error" and not item.of_project]
    core = [item for item in errors if weights[item.id] == "core"]
    assert core and [item.id for item in core if not says_what_to_do(item)] == []


def test_core_claims_that_do_not_hold_say_what_follows() -> None:
    claims = load("theorems")
    core = [claim_id for claim_id, weight in weights_of(claims).items() if weight == "core"]
    broken = [claim_id for claim_id in core if claims[claim_id].expects in ("refuted", "gap")]
    assert [
        claim_id for claim_id in broken if not claims[claim_id].of_project and not claims[claim_id].consequence
    ] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"severity": "mistake", "expects": "refuted"}, "toy.a: severity is 'mistake', not one of ('error', 'slip')"),
        ({"sizes": {"m": (1, 3)}}, "toy.a: sizes has no range for n of A; it names m"),
        ({"oracle": lambda A, Z: A}, "toy.a: the oracle takes Z; the inputs of the formula are A"),
        ({"formula": lambda A: A}, "toy.a: <lambda>: parameter A has no annotation"),
    ],
)
def test_what_an_author_forgot_is_one_line_at_definition(change: dict[str, Any], message: str) -> None:
    sizes = {"m": (1, 3), "n": (1, 3)}
    options = {"sizes": sizes, **{name: change[name] for name in ("severity", "expects", "sizes") if name in change}}
    with pytest.raises(RegistryError) as found:
        made = claim("a", **options)
        made.formula(change.get("formula", formula))
        made.oracle(change.get("oracle", lambda A: A))
        Registry([made])
    assert message in str(found.value) and "\n" not in str(found.value)


def test_a_parameter_without_annotation_is_told_what_one_looks_like() -> None:
    made = claim("a", sizes={"m": (1, 3)})
    made.formula(lambda A: A)
    with pytest.raises(RegistryError, match=r"parameter A has no annotation .* A: Annotated\[Any, Shape\('m', 'n'\)\]"):
        Registry([made])
