"""Identities checked by Rocq's kernel: true certificates are accepted, planted false ones are not."""

from __future__ import annotations

import copy
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.kept(".", programs=["coqc"])

FOLDER = Path(__file__).parents[1] / "rocq"
sys.path.insert(0, str(FOLDER))

import check  # noqa: E402
import theory  # noqa: E402
from export import HEADER, NotExported, Written, written  # noqa: E402
from formulas import FORMULA_HEADER, Formula, formula, same_entries  # noqa: E402
from theory import coqc  # noqa: E402

needs_rocq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="coqc is not installed (Debian's coq and libcoq-mathcomp-analysis)"
)


def entry(name: str, *indices: str) -> list[Any]:
    return ["t", name, list(indices)]


def times(*factors: Any) -> list[Any]:
    return ["*", *factors]


def soft(index: str) -> list[Any]:
    return ["f", "softmax", [[[["j", "n"]], entry("x", "j")]], [index]]


def claim(left: Any, right: Any, **more: Any) -> dict[str, Any]:
    """A certificate about a vector x of size n, at indices a and b."""
    return {
        "format": 1, "kind": "identity", "claim": "example", "sizes": {"n": None}, "inputs": {"x": {"sizes": ["n"]}},
        "variables": {}, "definitions": [], "hypotheses": [],
        "parts": [{"indices": [["a", "n"], ["b", "n"]], "left": left, "right": right, "uses": []}], **more,
    }  # fmt: skip


MINUS = ["q", -1, 1]
#: The Jacobian of the softmax, by the derivative that the kernel takes.
JACOBIAN = claim(
    ["diff", "x", ["b"], soft("a")], ["+", times(soft("a"), ["delta", "a", "b"]), times(MINUS, soft("a"), soft("b"))]
)
#: (diag(p) - p p^T) 1 = 0 for a softmax p: it takes the sum of the row.
ROWS = claim(["sum", ["k", "n"], times(soft("a"), ["+", ["delta", "a", "k"], times(MINUS, soft("k"))])], ["q", 0, 1])
#: The derivatives of a logarithm, of a root and of a ramp, each where there is one.
LOG = claim(
    ["diff", "x", ["b"], ["f", "log", [[[], entry("x", "a")]], []]],
    times(["power", -1, 1, entry("x", "a")], ["delta", "a", "b"]),
)
ROOT = claim(
    ["diff", "x", ["b"], ["power", 1, 2, entry("x", "a")]],
    times(["q", 1, 2], ["power", -1, 2, entry("x", "a")], ["delta", "a", "b"]),
)
RAMP = claim(
    ["diff", "x", ["b"], ["f", "relu", [[[], entry("x", "a")]], []]],
    times(["f", "step", [[[], entry("x", "a")]], []], ["delta", "a", "b"]),
)


def inverse(i: str, j: str) -> list[Any]:
    return ["f", "inverse", [[[["p", "n"], ["q", "n"]], entry("M", "p", "q")]], [i, j]]


#: The derivative of an inverse matrix in an entry of the matrix.
INVERSE = {
    **claim(["diff", "M", ["c", "d"], inverse("a", "b")], times(MINUS, inverse("a", "c"), inverse("d", "b"))),
    "inputs": {"M": {"sizes": ["n", "n"]}},
}
INVERSE["parts"][0]["indices"] = [[i, "n"] for i in "abcd"]


def twice_at_x(outer: str, inner: str, derivative: str) -> dict[str, Any]:
    """d(z[a] y[a]) / dz[b], where the two variables z and y are both at x: y[a] times delta, and not twice that."""
    body = [
        "at",
        inner,
        [["q", "n"]],
        entry("x", "q"),
        ["diff", derivative, ["b"], times(entry(outer, "a"), entry(inner, "a"))],
    ]
    made = claim(["at", outer, [["p", "n"]], entry("x", "p"), body], times(["delta", "a", "b"], entry("x", "a")))
    return {**made, "variables": {name: {"sizes": ["n"]} for name in (outer, inner)}}


TRUE = {
    "jacobian": JACOBIAN,
    "rows": ROWS,
    "log": LOG,
    "root": ROOT,
    "ramp": RAMP,
    "apart": twice_at_x("z", "y", "z"),
    "inverse": INVERSE,
}


