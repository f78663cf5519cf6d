"""What evidence speaks about: a hash of the code that decides a claim's checks.

Followed, from the claim on: every statement at the top of a module that binds a name or does something with it, and the
names that this statement mentions, through the modules of the claim's package and every other module that uses the
engine.  Beside them count the engine's own modules that such a claim runs through, and the versions of the libraries that
compute.  Comments, layout, docstrings and the texts of a claim do not count.

Not seen: names that are computed while the program runs (`getattr`, `importlib`), and files that are read as data.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from verify.checks import ATTACKS
from verify.vocabulary.claims import Claim

#: The engine's folder, and what in it decides the outcome of a check.
ENGINE = Path(__file__).parents[1]
DECIDING = ("vocabulary", "arithmetics", "matrix", "oracles", "inputs", "checks", "evidence/runner.py")
#: The parts of it that only proofs run through, by the attribute of the claims that have them.
PROVING = {
    "all_sizes": (
        "arithmetics/symbols",
        "arithmetics/norms",
        "arithmetics/closed_forms.py",
        "checks/proofs.py",
        "checks/bound_proofs.py",
    ),
    "proved_at_sizes": ("arithmetics/polynomials.py", "checks/fixed_sizes.py"),
}

#: Libraries whose results checks compare, and the one that draws examples.
LIBRARIES = ("torch", "python-flint", "mpmath", "numpy", "sympy", "hypothesis")

#: Keywords of a claim that no check reads, and of its relation.
TEXTS = {
    "label", "statement", "name", "consequence", "observed", "reading", "doubt", "missing", "note", "severity",
    "correction", "corrects",
}  # fmt: skip
RELATIONS = {relation.__name__ for relation in ATTACKS}
NAMES_OF_SIDES = {"left", "right"}


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a module, and the names of that module which it mentions."""

    node: ast.stmt
    mentions: frozenset[str]

    @functools.cached_property
    def digest(self) -> str:
        return _digest([ast.dump(self.node)])


@dataclass
class Source:
    """A module, taken apart by what its names stand for."""

    name: str
    statements: list[Statement] = field(default_factory=list)
    about: dict[str, list[Statement]] = field(default_factory=dict)  #: what binds a name or does something with it
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)  #: module, and the name in it
    uses_engine: bool = False


def fingerprint(claim: Claim) -> str:
    """A hash of the code that the evidence of `claim` is about."""
    proofs = tuple(kind for kind in PROVING if getattr(claim, kind))
    reached = sorted(f"{module} {statement.digest}" for module, statement in reached_by(claim))
    return _digest([claim.id, _engine(ATTACKS[type(claim.relation)].__module__, proofs), _versions(), *reached])[:16]


def forget() -> None:
    """Read all sources again, after files have changed."""
    for cached in (_source, _engine, _digest_of_file, _versions, _reached, _names_of_claims):
        cached.cache_clear()


def reached_by(claim: Claim) -> Iterator[tuple[str, Statement]]:
    """The statements that decide about a claim, with the names of their modules."""
    names = _names_of_claims(claim.module).get(id(claim), ())
    source = _source(claim.module)
    if source is None:
        return
    # A claim that no name at the top of its module stands for: all of that module.
    starts = [(claim.module, name) for name in names or source.about]
    seen: set[tuple[str, str]] = set()
    given: set[tuple[str, int]] = set()
    while starts:
        place = starts.pop()
        if place in seen:
            continue
        seen.add(place)
        statements, more = _reached(*place)
        starts.extend(more)
        for module, statement in statements:
            if (module, id(statement)) not in given:
                given.add((module, id(statement)))
                yield module, statement


@functools.cache
def _names_of_claims(module: str) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for name, value in vars(sys.modules.get(module, object)).items():
        if isinstance(value, Claim):
            found[id(value)] = (*found.get(id(value), ()), name)
    return found


@functools.cache
def _reached(module: str, name: str) -> tuple[list[tuple[str, Statement]], list[tuple[str, str]]]:
    """What one name of a module stands for: statements, and further names to follow."""
    source = _source(module)
    if source is None:
        return [], []
    if name in source.about:
        statements = source.about[name]
        following = {(module, other) for statement in statements for other in statement.mentions}
        return [(module, statement) for statement in statements], sorted(following)
    if name not in source.imports:
        return [], []  # a builtin, or a name local to a function
    origin, original = source.imports[name]
    if not _followed(module, origin):
        return [], []
    if original is not None and (inner := _source(origin)) and (original in inner.about or original in inner.imports):
        return [], [(origin, original)]
    whole = origin if original is None else f"{origin}.{original}"
    if (inner := _source(whole)) is None:
        whole, inner = origin, _source(origin)  # a name that the module makes when it is asked for
    return [], [(whole, other) for other in inner.about] if inner else []


