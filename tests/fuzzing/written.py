"""Functions as syntax trees: read from their source, changed in one place, made functions again."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import verify.matrix
from tests.fuzzing import generated

#: What a changed formula may speak of besides the names of its own module.
PRIMITIVES = {name: getattr(verify.matrix, name) for name in verify.matrix.__all__}


class NotWritten(Exception):
    """A function whose source cannot be read by itself."""


@dataclass(frozen=True)
class Written:
    """A function as a syntax tree, with the values of the names that it reads and the annotations of its parameters."""

    tree: ast.Lambda | ast.FunctionDef
    names: Mapping[str, Any]
    annotations: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The function as one reads it."""
        return ast.unparse(self.tree)

    @property
    def parameters(self) -> list[str]:
        arguments = self.tree.args
        return [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]

    def with_body(self, tree: ast.Lambda | ast.FunctionDef) -> Written:
        return Written(tree, self.names, self.annotations)

    @functools.cached_property
    def function(self) -> Callable[..., Any]:
        """The function that the tree says."""
        tree = ast.fix_missing_locations(copy.deepcopy(self.tree))
        names: dict[str, Any] = {**PRIMITIVES, **self.names}
        if isinstance(tree, ast.Lambda):
            made = eval(compile(ast.Expression(tree), "<fuzzing>", "eval"), names)
        else:
            exec(compile(ast.Module([tree], []), "<fuzzing>", "exec"), names)
            made = names[tree.name]
        made.__annotations__ = dict(self.annotations)
        return made


def parsed(text: str, annotations: Mapping[str, Any] | None = None) -> Written:
    """A lambda given as text, which speaks of matrix primitives and of `tests.fuzzing.generated`."""
    tree = ast.parse(text, mode="eval").body
    assert isinstance(tree, ast.Lambda)
    return Written(tree, vars(generated), dict(annotations or {}))


def written(function: Callable[..., Any]) -> Written:
    """A function or lambda of a module, read from its source; raises `NotWritten` where it cannot be found there."""
    if not isinstance(function, types.FunctionType):
        raise NotWritten(repr(function))
    code = function.__code__
    found = [node for node in _definitions(code.co_filename) if _begins(node) == code.co_firstlineno]
    found = [node for node in found if _parameters(node) == list(inspect.signature(function).parameters)]
    if len(found) > 1:
        found = [node for node in found if _position(node) == _first_position(code)] or found[:1]
    if not found:
        raise NotWritten(function.__qualname__)
    tree = copy.deepcopy(found[0])
    if isinstance(tree, ast.FunctionDef):
        tree = _bare(tree)
    if tree.args.vararg or tree.args.kwarg or tree.args.defaults or any(tree.args.kw_defaults):
        raise NotWritten(function.__qualname__)
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    names = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    return Written(tree, names, inspect.get_annotations(function))


@functools.cache
def _definitions(path: str) -> list[ast.Lambda | ast.FunctionDef]:
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except OSError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, ast.FunctionDef))]


def _begins(node: ast.Lambda | ast.FunctionDef) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(item.lineno for item in decorators)])


def _parameters(node: ast.Lambda | ast.FunctionDef) -> list[str]:
    return [item.arg for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _position(node: ast.AST) -> tuple[int, int]:
    body = node.body if isinstance(node, ast.Lambda) else node
    return (body.lineno, body.col_offset)


def _first_position(code: types.CodeType) -> tuple[int, int] | None:
    """Where the body of a lambda begins, of the interpreters that say so."""
    if not hasattr(code, "co_positions"):
        return None
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    return min(places, default=None)


def _bare(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A definition without decorators, annotations and docstring."""
    tree.decorator_list, tree.returns = [], None
    for argument in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    first = tree.body[0]
    if len(tree.body) > 1 and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        tree.body = tree.body[1:]
    return tree
