"""Counterexamples in plain numpy: the code of both sides with everything it needs, which runs without this project.

A snippet is shown only where it reproduces the certified values when it is run; what it cannot say in a few numpy
functions (classes, state in closures) has none.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import io
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np
from markupsafe import Markup

from verify.arithmetics import Surd
from verify.report.sides import Violation, number, violation
from verify.site.code import highlighted, source_text
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import RegistryError
from verify.vocabulary.shapes import Size, parameter_names, parameter_specs

#: Agreement with the certificate, relative to the larger side; derivatives are differences in the snippet.
CLOSE = 1e-5
#: Functions of this project in one snippet, and lines: beyond them nobody checks by hand.
MOST_FUNCTIONS, MOST_LINES = 24, 160
#: Intermediate values shown, and entries of the largest.
MOST_VALUES, MOST_ENTRIES = 12, 36
#: Matrix functions of the engine in numpy, a source file that is read and never imported.
_SHIMS = Path(__file__).with_name("in_numpy.py")
_NAME = "<by hand>"
_MARK = "# the counterexample"
_ALLOWED_MODULES = ("math", "itertools", "functools", "numpy", "fractions", "dataclasses", "_functools", "collections")


class NotByHandError(Exception):
    """Something in the code has no short form in numpy."""


@dataclass(frozen=True)
class ByHand:
    """A snippet, highlighted too, and what its functions computed on the way, by name."""

    code: str
    values: dict[str, str]

    @property
    def shown(self) -> Markup:
        return highlighted(self.code)


def by_hand(claim: Claim, certificate: Mapping[str, Any]) -> ByHand | None:
    """The snippet of one counterexample; None where there is no short one, or it does not give the certified values."""
    try:
        text = _Snippet(claim, certificate).text()
    except (NotByHandError, OSError, SyntaxError, RegistryError):
        return None
    found = _run(text)
    if found is None or text.count("\n") > MOST_LINES:
        return None
    expected = violation(claim, certificate)
    left, right = number(expected.left), number(expected.right)
    scale = max(abs(left), abs(right))
    if not (abs(found.left - left) <= CLOSE * scale and abs(found.right - right) <= CLOSE * scale):
        return None
    return ByHand(text, found.values)


# -- writing -----------------------------------------------------------------------------------------------------------


class _Snippet:
    """The text of a snippet: numpy functions, then helpers, then both sides, inputs, and what to print."""

    def __init__(self, claim: Claim, certificate: Mapping[str, Any]) -> None:
        self.claim, self.certificate = claim, certificate
        self.package = claim.package
        self.shims: dict[str, str] = {}
        self.modules: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.functions: dict[str, str] = {}

    def text(self) -> str:
        """The whole snippet; raises `NotByHandError`."""
        formula = self.named(self.claim.the_formula, "formula")
        oracle = self.named(self.claim.the_oracle, "oracle")
        imports = [
            f"import {module}" if name == module else f"from {module} import {name}"
            for name, module in self.modules.items()
        ]
        inputs = [f"{name} = {self.literal(name, value)}" for name, value in self.certificate["inputs"].items()]
        blocks = [
            "\n".join(dict.fromkeys(["import numpy as np", *imports])),
            *self.shims.values(),
            "\n".join(f"{name} = {value}" for name, value in self.constants.items()),
            *self.functions.values(),
            "\n".join([_MARK, *inputs]),
            "\n".join(self.ending(formula, oracle)),
        ]
        return "\n\n".join(block for block in blocks if block) + "\n"

    def ending(self, formula: str, oracle: str) -> list[str]:
        """Both sides at the entry in question, printed."""
        expected = violation(self.claim, self.certificate)
        calls = {
            "formula": self.call(formula, self.claim.the_formula),
            "oracle": self.call(oracle, self.claim.the_oracle),
        }
        left, right = ("oracle", "formula") if expected.sides.sign == "≤" else ("formula", "oracle")
        entry = self.certificate["entry"]
        lines = [f"left = np.ravel({calls[left]})", f"right = np.ravel({calls[right]})"]
        if entry:
            lines += [f"left, right = left[{entry} if left.size > 1 else 0], right[{entry} if right.size > 1 else 0]"]
        else:
            lines += ["left, right = left[0], right[0]"]
        return [*lines, *_printing(expected)]

    def call(self, name: str, function: Callable[..., Any]) -> str:
        takes = parameter_names(function)
        if missing := [parameter for parameter in takes if parameter not in self.certificate["inputs"]]:
            raise NotByHandError(f"no input called {missing}")
        return f"{name}({', '.join(takes)})"

    def literal(self, name: str, value: Any) -> str:
        """An input: matrices as float arrays, sizes as integers, other numbers as floats."""
        if isinstance(value, list):
            return f"np.array({_entries(value)}, dtype=float)"
        if "/" in str(value) or (isinstance(value, int) and self.is_size(name)):
            return str(value)
        return repr(float(value))

    def is_size(self, name: str) -> bool:
        try:
            spec = parameter_specs(self.claim.the_formula).get(name)
        except RegistryError:
            return True
        return spec is None or isinstance(spec, Size)

    def named(self, function: Callable[..., Any], name: str) -> str:
        """Add a function, lambdas under `name`; returns what it is called in the snippet."""
        inner = inspect.unwrap(function)
        called = name if inner.__name__ in ("<lambda>", "_") else inner.__name__
        if called in self.functions:
            return called
        self.add(called, *_stripped(inner, called), inspect.getclosurevars(inner).nonlocals, inner.__globals__)
        return called

    def add(
        self, name: str, text: str, needed: list[str], nonlocals: Mapping[str, Any], known: Mapping[str, Any]
    ) -> None:
        """Add a definition after all that it needs."""
        if len(self.functions) >= MOST_FUNCTIONS:
            raise NotByHandError("too many functions")
        self.functions[name] = ""  # calls of itself end here
        for other in needed:
            value = nonlocals[other] if other in nonlocals else known.get(other, NotByHandError)
            if isinstance(value, ModuleType) and value.__name__.startswith(self.package):
                text, members = _without_module(text, other)
                for member in members:
                    if member not in self.functions:
                        self.need(member, getattr(value, member))
            elif other not in self.functions:
                self.need(other, value)
        del self.functions[name]
        self.functions[name] = text

    def need(self, name: str, value: Any) -> None:
        """Add whatever a name stands for."""
        if name in self.shims or name in self.constants or name in self.modules or hasattr(builtins, name):
            return
        if isinstance(value, ModuleType) and value.__name__ in _ALLOWED_MODULES:
            if name != "np":
                self.modules[name] = value.__name__
        elif name in _shims() and (getattr(value, "__module__", "") or "").startswith("verify."):
            for other in _needed_by_shim(name):
                self.need(other, value)
            self.shims[name] = _shims()[name]
        elif isinstance(value, (int, float, str, tuple)) and _plain(value):
            self.constants[name] = repr(value)
        elif isinstance(value, Fraction):
            self.constants[name] = str(value)
        elif isinstance(value, Surd):
            self.constants[name] = f"{value.coefficient} * np.sqrt({value.radicand})"
        elif (getattr(value, "__module__", None) or "") in _ALLOWED_MODULES and getattr(value, "__name__", "") == name:
            self.modules[name] = value.__module__
        elif isinstance(value, tuple) and all(isinstance(item, FunctionType) for item in value):
            names = [item.__name__ for item in value]
            self.add(name, f"{name} = ({', '.join(names)},)", names, {}, dict(zip(names, value, strict=True)))
        elif isinstance(value, type) and value.__module__.startswith(self.package):
            self.add(name, *_class(value), {}, vars(sys.modules[value.__module__]))
        elif callable(value) and (getattr(value, "__module__", "") or "").startswith(self.package):
            inner = inspect.unwrap(value)
            if not hasattr(inner, "__code__") or self.named(inner, name) != name:
                raise NotByHandError(name)
        else:
            raise NotByHandError(name)


def _without_module(text: str, module: str) -> tuple[str, list[str]]:
    """Code with the members of a module by their own names, and these names."""
    tree, members = ast.parse(text), list[str]()

    class Members(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> Any:
            self.generic_visit(node)
            if not (isinstance(node.value, ast.Name) and node.value.id == module):
                return node
            members.append(node.attr)
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)

    return ast.unparse(Members().visit(tree)), list(dict.fromkeys(members))


def _plain(value: Any) -> bool:
    return all(map(_plain, value)) if isinstance(value, tuple) else isinstance(value, (int, float, str))


def _entries(value: Any) -> str:
    return f"[{', '.join(map(_entries, value))}]" if isinstance(value, list) else str(value)


def _printing(expected: Violation) -> list[str]:
    names = [name.replace("`", "").replace('"', "'") for name in (expected.sides.left, expected.sides.right)]
    lines = [f'print("{name}:", {side})' for name, side in zip(names, ("left", "right"), strict=True)]
    return [
        *lines,
        f'print("claimed is left {"<=" if expected.sides.sign == "≤" else "=="} right; left - right =", left - right)',
    ]


@functools.lru_cache(maxsize=4096)
def _stripped(function: Callable[..., Any], called: str) -> tuple[str, list[str]]:
    """A function without decorators, annotations and docstring, a lambda as an assignment; and the names it needs."""
    tree = _bare(function, called)
    return ast.unparse(tree), _free_names(tree)


def _bare(function: Callable[..., Any], called: str) -> ast.stmt:
    tree = ast.parse(textwrap.dedent(source_text(function)))
    if function.__name__ == "<lambda>":
        lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        takes = list(inspect.signature(function).parameters)
        fitting = [node for node in lambdas if [arg.arg for arg in node.args.args] == takes]
        if len(fitting) != 1:
            raise NotByHandError("which lambda is meant")
        return ast.fix_missing_locations(ast.Assign([ast.Name(called, ast.Store())], fitting[0], lineno=1))
    (definition,) = tree.body
    if not isinstance(definition, ast.FunctionDef):
        raise NotByHandError(function.__name__)
    definition.decorator_list, definition.name = [], called
    for node in ast.walk(definition):
        _strip(node)
    _WithoutTensors().visit(definition)
    return definition


@functools.lru_cache(maxsize=256)
def _class(found: type) -> tuple[str, list[str]]:
    """A class without docstrings and annotations but those that make the fields of a dataclass; and the names it needs."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    if not isinstance(definition, ast.ClassDef):
        raise NotByHandError(found.__name__)
    for node in ast.walk(definition):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Name("object", ast.Load())
        _strip(node)
    return ast.unparse(definition), _free_names(definition)


