"""Ways to break a formula in one place of its syntax tree.

A way takes an expression and returns what stands in its place, or None where it does not apply.  `broken` picks one of the ways
that apply, and a place.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzzing.written import Written
from verify.vocabulary import Shape


@dataclass(frozen=True)
class Scope:
    """What stands in a formula may be replaced by: its inputs by name, with their specifications, and chance."""

    inputs: Mapping[str, Any]
    rng: np.random.Generator

    @property
    def matrices(self) -> list[str]:
        return [name for name, spec in self.inputs.items() if isinstance(spec, Shape) and len(spec.dims) == 2]

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def size(self) -> str | None:
        """An expression for one of the sizes."""
        return f"{self.pick(self.matrices)}.shape[{self.pick([0, 1])}]" if self.matrices else None


Way = Callable[[ast.expr, Scope], "ast.expr | None"]
WAYS: dict[str, Way] = {}


#: Ways that are tried less often, since they are seldom near a rule.
RARE = (
    "factor below 1",
    "negative factor",
    "absolute value",
    "quotient",
    "factor of a size",
    "decision on a size",
    "a bit less",
)


def way(name: str) -> Callable[[Way], Way]:
    def register(function: Way) -> Way:
        WAYS[name] = function
        return function

    return register


def broken(formula: Written, scope: Scope, only: str | None = None) -> tuple[str, Written] | None:
    """The formula broken in one place, and which way; None where no way applies."""
    places = _places(formula.tree)
    weights = np.array([1.0 if name in RARE else 3.0 for name in WAYS])
    order = scope.rng.choice(list(WAYS), len(WAYS), replace=False, p=weights / weights.sum()).tolist()
    for name in [only] if only else order:
        for k in scope.rng.permutation(len(places)).tolist():
            new = WAYS[name](places[k], scope)
            if new is not None and ast.dump(new) != ast.dump(places[k]):
                tree = _replaced(formula.tree, k, new)
                said = f"{name}: {ast.unparse(places[k])} -> {ast.unparse(new)}"
                return said, formula.with_body(tree)
    return None


def _places(tree: ast.AST) -> list[ast.expr]:
    """The expressions of the body whose values are used, in a fixed order."""
    body = tree.body if isinstance(tree, (ast.Lambda, ast.FunctionDef)) else []
    found: list[ast.expr] = []
    for part in body if isinstance(body, list) else [body]:
        called = {id(node.func) for node in ast.walk(part) if isinstance(node, ast.Call)}
        sizes = {
            id(inner)
            for node in ast.walk(part)
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            for inner in (node.value, node.value.value)
        }
        found += [
            node
            for node in ast.walk(part)
            if isinstance(node, ast.expr)
            and not isinstance(node, (ast.Lambda, ast.Slice))
            and not isinstance(getattr(node, "ctx", ast.Load()), ast.Store)
            and id(node) not in called
            and id(node) not in sizes
        ]
    return found


def _replaced(tree: Any, place: int, new: ast.expr) -> Any:
    changed = copy.deepcopy(tree)
    old = _places(changed)[place]

    class Replacer(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is old else self.generic_visit(node)

    return Replacer().visit(changed)


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _is_value(node: ast.expr) -> bool:
    """Whether a node is likely a number or a matrix: no text, tuple, size or key."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    return isinstance(node, (ast.BinOp, ast.Call, ast.Name, ast.UnaryOp, ast.Subscript)) or _is_transpose(node)


