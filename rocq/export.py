"""Certificates of identities as files for Rocq: tables of functions, steps, statements, and what the kernel checks of each.

Everything here is search and trusted with nothing: what it writes is proved by the kernel or refused.
"""

from __future__ import annotations

import itertools
import json
import lzma
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from exponentials import RULES, Exponentials, is_link
from functions import Functions
from inductions import Inductions
from normal_forms import (
    Expr,
    Index,
    added,
    difference,
    free,
    instance,
    negative,
    number,
    product,
    rewritten,
    summed_over,
)
from slopes import Slopes
from syntax import (
    FIRST_NAME,
    ONE,
    Checked,
    Node,
    NotExported,
    expanded,
    place_at,
    rocq_expr,
    rocq_formula,
    rocq_head,
    rocq_indices,
    rocq_listed,
)
from uses import Uses


class Claim(Exponentials, Functions, Inductions, Slopes, Uses):
    """A certificate being turned into definitions and proofs."""

    def __init__(self, certificate: dict[str, Any], reduces: bool = False) -> None:
        self.certificate = certificate
        self.reduces = reduces  # whether arguments of functions are made simpler by rules
        self.claim: str = certificate["claim"]
        self.module = ""
        self.sizes: dict[str, int] = {}
        self.entries: dict[str, int] = {}
        self.scalars: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.nodes: list[tuple[int, Node]] = []
        self.by_number: dict[int, Node] = {}
        self.raw: dict[Any, list[int]] = {}
        self.made: dict[Any, int] = {}
        self.rules: dict[int, tuple[tuple[Index, ...], Expr]] = {}
        self.rule_number: dict[int, int] = {}
        self.replaced: dict[int, tuple[tuple[Index, ...], Expr, int]] = {}
        self.equations: list[tuple[Expr, Expr]] = []
        self.steps: list[str] = []
        self.known_steps: dict[str, int] = {}
        self.conditions: list[tuple[str, int]] = []
        self.symmetric: dict[int, bool] = {}
        self.definitions = {name: (own, e) for name, own, e in certificate["definitions"]}
        self.checked = Checked()
        self._names = itertools.count(FIRST_NAME)
        self._numbers = itertools.count()
        self._points: dict[str, Any] = {}
        self._derivatives: dict[Any, Expr] = {}
        for name in certificate["sizes"]:
            self.size(name)
        for name, item in [*certificate["inputs"].items(), *certificate["variables"].items()]:
            if item.get("positive"):
                self.scalars[name] = len(self.scalars)
            else:
                self.entries[name] = next(self._numbers)
                self.names[self.entries[name]] = name

    # -- what certificates say -----------------------------------------------------------------------------------------

    def size(self, name: str) -> int:
        return self.sizes.setdefault(name, len(self.sizes))

    def index(self, size: str) -> Index:
        return next(self._names), self.sizes[size]

    def bound(self, pairs: Sequence[Sequence[str]]) -> dict[str, Index]:
        return {name: self.index(size) for name, size in pairs}

    def read(self, e: list[Any], scope: dict[str, Index], points: dict[str, tuple[int, tuple[Index, ...]]]) -> Expr:
        """An expression of the certificate; `points` are the entries that stand for variables."""
        kind, *rest = e
        if kind == "q":
            return number(Fraction(*rest))
        if kind == "size":
            value = self.certificate["sizes"][rest[0]]
            return ("p", ("l", self.sizes[rest[0]]), 1, 1) if value is None else self.read(value, {}, {})
        if kind == "delta":
            return ("d", scope[rest[0]], scope[rest[1]])
        if kind == "unit":
            return self.apply(("Unit", rest[0]), (scope[rest[1]],), number(0))
        if kind == "t":
            return self._tensor(rest[0], [scope[i] for i in rest[1]], scope, points)
        if kind in "+*":
            parts = [self.read(part, scope, points) for part in rest]
            return added(parts) if kind == "+" else product(parts)
        if kind == "sum":
            own = self.bound([rest[0]])
            return ("s", *own.values(), self.read(rest[1], {**scope, **own}, points))
        if kind == "power":
            return self._power(Fraction(rest[0], rest[1]), rest[2], scope, points)
        if kind == "f":
            return self._function(*rest, scope, points)
        if kind == "diff":
            return self._derivative(rest[0], [scope[i] for i in rest[1]], self.read(rest[2], scope, points), points)
        if kind == "at":
            name, pairs, point, inner = rest
            own = self.bound(pairs)
            value = self.read(point, {**scope, **own}, points)
            more = tuple(i for i in free(expanded(value)) if i not in own.values())
            entry = self.function(
                ("Raised", ONE), (*more, *own.values()), value, {taken for taken, _ in points.values()}
            )
            self.names.setdefault(entry, f"{name} at a point")
            return self.read(inner, scope, {**points, name: (entry, more)})
        raise NotExported(f"expressions that begin with {kind}")

    def _tensor(self, name: str, at: list[Index], scope: Any, points: Any) -> Expr:
        if name in self.definitions:
            own, e = self.definitions[name]
            inner = dict(zip([i for i, _ in own], at, strict=True))
            return self.read(e, inner, points)
        if name in points:
            entry, more = points[name]
            return ("e", entry, (*more, *at))
        if name in self.scalars:
            return ("p", ("r", self.scalars[name]), 1, 1)
        return ("e", self.entries[name], tuple(at))

    def _power(self, q: Fraction, inner: list[Any], scope: Any, points: Any) -> Expr:
        if q.denominator == 1 and 0 <= q <= 8:
            return product([self.read(inner, scope, points) for _ in range(int(q))])
        e = self.read(inner, scope, points)
        if e[0] == "p":
            q *= Fraction(e[2], e[3])
            return ("p", e[1], q.numerator, q.denominator)
        return self.apply(("Raised", q), (), e)

    def _function(self, head: str, arguments: Any, at: list[str], scope: Any, points: Any) -> Expr:
        ((pairs, inner),) = arguments
        own = self.bound(pairs)
        e = self.read(inner, {**scope, **own}, points)
        there = tuple(scope[i] for i in at)
        if head in ("relu", "abs"):
            step = self.apply(("Step",), (), e)
            if head == "relu":
                return ("*", e, step)
            return difference(("*", e, step), ("*", e, self.apply(("Step",), (), negative(e))))
        return self.apply(self._head(head, len(own)), tuple(own.values()), e, there)

    def _head(self, head: str, count: int) -> tuple[Any, ...]:
        """The function of this name, which binds so many indices."""
        heads: dict[str, tuple[Any, ...]] = {
            "exp": ("Exp",),
            "log": ("Log",),
            "step": ("Step",),
            "softmax": ("Softmax", count),
            "inverse": ("Inverse", count // 2),
            "expm": ("Arbitrary", count // 2),
        }
        if head not in heads:
            raise NotExported(f"the function {head}")
        return heads[head]

    def apply(
        self, head: tuple[Any, ...], own: tuple[Index, ...], e: Expr, at: tuple[Index, ...] | None = None
    ) -> Expr:
        """The function of e, which binds `own`, at these indices."""
        outside = tuple(i for i in free(expanded(e)) if i not in own)
        outside = self._ordered(head, outside, own, e)
        entry = self.function(head, (*outside, *own), e)
        self.checked.functions += 1
        return ("e", entry, (*outside, *(own if at is None else at)))

    # -- the whole -----------------------------------------------------------------------------------------------------

    def _hypotheses(self) -> tuple[list[str], list[Any]]:
        """What the certificate assumes, as text, and the indices and numbers of its hypotheses."""
        self.size_equations: dict[int, int] = {}
        hypotheses: list[str] = []
        for size, value in self.certificate["sizes"].items():
            if value is not None:
                self.size_equations[self.sizes[size]] = len(self.equations)
                left: Expr = ("p", ("l", self.sizes[size]), 1, 1)
                self.equations.append((left, self.read(value, {}, {})))
                hypotheses.append(f"({rocq_expr(left)}, {rocq_expr(self.equations[-1][1])})")
        said = []
        for item in self.certificate["hypotheses"]:
            own = self.bound(item["indices"])
            sides = [self.read(item[side], own, {}) for side in ("left", "right")]
            said.append((tuple(own.values()), len(self.equations)))
            self.equations.append((sides[0], sides[1]))
            hypotheses.append(f"({', '.join(map(rocq_expr, sides))})")
            self.checked.hypotheses.append(item["name"])
        if self.steps:
            raise NotExported("functions in hypotheses that need a rule")
        assert len(self.equations) == len(hypotheses)
        return hypotheses, said

    def write(self, name: str) -> str:
        """The claim as a section of a file."""
        hypotheses, said = self._hypotheses()
        induction: list[str] = []
        if self.certificate.get("iterates"):
            induction, said = self._induction(said)
        parts = []
        for part in self.certificate["parts"]:
            own = self.bound(part["indices"])
            sides = [self.read(part[side], own, {}) for side in ("left", "right")]
            uses = [u for item in part["uses"] for u in [self._read_use(item, own, said)] if u is not None]
            parts.append((sides, self.proof(sides[0], sides[1], uses)))
            self.checked.blocks += 1
        self.checked.conditions = [f"{what} {entry}" for what, entry in self.conditions]
        return self._text(name, hypotheses, parts, induction)

    def _read_use(self, item: dict[str, Any], own: dict[str, Index], said: list[Any]) -> Expr | None:
        """A use of the certificate; those of rules that are found here anyway are left out."""
        over = self.bound(item["over"])
        scope = {**own, **over}
        if "hypothesis" in item:
            by, equation = said[item["hypothesis"]]
            return self.use(
                equation,
                by,
                [scope[i] for i in item["at"]],
                self._turned(expanded(self.read(item["times"], scope, {}))),
                list(over.values()),
            )
        factor = expanded(self.read(item["times"], scope, {}))
        rule = item["rule"]
        if rule == "softmax rows":
            ((pairs, inner),) = item["arguments"]
            bound = self.bound(pairs)
            made = rewritten(
                self.rules,
                self.apply(("Softmax", len(bound)), tuple(bound.values()), self.read(inner, {**scope, **bound}, {})),
            )
            if made[0] != "e" or self.by_number[made[1]].head[0] != "Softmax":
                raise NotExported("the rows of a softmax that is none")
            k, at = made[1], made[2]
            node = self.by_number[k]
            m = len(node.slots) - node.head[1]
            equation = self.step(f"SoftmaxRows {k}", summed_over(node.slots[m:], ("e", k, node.slots)), number(1))
            return self.use(equation, node.slots[:m], at[:m], factor, list(over.values()))
        if rule == "softmax":
            ((pairs, inner),) = item["arguments"]
            bound = self.bound(pairs)
            e = self.read(inner, {**scope, **bound}, {})
            made = self.apply(("Softmax", len(bound)), tuple(bound.values()), e)
            k, node = made[1], self.by_number[made[1]]
            exponential = self._beside(node, ("Exp",))
            m = len(node.slots) - node.head[1]
            this = ("e", exponential, node.slots)
            left = ("*", ("e", k, node.slots), summed_over(node.slots[m:], this))
            equation = self.step(
                f"SoftmaxRatio {k} {exponential} {self.shown(self.proof(node.argument, node.argument))}", left, this
            )
            return self.use(
                equation, node.slots, (*made[2][:m], *(scope[i] for i in item["at"])), factor, list(over.values())
            )
        if rule == "power":
            (pairs, inner), p, q = item["arguments"]
            e = self.read(inner, scope, {})
            return self._read_power(e, Fraction(p, q), factor, list(over.values()))
        if rule in ("inverse left", "inverse right"):
            ((pairs, inner),) = item["arguments"]
            bound = self.bound(pairs)
            made = self.apply(
                ("Inverse", len(bound) // 2), tuple(bound.values()), self.read(inner, {**scope, **bound}, {})
            )
            return self._read_inverse(rule, made, [scope[i] for i in item["at"]], factor, list(over.values()))
        if rule == "equal arguments":
            return self._read_equal(item, scope, said, factor, list(over.values()))
        if rule in RULES:
            return self._read_exponentials(item, scope, said, factor, list(over.values()))
        raise NotExported(f"the rule {rule}")

    def _read_equal(self, item: Any, scope: dict[str, Index], said: list[Any], factor: Expr, over: list[Index]) -> Expr:
        """One function of two arguments, which are equal by uses that the certificate gives."""
        head, (pairs, inner), other, uses = item["arguments"]
        bound = self.bound(pairs)
        names = {**scope, **bound}
        sides = [expanded(self.read(e, names, {})) for e in (inner, other)]
        outside = [i for i in dict.fromkeys(i for e in sides for i in free(e)) if i not in bound.values()]
        slots = {i: (n, i[1]) for n, i in enumerate((*outside, *bound.values()))}
        own = tuple(slots.values())
        arguments = [place_at(slots, e) for e in sides]
        made = ("Raised", Fraction(head[1], head[2])) if isinstance(head, list) else self._head(head, len(bound))
        entries = []
        for argument in arguments:
            entries.append(next(self._numbers))
            self.add_node(entries[-1], Node(made, own, argument))
            self._simplify(entries[-1], self.by_number[entries[-1]])
        here = {name: slots.get(i, i) for name, i in names.items()}
        proof = self.proof(*arguments, [u for use in uses if (u := self._read_use(use, here, said)) is not None])
        equation = self.step(
            f"SameFunctions {entries[0]} {entries[1]} {self.shown(proof)}", *(("e", k, own) for k in entries)
        )
        return self.use(equation, own, (*outside, *(scope[i] for i in item["at"])), factor, over)

    def _read_power(self, e: Expr, q: Fraction, factor: Expr, over: list[Index]) -> Expr:
        raised = self.apply(("Raised", q), (), e)
        node = self.by_number[raised[1]]
        this = ("e", raised[1], node.slots)
        if q == -1:
            if not self._is_positive(rewritten(self.rules, expanded(node.argument))) or not self._is_positive(
                expanded(node.argument)
            ):
                self._assume("IsNonzero", raised[1])
            equation = self.step(f"PowerInverse {raised[1]}", ("*", node.argument, this), number(1))
            return self.use(equation, node.slots, raised[2], factor, over)
        one, after = self._beside(node, ("Raised", ONE)), self._beside(node, ("Raised", q + 1))
        if not self._is_positive(expanded(node.argument)):
            self._assume("IsPositive", after)
        same = self.shown(self.proof(node.argument, node.argument))
        left = ("*", ("e", one, node.slots), this)
        equation = self.step(f"PowerSum {after} {one} {raised[1]} {same} {same}", left, ("e", after, node.slots))
        return self.use(equation, node.slots, raised[2], factor, over)

    def _read_inverse(self, rule: str, made: Expr, at: list[Index], factor: Expr, over: list[Index]) -> Expr:
        k, node = made[1], self.by_number[made[1]]
        count = node.head[1]
        if len(node.slots) != 2 * count:
            raise NotExported("an inverse that depends on further indices")
        self._assume("IsInvertible", k)
        ws = tuple((next(self._names), w[1]) for w in node.slots[:count])
        rows, columns = node.slots[:count], node.slots[count:]
        argument = expanded(node.argument)
        if rule == "inverse left":
            left = ("*", ("e", k, (*rows, *ws)), instance(node.slots, (*ws, *columns), argument))
        else:
            left = ("*", instance(node.slots, (*rows, *ws), argument), ("e", k, (*ws, *columns)))
        right = number(1)
        for a, b in reversed(list(zip(rows, columns, strict=True))):
            right = ("*", ("d", a, b), right)
        step = "InverseLeft" if rule == "inverse left" else "InverseRight"
        equation = self.step(f"{step} {k} {rocq_indices(ws)}", summed_over(ws, left), right)
        return self.use(equation, node.slots, at, factor, over)

    def _text(self, name: str, hypotheses: list[str], parts: list[Any], induction: list[str]) -> str:
        lines = [f"(* {self.claim} *)", f"Module {name}.", *self._definitions(hypotheses)]
        linked = any(map(is_link, self.steps))
        if linked and induction:
            raise NotExported("an induction with a rule about exponentials")
        accepts, known, correct, always = INDUCTIVE if induction else LINKED if linked else STEPPED
        lines += induction
        for n, (sides, proof) in enumerate(parts):
            lines.append(
                f"Definition left{n} := {rocq_formula(sides[0])}.\nDefinition right{n} := {rocq_formula(sides[1])}."
            )
            lines.append(f"Definition proof{n} := {self.shown(proof)}.")
            lines.append(
                f"Lemma accepted{n} : {accepts} functions {known} (left{n}, right{n}) proof{n}.\nProof. by vm_cast_no_check (erefl true). Qed."  # noqa: E501
            )
            lines.append(
                f"Theorem identity{n} : {always} (left{n}, right{n}).\nProof. exact: ({correct} accepted{n}). Qed."
            )
        lines.append(f"End {name}.")
        return "\n".join(lines) + "\n"

    def _definitions(self, hypotheses: list[str]) -> list[str]:
        """The table of functions, and what is assumed and shown of it."""
        lines = [f"(* size {n}: {size} *)" for size, n in self.sizes.items()]
        lines += [f"(* entry {n}: {text} *)" for n, text in self.names.items()]
        lines.append("Definition T0 : table := [::].")
        for n, (entry, node) in enumerate(self.nodes):
            lines.append(
                f"Definition T{n + 1} : table := ({entry}, Node {rocq_head(node.head)} {rocq_indices(node.slots)} {rocq_expr(node.argument)}) :: T{n}."  # noqa: E501
            )
        lines.append(f"Definition functions := T{len(self.nodes)}.")
        lines.append(
            f"Definition conditions : seq condition := {rocq_listed(f'{what} {k}' for what, k in self.conditions)}."
        )
        lines.append(f"Definition hypotheses : seq equation := {rocq_listed(hypotheses)}.")
        steps, kind = self.steps, "steps : seq step"
        if any(map(is_link, steps)):
            steps = [step if is_link(step) else f"Known ({step})" for step in steps]
            kind = "links : seq link"
        lines.append(
            f"Definition {kind} := [::\n  " + ";\n  ".join(steps) + "]." if steps else f"Definition {kind} := [::]."
        )
        return lines


#: What the kernel computes, with what, why it is right, and what is said: by steps, and by links about exponentials.
ASSUMED = "functions conditions hypotheses"
STEPPED = ("accepts", "conditions hypotheses steps", "accepts_correct", f"always {ASSUMED}")
LINKED = (
    "accepts_by_links",
    "conditions hypotheses links",
    "accepts_by_links_correct",
    f"always_of_exponentials {ASSUMED}",
)
INDUCTIVE = (
    "accepts_by_induction",
    "iterates clock conditions hypotheses by_induction steps",
    "accepts_by_induction_correct",
    f"always_of_iterates {ASSUMED} iterates clock",
)

# -- files -------------------------------------------------------------------------------------------------------------

HEADER = """(* Written by rocq/export.py from certificates. *)
From Coq Require Import ZArith NArith.
From mathcomp Require Import all_ssreflect.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Tables Slopes Statements Claims.
From Attention Require Import ExponentialRules Iterates.
Set Warnings "-abstract-large-number".
Local Notation i := index_of.
"""


def module_name(claim: str, kind: str = "identity") -> str:
    return ("C_" if kind == "identity" else "F_") + re.sub(r"\W", "_", claim)


def assumptions(found: Sequence[Written], kind: str = "identity") -> str:
    """What all theorems of these claims together rest on, to be printed: one search through the libraries takes seconds."""
    modules = {item.claim: module_name(item.claim, kind) for item in found}
    names = [f"{modules[item.claim]}.{kind}{n}" for item in found for n in range(item.checked.blocks)]
    return f"Definition every := ({', '.join([*names, 'tt'])}).\nPrint Assumptions every.\n"


def read_certificates(path: Path) -> list[dict[str, Any]]:
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    found = [json.loads(line) for line in data.decode().splitlines() if line]
    return [item for item in found if item.get("kind") == "identity"]


@dataclass(frozen=True)
class Written:
    """A claim's section of a file and what the kernel checks in it, or why there is none."""

    claim: str
    text: str
    checked: Checked
    reason: str = ""
    sha256: str = ""  #: of the certificate's line


def hash_of(certificate: dict[str, Any]) -> str:
    """The hash of the certificate's line."""
    line = json.dumps(certificate, separators=(",", ":"), ensure_ascii=False)
    return sha256(line.encode()).hexdigest()


def exported(certificate: Mapping[str, Any]) -> Claim:
    """A claim as it is written for Rocq; arguments are made simpler only where it does not go without.

    Raises `NotExported` with the reason of the first attempt.
    """
    first: NotExported | None = None
    for reduces in (False, True):
        claim = Claim(dict(certificate), reduces)
        try:
            claim.module = claim.write(module_name(claim.claim))
            return claim
        except NotExported as reason:
            first = first or reason
    assert first is not None
    raise first


def written(certificate: dict[str, Any]) -> Written:
    """A certificate as text for Rocq."""
    name = certificate["claim"]
    try:
        claim = exported(certificate)
        return Written(name, claim.module, claim.checked, sha256=hash_of(certificate))
    except NotExported as reason:
        return Written(name, "", Checked(), str(reason))
    except RecursionError:
        return Written(name, "", Checked(), "expressions that are nested too deeply")


def in_files(found: Sequence[Written], count: int) -> list[list[Written]]:
    """Claims shared out among files, since loading the libraries costs most."""
    groups: list[list[Written]] = [[] for _ in range(count)]
    for item in sorted(found, key=lambda item: (-len(item.text), item.claim)):
        min(groups, key=lambda group: sum(len(other.text) for other in group)).append(item)
    return [sorted(group, key=lambda item: item.claim) for group in groups if group]


__all__ = ["HEADER", "Checked", "Written", "assumptions", "in_files", "module_name", "read_certificates", "written"]