def _followed(module: str, origin: str) -> bool:
    """Whether the sources of `origin` count for a claim of `module`."""
    root = origin.split(".", maxsplit=1)[0]
    if root == "verify":
        return False
    if root == module.split(".", maxsplit=1)[0]:
        return True
    if root in sys.stdlib_module_names or root in LIBRARIES:
        return False
    source = _source(origin)
    return source is not None and source.uses_engine


@functools.cache
def _source(module: str) -> Source | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    tree = _parsed(Path(spec.origin))
    package = module if spec.submodule_search_locations is not None else module.rpartition(".")[0]
    source = Source(module)
    for node in ast.walk(tree):
        for alias, origin, original in _imported(node, package):
            source.imports[alias] = (origin, original)
            source.uses_engine |= origin.split(".")[0] == "verify"
    claims: set[str] = set()
    for node in _without_prose(tree).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        bound, acted_on = _bound_by(node), _acted_on_by(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _base(node.value) == "Claim":
            claims |= bound
        # Claims that a statement declares something of do not thereby depend on one another.
        apart = claims if acted_on and not isinstance(node, ast.ClassDef) else frozenset()
        statement = Statement(node, frozenset(_mentioned_by(node)) - apart)
        source.statements.append(statement)
        for name in bound | acted_on:
            source.about.setdefault(name, []).append(statement)
    return source


def _imported(node: ast.AST, package: str) -> Iterator[tuple[str, str, str | None]]:
    """Name here, module, and name there; None for a module itself."""
    if isinstance(node, ast.Import):
        for item in node.names:
            yield (item.asname, item.name, None) if item.asname else (item.name.split(".")[0], item.name, None)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - (node.level - 1)] if node.level else []
        origin = ".".join([*above, *([node.module] if node.module else [])])
        for item in node.names:
            yield item.asname or item.name, origin, item.name


def _without_prose(tree: ast.Module) -> ast.Module:
    """The tree without docstrings, without the texts of claims and without the order in which a claim says things."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Claim":
            kept = [keyword for keyword in node.keywords if keyword.arg not in TEXTS]
            node.keywords = sorted(kept, key=lambda keyword: keyword.arg or "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RELATIONS:
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in NAMES_OF_SIDES]
    return tree


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return found | {item.name for item in ast.walk(node) if isinstance(item, inner)}


def _acted_on_by(node: ast.stmt) -> set[str]:
    """Names whose values a statement changes without binding them: `a.mutant(...)`, `f(a)`, `a[0] = ...`, decorators."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        given = [item for call in node.decorator_list if isinstance(call, ast.Call) for item in call.args]
        named = {item.id for item in given if isinstance(item, ast.Name)}
        return named | {base for item in node.decorator_list if (base := _base(item))} - {node.name}
    if isinstance(node, ast.Expr):
        arguments = (
            [*node.value.args, *(item.value for item in node.value.keywords)]
            if isinstance(node.value, ast.Call)
            else []
        )
        names = {item.id for item in arguments if isinstance(item, ast.Name)}
        base = _base(node.value)
        plain = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        return names if plain or base is None else {base}
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
        return {base for target in targets if not isinstance(target, ast.Name) and (base := _base(target))}
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def _base(node: ast.expr) -> str | None:
    """`a` of `a.b(c).d`."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _mentioned_by(node: ast.stmt) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Name):
            yield item.id
        elif isinstance(item, ast.Constant) and isinstance(item.value, str) and "->" in item.value:
            yield from re.findall(r"[A-Za-z_]\w*", item.value)  # a replaced expression names what the module has


# -- the engine and the libraries --------------------------------------------------------------------------------------


@functools.cache
def _engine(attack: str, proofs: tuple[str, ...]) -> str:
    """The modules of the engine that the checks of such a claim run through; `attack` is the module of its attack."""
    attacks = {_path_of(each.__module__) for each in ATTACKS.values()}
    others = attacks - _imported_attacks(_path_of(attack), attacks)
    left_out = {*others, *_files(name for kind in PROVING if kind not in proofs for name in PROVING[kind])}
    return _digest(f"{path} {_digest_of_file(ENGINE / path)}" for path in _files(DECIDING) if path not in left_out)


@functools.cache
def _digest_of_file(path: Path) -> str:
    return _digest([ast.dump(_without_prose(_parsed(path)))])


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported_attacks(path: str, attacks: set[str]) -> set[str]:
    """An attack's module and those of other attacks that it imports."""
    tree = _parsed(ENGINE / path)
    found = {_path_of(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return {path}.union(*(_imported_attacks(other, attacks) for other in found & attacks if other != path))


def _path_of(module: str) -> str:
    return "/".join(module.split(".")[1:]) + ".py"


def _files(names: Iterable[str]) -> list[str]:
    paths = [ENGINE / name for name in names]
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [file.relative_to(ENGINE).as_posix() for file in files]


@functools.cache
def _versions() -> str:
    return " ".join([platform.python_version(), *(importlib.metadata.version(name) for name in LIBRARIES)])


def _digest(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()
