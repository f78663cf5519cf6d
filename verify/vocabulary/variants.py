"""Variants of a function that differ from it in one place: how a mutant is said in one line.

A variant never repeats what it does not change.  It is made when it is first asked for, so that importing claims stays
cheap; a change that does not apply (an expression that does not occur, a parameter that nothing has) raises
`verify.vocabulary.RegistryError` then, and every check of the claim asks before it runs.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import Any

from verify.vocabulary.errors import RegistryError
from verify.vocabulary.shapes import own_copy

Function = Callable[..., Any]


class Variant:
    """A function given outright, of the formula's value, by replacement in its source, or by changed arguments.

    Parameters
    ----------
    given: a function, or text "old -> new; older -> newer".
    formula: the function that a replacement, changed arguments, or a parameter `value` speak about.
    changed: arguments by name for the functions that the formula (or the given function) calls.
    """

    def __init__(self, given: str | Function | None, formula: Function | None, changed: Mapping[str, Any]) -> None:
        self.given, self.formula, self.changed = given, formula, dict(changed)

    @functools.cached_property
    def function(self) -> Function:
        """The variant as a function of inputs by name."""
        given = self.given
        if isinstance(given, str):
            assert self.formula is not None
            given = with_replacements(self.formula, given)
        if self.changed:
            assert given is not None or self.formula is not None
            return with_arguments(given or self.formula, self.changed)  # type: ignore[arg-type]
        assert given is not None
        if "value" in inspect.signature(given).parameters and self.formula is not None:
            return of_value(given, self.formula)
        return given

    @property
    def text(self) -> str | None:
        """What is changed, in words of the formula; None for a function given outright."""
        changes = [self.given] if isinstance(self.given, str) else []
        changes += [f"{name} = {getattr(value, '__name__', value)}" for name, value in self.changed.items()]
        return "; ".join(changes) or None


def of_value(function: Function, formula: Function) -> Function:
    """`function` with its parameter `value` bound to the value of `formula` at the same inputs."""
    own = [name for name in inspect.signature(function).parameters if name != "value"]
    needed = list(inspect.signature(formula).parameters)
    names = list(dict.fromkeys(needed + own))

    def variant(**inputs: Any) -> Any:
        value = formula(**own_copy({name: inputs[name] for name in needed}))  # it may work in place
        return function(value=value, **{name: inputs[name] for name in own})

    return _with_parameters(variant, names)


def with_arguments(function: Function, changed: Mapping[str, Any]) -> Function:
    """`function` with the named arguments changed in every call it makes to a function that has such a parameter.

    Its own parameters of these names are changed too.  Raises `RegistryError` where a name is nobody's parameter.
    """
    namespace, missing = dict(function.__globals__), set(changed)
    for name in _global_names(function.__code__):
        callee = namespace.get(name)
        if not isinstance(callee, types.FunctionType):
            continue
        takes = {key: value for key, value in changed.items() if key in _named_parameters(callee)}
        if takes:
            namespace[name] = _overridden(callee, takes)
            missing -= set(takes)
    copy = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    own = {key: value for key, value in changed.items() if key in _named_parameters(function)}
    missing -= set(own)
    if missing:
        raise RegistryError(f"{function.__qualname__}: nothing it calls has a parameter {sorted(missing)}")
    if not own:
        copy.__annotations__ = function.__annotations__
        return copy
    names = [name for name in inspect.signature(function).parameters if name not in own]
    return _with_parameters(functools.partial(copy, **own), names)


def _named_parameters(function: Function) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {item.name for item in parameters if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)}


def _overridden(function: Function, takes: Mapping[str, Any]) -> Function:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def overridden(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind_partial(*args, **kwargs)
        bound.arguments.update(takes)
        return function(*bound.args, **bound.kwargs)

    return overridden


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _with_parameters(function: Function, names: list[str]) -> Function:
    @functools.wraps(function)
    def named(**inputs: Any) -> Any:
        return function(**inputs)

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    named.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return named


# -- replacing expressions ---------------------------------------------------------------------------------------------


def with_replacements(function: Function, change: str) -> Function:
    """`function` with expressions replaced: "W_V.T -> W_V; 2 * x -> x", all at once, each wherever it stands.

    A name that only the new expressions use, and that nothing in the module has, is an input of the claim: the variant
    takes it besides the parameters of `function`.  Raises `RegistryError` where `change` does not read so, or an
    expression does not occur in the function.
    """
    pairs = [_parsed(function, part) for part in change.split(";")]
    tree = _definition(function)
    replacer = _Replacer(pairs)
    tree.body = [replacer.visit(statement) for statement in tree.body]
    for (old, _), count in zip(pairs, replacer.counts, strict=True):
        if not count:
            raise RegistryError(f"{function.__qualname__}: {ast.unparse(old)!r} does not occur in it")
    wanted = {name for _, new in pairs for name in _loaded(new) - _bound(new)}
    inputs = wanted - _bound(tree) - function.__globals__.keys() - vars(builtins).keys()
    tree.args.kwonlyargs += [ast.arg(name) for name in sorted(inputs)]
    tree.args.kw_defaults += [None for _ in inputs]
    module = ast.fix_missing_locations(ast.Module([tree], []))
    compiled = compile(module, f"<{function.__qualname__}: {change}>", "exec")
    code = next(constant for constant in compiled.co_consts if isinstance(constant, types.CodeType))
    variant = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    variant.__kwdefaults__ = function.__kwdefaults__
    return variant


def _loaded(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}


def _bound(node: ast.AST) -> set[str]:
    """Names that assignments, comprehensions, nested functions, and parameters of the function or of lambdas in it bind."""
    bound = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            bound.add(item.id)
        elif isinstance(item, ast.arg):
            bound.add(item.arg)
        elif isinstance(item, ast.FunctionDef):
            bound.add(item.name)
    return bound


def _parsed(function: Function, part: str) -> tuple[ast.expr, ast.expr]:
    sides = part.split(" -> ")
    if len(sides) != 2:
        raise RegistryError(f"{function.__qualname__}: a change reads 'old -> new', not {part.strip()!r}")
    try:
        old, new = (ast.parse(side.strip(), mode="eval").body for side in sides)
    except SyntaxError:
        raise RegistryError(f"{function.__qualname__}: {part.strip()!r} is not two expressions") from None
    return old, new


@functools.cache
def _source(function: Function) -> str:
    """The text of a function, which has to be looked for in that of its module; several variants are made of one."""
    return textwrap.dedent(inspect.getsource(function))


def _definition(function: Function) -> ast.FunctionDef:
    """The syntax tree of a function, bare of decorators, annotations and docstring."""
    if function.__code__.co_freevars:
        raise RegistryError(f"{function.__qualname__}: replacements are made in functions of a module, not in closures")
    tree = ast.parse(_source(function)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list, tree.returns = [], None
    arguments = tree.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    arguments.defaults, arguments.kw_defaults = [], [None for _ in arguments.kwonlyargs]
    return tree


class _Replacer(ast.NodeTransformer):
    def __init__(self, pairs: list[tuple[ast.expr, ast.expr]]) -> None:
        self.pairs = [(type(old), ast.dump(old), new) for old, new in pairs]
        self.counts = [0 for _ in pairs]

    def visit(self, node: ast.AST) -> Any:
        for i, (kind, old, new) in enumerate(self.pairs):
            if type(node) is kind and ast.dump(node) == old:  # the type first: a dump goes through the whole expression
                self.counts[i] += 1
                return new
        return self.generic_visit(node)