def refused_here(certificate: dict[str, Any]) -> Written:
    found = written(certificate)
    assert not found.text and "left" in found.reason, found.reason
    return found


def changed(certificate: dict[str, Any], right: Any) -> dict[str, Any]:
    new = copy.deepcopy(certificate)
    new["parts"][0]["right"] = right
    return new


def test_a_false_statement_has_no_file() -> None:
    """A wrong sign, and a mutant that forgets the second term."""
    refused_here(changed(JACOBIAN, ["+", times(soft("a"), ["delta", "a", "b"]), times(soft("a"), soft("b"))]))
    refused_here(changed(JACOBIAN, times(soft("a"), ["delta", "a", "b"])))
    refused_here(changed(ROWS, soft("a")))
    refused_here(changed(INVERSE, times(inverse("a", "c"), inverse("d", "b"))))
    refused_here(changed(INVERSE, times(MINUS, inverse("c", "a"), inverse("d", "b"))))


@pytest.mark.parametrize("derivative", ["z", "y"])
def test_two_variables_at_one_point_are_differentiated_by_apart(derivative: str) -> None:
    certificate = twice_at_x("z", "y", derivative)
    assert written(certificate).text
    refused_here(changed(certificate, times(["q", 2, 1], ["delta", "a", "b"], entry("x", "a"))))


def test_a_variable_inside_of_itself_is_another_one() -> None:
    """At z = x, the inner y at x does not move with z: d(y[a]^2) / dy[b] does not depend on z, and is constant in it."""
    square = ["at", "y", [["q", "n"]], entry("x", "q"), ["diff", "y", ["a"], times(entry("y", "a"), entry("y", "a"))]]
    outer = ["at", "y", [["p", "n"]], entry("x", "p"), ["diff", "y", ["b"], square]]
    certificate = {**claim(outer, ["q", 0, 1]), "variables": {"y": {"sizes": ["n"]}}}
    assert written(certificate).text
    refused_here(changed(certificate, times(["q", 2, 1], ["delta", "a", "b"])))


def planted(text: str, old: str, new: str) -> str:
    """The claim's file with something false in it, and the lemma that the checker says no to it."""
    assert old in text
    return accepted_as("false", text.replace(old, new))


def without_conditions(text: str, kind: str) -> str:
    assert re.search(rf"conditions : seq condition := .*{kind}", text)
    return accepted_as("false", re.sub(r"(conditions : seq condition :=) .*\.\n", r"\1 [::].\n", text))


def accepted_as(value: str, text: str) -> str:
    """The file with the checker's answer computed in the place of its theorems."""
    text = re.sub(
        r"Lemma accepted(\d+) : (.*)\.\nProof\..*\n",
        rf"Example answer\1 : (\2) = {value}.\nProof. by vm_compute. Qed.\n",
        text,
    )
    return re.sub(r"Theorem (?:.*\n)+?Proof\..*\n", "", text)


