"""Certificates of proofs: both sides as they were built, and the uses by which they are equal; docs/certificates.md."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

from verify.arithmetics.symbols.block_functions import DIAGONAL, PRODUCT, SCHUR
from verify.arithmetics.symbols.block_uses import minus_identity
from verify.arithmetics.symbols.difference import Proof
from verify.arithmetics.symbols.heads import grouping, tensor
from verify.arithmetics.symbols.hypothesis_rules import HypothesisRule, size_symbol
from verify.arithmetics.symbols.intertwining import fixed, skew, through
from verify.arithmetics.symbols.inverse_uses import of_product, of_skew
from verify.arithmetics.symbols.iteration_forms import SYMMETRIC
from verify.arithmetics.symbols.part_hypotheses import SKEW_BLOCKS
from verify.arithmetics.symbols.recorded import NotRecorded, SumRecorder, TakenApart
from verify.arithmetics.symbols.sums import Sum
from verify.arithmetics.symbols.uses import UseSearch
from verify.kernel.expressions import Language
from verify.kernel.identities import hypothesis_of, sides_of
from verify.kernel.inductions import duties_of, induction_of, iterates_of
from verify.kernel.normal_forms import ONE
from verify.kernel.refusal import Refused
from verify.vocabulary.hypotheses import UNIT_PARTS

#: What is done with blocks before the algebra sees them, by the names of steps: no certificate says that it is right.
OF_BLOCKS = {
    DIAGONAL: "exponentials and inverses of blocks",
    PRODUCT: "exponentials of blocks",
    SCHUR: "inverses of blocks",
}
MOST_SPLITS = 60


def certificate_of(claim: str, proof: Proof) -> dict[str, Any]:
    """The certificate of a proof; raises `NotRecorded` with the reason where there is none yet."""
    found = statement_of(claim, proof)
    _find_uses(found)
    return found


def statement_of(claim: str, proof: Proof) -> dict[str, Any]:
    """A certificate without uses: both sides as they were built, and the hypotheses."""
    for rule in proof.rules:
        if rule in OF_BLOCKS:
            raise NotRecorded(OF_BLOCKS[rule])
    splits: dict[Any, Any] = {}
    for _ in range(MOST_SPLITS):
        with contextlib.suppress(TakenApart):
            return _written(claim, proof, splits)
    raise NotRecorded("indices taken apart in two ways")


def _written(claim: str, proof: Proof, splits: dict[Any, Any]) -> dict[str, Any]:
    recorder = SumRecorder(splits)
    used = [item for item in proof.given if item.name in proof.hypotheses]
    recorder.note([side for block in proof.blocks for side in block])
    for equation in (equation for item in used for equation in item.equations):
        recorder.note([side for side in (equation.left, equation.right) if isinstance(side, Sum)])
    hypotheses = [found for item in used for found in _hypotheses(recorder, item)]
    parts = []
    for number, (left, right) in enumerate(proof.blocks):
        bound, at = recorder.indices(left.slots, ("part", number))
        parts.append({"indices": bound, "left": recorder.of(left, at), "right": recorder.of(right, at), "uses": []})
    by_induction = recorder.inductions.of(SYMMETRIC in proof.rules)
    if proof.induction is not None:
        if "inductions" in by_induction and proof.induction.iterates:
            raise NotRecorded("inductions of two kinds")
        moving = recorder.inductions.over_steps(proof.induction)
        first, second = (by_induction, moving) if "inductions" in by_induction else (moving, by_induction)
        by_induction = {**first, "iterates": _each_once(first["iterates"], second.get("iterates", []))}
    if not recorder.inductions.are_declared(proof.induction):
        raise NotRecorded("what moves from step to step where both sides cancel")
    return {
        "format": 1,
        "kind": "identity",
        "claim": claim,
        "sizes": recorder.sizes,
        "inputs": recorder.inputs,
        "variables": recorder.variables,
        "definitions": recorder.definitions,
        "hypotheses": hypotheses + recorder.of_structures(),
        **by_induction,
        "parts": parts,
    }


def _each_once(numbered: list[Any], others: list[Any]) -> list[Any]:
    """All iterates, those that an induction numbers first."""
    known = {item["value"] for item in numbered}
    return [*numbered, *(item for item in others if item["value"] not in known)]


def _hypotheses(recorder: SumRecorder, item: HypothesisRule) -> list[dict[str, Any]]:
    """What a hypothesis says, by its equations; a mean says which entries are normal."""
    if item.of:
        return [_of_parts(recorder, item)]
    found = []
    for number, equation in enumerate(item.equations):
        bound, at = recorder.indices(equation.left.slots, (item.name, number))
        if equation.on_diagonal:
            bound, at = bound[:1], [at[0], at[0]]
        left, right = equation.left, equation.right
        if isinstance(right, Sum) and left.origin is not None and left.origin[0] == "single":
            recorder.index(left.slots[0])  # S = S^T passes over the number of a sum: the certificates that are kept do
        sides = {
            "left": recorder.of(left, at),
            "right": ["q", right, 1] if isinstance(right, int) else recorder.of(right, at),
        }
        found.append({"name": item.name, "indices": bound, **sides})
    return found


def _of_parts(recorder: SumRecorder, item: HypothesisRule) -> dict[str, Any]:
    """Parts of unit norm in every row, or square blocks on top of each other that are skew."""
    rows, columns = item.sizes
    name = recorder.tensor(tensor(item.of, item.sizes))
    whole, width = (
        (rows, columns) if item.wanted == SKEW_BLOCKS else (columns, size_symbol(item.wanted.removeprefix(UNIT_PARTS)))
    )
    group = recorder.structure(grouping(whole, whole / width, width))
    p, a, b, i = (recorder.index(size)[0][0] for size in (whole / width, width, width, whole))

    def entry(of: list[str], other: str) -> list[Any]:
        """The entry at place `of` of part p, in the other index."""
        at = [i[0], other] if item.wanted == SKEW_BLOCKS else [other, i[0]]
        return ["sum", i, ["*", ["t", name, at], ["t", group, [i[0], p[0], of[0]]]]]

    if item.wanted == SKEW_BLOCKS:
        other = recorder.index(whole)[0][0]
        turned = ["sum", other, ["*", ["t", name, [other[0], a[0]]], ["t", group, [other[0], p[0], b[0]]]]]
        return {"name": item.name, "indices": [p, a, b], "left": entry(a, b[0]), "right": ["*", ["q", -1, 1], turned]}
    row = recorder.index(rows)[0][0]
    left = ["sum", a, ["power", 2, 1, entry(a, row[0])]]
    return {"name": item.name, "indices": [row, p], "left": left, "right": ["q", 1, 1]}


def _find_uses(certificate: dict[str, Any]) -> None:
    """Write down the uses that make both sides of every part equal."""
    try:
        language = Language(certificate)
        language.algebra.asked.clear()
        language.hypotheses += [hypothesis_of(language, item) for item in certificate["hypotheses"]]
        given = frozenset(language.algebra.asked)
        numbers = itertools.count(1)
        iterates = iterates_of(language, certificate.get("iterates", []))
        for item in certificate.get("inductions", []):
            for place, which, form, scope in duties_of(language, induction_of(language, iterates, item)):
                search = UseSearch(language, scope, numbers)
                if search.run(form):
                    raise NotRecorded(f"no rule of the checker shows the {which} of an induction")
                item["invariants"][place][which] = search.uses
        for part in certificate["parts"]:
            scope = language.bound(part["indices"], {})
            sides = sides_of(language, part, scope, given)
            search = UseSearch(language, scope, numbers, (minus_identity, skew, through, fixed, of_skew, of_product))
            left = search.run(language.algebra.plus([(sides[0], ONE), (sides[1], -ONE)]))
            if left:
                raise NotRecorded(f"no rule of the checker joins the {len(left)} terms that are left")
            part["uses"] = search.uses
    except Refused as refusal:
        raise NotRecorded(str(refusal)) from refusal


__all__ = ["NotRecorded", "certificate_of"]
