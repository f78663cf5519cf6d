"""Formulas as LaTeX: what a proof for all sizes was of, read from the tree that the formula gave."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.constants import Constant, Surd
from verify.arithmetics.formal import Formal
from verify.arithmetics.kinds import is_symbolic
from verify.arithmetics.patterns import groups_of
from verify.arithmetics.tracing import Call, Function, Input

#: How tightly a text binds.
SUM, PRODUCT, ATOM = 0, 1, 2
#: Names for what a formula repeats.
SHORT = "ABCDEFGH"
#: A repeated function with a shorter argument is left as it is.
LONG = 24
INDICES = "ijklpqrstuvw"
#: What gives a matrix for each value of an index.
FAMILIES = ("each", "mapped", "parts", "parts_of_width")

Text = tuple[str, int]


def formula_latex(node: Any) -> str:
    """The tree of a formula as LaTeX; summation indices are i, j, k, ... in order.

    >>> formula_latex(Call("@", (Call("T", (Input("X"),)), Input("W_Q"))))
    'X^\\\\top W_{Q}'
    """
    # the numbers of indices go on from proof to proof: whole, they would decide which function is the longest
    text = abbreviated(_renamed(_Reader().text(node), lambda place: f"i_{{#{place:03}}}"))
    return _renamed(text, lambda place: INDICES[place] if place < len(INDICES) else f"i_{{{place}}}")


def _renamed(text: str, name: Callable[[int], str]) -> str:
    """The text with a name for each index, which its place among the indices of the text gives."""
    places: dict[str, int] = {}
    return re.sub(r"i_\{#(\w+)\}", lambda match: name(places.setdefault(match[1], len(places))), text)


@functools.lru_cache(maxsize=4096)
def name_latex(name: str) -> str:
    """A name such as W_Q or tau_0 with its subscript in braces, Greek letters as such."""
    return str(sympy.latex(sympy.Symbol(name)))


def abbreviated(text: str) -> str:
    """A formula in which a function of a long argument that occurs more than once has a name, explained at the end."""
    definitions: list[str] = []
    for letter in SHORT:
        longest = max(
            (call for call in _calls(text) if len(call) > LONG and text.count(call) > 1), key=len, default=None
        )
        if longest is None:
            break
        name = rf"\mathcal{{{letter}}}"
        text = text.replace(longest, name)
        definitions.append(f"{name} = {longest}")
    return r",\quad ".join([text, *definitions])


def _calls(text: str) -> Iterator[str]:
    """Every function with its argument in parentheses."""
    for match in re.finditer(r"\\operatorname\{\w+\}(\\left)?\(", text):
        depth = 0
        for place in range(match.end() - 1, len(text)):
            depth += (text[place] == "(") - (text[place] == ")")
            if not depth:
                yield text[match.start() : place + 1]
                break


def _number(value: Any) -> Any:
    """A size or scalar as sympy has it, None for anything else."""
    if isinstance(value, (int, Surd)) or is_symbolic(value):
        return sympy.sympify(value._sympy_() if hasattr(value, "_sympy_") else value)
    return None


class _Reader:
    """Reads a tree; `members` are the parameters of functions that are mapped over families, with their texts."""

    def __init__(self) -> None:
        self.members: dict[Any, Text] = {}
        self.indices = 0

    def text(self, node: Any, least: int = SUM) -> str:
        """LaTeX that binds at least so tightly."""
        return _binding(self.of(node), least)

    def of(self, node: Any) -> Text:
        """LaTeX and how tightly it binds."""
        if isinstance(node, Input):
            return self.members.get(node) or (name_latex(node.name.split("~")[0]), ATOM)
        if isinstance(node, Function):
            return self.of(node.body)
        if (found := self.family(node)) is not None:
            return rf"\left({found[0][0]}\right)_{{{found[1]}}}", ATOM
        if isinstance(node, Call):
            return OPERATIONS.get(node.name, _function(node.name))(self, *node.operands)
        if isinstance(node, (list, tuple)):
            return r",\quad ".join(map(self.text, node)), SUM
        if isinstance(node, dict):
            return self.of(tuple(node.values()))
        if isinstance(node, (Constant, np.ndarray)):
            return _constant(node.array if isinstance(node, Constant) else node), ATOM
        number = _number(node)
        if number is None:
            return self.index(node), ATOM
        return sympy.latex(number), SUM if number.is_Add else ATOM

    def index(self, at: Any) -> str:
        """A summation index, or a place, under a name that becomes a letter at the end."""
        if at is None or isinstance(at, (int, str)):
            return str(at)
        if hasattr(at, "offset"):
            offset = sympy.latex(at.offset)
            return f"{self.index(at.index)} {'' if offset.startswith('-') else '+ '}{offset}"
        if isinstance(at, Formal):  # a value that no formula was handed under a name
            return r"\cdot"
        return f"i_{{#{getattr(at, 'number', at)}}}"

    def fresh(self) -> str:
        self.indices += 1
        return f"i_{{#new{self.indices}}}"

    def base(self, node: Any) -> str:
        """What carries an exponent, in braces where it has one already."""
        text = self.text(node, ATOM)
        return f"{{{text}}}" if "^" in text[-12:] else text

    def member(self, family: Any, at: str) -> Text:
        """The matrix at an index, of matrices for each value of one."""
        found = self.family(family)
        if found is None:
            return f"[{self.text(family)}]_{{{at}}}", ATOM
        (text, level), index = found
        return text.replace(index, at), level

    def family(self, node: Any) -> tuple[Text, str] | None:
        """The matrix at an index and the index, of matrices for each value of one; None for a single matrix."""
        if not isinstance(node, Call) or node.name not in FAMILIES:
            return None
        if node.name == "each":
            return self.of(node.operands[1]), self.index(node.operands[1].parameters[0])
        at = self.fresh()
        if node.name != "mapped":
            return (f"[{self.text(node.operands[0])}]_{{{':, ' * node.operands[2]}{at}}}", ATOM), at
        function, *families = node.operands
        for parameter, family in zip(function.parameters, families, strict=True):
            self.members[parameter] = self.member(family, at)
        return self.of(function), at

    def place(self, part: Any) -> str:
        """What a key selects of one axis."""
        if isinstance(part, slice):
            ends = (part.start, part.stop)
            if all(end is None or _number(end) is not None for end in ends):
                return ":".join("" if end is None else sympy.latex(_number(end)) for end in ends)
            return self.index(part.start)
        return self.index(part) if _number(part) is None else sympy.latex(_number(part))


def _binding(found: Text, least: int) -> str:
    """A text that binds at least so tightly, in parentheses where it does not."""
    text, level = found
    return text if level >= least else rf"\left({text}\right)"


def _constant(array: np.ndarray) -> str:
    """A matrix of numbers."""
    entries = list(array.flat)
    if array.ndim == 2 and array.shape[0] == array.shape[1] and (array == np.eye(len(array), dtype=int)).all():
        return f"I_{{{len(array)}}}"
    if entries and all(bool(entry == entries[0]) for entry in entries):
        return rf"\mathbf{{{entries[0]}}}"
    rows = array if array.ndim == 2 else [array]
    return r"\begin{bmatrix}" + r" \\ ".join(" & ".join(map(sympy.latex, row)) for row in rows) + r"\end{bmatrix}"


# -- one text for each operation ---------------------------------------------------------------------------------------


def _function(name: str) -> Callable[..., Text]:
    shown = {"relu": "ReLU", "masked_softmax": "softmax", "absolute": "abs", "diag_part": "diagpart"}.get(name, name)

    def of(reader: _Reader, *operands: Any) -> Text:
        inside = ", ".join(reader.text(part) for part in operands)
        return rf"\operatorname{{{shown.replace('_', '')}}}\left({inside}\right)", ATOM

    return of


def _sum(sign: str) -> Callable[..., Text]:
    def of(reader: _Reader, one: Any, other: Any) -> Text:
        if _number(one) == 0 and sign == "+":  # where Python's sum starts
            return reader.of(other)
        return f"{reader.text(one)} {sign} {reader.text(other, PRODUCT)}", SUM

    return of


def _product(reader: _Reader, one: Any, other: Any) -> Text:
    if _number(other) is not None:
        one, other = other, one
    if _number(one) is None:
        return rf"{reader.text(one, PRODUCT)} \odot {reader.text(other, PRODUCT)}", SUM
    if _number(one) == 1:
        return reader.of(other)
    return rf"{reader.text(one, PRODUCT)} \, {reader.text(other, PRODUCT)}", PRODUCT


def _transpose(reader: _Reader, A: Any) -> Text:
    if isinstance(A, Call) and A.name == "T":
        return reader.of(A.operands[0])
    return rf"{reader.base(A)}^\top", ATOM


def _kronecker(reader: _Reader, A: Any, B: Any, *more: Any) -> Text:
    text = rf"{reader.text(A, ATOM)} \otimes {reader.text(B, ATOM)}"
    for factor in more:
        text = rf"\left({text}\right) \otimes {reader.text(factor, ATOM)}"
    return text, SUM


def _entry(reader: _Reader, A: Any, key: Any) -> Text:
    if isinstance(A, Call) and A.name in FAMILIES and not isinstance(key, (tuple, slice)):
        return reader.member(A, reader.place(key))
    at = ", ".join(map(reader.place, key if isinstance(key, tuple) else (key,)))
    return f"[{reader.text(A)}]_{{{at}}}", ATOM


def _over_index(reader: _Reader, n: Any, term: Function) -> Text:
    (index,) = term.parameters
    if isinstance(index, int):
        return reader.of(term.body)
    return rf"\sum_{{{reader.index(index)}}} {reader.text(term.body, PRODUCT)}", SUM


def _added(reader: _Reader, family: Any) -> Text:
    found = reader.family(family)
    if found is None:
        return r"\sum " + reader.text(family, PRODUCT), SUM
    return rf"\sum_{{{found[1]}}} {_binding(found[0], PRODUCT)}", SUM


def _joined(reader: _Reader, blocks: Any, axis: int) -> Text:
    texts = []
    for block in blocks if isinstance(blocks, tuple) else (blocks,):
        found = reader.family(block)
        texts.append(reader.text(block) if found is None else rf"\left[{found[0][0]}\right]_{{{found[1]}}}")
    if len(texts) == 1:
        return texts[0], ATOM
    return r"\begin{bmatrix}" + (r" \\ ", " & ")[axis].join(texts) + r"\end{bmatrix}", ATOM


def _by_indices(reader: _Reader, pattern: str, *operands: Any) -> Text:
    """A sum of products of entries, whose indices are grouped into rows and columns."""
    inputs, groups = groups_of(pattern)
    entries = (
        rf"{reader.base(A) if isinstance(A, Input) else f'[{reader.text(A)}]'}_{{{names}}}"
        for names, A in zip(inputs, operands, strict=True)
    )
    grouped = "".join(f"({group})" for group in groups)
    return rf"\left[{' '.join(entries)}\right]_{{{grouped}}}", ATOM


def _derivative(reader: _Reader, f: Function, arguments: Any, wrt: Any, layout: Any) -> Text:
    names = (wrt,) if isinstance(wrt, str) else wrt
    by = "".join(rf"\partial {name_latex(name)}" for name in names)
    of = "f" if f.body is None else reader.text(f.body, ATOM)  # none where a closed form stands in its place
    return rf"\frac{{\partial{'^2' if len(names) == 2 else ''} {of}}}{{{by}}}", ATOM


def _total(reader: _Reader, A: Any, axis: Any) -> Text:
    name = {None: "total", 0: "columnsums"}.get(axis, "rowsums")
    return rf"\operatorname{{{name}}}\left({reader.text(A)}\right)", ATOM


#: How each operation is written; every other one is a name with its operands in parentheses.
OPERATIONS: dict[str, Callable[..., Text]] = {
    "@": lambda r, A, B: (f"{r.text(A, PRODUCT)} {r.text(B, PRODUCT)}", PRODUCT),
    "+": _sum("+"),
    "-": _sum("-"),
    "neg": lambda r, A: (f"-{r.text(A, PRODUCT)}", SUM),
    "*": _product,
    "/": lambda r, A, B: (rf"\frac{{{r.text(A)}}}{{{r.text(B)}}}", ATOM),
    "^": lambda r, A, power: (rf"{r.base(A)}^{{\circ {r.text(power)}}}", ATOM),
    "T": _transpose,
    "[]": _entry,
    "item": _entry,
    "vec": lambda r, A, *_: (rf"\operatorname{{vec}}_r {r.text(A, ATOM)}", PRODUCT),
    "reshape": lambda r, A, *_: r.of(A),
    "unvec_r": lambda r, v, *_: r.of(v),
    "sum": _total,
    "eye": lambda r, n: (f"I_{{{r.text(n)}}}", ATOM),
    "zeros": lambda r, *_: (r"\mathbf{0}", ATOM),
    "ones": lambda r, *_: (r"\mathbf{1}", ATOM),
    "basis_vector": lambda r, _, i: (rf"e_{{{r.place(i)}}}", ATOM),
    "commutation_matrix": lambda r, n, m: (f"K_{{{r.text(n)},{r.text(m)}}}", ATOM),
    "kron": _kronecker,
    "kron_matmul": lambda r, factors, M: (
        rf"\left({r.text(Call('kron', tuple(factors)))}\right) {r.text(M, PRODUCT)}", PRODUCT,
    ),
    "concatenate": _joined,
    "stack_rows": lambda r, rows: _joined(r, rows, 0),
    "summed": _over_index,
    "added": _added,
    "indexed": _by_indices,
    "sqrt": lambda r, A: (rf"\sqrt{{{r.text(A)}}}", ATOM),
    "inverse": lambda r, A: (f"{r.base(A)}^{{-1}}", ATOM),
    "jacobian": _derivative,
    "hessian": _derivative,
    "expectation": lambda r, f, normals, _: (rf"\mathbb{{E}}\left[{r.text(f)}\right]", ATOM),
}  # fmt: skip