@needs_rocq
def test_the_kernel_accepts_what_is_true_and_refuses_what_is_not(compiled_rocq: Path, tmp_path: Path) -> None:
    texts = {name: written({**certificate, "claim": name}).text for name, certificate in TRUE.items()}
    assert all(texts.values())
    use = "[:: (Use [::] (Mul (Int (-1)%Z) (Entry 1 [:: (i 1000 0)])) 0 [::] [::])]"
    false = {
        "sign": planted(texts["jacobian"], "(Mul (Int (-1)%Z) (Mul (Entry", "(Mul (Int 1%Z) (Mul (Entry"),
        "mutant": planted(texts["rows"], "right0 := (Plain (Int 0%Z))", "right0 := (Plain (Int 1%Z))"),
        "dropped": planted(texts["rows"], use, "[::]"),
        "multiplier": planted(texts["rows"], use, use.replace("(-1)%Z", "1%Z")),
        "undeclared": planted(texts["rows"], use, use.replace(" 0 [::] [::])", " 7 [::] [::])")),
        "captured": planted(texts["rows"], "(Sum (i 1002 0)", "(Sum (i 1000 0)"),
        # a function that is made of itself
        "circle": planted(texts["rows"], "(Entry 0 [:: (i 0 0)])", "(Entry 1 [:: (i 0 0)])"),
        # a rule for a function that it is not about
        "rule": planted(texts["rows"], "SoftmaxRows 1", "StepSquare 1"),
        # a logarithm and a root that are differentiated where they need not be positive, a ramp at its kink
        "log": without_conditions(texts["log"], "IsPositive"),
        "root": without_conditions(texts["root"], "IsPositive"),
        "ramp": without_conditions(texts["ramp"], "IsNonzero"),
        "inverse": without_conditions(texts["inverse"], "IsInvertible"),
        # a function of which nothing is known has no derivative that is known
        "unknown": planted(texts["jacobian"], "Node (Softmax 1)", "Node (Arbitrary 0)"),
        # the entry in which it is differentiated is an index of a function of its own
        # two variables at one point that have one number: the derivative is taken in both
        "alias": planted(texts["apart"], "(Entry 4 [:: (i 1000 0)])))", "(Entry 3 [:: (i 1000 0)])))"),
        "clash": planted(texts["jacobian"], "(Partial 0 [:: (i 1001 0)]", "(Partial 0 [:: (i 0 0)]"),
    }
    source = HEADER + "".join(texts.values())
    for name, text in false.items():
        source += re.sub(r"\b(Module|End) C_\w+", rf"\1 Wrong_{name}", text)
    path = tmp_path / "Planted.v"
    path.write_text(source, encoding="utf-8")
    accepted, said_by_coqc = coqc(compiled_rocq, path)
    assert accepted, said_by_coqc


@needs_rocq
def test_the_theory_is_compiled_once_for_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is compiled again where it or one that it imports has changed, and not where sources are back as they were."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled: list[str] = []
    right = theory.coqc

    def counted(folder: Path, path: Path) -> tuple[bool, str]:
        compiled.append(path.stem)
        return right(folder, path)

    monkeypatch.setattr(theory, "coqc", counted)
    first = "Definition one := 1.\n"
    sources = {
        "Rationals": first,
        "Expressions": "From Attention Require Import Rationals.\nDefinition two := one + one.\n",
    }

    def made() -> list[str]:
        compiled.clear()
        for name in theory.THEORY:
            (tmp_path / f"{name}.v").write_text(sources.get(name, ""), encoding="utf-8")
        folder = theory.compiled_theory("Expressions", "Norms", sources=tmp_path)
        assert {path.stem for path in folder.glob("*.vo")} == {"Rationals", "Expressions", "Norms"}
        return list(compiled)

    assert made() == ["Rationals", "Expressions", "Norms"]
    assert made() == []
    sources["Rationals"] = "Definition one := 2.\n"
    assert made() == ["Rationals", "Expressions"]
    sources["Rationals"] = first
    assert made() == []
    sources["Expressions"] = "Definition two := one.\n"  # refused: it no longer imports what it uses
    with pytest.raises(SystemExit, match="Expressions"):
        made()