def _is_transpose(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "T"


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _called(node: ast.expr) -> str | None:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


# -- constants, signs, orders, powers ----------------------------------------------------------------------------------


@way("constant")
def _constant(node: ast.expr, scope: Scope) -> ast.expr | None:
    if not isinstance(node, ast.Constant) or isinstance(node.value, (bool, str, bytes, type(None))):
        return None
    options = [f"{node.value} + 1", f"{node.value} - 1", f"2 * {node.value}", f"-{node.value}"]
    return ast.Constant(eval(scope.pick(options)))


@way("sign")
def _sign(node: ast.expr, scope: Scope) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    return expression(f"-{_text(node)}") if isinstance(node, ast.Call) else None


@way("operation")
def _operation(node: ast.expr, scope: Scope) -> ast.expr | None:
    if not isinstance(node, ast.BinOp):
        return None
    others = {
        ast.MatMult: [ast.Mult],
        ast.Mult: [ast.MatMult, ast.Add, ast.Div],
        ast.Div: [ast.Mult],
        ast.Add: [ast.Mult],
    }
    options = others.get(type(node.op))  # type: ignore[call-overload]
    return ast.BinOp(node.left, scope.pick(options)(), node.right) if options else None


@way("order")
def _order(node: ast.expr, scope: Scope) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.MatMult, ast.Sub, ast.Div)):
        return ast.BinOp(node.right, node.op, node.left)
    if _called(node) and isinstance(node, ast.Call) and len(node.args) > 1:
        return ast.Call(node.func, node.args[::-1], node.keywords)
    return None


@way("left out")
def _left_out(node: ast.expr, scope: Scope) -> ast.expr | None:
    if isinstance(node, ast.BinOp):
        return scope.pick([node.left, node.right])
    return node.args[0] if _called(node) and isinstance(node, ast.Call) and len(node.args) == 1 else None


@way("power")
def _power(node: ast.expr, scope: Scope) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return scope.pick([node.left, expression(f"{_text(node.left)} ** ({ast.unparse(node.right)} + 1)")])
    if _called(node) in ("sqrt", "frobenius_norm", "spectral_norm", "total", "trace", "F", "N"):
        return expression(f"{_text(node)} ** 2")
    return None


# -- transposes, indices, operands -------------------------------------------------------------------------------------


@way("transpose")
def _transpose(node: ast.expr, scope: Scope) -> ast.expr | None:
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return node.value
    if isinstance(node, ast.Name) and node.id not in scope.matrices:
        return None
    is_matrix = isinstance(node, (ast.Name, ast.Call)) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    )
    return ast.Attribute(node, "T", ast.Load()) if is_matrix else None


@way("index")
def _index(node: ast.expr, scope: Scope) -> ast.expr | None:
    if not isinstance(node, ast.Subscript):
        return None
    key = node.slice
    if isinstance(key, ast.Constant) and isinstance(key.value, int):
        new: ast.expr = ast.Constant(1 - key.value if _is_size(node) else key.value + 1)
    elif isinstance(key, ast.Tuple) and len(key.elts) == 2:
        new = ast.Tuple(key.elts[::-1], ast.Load())
    elif isinstance(key, ast.Slice) and not (key.lower and key.upper):
        new = ast.Slice(key.upper, key.lower, key.step)
    else:
        return None
    return ast.Subscript(node.value, new, ast.Load())


@way("size")
def _size(node: ast.expr, scope: Scope) -> ast.expr | None:
    """A size becomes 1, or half of itself."""
    return expression(scope.pick(["1", f"{_text(node)} / 2"])) if _is_size(node) else None


@way("another row")
def _another_row(node: ast.expr, scope: Scope) -> ast.expr | None:
    """i : i + 1 becomes the first row, an index i becomes 0."""
    if not isinstance(node, ast.Subscript) or _is_size(node):
        return None
    key = node.slice
    if isinstance(key, ast.Slice) and key.lower and key.upper:
        return ast.Subscript(node.value, ast.Slice(None, ast.Constant(1), None), ast.Load())
    return ast.Subscript(node.value, ast.Constant(0), ast.Load()) if isinstance(key, ast.Name) else None


@way("operand")
def _operand(node: ast.expr, scope: Scope) -> ast.expr | None:
    if not isinstance(node, ast.Name) or node.id not in scope.inputs:
        return None
    spec = scope.inputs[node.id]
    same = [name for name, other in scope.inputs.items() if name != node.id and type(other) is type(spec)]
    alike = [name for name in same if not isinstance(spec, Shape) or scope.inputs[name].dims == spec.dims]
    options = alike or same
    return ast.Name(scope.pick(options), ast.Load()) if options else None


# -- functions ---------------------------------------------------------------------------------------------------------

