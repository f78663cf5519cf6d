"""Nodes and quantities as text that a reader recognises."""

from __future__ import annotations

from typing import Any

import sympy

from verify.arithmetics.norms.world import Index, Node, World

FUNCTIONS = {
    "softmax": "softmax", "relu": "relu", "step": "relu'", "absolute": "abs", "reciprocal": "1/", "exponential": "exp",
    "diagonal": "diag", "row norms": "row norms of ", "reshape": "entries of ",
}  # fmt: skip

NORMS = {"spectral norm": "||{}||_2", "Frobenius norm": "||{}||_F", "largest entry": "max|{}|"}


def node_text(node: Node, known: World | None = None) -> str:
    """A node as text."""
    parts = [node_text(part, known) for part in node.parts]
    if node.kind == "input":
        name, *indices = node.data
        return name + (f"[{', '.join(map(str, indices))}]" if indices else "")
    if node.kind == "sum":
        return _signed(node.data, parts, known)
    if node.kind == "product":
        return " ".join(
            f"({text})" if part.kind == "sum" else text for part, text in zip(node.parts, parts, strict=True)
        )
    if node.kind == "transpose":
        return parts[0] + "^T" if node.parts[0].kind == "input" else f"({parts[0]})^T"
    if node.kind in ("entrywise", "kronecker"):
        sign = " o " if node.kind == "entrywise" else " (x) "
        return sign.join(f"({text})" if part.kind in ("sum", "product") else text
                         for part, text in zip(node.parts, parts, strict=True))  # fmt: skip
    if node.kind == "identity":
        return f"I_{node.shape[0]}"
    if node.kind in ("ones", "zeros"):
        return {"ones": "1", "zeros": "0"}[node.kind]
    if node.kind == "rows":
        start = node.data[0]
        return f"({parts[0]})[{start}]" if isinstance(start, Index) else f"({parts[0]})[{start}:{node.data[1]}]"
    if node.kind in ("stack", "block diagonal"):
        return f"{node.kind} over {node.data[0]} of {parts[0]}"
    if node.kind == "sum over":
        factor = "" if node.data[1] == 1 else f"{scalar_text(node.data[1], known)} "
        return f"sum_{node.data[0]} {factor}{parts[0]}"
    if node.kind == "derivative":
        return f"d({parts[0]})/d({node.data[1]}) at {parts[1]}"
    if node.kind == "without column":
        return f"({parts[0]} without column {node.data[0]})"
    if node.kind == "iterate":
        return f"iterate_{node.data[0]}({parts[0]})"
    if node.kind == "concatenate":
        return f"[{'; '.join(parts)}]"
    return f"{FUNCTIONS.get(node.kind, node.kind)}({', '.join(parts)})"


def _signed(coefficients: tuple[Any, ...], parts: list[str], known: World | None) -> str:
    found = ""
    for coefficient, part in zip(coefficients, parts, strict=True):
        negative = coefficient.could_extract_minus_sign()
        size = -coefficient if negative else coefficient
        text = part if size == 1 else f"{scalar_text(size, known)} {part}"
        found += (" - " if negative else " + ") + text if found else ("-" if negative else "") + text
    return found


def scalar_text(value: Any, known: World | None) -> str:
    """A scalar with its quantities by name."""
    if known is None or not isinstance(value, sympy.Basic):
        return str(value)
    names = {symbol: sympy.Symbol(atom_text(symbol, known)) for symbol in value.free_symbols if symbol in known.atoms}
    return sympy.sstr(value.xreplace(names), order="none")


def atom_text(symbol: sympy.Symbol, known: World) -> str:
    """A quantity as text."""
    atom = known.atoms[symbol]
    first = atom.payload[0]
    if atom.kind in NORMS:
        return NORMS[atom.kind].format(node_text(first, known))
    if atom.kind == "largest of":
        return f"max({', '.join(scalar_text(value, known) for value in atom.payload)})"
    if atom.kind in ("largest over", "sum over"):
        return f"{'max' if atom.kind == 'largest over' else 'sum'}_{first} {scalar_text(atom.payload[1], known)}"
    if atom.kind == "mean of exponentials":
        return f"(e^a - 1)/a at a = {scalar_text(first, known)}"
    if atom.kind == "entry":
        return f"({node_text(first, known)})[{atom.payload[1]}, {atom.payload[2]}]"
    inner = first if isinstance(first, str) else node_text(first, known) if isinstance(first, Node) else str(first)
    return f"{atom.kind}({inner})"