def test_what_is_not_offered_keeps_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--only` replaces what is said of the claims that it names, whether they were accepted before or not."""
    lines = [json.dumps({**JACOBIAN, "claim": name}) for name in ("a.one", "b.one", "b.two")]
    (tmp_path / "certificates.jsonl").write_text("\n".join(lines), encoding="utf-8")
    result = tmp_path / "kernel.json"
    before = {
        "axioms": ["choice"],
        "claims": {"a.one": {"certificate": "old"}},
        "not checked": {"a.two": "no rule", "b.one": "why"},
    }
    result.write_text(json.dumps(before), encoding="utf-8")
    monkeypatch.setattr(check, "RESULT", result)
    monkeypatch.setattr(check, "CLAIMS", tmp_path)
    monkeypatch.setattr(check.shutil, "which", lambda _: "coqc")
    monkeypatch.setattr(check, "compiled_theory", lambda: tmp_path)
    monkeypatch.setattr(check, "check_all", lambda _, items, *__: ({"b.two": "false"}, ""))
    met = {"inputs": 3, "not met": {}}
    monkeypatch.setattr(check, "add_to", lambda claims, _: [item.update(met=met) for item in claims.values()])
    monkeypatch.setattr(check, "problems", lambda _: [])
    monkeypatch.setattr(check, "add_formulas", lambda *_: ({}, ""))
    assert check.main([str(tmp_path / "certificates.jsonl"), "--only", "b.*"]) == 1
    after = json.loads(result.read_text(encoding="utf-8"))
    assert after["claims"]["a.one"] == {"certificate": "old"} and set(after["claims"]) == {"a.one", "b.one"}
    assert after["not checked"] == {"a.two": "no rule", "b.two": "false"} and after["axioms"] == ["choice"]
    met["inputs"] = 0  # a theorem whose conditions hold nowhere says nothing
    check.main([str(tmp_path / "certificates.jsonl"), "--only", "b.*"])
    after = json.loads(result.read_text(encoding="utf-8"))
    assert "b.one" not in after["claims"] and "held at no input" in after["not checked"]["b.one"]


# -- statements that read as formulas ----------------------------------------------------------------------------------


def matrices(left: Any, right: Any) -> dict[str, Any]:
    """A certificate about matrices X and Y of sizes (m, n), at a row and a column."""
    shape = {"sizes": ["m", "n"]}
    return {
        "format": 1, "kind": "identity", "claim": "example", "sizes": {"m": None, "n": None}, "inputs": {"X": shape, "Y": shape},
        "variables": {"Z'1": shape}, "definitions": [], "hypotheses": [],
        "parts": [{"indices": [["a", "m"], ["b", "m"]], "left": left, "right": right, "uses": []}],
    }  # fmt: skip


def over_columns(one: str, a: str, other: str, b: str) -> Any:
    return ["sum", ["k", "n"], times(entry(one, a, "k"), entry(other, b, "k"))]


def row_softmax(i: str, j: str) -> Any:
    return ["f", "softmax", [[[["l", "m"]], over_columns("X", i, "Y", "l")]], [j]]


#: (Y X^T)^T = X Y^T, and the softmax of these rows.
PRODUCT = matrices(over_columns("X", "a", "Y", "b"), over_columns("Y", "b", "X", "a"))
SOFTMAX = matrices(row_softmax("a", "b"), row_softmax("a", "b"))


def statement(certificate: dict[str, Any]) -> str:
    """What the theorem says after its premises."""
    written_, made = formula(certificate)
    assert written_.text, written_.reason
    return made.statements[0].split("-> \n")[-1].strip()


def test_statements_read_as_formulas() -> None:
    assert statement(PRODUCT) == "(X * Y^T\n  = X * Y^T)%M"
    assert statement(SOFTMAX) == "(softmax_rows (X * Y^T)\n  = softmax_rows (X * Y^T))%M"
    point = ["at", "Z'1", [["p", "m"], ["q", "n"]], entry("X", "p", "q")]
    moved = [*point, ["diff", "Z'1", ["c", "d"], over_columns("Z'1", "a", "Y", "b")]]
    jacobian = matrices(moved, times(["delta", "a", "c"], entry("Y", "b", "d")))
    jacobian["parts"][0]["indices"] += [["c", "m"], ["d", "n"]]
    assert statement(jacobian) == "(jacobian (fun Z'1 => vec_r (Z'1 * Y^T)) X\n  = identity R [:: m] ⊗ Y)%M"


def second_derivative(sign: int) -> dict[str, Any]:
    """The second derivative of a softmax A at rows (i, j, k, l) and columns (m, n), or what it is with another sign, twice."""
    shape = ["S", [["r", "m"], ["s", "m"]], row_softmax("r", "s")]
    A = lambda column: entry("S", "i", column)  # noqa: E731

    def less(one: str, other: str) -> Any:
        return ["+", ["delta", one, other], times(MINUS, A(other))]

    inner = ["+", times(less("j", "l"), less("j", "n")), times(["q", sign, 1], A("l"), less("l", "n"))]
    whole = times(A("j"), inner, ["delta", "i", "k"], ["delta", "i", "m"])
    parts = [{"indices": [[i, "m"] for i in "ijklmn"], "left": whole, "right": whole, "uses": []}]
    return {**matrices(whole, whole), "definitions": [shape], "parts": parts}


def test_the_second_derivative_of_a_softmax_is_read_by_what_it_is() -> None:
    assert "softmax_hessian (softmax_rows (X * Y^T))" in statement(second_derivative(-1))
    assert not formula(second_derivative(1))[0].text


def test_jacobians_of_stacked_columns_are_read_with_a_commutation() -> None:
    """Both the value and what is differentiated by have their columns first."""
    point = ["at", "Z'1", [["p", "m"], ["q", "n"]], entry("X", "p", "q")]
    moved = [*point, ["diff", "Z'1", ["c", "d"], over_columns("Z'1", "a", "Y", "b")]]
    certificate = matrices(times(["delta", "a", "c"], entry("Y", "b", "d")), moved)
    certificate["parts"][0]["indices"] = [["b", "m"], ["a", "m"], ["d", "n"], ["c", "m"]]
    said = "jacobian (fun Z'1 => vec_r (Y * Z'1^T)) X * commutation R [:: m] [:: n]"
    assert statement(certificate) == f"(Y ⊗ identity R [:: m]\n  = {said})%M"


def test_what_has_no_matrix_has_no_formula() -> None:
    """An index that three factors have, and a function that the vocabulary lacks."""
    three = ["sum", ["k", "n"], times(entry("X", "a", "k"), entry("Y", "b", "k"), entry("X", "c", "k"))]
    certificate = matrices(three, three)
    certificate["parts"][0]["indices"].append(["c", "m"])
    assert not formula(certificate)[0].text
    absolute = ["f", "abs", [[[], over_columns("X", "a", "Y", "b")]], []]
    assert not formula(matrices(absolute, absolute))[0].text


@pytest.mark.parametrize("certificate", [PRODUCT, SOFTMAX])
def test_a_formula_that_was_read_wrongly_is_found(certificate: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same wrong matrix on both sides makes a true theorem, but it is not that of the certificate."""
    same_entries(certificate)
    right = Formula.terms

    def transposed(self: Formula, part: dict[str, Any]) -> tuple[int, list[Any]]:
        k, sides = right(self, part)
        return k, [("Transpose", side) for side in sides]

    monkeypatch.setattr(Formula, "terms", transposed)
    with pytest.raises(NotExported, match="left"):
        same_entries(certificate)
    assert not formula(certificate)[0].text


@needs_rocq
def test_the_kernel_proves_formulas_and_refuses_false_ones(compiled_rocq: Path, tmp_path: Path) -> None:
    texts = {name: formula({**certificate, "claim": name})[0].text for name, certificate in
             {"product": PRODUCT, "softmax": SOFTMAX}.items()}  # fmt: skip
    assert all(texts.values())
    right = "right0 := (MulM (Given 0) (Transpose (Given 1)))"
    shapes = "[:: ([:: 0], [:: 1]); ([:: 0], [:: 1])"
    false = {
        # the factors exchanged, a transpose that is lost, a matrix of another shape, a number that no matrix has
        "order": planted(texts["product"], right, "right0 := (MulM (Given 1) (Transpose (Given 0)))"),
        "transpose": planted(texts["product"], right, "right0 := (MulM (Given 0) (Given 1))"),
        "shape": planted(texts["product"], shapes, "[:: ([:: 0], [:: 1]); ([:: 1], [:: 0])"),
        "given": planted(texts["product"], right, "right0 := (MulM (Given 0) (Transpose (Given 2)))"),
        # a function of the table that is another function, or of another matrix
        "function": planted(texts["softmax"], "right0 := (SoftmaxRows_", "right0 := (Each Exp"),
        "argument": planted(
            texts["softmax"], "(MulM (Given 0) (Transpose (Given 1))))", "(MulM (Given 1) (Transpose (Given 0))))"
        ),
    }
    source = FORMULA_HEADER + "".join(texts.values())
    for name, text in false.items():
        source += re.sub(r"\b(Module|End) F_\w+", rf"\1 Wrong_{name}", text)
    # the printed statement has to be that of the terms
    said = statement(PRODUCT)
    for name, (old, new) in {"lost": ("= X * Y^T", "= X * Y"), "twice": ("= X * Y^T", "= Y * X^T")}.items():
        wrong = re.sub(
            r"\b(Module|End) F_\w+", rf"\1 Said_{name}", texts["product"].replace(said, said.replace(old, new))
        )
        source += wrong.replace("Proof. move=> *; refine", "Proof. move=> *. Fail refine").replace(
            "; formula_premises. Qed.", ". Abort."
        )
    path = tmp_path / "Formulas.v"
    path.write_text(source, encoding="utf-8")
    accepted, said_by_coqc = coqc(compiled_rocq, path)
    assert accepted, said_by_coqc