class _WithoutTensors(ast.NodeTransformer):
    """Branches for torch tensors left out: in a snippet there are none."""

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        return (node.orelse or ast.Pass()) if _asks_for_tensor(node.test) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        return node.orelse if _asks_for_tensor(node.test) else node


def _asks_for_tensor(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "is_tensor"


def _strip(node: ast.AST) -> None:
    """Take docstring and annotations from one node."""
    if isinstance(node, ast.FunctionDef):
        node.returns = None
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    if isinstance(node, ast.arg):
        node.annotation = None


def _free_names(tree: ast.AST) -> list[str]:
    """Names that are read and not bound inside, in order of their first use."""
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return [
        name for name in dict.fromkeys(node.id for node in names) if name not in bound and not hasattr(builtins, name)
    ]


@functools.cache
def _shims() -> dict[str, str]:
    """The sources of the numpy functions, by name."""
    tree = ast.parse(_SHIMS.read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.body = node.body[1:]  # the docstring
            found[node.name] = ast.unparse(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = ast.unparse(node)
    return found


@functools.cache
def _needed_by_shim(name: str) -> list[str]:
    return [other for other in _free_names(ast.parse(_shims()[name])) if other in _shims()]


# -- running -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    left: float
    right: float
    values: dict[str, str]


def _run(text: str) -> _Found | None:
    """Both sides as the snippet computes them, and what its functions returned on the way; None where it fails."""
    definitions, mark, ending = text.partition(_MARK)
    values: dict[str, str] = {}
    space: dict[str, Any] = {}
    with _quiet(), np.errstate(all="ignore"):
        try:
            exec(compile(definitions, _NAME, "exec"), space)
            for name, function in list(space.items()):
                if isinstance(function, FunctionType) and name not in _shims():
                    space[name] = _watched(function, values)
            exec(compile(mark + ending, _NAME, "exec"), space)
        except Exception:  # whatever stops it, the snippet is no help
            return None
    try:
        return _Found(float(space["left"]), float(space["right"]), values)
    except (KeyError, TypeError, ValueError):
        return None


def _watched(function: FunctionType, values: dict[str, str]) -> Callable[..., Any]:
    """A function that notes what it returns first, if that is short, but not within a difference quotient."""

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        shown = None if len(values) >= MOST_VALUES or _differentiates(sys._getframe(1)) else _shown(result)
        if shown is not None:
            values.setdefault(f"{function.__name__}(...)", shown)
        return result

    return watched


def _differentiates(frame: FrameType | None) -> bool:
    """Whether a frame is within a difference quotient, at moved inputs."""
    while frame is not None and frame.f_code.co_filename in (_NAME, __file__):
        if frame.f_code.co_name == "differentiated":
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _shown(value: Any) -> str | None:
    """A number or a small array in six digits; None for anything else."""
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and 0 < value.size <= MOST_ENTRIES:
        return np.array2string(value, precision=6, separator=", ", suppress_small=True).replace("\n", "")
    return None