#: Functions that take the same arguments and mean something else.
ANOTHER = {
    "frobenius_norm": ["spectral_norm", "largest_entry"],
    "spectral_norm": ["frobenius_norm", "largest_entry", "spectral_radius"],
    "F": ["N", "largest_entry"],
    "N": ["F", "largest_entry"],
    "softmax": ["exp", "normalize_rows", "relu"],
    "exp": ["softmax", "absolute"],
    "relu": ["step", "absolute"],
    "step": ["relu"],
    "absolute": ["relu"],
    "normalize_rows": ["softmax"],
    "row_sums": ["row_norms"],
    "row_norms": ["row_sums"],
    "total": ["trace"],
    "trace": ["total"],
    "vec_r": ["vec_c"],
    "vec_c": ["vec_r"],
    "kron": ["hadamard"],
    "hadamard": ["kron"],
    "expm": ["exp", "inverse"],
    "inverse": ["transpose", "expm"],
    "eye": [],
    "ones": ["zeros"],
    "sqrt": ["log"],
    "maximum": ["total"],
}


@way("function")
def _function(node: ast.expr, scope: Scope) -> ast.expr | None:
    options = ANOTHER.get(_called(node) or "")
    if not options or not isinstance(node, ast.Call):
        return None
    name = scope.pick(options)
    if name == "largest_entry":
        return expression(f"maximum(absolute({', '.join(map(ast.unparse, node.args))}))")
    return ast.Call(ast.Name(name, ast.Load()), node.args, node.keywords)


# -- factors, quotients, absolute values -------------------------------------------------------------------------------


@way("factor below 1")
def _factor(node: ast.expr, scope: Scope) -> ast.expr | None:
    if not _is_value(node) or isinstance(node, ast.Constant) or _is_size(node):
        return None
    return expression(f"{_text(node)} * rational({scope.pick(['9, 10', '99, 100', '999, 1000', '1, 2'])})")


@way("negative factor")
def _surd(node: ast.expr, scope: Scope) -> ast.expr | None:
    """Numbers whose sign has to be computed: 1 + 1 / (sqrt(2) - 2) is negative."""
    if not isinstance(node, ast.Call):
        return None
    root = f"{_text(node)} * sqrt(2) / {_text(node)}"
    factor = scope.pick([f"1 / ({root} - 2)", f"({root} - 1) / ({root} - 2)", f"1 / (3 - 2 * {root})"])
    return expression(f"{_text(node)} * (1 + {factor})")


@way("absolute value")
def _absolute(node: ast.expr, scope: Scope) -> ast.expr | None:
    is_difference = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Add, ast.MatMult, ast.Mult))
    return expression(f"absolute({ast.unparse(node)})") if is_difference or isinstance(node, ast.Call) else None


@way("quotient")
def _quotient(node: ast.expr, scope: Scope) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    x = _text(node)
    return expression(
        scope.pick([f"1 / (1 + {x})", f"{x} / (1 + {x})", f"1 - 1 / (1 + {x})", f"{x} / (1 + absolute({x}))"])
    )


@way("factor of a size")
def _factor_of_a_size(node: ast.expr, scope: Scope) -> ast.expr | None:
    size = scope.size()
    if size is None or not isinstance(node, ast.Call):
        return None
    x = _text(node)
    return expression(scope.pick([f"{x} + {x} * {size} ** 6 / 10 ** 13", f"{x} * {size}", f"{x} / {size}"]))


@way("decision on a size")
def _decision(node: ast.expr, scope: Scope) -> ast.expr | None:
    size = scope.size()
    if size is None or not isinstance(node, (ast.Call, ast.BinOp)):
        return None
    decision = scope.pick([f"{size} % 6 == 0", f"{size} == 7", f"{size} > 5", f"{size} // 6 > 0", f"{size} in (6, 8)"])
    return expression(f"2 * {_text(node)} if {decision} else {_text(node)}")


@way("a bit less")
def _less(node: ast.expr, scope: Scope) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    return expression(scope.pick([f"{_text(node)} - rational(1, 10 ** 9)", f"1 - {_text(node)}", f"{_text(node)} - 1"]))
