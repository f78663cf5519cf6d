"""Identities checked by Rocq's kernel: true certificates are accepted, planted false ones are not."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "rocq"
sys.path.insert(0, str(FOLDER))

from check import compile_theory  # noqa: E402
from export import HEADER, Written, written  # noqa: E402

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
TRUE = {"jacobian": JACOBIAN, "rows": ROWS, "log": LOG, "root": ROOT, "ramp": RAMP}


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
    return re.sub(r"Theorem .*\nProof\..*\n", "", text)


@needs_rocq
def test_the_kernel_accepts_what_is_true_and_refuses_what_is_not(tmp_path: Path) -> None:
    compile_theory()
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
        # a function of which nothing is known has no derivative that is known
        "unknown": planted(texts["jacobian"], "Node (Softmax 1)", "Node (Arbitrary 0)"),
        # the entry in which it is differentiated is an index of a function of its own
        "clash": planted(texts["jacobian"], "(Partial 0 [:: (i 1001 0)]", "(Partial 0 [:: (i 0 0)]"),
    }
    source = HEADER + "".join(texts.values())
    for name, text in false.items():
        source += re.sub(r"\b(Module|End) C_\w+", rf"\1 Wrong_{name}", text)
    path = tmp_path / "Planted.v"
    path.write_text(source, encoding="utf-8")
    found = subprocess.run(
        ["coqc", "-noglob", "-w", "none", "-R", str(FOLDER), "Attention", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
