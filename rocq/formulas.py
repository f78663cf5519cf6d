"""Statements about matrices as files for Rocq: terms with their functions in a table, entries at indices, theorems as text.

`formula` writes a certificate as a module whose theorems read as formulas.  The entries at indices follow `compile` of Matrices.v
step by step, since the proof is found on them; where they differ, the kernel refuses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from export import Checked, Written, hash_of, module_name
from matrices import FIRST_ROW, MatrixClaim, NotRead, Shape, Term, indices_named
from normal_forms import Expr, Index, above, difference, entries_in, number, product, summed_over
from syntax import (
    ONE,
    Node,
    NotExported,
    expanded,
    has_derivative,
    rocq_base,
    rocq_head,
    rocq_listed,
    rocq_ratio,
    rocq_z,
)

FORMULA_HEADER = """(* Written by rocq/formulas.py from certificates. *)
From Coq Require Import ZArith NArith.
From mathcomp Require Import all_ssreflect ssralg ssrnum boolp reals sequences exp.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Tables Slopes Statements Claims Matrices.
Set Warnings "-abstract-large-number".
Local Notation i := index_of.
"""
#: Names that the file has other uses for.
TAKEN = {
    "R",
    "fun",
    "forall",
    "end",
    "match",
    "return",
    "with",
    "in",
    "as",
    "at",
    "add",
    "scale",
    "number",
    "product",
    "trace",
}


def deltas(vs: Sequence[Index], ws: Sequence[Index]) -> Expr:
    return product([*(("d", a, b) for a, b in zip(vs, ws, strict=True)), number(1)])


class Formula(MatrixClaim):
    """A certificate being turned into theorems about matrices."""

    def __init__(self, certificate: dict[str, Any]) -> None:
        super().__init__(certificate)
        self._names = itertools.count(5 * FIRST_ROW)
        self._of: dict[Any, int] = {}
        self._at: dict[int, tuple[Term, int]] = {}

    # -- shapes and entries, as Matrices.v has them --------------------------------------------------------------------

    def shape(self, t: Term) -> Shape:
        kind, *parts = t
        if kind == "Given":
            return self.shapes[parts[0]]
        if kind in ("OfNumber", "OfBase", "Trace"):
            return (), ()
        if kind == "Ones":
            return parts[0], parts[1]
        if kind == "Eye":
            return parts[0], parts[0]
        if kind == "Commutation":
            return (*parts[0], *parts[1]), (*parts[1], *parts[0])
        if kind == "Jacobian":
            p = self.shape(parts[2])
            return self.shape(parts[1])[0], (*p[0], *p[1])
        if kind in ("Scale", "Each"):
            return self.shape(parts[1])
        rows, columns = self.shape(parts[0])
        if kind == "MulM":
            return rows, self.shape(parts[1])[1]
        if kind == "Transpose":
            return columns, rows
        if kind == "Kron":
            more = self.shape(parts[1])
            return (*rows, *more[0]), (*columns, *more[1])
        if kind == "Vec":
            return (*rows, *columns), ()
        if kind == "Diag":
            return rows, rows
        if kind == "DiagPart":
            return rows, ()
        if kind == "SoftmaxJacobian":
            return (*rows, *columns), (*rows, *columns)
        if kind == "SoftmaxHessian":
            return (*rows, *columns, *rows, *columns), (*rows, *columns)
        return rows, columns

    def function_number(self, head: tuple[Any, ...], a: Term) -> int:
        """The number of the function of a matrix; its slots are the indices of rows, then of columns."""
        if (head, a) not in self._of:
            self._of[head, a] = self._new_node(head, a)
        return self._of[head, a]

    def _new_node(self, head: tuple[Any, ...], a: Term) -> int:
        rows, columns = self.shape(a)
        rs, cs = indices_named(0, rows), indices_named(len(rows), columns)
        argument = self.entry(a, rs, cs)
        if has_derivative(argument):
            raise NotExported("a derivative inside a function")
        made = next(self._numbers)
        node = Node(head, (*rs, *cs), argument)
        self.add_node(made, node)
        self._simplify(made, node)
        self.checked.functions += 1
        return made

    def head(self, t: Term) -> tuple[tuple[Any, ...], Term]:
        """The function of a term that is one, and of which term."""
        kind, *parts = t
        if kind == "Each":
            return parts[0], parts[1]
        if kind == "Relu":
            return ("Step",), parts[0]
        rows, columns = self.shape(parts[0])
        return (("Softmax", len(columns)) if kind == "SoftmaxRows_" else ("Inverse", len(rows))), parts[0]

    def variable(self, k: int, point: Term | None = None) -> int:
        """The number of the table for a variable that is differentiated by."""
        if point is not None and point != ("Given", k):
            if k in self._at and self._at[k][0] != point:
                raise NotExported("one variable at two points")
            if k not in self._at:
                if self.shape(point) != self.shapes[k]:
                    raise NotExported("a point of another shape")
                made = self._new_node(("Raised", ONE), point)
                self.shapes[made] = self.shapes[k]
                self._at[k] = (point, made)
        return self._at[k][1] if k in self._at else k

    def entry(self, t: Term, rs: tuple[Index, ...], cs: tuple[Index, ...]) -> Expr:
        """The entry of a term at indices of rows and columns."""
        kind, *parts = t
        both = (*rs, *cs)

        def fresh(sizes: Sequence[int]) -> tuple[Index, ...]:
            return indices_named(above(both), sizes)

        if kind == "Given":
            return ("e", self.variable(parts[0]), both)
        if kind == "OfNumber":
            return number(parts[0])
        if kind == "OfBase":
            return ("p", parts[0], parts[1].numerator, parts[1].denominator)
        if kind == "Ones":
            return number(1)
        if kind == "Eye":
            return deltas(rs, cs)
        if kind == "AddM":
            return ("+", self.entry(parts[0], rs, cs), self.entry(parts[1], rs, cs))
        if kind == "Scale":
            return ("*", self.entry(parts[0], (), ()), self.entry(parts[1], rs, cs))
        if kind == "Entries":
            return ("*", self.entry(parts[0], rs, cs), self.entry(parts[1], rs, cs))
        if kind == "MulM":
            ms = fresh(self.shape(parts[0])[1])
            return summed_over(ms, ("*", self.entry(parts[0], rs, ms), self.entry(parts[1], ms, cs)))
        if kind == "Transpose":
            return self.entry(parts[0], cs, rs)
        if kind == "Kron":
            p, q = (len(axis) for axis in self.shape(parts[0]))
            return ("*", self.entry(parts[0], rs[:p], cs[:q]), self.entry(parts[1], rs[p:], cs[q:]))
        if kind == "Vec":
            p = len(self.shape(parts[0])[0])
            return self.entry(parts[0], rs[:p], rs[p:])
        if kind == "Trace":
            ms = fresh(self.shape(parts[0])[0])
            return summed_over(ms, self.entry(parts[0], ms, ms))
        if kind == "Diag":
            return ("*", self.entry(parts[0], rs, ()), deltas(rs, cs))
        if kind == "DiagPart":
            return self.entry(parts[0], rs, rs)
        if kind in ("Each", "SoftmaxRows_", "InverseM"):
            return ("e", self.function_number(*self.head(t)), both)
        if kind == "Relu":
            return ("*", self.entry(parts[0], rs, cs), ("e", self.function_number(*self.head(t)), both))
        if kind == "SoftmaxJacobian":
            n, a = len(self.shape(parts[0])[0]), parts[0]
            other = ("*", number(-1), self.entry(a, rs[:n], cs[n:]))
            inner = ("*", self.entry(a, rs[:n], rs[n:]), ("+", deltas(rs[n:], cs[n:]), other))
            return ("*", deltas(rs[:n], cs[:n]), inner)
        if kind == "SoftmaxHessian":
            return self._second_derivative(parts[0], rs, cs)
        if kind == "Commutation":
            n, m = len(parts[0]), len(parts[1])
            return ("*", deltas(rs[:n], cs[m:]), deltas(rs[n:], cs[:m]))
        k, a, point = parts
        by = self.variable(k, point)
        inside = self.entry(a, rs, ())
        written = expanded(inside)
        self._slopes_exist(entries_in(written), by)
        self.checked.derivatives += 1
        return ("D", by, cs, inside, self.derivative(by, cs, written), len(self.nodes))

    def _second_derivative(self, a: Term, rs: tuple[Index, ...], cs: tuple[Index, ...]) -> Expr:
        n, k = len(self.shape(a)[0]), len(cs)
        one, two = rs[:k], rs[k:]

        def at_row(x: tuple[Index, ...]) -> Expr:
            return self.entry(a, one[:n], x[n:])

        def less(x: tuple[Index, ...], y: tuple[Index, ...]) -> Expr:
            return difference(deltas(x[n:], y[n:]), at_row(y))

        rows = ("*", deltas(one[:n], two[:n]), deltas(one[:n], cs[:n]))
        inner = difference(("*", less(one, two), less(one, cs)), ("*", at_row(two), less(two, cs)))
        return ("*", rows, ("*", at_row(one), inner))

    # -- text ----------------------------------------------------------------------------------------------------------

    def deep(self, t: Term) -> str:
        """A term as Matrices.v has it."""
        kind, *parts = t

        def sizes(found: Sequence[int]) -> str:
            return rocq_listed(map(str, found))

        if kind == "Given":
            return f"(Given {self.variable(parts[0])})"
        if kind == "OfNumber":
            return f"(OfNumber {rocq_ratio(parts[0])})"
        if kind == "OfBase":
            return f"(OfBase {rocq_base(parts[0])} {rocq_ratio(parts[1])})"
        if kind == "Each":
            return f"(Each {rocq_head(parts[0])} {self.function_number(*self.head(t))} {self.deep(parts[1])})"
        if kind in ("Relu", "SoftmaxRows_", "InverseM"):
            return f"({kind} {self.function_number(*self.head(t))} {self.deep(parts[0])})"
        if kind == "Jacobian":
            return f"(Jacobian {self.variable(parts[0])} {self.deep(parts[1])} {self.deep(parts[2])})"
        texts = [self.deep(part) if part and isinstance(part[0], str) else sizes(part) for part in parts]
        return f"({' '.join([kind, *texts])})"

    def scalar_text(self, t: Term) -> str:
        """A term without indices as a real number."""
        kind, *parts = t
        if kind == "OfNumber":
            return f"fraction {rocq_z(parts[0].numerator)[:-2]} {parts[0].denominator}"
        if kind == "OfBase":
            base, q = parts
            name = f"{self.size_names[base[1]]}%:R" if base[0] == "l" else self.scalar_names[base[1]]
            return name if q == 1 else f"root {name} {rocq_z(q.numerator)[:-2]} {q.denominator}"
        if kind == "Entries":
            one, two = (self.scalar_text(part) for part in parts)
            one = f"({one})" if parts[0][0] == "AddM" else one
            return f"{one} * ({two})" if parts[1][0] in ("AddM", "Entries") else f"{one} * {two}"
        if kind == "AddM":
            one, two = (self.scalar_text(part) for part in parts)
            return f"{one} + ({two})" if parts[1][0] == "AddM" else f"{one} + {two}"
        return f"number {self.text(t, 4)}"

    def text(self, t: Term, level: int = 0) -> str:
        """A term as the statement has it; in parentheses where it binds less than `level`: 1 sums, 2 products, 3 atoms."""
        kind, *parts = t
        shown, own = self._shown(kind, parts)
        return f"({shown})" if own < level else shown

    def _shown(self, kind: str, parts: list[Any]) -> tuple[str, int]:
        def sizes(found: Sequence[int]) -> str:
            return rocq_listed(self.size_names[n] for n in found)

        if kind == "Given":
            return self.matrix_names[parts[0]], 4
        if kind in ("OfNumber", "OfBase"):
            return f"(constant ({self.scalar_text((kind, *parts))}) : matrix R)", 4
        if kind == "Ones":
            return f"ones R {sizes(parts[0])} {sizes(parts[1])}", 3
        if kind == "Eye":
            return f"identity R {sizes(parts[0])}", 3
        if kind == "Commutation":
            return f"commutation R {sizes(parts[0])} {sizes(parts[1])}", 3
        if kind == "AddM":
            one, two = parts
            return f"{self.text(one, 1)} + {self.text(two, 1 if two[0] != 'AddM' else 2)}", 1
        if kind == "Scale":
            return f"({self.scalar_text(parts[0])}) *: {self.text(parts[1], 3)}", 2
        if kind in ("MulM", "Kron", "Entries"):
            sign = {"MulM": "*", "Kron": "⊗", "Entries": "∘"}[kind]
            left = 2 if parts[0][0] == kind else 3
            return f"{self.text(parts[0], left)} {sign} {self.text(parts[1], 3)}", 2
        if kind == "Transpose":
            return f"{self.text(parts[0], 4)}^T", 4
        if kind == "Each":
            return f"each {self._function_text(parts[0])} {self.text(parts[1], 4)}", 3
        if kind == "Relu":
            return f"each (@relu R) {self.text(parts[0], 4)}", 3
        if kind == "Jacobian":
            k, a, point = parts
            return f"jacobian (fun {self.matrix_names[k]} => {self.text(a)}) {self.text(point, 4)}", 3
        names = {
            "Vec": "vec_r", "Trace": "trace", "Diag": "diag", "DiagPart": "diag_part", "SoftmaxRows_": "softmax_rows",
            "InverseM": "inverse_matrix", "SoftmaxJacobian": "softmax_jacobian",
            "SoftmaxHessian": "softmax_hessian",
        }  # fmt: skip
        return f"{names[kind]} {self.text(parts[0], 4)}", 3

    def _function_text(self, head: tuple[Any, ...]) -> str:
        if head[0] == "Raised":
            return f"(fun x => root x {rocq_z(head[1].numerator)[:-2]} {head[1].denominator})"
        return {"Exp": "(@expR R)", "Log": "(@ln R)", "Step": "(@sign_step R)"}[head[0]]

    # -- the whole -----------------------------------------------------------------------------------------------------

    def _named(self) -> None:
        """Names for sizes, scalars and matrices that Rocq takes."""
        taken = set(TAKEN)

        def name(text: str) -> str:
            found = re.sub(r"^(?=\d)", "n", re.sub(r"[^\w']", "_", text))  # a size such as 2 d_v
            while found in taken:
                found += "_"
            taken.add(found)
            return found

        self.size_names = {n: name(size) for size, n in self.sizes.items()}
        self.scalar_names = {n: name(scalar) for scalar, n in self.scalars.items()}
        self.matrix_names = {k: name(text) for text, k in self.entries.items()}

    def terms(self, part: dict[str, Any]) -> tuple[int, list[Term]]:
        """How many indices of a part are rows, and both sides."""
        self._bind(part["indices"])
        names = tuple(name for name, _ in part["indices"])
        half = len(names) // 2
        orders = list(dict.fromkeys([half, len(names) - 1 if len(names) > 2 else half, *range(len(names), -1, -1)]))
        reason: NotRead | None = None
        for k in orders:
            self._found.clear()
            try:
                return k, [self.term(part[side], names[:k], names[k:], {}) for side in ("left", "right")]
            except NotRead as why:
                reason = reason or why
        assert reason is not None
        raise reason

    def write(self, name: str) -> str:
        if self.certificate.get("iterates"):
            raise NotExported("iterates are no part of the vocabulary")
        hypotheses, said = self._hypotheses()
        self._named()
        parts = []
        for part in self.certificate["parts"]:
            _, sides = self.terms(part)
            shape = self.shape(sides[0])
            if shape != self.shape(sides[1]):
                raise NotExported("sides of two shapes")
            rs = indices_named(FIRST_ROW, shape[0])
            cs = indices_named(FIRST_ROW + len(rs), shape[1])
            own = dict(zip([i for i, _ in part["indices"]], (*rs, *cs), strict=True))
            left, right = (self.entry(side, rs, cs) for side in sides)
            uses = [u for item in part["uses"] for u in [self._read_use(item, own, said)] if u is not None]
            parts.append((sides, self.proof(left, right, uses)))
            self.checked.blocks += 1
        self.checked.conditions = [f"{what} {entry}" for what, entry in self.conditions]
        if any(node.head[0] in ("Arbitrary", "Split") for _, node in self.nodes):
            raise NotExported("functions that are no part of the vocabulary")
        return self._module(name, hypotheses, parts)

    def _module(self, name: str, hypotheses: list[str], parts: list[Any]) -> str:
        lines = [f"(* {self.claim} *)", f"Module {name}.", *self._definitions(hypotheses)]
        known = [self.shapes.get(k, ((), ())) for k in range(max([*self.shapes, -1]) + 1)]
        shown = (f"({rocq_listed(map(str, r))}, {rocq_listed(map(str, c))})" for r, c in known)
        lines.append(f"Definition shapes : seq sizes_of_shape := {rocq_listed(shown)}.")
        self.statements: list[str] = []
        for n, (sides, proof) in enumerate(parts):
            lines += [
                f"Definition {side}{n} := {self.deep(t)}." for side, t in zip(("left", "right"), sides, strict=True)
            ]
            lines.append(f"Definition proof{n} := {self.shown(proof)}.")
            lines.append(
                f"Lemma accepted{n} : accepts_formula functions conditions hypotheses steps shapes {len(self.givens)} left{n} right{n} proof{n}.\n"  # noqa: E501
                "Proof. by vm_cast_no_check (erefl true). Qed."
            )
            self.statements.append(self.statement(sides, hypotheses))
            lists = " ".join(rocq_listed(found) for found in self._lists())
            lines.append(
                f"Theorem formula{n} {self.statements[-1]}.\n"
                f"Proof. move=> *; refine (@formula_holds R {lists} (fun _ _ _ _ => 0%R) functions conditions hypotheses steps "
                f"shapes left{n} right{n} proof{n} accepted{n} _ _ _ _); formula_premises. Qed."
            )
        return "\n".join([*lines, f"End {name}."]) + "\n"

    def _lists(self) -> tuple[list[str], list[str], list[str]]:
        matrices = [self.matrix_names[self.entries[name]] for name in self.givens]
        return list(self.size_names.values()), list(self.scalar_names.values()), matrices

    def statement(self, sides: Sequence[Term], hypotheses: Sequence[str]) -> str:
        """What a theorem says, without its name."""
        sizes, scalars, matrices = self._lists()
        binders = "(R : realType)"
        for names, kind in ((sizes, "nat"), (scalars, "R"), (matrices, "matrix R")):
            binders += f" ({' '.join(names)} : {kind})" if names else ""
        premises = [f"(0 < {size})%N" for size in sizes] + [f"(0 < {scalar})%R" for scalar in scalars]
        for name in self.givens:
            k = self.entries[name]
            rows, columns = (rocq_listed(self.size_names[n] for n in axis) for axis in self.shapes[k])
            premises.append(f"has_shape {self.matrix_names[k]} ({rows}, {columns})")
        if self.conditions or hypotheses:
            lists = " ".join(rocq_listed(found) for found in self._lists())
            premises.append(f"@assumed R {lists} (fun _ _ _ _ => 0%R) functions conditions hypotheses shapes")
        claim = f"({self.text(sides[0])}\n  = {self.text(sides[1])})%M"
        return f"{binders} :\n  {' -> '.join([*premises, ''])}\n  {claim}"


def same_entries(certificate: dict[str, Any]) -> None:
    """Raise `NotExported` where the matrices that were read have other entries than the certificate says."""
    made = Formula(certificate)
    made._hypotheses()
    for part in certificate["parts"]:
        _, sides = made.terms(part)
        rows, columns = made.shape(sides[0])
        rs, cs = indices_named(FIRST_ROW, rows), indices_named(FIRST_ROW + len(rows), columns)
        own = dict(zip([i for i, _ in part["indices"]], (*rs, *cs), strict=True))
        for side, t in zip(("left", "right"), sides, strict=True):
            made.proof(made.entry(t, rs, cs), made.read(part[side], own, {}))


def formula(certificate: dict[str, Any]) -> tuple[Written, Formula]:
    """A certificate as theorems about matrices, or why there are none."""
    made = Formula(certificate)
    name = certificate["claim"]
    try:
        text = made.write(module_name(name, "formula"))
        same_entries(certificate)
        return Written(name, text, made.checked, sha256=hash_of(certificate)), made
    except NotExported as reason:
        return Written(name, "", Checked(), str(reason)), made
    except RecursionError:
        return Written(name, "", Checked(), "expressions that are nested too deeply"), made
