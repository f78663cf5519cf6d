"""Normal forms in index notation, and the matrix expression that the code built, as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.patterns import groups_of
from verify.arithmetics.symbols.blocks import Blocks
from verify.arithmetics.symbols.difference import parts_of
from verify.arithmetics.symbols.heads import Head
from verify.arithmetics.symbols.indexed import Indexed
from verify.arithmetics.symbols.matrix_exponential import legs_of
from verify.arithmetics.symbols.scalars import Scalar
from verify.arithmetics.symbols.summation import SummationIndex
from verify.arithmetics.symbols.sums import Sum

_OPEN, _SUMMED = "abcdefgh", "ijklmnopqrstuvwxyz"


def name_latex(name: str) -> str:
    """A name such as W_Q or tau_0 with its subscript in braces, Greek letters as such."""
    return str(sympy.latex(sympy.Symbol(name)))


#: Names for what a formula repeats.
_SHORT = "ABCDEFGH"
#: A repeated function with a shorter argument is left as it is.
_LONG = 24


def abbreviated(text: str) -> str:
    """A formula in which a function of a long argument that occurs more than once has a name, explained at the end."""
    definitions: list[str] = []
    for letter in _SHORT:
        found = sorted({call for call in _calls(text) if len(call) > _LONG and text.count(call) > 1}, key=len)
        if not found:
            break
        name = rf"\mathcal{{{letter}}}"
        text = text.replace(found[-1], name)
        definitions.append(f"{name} = {found[-1]}")
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


def sum_latex(value: Sum) -> str:
    """All terms in index notation; open indices are a, b, ..., repeated ones are summed."""
    if not value.terms:
        return "0"
    parts = []
    for key, coefficient in sorted(value.terms.items(), key=str):
        names = _index_names(len(value.slots))
        labels: dict[int, str] = {slot: next(names) for slot in range(len(value.slots))}
        spare = iter(_more_names())
        factors = []
        for made, indices in key:
            for index in indices:
                if index not in labels:
                    labels[index] = next(spare)
            factors.append(_head_latex(made, [labels[index] for index in indices]))
        parts.append(_scaled(coefficient, r"\, ".join(factors)))
    return " + ".join(parts).replace("+ -", "- ")


def normal_form_latex(value: Any, longest: int) -> str:
    """All terms of a side, several matrices one after the other, cut after whole terms at about `longest` characters."""
    sums = [part.value for part in parts_of(value)]
    shown, length = [], 0
    for item in sums:
        text = _sum_within(item, longest - length)
        shown.append(text)
        length += len(text)
        if length >= longest and len(shown) < len(sums):
            shown.append(rf"\ldots\ \text{{({len(sums) - len(shown)} more blocks)}}")
            break
    return abbreviated(r",\quad ".join(shown))


def _sum_within(value: Sum, longest: int) -> str:
    text = sum_latex(value)
    if len(text) <= longest:
        return text
    terms = sorted(value.terms.items(), key=str)
    kept = len(terms)
    while kept > 1 and len(text) > longest:
        kept -= max(1, kept // 4)
        text = sum_latex(Sum(value.slots, dict(terms[:kept])))
    if len(text) > longest:
        return rf"\ldots\ \text{{({len(terms)} terms)}}"
    return rf"{text} + \ldots\ \text{{({len(terms) - kept} more terms)}}"


def _index_names(count: int) -> Iterator[str]:
    yield from (_OPEN[k] if k < len(_OPEN) else f"a_{{{k}}}" for k in range(count))


def _more_names() -> Iterator[str]:
    yield from _SUMMED
    for k in range(1000):
        yield f"i_{{{k}}}"


def _scaled(coefficient: Scalar, product: str) -> str:
    expression = coefficient.expression
    if not product:
        return sympy.latex(expression)
    if expression == 1:
        return product
    if expression == -1:
        return f"-{product}"
    text = sympy.latex(expression)
    return f"({text})\\, {product}" if len(coefficient.terms) > 1 else f"{text}\\, {product}"


def _head_latex(made: Head, indices: list[str]) -> str:
    below = f"_{{{' '.join(indices)}}}" if indices else ""
    if made.kind == "delta":
        return rf"\delta{below}"
    if made.kind == "unit":
        return rf"[e_{{{made.parameter + 1}}}]{below}"
    if made.kind == "selection":
        return rf"[I_{{:, {sympy.latex(made.parameter)}+1:}}]{below}"
    if made.kind == "grouping":
        return rf"\delta_{{{indices[0]}, ({' '.join(indices[1:])})}}"
    if made.kind == "order":
        return rf"[{indices[1]} \le {indices[0]} + ({sympy.latex(made.parameter)})]"
    if made.kind == "tensor":
        return f"[{name_latex(made.name)}]{below}"
    assert made.inner is not None
    if made.kind == "dexpm":
        first, second = (rf"\operatorname{{expm}}({sum_latex(leg.matrix)})" for leg in legs_of(made))
        one, two = " ".join(indices[:2]), " ".join(indices[2:])
        return rf"\int_0^1 [{first}^{{s}}]_{{{one}}}\, [{second}^{{1-s}}]_{{{two}}}\,ds"
    inner = sum_latex(made.inner)
    if made.kind == "named":
        return rf"\left({inner}\right){below}"
    if made.kind == "phi":
        return rf"\varphi({inner}){below}"
    if made.kind == "softmax":
        return rf"\operatorname{{softmax}}({inner}){below}"
    if made.kind == "exp":
        return rf"\exp({_scaled(made.parameter, f'({inner})')}){below}"
    if made.kind == "power":
        return rf"({inner}){below}^{{{made.parameter}}}"
    if made.kind == "inverse":
        return rf"[({inner})^{{-1}}]{below}"
    return rf"\operatorname{{{made.kind}}}({inner}){below}"


# -- the expression read back ------------------------------------------------------------------------------------------

_SUM, _PRODUCT, _ATOM = 0, 1, 2
_INDICES = "ijklpqrstuvw"
_FUNCTIONS = {"softmax": "softmax", "exp": "exp", "log": "log", "relu": "ReLU", "step": "step", "diag": "diag"}


def read_back(value: Any) -> str:
    """The matrix expression that a formula built, as LaTeX; summation indices are i, j, k, ... in order."""
    text = abbreviated(_read(value))
    numbers = list(dict.fromkeys(re.findall(r"i_\{#(\d+)\}", text)))
    letters = dict(zip(numbers, _INDICES, strict=False))
    return re.sub(r"i_\{#(\d+)\}", lambda match: letters.get(match[1], f"i_{{{match[1]}}}"), text)


def _read(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return r",\quad ".join(map(_read, value))
    if isinstance(value, Blocks):
        rows = (" & ".join(map(_read, row)) for row in value.grid)
        return r"\begin{bmatrix}" + r" \\ ".join(rows) + r"\end{bmatrix}"
    return _tree(value.tree if isinstance(value, Indexed) else value)[0]


def _wrapped(tree: Any, least: int) -> str:
    text, level = _tree(tree)
    return text if level >= least else rf"\left({text}\right)"


def _tree(tree: Any) -> tuple[str, int]:
    """LaTeX and how tightly it binds."""
    if isinstance(tree, str):
        return name_latex(tree), _ATOM
    if isinstance(tree, Scalar):
        return sympy.latex(tree.expression), _ATOM if len(tree.terms) == 1 else _SUM
    if isinstance(tree, SummationIndex):
        return f"i_{{#{tree.number}}}", _ATOM
    if not isinstance(tree, tuple):
        return (r"\cdot" if tree is None else sympy.latex(tree)), _ATOM
    operation, *parts = tree
    if operation == "@":
        return f"{_wrapped(parts[0], _PRODUCT)} {_wrapped(parts[1], _PRODUCT)}", _PRODUCT
    if operation in ("+", "-"):
        return f"{_wrapped(parts[0], _SUM)} {operation} {_wrapped(parts[1], _PRODUCT)}", _SUM
    if operation == "(x)":
        return rf"{_wrapped(parts[0], _ATOM)} \otimes {_wrapped(parts[1], _ATOM)}", _SUM
    if operation in ("*", "o"):
        if isinstance(parts[0], Scalar) and parts[0].is_one:
            return _tree(parts[1])
        sign = r"\," if operation == "*" else r"\odot"
        level = _PRODUCT if operation == "*" else _SUM
        return f"{_wrapped(parts[0], _PRODUCT)} {sign} {_wrapped(parts[1], _PRODUCT)}", level
    if operation == "/":
        return rf"\frac{{{_wrapped(parts[0], _SUM)}}}{{{_wrapped(parts[1], _SUM)}}}", _ATOM
    if operation == "T":
        if isinstance(parts[0], tuple) and parts[0][0] == "T":
            return _tree(parts[0][1])
        return rf"{_base(parts[0])}^\top", _ATOM
    if operation == "neg":
        return f"-{_wrapped(parts[0], _PRODUCT)}", _SUM
    if operation == "^":
        return f"{_base(parts[0])}^{{\\circ {parts[1]}}}", _ATOM
    if operation == "inv":
        return f"{_base(parts[0])}^{{-1}}", _ATOM
    if operation == "I":
        return f"I_{{{sympy.latex(parts[0])}}}", _ATOM
    if operation == "K":
        return f"K_{{{sympy.latex(parts[0])},{sympy.latex(parts[1])}}}", _ATOM
    if operation in ("0", "1"):
        return f"\\mathbf{{{operation}}}", _ATOM
    if operation == "sqrt":
        return rf"\sqrt{{{_tree(parts[0])[0]}}}", _ATOM
    if operation == "sum":
        name = {None: "total", 0: "columnsums"}.get(parts[1], "rowsums")
        return rf"\operatorname{{{name}}}\left({_tree(parts[0])[0]}\right)", _ATOM
    if operation == "indexed":
        return _by_indices(*parts), _ATOM
    if operation == "vec":
        return rf"\operatorname{{vec}}_r {_wrapped(parts[0], _ATOM)}", _PRODUCT
    if operation == "reshape":
        return _tree(parts[0])
    if operation == "[]":
        return f"[{_wrapped(parts[0], _SUM)}]_{{{_key(parts[1])}}}", _ATOM
    if operation == "sum over":
        return rf"\sum_{{{_tree(parts[0])[0]}}} {_wrapped(parts[1], _PRODUCT)}", _SUM
    if operation == "stacked":
        return rf"\left[{_wrapped(parts[1], _SUM)}\right]_{{{_tree(parts[0])[0]}}}", _ATOM
    if operation in ("d", "d2"):
        by = "".join(rf"\partial {name_latex(str(name))}" for name in parts[1:])
        order = "^2" if operation == "d2" else ""
        return rf"\frac{{\partial{order} {_wrapped(parts[0], _ATOM)}}}{{{by}}}", _ATOM
    name = _FUNCTIONS.get(operation, operation.replace(" ", ""))
    inside = ", ".join(_tree(part)[0] for part in parts if isinstance(part, (tuple, str)))
    return rf"\operatorname{{{name}}}\left({inside}\right)", _ATOM


def _base(tree: Any) -> str:
    """What carries an exponent, in braces where it has one already."""
    text = _wrapped(tree, _ATOM)
    return f"{{{text}}}" if "^" in text[-12:] else text


def _by_indices(pattern: str, *trees: Any) -> str:
    """A sum of products of entries, whose indices are grouped into rows and columns."""
    inputs, groups = groups_of(pattern)
    entries = (
        rf"{_base(tree) if isinstance(tree, str) else f'[{_tree(tree)[0]}]'}_{{{names}}}"
        for names, tree in zip(inputs, trees, strict=True)
    )
    grouped = "".join(f"({group})" for group in groups)
    return rf"\left[{' '.join(entries)}\right]_{{{grouped}}}"


def _key(key: Any) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    found = []
    for part in parts:
        if isinstance(part, slice):
            found.append(_tree(part.start)[0] if isinstance(part.start, SummationIndex) else ":")
        else:
            found.append(_tree(part)[0] if isinstance(part, SummationIndex) else str(part))
    return ", ".join(found)
